package coro

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A process with one thread, one module and some memory.
type process struct {
	unwind.ProcessState
	mem  map[uint64]uint64 // words
	libs libstate.LibraryState
	maps []libstate.Mapping
}

const (
	codeAt  = 0x10000
	stackAt = 0x7000_0000
	heapAt  = 0x5000_0000
)

func (p *process) Arch() *arch.Arch                      { return arch.AMD64 }
func (p *process) LibraryTracker() libstate.LibraryState { return p.libs }
func (p *process) ThreadIDs() ([]unwind.ThreadID, error) { return []unwind.ThreadID{1}, nil }

func (p *process) Registers(unwind.ThreadID) (regs arch.RegSet, err error) {
	regs.Set(arch.RSP, stackAt)
	regs.Set(arch.RIP, codeAt+0x900)
	return regs, nil
}

func (p *process) MappingAt(at unwind.Address) (libstate.Mapping, bool) {
	for _, m := range p.maps {
		if at >= m.Start && at < m.End {
			return m, true
		}
	}
	return libstate.Mapping{}, false
}

func (p *process) ReadMem(at arch.Address, buf []byte) (int, error) {
	for i := range buf {
		v, ok := p.mem[(at+uint64(i))&^7]
		if !ok {
			return i, arch.ErrNotInDump
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], v)
		buf[i] = w[(at+uint64(i))&7]
	}
	return len(buf), nil
}

func (p *process) ReadWord(at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := p.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// symbols are those of the module, each 16 bytes long.
type symbols map[uint64]string

func (s symbols) SymbolByName(_ *libstate.Library, name string) (unwind.Symbol, bool) {
	for at, n := range s {
		if n == name {
			return unwind.Symbol{Name: n, Addr: at, Size: 16}, true
		}
	}
	return unwind.Symbol{}, false
}

func (s symbols) SymbolAt(_ *libstate.Library, addr unwind.Address) (unwind.Symbol, bool) {
	n, ok := s[addr&^15]
	return unwind.Symbol{Name: n, Addr: addr &^ 15, Size: 16}, ok
}

// fake returns a runtime with the coroutines a and b of Clang, and a word of the stack that points to a
// frame of a at heapAt+0x10.
func fake(b unwind.Budget) (*runtime, *process) {
	lib := &libstate.Library{Path: "/x/prog", Start: codeAt, End: codeAt + 0x1000,
		Mappings: []libstate.Mapping{{Start: codeAt, End: codeAt + 0x1000, Perm: libstate.Read | libstate.Exec}}}
	p := &process{mem: map[uint64]uint64{}, libs: libstate.NewTable([]*libstate.Library{lib}, 0), maps: []libstate.Mapping{
		{Start: heapAt, End: heapAt + 0x10000}, {Start: stackAt, End: stackAt + 0x100}}}
	for at := uint64(stackAt); at < stackAt+0x100; at += 8 {
		p.mem[at] = 0
	}
	for at := uint64(heapAt); at < heapAt+0x400; at += 8 {
		p.mem[at] = 0
	}
	p.mem[heapAt+8], p.mem[heapAt+0x98] = 0x91, 0x91 // chunks; the last one ends at the heap's end
	p.mem[heapAt+0x128] = 0x10000 - 0x120 | 1
	p.mem[stackAt+0x20] = heapAt + 0x10
	p.mem[heapAt+0x10], p.mem[heapAt+0x18] = codeAt, codeAt+0x10
	return fakeOf(p, lib, b), p
}

// fakeOf returns a runtime with the coroutines of a module.
func fakeOf(state unwind.ProcessState, lib *libstate.Library, b unwind.Budget) *runtime {
	r := newRuntime(&tasks.Process{State: state, Budget: b, Symbols: symbols{
		codeAt: "_Z1av.resume", codeAt + 0x10: "_Z1av.destroy", codeAt + 0x20: "_Z1bv.resume", codeAt + 0x30: "_Z1bv.destroy",
		codeAt + 0x40: "_Z5startv", codeAt + 0x50: "_Z4stopv",
	}})
	r.list, r.libs[lib] = []*libstate.Library{lib}, nil
	r.useTypes()
	return r
}

func all(r *runtime) (found []*tasks.Task, failed error) {
	for t, err := range r.Tasks(context.Background()) {
		if err != nil {
			failed = err
			continue
		}
		found = append(found, t)
	}
	return found, failed
}

// TestGuards: what is a frame, and how sure that is.
func TestGuards(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(mem map[uint64]uint64)
		want   string
	}{
		{"a frame", func(map[uint64]uint64) {}, "suspended"},
		{"done", func(m map[uint64]uint64) { m[heapAt+0x10] = 0 }, "done"},
		{"the destroy function of another", func(m map[uint64]uint64) { m[heapAt+0x18] = codeAt + 0x30 }, ""},
		{"two resume functions", func(m map[uint64]uint64) { m[heapAt+0x18] = codeAt }, ""},
		{"two destroy functions", func(m map[uint64]uint64) { m[heapAt+0x10] = codeAt + 0x10 }, ""},
		{"inside the resume function", func(m map[uint64]uint64) { m[heapAt+0x10] = codeAt + 4 }, ""},
		{"inside the destroy function", func(m map[uint64]uint64) { m[heapAt+0x18] = codeAt + 0x14 }, ""},
		{"other functions", func(m map[uint64]uint64) { m[heapAt+0x10], m[heapAt+0x18] = codeAt+0x40, codeAt+0x50 }, ""},
		{"freed: the words of the allocator", func(m map[uint64]uint64) { m[heapAt+0x10], m[heapAt+0x18] = 0x1234, 0x5678 }, ""},
		{"freed: its chunk is free", func(m map[uint64]uint64) { m[heapAt+0x98] &^= 1 }, ""},
		{"freed: given back to the end of the heap", func(m map[uint64]uint64) { m[heapAt+8] = 0x10000 | 1 }, ""},
		{"in a larger chunk", func(m map[uint64]uint64) {
			m[stackAt+0x20], m[heapAt+0x30], m[heapAt+0x38] = heapAt+0x30, codeAt, codeAt+0x10
			m[heapAt+0x10], m[heapAt+0x18] = 0, 0
		}, "suspended?"},
		{"no heap of glibc", func(m map[uint64]uint64) { m[heapAt+8] = 0 }, "suspended?"},
		{"not aligned", func(m map[uint64]uint64) {
			m[stackAt+0x20], m[heapAt+0x20], m[heapAt+0x10] = heapAt+0x18, codeAt+0x10, 0
			m[heapAt+0x18] = codeAt
		}, ""},
		{"nothing points to it", func(m map[uint64]uint64) { m[stackAt+0x20] = 0 }, ""},
		{"its code may run", func(m map[uint64]uint64) { m[stackAt+0x28] = codeAt + 5 }, "suspended, or running in a thread"},
		{"a pointer to the promise", func(m map[uint64]uint64) { m[stackAt+0x20] += 16 }, "suspended"},
		{"in the stack itself", func(m map[uint64]uint64) { m[stackAt+0x20], m[stackAt+0x28] = codeAt, codeAt+0x10 }, "suspended"},
	} {
		r, p := fake(nil)
		c.change(p.mem)
		found, err := all(r)
		got := ""
		if len(found) > 0 {
			got = found[0].Status
			if found[0].Certainty == tasks.Possible {
				got += "?"
			}
		}
		if got != c.want || len(found) > 1 || err != nil {
			t.Errorf("%s: %d tasks, %q, want %q (%v)", c.name, len(found), got, c.want, err)
		}
	}
}

// TestChain: a awaits b awaits a. The list ends, and each is in it.
func TestChain(t *testing.T) {
	r, p := fake(nil)
	p.mem[heapAt+0x20] = heapAt + 0xa0
	p.mem[heapAt+0xa0], p.mem[heapAt+0xa8] = codeAt+0x20, codeAt+0x30
	found, err := all(r)
	if len(found) != 1 || err != nil || len(found[0].Suspended) != 2 || found[0].Suspended[1].Function != "b" || found[0].Suspended[1].Awaits != tasks.Possible {
		t.Fatalf("a chain: %+v, %v", found, err)
	}
	p.mem[heapAt+0x30] = 0
	p.mem[heapAt+0xc0] = heapAt + 0x10 // the awaiter knows what it awaits
	if found, _ = all(r); len(found) != 1 || found[0].Suspended[1].Awaits != tasks.Certain {
		t.Fatalf("a chain with both pointers: %+v", found)
	}
	p.mem[heapAt+0xb0] = heapAt + 0x10
	if found, err = all(r); len(found) != 1 || err != nil || len(found[0].Suspended) != 2 {
		t.Fatalf("a cycle: %+v, %v", found, err)
	}
}

// TestBounded: memory in which everything points to something else ends with the budget.
func TestBounded(t *testing.T) {
	r, p := fake(budget.Of(2000))
	for at := uint64(heapAt); at < heapAt+0x10000; at += 8 {
		p.mem[at] = heapAt + (at*2654435761)&0xfff0
	}
	if _, err := all(r); err == nil {
		t.Error("it did not end with the budget")
	}
}

// FuzzMemory: any memory ends without a panic.
func FuzzMemory(f *testing.F) {
	f.Add([]byte{0x10, 0, 0x20, 5, 0x18, 9})
	f.Fuzz(func(t *testing.T, changes []byte) {
		r, p := fake(budget.Of(100000))
		for i := 0; i+2 < len(changes); i += 3 {
			at := uint64(changes[i]) * 8
			v := []uint64{0, codeAt, codeAt + 0x10, codeAt + 0x20, codeAt + 0x30, heapAt + 0x10, heapAt + 0xa0, stackAt, ^uint64(0)}[changes[i+1]%9] + uint64(changes[i+2])
			if changes[i+1] >= 128 {
				p.mem[stackAt+at%0x100] = v
			} else {
				p.mem[heapAt+at] = v
			}
		}
		found, _ := all(r)
		for _, task := range found {
			if len(task.Suspended) == 0 || task.ID == 0 {
				t.Fatalf("%+v", task)
			}
		}
	})
}
