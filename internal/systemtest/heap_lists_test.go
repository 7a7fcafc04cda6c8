package systemtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
)

// TestHeapLists: an allocator that dies of a list of free blocks died of what was written to one: from the block before, if that ends with what goes on there,
// or else by whoever had it. A pointer that it was given, and cannot look up, is what the program has in its place.
func TestHeapLists(t *testing.T) {
	const tcmalloc, mimalloc, jemalloc, musl = "tcmalloc", "mimalloc", "jemalloc", "musl"
	for _, c := range []struct{ allocator, bug, want, confidence string }{
		{tcmalloc, "series", "the block of 48 bytes at 0x# (counts[7]) was overrun: a series of numbers, to 0x#, goes on in ", report.Likely},
		{mimalloc, "series", "the block of 48 bytes at 0x# (counts[7]) was overrun: a series of numbers, to 0x#, goes on in ", report.Likely},
		{tcmalloc, "text", `the block of 112 bytes at 0x# (lines[7]) was overrun: "TTTT" goes on in `, report.Likely},
		{mimalloc, "text", `the block of 112 bytes at 0x# (lines[7]) was overrun: "TTTT" goes on in `, report.Likely},
		{tcmalloc, "written", `the freed block of 112 bytes at 0x# (old) was written to: "qrsqrsqr" stands where the span's pointer was`, report.Likely},
		{"", "written", "a block of 120 bytes was written to while it was free: the tcache of free blocks of 120 bytes begins with 0x#, where none is", report.Likely},
		{jemalloc, "given", "free was given d->title = 0x#, where no memory is", report.Possible},
		{mimalloc, "given", "the block of 16 bytes at 0x# (docs[5]) holds text from its beginning, which is no struct doc", report.Possible},
		{jemalloc, "local", "the address of local on the stack, which is no block of the heap", ""},
		{"", "local", "the address of local on the stack, which is no block of the heap", ""},
		{musl, "twice", "the block of 124 bytes at 0x# (lines[4]) was freed twice: it is in a free slot already", report.Likely},
	} {
		t.Run(c.allocator+" "+c.bug, func(t *testing.T) {
			t.Parallel()
			compiler, level := "gcc", "-O0"
			var env []string
			if p := debianAllocators()[c.allocator]; p[0] != "" {
				env = heaptest.Preload(t, p[0], p[1])
			}
			if c.allocator == musl {
				compiler = "musl-gcc"
			}
			if c.bug == "local" {
				level = "-O2"
			}
			exe := fixture.Compile(t, compiler, "heap/lists.c", "-g", level, "-fno-builtin", "-w", "-U_FORTIFY_SOURCE")
			r := analyzeCore(t, fixture.MayCrash(t, env, exe, c.bug), exe)
			var all []string
			for _, cause := range r.Crash.Causes {
				text := withoutAddresses(cause.Text)
				if all = append(all, text+" ["+cause.Confidence+"]"); strings.Contains(text, c.want) && (cause.Confidence == c.confidence || c.confidence == "") {
					return
				}
			}
			t.Errorf("%s: %q\nwant %q [%s]", r.Crash.Reason, all, c.want, c.confidence)
		})
	}
}

// TestHeapPast: who wrote numbers past the end of an array, and whose variable is gone to which a pointer leads; not of values that others have put there.
func TestHeapPast(t *testing.T) {
	const said = " overrun|heap corrupted| no variable is any more|the block of|which is no block"
	for _, c := range []struct{ allocator, bug, want, confidence string }{
		{"", "array", "pool.slots was overrun: a series of numbers, to 0x#, goes on in pool.rate", report.Likely},
		{"", "beside", "", ""},
		{"", "gone", "where no variable is any more, but current points: a function that has returned had one there", report.Possible},
		{"", "alive", "", ""},
		{"", "member", "free was given t.at = 0x#, the address of t.small on the stack, which is no block of the heap", report.Likely},
		{"jemalloc", "small", "goes on from the block of 32 bytes at 0x# (row) to the block at 0x# (first->next)", report.Possible},
		{"", "small", "(row), which ends there, was overrun by at least ", report.Possible},
		{"jemalloc", "few", "", ""},
		{"between", "between", "the address of t.small on the stack, which is no block of the heap", report.Possible},
		{"between", "added", "the address of t.small on the stack, which is no block of the heap", report.Possible},
		{"", "null", "first->next->next where first->next = 0x#, read by main at past.c:70", report.Certain},
		{"", "self", "", ""},
		{"", "two", "", ""},
		{"", "matrix", "plane.m may have been overrun: numbers like those at its end stand in plane.rate, behind it", report.Possible},
		{"", "counts", "count.of may have been overrun: numbers like those at its end stand in count.rate, behind it", report.Possible},
		{"", "meter", "meters[1]->of may have been overrun: numbers like those at its end stand in meters[1]->rate, behind it", report.Possible},
		{"", "garbage", "", ""},
		{"", "pair", "", ""},
		{"", "word", "", ""},
		{"", "zeros", "", ""},
		{"musl", "format", "", ""},
		{"musl", "under", "is wrong: a group does not lead back to its record", report.Possible},
		{"musl", "end", "the block of 24 bytes at 0x# (lines[0]) was overrun by at least ", report.Likely},
	} {
		t.Run(c.allocator+" "+c.bug, func(t *testing.T) {
			t.Parallel()
			compiler := "gcc"
			var env []string
			switch c.allocator {
			case "jemalloc":
				env = heaptest.Preload(t, "libjemalloc.so.2", "libjemalloc2")
			case "musl":
				compiler = "musl-gcc"
			}
			level := "-O0"
			if c.allocator == "between" { // where the pointer was read before
				level = "-O1"
			}
			exe := fixture.Compile(t, compiler, "heap/past.c", "-g", level, "-w", "-fno-stack-protector", "-U_FORTIFY_SOURCE")
			r := analyzeCore(t, fixture.Crash(t, env, exe, c.bug), exe)
			all := []string{r.Crash.Reason}
			for _, cause := range r.Crash.Causes {
				text := withoutAddresses(cause.Text)
				if all = append(all, text+" ["+cause.Confidence+"]"); c.want != "" && strings.Contains(text, c.want) && cause.Confidence == c.confidence {
					return
				}
			}
			others := slices.ContainsFunc(strings.Split(said, "|"), func(s string) bool { return strings.Contains(strings.Join(all, " "), s) })
			if c.want != "" || others {
				t.Errorf("%s: %q\nwant %q [%s]", r.Crash.Reason, all, c.want, c.confidence)
			}
		})
	}
}
