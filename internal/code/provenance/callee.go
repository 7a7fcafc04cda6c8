package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Compilers know which registers a function of the same file really changes, and keep values in the others
// across calls to it, whatever the calling convention says (gcc's -fipa-ra).

// Limits on the analysis of called functions.
const (
	maxCallees   = 64  // per function
	maxCalleeOps = 512 // instructions per called function
	maxCallDepth = 3
)

const everyReg = ^arch.RegMask(0)

// changes returns the registers that a called function may change: those that the convention allows, or fewer
// if all of its code was seen.
func (f *Func) changes(call *disasm.Inst) arch.RegMask {
	if call.Kind != disasm.Call {
		return everyReg
	}
	return f.calleeMask(call.Target|f.mode(), 0)
}

func (f *Func) calleeMask(target uint64, depth int) arch.RegMask {
	if mask, ok := f.called[target]; ok {
		return mask
	}
	if len(f.called) >= maxCallees || depth >= maxCallDepth {
		return everyReg
	}
	f.called[target] = everyReg // for calls to itself while it is analysed
	mask := f.writtenBy(target, depth)
	f.called[target] = mask
	return mask
}

// writtenBy visits the code that control reaches from target up to the returns.
func (f *Func) writtenBy(target uint64, depth int) (mask arch.RegMask) {
	mode := target & f.mode()
	var in disasm.Inst
	seen := map[uint64]bool{}
	todo := []uint64{target &^ mode}
	for len(todo) > 0 {
		addr := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[addr] {
			continue
		}
		seen[addr] = true
		if len(seen) > maxCalleeOps || disasm.DecodeInto(&in, f.arch, f.code.CodeAt(addr), addr|mode) != nil || in.Switches {
			return everyReg
		}
		mask |= in.Writes
		switch in.Kind {
		case disasm.Ret:
			if in.Conditional {
				todo = append(todo, in.Next()&^mode)
			}
			continue
		case disasm.Jump:
			todo = append(todo, in.Target&^mode)
			continue
		case disasm.CondJump:
			todo = append(todo, in.Target&^mode)
		case disasm.Call:
			if mask |= f.calleeMask(in.Target|mode, depth+1); mask == everyReg {
				return mask
			}
		case disasm.CallIndirect, disasm.JumpIndirect, disasm.RetFar, disasm.Syscall, disasm.Interrupt, disasm.Trap, disasm.Int3, disasm.Halt:
			return everyReg
		}
		if in.Predicates > 0 {
			return everyReg
		}
		todo = append(todo, in.Next()&^mode)
	}
	return mask
}

// asksForPC reports whether a call only puts its return address into a register: position-independent code of i386 learns in this way where
// it is (__x86.get_pc_thunk.bx), and the register need not be one that calls may change.
func (f *Func) asksForPC(call *disasm.Inst, r arch.Reg) bool {
	if f.arch != arch.X86 || call.Kind != disasm.Call {
		return false
	}
	at := func(addr uint64) disasm.Inst {
		in, _ := disasm.Decode(f.arch, f.code.CodeAt(addr), addr) // of kind Other if there is none
		return in
	}
	load := at(call.Target)
	if load.Kind != disasm.Load || load.Dst != r || load.Size != 4 {
		return false
	}
	m := load.Mem()
	return m != nil && m.Base == f.arch.SP && m.Index == arch.NoReg && m.Disp == 0 && at(load.Next()).Kind == disasm.Ret
}
