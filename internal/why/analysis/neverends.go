package analysis

import (
	"github.com/corewalk/corewalk/internal/code/provenance"
)

// maxEnding is how much code of a function is looked through, in bytes, to see that it never returns.
const maxEnding = 1 << 11

// callsEnding reports whether the instruction at an address is a call of a function that never returns, by its code: compilers see that of a function of their
// own unit, whatever its declaration says, and put behind the call what control gets to from elsewhere.
func (w *witness) callsEnding(addr uint64) bool {
	inst, ok := w.code.Inst(addr)
	if !ok || !inst.Kind.IsCall() || inst.Target == 0 {
		return false
	}
	return w.in.neverEnds(inst.Target, w.abi)
}

// neverEnds reports whether the function at an address never returns, by its code.
func (in *question) neverEnds(start uint64, abi provenance.ABI) bool {
	end := in.symbolEnd(start)
	if end <= start || end-start > maxEnding {
		return false
	}
	code := provenance.New(in.arch, abi, &codeReader{in: in}, start, end)
	if code == nil || code.Opaque() {
		return false
	}
	for range code.Returns {
		return false
	}
	return true
}
