package message

import (
	"slices"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The frame of the panic hook may hold Locations of earlier calls; that of the panic follows its payload.
func TestHookLocation(t *testing.T) {
	const table, old, place, other, payload, code = fakeBase, fakeBase + 0x40, fakeBase + 0x80, fakeBase + 0xc0, fakeBase + 0x100, fakeBase + 0x200
	m := make(fakeMemory, 0x400)
	m.put(0, code, 16, 8, code) // drop, size, alignment, a function of the trait
	copy(m[0x300:], "src/old.rssrc/main.rssrc/lib.rs")
	location := func(at, text, n, line uint64) { m.put(int(at-fakeBase), fakeBase+text, n, line|7<<32) }
	location(old, 0x300, 10, 3)
	location(place, 0x30a, 11, 12)
	location(other, 0x315, 10, 40)
	p := m.process(nil)
	for _, tc := range []struct {
		name  string
		words []uint64
		line  int // 0 for none
	}{
		{"behind the payload", []uint64{old, 0, payload, table, place, other}, 12},
		{"twice the same", []uint64{payload, table, place, payload, table, place}, 12},
		{"two that disagree", []uint64{payload, table, place, payload, table, other}, 0},
		{"no payload", []uint64{0, table, place}, 0},
		{"no table", []uint64{payload, code, place}, 0},
		{"cut off", []uint64{payload, table}, 0},
	} {
		got, ok := p.hookLocation(tc.words)
		if ok != (tc.line != 0) || got.line != tc.line {
			t.Errorf("%s: %+v, %v", tc.name, got, ok)
		}
	}
	for i, bad := range [][4]uint64{{code, 16, 3, code}, {code, 16, 0, code}, {code, 16, 8192, code}, {code, 16, 8, 0}} {
		m.put(0, bad[:]...)
		if _, ok := p.hookLocation(slices.Clone([]uint64{payload, table, place})); ok {
			t.Errorf("table %d is taken for a trait's", i)
		}
	}
}

// Rust's SIGSEGV handler ends the program for a stack overflow only.
func TestRustStackOverflow(t *testing.T) {
	for name, want := range map[string]Cause{
		"std::sys::pal::unix::stack_overflow::imp::signal_handler": StackOverflow,
		"std::sys::unix::stack_overflow::imp::signal_handler":      StackOverflow,
		"app::sys::stack_overflow::imp::signal_handler":            Abort,
		"std::sys::pal::unix::stack_overflow::imp::make_handler":   Abort,
	} {
		p := &Process{Stack: []Frame{{Names: []string{"abort"}}, {Names: []string{name}}, {Names: []string{"app::deep"}}}}
		w := rustWords(p)
		if w.Cause != want || (w.Reason == "stack overflow") != (want == StackOverflow) {
			t.Errorf("%s: %q, cause %d", name, w.Reason, w.Cause)
		}
	}
}

// Rust's handler also ends a program in which a fault came while what the handler looks at was being changed: the stack need not have overflown.
func TestRustStackChanging(t *testing.T) {
	const within = "std::sys::pal::unix::stack_overflow::thread_info::with_current_info::<(), std::sys::pal::unix::stack_overflow::imp::signal_handler::{closure#0}>"
	const closure, handler = "std::sys::pal::unix::stack_overflow::imp::signal_handler::{closure#0}", "std::sys::pal::unix::stack_overflow::imp::signal_handler"
	for what, c := range map[string]struct {
		by   string
		in   []string
		want Cause
	}{
		"by the search":  {"std::process::abort", []string{within}, Abort},
		"by the handler": {"std::process::abort", []string{closure, within}, StackOverflow},
		"by another":     {"abort", []string{within}, StackOverflow},
	} {
		p := &Process{Stack: []Frame{{Names: []string{"abort"}}, {Names: []string{c.by}}, {Names: c.in}, {Names: []string{handler}}}}
		if w := rustWords(p); w.Cause != c.want {
			t.Errorf("%s: %q, cause %d", what, w.Reason, w.Cause)
		}
	}
}

// A program without symbols has no hook by name. One of its frames has the hook's words, and a caller of it passed on the Location.
func TestNamelessPanic(t *testing.T) {
	const table, place, earlier, other, payload, code = fakeBase, fakeBase + 0x40, fakeBase + 0x60, fakeBase + 0x80, fakeBase + 0x100, fakeBase + 0x200
	m := make(fakeMemory, 0x800)
	m.put(0, code, 16, 8, code)
	copy(m[0x300:], "src/main.rssrc/other.c")
	location := func(at, text, n, line uint64) { m.put(int(at-fakeBase), fakeBase+text, n, line|7<<32) }
	location(place, 0x300, 11, 12)
	location(earlier, 0x300, 11, 40)
	location(other, 0x30b, 11, 5)
	for _, tc := range []struct {
		name           string
		names          [3]string // of the frames outside of abort
		words          []uint64  // of the second of these
		passed         uint64    // by the third
		line, argument int       // 0 for no panic
	}{
		{"passed on", [3]string{}, []uint64{0, payload, table, place}, place, 12, 0},
		{"as the fifth argument", [3]string{}, []uint64{0, payload, table, place}, place, 12, 4},
		{"as the sixth argument", [3]string{}, []uint64{0, payload, table, place}, place, 0, 5},
		{"left by an earlier panic", [3]string{}, []uint64{0, payload, table, earlier}, place, 0, 0},
		{"not Rust's", [3]string{}, []uint64{0, payload, table, other}, other, 0, 0},
		{"in the C++ library", [3]string{}, []uint64{0, payload, table, place}, place, 0, 0},
		{"behind a frame with a name", [3]string{"f"}, []uint64{0, payload, table, place}, place, 0, 0},
		{"by a frame with a name", [3]string{"", "", "f"}, []uint64{0, payload, table, place}, place, 0, 0},
	} {
		p := m.process(nil)
		if tc.name == "in the C++ library" {
			lib := &libstate.Library{Path: "/lib/libstdc++.so.6"}
			p.LibraryAt = func(arch.Address) *libstate.Library { return lib }
		}
		p.Stack = []Frame{{new(unwind.Frame), []string{"abort"}}}
		for _, name := range tc.names {
			f := Frame{Frame: new(unwind.Frame)}
			if name != "" {
				f.Names = []string{name}
			}
			p.Stack = append(p.Stack, f)
		}
		p.Argument = func(frame, n int, _ bool) (uint64, bool) { return tc.passed, frame == 3 && n == tc.argument }
		w := p.rustNameless(func(f *Frame) []uint64 {
			if f == &p.Stack[2] {
				return tc.words
			}
			return nil
		})
		if got := w.Panic; (got != nil) != (tc.line != 0) || got != nil && (got.Line != tc.line || w.Raised != 3) {
			t.Errorf("%s: %+v, raised by %d", tc.name, got, w.Raised)
		}
	}
}
