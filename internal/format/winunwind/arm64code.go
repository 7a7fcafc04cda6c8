package winunwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Unwind codes of arm64 by their first byte. If that contains an operand, the constant is
// the first of a range.
const (
	codeAllocS       = 0x00
	codeSaveR19      = 0x20
	codeSaveFPLR     = 0x40
	codeSaveFPLRX    = 0x80
	codeAllocM       = 0xc0
	codeSaveRegP     = 0xc8
	codeSaveRegPX    = 0xcc
	codeSaveReg      = 0xd0
	codeSaveRegX     = 0xd4
	codeSaveLRPair   = 0xd6
	codeSaveFRegP    = 0xd8
	codeSaveFRegPX   = 0xda
	codeSaveFReg     = 0xdc
	codeSaveFRegX    = 0xde
	codeAllocZ       = 0xdf
	codeAllocL       = 0xe0
	codeSetFP        = 0xe1
	codeAddFP        = 0xe2
	codeNop          = 0xe3
	codeEnd          = 0xe4
	codeEndC         = 0xe5
	codeSaveNext     = 0xe6
	codeSaveAny      = 0xe7
	codeTrapFrame    = 0xe8
	codeMachineFrame = 0xe9
	codeContext      = 0xea
	codeECContext    = 0xeb
	codeClearUnwound = 0xec
	codePACSignLR    = 0xfc
)

// codeSize returns the size of a code in bytes.
func codeSize(c byte) int {
	switch {
	case c < codeAllocM:
		return 1
	case c < codeAllocL:
		return 2
	}
	switch c {
	case codeAllocL, 0xfa:
		return 4
	case codeAddFP, 0xf8:
		return 2
	case codeSaveAny, 0xf9:
		return 3
	case 0xfb:
		return 5
	}
	return 1
}

// code undoes one code; all its bytes are in c. next is the number of register pairs saved
// after those that it names.
func (s *stepper) code(c []byte, next uint64) error {
	b := c[0]
	if b < codeAllocM {
		return s.shortCode(b, next)
	}
	if len(c) == 2 && b < codeAllocL {
		return s.saveCode(uint32(b)<<8|uint32(c[1]), next)
	}
	switch b {
	case codeAllocL:
		s.sp += (uint64(c[1])<<16 | uint64(c[2])<<8 | uint64(c[3])) * 16
	case codeSetFP, codeAddFP:
		fp, err := s.reg(arch.ARM64FP)
		if err != nil {
			return err
		}
		if s.sp = fp; b == codeAddFP {
			s.sp -= uint64(c[1]) * 8
		}
	case codeNop, codeEndC, codeClearUnwound:
	case codePACSignLR: // the signature is stripped with the other bits that are not part of the address
	case codeSaveAny:
		return s.saveAny(c[1], c[2], next)
	case codeMachineFrame:
		return s.machineFrameARM64()
	case codeContext:
		return s.context()
	default:
		return fmt.Errorf("unknown unwind code %#x: %w", b, ErrUnsupported)
	}
	return nil
}

// shortCode undoes a one-byte code with an operand.
func (s *stepper) shortCode(b byte, next uint64) error {
	z := uint64(b&0x3f) * 8
	switch {
	case b < codeSaveR19:
		s.sp += uint64(b) * 16
		return nil
	case b < codeSaveFPLR:
		z = uint64(b&0x1f) * 8
		err := s.pairs(arch.ARM64X19, 0, next)
		s.sp += z
		return err
	case b < codeSaveFPLRX:
		return s.two(arch.ARM64FP, arch.ARM64LR, s.sp+z)
	}
	err := s.two(arch.ARM64FP, arch.ARM64LR, s.sp)
	s.sp += z + 8
	return err
}

// saveCode undoes a two-byte code: alloc_m, or one that saves registers. The lowest bits
// are the offset in words or, for codes that move the stack pointer, the number of words
// minus one.
func (s *stepper) saveCode(w uint32, next uint64) error {
	z6, z5 := uint64(w&0x3f)*8, uint64(w&0x1f)*8
	x := arch.ARM64X19 + arch.Reg(w>>6&15)
	d := arch.ARM64D8 + arch.Reg(w>>6&7)
	switch first := byte(w >> 8); {
	case first < codeSaveRegP:
		s.sp += uint64(w&0x7ff) * 16
	case first < codeSaveRegPX:
		return s.pairs(x, z6, next)
	case first < codeSaveReg:
		err := s.pairs(x, 0, next)
		s.sp += z6 + 8
		return err
	case first < codeSaveRegX:
		return s.saved(x, s.sp+z6)
	case first < codeSaveLRPair:
		err := s.saved(arch.ARM64X19+arch.Reg(w>>5&15), s.sp)
		s.sp += z5 + 8
		return err
	case first < codeSaveFRegP:
		return s.two(arch.ARM64X19+2*arch.Reg(w>>6&7), arch.ARM64LR, s.sp+z6)
	case first < codeSaveFRegPX:
		return s.pairs(d, z6, next)
	case first < codeSaveFReg:
		err := s.pairs(d, 0, next)
		s.sp += z6 + 8
		return err
	case first < codeSaveFRegX:
		return s.saved(d, s.sp+z6)
	case first < codeAllocZ:
		err := s.saved(arch.ARM64D8+arch.Reg(w>>5&7), s.sp)
		s.sp += z5 + 8
		return err
	default: // alloc_z, in units of the SVE vector length
		return fmt.Errorf("unsupported unwind code %#x: %w", w, ErrUnsupported)
	}
	return nil
}

// saveAny undoes save_any_reg: any general or vector register or pair, with or without
// moving the stack pointer.
func (s *stepper) saveAny(b1, b2 byte, next uint64) error {
	pair, writeback := b1&0x40 != 0, b1&0x20 != 0
	kind, off := b2>>6, uint64(b2&0x3f)
	if b1&0x80 != 0 || kind == 3 {
		return fmt.Errorf("unsupported unwind code %#x %#x %#x: %w", codeSaveAny, b1, b2, ErrUnsupported)
	}
	unit := uint64(8)
	if pair || writeback || kind == 2 {
		unit = 16
	}
	at, size := s.sp+off*unit, uint64(8)
	if writeback {
		at = s.sp
	}
	if kind == 2 {
		size = 16
	}
	n := uint64(1)
	if pair {
		n = 2 + 2*next
	}
	for i := range n {
		r := uint64(b1&31) + i
		if r > 31 {
			return fmt.Errorf("invalid saved register %d: %w", r, ErrMalformed)
		}
		reg := arch.Reg(r)
		if kind != 0 {
			if r < 8 || r > 15 {
				continue // not callee-saved
			}
			reg = arch.ARM64D8 + arch.Reg(r-8)
		}
		if err := s.saved(reg, at+i*size); err != nil {
			return err
		}
	}
	if writeback {
		s.sp += (off + 1) * unit
	}
	return nil
}

// pairs restores a pair of registers saved off bytes above the stack pointer, and next more
// pairs after it.
func (s *stepper) pairs(r arch.Reg, off, next uint64) error {
	for i := range next + 1 {
		a := r + arch.Reg(2*i)
		b := a + 1
		switch {
		case a == arch.ARM64X28+1: // x29 and lr come next
		case r >= arch.ARM64D8 && b > arch.ARM64D15, r < arch.ARM64D8 && b > arch.ARM64LR, i > 6:
			return fmt.Errorf("invalid saved register %d: %w", a, ErrMalformed)
		}
		if err := s.two(a, b, s.sp+off+16*i); err != nil {
			return err
		}
	}
	return nil
}

func (s *stepper) two(a, b arch.Reg, addr uint64) error {
	if err := s.saved(a, addr); err != nil {
		return err
	}
	return s.saved(b, addr+8)
}

// saved restores r, which must be a register that codes may name.
func (s *stepper) saved(r arch.Reg, addr uint64) error {
	if r > arch.ARM64LR && r < arch.ARM64D8 || r > arch.ARM64D15 {
		return fmt.Errorf("invalid saved register %d: %w", r, ErrMalformed)
	}
	return s.restore(r, addr)
}

// machineFrameARM64 restores the stack pointer and the pc of the interrupted code.
func (s *stepper) machineFrameARM64() error {
	at := s.sp
	if err := s.restore(arch.ARM64SP, at); err != nil {
		return err
	}
	if err := s.restore(arch.ARM64PC, at+8); err != nil {
		return err
	}
	s.interrupted()
	return nil
}

// Offsets of the registers in an arm64 CONTEXT record.
const (
	contextX0 = 0x8
	contextSP = 0x100
	contextPC = 0x108
	contextV0 = 0x110
)

// context restores all registers from the CONTEXT record at the stack pointer, which the
// exception dispatcher left there.
func (s *stepper) context() error {
	at := s.sp
	for r := range arch.ARM64SP {
		if err := s.restore(r, at+contextX0+8*uint64(r)); err != nil {
			return err
		}
	}
	for i := range arch.Reg(8) {
		if err := s.restore(arch.ARM64D8+i, at+contextV0+16*uint64(8+i)); err != nil {
			return err
		}
	}
	if err := s.restore(arch.ARM64SP, at+contextSP); err != nil {
		return err
	}
	if err := s.restore(arch.ARM64PC, at+contextPC); err != nil {
		return err
	}
	s.interrupted()
	return nil
}

// interrupted ends the step with the pc and stack pointer just restored.
func (s *stepper) interrupted() {
	pc, _ := s.f.Regs.Get(arch.ARM64PC)
	s.f.Regs.Set(arch.ARM64PC, s.arch.CodeAddress(pc))
	s.sp, _ = s.f.Regs.Get(arch.ARM64SP)
	s.done, s.f.Interrupted = true, true
}
