package steppers_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Mono's handler goes on with a copy of the registers, which is right above its frame, or where a register leads.
func TestMonoContext(t *testing.T) {
	const (
		sp     = stack + 0x100
		cfa    = sp + 0x40
		above  = cfa + 32
		apart  = stack + 0x800
		failed = bias + fnOther
		old    = cfa + 0x1c8 // the stack pointer of the code that failed
	)
	tests := []struct {
		name   string
		path   string // of the library
		at     uint64 // the copy
		change func(p *proc)
		calls  bool // the frame is like others
	}{
		{name: "above the frame", at: above},
		{name: "where a register leads", at: apart},
		{name: "another library", path: "/lib/libmoon.so", at: above, calls: true},
		{name: "other code", at: above, change: func(p *proc) { p.put(above+16*8, failed+1) }, calls: true},
		{name: "other code where a register leads", at: apart, change: func(p *proc) { p.put(apart+16*8, failed+1) }, calls: true},
		{name: "another stack", at: above, change: func(p *proc) { p.put(above+4*8, cfa+0x1000) }, calls: true},
		{name: "below the frame", at: above, change: func(p *proc) { p.put(above+4*8, cfa-8) }, calls: true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p := newProc(map[string]uint64{"rip": bias + fnCallee + 8, "rsp": sp, "rbx": apart, "r12": 0x12})
			lib, _ := p.libs.LibraryAt(bias)
			if lib.Path = tc.path; tc.path == "" {
				lib.Path = "/usr/lib/libmonosgen-2.0.so.1"
			}
			p.put(cfa-8, failed)
			for i := range 17 {
				p.put(tc.at+8*uint64(i), 0x100+uint64(i))
			}
			p.put(tc.at+4*8, old)
			p.put(tc.at+16*8, failed)
			if tc.change != nil {
				tc.change(p)
			}
			stepper := debugStepper(buildImage(t, func(eh, _ *cfitest.Section) {
				eh.AddFDE(eh.AddCIE(cfitest.CIE{Insns: plain()}), fnCallee, 11, new(cfitest.Program).DefCFAOffset(0x40))
			}))
			for i := range 3 { // a row that comes back is applied in another form
				w := must(unwind.NewWalker(p))
				if err := w.AddStepper(stepper); err != nil {
					t.Fatal(err)
				}
				in := must(w.InitialFrame(1))
				f, err := w.WalkSingleFrame(in)
				if err != nil {
					t.Fatal(err)
				}
				saved, ok := steppers.SignalAt(in)
				if tc.calls {
					if f.SP() != cfa || f.Trust() != unwind.TrustCFI || in.IsTrampoline() || ok {
						t.Errorf("%d: stack pointer %#x, trust %v, a signal: %t", i, f.SP(), f.Trust(), ok)
					}
					continue
				}
				r15, loc, _ := f.Reg(arch.R15)
				if f.RA() != failed || f.SP() != old || f.Trust() != unwind.TrustSignal || !f.NonCall() || !in.IsTrampoline() {
					t.Errorf("%d: at %#x, stack pointer %#x, trust %v", i, f.RA(), f.SP(), f.Trust())
				}
				if r15 != 0x10f || loc != unwind.AtAddress(tc.at+15*8) {
					t.Errorf("%d: r15 = %#x %s", i, r15, loc.Describe(arch.AMD64))
				}
				if got, _ := in.CFA(); got != cfa || !ok || saved.Trap.Kind != steppers.TrapAccess || saved.Trap.HasAddr {
					t.Errorf("%d: CFA %#x, signal %+v (%t)", i, got, saved, ok)
				}
			}
		})
	}
}
