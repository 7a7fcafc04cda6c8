package tasks_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A dump is a process of threads with control blocks, as a debugger outside of its pid namespace wrote it.
type dump struct {
	unwind.ProcessState
	arch  *arch.Arch // nil for AMD64
	bases map[unwind.ThreadID]uint64
	mem   map[uint64]uint64
}

func (d *dump) Arch() *arch.Arch {
	if d.arch != nil {
		return d.arch
	}
	return arch.AMD64
}

func (d *dump) LibraryTracker() libstate.LibraryState { return nil }
func (d *dump) ThreadIDs() ([]unwind.ThreadID, error) {
	return []unwind.ThreadID{5001, 5002, 5005}, nil
}

func (d *dump) Registers(id unwind.ThreadID) (regs arch.RegSet, err error) {
	if base, ok := d.bases[id]; ok {
		pointer := arch.FSBase
		if d.arch == arch.X86 {
			pointer, _ = d.arch.RegByName("gs_base")
		}
		regs.Set(pointer, base)
	}
	return regs, nil
}

func (d *dump) ReadMem(addr arch.Address, buf []byte) (int, error) {
	v, ok := d.mem[addr]
	if !ok {
		return 0, errors.New("not there")
	}
	for i := range buf {
		buf[i] = byte(v >> (8 * i))
	}
	return len(buf), nil
}

func (d *dump) ReadWord(addr arch.Address) (uint64, error) {
	v, ok := d.mem[addr]
	if !ok {
		return 0, errors.New("not there")
	}
	return v, nil
}

// blocks is a dump whose threads have these ids in their control blocks, at an offset.
func blocks(self, at uint64, ids ...uint64) *dump {
	d := &dump{bases: map[unwind.ThreadID]uint64{}, mem: map[uint64]uint64{}}
	for i, id := range []unwind.ThreadID{5001, 5002, 5005} {
		base := 0x10000 * uint64(i+1)
		d.bases[id] = base
		d.mem[base], d.mem[base+self], d.mem[base+at] = base, base, ids[i]
	}
	return d
}

func of(a *arch.Arch, d *dump) *dump {
	d.arch = a
	return d
}

// TestOutside: of a dump from outside of the process's pid namespace, control blocks tell the process's own ids, if they prove it.
func TestOutside(t *testing.T) {
	changed := func(change func(*dump)) *dump {
		d := blocks(16, 720, 1, 2, 3)
		change(d)
		return d
	}
	for name, c := range map[string]struct {
		d    *dump
		know bool // threads are known as 1, 2 and 3, not as 5001
	}{
		"glibc":               {blocks(16, 720, 1, 2, 3), true},
		"musl":                {blocks(0, 48, 1, 2, 3), true},
		"i386, glibc":         {of(arch.X86, blocks(8, 104, 1, 2, 3)), true},
		"i386, musl":          {of(arch.X86, blocks(0, 24, 1, 2, 3)), true},
		"i386, of x86-64":     {of(arch.X86, blocks(16, 720, 1, 2, 3)), false},
		"arm64":               {of(arch.ARM64, blocks(16, 720, 1, 2, 3)), false},
		"the same namespace":  {blocks(16, 720, 5001, 5002, 5005), false},
		"one that is alike":   {blocks(16, 720, 1, 2, 5005), false},
		"in another order":    {blocks(16, 720, 2, 1, 3), false},
		"one id of two":       {blocks(16, 720, 1, 1, 3), false},
		"none of one":         {blocks(16, 720, 1, 2, 0), false},
		"too large":           {blocks(16, 720, 1, 2, 1<<22+1), false},
		"no block":            {changed(func(d *dump) { d.mem[0x20000] = 0x30000 }), false},
		"no block of glibc's": {changed(func(d *dump) { d.mem[0x20010] = 0x30000 }), false},
		"no pointer":          {changed(func(d *dump) { delete(d.bases, 5002) }), false},
		"not in the dump":     {changed(func(d *dump) { delete(d.mem, 0x20000+720) }), false},
	} {
		p := &tasks.Process{State: c.d}
		id, ok := p.ThreadKnownAs(3)
		_, outer := p.ThreadKnownAs(5001)
		if ok != c.know || ok && id != 5005 || outer == c.know {
			t.Errorf("%s: 3 is thread %d, %v; 5001 is one: %v", name, id, ok, outer)
		}
		if own := p.OwnThreadID(5002); own == 2 != c.know {
			t.Errorf("%s: thread 5002 is %d", name, own)
		}
	}
}
