package unwind_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestNewFrame(t *testing.T) {
	w := mustWalker(newProc(1, 2, 3), nil)
	f, err := unwind.NewFrame(0x10, 0x20, 0x30, w)
	if err != nil {
		t.Fatal(err)
	}
	if f.RA() != 0x10 || f.SP() != 0x20 || f.FP() != 0x30 || f.Walker() != w || f.Thread() != unwind.NullThread {
		t.Errorf("%v, thread %d", f, f.Thread())
	}
	if (f.RALocation() != unwind.Location{}) || f.IsTopFrame() || f.IsBottomFrame() || f.NonCall() || f.IsTrampoline() || f.Stepper() != nil || f.PrevFrame() != nil {
		t.Error("a made frame knows what it cannot know")
	}
	if _, err := unwind.NewFrame(1, 2, 3, nil); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("without a walker: %v", err)
	}
	if f.LookupAddr() != 0xf {
		t.Errorf("looked up at %#x; it made a call", f.LookupAddr())
	}
	f.SetRA(0)
	if f.LookupAddr() != 0 {
		t.Errorf("a return address of 0 is looked up at %#x", f.LookupAddr())
	}
}

func TestSetters(t *testing.T) {
	w := mustWalker(deepStack(3, 32, 0x400500), nil, stepper("fp", 1, byFP))
	f, _ := unwind.NewFrame(1, 2, 3, w)
	at := unwind.AtAddress(0x99)
	// Locations and values can be set in any order.
	f.SetRALocation(at)
	f.SetRA(0x11)
	f.SetFP(0x13)
	f.SetFPLocation(unwind.InRegister(arch.RBP))
	f.SetSPLocation(at)
	if f.RALocation() != at || f.RA() != 0x11 || f.FPLocation() != unwind.InRegister(arch.RBP) || f.SPLocation() != at || f.SP() != 2 {
		t.Errorf("%v, %v, %v, %v", f, f.RALocation(), f.SPLocation(), f.FPLocation())
	}
	if f.SetReg(arch.Reg(arch.AMD64.NumRegs()), 1, at) || f.SetReg(arch.NoReg, 1, at) {
		t.Error("a register that the architecture has not was set")
	}
	f.ForgetReg(arch.RBP)
	if _, _, ok := f.Reg(arch.RBP); ok || f.FP() != 0 {
		t.Errorf("forgotten frame pointer is %#x, %v", f.FP(), ok)
	}
	s, err := w.WalkStack(1)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range s.Frames {
		before := f.String()
		for name, did := range map[string]bool{
			"SetRA": f.SetRA(1), "SetSP": f.SetSP(1), "SetFP": f.SetFP(1), "SetRALocation": f.SetRALocation(at),
			"SetSPLocation": f.SetSPLocation(at), "SetFPLocation": f.SetFPLocation(at), "SetReg": f.SetReg(arch.RBX, 1, at),
			"ForgetReg": f.ForgetReg(arch.RBP), "ForgetRegs": f.ForgetRegs(), "SetNonCall": f.SetNonCall(true),
			"SetTrust": f.SetTrust(unwind.TrustScan), "SetCalleeCFA": f.SetCalleeCFA(1),
		} {
			if did {
				t.Errorf("frame %d: %s changed an accepted frame", i, name)
			}
		}
		if f.String() != before || f.NonCall() || f.Trust() == unwind.TrustScan {
			t.Errorf("frame %d was changed to %v", i, f)
		}
	}
}

// TestRegisters follows registers through more frames than there are between two
// checkpoints: one that nobody saves, one that every frame saves, and one that gets lost.
func TestRegisters(t *testing.T) {
	const n = 150
	p := deepStack(n, 32, 0x400500)
	for r, v := range map[arch.Reg]uint64{arch.RBX: 0xb, arch.R12: 0x12, arch.R13: 0x13, arch.RAX: 0xa} {
		p.setRegs(r, v)
	}
	i := 0
	w := mustWalker(p, nil, stepper("fp", 1, func(in, out *unwind.Frame) unwind.Status {
		st := byFP(in, out)
		if i++; i == 77 {
			out.ForgetReg(arch.R13)
		}
		out.SetReg(arch.R12, uint64(i), unwind.AtAddress(uint64(i)*8))
		return st
	}))
	s, err := w.WalkStack(1)
	if err != nil || len(s.Frames) != n {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	for i, f := range s.Frames {
		if v, loc, ok := f.Reg(arch.RBX); !ok || v != 0xb || loc != unwind.InRegister(arch.RBX) {
			t.Fatalf("frame %d: rbx %#x %v %v; it still is in the register", i, v, loc, ok)
		}
		v, loc, ok := f.Reg(arch.R12)
		if i > 0 && (!ok || v != uint64(i) || loc != unwind.AtAddress(uint64(i)*8)) {
			t.Fatalf("frame %d: r12 %#x %v %v", i, v, loc, ok)
		}
		if v, _, ok := f.Reg(arch.R13); ok != (i < 77) || ok && v != 0x13 {
			t.Fatalf("frame %d: r13 %#x %v; it is lost at frame 77", i, v, ok)
		}
		if _, _, ok := f.Reg(arch.RAX); ok != (i == 0) {
			t.Fatalf("frame %d: rax known: %v; calls destroy it", i, ok)
		}
		if v, _, ok := f.Reg(arch.RIP); !ok || v != f.RA() {
			t.Fatalf("frame %d: rip %#x %v", i, v, ok)
		}
		all := f.Registers()
		if v, ok := all.Get(arch.RSP); !ok || v != f.SP() || all.Valid.Has(arch.RAX) != (i == 0) {
			t.Fatalf("frame %d: registers %#x, rsp %#x", i, all.Valid, v)
		}
	}
}

// countingLookup names every address and counts its calls.
type countingLookup struct {
	n    int
	err  error
	name string
}

func (l *countingLookup) LookupAtAddr(addr unwind.Address) (string, any, error) {
	l.n++
	return l.name, addr, l.err
}

func TestFrameName(t *testing.T) {
	l := &countingLookup{name: "f"}
	p := deepStack(3, 32, 0x400500)
	w := mustWalker(p, []unwind.Option{unwind.WithSymbolLookup(l)}, stepper("fp", 1, byFP))
	s, _ := w.WalkStack(1)
	f := s.Frames[1]
	for range 3 {
		if name, err := f.Name(); name != "f" || err != nil {
			t.Errorf("%q, %v", name, err)
		}
	}
	if v, _ := f.Object(); v != uint64(0x4004ff) || l.n != 1 {
		t.Errorf("looked up at %v, %d times; want once inside the call", v, l.n)
	}
	l.name = ""
	if name, err := s.Frames[0].Name(); name != "" || !errors.Is(err, unwind.ErrNoSymbol) {
		t.Errorf("an empty name: %q, %v; want ErrNoSymbol", name, err)
	}
	l.err = errFake
	if _, err := s.Frames[2].Name(); !errors.Is(err, errFake) {
		t.Errorf("a failing lookup: %v", err)
	}
	bare := mustWalker(p, nil)
	g, _ := unwind.NewFrame(1, 2, 3, bare)
	if _, err := g.Name(); !errors.Is(err, unwind.ErrNoSymbolLookup) {
		t.Errorf("without a lookup: %v", err)
	}
}

func TestEqual(t *testing.T) {
	l := &countingLookup{name: "f"}
	p := deepStack(3, 32, 0x400500)
	w := mustWalker(p, []unwind.Option{unwind.WithSymbolLookup(l)}, stepper("fp", 1, byFP))
	a, _ := w.WalkStack(1)
	b, _ := w.WalkStack(1)
	a.Frames[1].Name()
	for i := range a.Frames {
		if !a.Frames[i].Equal(b.Frames[i]) || !b.Frames[i].Equal(a.Frames[i]) {
			t.Errorf("frame %d of two walks differs; only one has been named", i)
		}
	}
	if a.Frames[0].Equal(a.Frames[1]) || a.Frames[0].Equal(nil) {
		t.Error("different frames are equal")
	}
	var none *unwind.Frame
	if !none.Equal(nil) || none.Equal(a.Frames[0]) {
		t.Error("nil frames")
	}
	other, _ := mustWalker(p, nil, stepper("fp", 1, byFP)).WalkStack(1)
	if other.Frames[0].Equal(a.Frames[0]) {
		t.Error("frames of two walkers are equal")
	}
	f, _ := unwind.NewFrame(1, 2, 3, w)
	g, _ := unwind.NewFrame(1, 2, 3, w)
	if !f.Equal(g) {
		t.Error("frames made alike differ")
	}
	g.SetRALocation(unwind.AtAddress(8))
	if f.Equal(g) {
		t.Error("a location is not compared")
	}
}

func TestLibOffset(t *testing.T) {
	p := deepStack(2, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	s, _ := w.WalkStack(1)
	if _, _, _, err := s.Frames[0].LibOffset(); !errors.Is(err, unwind.ErrNoLibTracker) {
		t.Errorf("without libraries: %v", err)
	}
	lib := &libstate.Library{Path: "/lib/x.so", LoadBias: 0x400000, Start: 0x400000, End: 0x400500,
		Mappings: []libstate.Mapping{{Start: 0x400000, End: 0x400500}}}
	p.libs = &fakeLibs{lib: lib}
	w = mustWalker(p, nil, stepper("fp", 1, byFP))
	s, _ = w.WalkStack(1)
	// The return address is one past the library's end; the call is inside.
	path, off, got, err := s.Frames[1].LibOffset()
	if err != nil || path != "/lib/x.so" || off != 0x500 || got != any(lib) {
		t.Errorf("%s+%#x, %v, %v", path, off, got, err)
	}
	if _, _, _, err := s.Frames[0].LibOffset(); !errors.Is(err, unwind.ErrNoLibrary) {
		t.Errorf("outside: %v", err)
	}
}
