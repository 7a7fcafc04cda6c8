package systemtest

import (
	"runtime"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// One function has several reasons to end the program: what it wrote before tells them apart, or else the line. What may not have been written tells nothing.
func TestReasons(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	ways := []struct {
		way, n, printed string
		line            int // without optimisation
	}{
		{"s", "5", "too many doors\n", 0}, {"s", "-2", "door %ld is below ground\n", 0},
		{"q", "1", "", 3}, {"q", "2", "", 6}, {"m", "1", "", 0}, {"m", "2", "", 0}, {"o", "1", "", 0}, {"f", "7", "", 0}, {"n", "1", "", 0},
	}
	spoken := map[string]string{}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/reasons.c", "-g", level, "-w")
			for _, c := range ways {
				r := analyzeCore(t, fixture.Crash(t, nil, exe, c.way, c.n), exe)
				if r.Crash == nil {
					t.Fatalf("%s%s %s %s: no crash", compiler, level, c.way, c.n)
				}
				if r.Crash.Printed != c.printed || level == "-O0" && r.Crash.EndedAt != c.line || r.Crash.Told != "" {
					t.Errorf("%s%s %s %s: printed %q, line %d, told %q", compiler, level, c.way, c.n, r.Crash.Printed, r.Crash.EndedAt, r.Crash.Told)
				}
				if c.printed != "" {
					spoken[signature.Of(r).Hash] = c.printed
				}
			}
		}
	}
	if len(spoken) != 2 {
		t.Errorf("%d signatures of two reasons: %v", len(spoken), spoken)
	}
}

// A text that was overrun is known by the member that points to it, whatever its size.
func TestTextBlocks(t *testing.T) {
	t.Parallel()
	exe := fixture.Compile(t, "gcc", "causes/reasons.c", "-g", "-O0", "-w")
	hashes := map[string]bool{}
	for _, n := range []string{"100", "310"} {
		r := analyzeCore(t, fixture.Crash(t, nil, exe, "t", n), exe)
		if !slices.ContainsFunc(r.Crash.Causes, func(c report.Cause) bool {
			return c.Block != nil && c.Block.Fault == report.BlockOverrun && c.Block.Text == "name" && c.Block.Type == "" && c.Block.Elements == ""
		}) {
			t.Errorf("%s: %+v", n, r.Crash.Causes)
		}
		hashes[signature.Of(r).Hash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("%d signatures of one text", len(hashes))
	}
}

// A null that an inlined function is given by a loop around it is its caller's, and one that is moved out of a method is the class's; who is given a bad number is not to blame.
func TestCallersMistakes(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, level := range []string{"-O0", "-O1", "-O2"} {
		exe := fixture.Compile(t, "gcc", "causes/reasons.c", "-g", level, "-w")
		if s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, "l", "3"), exe)); len(s.Frames) == 0 || s.Frames[0] != "last" {
			t.Errorf("%s: %q, want last", level, s.Frames)
		}
		exe = fixture.Compile(t, "g++", "causes/scopes.cpp", "-g", level, "-w", "-std=c++17", "-D_GLIBCXX_ASSERTIONS")
		for _, c := range [][3]string{{"t", "1,2", "Stock::take"}, {"r", "7", "Stock::row"}, {"c", "1", "Stock::column"}} {
			if s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, c[0], c[1]), exe)); len(s.Frames) == 0 || s.Frames[0] != c[2] {
				t.Errorf("%s %s: %q, want %s", level, c[0], s.Frames, c[2])
			}
		}
	}
}

// The same of Rust, whose code checks pointers without optimisation.
func TestCallersMistakesRust(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	hashes := map[string]string{}
	for _, level := range []string{"0", "1", "2"} {
		exe := fixture.Compile(t, "rustc", "causes/given.rs", "--edition=2021", "-g", "-Copt-level="+level, "-Cpanic=abort")
		for way, want := range map[string]string{"l": "given::link", "c": "given::check", "a": "given::apply", "f": "given::fetch"} {
			s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, way, "9"), exe))
			if len(s.Frames) == 0 || s.Frames[0] != want {
				t.Errorf("%s %s: %q, want %s", level, way, s.Frames, want)
			}
			hashes[s.Hash] = way
		}
	}
	if len(hashes) != 4 {
		t.Errorf("%d signatures of four bugs: %v", len(hashes), hashes)
	}
}
