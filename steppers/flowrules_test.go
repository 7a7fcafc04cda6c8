package steppers_test

import (
	"bytes"
	"errors"
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
	code := bytes.Repeat([]byte{0x50}, 0x3000) // push %rax
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
		if got := steppers.PaddedStarts(c.before, p, begin+c.at, 0); !slices.Equal(got, want) {
			t.Errorf("%#x: %#x, want %#x", c.at, got, want)
		}
	}
	low := procAt(arch.AMD64, 0, code[:0x100])
	if got := steppers.PaddedStarts(0, low, 0x20, 0); !slices.Equal(got, []uint64{0x10}) {
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
			c.p.put(sp+c.off, bias+c.ra)
			c.p.setRegs(map[string]uint64{"rip": bias + c.pc, "rsp": sp, "rbp": sp + 16})
			w := walker(t, mapper{c.p}, symbols(names), s)
			in := must(w.InitialFrame(1))
			f, err := w.WalkSingleFrame(in)
			if c.ra != 0 && (err != nil || f.RA() != bias+c.ra || f.SP() != sp+c.off+8) {
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
