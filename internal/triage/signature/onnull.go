package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// givenNull reports whether frame i is the innermost that would be kept, and its caller, which must have a name, passed it the null that failed, as an
// argument or as the object of a member function: that is the caller's mistake. A function that calls one on a null object uses the null as one does that reads a
// member: its caller may have passed it. What the function did with the null says nothing of it, and where a
// function is inlined, or a virtual one is looked for, the compiler decides which of the two fails. Only one caller is taken: how far outward
// the null is handed on depends on what the compiler knew of it.
func (b *builder) givenNull(i int) bool {
	crash := b.report.Crash
	if crash == nil || crash.Blame == nil || b.sig.Class != "access" || !nullAccess(crash) {
		return false
	}
	if len(b.kept) > 0 || b.nulled && !b.onNull {
		return false
	}
	if steps := crash.Blame.Steps; crash.Blame.Confidence == report.Possible && (len(steps) == 0 || !steps[0].Entry || steps[0].Role != "argument") {
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

// soughtPast reports whether frame i is the innermost that would be kept, and an inlined search of an array, which went on behind that: its caller uses what is
// not there, since the compiler would have it look for the end otherwise.
func (b *builder) soughtPast(i int) bool {
	c, f := b.report.Crash, &b.thread.Frames[i]
	if c == nil || c.Blame == nil || len(c.Blame.Steps) == 0 || b.sig.Class != "access" || len(b.kept) > 0 || b.nulled || !f.Inlined {
		return false
	}
	s := &c.Blame.Steps[0]
	return s.Sought && s.Physical == f.Physical && b.searches(i, s)
}

// searches reports whether a step is of frame i's function, or of one that was inlined there: what a library's function read there may have been inlined elsewhere.
func (b *builder) searches(i int, s *report.BlameStep) bool {
	if rules.Get().name(ruleName(home(Normalize(s.Function))), language(&b.thread.Frames[i]), false) != nil {
		return true
	}
	for k := i; k >= 0 && b.thread.Frames[k].Physical == b.thread.Frames[i].Physical; k-- {
		if b.isIn(k, s.Function) {
			return true
		}
	}
	return false
}

// object reports whether the bad value is the object of a member function.
func object(b *report.Blame) bool {
	return len(b.Steps) > 0 && (b.Steps[0].Name == "this" || b.Steps[0].Name == "self") && b.Steps[0].Role == "argument"
}

// nullAccess reports whether the value that was bad is null, or the address of a member of what null points to. Where another address was accessed, a zero is
// an index or a size.
func nullAccess(c *report.Crash) bool {
	if !strings.HasPrefix(c.Kind, "null-") && !accesses(c.Panic) {
		return false
	}
	if c.Blame.Value == 0 {
		return true
	}
	for i := range c.Blame.Steps {
		if s := &c.Blame.Steps[i]; s.Kind == report.BlameOffset && s.Value != nil && *s.Value == 0 {
			return true
		}
	}
	return false
}

// passing reports whether a frame is one between a function and the caller that meant to call it: of a library.
func (b *builder) passing(i int) bool {
	why, stop := b.irrelevant(i)
	return why != "" && stop == ""
}

// received reports whether the steps that lead back from a null have it come into the function of frame i from outside, and nothing else before.
func (b *builder) received(i int, steps []report.BlameStep) bool {
	f := &b.thread.Frames[i]
	if copied(f) {
		return false
	}
	for k := range steps {
		s := &steps[k]
		handed := s.Kind == report.BlameVariable || s.Kind == report.BlameArgument || s.Kind == report.BlamePassed || s.Kind == report.BlameOffset
		switch {
		case s.Physical > f.Physical:
			return handed // its caller, or that of the function into which it was inlined, passed it
		case s.Physical < f.Physical:
		case f.Language == "python" && s.Kind == report.BlamePassed && b.calledIn(i, s.Function):
			return true // by a call of CPython since 3.11, which has no frame of its own
		case s.Kind == report.BlameRead && b.beside(i, s):
			return true
		case s.Kind == report.BlameRead && s.Entry: // for the innermost call
			return i == 0 || b.thread.Frames[i-1].Physical != f.Physical
		case s.Kind == report.BlameSet && b.local(i, steps[:k]):
			return false
		case s.Sought && f.Inlined && b.searches(i, s):
			return !b.nulled
		case s.Outside > b.within(i) && !b.around(i, s.Function):
			// Another inlined call had it. What that read of an object of the program's this one may have read itself: compilers join what reads.
			r := rules.Get().name(ruleName(home(Normalize(s.Function))), language(f), false)
			return s.Kind != report.BlameRead || r == nil && !strings.ContainsAny(s.Name, ".>")
		case f.Source.Line > 0 && strings.HasPrefix(s.Name, "argument ") && readByCaller(steps[k+1:]):
			return false
		case b.around(i, s.Function):
			// A function into which it was inlined had the null. A member of an object, or what has no name, the function may have read
			// itself: compilers move and join what reads it.
			return !strings.ContainsAny(s.Name, ".>") && !strings.HasPrefix(s.Name, "[")
		case s.Entry && b.isIn(i, s.Function):
			return true
		}
		if !handed {
			return false
		}
	}
	return false
}

// moved returns the function that a null did not leave although the instruction that used it is outside of what was inlined of it: the compiler
// moved the use, to frame i. It is "" for none.
func (b *builder) moved(i int) string {
	crash := b.report.Crash
	if crash == nil || crash.Blame == nil || len(b.kept) > 0 || b.nulled || b.sig.Class != "access" && b.sig.Class != "call" {
		return ""
	}
	for k := range crash.Blame.Steps {
		if s := &crash.Blame.Steps[k]; s.Within != "" && s.Physical == b.thread.Frames[i].Physical {
			name := home(Normalize(s.Within))
			if r := rules.Get().name(ruleName(name), language(&b.thread.Frames[i]), false); r == nil && !b.isIn(i, s.Within) && !b.around(i, s.Within) {
				return name
			}
		}
	}
	return ""
}

// within returns how many calls were inlined into frame i's.
func (b *builder) within(i int) (n int) {
	for frames := b.thread.Frames; n < i && frames[i-n-1].Inlined && frames[i-n-1].Physical == frames[i].Physical; n++ {
	}
	return n
}

// calledIn reports whether one of the calls of Python that led to frame i, and have its physical frame, is of the named function.
func (b *builder) calledIn(i int, function string) bool {
	frames := b.thread.Frames
	for k := i + 1; k < len(frames) && frames[k].Physical == frames[i].Physical; k++ {
		if frames[k].Language == "python" && frames[k].Function == function {
			return true
		}
	}
	return false
}

// local reports whether a null was in a local variable of frame i's function. A constant is set where compilers like, and was passed to nobody then.
func (b *builder) local(i int, steps []report.BlameStep) bool {
	for k := range steps {
		if s := &steps[k]; s.Role == "local" && b.isIn(i, s.Function) {
			return true
		}
	}
	return false
}

// isIn reports whether the named function is that of frame i. Debugging information of a variable may leave out the scopes of its function.
func (b *builder) isIn(i int, function string) bool {
	own := Normalize(function) // of a lambda "operator()"
	name, have := home(own), b.name(i)
	return name != "" && (name == have || strings.HasSuffix(have, "::"+name) || own == "operator()" && strings.HasSuffix(Normalize(b.thread.Frames[i].Function), "::"+own))
}

// beside reports whether a step read the null at an instruction that is not of the inlined call of frame i, which then was given it. It is for programs of Go
// without debugging information: their tables have inlined calls, but no parameters, and their compiler moves little.
func (b *builder) beside(i int, s *report.BlameStep) bool {
	return b.thread.Frames[i].Inlined && isGo(s.Function) && strings.HasPrefix(s.Name, "[") && !b.isIn(i, s.Function)
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

// readByCaller reports whether a null was read from a member of an object before it was passed. GCC lets callers do that for a copy of a function that reads the
// member in the source: the copy's argument has no name there.
func readByCaller(steps []report.BlameStep) bool {
	for i := range steps {
		if s := &steps[i]; s.Kind == report.BlameRead {
			return strings.ContainsAny(s.Name, ".>")
		}
	}
	return false
}

// copied reports whether the function is a copy for which the compiler changed the arguments: they are not those of the source.
func copied(f *report.Frame) bool {
	return strings.Contains(f.Symbol, ".isra.") || strings.Contains(f.Symbol, ".part.")
}
