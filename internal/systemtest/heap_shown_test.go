package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
)

// TestHeapShown: who broke it is named by what lies beside a block, by what is left in one, and by who still points to what is gone; and nobody where that only
// looks so.
func TestHeapShown(t *testing.T) {
	const none = "have been|overrun|no variable is any more|points into it|freed"
	for _, c := range []struct{ allocator, source, level, bug, want, confidence, not string }{
		{"", "shown.c", "-O0", "jump", "(match) has no pointer where one belongs: scores, an array of long int in the block before it, would have element 8 there, and may have been written to beyond its end", report.Possible, "series"},
		{"jemalloc", "shown.c", "-O2", "jump", "(match) has no pointer where one belongs: scores, an array of long int in the block before it, would have element 7 there", report.Possible, "series"},
		{"mimalloc", "shown.c", "-O0", "jump", "(match) has no pointer where one belongs: scores, an array of long int in the block before it", report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "mark", "", "", none},
		{"jemalloc", "shown.c", "-O0", "other", "", "", none},
		{"", "shown.c", "-O0", "below", "scores, an array of long int in the block behind it, would have element -4 there, and may have been written to beyond its beginning", report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "below", "scores, an array of long int in the block behind it, would have element -2 there, and may have been written to beyond its beginning", report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "counted", "counts, an array of int in the block behind it, would have element -4 there", report.Possible, ""},
		{"", "shown.c", "-O0", "left", `(active, a struct session) has the text "`, report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "left", `where pointers belong: it may have been handed out with that in it, and not been filled since, or freed, and handed out again`, report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "within", "", "", "where pointers belong"},
		{"jemalloc", "shown.c", "-O0", "numbers", "in which it was, is that of task (struct task), and of t (long int), too: it may have been freed, and handed out again", report.Possible, ""},
		{"", "shown.c", "-O0", "member", "where no variable is any more, but r.addr points: a function that has returned had one there", report.Possible, ""},
		{"", "shown.c", "-O2", "member", "where no variable is any more, but r.addr points: a function that has returned had one there", report.Possible, ""},
		{"", "shown.c", "-O2", "called", "it stands on the stack at 0x#, where no variable is any more, but r.addr points: a function that has returned had one there", "", ""},
		{"", "shown.c", "-O2", "lazily", "where no variable is any more, but r.addr points: a function that has returned had one there", report.Possible, ""},
		{"musl", "shown.c", "-O0", "held", "where no variable is any more, but what held points to points: a function that has returned had one there", report.Possible, ""},
		{"", "shown.c", "-O0", "lives", "", "", none},
		{"jemalloc", "shown.c", "-O0", "through", "(peers), in which it was, has no pointer up to there: the block of 32 bytes at 0x# (hashes), or one of those behind it, may have been overrun", report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "own", "", "", none},
		{"jemalloc", "shown.cpp", "-O0", "deleted", "it was called of l = 0x#, in a freed block: 64 bytes at 0x# (l), in a thread cache", report.Likely, ""},
		{"", "shown.cpp", "-O0", "ending", "it was called of q = 0x#, which has the virtual functions of plugin only while plugin::~plugin runs", report.Likely, ""},
		{"", "shown.cpp", "-O2", "ending", "it was called of q = 0x#, which has the virtual functions of plugin only while plugin::~plugin runs", report.Likely, ""},
		{"", "shown.cpp", "-O0", "making", "it was called of s = 0x#, which has the virtual functions of stream only while stream::stream runs", report.Likely, ""},
		{"", "shown.cpp", "-O2", "making", "it was called of &here = 0x#, while stream::stream runs", report.Possible, ""},
		{"jemalloc", "shown.cpp", "-O0", "table", "is that of l (listener), and of v (short unsigned int), too: it may have been freed, and handed out again", report.Possible, ""},
		{"jemalloc", "shown.cpp", "-O2", "table", "(*all), which is in use: a table of virtual functions belongs there, which only who makes an object sets", report.Likely, ""},
		{"jemalloc", "shown.cpp", "-O0", "mapped", "(what cache leads to) was overrun by 16 bytes", report.Likely, ""},
		{"jemalloc", "shown.cpp", "-O0", "iterator", "it was in the block of 32 bytes at 0x# (no variable leads to it), which is in use", report.Possible, ""},
		{"tcmalloc", "shown.c", "-O0", "twice", "(again[0], and again[1], too) may have been freed twice, or while it was still used", report.Possible, "overrun"},
		{"tcmalloc", "shown.c", "-O0", "letters", "(again[0], and again[1], too) may have been freed twice, or while it was still used", report.Possible, "overrun"},
		{"jemalloc", "shown.rs", "0", "given", "dealloc was given 0x#, where no memory is", report.Possible, ""},
		{"jemalloc", "shown.rs", "0", "given", "(image.pixels) was overrun by at least 32 bytes: a series of numbers, to 0x#, goes on in the next block", report.Likely, ""},
		{"tcmalloc", "shown.rs", "0", "given", "(image.pixels) was overrun by at least 32 bytes: a series of numbers, to 0x#, goes on in the next block", report.Likely, ""},
		{"tcmalloc", "shown.rs", "2", "given", "(image.pixels) was overrun by at least 32 bytes: a series of numbers, to 0x#, goes on in the next block", report.Likely, ""},
		{"jemalloc", "shown.rs", "0", "aligned", "(t.samples) may have been overrun by at least 68 bytes: a series of numbers, to 0x#, goes on in the next block at 0x#, unless that has it of its own", report.Possible, ""},
		{"musl", "shown.c", "-O0", "inside", "(frames[1])", "", ""},
		{"musl", "shown.c", "-O2", "inside", "free may have been given 0x#, 16 bytes from the beginning of the block of 64 bytes at 0x# (frames[1])", report.Possible, ""},
		{"jemalloc", "shown.c", "-O0", "edge", "(shapes[1]) holds text from its beginning, which is no struct shape: it may have been freed, and handed out again", report.Possible, ""},
		{"", "shown.c", "-O0", "backwards", "(rule), which ends there, was overrun by at least 8 bytes, or the block itself was written to before its beginning", report.Possible, "(rule) was overrun"},
		{"musl", "shown.c", "-O2", "given", "", "", "no block of the heap"},
	} {
		t.Run(c.allocator+" "+c.bug+c.level, func(t *testing.T) {
			t.Parallel()
			var env []string
			if p := debianAllocators()[c.allocator]; p[0] != "" {
				env = heaptest.Preload(t, p[0], p[1])
			}
			compiler, flags := "gcc", []string{"-g", c.level, "-w", "-U_FORTIFY_SOURCE", "-fno-builtin"}
			switch {
			case c.allocator == "musl":
				compiler = "musl-gcc"
			case strings.HasSuffix(c.source, "rs"):
				compiler, flags = "rustc", []string{"--edition", "2021", "-A", "warnings", "-g", "-C", "opt-level=" + c.level}
			case strings.HasSuffix(c.source, "cpp"):
				compiler, flags = "g++", []string{"-g", c.level, "-w", "-std=c++17"}
			}
			causes(t, env, fixture.Compile(t, compiler, "heap/"+c.source, flags...), c.bug, c.want, c.confidence, c.not)
		})
	}
}

// causes runs a program until it dies of a bug, and tests that one of the causes has a text, and a confidence if that is not "", and none has one of some others,
// which are parted by "|".
func causes(t *testing.T, env []string, exe, bug, want, confidence, not string) {
	t.Helper()
	r := analyzeCore(t, fixture.Crash(t, env, exe, bug), exe)
	var all []string
	found := want == ""
	for _, cause := range r.Crash.Causes {
		text := withoutAddresses(cause.Text)
		all = append(all, text+" ["+cause.Confidence+"]")
		found = found || strings.Contains(text, want) && (cause.Confidence == confidence || confidence == "")
	}
	said := strings.Join(all, "\n")
	for other := range strings.SplitSeq(not, "|") {
		found = found && (other == "" || !strings.Contains(said, other))
	}
	if !found {
		t.Errorf("%s:\n%s\nwant %q [%s], without %q", r.Crash.Reason, said, want, confidence, not)
	}
}
