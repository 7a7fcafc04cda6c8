package analysis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestBlame(t *testing.T) {
	frame := func(module, function, file string) report.Frame {
		return report.Frame{Module: module, Function: function, Source: report.Source{File: file}}
	}
	const app, libc, libstdcxx = "/srv/app", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libstdc++.so.6.0.30"
	for _, c := range []struct {
		name   string
		frames []report.Frame
		want   int // -1 for none
	}{
		{"nothing", nil, -1},
		{"own", []report.Frame{frame(app, "visit", "q.c"), frame(app, "main", "q.c")}, 0},
		{"abort, libc with lines", []report.Frame{frame(libc, "raise", "raise.c"), frame(libc, "abort", "abort.c"), frame(app, "give_up", "q.c")}, 2},
		{"static libc", []report.Frame{frame(app, "raise", "raise.c"), frame(app, "abort", "abort.c"), frame(app, "give_up", "q.c")}, 2},
		{"uncaught", []report.Frame{frame(libc, "abort", ""), frame(libstdcxx, "std::terminate", ""), frame(libstdcxx, "__cxa_throw", ""), frame(app, "parse", "p.cc")}, 3},
		{"template of the library", []report.Frame{frame(app, "std::vector<int>::operator[]", "stl_vector.h"), frame(app, "sum", "p.cc")}, 1},
		{"Rust", []report.Frame{frame(app, "core::panicking::panic", "panicking.rs"), frame(app, "<alloc::vec::Vec<T> as core::ops::index::Index<I>>::index", "mod.rs"), frame(app, "app::pick", "main.rs")}, 2},
		{"Go", []report.Frame{frame(app, "runtime.raise", "sys.s"), frame(app, "runtime.sigpanic", "signal.go"), frame(app, "main.(*queue).pop", "main.go")}, 2},
		{"after a signal", []report.Frame{{Signal: "SIGSEGV", Module: libc, Function: "__restore_rt", Source: report.Source{File: "x.S"}}, frame(app, "crash", "q.c")}, 1},
		{"inlined from the system's headers", []report.Frame{frame(app, "_mm_add_ps", "/usr/lib/gcc/x86_64-linux-gnu/12/include/xmmintrin.h"), frame(app, "add4", "/usr/src/sse.c")}, 1},
		{"nothing but headers", []report.Frame{frame(app, "strcpy", "/usr/include/bits/string_fortified.h"), frame(app, "main", "")}, 0},
		{"own header", []report.Frame{frame(app, "get", "/usr/local/src/include/own.h"), frame(app, "main", "q.c")}, 0},
		{"sanitizer", []report.Frame{frame("/lib/libasan.so.8", "f", "x.cpp"), frame(app, "handleIntegerOverflowImpl<__ubsan::Value>", "../src/libsanitizer/ubsan/ubsan_handlers.cpp"),
			frame(app, "__ubsan_handle_add_overflow_abort", "x.cpp"), frame(app, "inc", "q.c")}, 3},
		{"names, no lines", []report.Frame{frame(libc, "abort", "abort.c"), frame(app, "", ""), frame(app, "give_up", ""), frame(app, "main", "")}, 2},
		{"a line further out", []report.Frame{frame("/lib/libz.so.1", "inflate", ""), frame(app, "load", "q.c")}, 1},
		{"no names", []report.Frame{frame(libc, "abort", "abort.c"), frame(app, "", ""), frame(app, "main", "")}, 1},
		{"libc alone", []report.Frame{frame(libc, "abort", "abort.c"), frame(libc, "", "")}, -1},
		{"Rust's library, compiled into the program", []report.Frame{frame(app, "<usize as core::slice::index::SliceIndex<[T]>>::index", "/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/slice/index.rs"), frame(app, "app::pick", "src/main.rs")}, 1},
		{"a library of the system", []report.Frame{frame("/usr/lib/x86_64-linux-gnu/libuv.so.1", "uv__run_timers", "timer.c"), frame(app, "loop", "q.c")}, 1},
		{"a library of the system alone", []report.Frame{frame("/usr/lib/x86_64-linux-gnu/libuv.so.1", "uv__run_timers", "timer.c"), frame(libc, "", "")}, 0},
		{"a plug-in", []report.Frame{frame("/srv/plugins/sound.so", "play", "sound.c"), frame(app, "call", "q.c")}, 0},
		{"a package's own directory", []report.Frame{frame("/usr/lib/postgresql/15/lib/plpgsql.so", "exec_stmt", "pl_exec.c"), frame(app, "call", "q.c")}, 0},
		{"vendored", []report.Frame{frame(app, "uv__run_timers", "../deps/uv/src/timer.c"), frame(app, "loop", "src/node.cc")}, 1},
		{"no module", []report.Frame{frame("", "", ""), frame("", "", "")}, -1},
	} {
		got := -1
		if p := firstFrame(c.frames, app); p != nil {
			got = *p
		}
		if got != c.want {
			t.Errorf("%s: frame %d, want %d", c.name, got, c.want)
		}
	}
}

func TestModuleWarning(t *testing.T) {
	lib := &libstate.Library{Path: "/opt/libx.so"}
	for _, c := range []struct {
		name   string
		lib    *libstate.Library
		res    modules.Resolution
		frames int
		code   string
		parts  []string
	}{
		{"matched", lib, modules.Resolution{Match: modules.Matched}, 3, "", nil},
		{"no id", lib, modules.Resolution{Match: modules.NoID}, 3, "", nil},
		{"missing, unused", lib, modules.Resolution{}, 0, "", nil},
		{"missing", lib, modules.Resolution{}, 1, "module-missing", []string{"libx.so: no file found; 1 frame in it was walked"}},
		{"missing, with a reason", lib, modules.Resolution{Why: "x is a directory"}, 2, "module-missing", []string{"2 frames in it were walked", "(x is a directory)"}},
		{"missing, nameless", &libstate.Library{Start: 0x7000}, modules.Resolution{}, 1, "module-missing", []string{"module at 0x7000: no file found"}},
		{"mismatched", lib, modules.Resolution{Match: modules.Mismatched, Path: "/lib/libx.so", Why: "another id"}, 0, "module-mismatched", []string{"/lib/libx.so is from a different build and was not used: another id"}},
		{"forced", lib, modules.Resolution{Match: modules.Mismatched, Forced: true, Path: "/lib/libx.so", Why: "another id"}, 2, "module-forced", []string{"using /lib/libx.so although", "2 frames in it may be wrong"}},
	} {
		w, ok := moduleWarning(c.lib, c.res, c.frames)
		if ok != (c.code != "") || ok && (w.Code != c.code || w.Module != c.lib.Path) {
			t.Errorf("%s: %+v, %v", c.name, w, ok)
		}
		for _, p := range c.parts {
			if !strings.Contains(w.Message, p) {
				t.Errorf("%s: %q lacks %q", c.name, w.Message, p)
			}
		}
	}
}

func TestWantedBy(t *testing.T) {
	for _, c := range []struct {
		lib  libstate.Library
		want string
	}{
		{libstate.Library{}, "its build-id"},
		{libstate.Library{BuildID: []byte{1}, Module: &libstate.ModuleID{Format: libstate.FormatPE}}, "its build-id"},
		{libstate.Library{Module: &libstate.ModuleID{Format: libstate.FormatPE}}, "its symbol server path"},
		{libstate.Library{Module: &libstate.ModuleID{Format: libstate.FormatMachO}}, "its UUID"},
	} {
		if got := wantedBy(&c.lib); got != c.want {
			t.Errorf("%+v: %q, want %q", c.lib, got, c.want)
		}
		if w, ok := moduleWarning(&c.lib, modules.Resolution{}, 1); !ok || !strings.HasSuffix(w.Advice, c.want) {
			t.Errorf("%+v: %+v", c.lib, w)
		}
	}
}

// A proc is a process whose stacks are one frame deep.
type proc struct {
	threads []unwind.ThreadID
	regs    map[unwind.ThreadID]arch.RegSet
}

var errNoMemory = errors.New("not in the dump")

func (p *proc) ReadMem(a arch.Address, _ []byte) (int, error) { return 0, errNoMemory }
func (p *proc) ReadWord(arch.Address) (uint64, error)         { return 0, errNoMemory }
func (p *proc) Arch() *arch.Arch                              { return arch.AMD64 }
func (p *proc) ProcessID() int                                { return 1 }
func (p *proc) ExecutablePath() string                        { return "" }
func (p *proc) ThreadIDs() ([]unwind.ThreadID, error)         { return p.threads, nil }
func (p *proc) DefaultThread() (unwind.ThreadID, error)       { return p.threads[0], nil }
func (p *proc) Registers(t unwind.ThreadID) (arch.RegSet, error) {
	return p.regs[t], nil
}
func (p *proc) LibraryTracker() libstate.LibraryState { return nil }
func (p *proc) PreStackwalk(unwind.ThreadID) error    { return nil }
func (p *proc) PostStackwalk(unwind.ThreadID) error   { return nil }
func (p *proc) IsFirstParty() bool                    { return false }
func (p *proc) Mappings() []libstate.Mapping          { return nil }
func (p *proc) ThreadName(unwind.ThreadID) string     { return "" }

func (p *proc) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	return libstate.Mapping{Perm: libstate.Read}, addr>>16 == 3
}

func newParts(t *testing.T, threads ...unwind.ThreadID) Parts {
	t.Helper()
	p := &proc{threads: threads, regs: map[unwind.ThreadID]arch.RegSet{}}
	for _, id := range threads {
		var rs arch.RegSet
		rs.Set(arch.AMD64.PC, uint64(id)<<16)
		rs.Set(arch.AMD64.SP, 0x7000)
		p.regs[id] = rs
	}
	w, err := unwind.NewWalker(p, unwind.WithGroup(unwind.NewAddrRangeGroup()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return Parts{Proc: p, Walker: w}
}

func ids(r *report.Report) (out []int) {
	for _, t := range r.Threads {
		out = append(out, t.ID)
	}
	return out
}

func TestThreads(t *testing.T) {
	p := newParts(t, 9, 3, 12, 5)
	for _, c := range []struct {
		crashed int
		only    []unwind.ThreadID
		want    []int
	}{
		{0, nil, []int{3, 5, 9, 12}},
		{9, nil, []int{9, 3, 5, 12}},
		{12, nil, []int{12, 3, 5, 9}},
		{5, []unwind.ThreadID{12, 3, 77}, []int{3, 12}},
		{3, []unwind.ThreadID{12, 3}, []int{3, 12}},
		{0, []unwind.ThreadID{}, nil},
	} {
		if p.Signal = nil; c.crashed != 0 {
			p.Signal = &reason.Signal{Number: 11, TID: c.crashed}
		}
		r := Run(context.Background(), p, Options{Threads: c.only})
		if got := ids(r); !slices.Equal(got, c.want) {
			t.Errorf("crashed %d, only %v: %v, want %v", c.crashed, c.only, got, c.want)
		}
		if all := 4; len(c.want) == all && r.Dump.Threads != 0 || len(c.want) < all && r.Dump.Threads != all {
			t.Errorf("only %v: %d threads of the dump", c.only, r.Dump.Threads)
		}
		for _, th := range r.Threads {
			if th.Crashed != (th.ID == c.crashed) {
				t.Errorf("thread %d crashed: %v", th.ID, th.Crashed)
			}
		}
		if (r.Crash != nil) != (c.crashed != 0) || r.Crash != nil && r.Crash.Thread != c.crashed {
			t.Errorf("crash %+v", r.Crash)
		}
	}
}

func TestEndDetail(t *testing.T) {
	r := Run(context.Background(), newParts(t, 2, 3), Options{})
	for i, want := range []string{"program counter 0x20000 is not mapped", "program counter 0x30000 is in memory that is not executable"} {
		if got := r.Threads[i]; got.End != "no-stepper" || got.EndDetail != want {
			t.Errorf("thread %d: %s, %q; want %q", got.ID, got.End, got.EndDetail, want)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := Run(ctx, newParts(t, 1, 2, 3), Options{})
	if len(r.Threads) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Code != report.WarnCancelled {
		t.Errorf("threads %v, warnings %+v", ids(r), r.Warnings)
	}
}
