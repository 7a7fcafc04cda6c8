package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
)

// The heap says who damaged it: which block, by how much and with what, and who points at it. A sound heap says nothing.
func TestHeapBugs(t *testing.T) {
	for _, flags := range [][]string{{"-g", "-O0"}, {"-g", "-O2", "-fno-builtin"}} {
		exe := fixture.Compile(t, "gcc", "heap/bugs.c", append(flags, "-w")...)
		for _, c := range []struct {
			bug, want  string // in a cause; "" for none of the heap
			confidence string
		}{
			{"overrun", `the block of 40 bytes at 0x# (label) was overrun by at least 8 bytes: ..."YZABCDEFGHIJKLMNOPQRSTUV" goes on in the record of the next block at 0x#`, report.Likely},
			{"large", `the block of 5000 bytes at 0x# (big) was overrun by at least 8 bytes: ..."STUVWXYZABCDEFGHIJKLMNOP" goes on in the record of the next block at 0x# (big2)`, report.Likely},
			{"twice", "the block of 40 bytes at 0x#", report.Likely},
			{"used", "it was read from a freed block: 40 bytes at 0x# (cache.items[3]), in a tcache", report.Likely},
			{"written", `the freed block of 5000 bytes at 0x# (big) was written to: "CCCCCCCC" stands where the unsorted bin's pointer was`, report.Likely},
			{"before", "or the block itself was written to before its beginning", report.Possible},
			{"below", "or the block itself was written to before its beginning", report.Possible},
			{"inside", "given 0x#, 8 bytes from the beginning of the block of 5000 bytes at 0x# (big)", ""}, // likely, if the caller's code tells
			{"sound", "", ""},
		} {
			t.Run(flags[1]+" "+c.bug, func(t *testing.T) {
				t.Parallel()
				r := analyzeCore(t, fixture.Crash(t, nil, exe, c.bug), exe)
				var all []string
				for _, cause := range r.Crash.Causes {
					text := withoutAddresses(cause.Text)
					all = append(all, text+" ["+cause.Confidence+"]")
					if c.want != "" && strings.Contains(text, c.want) && (c.confidence == "" || cause.Confidence == c.confidence) {
						return
					}
				}
				if c.want != "" || strings.Contains(strings.Join(all, " "), "block") {
					t.Errorf("%s: %q\nwant %q [%s]", r.Crash.Reason, all, c.want, c.confidence)
				}
			})
		}
	}
}

// TestHeapMusl: musl says nothing where its allocator finds a damaged record: the record says it, if there is one.
func TestHeapMusl(t *testing.T) {
	exe := fixture.Compile(t, "musl-gcc", "heap/bugs.c", "-g", "-O0", "-w")
	for bug, want := range map[string]string{"overrun": " was overrun by at least 4 bytes: ", "twice": ""} {
		r := analyzeCore(t, fixture.Crash(t, nil, exe, bug), exe)
		if corrupted := r.Crash.Kind == report.CrashHeapCorruption; corrupted != (want != "") {
			t.Errorf("%s: %s, %s", bug, r.Crash.Kind, r.Crash.Reason)
		}
		if want != "" && (len(r.Crash.Causes) == 0 || !strings.Contains(r.Crash.Causes[0].Text, want) || r.Crash.Causes[0].Confidence == report.Certain) {
			t.Errorf("%s: %+v", bug, r.Crash.Causes)
		}
	}
}

// TestHeapForeign: a bad value in a block in use was written by whoever overran the block before, or by whoever has the block besides.
func TestHeapForeign(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "heap/foreign.c", "-g", "-O0", "-w")
	for name, library := range map[string][2]string{"jemalloc": {"libjemalloc.so.2", "libjemalloc2"}, "tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
		"mimalloc": {"libmimalloc.so.2.0", "libmimalloc2.0"}, "glibc": {}} {
		var env []string
		for bug, want := range map[string]string{
			"text":    `(plates[20]) was overrun by 27 bytes: "0123456789012345678901234567890123456789abcdefgh"... goes on in the next block at 0x#`,
			"numbers": "(rows[20]) was overrun by at least 16 bytes: a series of numbers, to 0x#, goes on in the next block at 0x#",
			"number":  "(rows[20]) may have been overrun by at least 8 bytes: a series of numbers, to 0x#, goes on in the next block at 0x#",
			"reused":  "is in use as the text lines[", // and kept (struct plate) points to it, too
			"filled":  "holds text from its beginning, which is no struct plate: it may have been freed, and handed out again",
			"own":     "",
		} {
			if name == "glibc" && bug == "text" { // it goes through the next block's record
				want = "(plates[20]) was overrun by at least 8 bytes: "
			}
			if name == "glibc" && strings.HasPrefix(bug, "number") {
				want = "" // it goes into a record that has no text
			}
			t.Run(name+" "+bug, func(t *testing.T) {
				if library[0] != "" {
					env = heaptest.Preload(t, library[0], library[1])
				}
				r := analyzeCore(t, fixture.MayCrash(t, env, exe, bug), exe)
				var all []string
				for _, cause := range r.Crash.Causes {
					text := withoutAddresses(cause.Text)
					if strings.HasPrefix(text, "it was in the block of") {
						continue // where it is blames nobody
					}
					all = append(all, text+" ["+cause.Confidence+"]")
					if cause.Confidence != report.Certain && want != "" && strings.Contains(text, want) {
						return
					}
				}
				if want != "" || name != "glibc" && strings.Contains(strings.Join(all, " "), "the block of") {
					t.Errorf("%s: %q\nwant %q", r.Crash.Reason, all, want)
				}
			})
		}
	}
}

// TestHeapOwn: of a block that has a bad value of its own nothing is said that needs an overrun, or a block that was freed: at most that it is possible.
func TestHeapOwn(t *testing.T) {
	exe := fixture.Compile(t, "g++", "heap/own.cpp", "-g", "-O0", "-w", "-std=c++17")
	for name, library := range map[string][2]string{"jemalloc": {"libjemalloc.so.2", "libjemalloc2"}, "tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"}, "glibc": {}} {
		for bug, want := range map[string]string{
			"beside": "", "series": "", "leaf": "", "half": "", "union": "", "union2": "", "variant": "", "fourcc": "", "name": "",
			"arena":   "is in use as the text arena, and first (node) points to it, too: it may have been freed, and handed out again, or text is taken for a node",
			"parser":  "is in use as the text input, and head (header) points to it, too: it may have been freed, and handed out again, or text is taken for a header",
			"parser2": "which is in use as the text input2: it may have been freed, and handed out again, or text is taken for a pointer",
			"parser3": "(head2) holds text from its beginning, which is no header: it may have been freed, and handed out again, or text was read into it",
		} {
			t.Run(name+" "+bug, func(t *testing.T) {
				var env []string
				if library[0] != "" {
					env = heaptest.Preload(t, library[0], library[1])
				}
				r := analyzeCore(t, fixture.Crash(t, env, exe, bug), exe)
				var said []string
				for _, cause := range r.Crash.Causes {
					if strings.HasPrefix(cause.Text, "it was in the block of") {
						continue // where it is blames nobody
					}
					if strings.Contains(cause.Text, "the block of") {
						said = append(said, cause.Text)
						if cause.Confidence != report.Possible {
							t.Errorf("%s [%s]", cause.Text, cause.Confidence)
						}
					}
				}
				if all := strings.Join(said, "; "); !strings.Contains(all, want) || want == "" && all != "" {
					t.Errorf("%s: %q\nwant %q", r.Crash.Reason, all, want)
				}
			})
		}
	}
}

// TestHeapBenign: of a block that has of its own what the block before ends with too, it is at most possible that it was overrun or freed.
func TestHeapBenign(t *testing.T) {
	exe := fixture.Compile(t, "g++", "heap/benign.cpp", "-g", "-O0", "-w", "-std=c++17")
	for name, library := range map[string][2]string{"jemalloc": {"libjemalloc.so.2", "libjemalloc2"}, "tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
		"mimalloc": {"libmimalloc.so.2.0", "libmimalloc2.0"}, "glibc": {}} {
		for _, c := range strings.Fields(`union inline inlinefull tagged xor xortext compressed fourcc fourcc2 enum bits uuid ip ids idsone ramp hash doubles serial opaque
			intrusive arena arena2 small variant key fn vector string map matrix mixed words nobody hidden`) {
			t.Run(name+" "+c, func(t *testing.T) {
				t.Parallel()
				var env []string
				if library[0] != "" {
					env = heaptest.Preload(t, library[0], library[1])
				}
				r := analyzeCore(t, fixture.Crash(t, env, exe, c), exe)
				for _, cause := range r.Crash.Causes {
					if strings.HasPrefix(cause.Text, "it was in the block of") {
						continue // where it is blames nobody
					}
					for _, words := range []string{"the block of", "overrun", "freed"} {
						if strings.Contains(cause.Text, words) && cause.Confidence != report.Possible {
							t.Errorf("%s [%s]", cause.Text, cause.Confidence)
						}
					}
				}
			})
		}
	}
}

// TestHeapGiven: a pointer that the allocator was given back by mistake is told with what it leads to, of whichever allocator; a bad value with the block that
// had it, and the types of those who point there.
func TestHeapGiven(t *testing.T) {
	exe := fixture.Compile(t, "gcc", "heap/given.c", "-g", "-O0", "-w")
	for name, library := range map[string][2]string{"jemalloc": {"libjemalloc.so.2", "libjemalloc2"}, "tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
		"mimalloc": {"libmimalloc.so.2.0", "libmimalloc2.0"}, "glibc": {}} {
		for bug, want := range map[string]string{
			"stack":  "free was given p = 0x#, the address of local[16] on the stack, which is no block of the heap",
			"global": "free was given p = 0x#, the address of banner, which is no block of the heap",
			"shared": "free was given mine = 0x#, the address of banner[8], which is no block of the heap", // whose address another function had
			"inside": "24 bytes from the beginning of the block of 2",
			"types":  "kept (", // with points[i], by the type of either, or as one of those who point there
			"place":  "(kept), 32 bytes from its beginning, which is in use",
			"first":  "(whole, inner), 32 bytes from its beginning, which is in use", // a structure and its first member are no two objects
			"null":   "",
		} {
			if name != "glibc" && bug == "inside" {
				continue // the others take it
			}
			t.Run(name+" "+bug, func(t *testing.T) {
				var env []string
				if library[0] != "" {
					env = heaptest.Preload(t, library[0], library[1])
				}
				r := analyzeCore(t, fixture.MayCrash(t, env, exe, bug), exe)
				var all []string
				for _, cause := range r.Crash.Causes {
					text := withoutAddresses(cause.Text)
					all = append(all, text+" ["+cause.Confidence+"]")
					if want != "" && strings.Contains(text, want) && cause.Confidence != report.Certain {
						return
					}
				}
				said := strings.Join(all, "; ")
				if want != "" || strings.Contains(said, "block") {
					t.Errorf("%s: %s\nwant %q", r.Crash.Reason, said, want)
				}
			})
		}
	}
}

// withoutAddresses writes 0x# for each number of the form 0x...
func withoutAddresses(s string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(s, "0x")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("0x#")
		s = strings.TrimLeft(after, "0123456789abcdef")
	}
}

// debianAllocators are the libraries and the packages of Debian that have them, by the allocator.
func debianAllocators() map[string][2]string {
	return map[string][2]string{"jemalloc": {"libjemalloc.so.2", "libjemalloc2"}, "tcmalloc": {"libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
		"mimalloc": {"libmimalloc.so.2.0", "libmimalloc2.0"}}
}
