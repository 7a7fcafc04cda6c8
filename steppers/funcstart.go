package steppers

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// lookupFuncStart tells the frames of functions without a FrameFuncHelper: it reads the function's code
// from its symbol on, as far as the address asked about and a little further to
// see an epilogue; without a symbol, the code around the address.
//
// On x86 the prologue and what follows the address tell. Elsewhere the code is
// followed from the function's start on: a frame counts as not set up where the
// return address still is in the link register and nothing is on the stack.
type lookupFuncStart struct {
	w     *unwind.Walker
	flows *flows
}

const (
	// maxFuncCode is the most code read of one function, in bytes.
	maxFuncCode = 32 << 10
	// afterPC is how much code is read after the address asked about: enough for
	// an epilogue, or for the prologue of the function's first lines.
	afterPC = 96
	// beforePC is how much code is read before it when the function's start is
	// not known.
	beforePC = 16
)

// at answers as FrameFuncHelper.AllocatesFrame does, for the code at pc of a function
// that is looked up at another address.
func (l lookupFuncStart) at(pc, lookup, mode arch.Address) (FrameType, FrameState) {
	p := l.w.ProcessState()
	if p.Arch().Family != arch.FamilyX86 {
		row, _ := l.flows.certain(nil, l.w, lookup, mode)
		return linkedFrame(p.Arch(), row)
	}
	if start, size, ok := functionAt(l.w, lookup); ok && pc-start < maxFuncCode {
		end := pc + afterPC
		if size != 0 {
			end = min(end, start+size)
		}
		if code := readFunc(p, start, end); pc-start < uint64(len(code)) {
			return frameState(disasm.FrameState(p.Arch(), code, start, pc))
		}
	}
	start := max(pc, beforePC) - beforePC
	code := readFunc(p, start, pc+afterPC)
	if uint64(len(code)) <= pc-start { // nothing readable before pc
		start = pc
		code = readFunc(p, start, pc+afterPC)
	}
	return frameState(disasm.FrameStateNear(p.Arch(), code, start, pc))
}

// linkedFrame is the state of a frame with row, nil for an unknown one, on a
// machine whose calls leave the return address in a register.
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

// readFunc reads the code in [start, end), or as much of it as can be read, and
// maxFuncCode bytes at most: sizes of symbols may be anything.
func readFunc(p arch.Memory, start, end arch.Address) []byte {
	if end <= start {
		return nil
	}
	code := make([]byte, min(end-start, maxFuncCode))
	n, _ := p.ReadMem(start, code)
	return code[:n]
}

// functionAt returns the start and size of the function that addr is in, by
// symbol; the size is 0 where it is not known.
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

// frameState translates disasm's terms.
func frameState(t disasm.FrameType, s disasm.FPState) (FrameType, FrameState) {
	types := [...]FrameType{disasm.UnknownFrame: UnknownT, disasm.NoFrame: NoFrame, disasm.StandardFrame: StandardFrame, disasm.SaveFPOnlyFrame: SaveFPOnlyFrame}
	states := [...]FrameState{disasm.FPUnknown: UnknownS, disasm.FPUnset: UnsetFrame, disasm.FPHalfSet: HalfsetFrame, disasm.FPSet: SetFrame}
	return types[t], states[s]
}
