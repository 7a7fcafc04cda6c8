package corewalk

import (
	"github.com/corewalk/corewalk/internal/files/jitmaps"
	"github.com/corewalk/corewalk/internal/runtimes/ada"
	"github.com/corewalk/corewalk/internal/runtimes/beam"
	"github.com/corewalk/corewalk/internal/runtimes/coro"
	"github.com/corewalk/corewalk/internal/runtimes/ghc"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/internal/runtimes/hotspot"
	"github.com/corewalk/corewalk/internal/runtimes/lua"
	"github.com/corewalk/corewalk/internal/runtimes/mono"
	"github.com/corewalk/corewalk/internal/runtimes/native"
	"github.com/corewalk/corewalk/internal/runtimes/perl"
	"github.com/corewalk/corewalk/internal/runtimes/php"
	"github.com/corewalk/corewalk/internal/runtimes/python"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
	"github.com/corewalk/corewalk/internal/runtimes/v8"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// A runtimeKind is what has to be known of a kind of runtime before one is found. What a runtime can do, it says itself, by the
// interfaces of package tasks that it implements.
type runtimeKind struct {
	find tasks.Finder
	// schedules says that it is looked for in the program, and where threads began, in every process.
	schedules bool
	// shows reports whether a function, or the path of its module, says that it may be there. Reports look for it only then.
	shows func(function, module string) bool
	// walks makes what walks its own code, and finds the runtime when it first sees code that no library has; again is that for another
	// moment of a process in which it was found.
	walks func(process func() *tasks.Process) walkingRuntime
	again func(found tasks.Runtime, process func() *tasks.Process) walkingRuntime
}

// A walkingRuntime makes frames, and knows what they are.
type walkingRuntime interface {
	unwind.FrameStepper
	tasks.Framer
}

// runtimeKinds are the runtimes that are known: the only place that lists them.
var runtimeKinds = [...]runtimeKind{
	{find: native.Find, schedules: true},
	{find: golang.Find, schedules: true},
	{find: coro.Find, schedules: true},
	{find: coro.FindRust, schedules: true},
	{find: python.Find, shows: python.Shows},
	{find: lua.Find, shows: lua.Shows,
		walks: func(p func() *tasks.Process) walkingRuntime { return lua.NewCompiled(p) },
		again: func(_ tasks.Runtime, p func() *tasks.Process) walkingRuntime { return lua.NewCompiled(p) }},
	{find: ruby.Find, shows: ruby.Shows},
	{find: perl.Find, shows: perl.Shows},
	{find: php.Find, shows: php.Shows,
		walks: func(p func() *tasks.Process) walkingRuntime { return php.NewCompiled(p) },
		again: func(_ tasks.Runtime, p func() *tasks.Process) walkingRuntime { return php.NewCompiled(p) }},
	{find: beam.Find, shows: beam.Shows,
		walks: func(p func() *tasks.Process) walkingRuntime { return beam.NewCompiled(p) },
		again: func(_ tasks.Runtime, p func() *tasks.Process) walkingRuntime { return beam.NewCompiled(p) }},
	{find: ada.Find, shows: ada.Shows},
	{find: ghc.Find,
		walks: func(p func() *tasks.Process) walkingRuntime { return ghc.New(p) },
		again: func(_ tasks.Runtime, p func() *tasks.Process) walkingRuntime { return ghc.New(p) }},
	{find: hotspot.Find,
		walks: func(p func() *tasks.Process) walkingRuntime { return hotspot.New(p) },
		again: func(r tasks.Runtime, p func() *tasks.Process) walkingRuntime { return r.(*hotspot.Java).At(p) }},
	{find: v8.Find,
		walks: func(p func() *tasks.Process) walkingRuntime { return v8.New(p) },
		again: func(r tasks.Runtime, p func() *tasks.Process) walkingRuntime { return r.(*v8.JavaScript).At(p) }},
}

// ownCode returns what tells the code of runtimes that have no frames of another kind than others, and know its names: Mono.
func (t *Target) ownCode() func(unwind.Address) (jitmaps.Code, bool) {
	own := mono.New(mono.Process{Memory: t.subject, Arch: t.subject.Arch(),
		Libraries: func() []*libstate.Library {
			libs, _ := t.subject.LibraryTracker().Libraries(false) // those that there are
			return libs
		},
		Symbol: func(lib *libstate.Library, name string) (unwind.Address, bool) {
			s, ok := t.lookup.SymbolByName(lib, name)
			return s.Addr, ok
		},
		MappingAt:  t.subject.MappingAt,
		ReadMapped: func(path string, is func([]byte) bool) []byte { return t.images.ReadMapped(path, mono.MaxFile, is) },
		Warn: func(lib *libstate.Library, err error) {
			t.lateMu.Lock()
			defer t.lateMu.Unlock()
			t.lateWarnings = append(t.lateWarnings, report.Warning{Code: "jit", Message: err.Error(), Module: lib.Path})
		}})
	return func(addr unwind.Address) (jitmaps.Code, bool) {
		m, ok := own.At(addr)
		return jitmaps.Code(m), ok
	}
}

// schedulers are the finders of the runtimes that schedule tasks.
func schedulers() []tasks.Finder {
	var all []tasks.Finder
	for i := range runtimeKinds {
		if k := &runtimeKinds[i]; k.schedules {
			all = append(all, k.find)
		}
	}
	return all
}

// everything returns the finders of all runtimes, and those of the caller.
func everything(finders []tasks.Finder) []tasks.Finder {
	var all []tasks.Finder
	for i := range runtimeKinds {
		all = append(all, runtimeKinds[i].find)
	}
	return append(all, finders...)
}

// walkingSteppers are those of the runtimes that walk their own code.
func walkingSteppers(process func() *tasks.Process) []unwind.FrameStepper {
	var all []unwind.FrameStepper
	for i := range runtimeKinds {
		if k := &runtimeKinds[i]; k.walks != nil {
			all = append(all, k.walks(process))
		}
	}
	return all
}
