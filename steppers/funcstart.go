package steppers

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// lookupFuncStart finds the state of frames without a FrameFuncHelper. It reads the
// function's code from its symbol to the given address, and a little further to see an
// epilogue; without a symbol, it reads the code around the address.
//
// On x86 the prologue and the code after the address decide. On other architectures it
// follows the code from the function's start: a frame counts as not set up if the
// return address is still in the link register and nothing is on the stack.
type lookupFuncStart struct {
	w     *unwind.Walker
	flows *flows
}

const (
	// maxFuncCode is the largest number of code bytes to read of one function.
	maxFuncCode = 32 << 10
	// afterPC is how many bytes of code to read after the address: enough for an
	// epilogue, or for the prologue if the address is in the function's first lines.
	afterPC = 96
	// beforePC is how many bytes to read before the address if the function's start is
	// not known.
	beforePC = 16
)

// at returns what FrameFuncHelper.AllocatesFrame does, for the code at pc in a function
// that is looked up by another address.
func (l lookupFuncStart) at(pc, lookup, mode arch.Address) (FrameType, FrameState) {
	p := l.w.ProcessState()
	if p.Arch().Family != arch.FamilyX86 {
		row, _ := l.flows.certain(nil, l.w, lookup, mode)
		return linkedFrame(p.Arch(), row)
	}
	if libraryAt(p, lookup) == nil { // of code that its compiler recorded, the beginning is known
		if row, _ := l.flows.certain(nil, l.w, lookup, mode); row != nil {
			return linkedFrame(p.Arch(), row)
		}
	}
	start, size, ok := functionAt(l.w, lookup)
	if !ok && libraryAt(p, lookup) == nil {
		var end arch.Address
		if start, end, ok = named(l.w, lookup); ok {
			size = end - start
		}
	}
	if ok && pc-start < maxFuncCode {
		if typ, state, ok := l.flows.frames.Known(start, pc); ok {
			return frameState(typ, state)
		}
		if l.w.Spend(0) != nil {
			return UnknownT, UnknownS
		}
		end := pc + afterPC
		if size != 0 {
			end = min(end, start+size)
		}
		buf, _ := l.flows.code.Get().(*[]byte) // half a megabyte for each place in a function would be much
		if buf == nil {
			buf = new([]byte)
		}
		defer l.flows.code.Put(buf)
		*buf = appendFunc((*buf)[:0], p, start, end)
		if code := *buf; pc-start < uint64(len(code)) {
			typ, state, work := l.flows.frames.State(p.Arch(), code, start, pc)
			_ = l.w.Spend(flowCost * work) // a walk that has nothing left ends with its next frame
			return frameState(typ, state)
		}
	}
	start = max(pc, beforePC) - beforePC
	code := readFunc(p, start, pc+afterPC)
	if uint64(len(code)) <= pc-start { // nothing before pc can be read
		start = pc
		code = readFunc(p, start, pc+afterPC)
	}
	return frameState(disasm.FrameStateNear(p.Arch(), code, start, pc))
}

// linkedFrame returns the state of a frame with row, nil if not known, on a machine
// whose calls leave the return address in a register.
func linkedFrame(a *arch.Arch, row *stackflow.Row) (FrameType, FrameState) {
	switch {
	case row == nil || row.CFA.Reg == arch.NoReg || row.RA.Kind == stackflow.Lost:
		return UnknownT, UnknownS
	case row.FrameReg && row.RA.Kind != stackflow.InReg:
		return StandardFrame, SetFrame
	case row.RA.Kind == stackflow.InReg && row.RA.Reg == a.RA && row.CFA.Reg == a.SP && row.CFA.Off+row.CallerSP == 0:
		return NoFrame, UnsetFrame
	case row.RA.Kind == stackflow.InReg:
		return NoFrame, SetFrame // a leaf with something on the stack
	}
	return SaveFPOnlyFrame, SetFrame
}

// readFunc reads the code in [start, end) as far as it can be read, and maxFuncCode
// bytes at most: symbols can have any size.
func readFunc(p arch.Memory, start, end arch.Address) []byte { return appendFunc(nil, p, start, end) }

// appendFunc is readFunc into a buffer that is used again.
func appendFunc(buf []byte, p arch.Memory, start, end arch.Address) []byte {
	if end <= start {
		return buf
	}
	size := int(min(end-start, maxFuncCode))
	buf = slices.Grow(buf, size)
	n, _ := p.ReadMem(start, buf[len(buf):len(buf)+size])
	return buf[:len(buf)+max(n, 0)]
}

// functionAt returns the start and size of the function that contains addr, by symbol;
// the size is 0 if it is not known.
func functionAt(w *unwind.Walker, addr arch.Address) (start arch.Address, size uint64, ok bool) {
	lib, syms := libraryAt(w.ProcessState(), addr), w.SymbolReader()
	if lib == nil || syms == nil {
		return 0, 0, false
	}
	return functionIn(syms, lib, addr)
}

func functionIn(syms unwind.SymbolReader, lib *libstate.Library, addr arch.Address) (start arch.Address, size uint64, ok bool) {
	sym, ok := syms.SymbolAt(lib, addr)
	return sym.Addr, sym.Size, ok && sym.Addr <= addr
}

// frameState translates package disasm's result.
func frameState(t disasm.FrameType, s disasm.FPState) (FrameType, FrameState) {
	types := [...]FrameType{disasm.UnknownFrame: UnknownT, disasm.NoFrame: NoFrame, disasm.StandardFrame: StandardFrame, disasm.SaveFPOnlyFrame: SaveFPOnlyFrame}
	states := [...]FrameState{disasm.FPUnknown: UnknownS, disasm.FPUnset: UnsetFrame, disasm.FPHalfSet: HalfsetFrame, disasm.FPSet: SetFrame}
	return types[t], states[s]
}
