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

// merged returns the places whose calls the compiler merged into the one that a frame made, nil if it merged none, and
// the calls at the place that control came from, if that is certain. calls are those at that call. Compilers merge
// calls that do not return, and only the crashing thread makes one that matters.
func (in *naming) merged(frames []*unwind.Frame, physical int, calls []unwind.Call) (*report.Merged, []unwind.Call) {
	lookup, ok := in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok || !in.crashed || in.NoInlines || len(calls) == 0 || physical == 0 {
		return nil, calls
	}
	f, callee := frames[physical], frames[physical-1]
	if f.LookupAddr() == f.RA() || callee.IsTrampoline() || f.Trust() == unwind.TrustScan {
		return nil, calls
	}
	name, byCode := in.neverReturned(frames, physical)
	if name == "" || byCode && !calls[0].Approximate {
		return nil, calls // of one's own functions compilers of LLVM join calls only, and then they lose the place
	}
	w := in.mergedWitness(frames, physical, calls[len(calls)-1].Entry)
	defer w.close()
	leading := w.leading(lookup)
	if len(leading) < 2 {
		return nil, calls
	}
	throws := onlyLibraryCalls(name)
	m := &report.Merged{Lost: calls[0].Approximate || throws && !inLibrary(calls)}
	differ := m.Lost
	all := ways{}
	place := make([]int, len(leading)) // in all.places; -1 for others
	chains := make([][]unwind.Call, len(leading))
	for i, addr := range leading {
		c, err := lookup.LookupCalls(addr, nil)
		if err != nil || c[len(c)-1].Entry != calls[len(calls)-1].Entry {
			return nil, calls
		}
		if throws && !inLibrary(c) {
			place[i] = -1
			continue // the compiler knew there what an inlined function of the library would do
		}
		chains[i] = c
	}
	alike := alikeWithin(chains, calls)
	for i, c := range chains {
		if c == nil {
			continue
		}
		p := report.MergedPlace{Source: source(c[alike])}
		for _, inlined := range c[alike : len(c)-1] {
			p.Inlined = append(p.Inlined, inlined.Name)
		}
		same := func(q report.MergedPlace) bool { return q.Source == p.Source && slices.Equal(q.Inlined, p.Inlined) }
		at := slices.IndexFunc(m.Places, same)
		if at < 0 {
			at = len(m.Places)
			m.Places = append(m.Places, p)
			all.places = append(all.places, wayOf{calls: c})
			differ = differ || len(m.Places) > 1 && alike > 0 || !slices.EqualFunc(c, calls, func(x, y unwind.Call) bool { return x.Name == y.Name })
		}
		place[i] = at
	}
	switch {
	case !differ, len(m.Places) == 0, len(m.Places) > maxMerged, len(m.Places) == 1 && !m.Lost:
		return nil, calls
	}
	certain := w.certain(calls[len(calls)-1].Entry)
	for i, addr := range leading {
		came, known := false, false
		if certain {
			came, known = w.eval.Came(addr)
		}
		if place[i] < 0 {
			all.others = all.others || came || !known
			continue
		}
		p := &all.places[place[i]]
		p.came = p.came || came && known
		p.open = p.open || !known
	}
	at, moved := all.decide(m, calls)
	taken := slices.ContainsFunc(m.Places, func(p report.MergedPlace) bool { return p.Verdict == report.PlaceTaken })
	if moved || !taken && len(calls) > 1 {
		if in.moved == nil {
			in.moved = map[*unwind.Frame]bool{}
		}
		in.moved[f] = true // its address has no variables of the calls that are shown, or those of one of several places
	}
	return m, at
}

// alikeWithin returns how many of the innermost inlined calls are the same in all chains of calls, and have their names in the calls of the merged call: a
// function that several calls of one function stand for. Only where these calls are tells the places apart then.
func alikeWithin(chains [][]unwind.Call, calls []unwind.Call) (n int) {
	for {
		var first *unwind.Call
		for _, c := range chains {
			switch {
			case c == nil:
			case n+1 >= len(c), n+1 >= len(calls), c[n].Name != calls[n].Name, first != nil && source(c[n]) != source(*first):
				return n
			case first == nil:
				first = &c[n]
			}
		}
		if first == nil {
			return n
		}
		n++
	}
}

// ways are what is known of the ways to a merged call.
type ways struct {
	places []wayOf // by place
	others bool    // control may have come from elsewhere
}

// A wayOf is what is known of the ways from one place.
type wayOf struct {
	calls []unwind.Call
	came  bool // the condition of one held
	open  bool // the condition of one is not known
}

// decide sets the verdicts on the places, and returns the calls at the place that control came from, or else at the
// merged call; moved says that they are not those at the merged call. If all places are refuted, something that the conditions need is damaged: none is.
func (w *ways) decide(m *report.Merged, calls []unwind.Call) (at []unwind.Call, moved bool) {
	var possible []int
	for i, p := range w.places {
		if p.came || p.open {
			possible = append(possible, i)
		}
	}
	if len(possible) == 0 {
		return calls, false
	}
	for i, p := range w.places {
		if !p.came && !p.open {
			m.Places[i].Verdict = report.PlaceRefuted
		}
	}
	if only := possible[0]; len(possible) == 1 && w.places[only].came && !w.others {
		m.Places[only].Verdict = report.PlaceTaken
		own := slices.EqualFunc(calls, w.places[only].calls, func(x, y unwind.Call) bool { return x.Name == y.Name })
		for i := 1; own && i < len(calls); i++ { // the same calls
			own = calls[i].Line == w.places[only].calls[i].Line
		}
		if !m.Lost && own {
			return calls, false // the call's own line is better than that of its condition
		}
		return w.places[only].calls, true
	}
	return calls, false
}

// mergedWitness returns the witness of a frame in the function that begins at start; nil if its code cannot be
// followed. The call may be in another part than the function's main one.
func (in *question) mergedWitness(frames []*unwind.Frame, physical int, start unwind.Address) *witness {
	w := &witness{in: in, stack: frames, number: physical, frame: frames[physical]}
	if start == 0 || !w.analyse(start, in.symbolEnd(start), nil) {
		w.close()
		return nil
	}
	return w
}

// leading returns where control comes from to the call that the frame made.
func (w *witness) leading(lookup unwind.CallLookup) []uint64 {
	if w == nil {
		return nil
	}
	return w.code.Leading(w.state.PC, 4*maxMerged, func(addr uint64) bool {
		c, err := lookup.LookupCalls(addr, nil)
		return err == nil && len(c) > 0 && !c[0].Approximate
	}, w.callsEnding)
}

// certain reports whether the frame's registers are certain, and lets its conditions use the arguments that its
// caller passed to the function at start.
func (w *witness) certain(start unwind.Address) bool {
	rules := func(f *unwind.Frame) bool {
		if f.RALocation().Doubtful || f.CFADoubtful() {
			return false
		}
		switch f.Trust() {
		case unwind.TrustContext, unwind.TrustCFI, unwind.TrustSymCFI, unwind.TrustExidx, unwind.TrustPEUnwind:
			return true
		}
		return false
	}
	for _, f := range w.stack[:w.number+1] {
		if !rules(f) {
			return false
		}
	}
	if w.number+1 == len(w.stack) || !rules(w.stack[w.number+1]) {
		w.state.AtEntry = nil
		return true
	}
	w.state.Passed = func(r arch.Reg) (uint64, bool) {
		site, ok := w.in.callSite(w.stack[w.number+1])
		if !ok || !site.Direct || site.Target != start || !slices.Contains(w.abi.Args, r) {
			return 0, false
		}
		caller := w.in.witnessOf(w.stack, w.number+1, nil)
		if caller == nil {
			return 0, false
		}
		defer caller.close()
		if caller.code.Opaque() {
			return 0, false
		}
		v, exact, ok := caller.eval.Value(caller.code.Before(caller.state.PC, provenance.Reg(r)), 0)
		return v, ok && exact
	}
	return true
}

// maxEndingFrames is how deep a function is on the stack at most that never returns by its code. The machinery that ends a program is not deeper.
const maxEndingFrames = 16

// neverReturned returns the linkage name of the function that a physical frame called, if it is known never to return. The
// callee on the stack may be a part of it without a name. Of the program's own functions the code tells, byCode: those that called what never returns themselves.
func (in *question) neverReturned(frames []*unwind.Frame, physical int) (name string, byCode bool) {
	f, callee := frames[physical], frames[physical-1]
	code := codeReader{in: in}
	addrs := []unwind.Address{callee.LookupAddr()}
	site, direct := in.callSite(f)
	if direct = direct && site.Direct; direct {
		addrs = append(addrs, site.Target)
	}
	for _, addr := range addrs {
		c, _ := code.function(addr)
		if name := cmp.Or(c.LinkageName, c.Name); stackflow.NoReturnName(name) {
			return name, false
		}
	}
	if direct && physical > 1 && physical <= maxEndingFrames && in.endedItself() {
		if inner, _ := in.neverReturned(frames, physical-1); inner == "" {
			return "", false
		}
		if c, ok := code.function(site.Target); ok && c.Entry == site.Target && in.neverEnds(site.Target, provenance.ABIOf(in.arch, false)) {
			return cmp.Or(c.LinkageName, c.Name), true
		}
	}
	return "", false
}

// onlyLibraryCalls reports whether no program calls a function by itself: it is std::__throw_out_of_range or
// similar, whose names are reserved.
func onlyLibraryCalls(linkage string) bool {
	return strings.HasPrefix(linkage, "_ZSt") && strings.Contains(linkage, "__throw_")
}

// inLibrary reports whether the innermost of calls is a function of the C++ library, inlined.
func inLibrary(calls []unwind.Call) bool {
	return len(calls) > 1 && library(calls[0].Name)
}
