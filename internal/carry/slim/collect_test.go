package slim

import (
	"testing"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// one is a process of one thread.
type one struct {
	arch *arch.Arch
	sp   uint64
	maps []libstate.Mapping
	mem  map[uint64]uint64 // words
}

func (p *one) Arch() *arch.Arch                         { return p.arch }
func (p *one) ThreadIDs() ([]unwind.ThreadID, error)    { return []unwind.ThreadID{7}, nil }
func (p *one) Mappings() []libstate.Mapping             { return p.maps }
func (p *one) DumpMemory() arch.Memory                  { return p }
func (p *one) ReadWord(at arch.Address) (uint64, error) { return p.mem[at], nil }

func (p *one) Registers(unwind.ThreadID) (r arch.RegSet, err error) {
	r.Set(p.arch.SP, p.sp)
	return r, nil
}

func (p *one) MappingAt(at arch.Address) (libstate.Mapping, bool) {
	for _, m := range p.maps {
		if m.Start <= at && at < m.End {
			return m, true
		}
	}
	return libstate.Mapping{}, false
}

func (p *one) ReadMem(at arch.Address, b []byte) (int, error) {
	for i := range b {
		word := p.mem[(at+uint64(i))&^7]
		b[i] = byte(word >> (8 * ((at + uint64(i)) & 7)))
	}
	return len(b), nil
}

// The stacks that signals interrupted are kept, wherever they are: a handler runs on another one, and what made a stack overflow
// lies above its stack pointer, behind what guards it.
func TestInterruptedStacks(t *testing.T) {
	const rw, code = libstate.Read | libstate.Write, libstate.Read | libstate.Exec
	maps := []libstate.Mapping{
		{Start: 0x10000, End: 0x20000, Perm: code},
		{Start: 0x100000, End: 0x180000, Perm: rw}, // the handler's stack and, far above, another in one mapping
		{Start: 0x400000, End: 0x401000},           // guards
		{Start: 0x401000, End: 0x480000, Perm: rw},
		{Start: 0x800000, End: 0x880000, Perm: rw}, // below it is nothing
		{Start: 0xa00000, End: 0xa80000, Perm: libstate.Read},
	}
	const frame, sp = 0x101000, 0x100800
	type words map[uint64]uint64
	amd64 := func(at, sp, pc, flags uint64) words { return words{at: sp, at + 8: pc, at + 16: flags} }
	const flags = 0x1_0246
	for name, c := range map[string]struct {
		arch *arch.Arch
		mem  words
		want uint64 // an address of the interrupted stack; 0 for none
	}{
		"another mapping":   {arch.AMD64, amd64(frame, 0x420000, 0x10010, flags), 0x428000},
		"the same mapping":  {arch.AMD64, amd64(frame, 0x170000, 0x10010, flags), 0x178000},
		"in the guard":      {arch.AMD64, amd64(frame, 0x400800, 0x10010, flags), 0x408000},
		"in nothing":        {arch.AMD64, amd64(frame, 0x7f0010, 0x10010, flags), 0x808000},
		"far below":         {arch.AMD64, amd64(frame, 0x6f0010, 0x10010, flags), 0},
		"no code":           {arch.AMD64, amd64(frame, 0x420000, 0x100010, flags), 0},
		"no flags":          {arch.AMD64, amd64(frame, 0x420000, 0x10010, 0x1_0244), 0},
		"an address":        {arch.AMD64, amd64(frame, 0x420000, 0x10010, 0x7fff_0001_0246), 0},
		"arm64's kernel":    {arch.ARM64, words{frame: 0x420000, frame + 8: 0x10010, frame + 16: 0x6000_0005}, 0},
		"what is read only": {arch.AMD64, amd64(frame, 0xa00010, 0x10010, flags), 0},
		"an earlier call":   {arch.AMD64, amd64(sp-0x100, 0x420000, 0x10010, flags), 0},
		"arm64":             {arch.ARM64, words{frame: 0x420000, frame + 8: 0x10010}, 0x428000},
		"386":               {arch.X86, words{frame: 0x420000, frame + 24: 0x10010 << 32, frame + 32: 0x1_0246 << 32}, 0x428000},
		"riscv64":           {arch.RISCV64, words{frame: 0x10010, frame + 16: 0x420000}, 0x428000},
	} {
		p := &one{arch: c.arch, sp: sp, maps: maps, mem: c.mem}
		w := Collect(p, new(corestate.Reads), Choice{Stack: 0x20000})
		if _, ok := w.pages[(sp+0x1000)/page]; !ok {
			t.Errorf("%s: the thread's stack is not kept", name)
		}
		kept := 0
		for a := range w.pages {
			if a*page < 0x100000 || a*page > 0x120000 {
				kept++
			}
		}
		if _, ok := w.pages[c.want/page]; c.want != 0 && !ok || c.want == 0 && kept > 1 {
			t.Errorf("%s: %d pages besides the thread's stack, %#x among them is %v", name, kept, c.want, ok)
		}
	}
}

// A handler that another signal interrupted leads to both stacks, but what points around in circles ends.
func TestInterruptedTwice(t *testing.T) {
	const rw, code = libstate.Read | libstate.Write, libstate.Read | libstate.Exec
	p := &one{arch: arch.ARM64, sp: 0x100800, mem: map[uint64]uint64{}, maps: []libstate.Mapping{{Start: 0x10000, End: 0x20000, Perm: code}}}
	for i := range uint64(16) {
		at := 0x100000 * (i + 1)
		p.maps = append(p.maps, libstate.Mapping{Start: at, End: at + 0x1000, Perm: rw})
		p.mem[at+0x900], p.mem[at+0x908] = 0x100000*((i+1)%16+1)+0x800, 0x10010
	}
	w := Collect(p, new(corestate.Reads), Choice{})
	if len(w.pages) != 1+maxInterrupted {
		t.Errorf("%d pages of stacks, want %d", len(w.pages), 1+maxInterrupted)
	}
}
