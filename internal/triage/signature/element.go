package signature

import (
	"cmp"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// ofElement are the names of functions that do nothing but give the element with a number.
var ofElement = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"at": true, "At": true, "cell": true, "Cell": true, "elem": true, "Elem": true, "element": true, "Element": true, "pixel": true, "Pixel": true,
		"operator[]": true, "operator()": true,
		"core::ops::index::Index>::index": true, "core::ops::index::IndexMut>::index_mut": true,
	}
}}

// givesElement reports whether a function gives the element with a number, by its normalised name. A lambda has the name of the function it is written in.
func givesElement(name string) bool {
	if _, trait, ok := strings.Cut(name, " as "); ok {
		return ofElement.Get()[trait]
	}
	return ofElement.Get()[name[strings.LastIndexAny(name, ":.")+1:]]
}

// badNumber reports whether frame i is the innermost that would be kept, and a function that gives the element with a number, of something that has no such element,
// or fails for want of it: how many call it is the compiler's to know, which of them has the number wrong is the bug. That must be a function with a name.
func (b *builder) badNumber(i int) bool {
	if len(b.kept) > 0 || b.nulled || b.quit || b.report.Crash == nil || !b.refused() || !givesElement(b.name(i)) {
		return false
	}
	caller := i + 1
	for caller < len(b.thread.Frames) && b.passing(caller) {
		caller++
	}
	if caller == len(b.thread.Frames) || b.name(caller) == "" {
		return false
	}
	why, _ := b.irrelevant(caller)
	return why == ""
}

// refused reports whether an element was accessed where there is none, or the access refused.
func (b *builder) refused() bool {
	switch b.report.Crash.Kind {
	case report.CrashAssertion:
		return true
	case report.CrashException:
		return b.refusedNumber()
	}
	return b.sig.Class == "access"
}

// refusedNumber reports whether an exception, or a panic by its text, may tell that there is no element with a number.
func (b *builder) refusedNumber() bool {
	p := b.report.Crash.Panic
	if p == nil {
		return true
	}
	said := cmp.Or(p.Value, refusal(b.sig.Via))
	return strings.Contains(said, "out of range") || strings.HasPrefix(said, "index out of bounds") || strings.HasPrefix(said, "called `Option::unwrap()`")
}

// ofRustLibrary reports whether a function is of Rust's library, or of a trait for one of its types, by its name.
func ofRustLibrary(name string) bool {
	name = strings.TrimPrefix(name, "<")
	return strings.HasPrefix(name, "core::") || strings.HasPrefix(name, "alloc::") || strings.HasPrefix(name, "std::")
}

// mergedElement returns the function that gave the bad number at all those places of a merged call, in a frame, that are in a function that gives an element. What the
// panic says is of such a place. It is "" if these differ, and for calls that do not tell their place.
func (b *builder) mergedElement(last int) (caller string) {
	if len(b.kept) > 0 || b.nulled || b.quit || b.report.Crash == nil || rustPlace(b.report.Crash.Panic) == "" || !b.refusedNumber() {
		return ""
	}
	for _, p := range b.thread.Frames[last].Merged.Places {
		at := slices.IndexFunc(p.Inlined, func(name string) bool { return givesElement(Normalize(name)) && !ofRustLibrary(name) })
		if at < 0 || p.Verdict == report.PlaceRefuted {
			continue
		}
		name := b.name(last)
		if at+1 < len(p.Inlined) {
			name = home(Normalize(p.Inlined[at+1]))
		}
		if caller != "" && caller != name {
			return ""
		}
		caller = name
	}
	return caller
}
