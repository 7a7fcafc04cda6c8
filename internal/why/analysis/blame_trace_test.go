package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Numbers of either sign that are near 0, of 4 bytes, too, are common; pointers and text are not.
func TestCommon(t *testing.T) {
	for value, want := range map[uint64]bool{
		0: true, 0xffff: true, 0x10000: false, 1<<64 - 1: true, 1<<64 - 0x10000: true, 1<<64 - 0x10001: false,
		0xffffffff: true, 0xffff0000: true, 0xfffeffff: false, 0x1_ffffffff: false, 0x4141414141414141: false,
	} {
		if got := common(value); got != want {
			t.Errorf("%#x: %v", value, got)
		}
	}
}

// The address that a value was read from is known by a register only while that is what it was then, and the frame is the youngest.
func TestAsNow(t *testing.T) {
	const (
		base   = "\x48\x8b\x43\x08"     // mov rax,[rbx+8]
		read   = "\x48\x8b\x78\x10"     // mov rdi,[rax+0x10]
		row    = "\x48\x8b\x7c\xc8\x10" // mov rdi,[rax+rcx*8+0x10]
		given  = "\x48\x8b\x7b\x10"     // mov rdi,[rbx+0x10]
		again  = "\x48\x8b\x02"         // mov rax,[rdx]
		frame  = "\x48\x8b\x44\x24\xf0" // mov rax,[rsp-0x10]
		stored = "\x48\x89\x44\x24\xf0" // mov [rsp-0x10],rax
		nop    = "\x90"
	)
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	for name, c := range map[string]struct {
		code   string
		number int
		at     uint64 // 0 for not known
	}{
		"as it was":                      {base + read, 0, 0x1010},
		"in a caller":                    {base + read, 1, 0},
		"another in the register now":    {base + read + again, 0, 0},
		"an element":                     {base + row, 0, 0},
		"of what the function was given": {given, 0, 0},
		"nothing read":                   {base + "\x48\x89\xc7", 0, 0}, // mov rdi,rax, which was read by rbx
		"where there is no frame":        {stored + frame + read + again, 0, 0},
	} {
		code := machine(c.code + nop)
		end := uint64(machineStart + len(c.code))
		died, _ := newPair().crash(t, o)
		w := &witness{in: died.question, number: c.number, state: provenance.State{PC: end},
			code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, end+1)}
		var regs arch.RegSet
		regs.Set(arch.RAX, 0x1000)
		regs.Set(arch.RBX, 0x3000)
		tr := &tracer{in: died.question, stack: died.stack, early: &regs}
		at, ok := tr.asNow(w, w.code.Before(end, provenance.Reg(arch.RDI)), 0)
		if ok != (c.at != 0) || ok && at != c.at {
			t.Errorf("%s: %#x, %v", name, at, ok)
		}
	}
}

// What one of several values may have been read from is noted only for a pointer that leads nowhere, which is there as a whole. The same holds for what a register
// that calls may have changed still leads to.
func TestMayRead(t *testing.T) {
	const (
		base = "\x48\x8b\x73\x08"                     // mov rsi,[rbx+8]
		ways = "\x84\xc9\x74"                         // test cl,cl; jz
		word = "\x05\x48\x8b\x3e\xeb\x03\x48\x8b\x3a" // mov rdi,[rsi]; or mov rdi,[rdx]
		half = "\x04\x8b\x3e\xeb\x02\x8b\x3a"         // mov edi,[rsi]; or mov edi,[rdx]
		wild = 0x4141414141414141
	)
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	mapped := uint64(o.crash(t, false, false).stack[0].RA())
	for name, c := range map[string]struct {
		value    uint64
		holds    uint64
		read     string
		loose    bool
		may, has bool
	}{
		"a wild pointer":         {wild, wild, word, false, true, true},
		"changed since":          {wild, wild + 1, word, false, false, false},
		"a small number":         {15, 15, word, false, false, false},
		"one that may be chance": {0xffff, 0xffff, word, false, true, false},
		"where there is memory":  {mapped, mapped, word, false, false, true},
		"a part of it":           {wild, wild, word, true, false, false},
		"half of a word":         {wild, wild, half, false, false, false},
	} {
		code := machine(base + ways + c.read + "\x90")
		end := uint64(machineStart + len(base+ways+c.read))
		died, _ := newPair(c.holds).crash(t, o)
		w := &witness{in: died.question, state: provenance.State{PC: end},
			code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, end+1)}
		var regs arch.RegSet
		regs.Set(arch.RSI, placed+placeSize)
		tr := &tracer{in: died.question, stack: died.stack, early: &regs, loose: c.loose}
		v := w.code.Before(end, provenance.Reg(arch.RDI))
		tr.mayRead(w, v, c.value)
		if (len(tr.mayBe) == 1 && tr.mayBe[0] == placed+placeSize) != c.may || len(tr.mayBe) > 1 {
			t.Errorf("%s: may be read from %#x, want %v", name, tr.mayBe, c.may)
		}
		for _, a := range v.Alternatives() {
			if a.Base != arch.RSI {
				continue
			}
			if at, ok := tr.stillAt(a, c.value); ok != c.has || ok && at != placed+placeSize {
				t.Errorf("%s: still at %#x: %v, want %v", name, at, ok, c.has)
			}
		}
	}
}

// wordsAt is memory that has some words.
type wordsAt map[uint64]uint64

func (m wordsAt) ReadMem(addr arch.Address, buf []byte) (int, error) {
	for i := range buf {
		at := addr + uint64(i)
		v, ok := m[at&^7]
		if !ok {
			return i, &arch.MemError{Addr: at, Err: arch.ErrUnmapped}
		}
		buf[i] = byte(v >> (8 * (at & 7)))
	}
	return len(buf), nil
}

func (m wordsAt) ReadWord(addr arch.Address) (uint64, error) {
	if v, ok := m[addr]; ok {
		return v, nil
	}
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}

// A pointer that was read below the stack, where something else stands now, was in a variable that is no more; a part of a word is no pointer.
func TestReadBelow(t *testing.T) {
	const (
		base = "\x48\x8b\x43\x08" // mov rax,[rbx+8]
		word = "\x48\x8b\x78\x10" // mov rdi,[rax+0x10]
		half = "\x8b\x78\x10"     // mov edi,[rax+0x10]
		wild = 0x41414141
	)
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	sp := uint64(o.crash(t, false, false).stack[0].SP())
	for name, c := range map[string]struct {
		read  string
		known bool   // by the evaluator; else only by the register now
		at    uint64 // that it was read from
		now   uint64
		want  bool
	}{
		"known":                 {word, true, sp - 0x100, 7, true},
		"by the register":       {word, false, sp - 0x100, 7, true},
		"half, known":           {half, true, sp - 0x100, 7, false},
		"half, by the register": {half, false, sp - 0x100, 7, false},
		"it is there still":     {word, false, sp - 0x100, wild, false},
		"above":                 {word, true, sp + 0x10, 7, false},
	} {
		code := machine(base + c.read + "\x90")
		end := uint64(machineStart + len(base+c.read))
		died, _ := newPair().crash(t, o)
		died.mem.Memory = wordsAt{c.at &^ 7: c.now}
		var regs arch.RegSet
		regs.Set(arch.RAX, c.at&^7-0x10)
		w := &witness{in: died.question, frame: died.stack[0], abi: provenance.ABIOf(arch.AMD64, false), state: provenance.State{PC: end, Read: died.mem.Uint,
			Reg: func(r arch.Reg) (uint64, bool) { v, ok := regs.Get(r); return v, ok && c.known }},
			code: provenance.New(arch.AMD64, provenance.ABIOf(arch.AMD64, false), code, machineStart, end+1)}
		w.eval = w.code.Evaluator(&w.state)
		tr := &tracer{in: died.question, stack: died.stack, early: &regs}
		tr.read(w, w.code.Before(end, provenance.Reg(arch.RDI)), wild)
		if (tr.gone != 0) != c.want || c.want && tr.gone != c.at&^7 {
			t.Errorf("%s: gone %#x, want %v", name, tr.gone, c.want)
		}
	}
}
