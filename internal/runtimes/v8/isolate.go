package v8

// Where an Isolate, which is the V8 of one thread, and its global handles have what, in bytes. Where an Isolate has its handles
// differs from one V8 to the next: they are looked for, and known by what leads back.
const (
	isolateSelf   = 8       // the Isolate itself
	isolateSize   = 1 << 17 // no more is looked at
	handlesSpace  = 4       // words of the handles, in which that of the usual ones is looked for
	handleSize    = 32
	handleFlags   = 11
	handleStates  = 3
	handleStrong  = 1
	blockHandles  = 256    // in a block; behind them is the next block
	maxIsolates   = 1 << 8 // that are looked at
	maxBlocks     = 1 << 12
	firstAddress  = 1 << 16
	behindAddress = 1 << 47
)

func isAddress(w uint64) bool { return w%8 == 0 && w >= firstAddress && w < behindAddress }

// isolates adds what the Isolates to which a stack refers hold: all that JavaScript reaches while none runs.
func (s *search) isolates(sp uint64, stack []byte) {
	if s.p.Spend(len(stack)/512) != nil {
		return
	}
	for ; len(stack) >= 8; stack = stack[8:] {
		w := littleEndian.Uint64(stack)
		if w%16 != 0 || !isAddress(w) || w-sp < maxStack || s.asked[w] || len(s.asked) > maxObjects {
			continue
		}
		s.asked[w] = true
		if s.tried < maxIsolates && s.Word(w+isolateSelf) == w && s.Word(w) != w { // an empty list's head is none: this saves time
			s.tried++
			s.isolate(w)
		}
	}
}

// isolate adds the objects of the strong global handles of an Isolate, if it is one.
func (s *search) isolate(at uint64) {
	b := s.Some(at, isolateSize)
	if s.p.Spend(len(b)/64) != nil {
		return
	}
	for ; len(b) >= 8; b = b[8:] {
		handles := littleEndian.Uint64(b)
		if !isAddress(handles) || s.Word(handles) != at {
			continue
		}
		for i := range uint64(handlesSpace) {
			space := s.Word(handles + 8 + 8*i)
			if !isAddress(space) || s.Word(space) != handles {
				continue
			}
			s.handles(handles, space)
			return
		}
	}
}

// handles adds what the blocks of handles of a space have.
func (s *search) handles(handles, space uint64) {
	block := s.Word(space + 8)
	for range maxBlocks {
		b := s.Bytes(block, blockHandles*handleSize+24)
		if b == nil || s.p.Spend(blockHandles/8) != nil {
			return
		}
		tail := b[blockHandles*handleSize:]
		if littleEndian.Uint64(tail[8:]) != handles || littleEndian.Uint64(tail[16:]) != space {
			return
		}
		for ; len(b) > len(tail); b = b[handleSize:] {
			if b[handleFlags]&handleStates == handleStrong {
				s.push(littleEndian.Uint64(b))
			}
		}
		block = littleEndian.Uint64(tail)
	}
}
