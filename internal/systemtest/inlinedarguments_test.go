package systemtest

import (
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// A null that a function was given is its caller's mistake, also where the function was inlined: the compiler knew the null and left no code that passes
// it, or no place where the parameter is. What the function read itself, or was not called with, is its own.
func TestInlinedArguments(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	want := map[byte]string{'s': "searched", 'l': "loaded", 'z': "near", 'r': "further", 'w': "walked"}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, level := range []string{"-O0", "-O1", "-O2"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				exe := fixture.Compile(t, compiler, "causes/inlined.cpp", "-g", level, "-w")
				for _, way := range []byte("slzrw") {
					if (way == 's' || way == 'l') && compiler == "clang++" && level != "-O0" {
						continue // it concludes that the search finds something
					}
					r := analyzeCore(t, fixture.Crash(t, nil, exe, string(way)), exe)
					if r.Crash == nil {
						t.Fatalf("%c: no crash", way)
					}
					var causes []report.Cause
					if r.Crash.Blame != nil {
						causes = r.Crash.Causes
					}
					first := want[way]
					if way == 's' && level == "-O1" {
						first = "value" // it may have read the same member as the search
					}
					if s := signature.Of(r); len(s.Frames) == 0 || s.Frames[0] != first {
						t.Errorf("%c: %q, want %s: %+v", way, s.Frames, first, causes)
					}
					// The code that failed was put aside: only the rest of the function tells what the register held.
					if way == 'w' && level == "-O2" && (len(causes) == 0 || !strings.Contains(causes[0].Text, "; read from p->next at") || causes[0].Confidence == report.Certain) {
						t.Errorf("%c: %+v", way, causes)
					}
					if (way == 's' || way == 'l') && level == "-O2" && (len(causes) == 0 || causes[0].Confidence == report.Certain) {
						t.Errorf("%c: %+v, which nothing proves", way, causes)
					}
				}
			})
		}
	}
}

// A search whose end LLVM left out, since its caller uses what it returns, is the caller's mistake: of a list, of places of pointers, of an array. What returns
// something else is no search, nor what looks for its end.
func TestSought(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	first := map[byte][2]string{'f': {"searched", "find"}, 'o': {"followed", "onward"}, 'a': {"picked", "among"}, 'n': {"among", "among"}, 's': {"sum", "sum"}, 'w': {"weight", "weight"}, 'k': {"owner", "owner"}, 'e': {"kept", "endless"},
		'r': {"ranged", "within"}, 'm': {"named", "called"}, 'q': {"within", "within"}}
	for _, compiler := range []string{"clang++", "g++"} {
		for _, level := range []string{"-O1", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/sought.cpp", "-g", level, "-w")
			for way, by := range first {
				r := analyzeCore(t, fixture.Crash(t, nil, exe, string(way)), exe)
				if r.Crash == nil || r.Crash.Blame == nil {
					if compiler != "g++" || way == 'e' {
						t.Errorf("%s %s %c: %+v", compiler, level, way, r.Crash)
					}
					continue
				}
				sought := len(r.Crash.Blame.Steps) > 0 && r.Crash.Blame.Steps[0].Sought
				if sought != (compiler == "clang++" && by[0] != by[1]) {
					t.Errorf("%s %s %c: sought is %v: %+v", compiler, level, way, sought, r.Crash.Blame.Steps)
				}
				if s := signature.Of(r); compiler == "clang++" && (len(s.Frames) == 0 || s.Frames[0] != by[0]) {
					t.Errorf("%s %s %c: %q, want %s", compiler, level, way, s.Frames, by[0])
				}
			}
		}
	}
}
