package steppers_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

const endOfSpace = ^uint64(0)

// A stack ends with its mapping, else where stacks usually end, and with the space.
func TestStackEnd(t *testing.T) {
	const gap = 8 << 20
	p := newProc(nil)
	for _, c := range []struct {
		p        unwind.ProcessState
		sp, want uint64
	}{
		{mapper{p}, stack, stack + stackLen}, {mapper{p}, stack + stackLen - 1, stack + stackLen},
		{mapper{p}, stack + stackLen, stack + stackLen + gap}, {mapper{p}, 0x10, 0x10 + gap},
		{mapper{p}, endOfSpace - gap - 1, endOfSpace - 1}, {mapper{p}, endOfSpace - gap, endOfSpace},
		{mapper{p}, endOfSpace - gap + 1, endOfSpace}, {mapper{p}, endOfSpace, endOfSpace},
		{p, stack, stack + gap}, {p, got + 8, got + 0x1000}, {p, bias + 0xfff, bias + 0x1000}, {p, bias + 0x1000, bias + 0x2000},
		{p, bias + 0x2000, bias + 0x2000 + gap}, // in the library, in none of its mappings
	} {
		if end := steppers.StackEnd(c.p, c.sp); end != c.want {
			t.Errorf("%T: a stack pointer of %#x: the stack ends at %#x, want %#x", c.p, c.sp, end, c.want)
		}
	}
}

// ends knows where its thread's stack is.
type ends struct {
	mapper
	low, high arch.Address
}

func (e ends) StackBounds(unwind.ThreadID) (low, high arch.Address, ok bool) {
	return e.low, e.high, e.high != 0
}

// A caller's stack pointer is higher, unless it is on another stack, and not beyond the
// base of the thread's.
func TestOffStack(t *testing.T) {
	const base = stack + 0x1000
	for _, c := range []struct {
		name       string
		a          *arch.Arch
		from, to   uint64
		low, high  uint64
		want       string
		partOfText bool
	}{
		{name: "higher", from: stack + 8, to: stack + 16},
		{name: "the same", from: stack + 8, to: stack + 8, want: "lower"},
		{name: "lower", from: stack + 16, to: stack + 8, want: "lower"},
		{name: "another stack below", from: stack + 8, to: got + 8},
		{name: "nowhere below", from: stack + 8, to: 0x10, want: "lower"},
		{name: "below, from nowhere", from: 0x7fff_ffff_0000, to: stack + 8, want: "lower"},
		{name: "up to the base", from: stack + 8, to: base, low: stack, high: base},
		{name: "beyond the base", from: stack + 8, to: base + 8, low: stack, high: base, want: "base"},
		{name: "beyond the base, from the lowest place", from: stack, to: base + 8, low: stack, high: base, want: "base"},
		{name: "beyond the base, from the base", from: base, to: base + 8, low: stack, high: base, want: "base"},
		{name: "beyond the base of a stack that the frame is above", from: base + 1, to: base + 8, low: stack, high: base},
		{name: "beyond the base of a stack that the frame is below", from: stack + 8, to: base + 8, low: stack + 9, high: base},
		{name: "the same, with a link register", a: arch.ARM64, from: stack + 8, to: stack + 8},
		{name: "lower, with a link register", a: arch.ARM64, from: stack + 16, to: stack + 8, want: "lower"},
	} {
		p := newProc(nil)
		var proc unwind.ProcessState = ends{mapper{p}, c.low, c.high}
		if c.a != nil {
			proc = otherProc{p, c.a}
		}
		w := walker(t, proc, nil)
		why := steppers.OffStack(called(t, w, bias+raCaller, c.from, 0), called(t, w, bias+raCaller, c.to, 0))
		if (why == "") != (c.want == "") || !strings.Contains(why, c.want) {
			t.Errorf("%s: %q, want %q", c.name, why, c.want)
		}
	}
}

// someMappings may not know all mappings.
type someMappings struct {
	mapper
	all bool
}

func (m someMappings) KnowsMappings() bool { return m.all }

// A return address that is not in code has been overwritten; a pc that the processor got to
// has not, nor has one of which nobody knows.
func TestDerailed(t *testing.T) {
	for _, c := range []struct {
		name string
		p    func(*proc) unwind.ProcessState
		pc   uint64
		want [3]bool // of a return address, of the top frame, of what a signal interrupted
	}{
		{"code", func(p *proc) unwind.ProcessState { return mapper{p} }, bias + raCaller, [3]bool{}},
		{"data", func(p *proc) unwind.ProcessState { return mapper{p} }, got + 8, [3]bool{true}},
		{"nowhere", func(p *proc) unwind.ProcessState { return mapper{p} }, 0x10, [3]bool{true}},
		{"the end of code", func(p *proc) unwind.ProcessState { return mapper{p} }, bias + 0x2000, [3]bool{}},
		{"the beginning of code", func(p *proc) unwind.ProcessState { return mapper{p} }, bias + 0x1000, [3]bool{true}},
		{"nowhere, libraries being known", func(p *proc) unwind.ProcessState { return p }, 0x10, [3]bool{true}},
		{"code, libraries being known", func(p *proc) unwind.ProcessState { return p }, bias + raCaller, [3]bool{}},
		{"nowhere, some mappings being known", func(p *proc) unwind.ProcessState { return someMappings{mapper{p}, false} }, 0x10, [3]bool{}},
		{"nowhere, all being known", func(p *proc) unwind.ProcessState { return someMappings{mapper{p}, true} }, 0x10, [3]bool{true}},
		{"data, some mappings being known", func(p *proc) unwind.ProcessState { return someMappings{mapper{p}, false} }, got + 8, [3]bool{true}},
	} {
		w := walker(t, c.p(newProc(map[string]uint64{"rip": c.pc, "rsp": stack})), nil)
		interrupted := called(t, w, c.pc, stack, 0)
		interrupted.SetNonCall(true)
		for i, f := range []*unwind.Frame{called(t, w, c.pc, stack, 0), must(w.InitialFrame(1)), interrupted} {
			if got := steppers.Derailed(f); got != c.want[i] {
				t.Errorf("%s, frame %d: %v", c.name, i, got)
			}
		}
	}
}

// procAt is a process with some code at an address, as long as that is.
func procAt(a *arch.Arch, at uint64, code []byte) otherProc {
	p := otherProc{&proc{}, a}
	p.add(at, libstate.Read|libstate.Exec, code)
	return p
}

// A call is looked for in the eight bytes before a return address, where there is code.
func TestCallBefore(t *testing.T) {
	call := append(make([]byte, 3), 0xe8, 0x10, 0, 0, 0) // call .+0x15
	for _, c := range []struct {
		name       string
		at, ra     uint64
		code       []byte
		perm       libstate.Perm
		want, lost bool
	}{
		{name: "at the end of code", at: 0x1000, ra: 0x1008, code: call, want: true},
		{name: "at the lowest address", at: 0, ra: 8, code: call, want: true},
		{name: "too low", at: 0, ra: 7, code: call[1:]},
		{name: "beyond the end", at: 0x1000, ra: 0x1009, code: call},
		{name: "nothing before", at: 0x1000, ra: 0x1006, code: call[1:], lost: true},
		{name: "before code", at: 0x1000, ra: 0x1000, code: call},
		{name: "just in code", at: 0x1000, ra: 0x1001, code: call, lost: true},
		{name: "nothing before, at the end of code", at: 0x1000, ra: 0x1007, code: call[1:]},
		{name: "no code", at: 0x1000, ra: 0x1008, code: call, perm: libstate.Read | libstate.Write},
		{name: "no call", at: 0x1000, ra: 0x1008, code: make([]byte, 8)},
		{name: "not read, at the lowest address", at: 0, ra: 8, lost: true},
		{name: "not read, lower", at: 0, ra: 7},
		{name: "not read, last byte", at: 0, ra: 0xfff, lost: true},
		{name: "not read, at the end", at: 0, ra: 0x1000},
	} {
		p := procAt(arch.AMD64, c.at, c.code)
		if c.code == nil {
			p.segs[0].m.End = 0x1000
		}
		if c.perm != 0 {
			p.segs[0].m.Perm = c.perm
		}
		site, ok := steppers.CallBefore(p, c.ra)
		if ok != c.want || ok && (!site.Direct || site.Target != c.ra+0x10 || site.Len != 5) {
			t.Errorf("%s: %+v, %v", c.name, site, ok)
		}
		if lost := steppers.UnreadCode(p, c.ra); lost != c.lost {
			t.Errorf("%s: the code cannot be read: %v", c.name, lost)
		}
	}
}

// The instruction of a frame is the one about to run, or the call that it is in.
func TestInstruction(t *testing.T) {
	w := walker(t, mapper{newProc(map[string]uint64{"rip": bias + raCaller, "rsp": stack})}, nil)
	for want, f := range map[uint64]*unwind.Frame{raCaller: must(w.InitialFrame(1)), raCaller - 5: called(t, w, bias+raCaller, stack, 0),
		raSpill - 2: called(t, w, bias+raSpill, stack, 0), fnCallee + 4: called(t, w, bias+fnCallee+4, stack, 0)} {
		if pc := steppers.Instruction(f); pc != bias+want {
			t.Errorf("%v: instruction at %#x, want %#x", f, pc, bias+want)
		}
	}
}

// Instructions are decoded up to the end of what can be read.
func TestDecodeAtTheEnd(t *testing.T) {
	ret := append(make([]byte, 24), 0xc3)
	for n := 1; n <= 24; n++ {
		code := append([]byte{0xc3}, make([]byte, n-1)...)
		if in, ok := steppers.DecodeAt(procAt(arch.AMD64, 0x1000, code), 0x1000); ok != (n >= 8) || ok && in.Len != 1 {
			t.Errorf("%d bytes: %+v, %v", n, in, ok)
		}
	}
	movabs := append([]byte{0x48, 0xb8}, make([]byte, 14)...)
	if in, ok := steppers.DecodeAt(procAt(arch.AMD64, 0x1000, movabs), 0x1000); !ok || in.Len != 10 {
		t.Errorf("a long instruction: %+v, %v", in, ok)
	}
	if _, ok := steppers.DecodeAt(procAt(arch.AMD64, 0x1000, ret), 0x1001); !ok {
		t.Error("not decoded in the middle")
	}
}

// Stubs lead to what the slot holds that they jump through.
func TestThroughStub(t *testing.T) {
	const at, slot, next = bias + 0x1800, got + 0x80, bias + fnOther
	rip := func(insns int) string { // jmp *slot(%rip) behind some bytes
		v := uint32(slot - (at + uint64(insns) + 6))
		return string(append([]byte{0xff, 0x25}, binary.LittleEndian.AppendUint32(nil, v)...))
	}
	for _, c := range []struct {
		name  string
		code  string
		slot  uint64
		want  uint64
		bound bool
	}{
		{"jump", rip(0), next, next, true},
		{"endbr64, jump", "\xf3\x0f\x1e\xfa" + rip(4), next, next, true},
		{"two instructions, jump", "\xf3\x0f\x1e\xfa\x90" + rip(5), next, next, true},
		{"three instructions, jump", "\xf3\x0f\x1e\xfa\x90\x90" + rip(6), next, at, true},
		{"to data", rip(0), stack, at, false},
		{"not bound", rip(0), at + 6, at, false},
		{"through a register", "\xff\xe0", next, at, true},
		{"through a register's slot", "\xff\x20", next, at, true},
		{"through another's", "\xff\x63\x10", next, at, true},
		{"through a third's", "\xff\x61\x10", next, at, true},
		{"through a fourth's", "\xff\x62\x10", next, at, true},
		{"through a table", "\xff\x24\xc5\x00\x00\x00\x00", next, at, true},
		{"through a low slot", "\xff\x24\x25\x00\x00\x00\x00", next, at, true},
		{"a function", "\x55\x48\x89\xe5" + rip(4), next, at, true},
	} {
		p := newProc(nil)
		copy(p.segs[1].data[0x800:], c.code)
		p.put(slot, c.slot)
		if to, ok := steppers.ThroughStub(mapper{p}, at); to != c.want || ok != c.bound {
			t.Errorf("%s: %#x, %v; want %#x, %v", c.name, to, ok, c.want, c.bound)
		}
	}
	for code, want := range map[string]string{"\xff\x25\x00\x90\x00\x00": "0x1010 true", "\xff\xa3\x10\x00\x00\x00": "0x1000 false",
		"\xff\xa6\x10\x00\x00\x00": "0x1000 true", "\xff\x24\x9d\x00\x90\x00\x00": "0x1000 true", "\xff\x25\x00\xa0\x00\x00": "0x1000 false"} {
		p := procAt(arch.X86, 0x1000, append([]byte(code), make([]byte, 32)...))
		p.add(0x9000, libstate.Read|libstate.Write, []byte{0x10, 0x10, 0, 0, 0, 0, 0, 0})
		to, ok := steppers.ThroughStub(p, 0x1000)
		if got := fmt.Sprintf("%#x %v", to, ok); got != want {
			t.Errorf("% x: %s, want %s", code, got, want)
		}
	}
}

// Code is compared where the first word, or what is before it, can be read.
func TestCodePatterns(t *testing.T) {
	code := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.PPC64, arch.PPC} {
		p := procAt(a, 0x1000, code)
		for from := range code {
			for to := from + 1; to <= len(code); to++ {
				want := string(code[from:to])
				if ok, err := steppers.CodeAt(want, p, a, 0x1000+uint64(from)); !ok && (to-from >= a.WordSize || to >= a.WordSize) {
					t.Errorf("%s: bytes %d to %d do not match: %v", a.Name, from, to, err)
				}
				for i := range want {
					other := []byte(want)
					other[i]++
					if ok, _ := steppers.CodeAt(string(other), p, a, 0x1000+uint64(from)); ok {
						t.Errorf("%s: bytes %d to %d match although %d differs", a.Name, from, to, i)
					}
				}
			}
		}
		if ok, err := steppers.CodeAt("\x01\x02\x03\x04\x05\x06\x07\x08", p, a, 0x2000); ok || err == nil {
			t.Errorf("%s: code matches where there is none: %v", a.Name, err)
		}
		for skip := range a.WordSize {
			first := string(code[skip : skip+4])
			if !steppers.MayBegin(first, p, a, 0x1000, skip) || steppers.MayBegin("\x7f"+first[1:], p, a, 0x1000, skip) {
				t.Errorf("%s: a glance %d bytes in is wrong", a.Name, skip)
			}
			if last := a.WordSize - skip - 1; last < 4 && steppers.MayBegin(first[:last]+"\x7f", p, a, 0x1000, skip) {
				t.Errorf("%s: a glance %d bytes in passes over its last byte", a.Name, skip)
			}
		}
	}
}

// Code is read in words that lie in it.
func TestReadCode(t *testing.T) {
	code := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	for _, a := range []*arch.Arch{arch.AMD64, arch.X86, arch.PPC64, arch.PPC} {
		for n := a.WordSize; n <= len(code); n++ {
			got, err := steppers.ReadCode(procAt(a, 0x1000, code[:n]), a, 0x1000, n)
			if err != nil || string(got[:n]) != string(code[:n]) {
				t.Errorf("%s, %d bytes: % x, %v", a.Name, n, got[:n], err)
			}
			if _, err := steppers.ReadCode(procAt(a, 0x1000, code[:n-1]), a, 0x1000, n); err == nil {
				t.Errorf("%s: %d bytes read of %d", a.Name, n, n-1)
			}
		}
	}
}
