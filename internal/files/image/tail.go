package image

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A TailChain is the functions that ran between a call and the function that is
// running, and left by tail calls: outermost first, all of one file.
type TailChain struct {
	Image *Image
	Calls []dwarf.TailCall
	// Complete says that there is one way only; otherwise Calls has what all ways
	// have in common.
	Complete bool
}

// TailCalls finds the functions that ran between the call of from that returns to
// ret, and the one of to around pc (addresses of the files). The error wraps
// dwarf.ErrNotFound when no way is known.
func TailCalls(from *Image, ret uint64, to *Image, pc uint64) (TailChain, error) {
	d := from.DWARF()
	if d == nil {
		return TailChain{}, fmt.Errorf("tail calls before %#x: %w", ret, dwarf.ErrNotFound)
	}
	if from == to {
		calls, complete, err := d.TailChain(ret, dwarf.Callee{PC: pc}, from.resolver())
		return TailChain{from, calls, complete}, err
	}
	starts, name, err := d.CallTarget(ret, from.resolver())
	if err != nil {
		return TailChain{}, err
	}
	// The jumps were made in one of the two files. Of a callee in another file only
	// the name counts: it may have no debugging information.
	if len(starts) > 0 {
		return TailCallsOf(from, starts, to, pc)
	}
	entry, ok := to.resolver()(name)
	if !ok {
		return TailChain{}, fmt.Errorf("%s: %w", name, dwarf.ErrNotFound)
	}
	return TailCallsAt(to, entry, to, pc)
}

// TailCallsAt is TailCalls for a call of the function of from whose code is at
// entry.
func TailCallsAt(from *Image, entry uint64, to *Image, pc uint64) (TailChain, error) {
	d := from.DWARF()
	if d == nil {
		return TailChain{}, fmt.Errorf("tail calls of the function at %#x: %w", entry, dwarf.ErrNotFound)
	}
	u, err := d.UnitForPC(entry)
	if err != nil {
		return TailChain{}, err
	}
	f, ok := u.FuncAt(entry)
	if !ok {
		return TailChain{}, fmt.Errorf("function at %#x: %w", entry, dwarf.ErrNotFound)
	}
	return TailCallsOf(from, []dwarf.Func{f}, to, pc)
}

// TailCallsOf is TailCalls for a call of one of the functions starts of from.
func TailCallsOf(from *Image, starts []dwarf.Func, to *Image, pc uint64) (TailChain, error) {
	if from == to {
		calls, complete, err := from.DWARF().TailPath(starts, dwarf.Callee{PC: pc}, from.resolver())
		return TailChain{from, calls, complete}, err
	}
	s, ok := to.SymbolAt(pc)
	if !ok {
		return TailChain{}, fmt.Errorf("function at %#x: %w", pc, dwarf.ErrNotFound)
	}
	var last error
	for _, name := range calledAs(s.Name()) {
		calls, complete, err := from.DWARF().TailPath(starts, dwarf.Callee{Name: name}, from.resolver())
		if err == nil {
			return TailChain{from, calls, complete}, nil
		}
		last = err
	}
	return TailChain{}, last
}

func (im *Image) resolver() dwarf.Resolver {
	return func(name string) (uint64, bool) {
		s, ok := im.SymbolByName(name)
		return s.Value, ok
	}
}
