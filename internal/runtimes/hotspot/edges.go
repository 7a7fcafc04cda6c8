package hotspot

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxPrologue is the most bytes of a method's code before its frame is complete, with a barrier of the garbage collector.
const maxPrologue = 256

// maxEpilogue is the most instructions between the end of a frame and the return.
const maxEpilogue = 6

// starting walks a frame that its method is still making: what is yet to come says what is not there.
func (vm *VM) starting(b *blob, in, out *unwind.Frame) unwind.Status {
	pc := in.RA()
	n := b.begin + b.complete - pc
	if n > maxPrologue {
		return vm.returnsAt(in, out, in.SP(), false)
	}
	code := vm.Bytes(pc, int(n))
	if code == nil {
		return unwind.StatusNotMe
	}
	push, allocates, saves := false, false, false
	for len(code) > 0 {
		i, err := disasm.Decode(arch.AMD64, code, pc)
		if err != nil {
			return unwind.StatusNotMe
		}
		switch i.Kind {
		case disasm.Push:
			push = push || i.Src == arch.RBP
		case disasm.SubSP:
			allocates = true
		case disasm.Store:
			saves = saves || i.Src == arch.RBP
		}
		code, pc = code[i.Len:], pc+uint64(i.Len)
	}
	switch {
	case push, allocates && saves: // nothing yet
		return vm.returnsAt(in, out, in.SP(), false)
	case allocates: // rbp is on the stack
		return vm.returnsAt(in, out, in.SP()+8, true)
	}
	sender := in.SP() + b.frameSize
	if b.frameSize < 16 || b.frameSize > maxFrame {
		return unwind.StatusNotMe
	}
	return vm.returnsAt(in, out, sender-8, !saves)
}

// leaving reports whether code returns after at most maxEpilogue instructions: how far above the stack pointer
// the return address is, and whether the frame pointer is right below it.
func (vm *VM) leaving(pc uint64) (depth uint64, saved, ok bool) {
	code := vm.Some(pc, maxEpilogue*disasm.MaxLen)
	for range maxEpilogue {
		i, err := disasm.Decode(arch.AMD64, code, pc)
		if err != nil {
			return 0, false, false
		}
		switch i.Kind {
		case disasm.Ret:
			return depth, saved, true
		case disasm.AddSP:
			if i.Imm <= 0 || i.Imm > maxFrame || saved {
				return 0, false, false
			}
			depth += uint64(i.Imm)
		case disasm.Pop:
			if i.Dst != arch.RBP || saved {
				return 0, false, false
			}
			depth, saved = depth+8, true
		case disasm.CondJump: // the thread is asked to stop
		case disasm.Other, disasm.Load, disasm.Mov, disasm.MovImm: // compares for that, a result
			if i.Writes.Has(arch.RSP) || i.Writes.Has(arch.RBP) {
				return 0, false, false
			}
		default:
			return 0, false, false
		}
		code, pc = code[i.Len:], pc+uint64(i.Len)
	}
	return 0, false, false
}
