package systemtest

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/signature"
	"github.com/corewalk/corewalk/report"
)

// What an inlined call was given is its caller's mistake, also if no variable has it at the instruction that failed: the compiler tells of the moment of the
// call, or no pointer of the call leads to it. What the call read itself is its own mistake. A function that ended the program was told why.
func TestGiven(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	want := map[byte]string{'l': "label", 'a': "apart", 't': "albums", 'w': "Track::deep", 'j': "Track::deep", 'h': "fail", 'n': "fail", 's': "found", 'e': "last",
		'o': "reached", 'b': "farthest", 'f': "tag", 'g': "tag", 'i': "tagAt", 'r': "firstTag", 'p': "ensure", 'v': "quit", 'q': "halt"}
	told := map[byte]string{'h': "parcel of %ld grams is too heavy\n", 'n': "parcel of %ld grams is nothing\n", 'p': "n is small", 'v': "nobody cooks %s in way %ld"}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				exe := fixture.Compile(t, compiler, "causes/given.cpp", "-g", level, "-w")
				for _, way := range []byte("latwjhnseobfgirpqv") {
					r := analyzeCore(t, fixture.Crash(t, nil, exe, string(way)), exe)
					if r.Crash == nil {
						t.Fatalf("%c: no crash", way)
					}
					if s := signature.Of(r); len(s.Frames) == 0 || s.Frames[0] != want[way] {
						t.Errorf("%c: %q, want %s: %+v", way, s.Frames, want[way], r.Crash.Blame)
					}
					if r.Crash.Told != told[way] {
						t.Errorf("%c: told %q, want %q", way, r.Crash.Told, told[way])
					}
				}
			})
		}
	}
}

// Constants that are no texts are not told, whatever their bytes are.
func TestUntold(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/untold.c", "-g", level, "-w")
			if r := analyzeCore(t, fixture.Crash(t, nil, exe), exe); r.Crash == nil || r.Crash.Told != "" {
				t.Errorf("%s %s: %+v", compiler, level, r.Crash)
			}
		}
	}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, level := range []string{"-O0", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/toldviews.cpp", "-g", level, "-w", "-std=c++17")
			if r := analyzeCore(t, fixture.Crash(t, nil, exe), exe); r.Crash == nil || slices.ContainsFunc(strings.Fields(r.Crash.Told), func(word string) bool { return !slices.Contains([]string{"One", "Two", "Three"}, word) }) || compiler+level == "g++-O2" && r.Crash.Told == "" {
				t.Errorf("%s %s: %+v, told %q", compiler, level, r.Crash, r.Crash.Told)
			}
		}
	}
}

// A text that an earlier call left in the register of a parameter which the compiler has left out was passed to nobody.
func TestStaleText(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O1", "-O2"} {
			exe := fixture.Compile(t, compiler, "causes/staletext.c", "-g", level, "-w")
			for how, want := range map[string][]string{"number": {"no number"}, "unread": {"not read not read either", "not read either"}} {
				r := analyzeCore(t, fixture.Crash(t, nil, exe, how), exe)
				if told := r.Crash.Told; !slices.Contains(want, told) && (told != "" || compiler == "gcc") {
					t.Errorf("%s %s %s: told %q", compiler, level, how, told)
				}
			}
		}
	}
}

// Where the compiler made one call of two that differ in what they pass, the debugging information has the arguments of one: none are told, and both places are.
func TestToldJoined(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	for _, compiler := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				exe := fixture.Compile(t, compiler, "causes/told.c", "-g", level, "-w")
				for number, text := range map[string]string{"2": "short frame", "100": "long frame"} {
					r := analyzeCore(t, fixture.Crash(t, nil, exe, number), exe)
					if r.Crash == nil {
						t.Fatalf("%s: no crash", number)
					}
					if r.Crash.Told != "" && r.Crash.Told != text || level == "-O0" && r.Crash.Told == "" {
						t.Errorf("%s: told %q, want %q", number, r.Crash.Told, text)
					}
					merged := r.Crash.Frame != nil && report.MergedAt(r.Threads[0].Frames, *r.Crash.Frame) != nil
					if sure := r.Crash.ToldConfidence; (sure == "") != (r.Crash.Told == "") || sure == report.Certain && merged || level == "-O0" && sure != report.Certain {
						t.Errorf("%s: told %q is %s, of a call of several: %v", number, r.Crash.Told, sure, merged)
					}
					for _, f := range r.Threads[0].Frames {
						for _, v := range f.Args {
							if f.Function == "stop" && v.Value != "" && v.Name == "why" && !strings.Contains(v.Value, text) {
								t.Errorf("%s: why = %s, want %q", number, v.Value, text)
							}
						}
					}
				}
			})
		}
	}
}

// Functions that override one another are told apart by their classes, whatever the compiler made of the calls. What an inlined call was given as a constant is its
// caller's mistake, also where the compiler made one code of two such calls.
func TestOverridden(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("the instructions that are followed are of amd64")
	}
	want := map[string]string{"circle": "Circle::area", "square": "Square::area", "group": "Group::area", "text": "Text::draw", "image": "Image::draw", "null": "main", "gap": "Corner::gap"}
	for _, compiler := range []string{"g++", "clang++"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				exe := fixture.Compile(t, compiler, "causes/shapes.cpp", "-g", level, "-w", "-std=c++17")
				hashes, bugs := map[string]string{}, 0
				for bug, function := range want {
					if bug == "gap" && compiler == "clang++" {
						continue // LLVM makes it main's
					}
					bugs++
					for _, path := range []string{"a", "b"} {
						s := signature.Of(analyzeCore(t, fixture.Crash(t, nil, exe, bug, path), exe))
						if len(s.Frames) == 0 || s.Frames[0] != function {
							t.Errorf("%s %s: %q, want %s", bug, path, s.Frames, function)
						}
						if was, ok := hashes[s.Hash]; ok && was != bug {
							t.Errorf("%s and %s have one signature", was, bug)
						}
						hashes[s.Hash] = bug
					}
				}
				if len(hashes) != bugs {
					t.Errorf("%d signatures of %d bugs", len(hashes), bugs)
				}
			})
		}
	}
}
