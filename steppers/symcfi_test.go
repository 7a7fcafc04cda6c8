package steppers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// symFile is a symbol file of the fake program, with these records.
func symFile(t testing.TB, records ...string) *breakpad.File {
	t.Helper()
	return must(breakpad.Parse([]byte("MODULE Linux x86_64 000000000000000000000000000000000 prog\n" + strings.Join(records, "\n"))))
}

func resolveTo(f *breakpad.File) modules.Source {
	return partsOf(image.Parts{Breakpad: f})
}

// frameText is a frame's registers, and where they are.
func frameText(f *unwind.Frame, regs ...string) string {
	a := f.Walker().ProcessState().Arch()
	text := fmt.Sprintf("%#x sp %#x %v", f.RA(), f.SP(), f.Trust())
	for _, name := range regs {
		r, _ := a.RegByName(name)
		v, loc, ok := f.Reg(r)
		switch {
		case !ok:
			text += fmt.Sprintf(", %s lost", name)
		case loc == (unwind.Location{}):
			text += fmt.Sprintf(", %s %#x", name, v)
		default:
			text += fmt.Sprintf(", %s %#x %s", name, v, loc.Describe(a))
		}
	}
	return text
}

// outcome steps from a frame and says what came out: the caller, "bottom" or "none", and
// what the steppers had to say about it. The CFA is told where it is not the caller's SP.
func outcome(w *unwind.Walker, in *unwind.Frame, regs ...string) string {
	out, err := w.WalkSingleFrame(in)
	text := ""
	switch {
	case err == nil:
		text = frameText(out, regs...)
		if out.NonCall() {
			text += ", interrupted"
		}
		if cfa, ok := in.CFA(); !ok {
			text += ", no CFA"
		} else if cfa != out.SP() {
			text += fmt.Sprintf(", CFA %#x", cfa)
		}
	case errors.Is(err, unwind.ErrStackBottom):
		text = "bottom"
	case errors.Is(err, unwind.ErrNoStepper):
		text = "none"
	default:
		text = err.Error()
	}
	for _, a := range in.Attempts() {
		for _, n := range a.Notes {
			text += "; " + n
		}
	}
	return text
}

func TestSymCFI(t *testing.T) {
	const sp, jit = stack + 0x100, 0x9000_0000
	init := "STACK CFI INIT 1020 b "
	returnTo := func(addr uint64) string { return fmt.Sprintf("%s.cfa: $rsp 32 + .ra: %d", init, addr) }
	for _, tc := range []struct {
		name, records string
		pe            bool
		want          string
	}{
		{name: "plain", records: init + ".cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1024 .cfa: $rsp 32 + $rbx: .cfa 16 - ^ $r12: $rbx $r13: .cfa 7 +",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000120, rbx 0x51 saved at 0x7ffe00000110, rbp 0xb9 in rbp, r12 0x99 in rbx, r13 0x7ffe00000127, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^ rbx: .cfa 16 - ^ r12: $rbx r13: .cfa 7 +"},
		{name: "of Windows", pe: true, records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi 0x77 in rsi, rdi 0x88 in rdi; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^"},
		{name: "what cannot be worked out is lost", records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^ $rbx: 1 ^ $rbp: .undef $r13: $r12 nonsense: 7",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000120, rbx lost, rbp lost, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^ rbx: 1 ^ rbp: .undef r13: $r12 nonsense: 7"},
		{name: "a stack pointer of its own", records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^ $rsp: .cfa 16 +",
			want: "0x555500001009 sp 0x7ffe00000130 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000130, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost, CFA 0x7ffe00000120; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^ rsp: .cfa 16 +"},
		{name: "a saved stack pointer", records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^ $rsp: .cfa 8 + ^",
			want: "0x555500001009 sp 0x7ffe00000800 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000800 saved at 0x7ffe00000128, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost, CFA 0x7ffe00000120; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^ rsp: .cfa 8 + ^"},
		{name: "a return address of its own", records: init + ".cfa: $rsp 32 + .ra: 7 $rip: .cfa -8 + ^",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 7 rip: .cfa -8 + ^"},
		{name: "a return address in a register", records: init + ".cfa: $rsp 32 + .ra: $rcx",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 in rcx, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: $rcx"},
		{name: "no rules for the main registers", records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^ $rsp: .undef $rip: .undef",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: .cfa -8 + ^ rsp: .undef rip: .undef"},
		{name: "trampoline of a signal", records: init + ".cfa: $rsp 40 + ^ .ra: $rsp 48 + ^",
			want: "0x555500001021 sp 0x7ffe00000800 signal, rip 0x555500001021 saved at 0x7ffe00000130, rsp 0x7ffe00000800, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost, interrupted; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 40 + ^ .ra: $rsp 48 + ^"},
		{name: "a function that aligns its stack", records: init + ".cfa: $rsp 40 + ^ .ra: .cfa -8 + ^",
			want: "0x555500001009 sp 0x7ffe00000800 sym-cfi, rip 0x555500001009 saved at 0x7ffe000007f8, rsp 0x7ffe00000800, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 40 + ^ .ra: .cfa -8 + ^"},
		{name: "the return address where it was, from a saved stack pointer", records: init + ".cfa: $rsp 40 + ^ .ra: $rcx",
			want: "0x555500001009 sp 0x7ffe00000800 sym-cfi, rip 0x555500001009 in rcx, rsp 0x7ffe00000800, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost, rdi lost; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 40 + ^ .ra: $rcx"},
		{name: "the first word that is no code", records: returnTo(4095),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 4095; the return address is not in code"},
		{name: "the first that may be", records: returnTo(4096),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 4096; the return address is not in code, and the function's code does not show that the rules are right"},
		{name: "of Windows, out of all modules", pe: true, records: returnTo(4096),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 4096; the return address is in no module"},
		{name: "of Windows, before its module", pe: true, records: returnTo(bias),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 93823560581120; the return address is in no module"},
		{name: "of Windows, in its module", pe: true, records: returnTo(bias + 1),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 93823560581121; the return address is not in code, and the function's code does not show that the rules are right"},
		{name: "of Windows, at the end of its module", pe: true, records: returnTo(got + 0x1000),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 93823560601600; the return address is in no module"},
		{name: "of Windows, behind its module", pe: true, records: returnTo(got + 0x1001),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 93823560601601; the return address is in no module"},
		{name: "of Windows, in code outside of modules", pe: true, records: returnTo(jit + 1),
			want: "0x90000001 sp 0x7ffe00000120 sym-cfi, rip 0x90000001, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi 0x77 in rsi, rdi 0x88 in rdi; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 2415919105"},
		{name: "of Windows, at the end of code outside of modules, after a call", pe: true, records: returnTo(jit + 16),
			want: "0x90000010 sp 0x7ffe00000120 sym-cfi, rip 0x90000010, rsp 0x7ffe00000120, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi 0x77 in rsi, rdi 0x88 in rdi; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 2415919120"},
		{name: "of Windows, before code outside of modules", pe: true, records: returnTo(jit),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 2415919104; the return address is in no module"},
		{name: "of Windows, in data outside of modules", pe: true, records: returnTo(stack + 1),
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 32 + .ra: 140728898420737; the return address is in no module"},
		{name: "no such address", records: "STACK CFI INIT 1025 b .cfa: $rsp 8 + .ra: .cfa -8 + ^",
			want: "none"},
		{name: "no return address", records: init + ".cfa: $rsp 8 +",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 8 +; rule of .ra: program leaves 0 values, want 1: malformed postfix program"},
		{name: "no memory", records: init + ".cfa: $rsp 8 + .ra: 16 ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 8 + .ra: 16 ^; rule of .ra: \"^\": word at 0x10: memory not readable: memory at 0x10: not mapped"},
		{name: "no such register", records: init + ".cfa: $nonsense 8 + .ra: .cfa ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $nonsense 8 + .ra: .cfa ^; rule of .cfa: \"+\": $nonsense: no value"},
		{name: "a register that is not known", records: init + ".cfa: $r12 8 + .ra: .cfa ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $r12 8 + .ra: .cfa ^; rule of .cfa: \"+\": $r12: no value"},
		{name: "nonsense", records: init + ".cfa: $rsp + .ra: .cfa ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp + .ra: .cfa ^; rule of .cfa: \"+\": missing operand: malformed postfix program"},
		{name: "a broken record", records: init + ".cfa",
			want: "none; symbol file of prog: STACK CFI INIT record at offset 0x3b: \".cfa\" is not a rule: malformed Breakpad symbol file"},
		{name: "a broken second record", records: init + ".cfa: $rsp 32 + .ra: .cfa -8 + ^\nSTACK CFI 1024 .cfa",
			want: "none; symbol file of prog: STACK CFI record for 0x1024: \".cfa\" is not a rule: malformed Breakpad symbol file"},
		{name: "lower", records: init + ".cfa: $rsp 16 - .ra: $rsp 24 + ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 16 - .ra: $rsp 24 + ^; the caller's stack pointer would be lower"},
		{name: "the same", records: init + ".cfa: $rsp .ra: $rsp 24 + ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp .ra: $rsp 24 + ^; the caller's stack pointer would be lower"},
		{name: "outermost", records: init + ".cfa: $rsp 8 + .ra: .undef",
			want: "bottom; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 8 + .ra: .undef; the return address is undefined: the outermost frame"},
		{name: "zero", records: init + ".cfa: $rsp 16 + .ra: .cfa 8 - ^",
			want: "bottom; STACK CFI of prog+0x1020..0x102b: .cfa: $rsp 16 + .ra: .cfa 8 - ^; the return address is zero (saved at 0x7ffe00000108): the bottom of the stack"},
		{name: "zero, far away", records: init + ".cfa: 4096 .ra: $rsp 8 + ^",
			want: "none; STACK CFI of prog+0x1020..0x102b: .cfa: 4096 .ra: $rsp 8 + ^; the return address is zero (saved at 0x7ffe00000108), but the CFA 0x1000 is not on the stack"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + 0x1024, "rsp": sp, "rbp": 0xb9, "rbx": 0x99, "rcx": bias + raCaller, "rsi": 0x77, "rdi": 0x88})
			p.put(sp+16, 0x51, bias+raCaller, 0, stack+0x800, bias+0x1021)
			p.put(stack+0x800-8, bias+raCaller)
			p.add(jit, libstate.Read|libstate.Exec, append(make([]byte, 11), 0xe8, 0, 0, 0, 0)) // ends with a call
			lib := p.program(libstate.Executable)
			lib.Module = &libstate.ModuleID{}
			if tc.pe {
				lib.Module.Format = libstate.FormatPE
			}
			p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
			w := walker(t, mapper{p}, nil, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(symFile(t, tc.records)))))
			for range 2 { // the second time from what was remembered
				if got := outcome(w, must(w.InitialFrame(1)), "rip", "rsp", "rbx", "rbp", "r12", "r13", "rsi", "rdi"); got != tc.want {
					t.Fatalf("%s\nwant %s", got, tc.want)
				}
			}
		})
	}
}

// A return address outside of code is kept only where the function's code shows that the
// rules are right: then the address was overwritten, otherwise the rules are those of
// another place. A zero ends the stack in any case.
func TestSymCFIOutsideOfCode(t *testing.T) {
	const sp, wild = stack + 0x100, 0x4141_4141
	byReg := "STACK CFI INIT 1020 b .cfa: $rcx 0 + .ra: .cfa -8 + ^"
	right := "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: .cfa -8 + ^"
	for _, tc := range []struct {
		name, rules string
		syms        unwind.SymbolReader
		ra          uint64
		want        string
	}{
		{"by a register that was reused", byReg, symbols(names), wild, "none"},
		{"by that register, in data", byReg, symbols(names), got, "none"},
		{"by that register, in code", byReg, symbols(names), bias + raCaller, "0x555500001009 sp 0x7ffe00000200 sym-cfi"},
		{"by that register, zero", byReg, symbols(names), 0, "bottom"},
		{"overwritten", right, symbols(names), wild, "0x41414141 sp 0x7ffe00000120 sym-cfi"},
		{"perhaps overwritten", right, nil, wild, "none"},
		{"overwritten by zero", right, nil, 0, "bottom"},
	} {
		p := newProc(map[string]uint64{"rip": bias + 0x1028, "rsp": sp, "rbp": sp + 16, "rcx": stack + 0x200})
		p.put(sp+24, tc.ra)
		p.put(stack+0x1f8, tc.ra)
		w := walker(t, mapper{p}, tc.syms, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(symFile(t, tc.rules)))))
		if got, _, _ := strings.Cut(outcome(w, must(w.InitialFrame(1))), ";"); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.name, got, tc.want)
		}
	}
}

// What is remembered of an address is not used for another one, or for another file.
func TestSymCFIRemembers(t *testing.T) {
	const sp, second, n = stack + 0x100, 0x9000_0000, 64
	p := newProc(nil)
	p.add(second, libstate.Read|libstate.Exec, make([]byte, 0x2000))
	for i := range uint64(2*n + 2) {
		p.put(sp+8*i, bias+raCaller)
	}
	other := &libstate.Library{Path: "/lib/b.so", Kind: libstate.SharedLibrary, Start: second, LoadBias: second, End: second + 0x2000, Mappings: []libstate.Mapping{p.at(second).m}}
	p.libs = libstate.NewTable([]*libstate.Library{p.program(libstate.Executable), other}, 0)
	var records [2][]string
	for i := range n {
		for j := range records {
			records[j] = append(records[j], fmt.Sprintf("STACK CFI INIT %x 1 .cfa: $rsp %d + .ra: .cfa -8 + ^", 0x1000+i, 8*(i+1)*(j+1)))
		}
	}
	w := walker(t, mapper{p}, nil, must(steppers.NewSymCFIStepper(arch.AMD64, imagesByPath{
		"/bin/prog": {Breakpad: symFile(t, records[0]...)}, "/lib/b.so": {Breakpad: symFile(t, records[1]...)}})))
	for i := range uint64(n) {
		for j, base := range []uint64{bias, second, bias, second} {
			p.setRegs(map[string]uint64{"rip": base + 0x1000 + i, "rsp": sp})
			want := sp + 8*(i+1)*(uint64(j)&1+1)
			if f, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err != nil || f.SP() != want {
				t.Errorf("from %#x: %v, %v; want SP %#x", base+0x1000+i, f, err, want)
			}
		}
	}
}

// The rules for a return address are those of the call before it, unless a signal's
// trampoline begins there.
func TestSymCFIAtReturnAddress(t *testing.T) {
	const sp = stack + 0x100
	const plain, signal = ".cfa: $rsp 8 + .ra: .cfa -8 + ^", ".cfa: $rsp 40 + ^ .ra: $rsp 48 + ^"
	for _, tc := range []struct {
		name, records string
		want          string
	}{
		{"no rules", "", "none"},
		{"rules for the call", "STACK CFI INIT 1020 4 " + plain, "caller"},
		{"rules for both", "STACK CFI INIT 1020 10 " + plain, "caller"},
		{"a function behind", "STACK CFI INIT 1024 10 " + plain, "none"},
		{"a trampoline behind", "STACK CFI INIT 1024 10 " + signal, "interrupted"},
		{"a function behind a call", "STACK CFI INIT 1020 4 " + plain + "\nSTACK CFI INIT 1024 10 .cfa: $rsp 16 + .ra: .cfa -8 + ^", "caller"},
		{"a trampoline behind a call", "STACK CFI INIT 1020 4 " + plain + "\nSTACK CFI INIT 1024 10 " + signal, "interrupted"},
		{"a trampoline within a function", "STACK CFI INIT 1020 10 " + plain + "\nSTACK CFI INIT 1024 10 " + signal, "caller"},
		{"within a trampoline, after a call", "STACK CFI INIT 1010 20 " + signal + "\nSTACK CFI INIT 1020 4 " + plain, "caller"},
		{"a broken record behind", "STACK CFI INIT 1020 4 " + plain + "\nSTACK CFI INIT 1024 10 .cfa", "caller"},
		{"a broken record", "STACK CFI INIT 1020 4 .cfa\nSTACK CFI INIT 1024 10 " + signal, "interrupted"},
		{"rules without an effect behind", "STACK CFI INIT 1020 4 " + plain + "\nSTACK CFI INIT 1024 10 .cfa: $rsp 40 + ^ .ra: 16 ^", "caller"},
	} {
		p := newProc(nil)
		p.put(sp, bias+raCaller, bias+raWrong)
		p.put(sp+40, stack+0x800, bias+0x1021)
		w := walker(t, mapper{p}, nil, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(symFile(t, tc.records)))))
		in := called(t, w, bias+0x1024, sp, 0)
		want := map[string]string{"none": "none", "caller": "0x555500001009 sp 0x7ffe00000108 sym-cfi", "interrupted": "0x555500001021 sp 0x7ffe00000800 signal, interrupted"}[tc.want]
		if got, _, _ := strings.Cut(outcome(w, in), ";"); got != want {
			t.Errorf("%s: %s; want %s; %q", tc.name, got, want, notes(in))
		}
	}
}

// Where calls leave the return address in a register, a signal's trampoline may find it
// anywhere, a caller may have the same stack pointer, and Windows keeps no more registers.
func TestSymCFIWithLinkRegister(t *testing.T) {
	const sp = foreignStack + 0x100
	for _, tc := range []struct {
		name, rules string
		pe          bool
		want        string
	}{
		{"a trampoline", ".cfa: sp 16 + ^ .ra: .cfa -8 + ^", false, "0x10000204 sp 0x20000180 signal, x4 0x44 in x4, interrupted"},
		{"a leaf", ".cfa: sp .ra: x30", false, "0x10000304 sp 0x20000100 sym-cfi, x4 lost"},
		{"a function of Windows", ".cfa: sp 32 + .ra: .cfa -8 + ^", true, "0x10000204 sp 0x20000120 sym-cfi, x4 lost"},
	} {
		p := newForeign(arch.ARM64, map[int][]uint32{0x200: {bl(0x200, 0x100)}, 0x300: {bl(0x300, 0x100)}})
		p.putWords(sp+16, sp+0x80, foreignCode+0x204)
		p.putWords(sp+0x78, foreignCode+0x204)
		p.set(map[arch.Reg]uint64{arch.ARM64.PC: foreignCode + 0x108, arch.ARM64SP: sp, arch.ARM64LR: foreignCode + 0x304, arch.ARM64X0 + 4: 0x44})
		lib, _ := p.libs.LibraryAt(foreignCode)
		if tc.pe {
			lib.Module = &libstate.ModuleID{Format: libstate.FormatPE}
		}
		rules := tc.rules
		if tc.name == "a trampoline" {
			rules += " x4: x4"
		}
		f := symFile(t, fmt.Sprintf("STACK CFI INIT %x 10 %s", foreignCode+0x100-lib.Start, rules))
		w := walker(t, p, nil, must(steppers.NewSymCFIStepper(arch.ARM64, resolveTo(f))))
		in := must(w.InitialFrame(1))
		if got, _, _ := strings.Cut(outcome(w, in, "x4"), ";"); got != tc.want {
			t.Errorf("%s: %s; want %s; %q", tc.name, got, tc.want, notes(in))
		}
	}
}

// A handler returns to the first byte of its trampoline, before which is another
// function's code.
func TestSymCFITrampolineBehindAFunction(t *testing.T) {
	const sp = stack + 0x100
	p := newProc(map[string]uint64{"rip": bias + 0x1024, "rsp": sp})
	p.put(sp, bias+restorer1)
	p.put(sp+8+40, stack+0x800, bias+raCaller)
	f := symFile(t, "STACK CFI INIT 1020 b .cfa: $rsp 8 + .ra: .cfa -8 + ^", fmt.Sprintf("STACK CFI INIT %x 10 .cfa: $rsp 8 + .ra: 1 ^", restorer1-0x10),
		fmt.Sprintf("STACK CFI INIT %x 9 .cfa: $rsp 40 + ^ .ra: $rsp 48 + ^", restorer1))
	s, _ := walker(t, mapper{p}, nil, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(f)))).WalkStack(1)
	if len(s.Frames) != 3 || !s.Frames[1].IsTrampoline() || !s.Frames[2].NonCall() || s.Frames[2].RA() != bias+raCaller || s.Frames[2].SP() != stack+0x800 {
		t.Errorf("%v", s.Frames)
	}
}

// The names of registers in symbol files, as far as they are not ours.
func TestSymCFIRegisterNames(t *testing.T) {
	for _, tc := range []struct {
		a     *arch.Arch
		name  string
		wants arch.Reg
	}{
		{arch.ARM, "lr", arch.ARMLR}, {arch.ARM, "fp", arch.ARMFP}, {arch.ARM, "r14", arch.ARMLR}, {arch.ARM, "ip", arch.ARMIP},
		{arch.ARM, "r15", arch.ARMPC}, {arch.ARM, "r13", arch.ARMSP}, {arch.ARM64, "fp", arch.ARM64FP}, {arch.ARM64, "lr", arch.ARM64.RA},
		{arch.ARM64, "v8", arch.ARM64D8}, {arch.ARM64, "v16", arch.NoReg}, {arch.MIPSEL, "s8", arch.MIPSEL.FP}, {arch.RISCV64, "fp", arch.RISCV64.FP},
		{arch.PPC, "srr0", arch.PPC.PC}, {arch.PPC, "sp", arch.PPC.SP}, {arch.X86, "fp", arch.NoReg}, {arch.AMD64, "pc", arch.RIP}, {arch.AMD64, "srr0", arch.NoReg}, {arch.X86, "ra", arch.NoReg}, {arch.ARM, "v8", arch.NoReg},
		{arch.M68K, "v3", arch.NoReg}, {arch.ARM64, "q8", arch.NoReg}, {arch.ARM, "r16", arch.NoReg}, {arch.RISCV64, "ip", arch.NoReg}, {arch.AMD64, "xmm6", arch.NoReg},
	} {
		if r, ok := steppers.SymReg(tc.a, tc.name); ok != (tc.wants != arch.NoReg) || ok && r != tc.wants {
			t.Errorf("%s: %s is %s %t", tc.a.Name, tc.name, tc.a.RegName(r), ok)
		}
	}
}

func TestSymCFIParameters(t *testing.T) {
	if _, err := steppers.NewSymCFIStepper(arch.AMD64, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	if _, err := steppers.NewSymCFIStepper(nil, resolveTo(nil)); !errors.Is(err, unwind.ErrBadParam) {
		t.Error(err)
	}
	p := newProc(map[string]uint64{"rip": bias + 0x1024, "rsp": stack})
	if s, _ := walker(t, p, nil, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(nil)))).WalkStack(1); len(s.Frames) != 1 {
		t.Errorf("%d frames without a symbol file", len(s.Frames))
	}
}

// FuzzSymCFI steps by arbitrary rules: whatever they say, a step goes up the stack or to
// another one, and a walk ends.
func FuzzSymCFI(f *testing.F) {
	f.Add(".cfa: $rsp 8 + .ra: .cfa -8 + ^", "$rbp: .cfa 16 - ^", uint64(bias+raCaller))
	f.Add(".cfa: $rsp ^ .ra: $rsp 8 + ^ $rsp: $rbp", "$rip: $rsp ^", uint64(stack))
	f.Fuzz(func(t *testing.T, init, more string, word uint64) {
		p := newProc(map[string]uint64{"rip": bias + 0x1024, "rsp": stack + 0x100, "rbp": stack + 0x180})
		for i := range uint64(64) {
			p.put(stack+0x100+8*i, word+i*uint64(i%3)*8)
		}
		file := symFile(t, "STACK CFI INIT 0 5000 "+init, "STACK CFI 1 "+more)
		w := must(unwind.NewWalker(mapper{p}, unwind.WithMaxFrames(256)))
		w.AddStepper(must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(file))))
		s, _ := w.WalkStack(1)
		for i, g := range s.Frames[1:] {
			if g.SP() <= s.Frames[i].SP() && p.at(g.SP()) == p.at(s.Frames[i].SP()) {
				t.Errorf("frame %d: %v follows %v", i+1, g, s.Frames[i])
			}
		}
	})
}
