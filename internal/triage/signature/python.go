package signature

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// pythonName returns the name of a function of Python, without those in which it was defined: only CPython 3.11 and later record them.
func pythonName(name string) string {
	if at := strings.LastIndex(name, definedIn); at >= 0 {
		name = name[at+len(definedIn):]
	}
	return bounded(name)
}

// definedIn is what stands in a qualified name behind a function, before what was defined in it.
const definedIn = ".<locals>."

// unnamedPython reports whether a function of Python has no name: CPython writes what it is in its place, and since 3.12 has no calls for most of them.
func unnamedPython(f *report.Frame) bool {
	if f.Language != "python" {
		return false
	}
	switch pythonName(f.Function) {
	case "<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>":
		return true
	}
	return false
}

// byExtension reports whether an extension of Python called the interpreter, on a stack without functions of Python from a frame on: in a thread of its own.
func (b *builder) byExtension(from int) bool {
	inside := false
	for i := from; i < len(b.thread.Frames); i++ {
		f := &b.thread.Frames[i]
		switch {
		case f.Trust == report.TrustScan:
		case interprets(f):
			inside = true
		case inside && pythonTag.Get().MatchString(strings.TrimSuffix(strings.ToLower(baseName(f.Module)), ".so")):
			return b.name(i) != ""
		}
	}
	return false
}

// inInterpreter makes a bad call of CPython itself a bad access: an object that is none leads to either.
func (b *builder) inInterpreter(from int) {
	if b.sig.Class != "call" {
		return
	}
	for i := from; i < len(b.thread.Frames); i++ {
		f := &b.thread.Frames[i]
		if f.Module == "" && f.Language == "" {
			continue // the address that was called
		}
		if interprets(f) || f.Language == "python" {
			b.sig.Class = "access"
		}
		return
	}
}

// fromPython returns the number of the first step of a blame that is of a call of Python, from which a native function got the bad value by ctypes; the number of
// steps if there is none.
func (b *builder) fromPython() int {
	steps := b.report.Crash.Blame.Steps
	for k := range steps {
		s := &steps[k]
		if k > 0 && s.Kind == report.BlamePassed && slices.ContainsFunc(b.thread.Frames, func(f report.Frame) bool {
			return f.Language == "python" && f.Physical == s.Physical && f.Function == s.Function
		}) {
			return k
		}
	}
	return len(steps)
}

// givenByPython reports whether frame i, the innermost that would be kept, is a function of C that Python called by ctypes, and got the bad address as an
// argument: ctypes passes what the program computed.
func (b *builder) givenByPython(i int) bool {
	c := b.report.Crash
	if c == nil || c.Blame == nil || c.Blame.Confidence == report.Possible || b.sig.Class != "access" || len(b.kept) > 0 || b.nulled {
		return false
	}
	k := b.fromPython()
	return k < len(c.Blame.Steps) && c.Blame.Steps[k-1].Physical == b.thread.Frames[i].Physical && !b.thread.Frames[i].Inlined
}

// handedOn reports whether frame i is of Python, and was given the bad value that a native function got from it, by its caller.
func (b *builder) handedOn(i int) bool {
	f := &b.thread.Frames[i]
	if !b.nulled || b.numbered || len(b.kept) > 0 || f.Language != "python" {
		return false
	}
	steps := b.report.Crash.Blame.Steps
	k := b.fromPython() + b.handed
	if k+1 >= len(steps) || steps[k].Function != f.Function || steps[k].Source.Line != f.Source.Line {
		return false
	}
	b.handed++
	return true
}
