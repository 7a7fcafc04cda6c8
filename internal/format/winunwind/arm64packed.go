package winunwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// What packed unwind data says about x29 and lr (CR).
const (
	crUnchained  = 0 // neither is saved
	crSavedLR    = 1
	crChainedPAC = 2 // both are saved, x29 is the frame pointer, and lr is signed
	crChained    = 3
)

// maxPacked is the maximum number of code bytes of a packed entry.
const maxPacked = 48

// A packedData is the canonical prologue described by packed data, as unwind codes.
type packedData struct {
	codes [maxPacked]byte
	n     int
	// frame and homes are the number of codes without an instruction in the epilogue: for
	// setting x29, which comes first, and for homing arguments.
	frame, homes uint32
	// joined is 1 if the last two codes represent one instruction that no code can express:
	// saving the pair x19 and lr while moving the stack pointer.
	joined uint32
}

func (p *packedData) put(codes ...byte) {
	p.n += copy(p.codes[p.n:], codes)
}

// save adds a two-byte code that saves registers: reg is the register's number relative to
// the first that can be saved, off the offset in bytes. If push is not 0, the stack pointer
// moves by push bytes instead.
func (p *packedData) save(plain, moving byte, bits, reg, off, push int) {
	w := int(plain)<<8 | reg<<6 | off/8
	if push != 0 {
		w = int(moving)<<8 | reg<<bits | (push/8 - 1)
	}
	p.put(byte(w>>8), byte(w))
}

// alloc adds the code that frees n bytes.
func (p *packedData) alloc(n int) {
	if n /= 16; n < 32 {
		p.put(codeAllocS | byte(n))
		return
	}
	p.put(codeAllocM|byte(n>>8), byte(n))
}

// expand converts packed data to the codes of the prologue that it describes.
func (p *packedData) expand(w uint32) error {
	regF, regI := int(w>>13&7), int(w>>16&15)
	homes, cr := w>>20&1 != 0, int(w>>21&3)
	ints, floats, frame := 8*regI, 0, 16*int(w>>23)
	if cr == crSavedLR {
		ints += 8
	}
	if regF > 0 {
		floats = 8 * (regF + 1)
	}
	saved := ints + floats
	if homes {
		saved += 64
	}
	saved = (saved + 15) &^ 15
	local := frame - saved
	if local < 0 || regI > 10 || cr >= crChainedPAC && local < 16 {
		return fmt.Errorf("packed data %#x has an invalid frame size of %d bytes: %w", w, frame, ErrMalformed)
	}
	p.locals(local, cr)
	if homes {
		p.homes = 4
		p.put(codeNop, codeNop, codeNop)
		if saved == 64 { // the first of them allocates
			p.homes = 3
			p.alloc(saved)
		} else {
			p.put(codeNop)
		}
	}
	p.floats(regF, ints, saved)
	p.ints(regI, cr, ints, saved)
	if cr == crChainedPAC {
		p.put(codePACSignLR)
	}
	return nil
}

// locals adds the codes of the prologue's last part: saving x29 and lr, and allocating
// local bytes.
func (p *packedData) locals(local, cr int) {
	const most = 4080 // maximum allocated by one instruction
	if cr >= crChainedPAC {
		p.frame = 1
		p.put(codeSetFP)
		if local <= 512 {
			p.put(codeSaveFPLRX | byte(local/8-1))
			return
		}
		p.put(codeSaveFPLR)
	}
	if local > most {
		p.alloc(local - most)
		local = most
	}
	if local > 0 {
		p.alloc(local)
	}
}

// floats adds the codes of d8 and the following registers, at off. If no general register
// is saved, the first one moves the stack pointer.
func (p *packedData) floats(regF, off, saved int) {
	if regF == 0 {
		return
	}
	n := regF + 1
	if n%2 != 0 {
		p.save(codeSaveFReg, codeSaveFRegX, 5, n-1, off+8*(n-1), 0)
	}
	for r := n/2*2 - 2; r >= 0; r -= 2 {
		push := 0
		if r == 0 && off == 0 {
			push = saved
		}
		p.save(codeSaveFRegP, codeSaveFRegPX, 6, r, off+8*r, push)
	}
}

// ints adds the codes of x19 and the following registers, and of lr if it is saved with
// them.
func (p *packedData) ints(regI, cr, size, saved int) {
	const lr = int(arch.ARM64LR - arch.ARM64X19)
	if cr == crSavedLR && regI%2 == 0 {
		push := 0
		if regI == 0 {
			push = saved
		}
		p.save(codeSaveReg, codeSaveRegX, 5, lr, size-8, push)
	}
	if regI%2 != 0 {
		r := regI - 1
		switch {
		case cr == crSavedLR:
			p.save(codeSaveLRPair, 0, 0, r/2, 8*r, 0)
			if r == 0 {
				p.joined = 1
				p.alloc(saved)
			}
		case r == 0:
			p.save(codeSaveReg, codeSaveRegX, 5, r, 0, saved)
		default:
			p.save(codeSaveReg, codeSaveRegX, 5, r, 8*r, 0)
		}
	}
	for r := regI/2*2 - 2; r >= 0; r -= 2 {
		push := 0
		if r == 0 {
			push = saved
		}
		p.save(codeSaveRegP, codeSaveRegPX, 6, r, 8*r, push)
	}
}

// packed undoes what packed data describes.
func (s *stepper) packed(fn Function) error {
	var p packedData
	if err := p.expand(fn.Data); err != nil {
		return err
	}
	codes := p.codes[:p.n]
	if fn.Data&3 == flagFragment {
		return s.run(codes, 0)
	}
	n := instructions(codes)
	if off := (s.rva - fn.Begin) / 4; off < n-p.joined {
		if off > 0 {
			off += p.joined
		}
		return s.run(codes, n-off)
	}
	// The epilogue is the reverse of the prologue, plus a return.
	left, epilogue := (fn.End-s.rva)/4, n-p.frame-p.homes-p.joined+1
	switch {
	case !s.exact || left > epilogue:
		return s.run(codes, 0)
	case left <= 1:
		return s.run(codes, n)
	}
	return s.runEpilogue(&p, epilogue-left)
}

// runEpilogue undoes the rest of an epilogue of which done instructions have been executed.
func (s *stepper) runEpilogue(p *packedData, done uint32) error {
	codes := p.codes[p.frame:p.n]
	for len(codes) > 0 {
		c := codes[:codeSize(codes[0])]
		codes = codes[len(c):]
		switch {
		case c[0] == codeNop:
		case done > 0:
			done--
		default:
			if err := s.code(c, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
