package steppers_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/steppers"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func analysis() *steppers.AnalysisStepper {
	return must(steppers.NewAnalysisStepper(arch.AMD64, nil))
}

// TestAnalysisStepper walks out of functions with and without a frame pointer, at
// every instruction, with symbols and without.
func TestAnalysisStepper(t *testing.T) {
	toCaller := want{ra: bias + raCaller, sp: slot + 8, fp: fpCaller}
	tests := []struct {
		name   string
		pc     uint64 // in the file
		sp, fp uint64
		top    bool
		ra     uint64
		named  want
		bare   want
	}{
		{name: "at the first instruction", pc: fnCallee, top: true, sp: slot, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "after push", pc: fnCallee + 1, top: true, sp: slot - 8, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "in the body", pc: fnCallee + 8, top: true, sp: slot - 24, fp: slot - 8, named: toCaller, bare: toCaller},
		{name: "at ret", pc: fnCallee + 10, top: true, sp: slot, fp: fpCaller, named: toCaller, bare: toCaller},
		{name: "at ret, the stack pointer elsewhere", pc: fnCallee + 10, top: true, sp: slot + 16, fp: fpCaller},
		{name: "no frame pointer, 24 bytes of stack", pc: fnSpill + 4, top: true, sp: slot - 24, fp: fpCaller,
			ra: bias + raSpill, named: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}, bare: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}},
		{name: "no frame pointer, a call made", pc: raSpill, sp: slot - 24, fp: fpCaller,
			ra: bias + raSpill, named: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}, bare: want{ra: bias + raSpill, sp: slot + 8, fp: fpCaller}},
		{name: "the call is to another function", pc: fnSpill + 4, top: true, sp: slot - 24, fp: fpCaller, ra: bias + raWrong,
			named: want{ra: bias + raWrong, sp: slot + 8, fp: fpCaller}}, // which by its symbol is known to have called by the way of others
		{name: "no call", pc: fnSpill + 4, top: true, sp: slot - 24, fp: fpCaller, ra: bias + fnCallee},
		{name: "data", pc: fnSpill + 4, top: true, sp: slot - 24, fp: fpCaller, ra: stack},
		{name: "no code", pc: 0x4141, sp: slot - 24, fp: fpCaller},
		{name: "off the stack", pc: fnSpill + 4, top: true, sp: stack + stackLen - 8, fp: fpCaller},
	}
	for _, tc := range tests {
		for name, syms := range map[string]unwind.SymbolReader{"named": symbols(names), "bare": nil} {
			t.Run(tc.name+", "+name, func(t *testing.T) {
				p := newProc(map[string]uint64{"rip": bias + tc.pc, "rsp": tc.sp, "rbp": tc.fp, "rbx": 1, "rax": 2})
				if tc.ra == 0 {
					tc.ra = bias + raCaller
				}
				p.put(slot-8, fpCaller, tc.ra, 0, stack)
				w := walker(t, mapper{p}, syms, analysis())
				in := called(t, w, bias+tc.pc, tc.sp, tc.fp)
				if tc.top {
					in = must(w.InitialFrame(1))
				}
				exp := tc.bare
				if syms != nil {
					exp = tc.named
				}
				checkAnalysis(t, w, in, exp)
			})
		}
	}
}

func checkAnalysis(t *testing.T, w *unwind.Walker, in *unwind.Frame, exp want) {
	t.Helper()
	f, err := w.WalkSingleFrame(in)
	if exp.ra == 0 {
		if !errors.Is(err, unwind.ErrNoStepper) {
			t.Errorf("%v, %v; want no caller; %q", f, err, notes(in))
		}
		return
	}
	if err != nil {
		t.Fatalf("%v; %q", err, notes(in))
	}
	if f.RA() != exp.ra || f.SP() != exp.sp || f.FP() != exp.fp || f.Trust() != unwind.TrustAnalysis {
		t.Errorf("%v, %v; want pc %#x sp %#x fp %#x; %q", f, f.Trust(), exp.ra, exp.sp, exp.fp, notes(in))
	}
	if v, _, ok := f.Reg(arch.RBX); ok != in.IsTopFrame() || ok && v != 1 {
		t.Errorf("rbx = %d, %v; the function leaves it alone", v, ok)
	}
	if _, _, ok := f.Reg(arch.RAX); ok {
		t.Error("rax is known; calls do not preserve it")
	}
	if cfa, ok := in.CFA(); !ok || cfa != exp.sp {
		t.Errorf("CFA %#x, %v; want %#x", cfa, ok, exp.sp)
	}
}

// TestAnalysisRecursion: a frame that returns to where it is itself is no reason
// to give up.
func TestAnalysisRecursion(t *testing.T) {
	p := newProc(map[string]uint64{"rip": bias + fnSpill + 4, "rsp": slot - 24})
	for i := range uint64(4) {
		p.put(slot+32*i, bias+raSpill)
	}
	p.put(slot+32*4, 0)
	w := walker(t, mapper{p}, symbols(names), analysis())
	s, err := w.WalkStack(unwind.NullThread)
	if err != nil || s.End != unwind.EndBottom || len(s.Frames) != 5 {
		t.Fatalf("%d frames, %v, %v; want five and the bottom", len(s.Frames), s.End, err)
	}
}

// TestAnalysisConcurrently walks one process's threads with one group.
func TestAnalysisConcurrently(t *testing.T) {
	w, s := walkCase(t, "amd64-no-tables-omit-fp")
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			again, _ := w.WalkStack(unwind.NullThread)
			if len(again.Frames) != len(s.Frames) {
				t.Errorf("%d frames; want %d", len(again.Frames), len(s.Frames))
			}
		}()
	}
	wait.Wait()
}

// BenchmarkAnalysisWalk walks a deep recursion by call frame information and, for
// comparison, by analysis alone.
func BenchmarkAnalysisWalk(b *testing.B) {
	for _, skip := range []string{"Analysis", "Debug"} {
		b.Run("without "+skip, func(b *testing.B) {
			w, _ := walkCase(b, "amd64-recursion-12000")
			for _, s := range w.StepperGroup().Steppers() {
				if n := s.Name(); n == skip || n == "FrameFunc" || n == "Wanderer" {
					if err := w.StepperGroup().RemoveAddressRanges([]unwind.AddrRange{{Start: 0, End: ^uint64(0)}}, s); err != nil {
						b.Fatal(err)
					}
				}
			}
			var s *unwind.Stack
			b.ReportAllocs()
			for b.Loop() {
				s, _ = w.WalkStack(unwind.NullThread)
			}
			if len(s.Frames) < 12000 {
				b.Fatalf("%d frames", len(s.Frames))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.Frames)), "ns/frame")
		})
	}
}
