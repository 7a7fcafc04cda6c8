package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// givenNull reports whether frame i is the innermost that would be kept, and its caller, which must have a name, passed it the null that failed, as an
// argument or as the object of a member function: that is the caller's mistake. What the function did with the null says nothing of it, and where a
// function is inlined, or a virtual one is looked for, the compiler decides which of the two fails. Only one caller is taken: how far outward
// the null is handed on depends on what the compiler knew of it.
func (b *builder) givenNull(i int) bool {
	crash := b.report.Crash
	if crash == nil || crash.Blame == nil || crash.Blame.Value != 0 || b.sig.Class != "access" {
		return false
	}
	if len(b.kept) > 0 || b.nulled || i+1 >= len(b.thread.Frames) {
		return false
	}
	caller := i + 1
	for caller < len(b.thread.Frames) && b.passing(caller) {
		caller++
	}
	if caller == len(b.thread.Frames) || b.name(caller) == "" {
		return false
	}
	if why, _ := b.irrelevant(caller); why != "" {
		return false
	}
	return b.received(i, crash.Blame.Steps)
}

// passing reports whether a frame is one between a function and the caller that meant to call it: of a library.
func (b *builder) passing(i int) bool {
	why, stop := b.irrelevant(i)
	return why != "" && stop == ""
}

// received reports whether the steps that lead back from a null have it come into the function of frame i as an argument, and nothing else before.
func (b *builder) received(i int, steps []report.BlameStep) bool {
	f := &b.thread.Frames[i]
	for k := range steps {
		s := &steps[k]
		if s.Kind != report.BlameVariable && s.Kind != report.BlameArgument && s.Kind != report.BlamePassed {
			return false
		}
		if s.Physical > f.Physical {
			return true // its caller, or that of the function into which it was inlined, passed it
		}
		if s.Physical < f.Physical {
			continue
		}
		same := b.isIn(i, s.Function)
		if s.Role == "argument" && same && !copied(f) {
			return k+1 == len(steps) || steps[k+1].Kind == report.BlamePassed || steps[k+1].Kind == report.BlameArgument
		}
		if !same && f.Inlined && s.Kind == report.BlameVariable && b.around(i, s.Function) {
			return true // a variable of a function into which it was inlined
		}
	}
	return false
}

// isIn reports whether the named function is that of frame i. Debugging information of a variable may leave out the scopes of its function.
func (b *builder) isIn(i int, function string) bool {
	name, have := home(Normalize(function)), b.name(i)
	return name != "" && (name == have || strings.HasSuffix(have, "::"+name))
}

// around reports whether frame i was inlined into the named function.
func (b *builder) around(i int, function string) bool {
	frames := b.thread.Frames
	for k := i + 1; k < len(frames) && frames[k-1].Inlined; k++ {
		if b.isIn(k, function) {
			return true
		}
	}
	return false
}

// copied reports whether the function is a copy for which the compiler changed the arguments: they are not those of the source.
func copied(f *report.Frame) bool {
	return strings.Contains(f.Symbol, ".isra.") || strings.Contains(f.Symbol, ".part.")
}
