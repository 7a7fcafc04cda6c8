package steppers_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Control leaves start-up code by a jump, or by the system call after its call.
func TestEntryLen(t *testing.T) {
	const size = 0x30
	for _, c := range []struct {
		a    *arch.Arch
		name string
		code string
		want uint64
	}{
		{arch.AMD64, "hlt behind the call", "31ed e800000000 f4", 8},
		{arch.AMD64, "jump", "31ed e900000000 90", 7},
		{arch.AMD64, "jump through a register", "ffe0 90", 2},
		{arch.AMD64, "conditional jump", "7402 e800000000 90 f4", 9},
		{arch.AMD64, "exit", "e800000000 0f05 90", 7},
		{arch.AMD64, "system call before the call", "0f05 e800000000 0f05 90", 9},
		{arch.AMD64, "no end", "31ed", size},
		{arch.AMD64, "no code", "06", size},
		{arch.ARM64, "branch", "le d503201f 14000010", 8},
		{arch.ARM64, "conditional branch", "le 54000040 d503201f 14000010", 12},
		{arch.ARM, "conditional branch", "le 0a000010 ea000010", 8},
		{arch.ARM, "conditional return", "le 012fff1e e12fff1e", 8},
		{arch.MIPS, "jump with a delay slot", "be 08000010 00000000", size},
	} {
		if n := steppers.EntryLen(withCode(c.a, codeOf(c.code)), foreignCode+0x100, size); n != c.want {
			t.Errorf("%s, %s: %d bytes, want %d", c.a.Name, c.name, n, c.want)
		}
	}
}

// auxed is a process with an auxiliary vector.
type auxed struct {
	mapper
	entry uint64
}

func (a auxed) Auxv() libstate.Auxv {
	return libstate.Auxv{{Key: libstate.ATEntry, Value: a.entry}}
}

// Where the entry point is: in the header, else in the auxiliary vector of a program, else
// where a symbol says.
func TestWhereTheEntryPointIs(t *testing.T) {
	const start, other = bias + fnStart, bias + 0x1800
	header := func(entry uint64) func(*proc, *libstate.Library) {
		return func(p *proc, _ *libstate.Library) { p.put(bias+0x18, entry) }
	}
	noHeader := func(_ *proc, l *libstate.Library) { l.HeaderAddr = 0 }
	pe := func(_ *proc, l *libstate.Library) { l.Module = &libstate.ModuleID{Format: libstate.FormatPE} }
	elf := func(_ *proc, l *libstate.Library) { l.Module = &libstate.ModuleID{Format: libstate.FormatELF} }
	farCall := func(first string) func(*proc, *libstate.Library) {
		return func(p *proc, _ *libstate.Library) {
			p.put(bias+0x18, fnStart)
			code := codeOf(first)
			for len(code) < 0x48 {
				code = append(code, 0x90)
			}
			s := p.at(start)
			copy(s.data[start-s.m.Start:], append(code, 0xe8, 0, 0, 0, 0, 0xc3))
		}
	}
	start8 := symbols{{Name: "_start", Addr: 0x1800, Size: 8}}
	for _, c := range []struct {
		name string
		set  func(*proc, *libstate.Library)
		kind libstate.Kind
		aux  uint64
		syms unwind.SymbolReader
		pc   uint64
		want bool
	}{
		{"header", header(fnStart), libstate.Executable, other, nil, start, true},
		{"header, before the vector", header(fnStart), libstate.Executable, other, nil, other, false},
		{"header of an ELF module", elf, libstate.Executable, 0, nil, start, true},
		{"header of zero", header(0), libstate.Executable, other, nil, other, true},
		{"no header", noHeader, libstate.Executable, other, nil, other, true},
		{"no header of a dynamic linker: the vector is the program's", noHeader, libstate.Interpreter, other, nil, other, false},
		{"header that leads out of the library", header(0x100000), libstate.Executable, other, nil, other, false},
		{"the symbol, no header", noHeader, libstate.Interpreter, 0, start8, other + 7, true},
		{"the symbol, no header, behind", noHeader, libstate.Interpreter, 0, start8, other + 0x3f, true},
		{"the symbol of a dynamic linker, farther", noHeader, libstate.Interpreter, 0, start8, other + 0x40, false},
		{"the other name", noHeader, libstate.Interpreter, 0, start8.renamed("_start", "__start"), other, true},
		{"neither name", noHeader, libstate.Interpreter, 0, start8.renamed("_start", "start"), other, false},
		{"no symbols", noHeader, libstate.Interpreter, 0, nil, other, false},
		{"the symbol of a program", noHeader, libstate.Executable, 0, start8, other + 7, true},
		{"the symbol of a program, behind", noHeader, libstate.Executable, 0, start8, other + 8, false},
		{"the symbol of a program, of no size", noHeader, libstate.Executable, 0, symbols{{Name: "_start", Addr: 0x1800}}, other + 0x2f, true},
		{"the symbol of a program, of no size, behind", noHeader, libstate.Executable, 0, symbols{{Name: "_start", Addr: 0x1800}}, other + 0x30, false},
		{"the symbol of a program, of a byte", noHeader, libstate.Executable, 0, symbols{{Name: "_start", Addr: 0x1800, Size: 1}}, other + 1, false},
		{"header that leads to the word below the library", header(1<<64 - 8), libstate.Executable, 0, nil, bias + 4, false},
		{"header that leads to data, which is no descriptor here", header(0x4000), libstate.Executable, 0, nil, bias + fnCallee, false},
		{"the symbol of another format", pe, libstate.Interpreter, 0, start8, other, true},
		{"no header is read in another format", pe, libstate.Interpreter, 0, nil, start, false},
		{"the name of Go", header(fnStart), libstate.Executable, 0, symbols{{Name: "_rt0_amd64_linux", Addr: fnStart, Size: 4}}, start + 3, true},
		{"the name of Go, behind its code", header(fnStart), libstate.Executable, 0, symbols{{Name: "_rt0_amd64_linux", Addr: fnStart, Size: 4}}, start + 4, false},
		{"the dynamic linker's name in musl", header(fnStart), libstate.Interpreter, 0, symbols{{Name: "_dlstart", Addr: fnStart, Size: 4}}, start + 4, true},
		{"__start", header(fnStart), libstate.Executable, 0, symbols{{Name: "__start", Addr: fnStart}}, start, true},
		{"Free Pascal's name", header(fnStart), libstate.Executable, 0, symbols{{Name: "SI_PRC_$$__FPC_PROC_START", Addr: fnStart, Size: 8}}, start + 7, true},
		{"a call without a branch before it, farther", farCall("90"), libstate.Executable, 0, nil, start + 0x48, true},
		{"behind such a call", farCall("90"), libstate.Executable, 0, nil, start + 0x4d, false},
		{"a call behind a branch, farther", farCall("7402"), libstate.Executable, 0, nil, start + 0x48, false},
		{"a call without a branch before it, behind a function of a known size", farCall("90"), libstate.Executable, 0, symbols{{Name: "_start", Addr: fnStart, Size: 0x30}}, start + 0x48, false},
		{"another name", header(fnStart), libstate.Executable, 0, symbols{{Name: "start", Addr: fnStart, Size: 8}}, start, false},
		{"another function's end is there", header(fnStart), libstate.Executable, 0, symbols{{Name: "start", Addr: fnStart - 8, Size: 16}}, start, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": c.pc, "rsp": stack + 0x100})
			lib := p.program(c.kind)
			p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
			c.set(p, lib)
			var proc unwind.ProcessState = mapper{p}
			if c.aux != 0 {
				proc = auxed{mapper{p}, c.aux}
			}
			w := walker(t, proc, c.syms, must(steppers.NewBottomOfStackStepper(arch.AMD64)))
			for range 2 {
				if _, err := w.WalkSingleFrame(must(w.InitialFrame(1))); errors.Is(err, unwind.ErrStackBottom) != c.want {
					t.Errorf("%v; want the bottom: %v", err, c.want)
				}
			}
		})
	}
}

// In a program, a thread ends in functions of these names, or of none.
func TestNamesOfClone(t *testing.T) {
	for name, want := range map[string]bool{"clone": true, "__clone": true, "clone3": true, "__clone3": true, "thread_start": true,
		"__thread_start": true, "runtime.clone": true, "runtime.clone.abi0": true, "": true, "clone2": false, "main": false} {
		for kind, every := range map[libstate.Kind]bool{libstate.Executable: false, libstate.SharedLibrary: true, libstate.Interpreter: true} {
			p := newProc(map[string]uint64{"rip": bias + raClone, "rsp": stack})
			p.libs = libstate.NewTable([]*libstate.Library{p.program(kind)}, 0)
			w := walker(t, p, symbols{{Name: name, Addr: fnClone, Size: 14}}, must(steppers.NewBottomOfStackStepper(arch.AMD64)))
			if _, err := w.WalkSingleFrame(called(t, w, bias+raClone, stack, 0)); errors.Is(err, unwind.ErrStackBottom) != (want || every) {
				t.Errorf("%q in %v: %v", name, kind, err)
			}
		}
	}
}

// A function that reaches others by jumps: as many as are followed, and how far.
func TestTailCallsFollowed(t *testing.T) {
	const from, targets, away = 0x1800, 0x1900, 0x1b00
	for _, n := range []int{1, 8, 9} {
		p := newProc(nil)
		code := p.segs[1].data
		syms := symbols{{Name: "many", Addr: from, Size: uint64(7 * n)}, {Name: "away", Addr: away, Size: 4}}
		for i := range n { // je next; jmp target
			at, to := from+7*i, targets+16*i
			copy(code[at-0x1000:], []byte{0x74, 0x05, 0xe9})
			arch.AMD64.ByteOrder.PutUint32(code[at-0x1000+3:], uint32(to-(at+7)))
			copy(code[to-0x1000:], []byte{0x90, 0xc3})
			syms = append(syms, unwind.Symbol{Name: "target", Addr: uint64(to), Size: 2})
		}
		code[from+7*(n-1)-0x1000] = 0xeb // no way past the last
		code[from+7*(n-1)-0x1000+1] = 0
		copy(code[away-0x1000:], []byte{0x90, 0xc3})
		c := steppers.NewCallChecker(walker(t, mapper{p}, syms))
		for i := range n {
			want := steppers.InFunc
			if n > 8 { // of the ninth nobody knows where it leads
				want = steppers.PCUnknown
			}
			if got := c.IsPCInFunc(bias+from, bias+targets+uint64(16*i)+1); got != want {
				t.Errorf("%d jumps: the target of jump %d: %v, want %v", n, i, got, want)
			}
		}
		want := steppers.OutsideFunc
		if n > 8 {
			want = steppers.PCUnknown
		}
		if got := c.IsPCInFunc(bias+from, bias+away+1); got != want {
			t.Errorf("%d jumps: another function: %v, want %v", n, got, want)
		}
	}
}

// Whether an address is in a function where symbols, a jump on, and code that cannot be
// followed have a say.
func TestReach(t *testing.T) {
	const f, g, h = 0x1800, 0x1820, 0x1840
	three := symbols{{Name: "f", Addr: f, Size: 5}, {Name: "g", Addr: g, Size: 5}, {Name: "h", Addr: h, Size: 2}}
	for _, c := range []struct {
		name    string
		f, g, h string // code
		syms    symbols
		pc      uint64
		want    steppers.PCState
	}{
		{"jump to a function", "e91b000000", "90c3", "90c3", nil, g + 1, steppers.InFunc},
		{"jump to a function, another", "e91b000000", "90c3", "90c3", nil, h + 1, steppers.OutsideFunc},
		{"two jumps", "e91b000000", "e91b000000", "90c3", three, h + 1, steppers.PCUnknown},
		{"one jump, of three functions", "e91b000000", "90c3", "90c3", three, h + 1, steppers.OutsideFunc},
		{"jump, then one to who knows where", "e91b000000", "ffe0", "90c3", three, h + 1, steppers.PCUnknown},
		{"jump to who knows where", "ffe0", "90c3", "90c3", nil, h + 1, steppers.PCUnknown},
		{"jump to an unbound stub", "e91b000000", "ff2500000000", "90c3", nil, h + 1, steppers.PCUnknown},
		{"no code", "06", "90c3", "90c3", nil, h + 1, steppers.PCUnknown},
		{"jump to an unbound stub that is another function", "e91b000000", "ff2500000000", "90c3", three, h + 1, steppers.PCUnknown},
		{"two jumps in a function", "e91b000000", "e91b000000", "90c3", nil, h + 1, steppers.InFunc},
		{"jump to no code", "e91b000000", "06", "90c3", three, h + 1, steppers.PCUnknown},
		{"a function of that symbol", "90c3", "90c3", "90c3", symbols{{Name: "f", Addr: f, Size: 0x30}}, g + 1, steppers.InFunc},
		{"an entry in the middle", "90c3", "90c3", "90c3", symbols{{Name: "f", Addr: f - 0x10, Size: 0x60}}, h + 1, steppers.InFunc},
		{"an entry at the function's end", "90c3", "90c3", "90c3", symbols{{Name: "e", Addr: f - 0x10, Size: 0x10}}, f - 1, steppers.OutsideFunc},
		{"a function of no known size below", "90c3", "90c3", "90c3", symbols{{Name: "e", Addr: f - 0x10}}, f - 0x10, steppers.OutsideFunc},
		{"another function begins in between", "9090909090eb19", "90c3", "90c3", symbols{{Name: "f", Addr: f, Size: 7}, {Name: "g", Addr: g, Size: 2}}, g + 1, steppers.InFunc},
	} {
		p := newProc(nil)
		for at, code := range map[int]string{f: c.f, g: c.g, h: c.h} {
			copy(p.segs[1].data[at-0x1000:], codeOf(code))
		}
		var syms unwind.SymbolReader
		if c.syms != nil {
			syms = c.syms
		}
		if got := steppers.NewCallChecker(walker(t, mapper{p}, syms)).IsPCInFunc(bias+f, bias+c.pc); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// A part that the compiler moved away, entered there; a function whose code is not at hand.
	p := newProc(nil)
	copy(p.segs[1].data[g-0x1000:], codeOf("9090c3"))
	const hidden = 0x6000_0000_0000
	p.segs = append(p.segs, seg{m: libstate.Mapping{Start: hidden, End: hidden + 0x1000, Perm: libstate.Read | libstate.Exec}})
	c := steppers.NewCallChecker(walker(t, mapper{p}, symbols{{Name: "f", Addr: f, Size: 5}, {Name: "f.cold", Addr: g, Size: 3}}))
	for want, at := range map[steppers.PCState][2]uint64{steppers.InFunc: {bias + g, bias + g + 1}, steppers.PCUnknown: {hidden, hidden + 1}, steppers.OutsideFunc: {bias + f, bias + g + 1}} {
		if got := c.IsPCInFunc(at[0], at[1]); got != want {
			t.Errorf("%#x from %#x: %v, want %v", at[1], at[0], got, want)
		}
	}
	if got := c.IsPCInFunc(hidden, hidden); got != steppers.InFunc {
		t.Errorf("the first instruction: %v", got)
	}
	for s, want := range []string{"unknown_s", "in_func", "outside_func", "?", "unknown_s", "in_func"} {
		if got := steppers.PCState(s).String(); got != want {
			t.Errorf("PCState(%d): %s", s, got)
		}
	}
}
