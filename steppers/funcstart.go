package steppers

import (
	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// LookupFuncStart is the default FrameFuncHelper: it reads the function's code
// from its symbol on, as far as the address asked about and a little further to
// see an epilogue; without a symbol, the code around the address.
type LookupFuncStart struct {
	w *unwind.Walker
}

// NewLookupFuncStart returns the helper for a walker's process.
func NewLookupFuncStart(w *unwind.Walker) LookupFuncStart { return LookupFuncStart{w} }

// AllocatesFrame implements FrameFuncHelper.
func (l LookupFuncStart) AllocatesFrame(addr arch.Address) (FrameType, FrameState) {
	return l.at(addr, addr)
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

// at is AllocatesFrame for a function that is looked up at another address.
func (l LookupFuncStart) at(pc, lookup arch.Address) (FrameType, FrameState) {
	p := l.w.ProcessState()
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

// readFunc reads the code in [start, end), or as much of it as can be read.
func readFunc(p arch.Memory, start, end arch.Address) []byte {
	if end <= start {
		return nil
	}
	code := make([]byte, end-start)
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
