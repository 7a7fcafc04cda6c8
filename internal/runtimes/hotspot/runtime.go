package hotspot

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// library is the base name of the library that has the virtual machine.
const library = "libjvm.so"

// Java is what a process has of Java: a stepper through its frames, and their names. It looks for the virtual machine
// when it is first asked about code of no library, so that it costs a process without one nothing.
type Java struct {
	process func() *tasks.Process
	once    sync.Once
	vm      *VM
	err     error
	threads map[unwind.ThreadID]Thread
	named   sync.Once

	glue     remote.Kept[bool] // whether frames at an address only lead to Java calls
	mu       sync.Mutex
	uncaught map[unwind.ThreadID]uint64    // the exceptions that threads did not catch, as far as their stacks were seen
	thrown   map[unwind.ThreadID]uint64    // those that are on their way to who catches them
	handlers map[unwind.ThreadID][]handler // activations that may be handling one, youngest first

	objects heap.OwnHeap[*javaHeap]
}

// New returns the stepper of a process; process is called once, if at all.
func New(process func() *tasks.Process) *Java {
	j := &Java{process: process}
	j.objects.Find = j.findObjectHeap
	return j
}

// Find finds the virtual machine of a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	j := New(func() *tasks.Process { return p })
	if j.machine() == nil {
		return nil, j.err
	}
	return j, nil
}

// At is the Java of the same process at another moment. What the virtual machine says of itself is not read again; what may
// have changed since, is.
func (j *Java) At(process func() *tasks.Process) *Java {
	now := New(process)
	now.once.Do(func() {
		old := j.machine()
		if p := process(); p != nil && old != nil {
			vm := &VM{memory: memory{procmem.Of(p.State).Charged(p.Spend)}, lib: old.lib, spend: p.Spend, tables: old.tables, version: old.version,
				callers: old.callers, layout: old.layout, objects: old.objects, narrowLocation: old.narrowLocation}
			if now.err = vm.findHeaps(); now.err == nil {
				now.vm = vm
			}
		}
	})
	return now
}

func (j *Java) machine() *VM {
	j.once.Do(func() {
		p := j.process()
		if p == nil {
			return
		}
		for _, lib := range p.Modules {
			if path.Base(lib.Path) == library {
				j.vm, j.err = Open(p, lib)
				return
			}
		}
	})
	return j.vm
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (j *Java) Name() string { return "HotSpot" }

// Describe implements tasks.Describer.
func (j *Java) Describe() string {
	if vm := j.machine(); vm != nil {
		return vm.describe()
	}
	return ""
}

// Priority implements unwind.FrameStepper: after unwind tables, before what guesses.
func (j *Java) Priority() uint32 { return unwind.PriorityDebugStepper + 7 }

// CallerFrame implements unwind.FrameStepper.
func (j *Java) CallerFrame(in, out *unwind.Frame) unwind.Status {
	if libs := in.Walker().ProcessState().LibraryTracker(); libs != nil {
		if _, ok := libs.LibraryAt(in.LookupAddr()); ok {
			return unwind.StatusNotMe
		}
	}
	if vm := j.machine(); vm != nil {
		return vm.callerFrame(in, out)
	}
	if j.err != nil {
		out.Notef("%v", j.err)
	}
	return unwind.StatusNotMe
}

// Stretches implements tasks.Framer.
func (j *Java) Stretches(_ context.Context, id unwind.ThreadID, frames []*unwind.Frame) ([]tasks.Stretch, error) {
	vm := j.machine()
	if vm == nil {
		return nil, j.err
	}
	var out []tasks.Stretch
	thread, _ := j.thread(id)
	youngest := true
	for i, f := range frames {
		all, b, exact := vm.running(f)
		if b != nil && youngest && (len(all) > 0 || i == 0) {
			j.noteFlying(id, thread.at, frames, i, b)
			youngest = len(all) == 0
		}
		if len(all) == 0 {
			if name := vm.stubName(f); name != "" {
				out = append(out, tasks.Stretch{From: i, To: i + 1, Named: true, Calls: []tasks.Call{{Language: "java", Kind: tasks.CallJIT, Function: name}}})
			}
			continue
		}
		kind := tasks.CallJIT
		if b.kind == kindInterpreter {
			kind = tasks.CallInterpreted
		}
		s := tasks.Stretch{From: i, To: i + 1, Named: true, Ended: len(out) == 0 && j.gaveUp(frames[:i])}
		for _, a := range all {
			j.noteUncaught(id, a, f, b)
			j.noteHandler(id, a, f, b, exact)
			s.Calls = append(s.Calls, tasks.Call{Language: "java", Kind: kind, Function: a.method.display(), Symbol: a.method.linkage(),
				File: a.method.file, Line: a.method.line(a.bci), Approximate: !exact, Variables: vm.variablesOf(f, b, a, exact, thread.at)})
		}
		out = append(out, s)
	}
	return j.fold(frames, out), nil
}

// errorReport is the beginning of the names of what ends the virtual machine after an error.
const errorReport = "_ZN7VMError"

// gaveUp reports whether the virtual machine itself ended the process, because of what Java called there: no other
// library was called, and frames lead to the report of an error.
func (j *Java) gaveUp(frames []*unwind.Frame) bool {
	p := j.process()
	libs := p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	reported := false
	for _, f := range frames {
		lib, ok := libs.LibraryAt(f.LookupAddr())
		if !ok {
			continue
		}
		base := path.Base(lib.Path)
		switch {
		case lib == j.vm.lib:
			s, ok := p.Symbols.SymbolAt(lib, f.LookupAddr())
			reported = reported || ok && strings.HasPrefix(s.Name, errorReport)
		case !strings.HasPrefix(base, "libc.") && !strings.HasPrefix(base, "libc-") && !strings.HasPrefix(base, "libpthread") && !strings.HasPrefix(base, "ld-musl"):
			return false
		}
	}
	return reported
}

// callStub is the name of the stub by which C++ calls Java.
const callStub = "<call stub>"

// stubName is what the virtual machine calls code that is no method's; "" if it is not its code.
func (vm *VM) stubName(f *unwind.Frame) string {
	b := vm.blobAt(f.LookupAddr())
	switch {
	case b == nil:
		return ""
	case b.kind == kindRoutines && f.RA() == vm.callers:
		return callStub
	case b.kind == kindCompiled && interrupted(f) && vm.inCallStub(f.RA()):
		return "<call of an interpreted method>"
	case b.kind == kindCompiled || b.kind == kindNative:
		return ""
	case strings.HasPrefix(b.name, "StubRoutines"):
		return "<stub routine>"
	}
	return "<" + b.name + ">"
}

// ThreadName implements tasks.ThreadNamer.
func (j *Java) ThreadName(id unwind.ThreadID) string {
	t, _ := j.thread(id)
	return t.Name
}

// thread is the Java thread that a thread runs; false if it runs none.
func (j *Java) thread(id unwind.ThreadID) (Thread, bool) {
	vm := j.machine()
	if vm == nil {
		return Thread{}, false
	}
	j.named.Do(func() {
		p := j.process()
		list, _ := vm.Threads()
		j.threads = make(map[unwind.ThreadID]Thread, len(list))
		for _, t := range list {
			if id, ok := p.ThreadKnownAs(t.LWP); ok {
				t.id = id
				j.threads[id] = t
			}
		}
	})
	t, ok := j.threads[id]
	return t, ok
}
