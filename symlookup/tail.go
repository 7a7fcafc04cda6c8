package symlookup

import (
	"slices"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// LookupTailCalls implements unwind.TailCallLookup, using the call sites in DWARF. If
// several chains of calls are possible, it returns what they have in common.
func (l *Lookup) LookupTailCalls(ra, callee unwind.Address, buf []unwind.Call) []unwind.Call {
	key := tailKey{ra, callee}
	if v, ok := l.tails.Load(key); ok {
		return append(buf, v.([]unwind.Call)...)
	}
	calls := l.tailCalls(ra, callee)
	l.tails.Store(key, calls)
	return append(buf, calls...)
}

// A place is an address in a library, with the library's file, which may have no DWARF.
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
	im := l.file(lib)
	return place{lib, im, l.filePC(lib, im, addr)}, true
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
	if !ok {
		return nil
	}
	chain, err := image.TailCalls(from.im, from.pc+1, to.im, to.pc)
	if err != nil {
		return nil
	}
	if chain.Image == to.im {
		from = to
	}
	return from.calls(chain.Calls)
}

// calls turns a chain, outermost first, into calls, youngest first. If the function's
// last jump was inlined into it, its inlined calls are included.
func (p place) calls(chain []dwarf.TailCall) []unwind.Call {
	var out []unwind.Call
	bias := p.im.Bias(p.lib.LoadBias)
	for _, tc := range slices.Backward(chain) {
		if tc.PC != 0 {
			out = append(out, fromDWARF(p.im, tc.PC, bias)...)
			continue
		}
		frames := fromDWARF(p.im, tc.Func.Entry, bias)
		if len(frames) > 0 {
			c := frames[len(frames)-1]
			c.Line, c.Column = 0, 0 // the place in it is not known
			out = append(out, c)
		}
	}
	return out
}
