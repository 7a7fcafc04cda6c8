package ada

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A process with two threads, one module and some memory.
type process struct {
	unwind.ProcessState
	mem map[uint64]byte
}

const (
	listAt   = 0x10000
	first    = 0x20000
	second   = 0x30000
	threadAt = 312 // of GNAT 12, where words have 64 bits
	imageAt  = 40
)

func (p *process) Arch() *arch.Arch                      { return arch.AMD64 }
func (p *process) ThreadIDs() ([]unwind.ThreadID, error) { return []unwind.ThreadID{70, 71}, nil }
func (p *process) LibraryTracker() libstate.LibraryState { return nil }
func (p *process) OwnThreadID(id unwind.ThreadID) uint64 { return uint64(id) }

func (p *process) MappingAt(unwind.Address) (libstate.Mapping, bool) {
	return libstate.Mapping{}, false
}

func (p *process) ReadMem(at arch.Address, buf []byte) (int, error) {
	for i := range buf {
		b, ok := p.mem[at+uint64(i)]
		if !ok {
			return i, arch.ErrNotInDump
		}
		buf[i] = b
	}
	return len(buf), nil
}

func (p *process) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (p *process) put(at uint64, size int, v uint64) {
	for i := range size {
		p.mem[at+uint64(i)] = byte(v >> (8 * i))
	}
}

func (p *process) task(at uint64, name string, state, thread, own uint64) {
	for i := range uint64(1024) {
		p.mem[at+i] = 0
	}
	p.put(at+8, 1, state)
	for i := range name {
		p.mem[at+imageAt+uint64(i)] = name[i]
	}
	p.put(at+imageAt+maxImage, 4, uint64(len(name)))
	p.put(at+threadAt, 8, thread)
	p.put(at+threadAt+8, 8, own)
}

// with makes a process with two tasks, and changes it.
func with(change func(*process)) *process {
	p := &process{mem: map[uint64]byte{}}
	for i := range uint64(8 * maxTasks) {
		p.mem[listAt+i] = 0
	}
	p.put(listAt, 8, first)
	p.put(listAt+16, 8, second) // behind one that has ended
	p.task(first, "reader", 5, 0x7000, 70)
	p.task(second, "worker(2)", 1, 0x7100, 71)
	if change != nil {
		change(p)
	}
	return p
}

// symbols has the list of tasks, if it is a module with one.
type symbols struct{ unwind.SymbolReader }

func (symbols) SymbolByName(lib *libstate.Library, name string) (unwind.Symbol, bool) {
	return unwind.Symbol{Addr: listAt}, lib.Path == "libgnarl.so" && name == knownTasks
}

func find(t *testing.T, p *process, b unwind.Budget, module string) tasks.Runtime {
	t.Helper()
	rt, err := Find(&tasks.Process{State: p, Symbols: symbols{}, Budget: b, Modules: []*libstate.Library{{Path: module}}})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// TestThreadNames: threads have the names of their tasks, and what these wait for.
func TestThreadNames(t *testing.T) {
	t.Parallel()
	rt := find(t, with(nil), nil, "libgnarl.so").(*runtime)
	if got := rt.ThreadName(70); got != "reader" {
		t.Errorf("name %q", got)
	}
	if got := rt.ThreadName(71); got != "worker(2)" {
		t.Errorf("name %q", got)
	}
	if got := rt.ThreadNotes(70); !slices.Equal(got, []string{"waits for an entry that it called"}) {
		t.Errorf("notes %q", got)
	}
	if got := rt.ThreadNotes(71); got != nil {
		t.Errorf("notes of one that runs: %q", got)
	}
	if got := rt.ThreadName(72); got != "" {
		t.Errorf("name of no task: %q", got)
	}
	for range rt.Tasks(context.Background()) {
		t.Error("a task that is no thread")
	}
	if rt.Name() != "ada" || find(t, with(nil), nil, "libc.so") != nil {
		t.Error("found where it is not")
	}
	for function, want := range map[string]bool{"system__tasking__stages__task_wrapper": true, "system__task_primitives__operations__sleep": true, "system__io": false, "": false} {
		if Shows(function, "") != want {
			t.Errorf("%q shows %v", function, !want)
		}
	}
}

// TestNoTask: what is not surely a task of a thread has no name, and does not keep others from having theirs.
func TestNoTask(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*process){
		"a thread that is not of the process": func(p *process) { p.put(first+threadAt+8, 8, 99) },
		"no thread":                           func(p *process) { p.put(first+threadAt+8, 8, 0) },
		"no thread of the C library":          func(p *process) { p.put(first+threadAt, 8, 0) },
		"no name":                             func(p *process) { p.put(first+imageAt+maxImage, 4, 0) },
		"a name that is too long":             func(p *process) { p.put(first+imageAt+maxImage, 4, maxImage+1) },
		"a name that is no text":              func(p *process) { p.put(first+imageAt, 1, 7) },
		"a name that is no UTF-8":             func(p *process) { p.put(first+imageAt, 1, 0xff) },
		"a pointer to the middle of a word":   func(p *process) { p.task(0x40001, "odd", 5, 0x7000, 70); p.put(listAt, 8, 0x40001) },
		"a pointer to nowhere":                func(p *process) { p.put(listAt, 8, 0x99000) },
		"a name that is not in the dump":      func(p *process) { delete(p.mem, first+imageAt) },
		"a thread further on than any": func(p *process) {
			p.put(first+threadAt+8, 8, 0)
			p.put(first+960, 8, 0x7000)
			p.put(first+968, 8, 70)
			p.put(first+944, 4, 1)
			p.put(first+944-maxImage, 1, 'x')
		},
	} {
		rt := find(t, with(change), nil, "libgnarl.so").(*runtime)
		if name, notes := rt.ThreadName(70)+rt.ThreadName(0), rt.ThreadNotes(70); name != "" || notes != nil {
			t.Errorf("%s: %q, %q", what, name, notes)
		}
		if got := rt.ThreadName(71); got != "worker(2)" {
			t.Errorf("%s: the other is %q", what, got)
		}
	}
	rt := find(t, with(func(p *process) { p.put(first+8, 1, 200) }), nil, "libgnarl.so").(*runtime)
	if got := rt.ThreadNotes(70); got != nil {
		t.Errorf("notes of a state that is not known: %q", got)
	}
	spent := budget.Of(40)
	if rt := find(t, with(nil), spent, "libgnarl.so").(*runtime); rt.ThreadName(71) != "" {
		t.Error("the work is not bounded")
	}
}
