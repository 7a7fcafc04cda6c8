package golang

import "iter"

// A place is what is kept of a frame: the address of its code, its stack pointer and its end.
type place struct{ pc, sp, cfa uint64 }

// keptFrames keeps the places of many stacks. Few places in the code have most of the frames, each with one size, and a frame begins
// where the one before it ends: a number is enough for it.
type keptFrames struct {
	codes []code
	index map[code]uint32
	room  []uint32 // the last stack's words, and room for others
}

// A code is where in the code a frame is, and the frame's size.
type code struct{ pc, size uint64 }

// packed are the places of a stack: the numbers of their codes, and, behind the word whole, places that are not of this kind.
type packed []uint32

const (
	whole      = 1<<32 - 1
	wholeWords = 7       // whole, and three words of 64 bits
	manyWords  = 1 << 13 // that are allocated at once, of several stacks
)

// pack keeps the places of a stack.
func (k *keptFrames) pack(places []place) packed {
	if k.index == nil {
		k.index = map[code]uint32{}
	}
	if most := wholeWords * len(places); cap(k.room)-len(k.room) < most {
		k.room = make([]uint32, 0, max(most, min(2*cap(k.room), manyWords)))
	}
	first := len(k.room)
	end, open := uint64(0), false
	for _, p := range places {
		n, ok := uint32(0), false
		if open && p.sp == end {
			n, ok = k.number(code{p.pc, p.cfa - p.sp})
		}
		if ok {
			k.room = append(k.room, n)
		} else {
			k.room = append(k.room, whole, uint32(p.pc), uint32(p.pc>>32), uint32(p.sp), uint32(p.sp>>32), uint32(p.cfa), uint32(p.cfa>>32))
		}
		end, open = p.cfa, true
	}
	return k.room[first:len(k.room):len(k.room)]
}

// number returns the number of a code; false if there are too many.
func (k *keptFrames) number(c code) (uint32, bool) {
	n, ok := k.index[c]
	if !ok && len(k.codes) < maxCodes {
		n, ok = uint32(len(k.codes)), true
		k.index[c] = n
		k.codes = append(k.codes, c)
	}
	return n, ok
}

// places yields the places of a stack as they were.
func (k *keptFrames) places(words packed) iter.Seq[place] {
	return func(yield func(place) bool) {
		end := uint64(0)
		for len(words) > 0 {
			var p place
			if w := words[0]; w != whole {
				c := k.codes[w]
				p, words = place{c.pc, end, end + c.size}, words[1:]
			} else {
				of := func(i int) uint64 { return uint64(words[i]) | uint64(words[i+1])<<32 }
				p, words = place{of(1), of(3), of(5)}, words[wholeWords:]
			}
			if end = p.cfa; !yield(p) {
				return
			}
		}
	}
}
