package message

import (
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestPrinted: the run-time library prints why it ends the program only if the program has no handler of its own.
func TestPrinted(t *testing.T) {
	app, cxx, libc, gcc := &libstate.Library{Path: "/srv/app"}, &libstate.Library{Path: "/usr/lib/libstdc++.so.6"}, &libstate.Library{Path: "/lib/libc.so.6"}, &libstate.Library{Path: "/lib/libgcc_s.so.1"}
	type frame struct {
		lib  *libstate.Library
		name string
	}
	abort, unnamed, end, throw, main := frame{libc, "abort"}, frame{cxx, ""}, frame{cxx, "std::terminate"}, frame{cxx, "__cxa_throw"}, frame{app, "main"}
	for _, c := range []struct {
		name    string
		runtime string
		stack   []frame
		want    bool
	}{
		{"the handler by its name", LibStdCxx, []frame{abort, {cxx, "__gnu_cxx::__verbose_terminate_handler"}, unnamed, end, throw, main}, true},
		{"the handler without a name", LibStdCxx, []frame{abort, unnamed, unnamed, end, throw, main}, true},
		{"a handler of the program", LibStdCxx, []frame{abort, {app, "on_terminate"}, unnamed, end, throw, main}, false},
		{"one that calls the library", LibStdCxx, []frame{abort, unnamed, unnamed, {app, "on_terminate"}, unnamed, end, throw, main}, false},
		{"abort as the handler", LibStdCxx, []frame{abort, unnamed, end, throw, main}, false},
		{"a handler in the same file", LibStdCxx, []frame{abort, {cxx, "on_terminate"}, {cxx, "__cxxabiv1::__terminate"}, end, throw, main}, false},
		{"no frame on top", LibStdCxx, []frame{unnamed, unnamed, end, throw, main}, false},
		{"another library on top", LibStdCxx, []frame{{app, "abort"}, unnamed, unnamed, end, throw, main}, false},
		{"nothing that ends it", LibStdCxx, []frame{abort, unnamed, unnamed, main}, false},
		{"no library", LibStdCxx, []frame{abort, {nil, ""}, {nil, ""}, {nil, "std::terminate"}, main}, false},
		{"nobody handles it", LibStdCxx, []frame{abort, unnamed, unnamed, unnamed, {cxx, "__gxx_personality_v0"}, {gcc, ""}, {gcc, "_Unwind_RaiseException"}, throw, main}, true},
		{"nobody handles it, abort as the handler", LibStdCxx, []frame{abort, unnamed, unnamed, {cxx, "__gxx_personality_v0"}, {gcc, ""}, throw, main}, false},
		{"libc++abi", LibCxxABI, []frame{abort, unnamed, unnamed, unnamed, end, throw, main}, true},
		{"libc++abi, abort as the handler", LibCxxABI, []frame{abort, unnamed, unnamed, end, throw, main}, false},
		{"libc++abi with names", LibCxxABI, []frame{abort, unnamed, unnamed, {cxx, "std::__terminate"}, throw, main}, true},
	} {
		p := &Process{Reader: procmem.Reader{Arch: arch.AMD64}}
		where := map[arch.Address]*libstate.Library{}
		for i, f := range c.stack {
			at := arch.Address(0x1000 * (i + 1))
			where[at], where[at-1] = f.lib, f.lib
			physical := new(unwind.Frame)
			physical.SetRA(at)
			p.Stack = append(p.Stack, Frame{physical, []string{f.name}})
		}
		p.LibraryAt = func(a arch.Address) *libstate.Library { return where[a] }
		if got := p.printed(c.runtime); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (&Process{Stack: []Frame{{nil, []string{"std::terminate"}}}}).printed(LibStdCxx) {
		t.Error("printed, where no library is known")
	}
}

// TestJoinless: a thread that nobody joined ends the program without an exception, whichever C++ library it is of and whether its globals are known or not.
func TestJoinless(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"abort", "std::terminate", "std::__1::thread::~thread"}, "a std::thread was destroyed without being joined or detached"},
		{[]string{"abort", "std::terminate", "std::thread::~thread"}, "a std::thread was destroyed without being joined or detached"},
		{[]string{"abort", "std::terminate", "app::thread::~thread"}, ""},
		{[]string{"abort", "std::__1::thread::~thread"}, ""},
		{[]string{"abort", "std::terminate", "__cxa_throw", "std::thread::~thread"}, "uncaught C++ exception of unknown type"},
	} {
		p := make(fakeMemory, 8).process(nil)
		for _, n := range c.names {
			p.Stack = append(p.Stack, Frame{new(unwind.Frame), []string{n}})
		}
		if got := cxxWords(p).Reason; got != c.want {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
}
