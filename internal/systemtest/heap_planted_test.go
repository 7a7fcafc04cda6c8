package systemtest

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/report"
)

// TestHeapPlanted: of one mistake each, the guilty block or variable is named, and nothing that is wrong is said with it.
func TestHeapPlanted(t *testing.T) {
	for _, c := range []struct{ allocator, source, level, bug, want, confidence, not string }{
		{"", "planted.c", "-O0", "index", "j->input[i] where j->input = 0x#, read by digest", report.Certain, "set to"},
		{"", "planted.c", "-O0", "keys", "root->keys may have been overrun: numbers like those at its end stand in root->child[0], behind it", report.Possible, ""},
		{"", "planted.c", "-O0", "keys", "x->child[i] where x = 0x#, argument of sum", report.Certain, ""},
		{"", "planted.c", "-O0", "records", "ring->slots may have been overrun: numbers like those of number at its end stand in ring->last, behind it", report.Possible, ""},
		{"", "planted.c", "-O2", "owner", `account->owner was overrun by at least 3 bytes: its text ..."Wilhelmina van der Berg" goes on in account->postings`, report.Possible, "block"},
		{"", "planted.c", "-O0", "local", "in line, but server.current points there, to something else: a function that has returned had a variable there", report.Possible, "overwritten"},
		{"", "planted.c", "-O2", "local", "in line, but server.current points there, to something else: a function that has returned had a variable there", report.Possible, "overwritten"},
		{"", "planted.c", "-O0", "buffer", "", "", "returned"},
		{"tcmalloc", "planted.c", "-O0", "small", "(struct order, 56 bytes) points to a block of 8 bytes, at 0x#: it was made too small, or freed, and handed out again", report.Possible, "o (struct"},
		{"mimalloc", "planted.c", "-O0", "small", "(struct order, 56 bytes) points to a block of 8 bytes, at 0x#: it was made too small, or freed, and handed out again", report.Possible, "o (struct"},
		{"", "planted.c", "-O0", "unset", "16 bytes from its beginning, which is in use, and is the only text there: it may never have been set since that was handed out", report.Possible, ""},
		{"", "planted.c", "-O0", "unset2", "", "", "only text"},
		{"", "planted.c", "-O0", "tokens", "was read as a token, 48 bytes from its beginning: it may have been freed, and handed out again", report.Possible, ""},
		{"", "planted.c", "-O0", "parsed", "", "", "handed out again"},
		{"", "planted.c", "-O0", "arena", "", "", "handed out again"},
		{"", "planted.c", "-O0", "none", "(kept), in which it was, has no pointer where struct token has some: it may have been freed, and handed out again, or written to by others", report.Possible, ""},
		{"", "planted.c", "-O0", "picture", "the block of 312 bytes at 0x# (pixels), which ends there, was overrun by at least 8 bytes", report.Possible, ""},
		{"jemalloc", "planted.c", "-O0", "rows", "(row) may have been overrun: a row of numbers like 0.14285714285714285, goes on in the block at 0x# (rows)", report.Possible, ""},
		{"tcmalloc", "planted.c", "-O2", "label", `was overrun: "0.0 thousand metric tonnes of wh" goes on in the free block at`, report.Likely, ""},
		{"tcmalloc", "planted.c", "-O2", "wide", "may have been overrun: text of two bytes a letter goes on in the free block at", report.Possible, ""},
		{"", "planted.cpp", "-O0", "boxes", `this->boxes[3].text was overrun by at least 16 bytes: its text ..."a living room with a view of the seaside" goes on in this->boxes[4]._vptr.Shape`, report.Likely, ""},
	} {
		t.Run(c.allocator+" "+c.bug+c.level, func(t *testing.T) {
			t.Parallel()
			var env []string
			if p := debianAllocators()[c.allocator]; p[0] != "" {
				env = heaptest.Preload(t, p[0], p[1])
			}
			compiler := "gcc"
			flags := []string{"-g", c.level, "-w", "-U_FORTIFY_SOURCE", "-fno-builtin"}
			if strings.HasSuffix(c.source, "cpp") {
				compiler, flags = "g++", append(flags, "-std=c++17")
			}
			causes(t, env, fixture.Compile(t, compiler, "heap/"+c.source, flags...), c.bug, c.want, c.confidence, c.not)
		})
	}
}
