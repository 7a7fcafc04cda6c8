package message

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The only branch that is followed is the one for short strings, which are stored in the object itself: the
// code tests a bit of a byte in memory (Intel SDM volume 2, test: F6 /0), and the next instruction jumps
// depending on it (Jcc: 74, 75, 0F 84, 0F 85).

// A tested is the result of a test, and the address of the instruction that may use it.
type tested struct {
	next arch.Address
	zero bool
}

// test executes an instruction that tests bits of a byte in memory.
func (f *follower) test(inst *disasm.Inst) bool {
	code := inst.Bytes()
	if f.Arch.Family != arch.FamilyX86 || inst.Mem() == nil || len(code) < 3 {
		return false
	}
	if code[0]&0xf0 == 0x40 && f.Arch.WordSize == 8 { // a REX prefix
		code = code[1:]
	}
	if code[0] != 0xf6 || code[1]>>3&7 != 0 {
		return false
	}
	addr, ok := inst.EffectiveAddress(&f.regs)
	if !ok || f.onStack(addr) {
		return false
	}
	v, ok := f.Uint(addr, 1)
	f.tested = tested{inst.Next(), byte(v)&code[len(code)-1] == 0}
	return ok
}

// decide reports whether a conditional jump is taken; ok is false if that is not known.
func (f *follower) decide(inst *disasm.Inst) (taken, ok bool) {
	code := inst.Bytes()
	if f.Arch.Family != arch.FamilyX86 || f.tested.next != inst.PC || len(code) < 2 {
		return false, false
	}
	condition := code[0]
	if condition == 0x0f {
		condition = code[1] - 0x10
	}
	switch condition {
	case 0x74:
		return f.tested.zero, true
	case 0x75:
		return !f.tested.zero, true
	}
	return false, false
}
