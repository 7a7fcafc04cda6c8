package blame

import (
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/internal/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Compilers know which registers a function of the same file really changes, and leave
// values in the others across its calls, whatever the convention says (gcc's -fipa-ra).

// The bounds of looking into called functions.
const (
	maxCallees   = 64  // looked at from one function
	maxCalleeOps = 512 // instructions of each
	maxCallDepth = 3
)

const everyReg = ^arch.RegMask(0)

// changes are the registers that a called function may change: what the convention
// lets it, or less where its code was seen to the end.
func (f *Func) changes(call *disasm.Inst) arch.RegMask {
	if call.Kind != disasm.Call || call.Target == 0 {
		return everyReg
	}
	mask := f.calleeMask(call.Target|f.mode(), 0)
	f.at = -1 // call may be decoded anew
	return mask
}

func (f *Func) calleeMask(target uint64, depth int) arch.RegMask {
	if mask, ok := f.called[target]; ok {
		return mask
	}
	if len(f.called) >= maxCallees || depth >= maxCallDepth {
		return everyReg
	}
	if f.called == nil {
		f.called = map[uint64]arch.RegMask{}
	}
	f.called[target] = everyReg // while it is looked at: it may call itself
	mask := f.writtenBy(target, depth)
	f.called[target] = mask
	return mask
}

func (f *Func) writtenBy(target uint64, depth int) (mask arch.RegMask) {
	flow, steps := stackflow.Follow(f.arch, f.code, target, 0)
	if flow == nil || len(steps) == 0 || len(steps) > maxCalleeOps || len(flow.Tails) > 0 || flow.TailsUnknown {
		return everyReg
	}
	var in disasm.Inst
	for i := range steps {
		addr := steps[i].Addr
		if steps[i].Opaque || disasm.DecodeInto(&in, f.arch, f.code.CodeAt(addr), addr|f.mode()) != nil {
			return everyReg
		}
		mask |= in.Writes
		switch in.Kind {
		case disasm.Call:
			mask |= f.calleeMask(in.Target|f.mode(), depth+1)
		case disasm.CallIndirect, disasm.JumpIndirect, disasm.Syscall, disasm.Interrupt:
			return everyReg
		}
		if mask == everyReg {
			return mask
		}
	}
	return mask
}
