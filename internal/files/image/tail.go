package image

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

// A TailChain lists, outermost first, the functions that ran between a call and the running
// function and left by tail calls. They are all in one file.
type TailChain struct {
	Image *Image
	Calls []dwarf.TailCall
	// Complete says that only one path is possible. Otherwise Calls has what all possible
	// paths have in common.
	Complete bool
}

// TailCalls finds the functions that ran between the call in from that returns to ret and
// the function in to that contains pc (both are addresses in the files). The error wraps
// dwarf.ErrNotFound if no path is known.
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
	// All the jumps are in one of the two files. For a callee in another file, only the
	// name matters: it may have no debug information.
	if len(starts) > 0 {
		return TailCallsOf(from, starts, to, pc)
	}
	entry, ok := to.resolver()(name)
	if !ok {
		return TailChain{}, fmt.Errorf("%s: %w", name, dwarf.ErrNotFound)
	}
	return TailCallsAt(to, entry, to, pc)
}

// TailCallsAt is TailCalls for a call of the function in from whose code begins at entry.
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

// TailCallsOf is TailCalls for a call of one of the functions starts in from.
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

// TailsBack reports whether the tail calls of f, a function of the file, may lead back to it.
func (im *Image) TailsBack(f dwarf.Func) bool { return im.DWARF().TailsBack(f, im.resolver()) }

func (im *Image) resolver() dwarf.Resolver {
	return func(name string) (uint64, bool) {
		s, ok := im.SymbolByName(name)
		return s.Value, ok
	}
}
