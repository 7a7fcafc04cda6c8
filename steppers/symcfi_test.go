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

func TestSymCFI(t *testing.T) {
	const sp = stack + 0x100
	for _, tc := range []struct {
		name, records string
		pe            bool
		want          string // "" where the stepper declines
		bottom        bool
	}{
		{name: "plain", records: "STACK CFI INIT 1020 b .cfa: $rsp 8 + .ra: .cfa -8 + ^\nSTACK CFI 1024 .cfa: $rsp 32 + $rbx: .cfa 16 - ^ $r12: $rbx $r13: .cfa 7 +",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rbx 0x51 saved at 0x7ffe00000110, rbp 0xb9 in rbp, r12 0x99 in rbx, r13 0x7ffe00000127, rsi lost"},
		{name: "of Windows", pe: true, records: "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: .cfa -8 + ^",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi 0x77 in rsi"},
		{name: "what cannot be worked out is lost", records: "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: .cfa -8 + ^ $rbx: 1 ^ $rbp: .undef nonsense: 7",
			want: "0x555500001009 sp 0x7ffe00000120 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rbx lost, rbp lost, r12 lost, r13 lost, rsi lost"},
		{name: "a stack pointer of its own", records: "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: .cfa -8 + ^ $rsp: .cfa 16 +",
			want: "0x555500001009 sp 0x7ffe00000130 sym-cfi, rip 0x555500001009 saved at 0x7ffe00000118, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost"},
		{name: "trampoline of a signal", records: "STACK CFI INIT 1020 b .cfa: $rsp 40 + ^ .ra: $rsp 48 + ^",
			want: "0x555500001021 sp 0x7ffe00000800 signal, rip 0x555500001021 saved at 0x7ffe00000130, rbx 0x99 in rbx, rbp 0xb9 in rbp, r12 lost, r13 lost, rsi lost"},
		{name: "no such address", records: "STACK CFI INIT 1021 b .cfa: $rsp 8 + .ra: .cfa -8 + ^"},
		{name: "no return address", records: "STACK CFI INIT 1020 b .cfa: $rsp 8 +"},
		{name: "no memory", records: "STACK CFI INIT 1020 b .cfa: $rsp 8 + .ra: 16 ^"},
		{name: "nonsense", records: "STACK CFI INIT 1020 b .cfa: $rsp + .ra: .cfa ^"},
		{name: "lower", records: "STACK CFI INIT 1020 b .cfa: $rsp 16 - .ra: $rsp 24 + ^"},
		{name: "the same", records: "STACK CFI INIT 1020 b .cfa: $rsp .ra: $rsp 24 + ^"},
		{name: "into nothing", records: "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: 4095"},
		{name: "out of all modules", pe: true, records: "STACK CFI INIT 1020 b .cfa: $rsp 32 + .ra: 4096"},
		{name: "outermost", records: "STACK CFI INIT 1020 b .cfa: $rsp 8 + .ra: .undef", bottom: true},
		{name: "zero", records: "STACK CFI INIT 1020 b .cfa: $rsp 16 + .ra: .cfa 8 - ^", bottom: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + 0x1024, "rsp": sp, "rbp": 0xb9, "rbx": 0x99, "rsi": 0x77})
			p.put(sp+16, 0x51, bias+raCaller, 0, stack+0x800, bias+0x1021)
			if tc.name == "no such address" {
				p.setRegs(map[string]uint64{"rip": bias + 0x1020})
			}
			lib := p.program(libstate.Executable)
			if tc.pe {
				lib.Module = &libstate.ModuleID{Format: libstate.FormatPE}
			}
			p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
			w := walker(t, mapper{p}, nil, must(steppers.NewSymCFIStepper(arch.AMD64, resolveTo(symFile(t, tc.records)))))
			in := must(w.InitialFrame(1))
			for range 2 { // the second time from what was remembered
				out, err := w.WalkSingleFrame(in)
				if errors.Is(err, unwind.ErrStackBottom) != tc.bottom {
					t.Fatalf("%v; %v", err, notes(in))
				}
				got := ""
				if out != nil {
					got = frameText(out, "rip", "rbx", "rbp", "r12", "r13", "rsi")
				}
				if got != tc.want {
					t.Fatalf("%s\nwant %s\n%v", got, tc.want, notes(in))
				}
			}
		})
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
		{arch.PPC, "srr0", arch.PPC.PC}, {arch.PPC, "sp", arch.PPC.SP}, {arch.X86, "fp", arch.NoReg}, {arch.AMD64, "xmm6", arch.NoReg},
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
