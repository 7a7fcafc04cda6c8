package steppers_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Where a module's calls lead to may be where a function begins: the nearest four up to the
// address, in its instruction set, and not too far; the next one is its end.
func TestStartsByCalls(t *testing.T) {
	const far = 32 << 10
	for _, c := range []struct {
		name    string
		a       *arch.Arch
		targets []uint64
		addr    uint64
		mode    uint64
		bias    uint64
		before  int
		want    []uint64
		end     uint64
	}{
		{name: "two, and an end", targets: []uint64{0x1000, 0x1100, 0x1200}, addr: 0x1150, want: []uint64{0x1100, 0x1000}, end: 0x1200},
		{name: "at one", targets: []uint64{0x1000, 0x1100, 0x1200}, addr: 0x1100, want: []uint64{0x1100, 0x1000}, end: 0x1200},
		{name: "before one", targets: []uint64{0x1000, 0x1100, 0x1200}, addr: 0x10ff, want: []uint64{0x1000}, end: 0x1100},
		{name: "before all", targets: []uint64{0x1000}, addr: 0xfff},
		{name: "no end", targets: []uint64{0x1000}, addr: 0x1001, want: []uint64{0x1000}},
		{name: "none", addr: 0x1001},
		{name: "at another place than in the file", targets: []uint64{0x1000, 0x1100}, addr: 0x9010, bias: 0x8000, want: []uint64{0x9000}, end: 0x9100},
		{name: "more than four", targets: []uint64{1, 2, 3, 4, 5, 6}, addr: 6, want: []uint64{6, 5, 4, 3}},
		{name: "as far as one may be", targets: []uint64{0x1000}, addr: 0x1000 + far, want: []uint64{0x1000}},
		{name: "farther", targets: []uint64{0x1000}, addr: 0x1001 + far},
		{name: "the farthest end", targets: []uint64{0x1000, 0xfff + far}, addr: 0x1000, want: []uint64{0x1000}, end: 0xfff + far},
		{name: "an end that is too far", targets: []uint64{0x1000, 0x1000 + far}, addr: 0x1000, want: []uint64{0x1000}},
		{name: "room for two", targets: []uint64{1, 2, 3, 4, 5}, addr: 5, before: 14, want: []uint64{5, 4}},
		{name: "no room", targets: []uint64{1, 2}, addr: 5, before: 16},
		{name: "T32", a: arch.ARM, targets: []uint64{0x1000, 0x1011, 0x1020, 0x1031}, addr: 0x1024, mode: 1, want: []uint64{0x1010}, end: 0x1030},
		{name: "T32, at one", a: arch.ARM, targets: []uint64{0x1000, 0x1011, 0x1020, 0x1031}, addr: 0x1030, mode: 1, want: []uint64{0x1030, 0x1010}},
		{name: "A32", a: arch.ARM, targets: []uint64{0x1000, 0x1011, 0x1020, 0x1031, 0x1040}, addr: 0x1024, want: []uint64{0x1020, 0x1000}, end: 0x1040},
		{name: "the other instruction set is not counted", a: arch.ARM, targets: []uint64{0xff0, 0x1001, 0x1003, 0x1005, 0x1007, 0x1009}, addr: 0x1010, want: []uint64{0xff0}},
	} {
		a := arch.AMD64
		if c.a != nil {
			a = c.a
		}
		var want [][2]uint64
		for _, at := range c.want {
			want = append(want, [2]uint64{at, c.end})
		}
		if got := steppers.CalledStarts(c.before, c.targets, c.addr, c.mode, c.bias, a); !slices.Equal(got, want) {
			t.Errorf("%s: %#x, want %#x", c.name, got, want)
		}
	}
}

// Padding before an address may be before a function, within 4 KiB and the mapping.
func TestStartsByPadding(t *testing.T) {
	const begin = 0x10000
	code := bytes.Repeat([]byte{0x50}, 0x3000)              // push %rax
	for _, at := range []int{0x10, 0x800, 0x1810, 0x1820} { // functions begin there
		code[at-2], code[at-1] = 0xc3, 0xcc
	}
	p := procAt(arch.AMD64, begin, code)
	for _, c := range []struct {
		at     uint64
		before int
		want   []uint64
	}{
		{0x1828, 0, []uint64{0x1820, 0x1810}},
		{0x181f, 0, []uint64{0x1810}},
		{0x1820, 15, []uint64{0x1820}},
		{0x1820, 16, nil},
		{0x17fe, 0, []uint64{0x800}}, // its ret can just be read
		{0x17ff, 0, nil},
		{0x20, 0, []uint64{0x10}}, // up to the beginning of the mapping
	} {
		var want []uint64
		for _, at := range c.want {
			want = append(want, begin+at)
		}
		if got := steppers.PaddedStarts(c.before, walker(t, p, nil), begin+c.at, 0); !slices.Equal(got, want) {
			t.Errorf("%#x: %#x, want %#x", c.at, got, want)
		}
	}
	low := procAt(arch.AMD64, 0, code[:0x100])
	if got := steppers.PaddedStarts(0, walker(t, low, nil), 0x20, 0); !slices.Equal(got, []uint64{0x10}) {
		t.Errorf("at the lowest addresses: %#x", got)
	}
}

// The state of a frame, as far as the row of a function's code tells it.
func TestLinkedFrames(t *testing.T) {
	a := arch.ARM64
	lr, saved := stackflow.Loc{Kind: stackflow.InReg, Reg: a.RA}, stackflow.Loc{Kind: stackflow.AtCFA, Off: -8}
	sp := func(off int64) stackflow.CFARule { return stackflow.CFARule{Reg: a.SP, Off: off} }
	for _, c := range []struct {
		name  string
		row   *stackflow.Row
		frame steppers.FrameType
		state steppers.FrameState
	}{
		{"no row", nil, steppers.UnknownT, steppers.UnknownS},
		{"no CFA", &stackflow.Row{CFA: stackflow.CFARule{Reg: arch.NoReg}, RA: lr}, steppers.UnknownT, steppers.UnknownS},
		{"no return address", &stackflow.Row{CFA: sp(0), RA: stackflow.Loc{Kind: stackflow.Lost}}, steppers.UnknownT, steppers.UnknownS},
		{"a record", &stackflow.Row{CFA: sp(16), RA: saved, FrameReg: true}, steppers.StandardFrame, steppers.SetFrame},
		{"a record, and the link register", &stackflow.Row{CFA: sp(16), RA: lr, FrameReg: true}, steppers.NoFrame, steppers.SetFrame},
		{"a leaf", &stackflow.Row{CFA: sp(0), RA: lr}, steppers.NoFrame, steppers.UnsetFrame},
		{"a leaf below its CFA", &stackflow.Row{CFA: sp(160), CallerSP: -160, RA: lr}, steppers.NoFrame, steppers.UnsetFrame},
		{"a leaf with something on the stack", &stackflow.Row{CFA: sp(16), RA: lr}, steppers.NoFrame, steppers.SetFrame},
		{"a leaf by another register", &stackflow.Row{CFA: stackflow.CFARule{Reg: a.FP}, RA: lr}, steppers.NoFrame, steppers.SetFrame},
		{"the return address in another register", &stackflow.Row{CFA: sp(0), RA: stackflow.Loc{Kind: stackflow.InReg, Reg: a.FP}}, steppers.NoFrame, steppers.SetFrame},
		{"no record", &stackflow.Row{CFA: sp(16), RA: saved}, steppers.SaveFPOnlyFrame, steppers.SetFrame},
	} {
		if frame, state := steppers.LinkedFrame(a, c.row); frame != c.frame || state != c.state {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, frame, state, c.frame, c.state)
		}
	}
}

// odd answers a symbol that begins behind the address asked about.
type odd struct{ symbols }

func (o odd) SymbolAt(lib *libstate.Library, addr arch.Address) (unwind.Symbol, bool) {
	return unwind.Symbol{Name: "odd", Addr: addr + 1, Size: 8}, true
}

// Functions by symbols: where they begin, and where they end if that is known. The parts of a
// function that the compiler moved away belong to it.
func TestNamedFunctions(t *testing.T) {
	syms := symbols{{Name: "f", Addr: 0x1100, Size: 0x20}, {Name: "f.cold", Addr: 0x1800, Size: 8}, {Name: "g.cold.1", Addr: 0x1810, Size: 8}, {Name: "h", Addr: 0x1900}}
	for _, c := range []struct {
		name       string
		syms       unwind.SymbolReader
		addr       uint64
		start, end uint64 // 0 for not known
		at, size   uint64 // by functionAt
	}{
		{"inside", syms, 0x1110, 0x1100, 0x1120, 0x1100, 0x20},
		{"a part of it", syms, 0x1804, 0x1100, 0x1120, 0x1800, 8},
		{"a part of a function without a name", syms, 0x1814, 0, 0, 0x1810, 8},
		{"of no known size", syms, 0x1900, 0, 0, 0x1900, 0},
		{"of no name", syms, 0x1a00, 0, 0, 0, 0},
		{"no symbols", nil, 0x1110, 0, 0, 0, 0},
		{"behind", odd{}, 0x1110, 0, 0, 0, 0},
		{"no library", syms, 0x800000, 0, 0, 0, 0},
	} {
		w := walker(t, newProc(nil), c.syms)
		start, end, ok := steppers.Named(w, bias+c.addr)
		if ok != (c.start != 0) || ok && (start != bias+c.start || end != bias+c.end) {
			t.Errorf("%s: %#x to %#x, %v", c.name, start, end, ok)
		}
		if !ok && (start != 0 || end != 0) {
			t.Errorf("%s: %#x to %#x of no function", c.name, start, end)
		}
		at, size, ok := steppers.FunctionAt(w, bias+c.addr)
		if ok != (c.at != 0) || ok && (at != bias+c.at || size != c.size) {
			t.Errorf("%s: at %#x, %#x bytes, %v", c.name, at, size, ok)
		}
	}
}

// Code is read up to its end, as far as it can be read, and 32 KiB at most.
func TestReadFunc(t *testing.T) {
	const most = 32 << 10
	p := procAt(arch.AMD64, 0x10000, make([]byte, most+0x100))
	for _, c := range []struct{ start, end, want uint64 }{
		{0x10000, 0x10000, 0}, {0x10001, 0x10000, 0}, {0x10000, 0x10001, 1}, {0x10000, 0x10000 + most, most},
		{0x10000, 0x10001 + most, most}, {0x10000 + most, 0x20000 + most, 0x100}, {0x10, 0x20, 0},
	} {
		if got := steppers.ReadFunc(p, c.start, c.end); uint64(len(got)) != c.want {
			t.Errorf("%#x to %#x: %#x bytes, want %#x", c.start, c.end, len(got), c.want)
		}
	}
}

// Long functions in memory are followed to their last instruction, wherever in the pieces
// that are read an instruction lies.
func TestAnalysisOfLongFunctions(t *testing.T) {
	const begin, sp = 0x10000, stack + 0x100
	for shift := range 8 {
		code := bytes.Repeat([]byte{0x90}, shift+1)
		code = append(code, 0x55) // push %rbp
		for len(code) < 9000 {
			code = append(code, 0x0f, 0x1f, 0x80, 0, 0, 0, 0) // nopl 0(%rax)
		}
		at := uint64(len(code))
		code = append(append(code, 0x5d, 0xc3), make([]byte, 32)...)
		p := procAt(arch.AMD64, begin, code)
		p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
		p.add(bias, libstate.Read|libstate.Exec, []byte{0x90, 0x90, 0x90, 0xe8, 0, 0, 0, 0, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90})
		p.libs = libstate.NewTable([]*libstate.Library{{Path: "/bin/long", Start: begin, End: begin + uint64(len(code)), Mappings: []libstate.Mapping{p.segs[0].m}}}, 0)
		p.setRegs(map[string]uint64{"rip": begin + at, "rsp": sp, "rbp": 1})
		p.put(sp, 0xb9, bias+8)
		w := walker(t, p, symbols{{Name: "long", Addr: begin, Size: uint64(len(code) - 32)}}, analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if err != nil || f.RA() != bias+8 || f.SP() != sp+16 || f.FP() != 0xb9 {
			t.Errorf("shift %d: %v, %v; %q", shift, f, err, notes(in))
		}
	}
}

// A call of a function that does not return ends its path: control does not get behind it.
func TestAnalysisKnowsFunctionsByName(t *testing.T) {
	const fn, target, pc, sp = 0x1800, 0x1840, 0x1806, stack + 0x100
	for _, c := range []struct {
		name, code, to string // code at 0x1800; the name of the function at 0x1840
		want           bool   // control gets to pc
	}{
		{"does not return", "50 e83a000000 58 c3", "abort", false}, // push; call 0x1840; pop; ret
		{"returns", "50 e83a000000 58 c3", "finish", true},
		{"in the middle of one that does not", "50 e83b000000 58 c3", "abort", true},
	} {
		p := newProc(map[string]uint64{"rip": bias + pc, "rsp": sp})
		copy(p.segs[1].data[fn-0x1000:], codeOf(c.code))
		copy(p.segs[1].data[target-0x1000:], []byte{0xc3, 0xc3})
		p.put(sp+8, bias+raWrong) // after a call of another function
		w := walker(t, mapper{p}, symbols{{Name: "f", Addr: fn, Size: 8}, {Name: c.to, Addr: target, Size: 8}}, analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if c.want && (err != nil || f.RA() != bias+raWrong) || !c.want && !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%s: %v, %v; %q", c.name, f, err, notes(in))
		}
	}
}

// A stepper remembers which row it found for an address, of which library.
func TestAnalysisRemembers(t *testing.T) {
	const sp = stack + 0x200
	p := newProc(nil)
	other := newProc(nil)
	lib := other.program(libstate.Executable)
	lib.LoadBias -= 0x10 // the functions are 16 bytes further down
	other.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
	copy(other.segs[1].data, p.segs[1].data[0x10:])
	s := analysis()
	for round := range 2 {
		for _, c := range []struct {
			p   *proc
			pc  uint64
			off uint64 // of the return address, from SP
			ra  uint64
		}{
			{p, fnCallee, 0, raCaller}, {p, fnCallee + 1, 8, raCaller}, {p, fnCallee + 8, 24, raCaller},
			{p, fnSpill + 4, 24, raSpill}, {p, fnSpill, 0, raSpill}, {p, fnSpill + 10, 0, raSpill},
			{other, fnSpill + 4 - 0x10, 24, raSpill - 0x10}, {p, fnSpill + 4 - 0x10, 0, 0}, {other, fnCallee + 8 - 0x10, 24, raSpill - 0x10},
			{other, fnCallee, 0, 0}, {p, fnCallee + 8, 24, raCaller},
		} {
			for i := range uint64(8) {
				c.p.put(sp+8*i, 0)
			}
			if c.ra != 0 {
				c.p.put(sp+c.off, bias+c.ra)
			}
			c.p.setRegs(map[string]uint64{"rip": bias + c.pc, "rsp": sp, "rbp": sp + 16})
			w := walker(t, mapper{c.p}, symbols(names), s)
			in := must(w.InitialFrame(1))
			f, err := w.WalkSingleFrame(in)
			if c.ra == 0 {
				if !errors.Is(err, unwind.ErrNoStepper) {
					t.Errorf("round %d, %#x: %v, %v; want no caller; %q", round, c.pc, f, err, notes(in))
				}
				continue
			}
			if err != nil || f.RA() != bias+c.ra || f.SP() != sp+c.off+8 {
				t.Errorf("round %d, %#x: %v, %v; %q", round, c.pc, f, err, notes(in))
			}
		}
	}
}

// Addresses of modules whose code is not at hand, which may be return addresses.
func TestScanOfModulesWithoutCode(t *testing.T) {
	const sp = winStack + 0x100
	for word, want := range map[uint32]bool{winBase + 0xff: false, winBase + 0x100: true, winBase: false, winBase - 1: false} {
		p := newWinProc(nil, map[string]uint64{"eip": winBase + 0x1010, "esp": sp})
		p.put32(sp, word)
		w := walker(t, p, nil, must(steppers.NewStepperWanderer(arch.X86, nil)))
		if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); (err == nil) != want {
			t.Errorf("%#x: %v, %v", word, f, err)
		}
	}
	for word, want := range map[uint32]bool{0xfff: false, 0x1000: true} {
		p := newProc32()
		p.addModule(0x200, 0x4000, nil)
		p.add(winStack, libstate.Read|libstate.Write, make([]byte, 0x4000))
		p.setRegs32(map[string]uint64{"eip": 0x2010, "esp": sp})
		p.put32(sp, word)
		w := walker(t, p, nil, must(steppers.NewStepperWanderer(arch.X86, nil)))
		if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); (err == nil) != want {
			t.Errorf("%#x: %v, %v", word, f, err)
		}
	}
}

// Words of the stack that lead nowhere are explained.
func TestAnalysisSaysWhy(t *testing.T) {
	const sp = stack + 0x100
	for _, c := range []struct {
		name   string
		pc     uint64
		words  []uint64
		bottom bool
		note   string
	}{
		{"zero", fnLeaf, []uint64{0}, true, "the return address is zero: the bottom of the stack"},
		{"data", fnLeaf, []uint64{stack}, false, "0x7ffe00000000, saved at 0x7ffe00000100, does not follow a call"},
		{"a restorer", fnLeaf, []uint64{bias + restorer1}, false, "from the code at 0x555500001040 on: CFA 0x7ffe00000108"},
	} {
		p := newProc(map[string]uint64{"rip": bias + c.pc, "rsp": sp})
		p.put(sp, c.words...)
		w := walker(t, mapper{p}, symbols(names), analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if errors.Is(err, unwind.ErrStackBottom) != c.bottom {
			t.Errorf("%s: %v, %v", c.name, f, err)
		}
		if text := strings.Join(notes(in), "\n"); !strings.Contains(text, c.note) {
			t.Errorf("%s: notes %q do not say %q", c.name, text, c.note)
		}
	}
}

// Code pointers keep the bit for the instruction set where there are two.
func TestCodePointers(t *testing.T) {
	for a, want := range map[*arch.Arch]uint64{arch.AMD64: 0x1003, arch.ARM: 0x1003, arch.HPPA: 0x1000, arch.ARM64: 0x1003} {
		if got := steppers.CodePointer(walker(t, otherProc{newProc(nil), a}, nil), 0x1003); got != want {
			t.Errorf("%s: %#x, want %#x", a.Name, got, want)
		}
	}
}

// A frame may end where its stack ends, and no further.
func TestAnalysisAtTheStacksEnd(t *testing.T) {
	const end = stack + stackLen
	for sp, want := range map[uint64]bool{end - 8: true, end: false} {
		p := newProc(map[string]uint64{"rip": bias + fnLeaf, "rsp": sp})
		p.add(end, libstate.Read|libstate.Write, make([]byte, 0x1000))
		p.put(sp, bias+raCaller)
		p.segs[len(p.segs)-1].m.End = end // nothing that is mapped
		w := walker(t, mapper{p}, symbols(names), analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if (err == nil) != want {
			t.Errorf("%#x: %v, %v; %q", sp, f, err, notes(in))
		}
	}
	p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": stack + 0x100, "rbp": 0x10})
	w := walker(t, mapper{p}, symbols(names), analysis())
	in := must(w.InitialFrame(1))
	if f, err := w.WalkSingleFrame(in); err == nil {
		t.Errorf("%v; %q", f, notes(in))
	}
	for sp, note := range map[uint64]string{end + 0x1000: "the return address cannot be read", end - 4: "the CFA 0x7ffe00004004 is not on the stack from 0x7ffe00003ffc on"} {
		p := newProc(map[string]uint64{"rip": bias + fnLeaf, "rsp": sp})
		w := walker(t, mapper{p}, symbols(names), analysis())
		in := must(w.InitialFrame(1))
		if f, err := w.WalkSingleFrame(in); err == nil || !strings.Contains(strings.Join(notes(in), "\n"), note) {
			t.Errorf("%#x: %v, %v, %q; want %q", sp, f, err, notes(in), note)
		}
	}
}

// A register that the code keeps in another, with something added, is computed.
func TestAnalysisOfMovedRegisters(t *testing.T) {
	const fn, pc, sp = 0x1800, 0x1809, stack + 0x100
	p := newProc(map[string]uint64{"rip": bias + pc, "rsp": sp, "rbx": 0, "r12": 0x1008})
	copy(p.segs[1].data[fn-0x1000:], codeOf("4989dc 4983c408 31db c3")) // mov %rbx,%r12; add $8,%r12; xor %ebx,%ebx; ret
	p.put(sp, bias+raSpill)
	w := walker(t, mapper{p}, symbols{{Name: "f", Addr: fn, Size: 10}}, analysis())
	f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
	if v, at, ok := f.Reg(arch.RBX); !ok || v != 0x1000 || at != (unwind.Location{}) {
		t.Errorf("rbx = %#x, %s, %v", v, at.Describe(arch.AMD64), ok)
	}
	if v, _, ok := f.Reg(arch.R12); ok {
		t.Errorf("r12 = %#x", v)
	}
}

// Code of a Windows module preserves what Windows says that it does.
func TestAnalysisOfWindowsCode(t *testing.T) {
	const sp = stack + 0x100
	for name, c := range map[string]struct {
		module *libstate.ModuleID
		want   bool
	}{"PE": {&libstate.ModuleID{Format: libstate.FormatPE}, true}, "ELF": {&libstate.ModuleID{Format: libstate.FormatELF}, false}, "neither": {nil, false}} {
		p := newProc(map[string]uint64{"rip": bias + fnSpill + 4, "rsp": sp, "rsi": 5, "rbx": 6})
		lib := p.program(libstate.Executable)
		lib.Module = c.module
		p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
		p.put(sp+24, bias+raSpill)
		w := walker(t, mapper{p}, symbols(names), analysis())
		f := must(w.WalkSingleFrame(must(w.InitialFrame(1))))
		if v, _, ok := f.Reg(arch.RSI); ok != c.want || ok && v != 5 {
			t.Errorf("%s: rsi = %d, %v", name, v, ok)
		}
		if v, _, ok := f.Reg(arch.RBX); !ok || v != 6 {
			t.Errorf("%s: rbx = %d, %v", name, v, ok)
		}
	}
}

// Nothing is known of code for which there is no decoder.
func TestAnalysisWithoutDecoder(t *testing.T) {
	for _, a := range []*arch.Arch{arch.SPARC64, arch.HPPA, arch.Alpha, arch.M68K} {
		p := newForeign(a, map[int][]uint32{0x100: {0x01000000, 0x01000000}})
		lib, _ := p.libs.LibraryAt(foreignCode)
		lib.LoadBias = foreignCode
		p.set(map[arch.Reg]uint64{a.PC: foreignCode + 0x104, a.SP: foreignStack + 0x100})
		for name, syms := range map[string]unwind.SymbolReader{"named": symbols{{Name: "f", Addr: 0x100, Size: 8}}, "bare": nil} {
			w := walker(t, p, syms, must(steppers.NewAnalysisStepper(a, nil)))
			if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); !errors.Is(err, unwind.ErrNoStepper) {
				t.Errorf("%s, %s: %v, %v", a.Name, name, f, err)
			}
		}
	}
}

// Where code paths or functions' starts differ in where the frame is, the call decides; if it
// does not, there is no caller. What only padding says counts less than a symbol.
func TestAnalysisChooses(t *testing.T) {
	const fn, b, pc, sp = 0x1800, 0x1810, 0x1812, stack + 0x100
	const direct = bias + 0x1905 // after a call of fn
	for _, c := range []struct {
		name  string
		code  string // at 0x1800
		syms  unwind.SymbolReader
		words []uint64
		to    uint64 // SP of the caller; 0 for none
		note  string
	}{
		// je 0x1812; push %rbx; jmp 0x1812; ...; nop; nop; ret
		{"two paths", "7410 53 eb0d 9090909090909090909090 9090 c3", symbols{{Name: "f", Addr: fn, Size: 0x13}}, []uint64{bias + raSpill, bias + raSpill}, 0, "the code paths to 0x555500001812 differ in where the frame is"},
		{"two paths, a call of the function", "7410 53 eb0d 9090909090909090909090 9090 c3", symbols{{Name: "f", Addr: fn, Size: 0x13}}, []uint64{bias + raSpill, direct}, sp + 16, "called before 0x555500001905: CFA 0x7ffe00000110"},
		{"two paths, a call of another", "7410 53 eb0d 9090909090909090909090 9090 c3", symbols{{Name: "f", Addr: fn, Size: 0x13}}, []uint64{bias + raSpill, bias + raWrong}, sp + 8, "on: CFA 0x7ffe00000108"},
		{"two paths, no call", "7410 53 eb0d 9090909090909090909090 9090 c3", symbols{{Name: "f", Addr: fn, Size: 0x13}}, []uint64{0, stack}, 0, "no code path to 0x555500001812 shows where the frame is"},
		{"a part of a function that nobody knows", "9090909090909090909090909090909090909090c3", symbols{{Name: "g.cold", Addr: fn, Size: 0x20}}, []uint64{bias + raSpill}, 0, "no code path"},
		// push %rbx; jmp 0x1812; ret; int3 ...; 0x1810: nop; nop; ret
		{"two starts", "53 eb0f c3 cccccccccccccccccccccccc 9090 c3", nil, []uint64{bias + raSpill, bias + raSpill}, 0, "differ"},
		{"two starts, one call", "53 eb0f c3 cccccccccccccccccccccccc 9090 c3", nil, []uint64{0, bias + raSpill}, sp + 16, "from the code at 0x555500001800 on"},
		{"a symbol, and padding", "53 eb0f c3 cccccccccccccccccccccccc 9090 c3", starts{bias + fn}, []uint64{bias + raSpill, bias + raSpill}, sp + 16, "from the code at 0x555500001800 on"},
		{"padding, and a symbol of which nobody called", "53 eb0f c3 cccccccccccccccccccccccc 9090 c3", starts{bias + fn}, []uint64{bias + raSpill, 0}, sp + 8, "from the code at 0x555500001810 on"},
	} {
		p := newProc(map[string]uint64{"rip": bias + pc, "rsp": sp})
		if _, named := c.syms.(symbols); named {
			copy(p.segs[1].data[fn-0x1040:], bytes.Repeat([]byte{0x50}, 0x40)) // no padding
		} else {
			copy(p.segs[1].data[fn-0x1002:], []byte{0xc3, 0xcc})
		}
		copy(p.segs[1].data[fn-0x1000:], codeOf(c.code))
		copy(p.segs[1].data[0x900:], codeOf("e8fbfeffff")) // call 0x1800
		p.put(sp, c.words...)
		w := walker(t, mapper{p}, c.syms, analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if c.to == 0 && !errors.Is(err, unwind.ErrNoStepper) || c.to != 0 && (err != nil || f.SP() != c.to) {
			t.Errorf("%s: %v, %v; want SP %#x; %q", c.name, f, err, c.to, notes(in))
		}
		if text := strings.Join(notes(in), "\n"); !strings.Contains(text, c.note) {
			t.Errorf("%s: notes %q do not say %q", c.name, text, c.note)
		}
	}
}

// Jumps by a table are followed where the table is where nobody writes, and into the part of
// a function that the compiler moved away.
func TestAnalysisOfJumps(t *testing.T) {
	const fn, pc, sp = 0x1800, 0x1841, stack + 0x100
	for _, c := range []struct {
		name  string
		code  string
		table uint64 // address; 0 for none
		part  string // name of what is at 0x1840
		want  bool
	}{
		// cmp $1,%edi; ja 0x1820; mov %edi,%eax; lea table,%rdx; movslq (%rdx,%rax,4),%rax; add %rdx,%rax; jmp *%rax
		{"a table", "83ff01 771b 89f8 488d15 %s 48630482 4801d0 ffe0", 0x800, "", true},
		{"a table that is written to", "83ff01 771b 89f8 488d15 %s 48630482 4801d0 ffe0", 0x4800, "", false},
		{"a part", "e93b000000", 0, "f.cold", true},
		{"another function", "e93b000000", 0, "g", false},
	} {
		p := newProc(map[string]uint64{"rip": bias + pc, "rsp": sp, "rdi": 1})
		text := p.segs[1].data
		copy(text[fn-0x1000:], make([]byte, 0x80))
		rel := make([]byte, 4)
		arch.AMD64.ByteOrder.PutUint32(rel, uint32(c.table-(fn+14)))
		code := strings.Replace(c.code, "%s", fmt.Sprintf("%x", rel), 1)
		copy(text[fn-0x1000:], codeOf(code))
		text[0x820] = 0xc3
		copy(text[0x840:], codeOf("50 90 58 c3")) // push; nop; pop; ret
		copy(text[0x830:], codeOf("90 c3"))
		if c.table != 0 {
			s := p.at(bias + c.table)
			for i, to := range []uint64{0x1830, 0x1840} {
				arch.AMD64.ByteOrder.PutUint32(s.data[bias+c.table-s.m.Start+uint64(4*i):], uint32(to-c.table))
			}
		}
		p.put(sp, 0, bias+raSpill)
		syms := symbols{{Name: "f", Addr: fn, Size: 0x44}}
		if c.part != "" {
			syms = symbols{{Name: "f", Addr: fn, Size: 5}, {Name: c.part, Addr: fn + 0x40, Size: 4}}
		}
		if c.part == "g" { // control does not come from f; asked about f, the frame is not in it
			syms[1].Name = "g"
			if got := steppers.NewCallChecker(walker(t, mapper{p}, syms)).IsPCInFunc(bias+fn, bias+pc+0x100); got != steppers.OutsideFunc {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		w := walker(t, mapper{p}, syms, analysis())
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if got := err == nil && f.RA() == bias+raSpill && f.SP() == sp+16; got != c.want {
			t.Errorf("%s: %v, %v; want %v; %q", c.name, f, err, c.want, notes(in))
		}
	}
}

// A call of a function of T32 leads to an odd address.
func TestAnalysisKnowsThumbFunctionsByName(t *testing.T) {
	const pc, ra, sp = foreignCode + 0x106, foreignCode + 0x305, foreignStack + 0x100
	for name, want := range map[string]bool{"abort": false, "finish": true} {
		p := newForeign(arch.ARM, nil)
		lib, _ := p.libs.LibraryAt(foreignCode)
		lib.LoadBias = foreignCode
		copy(p.segs[0].data[0x100:], []byte{0x08, 0xb5, 0x00, 0xf0, 0x1d, 0xf8, 0x08, 0xbd}) // push {r3,lr}; bl 0x140; pop {r3,pc}
		copy(p.segs[0].data[0x140:], []byte{0x70, 0x47})                                     // bx lr
		copy(p.segs[0].data[0x300:], []byte{0xff, 0xf7, 0x3e, 0xff})                         // bl 0x180: another function
		p.putWords(sp+4, ra)
		p.set(map[arch.Reg]uint64{arch.ARMPC: pc, arch.ARMSP: sp, arch.ARM.Mode: 1})
		w := walker(t, p, symbols{{Name: "f", Addr: 0x100, Size: 8}, {Name: name, Addr: 0x140, Size: 2}}, must(steppers.NewAnalysisStepper(arch.ARM, nil)))
		in := must(w.InitialFrame(1))
		f, err := w.WalkSingleFrame(in)
		if (err == nil) != want || want && (f.RA() != ra&^1 || f.SP() != sp+8) {
			t.Errorf("%s: %v, %v; %q", name, f, err, notes(in))
		}
	}
}

// The state of a frame is read from the code around it: also where nothing before it is mapped.
func TestFrameStateAtTheFirstByte(t *testing.T) {
	const begin, sp = 0x10000, stack + 0x100
	p := procAt(arch.AMD64, begin, append([]byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0xf7, 0xff, 0xff, 0xff, 0xc9, 0xc3}, make([]byte, 64)...))
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.setRegs(map[string]uint64{"rip": begin, "rsp": sp, "rbp": sp + 0x40})
	p.put(sp, begin+9)
	p.put(sp+0x40, 0, begin+9)
	w := walker(t, p, nil, frameFunc(nil))
	in := must(w.InitialFrame(1))
	f, err := w.WalkSingleFrame(in)
	if err != nil || f.RA() != begin+9 || f.SP() != sp+8 {
		t.Errorf("%v, %v; %q", f, err, notes(in))
	}
}

// A symbol of data is no function.
func TestAnalysisOfData(t *testing.T) {
	p := newProc(map[string]uint64{"rip": got + 0x10, "rsp": stack + 0x100})
	p.put(stack+0x100, bias+raSpill)
	w := walker(t, mapper{p}, symbols{{Name: "data", Addr: 0x4000, Size: 0x100}}, analysis())
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("%v, %v", f, err)
	}
	q := newForeign(arch.PPC, ppcMore)
	q.putWords(foreignStack+0x100, foreignStack+0x140)
	q.putWords(foreignStack+0x144, foreignCode+0x404)
	q.set(map[arch.Reg]uint64{arch.PPCNIP: foreignStack + 0x800, arch.PPCSP: foreignStack + 0x100, arch.PPCLR: foreignCode + 0x60c})
	w = walker(t, q, nil, must(steppers.NewFrameFuncStepper(arch.PPC, nil)))
	if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("%v, %v", f, err)
	}
}

// Where a function's beginning is not at hand, the code around the address tells its state.
func TestFrameStateWithoutTheBeginning(t *testing.T) {
	const page, sp = 0x11000, stack + 0x100
	p := procAt(arch.AMD64, page, append([]byte{0xc9, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, make([]byte, 0x200)...)) // leave; ret; call *%rax
	p.segs = append(p.segs, seg{m: libstate.Mapping{Start: page - 0x1000, End: page, Perm: libstate.Read | libstate.Exec}})
	p.add(stack, libstate.Read|libstate.Write, make([]byte, stackLen))
	p.libs = libstate.NewTable([]*libstate.Library{{Path: "/bin/f", Start: page - 0x1000, End: page + 0x200, Mappings: []libstate.Mapping{p.segs[1].m, p.segs[0].m}}}, 0)
	p.setRegs(map[string]uint64{"rip": page + 1, "rsp": sp, "rbp": sp + 0x40})
	p.put(sp, page+12)
	p.put(sp+0x40, 0, page+12)
	w := walker(t, p, symbols{{Name: "f", Addr: page - 0x100, Size: 0x102}}, frameFunc(nil))
	in := must(w.InitialFrame(1))
	if f, err := w.WalkSingleFrame(in); err != nil || f.SP() != sp+8 {
		t.Errorf("%v, %v; %q", f, err, notes(in))
	}
}
