package winunwind

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxEpilogue is the maximum number of instructions in an epilogue: one that frees the
// frame, a pop of each register, and the return.
const maxEpilogue = 18

// epilogue undoes the rest of an x64 epilogue, and reports whether pc is in one. Version 1
// only defines which instructions an epilogue may contain: the instructions from pc on show
// whether it is one. Version 2 says where epilogues are, but the instructions are still
// needed to tell how much is left.
func (s *stepper) epilogue(fn Function, u *unwindInfo) (bool, error) {
	if !s.leaves(fn, u) {
		return false, nil
	}
	for at := s.rva; ; {
		in, ok := s.decode(at)
		if !ok {
			return false, nil
		}
		switch in.Kind {
		case disasm.AddSP:
			s.sp += uint64(in.Imm)
		case disasm.LeaSP:
			m := in.Mem()
			v, err := s.reg(m.Base)
			if err != nil {
				return true, err
			}
			s.sp = v + uint64(m.Disp)
		case disasm.Pop:
			if err := s.restore(in.Dst, s.sp); err != nil {
				return true, err
			}
			s.sp += 8
		case disasm.Ret:
			if err := s.popReturn(); err != nil {
				return true, err
			}
			s.sp += uint64(in.Imm)
			return true, nil
		default:
			return true, s.popReturn()
		}
		at += uint32(in.Len)
	}
}

// leaves reports whether the instructions from pc on are the rest of an epilogue.
func (s *stepper) leaves(fn Function, u *unwindInfo) bool {
	at := s.rva
	for i := range maxEpilogue {
		in, ok := s.decode(at)
		if !ok || at >= fn.End {
			return false
		}
		switch in.Kind {
		case disasm.AddSP:
			if i > 0 || in.Size != 8 || in.Imm < 0 {
				return false
			}
		case disasm.LeaSP:
			m := in.Mem()
			if i > 0 || m == nil || u.frame == arch.NoReg || m.Base != u.frame || m.Index != arch.NoReg || m.RIPRelative {
				return false
			}
		case disasm.Pop:
			if in.Size != 8 || in.Dst == arch.NoReg || in.Dst == arch.RSP {
				return false
			}
		case disasm.Ret:
			return true
		case disasm.Jump:
			return u.inEpilog(fn, s.rva) || s.tailCall(fn, in.Target)
		case disasm.JumpIndirect:
			return u.inEpilog(fn, s.rva) || tailJump(&in)
		default:
			return false
		}
		at += uint32(in.Len)
	}
	return false
}

func (s *stepper) decode(at uint32) (disasm.Inst, bool) {
	in, err := disasm.Decode(s.arch, s.image.At(at), s.base+uint64(at))
	return in, err == nil
}

// inEpilog reports whether rva is in an epilogue according to version 2. The first slot has
// the epilogues' size and whether one is at the function's end; each other slot has the
// distance of one from the end.
func (u *unwindInfo) inEpilog(fn Function, rva uint32) bool {
	if len(u.epilogs) < 2 {
		return false
	}
	size := uint32(u.epilogs[0])
	if u.epilogs[1]>>4&1 != 0 && fn.End-rva <= size {
		return true
	}
	for e := u.epilogs[2:]; len(e) >= 2; e = e[2:] {
		before := uint32(e[0]) | uint32(e[1]>>4)<<8
		if before != 0 && rva-(fn.End-before) < size {
			return true
		}
	}
	return false
}

// tailCall reports whether a jump to target leaves the function: it does not if target is
// in a part of the same function, or is in another function but not at its beginning.
func (s *stepper) tailCall(fn Function, target uint64) bool {
	to := target - s.base
	if to > 0xffffffff {
		return true
	}
	if to > uint64(fn.Begin) && to < uint64(fn.End) {
		return false
	}
	other, ok := s.Find(uint32(to))
	if !ok {
		return true // a leaf function
	}
	if uint64(other.Begin) != to {
		return false
	}
	u, err := s.info(other)
	return err != nil || u.flags&flagChained == 0
}

// tailJump reports whether an indirect jump has the form required in epilogues: with a
// redundant REX.W prefix, or through a word addressed relative to the instruction, such as
// an imported function's. Other indirect jumps are those of jump tables.
func tailJump(in *disasm.Inst) bool {
	if b := in.Bytes(); b[0]&0xf8 == 0x48 {
		return true
	}
	m := in.Mem()
	return m != nil && m.RIPRelative
}
