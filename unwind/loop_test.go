package unwind_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestLoops walks stacks that are normal for a while and then loop.
func TestLoops(t *testing.T) {
	for _, tc := range []struct{ tail, circle int }{{0, 2}, {1, 2}, {0, 7}, {3, 7}, {100, 7}, {1, 100}, {1000, 1}} {
		t.Run(fmt.Sprintf("%d then %d", tc.tail, tc.circle), func(t *testing.T) {
			n := tc.tail + tc.circle
			p := newProc(0x400000, stackBase, 0)
			w := mustWalker(p, []unwind.Option{unwind.WithMaxFrames(100000)}, stepper("circle", 1, func(in, out *unwind.Frame) unwind.Status {
				i := int(in.RA()-0x400000) + 1
				if i >= n {
					i -= tc.circle
				}
				out.SetRA(0x400000 + uint64(i))
				out.SetSP(stackBase + uint64(i)*16)
				out.SetFP(0)
				return unwind.StatusSuccess
			}))
			s, err := w.WalkStack(1)
			if tc.circle == 1 {
				// The last frame's caller would be itself, which the walker rejects.
				if !errors.Is(err, unwind.ErrNoStepper) || len(s.Frames) != n {
					t.Errorf("%d frames, %v; want %d and no stepper", len(s.Frames), err, n)
				}
				return
			}
			if !errors.Is(err, unwind.ErrLoop) || s.End != unwind.EndLoop || len(s.Frames) != n {
				t.Errorf("%d frames, end %v, %v; want %d and a loop", len(s.Frames), s.End, err, n)
			}
		})
	}
}

// TestWalkMore walks stacks piece by piece: the whole is what WalkStack finds, and the frames of before stay.
func TestWalkMore(t *testing.T) {
	loops := func() *unwind.Walker {
		return mustWalker(newProc(0x400000, stackBase, 0), nil, stepper("circle", 1, func(in, out *unwind.Frame) unwind.Status {
			i := int(in.RA()-0x400000) + 1
			if i >= 50 {
				i -= 7
			}
			out.SetRA(0x400000 + uint64(i))
			out.SetSP(stackBase + uint64(i)*16)
			out.SetFP(0)
			return unwind.StatusSuccess
		}))
	}
	for name, walker := range map[string]func() *unwind.Walker{
		"to the bottom": func() *unwind.Walker { return mustWalker(deepStack(500, 16, 0x400500), nil, stepper("fp", 1, byFP)) },
		"a loop":        loops,
	} {
		w := walker()
		want, wantErr := w.WalkStack(1)
		for _, piece := range []int{1, 2, -2, 3, -3, -4, -5, 40, -40, 49, 50, -50, 499, 500, 1000} {
			s := &unwind.Stack{Thread: 1}
			cuts := piece < 0 // a frame more is walked each time, and cut off
			piece := max(piece, -piece)
			var first *unwind.Frame
			var err error
			for n := 1; ; n++ {
				if err = w.WalkMore(t.Context(), s, piece); cuts {
					err = w.WalkMore(t.Context(), s, 1)
					if s.Cut(n * piece); s.End == unwind.EndMaxFrames {
						err = s.Err
					}
				}
				if s.End != unwind.EndMaxFrames {
					break
				}
				if len(s.Frames) != n*piece || !errors.Is(err, unwind.ErrMaxFrames) {
					t.Fatalf("%s by %d: %d frames after %d pieces: %v", name, piece, len(s.Frames), n, err)
				}
				if first == nil {
					first = s.Frames[0]
				}
			}
			if s.End != want.End || (err == nil) != (wantErr == nil) || s.Err != err {
				t.Errorf("%s by %d: %v %v, want %v %v", name, piece, s.End, err, want.End, wantErr)
			}
			if len(s.Frames) != len(want.Frames) || first != nil && s.Frames[0] != first {
				t.Errorf("%s by %d: %d frames, want %d", name, piece, len(s.Frames), len(want.Frames))
				continue
			}
			for i, f := range s.Frames {
				if f.RA() != want.Frames[i].RA() || f.SP() != want.Frames[i].SP() {
					t.Errorf("%s by %d: frame %d: %v, want %v", name, piece, i, f, want.Frames[i])
				}
			}
			if s.Cut(len(s.Frames)); s.End != want.End || s.Err != err {
				t.Errorf("%s by %d: all frames are a part: %v", name, piece, s.End)
			}
			if more := w.WalkMore(t.Context(), s, 1); more != s.Err || len(s.Frames) != len(want.Frames) {
				t.Errorf("%s by %d: it went on: %v", name, piece, more)
			}
		}
	}
}

// TestWalkMoreEnded: nobody is asked again for the caller of the only frame.
func TestWalkMoreEnded(t *testing.T) {
	asked := 0
	w := mustWalker(newProc(0x1000, stackBase, 5), nil, stepper("bottom", 1, func(in, out *unwind.Frame) unwind.Status {
		asked++
		return unwind.StatusStackBottom
	}))
	s, err := w.WalkStack(unwind.NullThread)
	if err != nil || len(s.Frames) != 1 || s.Frames[0].Verified() {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	if err := w.WalkMore(t.Context(), s, 1); err != nil || asked != 1 || s.End != unwind.EndBottom {
		t.Errorf("asked %d times, %v, %v", asked, s.End, err)
	}
}

// TestFirstRegister: the register with the number 0 is as known in frames that keep all as in others.
func TestFirstRegister(t *testing.T) {
	const frames = 300
	w := mustWalker(deepStack(frames, 16, 0x400500), nil, stepper("fp", 1, func(in, out *unwind.Frame) unwind.Status {
		out.SetReg(arch.RAX, in.FP(), unwind.Location{Kind: unwind.LocAddress, Addr: in.FP()})
		return byFP(in, out)
	}))
	s, err := w.WalkStack(unwind.NullThread)
	if err != nil || len(s.Frames) != frames {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	for i, f := range s.Frames[1:] {
		if v, _, ok := f.Reg(arch.RAX); !ok || v != s.Frames[i].FP() {
			t.Fatalf("frame %d: %#x %v", i+1, v, ok)
		}
	}
}

// TestWalkMoreRefuses: what cannot be gone on with stays as it is, and says why.
func TestWalkMoreRefuses(t *testing.T) {
	w := mustWalker(deepStack(50, 16, 0x400500), nil, stepper("fp", 1, byFP))
	s := &unwind.Stack{Thread: unwind.NullThread}
	for _, n := range []int{-1, 0} {
		if err := w.WalkMore(t.Context(), s, n); err != nil || len(s.Frames) != 0 {
			t.Errorf("%d frames of none: %d, %v", n, len(s.Frames), err)
		}
	}
	if err := w.WalkMore(t.Context(), s, 10); !errors.Is(err, unwind.ErrMaxFrames) || len(s.Frames) != 10 || s.Thread != 1 {
		t.Fatalf("%d frames of thread %d, %v", len(s.Frames), s.Thread, err)
	}
	if err := w.WalkMore(t.Context(), s, 0); err != s.Err || len(s.Frames) != 10 {
		t.Errorf("no more: %d frames, %v", len(s.Frames), err)
	}
	other := mustWalker(deepStack(50, 16, 0x400500), nil, stepper("fp", 1, byFP))
	foreign := *s
	if err := other.WalkMore(t.Context(), &foreign, 10); !errors.Is(err, unwind.ErrBadParam) || len(foreign.Frames) != 10 || foreign.Err != err || foreign.End != unwind.EndNoRegister {
		t.Errorf("frames of another walker: %d frames, %v, %v", len(foreign.Frames), foreign.End, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.WalkMore(ended, s, 1000); err != nil || len(s.Frames) != 50 {
		t.Errorf("to the bottom: %d frames, %v", len(s.Frames), err)
	}
}

// TestNoLoop walks stacks that look like loops but are not.
func TestNoLoop(t *testing.T) {
	t.Run("recursion from one call site", func(t *testing.T) {
		s, err := mustWalker(deepStack(5000, 16, 0x400500), nil, stepper("fp", 1, byFP)).WalkStack(1)
		if err != nil || len(s.Frames) != 5000 {
			t.Errorf("%d frames, %v", len(s.Frames), err)
		}
	})
	t.Run("onto a lower stack", func(t *testing.T) {
		p := newProc(0x400000, stackBase+0x1000, 0)
		w := mustWalker(p, nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			if in.SP() == 0x2000 {
				return unwind.StatusStackBottom
			}
			out.SetRA(in.RA())
			out.SetSP(in.SP() + 16)
			if in.SP() == stackBase+0x1010 {
				out.SetSP(0x1000)
			}
			return unwind.StatusSuccess
		}))
		s, err := w.WalkStack(1)
		if err != nil || len(s.Frames) != 2+0x101 {
			t.Errorf("%d frames, %v", len(s.Frames), err)
		}
	})
	t.Run("one stack pointer", func(t *testing.T) {
		w := mustWalker(newProc(0x400000, stackBase, 0), nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			if in.RA() == 0x400064 {
				return unwind.StatusStackBottom
			}
			out.SetRA(in.RA() + 1)
			out.SetSP(in.SP())
			return unwind.StatusSuccess
		}))
		if s, err := w.WalkStack(1); err != nil || len(s.Frames) != 101 {
			t.Errorf("%d frames, %v", len(s.Frames), err)
		}
	})
	t.Run("one register counts", func(t *testing.T) {
		p := newProc(0x400000, stackBase, 0)
		n := uint64(0)
		w := mustWalker(p, nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			if n++; n == 15 {
				return unwind.StatusStackBottom
			}
			out.SetRA(in.RA())
			out.SetSP(in.SP())
			out.SetReg(arch.RBX, n, unwind.Location{})
			return unwind.StatusSuccess
		}))
		s, err := w.WalkStack(1)
		if err != nil || len(s.Frames) != 15 {
			t.Errorf("%d frames, %v; each has another rbx", len(s.Frames), err)
		}
	})
}

// maxFrameBytes is the maximum total size of a frame.
const maxFrameBytes = 256

func TestFrameMemory(t *testing.T) {
	const n = 100_000
	p := deepStack(n, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s, err := w.WalkStack(1)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if err != nil || len(s.Frames) != n {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	per := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes a frame", per)
	if per > maxFrameBytes {
		t.Errorf("%.0f bytes a frame; want at most %d", per, maxFrameBytes)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(p)
}

func BenchmarkWalk10000(b *testing.B) {
	p := deepStack(10000, 32, 0x400500)
	w := mustWalker(p, nil, stepper("fp", 1, byFP))
	b.ReportAllocs()
	for b.Loop() {
		if s, err := w.WalkStack(1); err != nil || len(s.Frames) != 10000 {
			b.Fatal(len(s.Frames), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/frame")
}

func BenchmarkReg(b *testing.B) {
	s, _ := mustWalker(deepStack(1000, 32, 0x400500), nil, stepper("fp", 1, byFP)).WalkStack(1)
	f := s.Frames[990]
	for b.Loop() {
		f.Reg(arch.R15)
	}
}

// TestCircleWithCounter walks stacks that go in circles while a register counts. They end with the first round.
func TestCircleWithCounter(t *testing.T) {
	for _, tc := range []struct{ tail, circle int }{{0, 1}, {5, 1}, {0, 3}, {1000, 7}} {
		p := newProc(0x400000, stackBase, 0)
		count := uint64(0)
		w := mustWalker(p, []unwind.Option{unwind.WithMaxFrames(100000)}, stepper("circle", 1, func(in, out *unwind.Frame) unwind.Status {
			i := int(in.RA()-0x400000) + 1
			if i >= tc.tail+tc.circle {
				i -= tc.circle
			}
			count++
			out.SetRA(0x400000 + uint64(i))
			out.SetSP(stackBase + uint64(i)*16)
			out.SetReg(arch.RBX, count, unwind.Location{})
			return unwind.StatusSuccess
		}))
		s, err := w.WalkStack(1)
		if s.End != unwind.EndLoop || !errors.Is(err, unwind.ErrLoop) || len(s.Frames) != tc.tail+tc.circle || count > uint64(3*tc.tail+51*tc.circle) {
			t.Errorf("%d then %d: %d frames of %d steps, %v, %v", tc.tail, tc.circle, len(s.Frames), count, s.End, err)
		}
	}
}

// TestStanding: a walk may stay at one pc and stack pointer for a while, if a register says that it gets on. Where
// the register has been before, the walk repeats itself.
func TestStanding(t *testing.T) {
	for _, c := range []struct {
		steps, period uint64 // how often the walk stays, and after how many steps the register is the same
		frames        int
		says          string // "" if the walk reaches the bottom
	}{
		{47, 1000, 48, ""},
		{48, 1000, 1, "frame 1 "},   // it stayed 17 times at the place of frame 31
		{1000, 16, 17, "frame 17 "}, // the first frame knows no rbx
		{1000, 15, 16, "frame 16 "},
	} {
		n := uint64(0)
		w := mustWalker(newProc(0x400000, stackBase, 0), nil, stepper("s", 1, func(in, out *unwind.Frame) unwind.Status {
			if n++; n > c.steps {
				return unwind.StatusStackBottom
			}
			out.SetRA(in.RA())
			out.SetSP(in.SP())
			out.SetReg(arch.RBX, n%c.period, unwind.Location{})
			return unwind.StatusSuccess
		}))
		s, err := w.WalkStack(1)
		if len(s.Frames) != c.frames || errors.Is(err, unwind.ErrLoop) != (c.says != "") || err != nil && !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%d steps, %d registers: %d frames, %v", c.steps, c.period, len(s.Frames), err)
		}
	}
}

type purse int

func (p *purse) Spend(units int) error {
	if *p -= purse(units); *p < 0 {
		return errFake
	}
	return nil
}

// TestBudget: all walks of a walker share one budget.
func TestBudget(t *testing.T) {
	money := purse(128 * 150)
	w := mustWalker(deepStack(100, 16, 0x1000), []unwind.Option{unwind.WithBudget(&money)}, stepper("fp", 1, byFP))
	if s, err := w.WalkStack(1); err != nil || len(s.Frames) != 100 {
		t.Fatalf("%d frames, %v", len(s.Frames), err)
	}
	s, err := w.WalkStack(1)
	if len(s.Frames) != 51 || s.End != unwind.EndLimit || !errors.Is(err, errFake) {
		t.Errorf("%d frames, %v, %v", len(s.Frames), s.End, err)
	}
	if err := new(unwind.Frame).Spend(1); err != nil {
		t.Errorf("a frame without a walker: %v", err)
	}
	// The budget of a walk that is cancelled is often spent, too: it ends because it was cancelled.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if s, err := w.WalkStackContext(ctx, 1); len(s.Frames) != 1 || s.End != unwind.EndCancelled || !errors.Is(err, errFake) {
		t.Errorf("cancelled: %d frames, %v, %v", len(s.Frames), s.End, err)
	}
}
