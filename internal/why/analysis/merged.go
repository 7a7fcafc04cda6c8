package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxMerged is how many places one call may stand for. With more, they hardly have anything in common.
const maxMerged = 16

// merged returns the places whose calls the compiler merged into the one that frame f made; nil if it merged none.
// calls are those at that call. Compilers merge calls that do not return, and only the crashing thread makes one
// that matters.
func (in *inspection) merged(f, callee *unwind.Frame, calls []unwind.Call) *report.Merged {
	lookup, ok := in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok || !in.crashed || in.opts.NoInlines || len(calls) == 0 || f.LookupAddr() == f.RA() || callee.IsTrampoline() || f.Trust() == unwind.TrustScan {
		return nil
	}
	name := in.neverReturned(f, callee)
	if name == "" {
		return nil
	}
	leading := in.leading(f, calls[len(calls)-1].Entry, lookup)
	if len(leading) < 2 {
		return nil
	}
	throws := onlyLibraryCalls(name)
	m := &report.Merged{Lost: calls[0].Approximate || throws && !inLibrary(calls)}
	differ := m.Lost
	for _, addr := range leading {
		c, err := lookup.LookupCalls(addr, nil)
		if err != nil || c[len(c)-1].Entry != calls[len(calls)-1].Entry {
			return nil
		}
		if throws && !inLibrary(c) {
			continue // the compiler knew there what an inlined function of the library would do
		}
		p := report.MergedPlace{Source: source(c[0])}
		for _, inlined := range c[:len(c)-1] {
			p.Inlined = append(p.Inlined, inlined.Name)
		}
		same := func(q report.MergedPlace) bool { return q.Source == p.Source && slices.Equal(q.Inlined, p.Inlined) }
		if slices.ContainsFunc(m.Places, same) {
			continue
		}
		m.Places = append(m.Places, p)
		differ = differ || !slices.EqualFunc(c, calls, func(x, y unwind.Call) bool { return x.Name == y.Name })
	}
	switch {
	case !differ, len(m.Places) == 0, len(m.Places) > maxMerged, len(m.Places) == 1 && !m.Lost:
		return nil
	}
	return m
}

// leading returns where control comes from to the call that f made in the function that begins at start.
func (in *inspection) leading(f *unwind.Frame, start unwind.Address, lookup unwind.CallLookup) []uint64 {
	if start == 0 {
		return nil
	}
	end := in.symbolEnd(start) // of the function's main part; the call may be in another
	if in.arch.Mode != arch.NoReg {
		start |= f.CodePointer() & 1
	}
	code := provenance.New(in.arch, provenance.ABIOf(in.arch, in.Exception != nil && in.Signal == nil), &codeReader{in: in}, start, end)
	if code == nil {
		return nil
	}
	call, ok := code.CallBefore(f.RA())
	if !ok {
		return nil
	}
	return code.Leading(call, 4*maxMerged, func(addr uint64) bool {
		c, err := lookup.LookupCalls(addr, nil)
		return err == nil && len(c) > 0 && !c[0].Approximate
	})
}

// neverReturned returns the linkage name of the function that f called, if it is known never to return. The
// callee on the stack may be a part of it without a name.
func (in *inspection) neverReturned(f, callee *unwind.Frame) string {
	code := codeReader{in: in}
	addrs := []unwind.Address{callee.LookupAddr()}
	if site, ok := in.callSite(f); ok && site.Direct {
		addrs = append(addrs, site.Target)
	}
	for _, addr := range addrs {
		c, _ := code.function(addr)
		if name := cmp.Or(c.LinkageName, c.Name); stackflow.NoReturnName(name) {
			return name
		}
	}
	return ""
}

// onlyLibraryCalls reports whether no program calls a function by itself: it is std::__throw_out_of_range or
// similar, whose names are reserved.
func onlyLibraryCalls(linkage string) bool {
	return strings.HasPrefix(linkage, "_ZSt") && strings.Contains(linkage, "__throw_")
}

// inLibrary reports whether the innermost of calls is a function of the C++ library, inlined.
func inLibrary(calls []unwind.Call) bool {
	return len(calls) > 1 && (strings.HasPrefix(calls[0].Name, "std::") || strings.HasPrefix(calls[0].Name, "__gnu_cxx::"))
}
