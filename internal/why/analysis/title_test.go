package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestTitle: a fault inside the C library is told as the program's call, a fault elsewhere as it is.
func TestTitle(t *testing.T) {
	const lib, app = "/lib/x86_64-linux-gnu/libc.so.6", "/srv/app"
	stack := func(frames ...[2]string) (out []report.Frame) {
		for i, f := range frames {
			out = append(out, report.Frame{Physical: i, Module: f[0], Function: f[1]})
		}
		return out
	}
	calls := func(functions ...string) (out []report.Frame) {
		for i, f := range functions {
			out = append(out, report.Frame{Physical: i, Module: lib, Function: f})
		}
		return append(out, report.Frame{Physical: len(functions), Module: app, Function: "main"})
	}
	argument := func(function string, value report.Addr, steps ...report.BlameStep) *report.Blame {
		return &report.Blame{Value: value, Steps: append([]report.BlameStep{{Kind: report.BlameArgument, Name: "argument 1", Function: function}}, steps...)}
	}
	step := func(kind, name, expression string) report.BlameStep {
		return report.BlameStep{Kind: kind, Name: name, Expression: expression, Physical: 1}
	}
	passed := step(report.BlamePassed, "", "")
	const null, wild = report.CrashNullRead, report.CrashWildRead
	for _, c := range []struct {
		name   string
		frames []report.Frame
		kind   string
		addr   report.Addr
		blame  *report.Blame
		bad    int // the argument that the blame found
		want   string
	}{
		// The heap.
		{"in malloc", calls("unlink_chunk", "_int_malloc", "malloc"), wild, 8, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"in malloc, called by the library", calls("_int_malloc", "__GI___libc_malloc", "strdup"), null, 0, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"malloc itself", calls("malloc"), report.CrashNonCanonicalRead, 8, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"the stripped library", calls("", "", "calloc"), wild, 8, nil, 0, "heap corrupted, noticed in calloc (fault)"},
		{"linked in", stack([2]string{app, "malloc_consolidate"}, [2]string{app, "_int_malloc"}, [2]string{app, "__libc_malloc"}), wild, 8, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"in free", calls("_int_free", "free"), wild, 8, nil, 0, "heap corrupted or a bad pointer passed, noticed in free (fault)"},
		{"free itself", calls("free"), wild, 8, nil, 0, "free: fault"},
		{"another malloc", stack([2]string{"/usr/lib/libjemalloc.so.2", "malloc"}), wild, 8, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"another free itself", stack([2]string{"/usr/lib/libmimalloc.so.2.0", "mi_free"}), wild, 8, nil, 0, "fault"},
		{"in another free", stack([2]string{"/usr/lib/libmimalloc.so.2.0", "_mi_free_block_mt"}, [2]string{"/usr/lib/libmimalloc.so.2.0", "mi_free"}), wild, 8, nil, 0, "heap corrupted or a bad pointer passed, noticed in mi_free (fault)"},
		{"in what another free calls last", stack([2]string{"/usr/lib/libtcmalloc.so.4", "tcmalloc::ThreadCache::ListTooLong"}, [2]string{app, "malloc"}), wild, 8, nil, 0, "heap corrupted, noticed in tcmalloc::ThreadCache::ListTooLong (fault)"},
		{"another allocator without names", stack([2]string{"/usr/lib/libjemalloc.so.2", ""}), wild, 8, nil, 0, "fault"},
		{"in Google's malloc", stack([2]string{app, "tcmalloc::tcmalloc_internal::SLL_Next"}, [2]string{app, "slow_alloc<tcmalloc::tcmalloc_internal::TCMallocPolicy<> >"}, [2]string{app, "TCMallocInternalMalloc"}, [2]string{app, "main"}), wild, 8, nil, 0, "heap corrupted, noticed in malloc (fault)"},
		{"Google's own", stack([2]string{app, "TCMallocInternalFree"}, [2]string{app, "main"}), wild, 8, nil, 0, "fault"},
		{"in Google's delete", stack([2]string{app, "tcmalloc::tcmalloc_internal::PageMap::GetDescriptor"}, [2]string{app, "TCMallocInternalDeleteArraySized"}), wild, 8, nil, 0, "heap corrupted or a bad pointer passed, noticed in operator delete[] (fault)"},
		{"in Google's new", stack([2]string{app, "tcmalloc::tcmalloc_internal::SLL_Next"}, [2]string{app, "TCMallocInternalNewNothrow"}), wild, 8, nil, 0, "heap corrupted, noticed in operator new (fault)"},
		{"for the arena of a block", calls("arena_for_chunk", "free"), wild, 8, nil, 0, "heap corrupted or a bad pointer passed, noticed in free (fault)"},
		{"a program's malloc", stack([2]string{app, ""}, [2]string{app, "malloc"}), wild, 8, nil, 0, "fault"},
		{"another function of the library", calls("qsort", "malloc"), wild, 8, nil, 0, "fault"},
		{"a handler that interrupted malloc", append([]report.Frame{{Module: lib, Signal: "SIGUSR1"}}, calls("_int_malloc", "malloc")...), wild, 8, nil, 0, "fault"},
		{"no memory for the stack", calls("_int_malloc", "malloc"), report.CrashStackOverflow, 8, nil, 0, "fault"},
		{"no allocator", calls("", ""), wild, 8, nil, 0, "fault"},

		// Strings.
		{"nothing passed is known", calls("__strlen_avx2"), null, 0, nil, 0, "strlen(null)"},
		{"not at null itself", calls("__strlen_avx2"), null, 8, nil, 0, "strlen: fault"},
		{"one of two", calls("__strcmp_evex"), null, 0, nil, 0, "strcmp: fault"},
		{"the one that is read", calls("strcpy"), null, 0, nil, 0, "strcpy(..., null)"},
		{"the one that is written", calls("strcpy"), report.CrashNullWrite, 0, nil, 0, "strcpy(null, ...)"},
		{"read and written", calls("strcat"), null, 0, nil, 0, "strcat: fault"},
		{"copied or moved", calls("__memmove_avx_unaligned_erms"), report.CrashNullWrite, 0, nil, 0, "memcpy or memmove(null, ..., ...)"},
		{"copied", calls("__memmove_avx_unaligned_erms"), null, 0, argument("memcpy", 0, passed), 2, "memcpy(..., null, ...)"},
		{"an expression", calls("__strcmp_evex"), null, 0, argument("strcmp", 0, passed, step(report.BlameRead, "c->host", "")), 1, "strcmp(c->host = null, ...)"},
		{"a variable", calls("__strcmp_evex"), null, 0, argument("strcmp", 0, step(report.BlamePassed, "word", "")), 2, "strcmp(..., word = null)"},
		{"a member", calls("strlen"), null, 0x18, argument("strlen", 0x18, passed, step(report.BlameOffset, "s", "s->name")), 1, "strlen(s->name = null+0x18)"},
		{"a wild one", calls("strlen"), wild, 0x123456, argument("strlen", 0x123456, passed), 1, "strlen(0x123456): fault"},
		{"memory without a name", calls("strlen"), null, 0, argument("strlen", 0, passed, step(report.BlameRead, "[rdi+8]", "")), 1, "strlen(null)"},
		{"the call names it", calls(""), null, 0, argument("strlen", 0, passed), 1, "strlen(null)"},
		{"nothing names it", calls(""), null, 0, nil, 0, "fault"},
		{"a checking one", calls("__strcpy_chk"), null, 0, nil, 0, "fault"},
		{"a name that begins alike", calls("strlen_utf8"), null, 0, nil, 0, "fault"},
		{"inlined", []report.Frame{{Module: app, Function: "strlen", Inlined: true}, {Module: app, Function: "visit"}}, null, 0, nil, 0, "fault"},
		{"called by it", stack([2]string{app, "compare"}, [2]string{lib, "strcmp"}), null, 0, nil, 0, "fault"},
	} {
		addr := c.addr
		got := titled(verdict{c.kind, "fault"}, &fault{address: &addr, blame: c.blame, argument: c.bad}, c.frames)
		if got.reason != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.reason, c.want)
		}
		if heap := got.kind == report.CrashHeapCorruption; heap != (c.want[:4] == "heap") || !heap && got.kind != c.kind {
			t.Errorf("%s: %s", c.name, got.kind)
		}
	}
}

// TestGoHandled: the signal for which Go's handler ended the program.
func TestGoHandled(t *testing.T) {
	stack := func(functions ...string) (out []report.Frame) {
		for _, f := range functions {
			frame := report.Frame{Function: f}
			if f == "<signal>" {
				frame.Signal = "SIGSEGV"
			}
			out = append(out, frame)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		frames []report.Frame
		want   int
	}{
		{"in C code", stack("runtime.raise", "runtime.dieFromSignal", "runtime.crash", "runtime.sighandler", "runtime.sigtrampgo", "runtime.sigtramp", "<signal>", "follow"), 6},
		{"without inlined calls", stack("runtime.raise", "runtime.dieFromSignal", "runtime.sighandler", "<signal>", "follow"), 3},
		{"thrown", stack("runtime.raise", "runtime.dieFromSignal", "runtime.fatalthrow", "runtime.throw", "runtime.sighandler", "<signal>", "follow"), -1},
		{"no handler", stack("runtime.raise", "runtime.dieFromSignal", "runtime.fatalpanic", "main.main"), -1},
		{"the program's handler in between", stack("runtime.crash", "runtime.sighandler", "on_fault", "<signal>", "follow"), -1},
		{"nothing known below", stack("runtime.crash", "runtime.sighandler", "runtime.sigtramp", "<signal>"), -1},
		{"cut short", stack("runtime.crash", "runtime.sighandler"), -1},
		{"the handler alone", stack("runtime.sighandler", "<signal>", "follow"), -1},
	} {
		if got := goHandled(c.frames); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
