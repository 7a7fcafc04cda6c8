package steppers_test

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// gregs are the registers of struct ucontext's gregset from byte 40 on, as the C
// library's <sys/ucontext.h> numbers them.
var gregs = []arch.Reg{arch.R8, arch.R9, arch.R10, arch.R11, arch.R12, arch.R13, arch.R14, arch.R15, arch.RDI, arch.RSI,
	arch.RBP, arch.RBX, arch.RDX, arch.RAX, arch.RCX, arch.RSP, arch.RIP, arch.EFLAGS}

// putContext writes a signal frame's struct ucontext; register i is 0x1000+i.
func putContext(p *proc, addr uint64) {
	for i := range gregs {
		p.put(addr+40+uint64(8*i), 0x1000+uint64(i))
	}
	p.put(addr+40+18*8, 0x2b<<48|0x33) // ss, fs, gs, cs
}

func sigHandler() *steppers.SigHandlerStepper {
	return must(steppers.NewSigHandlerStepper(arch.AMD64))
}

func TestSigHandlerRestoresEverything(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + fnLeaf, "rsp": stack, "fs_base": 0x7000})
	uc := uint64(stack + 0x100)
	putContext(p, uc)
	w := walker(t, p, nil, sigHandler())
	in := called(t, w, bias+restorer1, uc, 0)
	in.SetReg(arch.FSBase, 0x7000, unwind.InRegister(arch.FSBase))
	in.SetReg(arch.RBX, 0xbad, unwind.Location{})
	f, err := w.WalkSingleFrame(in)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range gregs {
		v, loc, ok := f.Reg(r)
		if !ok || v != 0x1000+uint64(i) || loc != unwind.AtAddress(uc+40+uint64(8*i)) {
			t.Errorf("%s = %#x at %v (%v); want %#x at %#x", arch.AMD64.RegName(r), v, loc, ok, 0x1000+i, uc+40+uint64(8*i))
		}
	}
	if v, _, _ := f.Reg(arch.CS); v != 0x33 {
		t.Errorf("cs = %#x; want 0x33", v)
	}
	if v, _, _ := f.Reg(arch.SS); v != 0x2b {
		t.Errorf("ss = %#x; want 0x2b", v)
	}
	if v, _, ok := f.Reg(arch.FSBase); !ok || v != 0x7000 {
		t.Errorf("fs_base = %#x, %v; want it kept", v, ok)
	}
	if !f.NonCall() || f.Trust() != unwind.TrustSignal || !in.IsTrampoline() {
		t.Errorf("non-call %v, trust %v, trampoline %v", f.NonCall(), f.Trust(), in.IsTrampoline())
	}
	if f.LookupAddr() != f.RA() {
		t.Errorf("looked up at %#x; the interrupted pc is %#x", f.LookupAddr(), f.RA())
	}
}

func TestSigHandlerRecognises(t *testing.T) {
	tests := []struct {
		name string
		pc   uint64
		top  bool
		want bool
	}{
		{"returned to, long form", bias + restorer1, false, true},
		{"returned to, short form", bias + restorer2, false, true},
		{"about to run", bias + restorer1, true, true},
		{"at the system call", bias + restorer1 + 7, true, true},
		{"at the system call, short form", bias + restorer2 + 5, true, true},
		{"returned to the system call", bias + restorer1 + 7, false, false},
		{"not at an instruction", bias + restorer1 + 3, true, false},
		{"other code", bias + fnCallee, true, false},
		{"return address of a call", bias + raCaller, false, false},
		{"no code", 0x10, true, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			uc := uint64(stack + 0x100)
			p := newProc(map[string]uint64{"rip": tc.pc, "rsp": uc})
			putContext(p, uc)
			w := walker(t, p, nil, sigHandler())
			in := called(t, w, tc.pc, uc, 0)
			if tc.top {
				in = must(w.InitialFrame(1))
			}
			_, err := w.WalkSingleFrame(in)
			if got := err == nil; got != tc.want {
				t.Errorf("recognised: %v (%v); want %v", got, err, tc.want)
			}
		})
	}
}

func TestSigHandlerAtEndOfMapping(t *testing.T) {
	for _, code := range [][]byte{text[restorer1], text[restorer2]} {
		p := newProc(map[string]uint64{"rip": 0x9000_0000 + 0x10, "rsp": stack + 0x100})
		p.add(0x9000_0000, libstate.Read|libstate.Exec, append(make([]byte, 0x10), code...))
		putContext(p, stack+0x100)
		w := walker(t, p, nil, sigHandler())
		if _, err := w.WalkSingleFrame(must(w.InitialFrame(1))); err != nil {
			t.Errorf("restorer % x at the end of a mapping: %v", code, err)
		}
	}
}

func TestSigHandlerBySymbol(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + restorer1, "rsp": stack + 0x100})
	putContext(p, stack+0x100)
	p.segs[1].data = nil // the code is not in the dump
	for name, want := range map[string]bool{"__restore_rt": true, "elsewhere": false, "": false} {
		w := walker(t, p, symbols(names).renamed("__restore_rt", name), sigHandler())
		if _, err := w.WalkSingleFrame(called(t, w, bias+restorer1, stack+0x100, 0)); (err == nil) != want {
			t.Errorf("symbol %q: %v; want a frame: %v", name, err, want)
		}
		if _, err := w.WalkSingleFrame(called(t, w, bias+restorer1+4, stack+0x100, 0)); err == nil {
			t.Errorf("symbol %q: a return into the middle was taken for a handler's", name)
		}
	}
}

func TestSigHandlerUnreadable(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + restorer1, "rsp": stack + stackLen - 0x80})
	w := walker(t, p, nil, sigHandler())
	in := must(w.InitialFrame(1))
	if _, err := w.WalkSingleFrame(in); err == nil {
		t.Fatal("a signal frame past the end of the stack was walked")
	}
	if got := strings.Join(notes(in), "; "); !strings.Contains(got, "0x7ffe00004020") || !strings.Contains(got, "not mapped") {
		t.Errorf("notes %q do not say what could not be read, and why", got)
	}
}

func BenchmarkSigHandlerDeclines(b *testing.B) {
	p := newProc(map[string]uint64{"rip": bias + fnCallee, "rsp": stack})
	w, _ := unwind.NewWalker(p)
	in, out := must(w.InitialFrame(1)), called(b, w, 0, 0, 0)
	s := sigHandler()
	b.ReportAllocs()
	for b.Loop() {
		s.CallerFrame(in, out)
	}
}
