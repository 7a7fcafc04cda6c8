package symlookup

import (
	"slices"

	"github.com/corewalk/corewalk/internal/dwarf"
	"github.com/corewalk/corewalk/internal/image"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// LookupTailCalls implements unwind.TailCallLookup, from the call sites in DWARF.
// Of several ways that are possible, what they have in common is given.
func (l *Lookup) LookupTailCalls(ra, callee unwind.Address, buf []unwind.Call) []unwind.Call {
	key := tailKey{ra, callee}
	if v, ok := l.tails.Load(key); ok {
		return append(buf, v.([]unwind.Call)...)
	}
	calls := l.tailCalls(ra, callee)
	l.tails.Store(key, calls)
	return append(buf, calls...)
}

// A place is an address in a library and the library's file.
type place struct {
	lib *libstate.Library
	im  *image.Image
	pc  uint64 // in the file
}

func (l *Lookup) place(addr unwind.Address) (place, bool) {
	lib, ok := l.libs.LibraryAt(addr)
	if !ok {
		return place{}, false
	}
	p := place{lib, l.images(lib), addr - lib.LoadBias}
	return p, p.im.DWARF() != nil
}

func (l *Lookup) tailCalls(ra, callee unwind.Address) []unwind.Call {
	if ra == 0 {
		return nil
	}
	from, ok := l.place(ra - 1)
	if !ok {
		return nil
	}
	to, ok := l.place(callee)
	if !ok || from.im == to.im {
		if ok {
			chain, _, err := from.im.DWARF().TailChain(from.pc+1, dwarf.Callee{PC: to.pc}, from.resolver())
			if err == nil {
				return from.calls(chain)
			}
		}
		return nil
	}
	return l.acrossFiles(from, to)
}

// acrossFiles finds the tail calls where the running function is in another file
// than the call: they may have been made in either.
func (l *Lookup) acrossFiles(from, to place) []unwind.Call {
	d := from.im.DWARF()
	starts, name, err := d.CallTarget(from.pc+1, from.resolver())
	if err != nil {
		return nil
	}
	if len(starts) > 0 {
		s, ok := to.im.SymbolAt(to.pc)
		if !ok {
			return nil
		}
		chain, _, err := d.TailPath(starts, dwarf.Callee{Name: s.Name()}, from.resolver())
		if err != nil {
			return nil
		}
		return from.calls(chain)
	}
	entry, ok := to.resolver()(name)
	if !ok {
		return nil
	}
	u, err := to.im.DWARF().UnitForPC(entry)
	if err != nil {
		return nil
	}
	f, ok := u.FuncAt(entry)
	if !ok {
		return nil
	}
	chain, _, err := to.im.DWARF().TailPath([]dwarf.Func{f}, dwarf.Callee{PC: to.pc}, to.resolver())
	if err != nil {
		return nil
	}
	return to.calls(chain)
}

func (p place) resolver() dwarf.Resolver {
	return func(name string) (uint64, bool) {
		s, ok := p.im.SymbolByName(name)
		return s.Value, ok
	}
}

// calls turns a chain, outermost first, into calls, youngest first. A jump that
// was inlined into the function that left by it brings its inlined calls along.
func (p place) calls(chain []dwarf.TailCall) []unwind.Call {
	var out []unwind.Call
	for _, tc := range slices.Backward(chain) {
		if tc.PC != 0 {
			out = append(out, fromDWARF(p.im, tc.PC, p.lib.LoadBias)...)
			continue
		}
		frames := fromDWARF(p.im, tc.Func.Entry, p.lib.LoadBias)
		if len(frames) > 0 {
			c := frames[len(frames)-1]
			c.Line, c.Column = 0, 0 // where in it is not known
			out = append(out, c)
		}
	}
	return out
}
