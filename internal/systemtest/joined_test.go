package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// A function of the program that never returns, by its code, is called for one reason also where LLVM joined its calls; which of joined calls it was tells what
// they wrote; and a null that a loop did not move on was passed, also by a function that left the stack.
func TestJoined(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	ways := []struct{ way, n, first, second, told string }{
		{"a", "0", "bail", "pop", ""}, {"a", "1", "bail", "pop", ""}, {"c", "2", "bail", "pop", ""},
		{"e", "0", "", "", "ends early"}, {"m", "0", "", "", "no such mark"}, {"i", "0", "", "", "a comment inside"},
		{"n", "0", "by_name", "", ""}, {"l", "0", "by_name", "", ""},
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-Os"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				exe := fixture.Compile(t, compiler, "causes/joined.c", "-g", level, "-w")
				told := map[string]string{}
				for _, c := range ways {
					if c.way == "l" && level == "-O0" {
						continue // it is stored, and read again
					}
					r := analyzeCore(t, fixture.Crash(t, nil, exe, c.way, c.n), exe)
					if r.Crash == nil {
						t.Fatalf("%s: no crash", c.way)
					}
					s := signature.Of(r)
					if c.first != "" && (len(s.Frames) == 0 || s.Frames[0] != c.first) || c.second != "" && (len(s.Frames) < 2 || s.Frames[1] != c.second) {
						t.Errorf("%s %s: %q, want %s and %s", c.way, c.n, s.Frames, c.first, c.second)
					}
					if c.told != "" {
						if got := r.Crash.Told + r.Crash.Printed; got != c.told { // what an inlined function was called with, or what it wrote
							t.Errorf("%s: told %q, want %q", c.way, got, c.told)
						}
						told[s.Hash] = c.told
					}
				}
				if len(told) != 3 {
					t.Errorf("%d signatures of three reasons: %v", len(told), told)
				}
			})
		}
	}
}

// A block that is used after it was freed is one bug, whether somebody else got it before or not, and whether variables point to it: the code knows its type.
func TestReused(t *testing.T) {
	t.Parallel()
	want := map[string]string{"f": report.BlockFreed, "r": report.BlockReused, "d": report.BlockFreed}
	for _, flags := range [][]string{{"gcc", "-O0"}, {"gcc", "-O2"}, {"clang", "-O0"}, {"clang", "-O2"}} {
		t.Run(flags[0]+flags[1], func(t *testing.T) {
			t.Parallel()
			exe := fixture.Compile(t, flags[0], "heap/reused.c", "-g", flags[1], "-w")
			bugs := map[string]string{}
			for way, fault := range want {
				r := analyzeCore(t, fixture.Crash(t, nil, exe, way), exe)
				var got *report.CauseBlock
				for i := range r.Crash.Causes {
					if b := r.Crash.Causes[i].Block; b != nil && got == nil {
						got = b
					}
				}
				if got == nil || got.Fault != fault || got.Type != "entry" || got.Size != 24 {
					t.Errorf("%s: %+v, want %s: %+v", way, got, fault, r.Crash.Causes)
				}
				bugs[signature.Of(r).Hash] += way
			}
			if len(bugs) != 1 {
				t.Errorf("%d signatures of one bug: %v", len(bugs), bugs)
			}
		})
	}
}

// A call of a function that never returns has its own place, unless that is lost: that control seems to come there from another function that never returns says nothing.
func TestNotJoined(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	exe := fixture.Compile(t, "rustc", "causes/bail.rs", "--edition=2021", "-g", "-Copt-level=2", "-Cpanic=abort")
	for _, c := range []struct{ way, list, want string }{{"check", "1,-2", "Ledger::check"}, {"first", "", "Ledger::first"}} {
		s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, c.way, c.list), exe))
		if len(s.Frames) < 2 || !strings.HasSuffix(s.Frames[1], c.want) {
			t.Errorf("%s: %q, want %s second", c.way, s.Frames, c.want)
		}
	}
}

// What is freed is told by the object that the program made, not by the text at its beginning, nor by nothing where only what the allocator left tells the block.
func TestReusedObject(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"g++", "-O0"}, {"g++", "-O2"}, {"clang++", "-O1"}, {"clang++", "-O2"}} {
		exe := fixture.Compile(t, flags[0], "heap/node.cpp", "-g", flags[1], "-w")
		for _, name := range []string{"short", strings.Repeat("as long as the object, whose list it is on ", 2)[:70]} {
			if s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, name), exe)); s.Class != "freed block of 72 bytes: Node" {
				t.Errorf("%v, %s: %q %q", flags, name, s.Class, s.Frames)
			}
		}
	}
}
