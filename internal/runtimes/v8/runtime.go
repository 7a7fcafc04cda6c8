package v8

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// mark is a variable by which V8 is known.
const mark = "v8dbg_SmiTagMask"

// Language is the language of V8's calls in reports.
const Language = "javascript"

// JavaScript is what a process has of V8: a stepper through its frames, and their names. It looks for V8 when it is
// first asked about code without unwind tables.
type JavaScript struct {
	process func() *tasks.Process

	mu      sync.Mutex
	p       *tasks.Process
	opened  bool
	engine  *engine
	err     error
	raised  map[unwind.ThreadID][]tasks.Exception
	without *libstate.Library // the last library that was found to have no V8 in it

	objects heap.OwnHeap[*jsHeap]
}

// New returns the stepper of a process; process is called once, if at all.
func New(process func() *tasks.Process) *JavaScript {
	j := &JavaScript{process: process}
	j.objects.Find = j.findObjectHeap
	return j
}

// Find finds V8 in a process; nil if there is none.
func Find(p *tasks.Process) (tasks.Runtime, error) {
	j := New(func() *tasks.Process { return p })
	if j.anywhere() == nil {
		return nil, j.err
	}
	return j, nil
}

// At is the V8 of the same process at another moment. What V8 says of itself is not read again; what may have changed since, is.
func (j *JavaScript) At(process func() *tasks.Process) *JavaScript {
	now := New(process)
	old := j.anywhere()
	p := process()
	if old == nil || p == nil {
		return now
	}
	now.p, now.opened = p, true
	now.engine = &engine{Reader: procmem.Of(p.State).Charged(p.Spend), layout: old.layout, p: p, lib: old.lib, version: old.version, bytecodeSizes: old.bytecodeSizes, constants: old.constants}
	return now
}

func (j *JavaScript) of() *tasks.Process {
	if j.p == nil {
		j.p = j.process()
	}
	return j.p
}

// in is the V8 of the process if a library has V8 in it; else nil.
func (j *JavaScript) in(lib *libstate.Library) *engine {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.opened || j.without == lib {
		return j.engine
	}
	p := j.of()
	if p == nil {
		return nil
	}
	if _, ok := p.Symbols.SymbolByName(lib, mark); !ok && !isNode(lib) {
		j.without = lib
		return nil
	}
	return j.open()
}

// anywhere is the V8 of the process; nil if it has none.
func (j *JavaScript) anywhere() *engine {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.opened {
		return j.open()
	}
	return j.engine
}

// open looks for V8 among the modules. The same file may be among them twice: V8 maps its code a second time, and
// what is there of its variables is not theirs.
func (j *JavaScript) open() *engine {
	j.opened = true
	p := j.of()
	if p == nil {
		return nil
	}
	try := func(open func(*tasks.Process, *libstate.Library) (*engine, error), is func(*libstate.Library) bool) {
		for _, lib := range p.Modules {
			if j.engine != nil || !is(lib) {
				continue
			}
			e, err := open(p, lib)
			if err == nil {
				j.engine, j.err = e, nil
			} else if j.err == nil {
				j.err = fmt.Errorf("JavaScript frames of %s: %w", path.Base(lib.Path), err)
			}
		}
	}
	try(open, func(lib *libstate.Library) bool {
		_, ok := p.Symbols.SymbolByName(lib, mark)
		return ok
	})
	if j.engine == nil && j.err == nil {
		try(openNameless, isNode)
	}
	return j.engine
}

// Name implements unwind.FrameStepper and tasks.Runtime.
func (j *JavaScript) Name() string { return "V8" }

// WaitsIn reports whether a native function is Node's loop: threads of JavaScript wait there for what comes next.
func (j *JavaScript) WaitsIn(function string) bool {
	return strings.HasPrefix(function, "node::SpinEventLoop")
}

// Describe implements tasks.Describer.
func (j *JavaScript) Describe() string {
	e := j.anywhere()
	if e == nil {
		return ""
	}
	s := "V8 " + e.version + ", layout from its own symbols and a table"
	if e.constants != nil {
		s = "V8 " + e.version + ", layout from tables, as its file is not there"
	}
	if e.noValues != "" {
		s += "; variables are not read: v8dbg_" + e.noValues + " is not among its symbols"
	}
	return s
}

// An engine is the V8 of a process. Concurrent use is allowed.
type engine struct {
	procmem.Reader
	*layout
	p             *tasks.Process
	lib           *libstate.Library
	version       string            // "11.3.244.8"
	bytecodeSizes []byte            // of each bytecode, three rows: plain, wide, extra wide
	constants     map[string]uint32 // instead of V8's own variables, where its file is not there

	maps      remote.Kept[uint16]
	builtins  remote.Kept[string]
	classes   remote.Kept[string] // by the map
	codes     remote.Kept[*code]
	functions remote.Kept[*function]
	scripts   remote.Kept[*script]
	lines     atomic.Int64 // whose ends are kept
	wasms     remote.Kept[*wasmModule]
	wasmCodes remote.Kept[*wasmCode]
}

// open reads what V8 says of itself.
func open(p *tasks.Process, lib *libstate.Library) (*engine, error) {
	if p.State.Arch() != arch.AMD64 {
		return nil, fmt.Errorf("known for x86-64 only, not for %s", p.State.Arch().Name)
	}
	e := &engine{Reader: procmem.Of(p.State).Charged(p.Spend), p: p, lib: lib}
	symbol := func(name string) (unwind.Symbol, bool) { return p.Symbols.SymbolByName(lib, name) }
	var parts []string
	for _, n := range []string{"6major_E", "6minor_E", "6build_E", "6patch_E"} {
		s, ok := symbol("_ZN2v88internal7Version" + n)
		x, ok2 := e.U32(s.Addr)
		if !ok || !ok2 || x > 1<<16 {
			return nil, errors.New("its version is not known")
		}
		parts = append(parts, fmt.Sprint(x))
	}
	e.version = strings.Join(parts, ".")
	var err error
	if e.layout, err = readLayout(&variables{value: e.constant}, parts[0]+"."+parts[1]); err != nil {
		return nil, err
	}
	if s, ok := symbol("_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"); ok && s.Size > 0 && s.Size%3 == 0 && s.Size < 3*256 {
		e.bytecodeSizes = e.Bytes(s.Addr, int(s.Size))
	}
	return e, nil
}

// constant is the value of one of V8's own variables, whose name is without what all begin with.
func (e *engine) constant(name string) (uint32, bool) {
	if e.constants != nil {
		x, ok := e.constants[name]
		return x, ok
	}
	s, ok := e.p.Symbols.SymbolByName(e.lib, "v8dbg_"+name)
	if !ok {
		return 0, false
	}
	return e.U32(s.Addr)
}

// builtin is the name of V8's own code at an address, without its prefix; "" if it is not V8's. lib is what
// contains the address: V8 maps its code a second time, near that of the program.
func (e *engine) builtin(lib *libstate.Library, pc uint64) string {
	if lib == nil || lib.Path != e.lib.Path {
		return ""
	}
	return e.builtins.Get(pc, func() string {
		s, ok := e.p.Symbols.SymbolAt(lib, pc)
		if name, is := strings.CutPrefix(s.Name, "Builtins_"); ok && is {
			return name
		}
		return ""
	})
}

// builtinOf is the name of V8's own code in a frame. A function that was deoptimized returns to the first byte of code.
func (e *engine) builtinOf(lib *libstate.Library, f *unwind.Frame) string {
	if e.constants != nil {
		return e.namelessIn(lib, f)
	}
	if name := e.builtin(lib, f.LookupAddr()); name != "" {
		return name
	}
	return e.builtin(lib, f.RA())
}
