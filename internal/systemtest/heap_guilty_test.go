package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
)

// TestHeapGuilty: the block is named that memory still shows to be the guilty one, and no other.
func TestHeapGuilty(t *testing.T) {
	for _, c := range []struct{ allocator, source, level, bug, want, confidence, not string }{
		{"tcmalloc", "guilty.c", "-O0", "through", `or one of those behind it, may have been overrun: "+00 00 0000 0000 and so on and s" goes on in `, report.Possible, "was overrun"},
		{"mimalloc", "guilty.c", "-O0", "through", `or one of those behind it, may have been overrun: "+00 00 0000 0000 and so on and s" goes on in `, report.Possible, "was overrun"},
		{"jemalloc", "guilty.c", "-O2", "again", "which is in use as the text status: it may have been freed, and handed out again", report.Possible, "(current)"},
		{"", "guilty.c", "-O2", "again", "which is in use as the text status: it may have been freed, and handed out again", report.Possible, "(current)"},
		{"", "guilty.c", "-O2", "several", "(struct node) points to it, too", report.Possible, "from a freed block"},
		{"tcmalloc", "guilty.c", "-O2", "several", "(struct node) points to it, too", report.Possible, "from a freed block"},
		{"jemalloc", "guilty.c", "-O0", "begins", `(kept) may have been overrun: "GET /index.html?session=8812734 " begins behind it, and goes on in the block at 0x# (second)`, report.Possible, "was overrun"},
		{"jemalloc", "guilty.c", "-O0", "reals", "(track.window) may have been overrun: a row of numbers like 2.5, goes on in the block at 0x# (track.filter)", report.Possible, ""},
		{"mimalloc", "guilty.c", "-O2", "reals", " may have been overrun: a row of numbers like 2.5, goes on in the block at 0x#", report.Possible, ""},
		{"jemalloc", "guilty.c", "-O0", "own", "", "", "overrun"},
		{"jemalloc", "guilty.c", "-O0", "small", "(c.gains) was overrun by at least 80 bytes: a series of numbers, to 0x#, goes on in the next block at 0x# (c.text)", report.Possible, ""},
		{"tcmalloc", "guilty.c", "-O0", "twice", "may have been freed twice: it is in a ", report.Possible, "is wrong: it is in"},
		{"", "guilty.c", "-O0", "unfilled", "begins with what the C library leaves in a freed block: it was freed, handed out again, and not filled since", report.Likely, ""},
		{"", "guilty.c", "-O0", "stdio", "", "", "no variable is any more"},
		{"", "guilty.c", "-O0", "runaway", `the block of 72 bytes at 0x# (tape) was overrun by at least 8 bytes: `, report.Possible, ""},
		{"", "guilty.c", "-O0", "beyond", "", "", "overrun"},
		{"jemalloc", "guilty.c", "-O0", "binary", "(place.row), which ends where that begins, may have been overrun, or it was freed, and handed out again", report.Possible, ""},
		{"jemalloc", "guilty.c", "-O0", "binaryown", "", "", "overrun"},
		{"jemalloc", "guilty.cpp", "-O2", "text", "is in use as the text caption, and w (watcher) points to it, too: it may have been freed, and handed out again", report.Possible, ""},
		{"jemalloc", "again.cpp", "-O2", "names", "it was in the block of 32 bytes at 0x# (s[0]), 8 bytes from its beginning, which is in use", report.Possible, ""},
		{"tcmalloc", "again.cpp", "-O0", "names", "it was in the block of 32 bytes at 0x# (s[0]), 8 bytes from its beginning, which is in use", report.Possible, ""},
		{"tcmalloc", "again.cpp", "-O2", "freed", "(line) to the block at 0x# (jobs[7]): one of the blocks before that may have been overrun", report.Possible, "was overrun"},
		{"mimalloc", "again.cpp", "-O0", "freed", "(line) to the block at 0x# (j): one of the blocks before that may have been overrun", report.Possible, "was overrun"},
		{"tcmalloc", "again.cpp", "-O0", "freedown", "", "", "(line)"},
		{"mimalloc", "again.cpp", "-O0", "small", "(samples), or one of those behind it, may have been overrun: a row of numbers like ", report.Possible, "was overrun"},
		{"jemalloc", "again.cpp", "-O2", "small", "(samples), or one of those behind it, may have been overrun: a row of numbers like ", report.Possible, "was overrun"},
		{"", "again.cpp", "-O0", "top", "(a.px) may have been freed twice: the memory that nobody has begins there already", report.Possible, ""},
		{"", "again.cpp", "-O2", "top", "may have been freed twice: the memory that nobody has begins there already", report.Possible, ""},
		{"tcmalloc", "again.cpp", "-O0", "cycle", "(k[0], and k[1], too) may have been freed twice, or while it was still used", report.Possible, "overrun"},
		{"mimalloc", "again.cpp", "-O2", "cycle", "], too) may have been freed twice, or while it was still used", report.Possible, "overrun"},
		{"", "again.cpp", "-O0", "far", "in which it was, is that of t (const tex), and of *rows (int), too: it may have been freed, and handed out again", report.Possible, ""},
		{"", "again.cpp", "-O2", "inside", "operator delete was given all->second = 0x#, 48 bytes from the beginning of the block of 648 bytes at 0x# (all->cells points into it)", report.Possible, ""},
		{"", "again.cpp", "-O2", "held", "free was given 0x#, 48 bytes from the beginning of the block of 648 bytes at 0x# (all->second points into it)", report.Possible, ""},
		{"", "again.cpp", "-O0", "member", "operator delete was given used = 0x#, 8 bytes from the beginning of the block of 88 bytes at 0x# (running)", report.Likely, "begins with the number"},
		{"jemalloc", "again.cpp", "-O2", "member", "the allocator may have been given back 0x#, 8 bytes from the beginning of the block of 80 bytes at 0x# (running): ", report.Possible, ""},
		{"", "again.cpp", "-O2", "two", "", "", "was given"},
		{"mimalloc", "again.cpp", "-O0", "three", "], too) may have been freed twice, or while it was still used", report.Possible, "pair"},
		{"tcmalloc", "again.cpp", "-O0", "period", "(hist), or one of those behind it, may have been overrun: a row of numbers like ", report.Possible, "which is in use"},
		{"", "again.cpp", "-O2", "unsure", "", "", "was given all"},
		{"", "guilty.cpp", "-O0", "closure", "where no variable is any more, but ", report.Possible, ""},
	} {
		t.Run(c.allocator+" "+c.bug+c.level, func(t *testing.T) {
			t.Parallel()
			var env []string
			if p := debianAllocators()[c.allocator]; p[0] != "" {
				env = heaptest.Preload(t, p[0], p[1])
			}
			compiler := "gcc"
			flags := []string{"-g", c.level, "-w", "-U_FORTIFY_SOURCE", "-fno-builtin", "-pthread"}
			if strings.HasSuffix(c.source, "cpp") {
				compiler, flags = "g++", append(flags, "-std=c++17")
			}
			causes(t, env, fixture.Compile(t, compiler, "heap/"+c.source, flags...), c.bug, c.want, c.confidence, c.not)
		})
	}
}
