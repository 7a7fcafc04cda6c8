package steppers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// DWARF numbers of the registers that tests use.
const (
	dwRBX, dwRBP, dwRSP, dwR12, dwR13, dwR14, dwR15, dwRA = 3, 6, 7, 12, 13, 14, 15, 16
)

// debugStepper makes a stepper that resolves the fake program to im.
func debugStepper(im *image.Image) *steppers.DebugStepper {
	return must(steppers.NewDebugStepper(arch.AMD64, fileOfAll{im}))
}

// A reg is a register's expected value and where it was found; at 0 is computed.
type reg struct{ v, at uint64 }

func TestDebugStepperRules(t *testing.T) {
	const sp = stack + 0x100
	tests := []struct {
		name string
		prog *cfitest.Program // of callee's FDE, after rsp+8 and the return address
		put  map[uint64]uint64
		want map[arch.Reg]reg // what the caller has
		lost []arch.Reg       // what is unknown there
	}{
		{
			name: "offsets from the stack pointer",
			prog: new(cfitest.Program).DefCFAOffset(32).Offset(dwRBX, 2).Offset(dwRBP, 3),
			put:  map[uint64]uint64{sp + 8: 0xb9, sp + 16: 0xb0, sp + 24: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp + 24}, arch.RSP: {sp + 32, 0}, arch.RBX: {0xb0, sp + 16},
				arch.RBP: {0xb9, sp + 8}, arch.R12: {0x12, 0}},
			lost: []arch.Reg{arch.RAX, arch.RDI},
		},
		{
			name: "frame pointer",
			prog: new(cfitest.Program).DefCFA(dwRBP, 16).Offset(dwRBP, 2),
			put:  map[uint64]uint64{stack + 0x200: 0xf9, stack + 0x208: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, stack + 0x208}, arch.RSP: {stack + 0x210, 0}, arch.RBP: {0xf9, stack + 0x200}},
		},
		{
			name: "expressions",
			prog: new(cfitest.Program).
				DefCFAExpression(0x77, 0x10). // DW_OP_breg7 16
				OffsetSF(dwRA, 1).
				Expression(dwRBX, 0x23, 0x08).          // DW_OP_plus_uconst 8, on the CFA
				ValExpression(dwR12, 0x77, 0x00, 0x06). // DW_OP_breg7 0; DW_OP_deref
				ValOffset(dwR13, 2).
				Register(dwR14, dwR15),
			put: map[uint64]uint64{sp: 0x5a5a, sp + 8: bias + raCaller, sp + 24: 0xeb},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp + 8}, arch.RSP: {sp + 16, 0}, arch.RBX: {0xeb, sp + 24},
				arch.R12: {0x5a5a, 0}, arch.R13: {sp, 0}, arch.R14: {0x15, 0}, arch.R15: {0x15, 0}},
		},
		{
			name: "undefined and unchanged",
			prog: new(cfitest.Program).Undefined(dwRBX).SameValue(dwR12).SameValue(0),
			put:  map[uint64]uint64{sp: bias + raCaller},
			want: map[arch.Reg]reg{arch.R12: {0x12, 0}, arch.RAX: {0xa, 0}},
			lost: []arch.Reg{arch.RBX},
		},
		{
			name: "stack pointer by a rule of its own",
			prog: new(cfitest.Program).DefCFAOffset(16).ValOffset(dwRSP, 4),
			put:  map[uint64]uint64{sp + 8: bias + raCaller},
			want: map[arch.Reg]reg{arch.RSP: {sp - 16, 0}},
		},
		{
			name: "a saved register that cannot be read",
			prog: new(cfitest.Program).Expression(dwRBX, 0x31).Expression(dwRBP, 0x31), // DW_OP_lit1
			put:  map[uint64]uint64{sp: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp}},
			lost: []arch.Reg{arch.RBX, arch.RBP},
		},
		{
			name: "a saved register outside the memory",
			prog: new(cfitest.Program).DefCFAOffset(16).Offset(dwRBX, 2).OffsetSF(dwRBP, -0x100000),
			put:  map[uint64]uint64{sp: 0xb0, sp + 8: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp + 8}, arch.RBX: {0xb0, sp}},
			lost: []arch.Reg{arch.RBP},
		},
		{
			name: "an expression that makes no sense",
			prog: new(cfitest.Program).ValExpression(dwRBX, 0x22), // DW_OP_plus with one operand
			put:  map[uint64]uint64{sp: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp}},
			lost: []arch.Reg{arch.RBX},
		},
		{
			name: "vector registers are passed over",
			prog: new(cfitest.Program).DefCFAOffset(16).Offset(17, 9).Offset(1000, 2),
			put:  map[uint64]uint64{sp + 8: bias + raCaller},
			want: map[arch.Reg]reg{arch.RIP: {bias + raCaller, sp + 8}},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": sp, "rbp": stack + 0x200, "rax": 0xa, "rbx": 0xb, "rdi": 0xd1,
				"r12": 0x12, "r13": 0x13, "r14": 0x14, "r15": 0x15})
			for at, v := range tc.put {
				p.put(at, v)
			}
			im := buildImage(t, func(eh, _ *cfitest.Section) {
				eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, tc.prog)
			})
			stepper := debugStepper(im)
			for i := range 3 { // a row that comes back is applied in another form, unless the walk explains itself
				w := must(unwind.NewWalker(p))
				if i == 0 {
					w = walker(t, p, nil, stepper)
				} else if err := w.AddStepper(stepper); err != nil {
					t.Fatal(err)
				}
				in := must(w.InitialFrame(1))
				f, err := w.WalkSingleFrame(in)
				if err != nil {
					t.Fatalf("%v; %q", err, notes(in))
				}
				for r, want := range tc.want {
					v, loc, ok := f.Reg(r)
					if !ok || v != want.v || want.at != 0 && loc != unwind.AtAddress(want.at) || want.at == 0 && loc.Kind == unwind.LocAddress {
						t.Errorf("%s = %#x %s (%v); want %#x at %#x", arch.AMD64.RegName(r), v, loc.Describe(arch.AMD64), ok, want.v, want.at)
					}
				}
				for _, r := range tc.lost {
					if v, _, ok := f.Reg(r); ok {
						t.Errorf("%s = %#x; want it unknown", arch.AMD64.RegName(r), v)
					}
				}
				if cfa, ok := in.CFA(); f.Trust() != unwind.TrustCFI || !ok || cfa == 0 || f.NonCall() {
					t.Errorf("trust %v, CFA %#x (%v), non-call %v", f.Trust(), cfa, ok, f.NonCall())
				}
			}
		})
	}
}

func TestDebugStepperDeclines(t *testing.T) {
	const sp = stack + 0x100
	tests := []struct {
		name   string
		prog   *cfitest.Program
		noFile bool
		sp, pc uint64
		bottom bool
		note   string // part of what it says
	}{
		{name: "undefined return address", prog: new(cfitest.Program).Undefined(dwRA), bottom: true, note: "undefined"},
		{name: "no rule for the return address", prog: new(cfitest.Program).Register(dwRA, 60), bottom: true},
		{name: "return address in a register that is not known", prog: new(cfitest.Program).Register(dwRA, 5), note: "return address: "},
		{name: "return address by an expression that makes no sense", prog: new(cfitest.Program).ValExpression(dwRA, 0x22), note: "return address: "},
		{name: "return address of zero", prog: new(cfitest.Program), bottom: true, note: "zero (saved at 0x7ffe00000100)"},
		{name: "return address of zero beside the stack", prog: new(cfitest.Program).DefCFA(dwRBX, 8), note: "not on the stack"},
		{name: "no CFA", prog: new(cfitest.Program).DefCFA(60, 8), note: "CFA"},
		{name: "unreadable return address", prog: new(cfitest.Program), sp: 0x4000, note: "0x4000: not mapped"},
		{name: "no file", noFile: true, note: "no file that matches /bin/prog"},
		{name: "no FDE", pc: bias + fnOther, note: "/bin/prog+0x10a0: no FDE"},
		{name: "no library", pc: 0x10, note: "0x10 is in no library"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": sp, "rbx": got + 0x100})
			if tc.sp != 0 {
				p.setRegs(map[string]uint64{"rsp": tc.sp})
			}
			if tc.pc != 0 {
				p.setRegs(map[string]uint64{"rip": tc.pc})
			}
			var im *image.Image
			if !tc.noFile {
				im = buildImage(t, func(eh, _ *cfitest.Section) {
					eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, tc.prog)
				})
			}
			stepper := debugStepper(im)
			w := walker(t, mapper{p}, nil, stepper)
			in := must(w.InitialFrame(1))
			_, err := w.WalkSingleFrame(in)
			want := unwind.ErrNoStepper
			if tc.bottom {
				want = unwind.ErrStackBottom
			}
			if !errors.Is(err, want) {
				t.Errorf("%v; want %v", err, want)
			}
			quiet := must(unwind.NewWalker(mapper{p}))
			if err := quiet.AddStepper(stepper); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if f, err := quiet.WalkSingleFrame(must(quiet.InitialFrame(1))); !errors.Is(err, want) {
					t.Errorf("again: %v, %v; want %v", f, err, want)
				}
			}
			if got := strings.Join(notes(in), "\n"); !strings.Contains(got, tc.note) {
				t.Errorf("notes %q do not say %q", got, tc.note)
			}
		})
	}
}

func TestDebugStepperWhichRow(t *testing.T) {
	const sp = stack + 0x100
	ret := func(n uint64) *cfitest.Program { return new(cfitest.Program).DefCFA(dwRSP, n).OffsetSF(dwRA, 1) }
	im := buildImage(t, func(eh, df *cfitest.Section) {
		// CFA offsets tell the rows apart; the return address is at CFA-8.
		c := eh.AddCIE(cfitest.CIE{Insns: plain()})
		eh.AddFDE(c, 0x1100, 0x10, ret(0x10))
		eh.AddFDE(c, 0x1110, 0x10, ret(0x20))
		s := eh.AddCIE(cfitest.CIE{Aug: "zRS", Insns: plain()})
		eh.AddFDE(s, 0x1120, 0x10, ret(0x30))
		eh.AddFDE(s, 0x1140, 0x10, ret(0x40))
		d := df.AddCIE(cfitest.CIE{Insns: plain()})
		df.AddFDE(d, 0x1100, 0x10, ret(0x50))
		df.AddFDE(d, 0x1160, 0x10, ret(0x60))
		eh.AddFDE(c, 0x11b0, 0x10, ret(0x70))
		eh.AddFDE(s, 0x11c0, 0x10, ret(0x80))
		eh.AddFDE(s, 0, 0x10, ret(0x90)) // the library's first bytes
	})
	tests := []struct {
		name   string
		ra     uint64
		top    bool
		cfa    uint64 // 0: none
		signal bool
	}{
		{name: "call inside a function", ra: 0x1105, cfa: 0x10},
		{name: "call that is a function's last instruction", ra: 0x1110, cfa: 0x10},
		{name: "interrupted at a function's first instruction", ra: 0x1110, top: true, cfa: 0x20},
		{name: "trampoline right after a function", ra: 0x1120, cfa: 0x30, signal: true},
		{name: "trampoline right after nothing", ra: 0x1140, cfa: 0x40, signal: true},
		{name: "inside a trampoline", ra: 0x1148, top: true, cfa: 0x40, signal: true},
		{name: ".debug_frame alone", ra: 0x1165, cfa: 0x60},
		{name: "call that returns to nothing", ra: 0x1170, cfa: 0x60},
		{name: "return to a function's first byte, after nothing", ra: 0x1160},
		{name: ".debug_frame alone, interrupted", ra: 0x1164, top: true, cfa: 0x60},
		{name: "trampoline right after nothing, again", ra: 0x1140, cfa: 0x40, signal: true},
		{name: "nothing", ra: 0x1180},
		{name: "interrupted at a function's last byte", ra: 0x11bf, top: true, cfa: 0x70},
		{name: "trampoline right after that", ra: 0x11c0, cfa: 0x80, signal: true},
		{name: "trampoline where the library begins", ra: 0, cfa: 0x90, signal: true},
	}
	kept := debugStepper(im) // a stepper remembers rows
	libs := newProc(nil).libs
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, s := range []*steppers.DebugStepper{debugStepper(im), kept} {
				p := newProc(map[string]uint64{"rip": bias + tc.ra, "rsp": sp})
				p.libs = libs // one library: the same memory
				for at := uint64(0x10); at <= 0x90; at += 0x10 {
					p.put(sp+at-8, bias+raCaller)
				}
				w := walker(t, p, nil, s)
				in := called(t, w, bias+tc.ra, sp, 0)
				if tc.top {
					in = must(w.InitialFrame(1))
				}
				f, err := w.WalkSingleFrame(in)
				if tc.cfa == 0 {
					if !errors.Is(err, unwind.ErrNoStepper) {
						t.Errorf("%v, %v; want no stepper", f, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%v; %q", err, notes(in))
				}
				if f.SP() != sp+tc.cfa {
					t.Errorf("CFA is SP+%#x; want +%#x", f.SP()-sp, tc.cfa)
				}
				if f.NonCall() != tc.signal || in.IsTrampoline() != tc.signal || (f.Trust() == unwind.TrustSignal) != tc.signal {
					t.Errorf("non-call %v, trampoline %v, trust %v; want signal %v", f.NonCall(), in.IsTrampoline(), f.Trust(), tc.signal)
				}
			}
		})
	}
}

// TestDebugStepperRemembers walks the same code on two stacks, and at another
// bias, with one stepper.
func TestDebugStepperRemembers(t *testing.T) {
	im := buildImage(t, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).ValExpression(dwRBX, 0x03, 0x10, 0, 0, 0, 0, 0, 0, 0))
	})
	s := debugStepper(im)
	for _, shift := range []uint64{0, 0, 0x1000_0000} {
		p := newProc(map[string]uint64{"rip": bias + shift + fnCallee, "rsp": stack + 0x100})
		lib := p.program(libstate.Executable)
		lib.LoadBias, lib.Start, lib.End = lib.LoadBias+shift, lib.Start+shift, lib.End+shift
		for i := range lib.Mappings {
			lib.Mappings[i].Start += shift
			lib.Mappings[i].End += shift
		}
		p.libs = libstate.NewTable([]*libstate.Library{lib}, 0)
		p.put(stack+0x100, bias+raCaller, bias+raWrong)
		w := walker(t, p, nil, s)
		for range 3 {
			f, err := w.WalkSingleFrame(must(w.InitialFrame(1)))
			if err != nil {
				t.Fatal(err)
			}
			// DW_OP_addr 16 is an address of the file.
			if v, _, _ := f.Reg(arch.RBX); v != bias+shift+0x10 {
				t.Errorf("bias %#x: rbx = %#x; want %#x", bias+shift, v, bias+shift+0x10)
			}
		}
	}
}

// stepSetup makes a stepper and two frames to call it with.
func stepSetup(tb testing.TB) (s *steppers.DebugStepper, in, out *unwind.Frame) {
	im := buildImage(tb, func(eh, _ *cfitest.Section) {
		eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11,
			new(cfitest.Program).DefCFAOffset(48).Offset(dwRBX, 2).Offset(dwRBP, 3).Offset(dwR12, 4).Expression(dwR13, 0x38, 0x1c))
	})
	p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": stack + 0x100})
	p.put(stack+0x100, 1, 2, 3, 4, 5, bias+raCaller)
	w, err := unwind.NewWalker(p)
	if err != nil {
		tb.Fatal(err)
	}
	return debugStepper(im), must(w.InitialFrame(1)), called(tb, w, 0, 0, 0)
}

func TestDebugStepperAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget")
	}
	s, in, out := stepSetup(t)
	n := testing.AllocsPerRun(200, func() {
		if s.CallerFrame(in, out) != unwind.StatusSuccess {
			t.Fatal("no caller")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations a step; want none", n)
	}
}

func BenchmarkDebugStepper(b *testing.B) {
	s, in, out := stepSetup(b)
	b.ReportAllocs()
	for b.Loop() {
		s.CallerFrame(in, out)
	}
}
