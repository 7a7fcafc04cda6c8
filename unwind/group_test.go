package unwind_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// asked lists the steppers that a group would ask about addr, in order.
func asked(t *testing.T, g unwind.StepperGroup, addr unwind.Address) string {
	t.Helper()
	var names []string
	var last unwind.FrameStepper
	for range 100 {
		s, err := g.FindStepperForAddr(addr, last)
		if errors.Is(err, unwind.ErrNoStepper) {
			return strings.Join(names, " ")
		} else if err != nil {
			t.Fatalf("FindStepperForAddr(%#x, %v): %v", addr, last, err)
		}
		names = append(names, s.Name())
		last = s
	}
	t.Fatalf("%#x: the steppers never end: %v", addr, names[:10])
	return ""
}

func rng(start, end uint64) unwind.AddrRange { return unwind.AddrRange{Start: start, End: end} }

func TestGroupRanges(t *testing.T) {
	type change struct {
		stepper string
		remove  bool
		ranges  []unwind.AddrRange
	}
	top := uint64(math.MaxUint64)
	tests := []struct {
		name    string
		changes []change
		want    map[uint64]string
		ranges  map[string]string
	}{
		{
			name: "hole in the middle",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x2000)}},
				{"a", true, []unwind.AddrRange{rng(0x1500, 0x1600)}},
			},
			want:   map[uint64]string{0xfff: "", 0x1000: "a", 0x14ff: "a", 0x1500: "", 0x15ff: "", 0x1600: "a", 0x1fff: "a", 0x2000: ""},
			ranges: map[string]string{"a": "[{1000 1500} {1600 2000}]"},
		},
		{
			name: "adjacent ranges of two steppers",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x2000)}},
				{"b", false, []unwind.AddrRange{rng(0x2000, 0x3000)}},
				{"c", false, []unwind.AddrRange{rng(0x0800, 0x1000)}},
			},
			want: map[uint64]string{0x7ff: "", 0x800: "c", 0xfff: "c", 0x1000: "a", 0x1fff: "a", 0x2000: "b", 0x2fff: "b", 0x3000: ""},
		},
		{
			name: "adjacent ranges of one stepper merge",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x2000, 0x3000), rng(0x1000, 0x2000)}},
			},
			ranges: map[string]string{"a": "[{1000 3000}]"},
		},
		{
			name: "overlap, by priority",
			changes: []change{
				{"late", false, []unwind.AddrRange{rng(0x1000, 0x3000)}},
				{"early", false, []unwind.AddrRange{rng(0x2000, 0x4000)}},
			},
			want: map[uint64]string{0x1fff: "late", 0x2000: "early late", 0x2fff: "early late", 0x3000: "early"},
		},
		{
			name: "equal priorities, by registration",
			changes: []change{
				{"c", false, []unwind.AddrRange{rng(0x2000, 0x3000)}},
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x3000)}},
				{"b", false, []unwind.AddrRange{rng(0x1000, 0x3000)}},
				{"c", false, []unwind.AddrRange{rng(0x1000, 0x2000)}},
			},
			want: map[uint64]string{0x1000: "c a b", 0x2000: "c a b"},
		},
		{
			name: "the last address",
			changes: []change{
				{"a", false, []unwind.AddrRange{unwind.WholeSpace}},
				{"b", false, []unwind.AddrRange{rng(top, 0)}},
				{"c", false, []unwind.AddrRange{rng(0x1000, top)}},
			},
			want: map[uint64]string{0: "a", 0x1000: "a c", top - 1: "a c", top: "a b"},
		},
		{
			name: "the same range twice is once",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x2000), rng(0x1000, 0x2000)}},
				{"a", false, []unwind.AddrRange{rng(0x1800, 0x2800)}},
				{"a", true, []unwind.AddrRange{rng(0x1800, 0x1900)}},
			},
			want: map[uint64]string{0x1000: "a", 0x1800: "", 0x1900: "a", 0x27ff: "a"},
		},
		{
			name: "removing what was never there",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x2000)}},
				{"b", true, []unwind.AddrRange{unwind.WholeSpace}},
				{"a", true, []unwind.AddrRange{rng(0x3000, 0x4000)}},
			},
			want: map[uint64]string{0x1000: "a", 0x3000: ""},
		},
		{
			name: "removing everything",
			changes: []change{
				{"a", false, []unwind.AddrRange{rng(0x1000, 0x2000)}},
				{"a", true, []unwind.AddrRange{unwind.WholeSpace}},
			},
			want:   map[uint64]string{0x1000: ""},
			ranges: map[string]string{"a": "[]"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := unwind.NewAddrRangeGroup()
			by := map[string]*stepFunc{"a": named("a", 5), "b": named("b", 5), "c": named("c", 5),
				"early": named("early", 1), "late": named("late", 9)}
			for _, c := range tc.changes {
				do := g.AddAddressRanges
				if c.remove {
					do = g.RemoveAddressRanges
				}
				if err := do(c.ranges, by[c.stepper]); err != nil {
					t.Fatal(err)
				}
			}
			for addr, want := range tc.want {
				if got := asked(t, g, addr); got != want {
					t.Errorf("%#x: asked %q; want %q", addr, got, want)
				}
			}
			for name, want := range tc.ranges {
				if got := fmt.Sprintf("%x", g.Ranges(by[name])); got != want {
					t.Errorf("ranges of %s: %s; want %s", name, got, want)
				}
			}
		})
	}
}

func TestGroupRefuses(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	a := named("a", 1)
	for what, err := range map[string]error{
		"nil stepper":           g.RegisterStepper(nil),
		"nil stepper over some": g.AddStepper(nil, 1, 2),
		"empty range":           g.AddStepper(a, 0x1000, 0x1000),
		"backward range":        g.AddStepper(a, 0x2000, 0x1000),
		"one empty of two":      g.AddAddressRanges([]unwind.AddrRange{rng(1, 2), rng(4, 3)}, a),
		"empty range to remove": g.RemoveAddressRanges([]unwind.AddrRange{rng(2, 1)}, a),
		"uncomparable stepper":  g.RegisterStepper(sliceStepper{stepFunc{name: "s"}, nil}),
		"uncomparable inside":   g.RegisterStepper(anyStepper{v: []int{1}}),
	} {
		if !errors.Is(err, unwind.ErrBadParam) {
			t.Errorf("%s: %v; want ErrBadParam", what, err)
		}
	}
	if got := asked(t, g, 1); got != "" {
		t.Errorf("a refused change was made: %q is asked", got)
	}
	if n := len(g.Steppers()); n != 0 {
		t.Errorf("%d steppers are in the group; none was taken", n)
	}
}

// sliceStepper cannot be compared with ==.
type sliceStepper struct {
	stepFunc
	data []byte
}

func (s sliceStepper) CallerFrame(in, out *unwind.Frame) unwind.Status { return unwind.StatusNotMe }
func (s sliceStepper) Name() string                                    { return "slice" }
func (s sliceStepper) Priority() uint32                                { return 0 }

// anyStepper's type is comparable, its value is not.
type anyStepper struct{ v any }

func (s anyStepper) CallerFrame(in, out *unwind.Frame) unwind.Status { return unwind.StatusNotMe }
func (s anyStepper) Name() string                                    { return "any" }
func (s anyStepper) Priority() uint32                                { return 0 }

func TestGroupLastTried(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	a, b := named("a", 1), named("b", 2)
	if err := g.AddStepper(a, 0x1000, 0x2000); err != nil {
		t.Fatal(err)
	}
	if _, err := g.FindStepperForAddr(0x1000, b); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("after a stepper the group does not have: %v; want ErrBadParam", err)
	}
	if _, err := g.FindStepperForAddr(0x2000, a); !errors.Is(err, unwind.ErrBadParam) {
		t.Errorf("after a stepper that does not cover the address: %v; want ErrBadParam", err)
	}
	if _, err := g.FindStepperForAddr(0x1000, a); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("after the last: %v; want ErrNoStepper", err)
	}
	if _, err := g.FindStepperForAddr(0x2000, nil); !errors.Is(err, unwind.ErrNoStepper) {
		t.Errorf("where there is none: %v; want ErrNoStepper", err)
	}
}

// registrar chooses its own ranges.
type registrar struct {
	stepFunc
	err error
}

func (r *registrar) RegisterStepperGroup(g unwind.StepperGroup) error {
	if r.err != nil {
		return r.err
	}
	return g.AddStepper(r, 0x4000, 0x5000)
}

func TestGroupRegistration(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	whole, picky := named("whole", 2), &registrar{stepFunc: stepFunc{name: "picky", priority: 1}}
	for _, s := range []unwind.FrameStepper{whole, picky} {
		if err := g.RegisterStepper(s); err != nil {
			t.Fatal(err)
		}
	}
	for addr, want := range map[uint64]string{0: "whole", 0x4000: "picky whole", 0x5000: "whole", math.MaxUint64: "whole"} {
		if got := asked(t, g, addr); got != want {
			t.Errorf("%#x: asked %q; want %q", addr, got, want)
		}
	}
	if got := g.Steppers(); !slices.Equal(got, []unwind.FrameStepper{whole, picky}) {
		t.Errorf("steppers %v; want them in registration order", got)
	}
	if err := g.RegisterStepper(&registrar{err: errFake}); !errors.Is(err, errFake) {
		t.Errorf("a stepper that cannot register: %v; want its error", err)
	}
}

func TestGroupNotifications(t *testing.T) {
	libs := &fakeLibs{}
	p := newProc(1, stackBase, 0)
	p.libs = libs
	a, b := named("a", 1), named("b", 1)
	w := mustWalker(p, nil, a, b)
	libs.tell(&libstate.Library{Path: "/lib/x.so"}, libstate.Load)
	libs.tell(&libstate.Library{Path: "/lib/x.so"}, libstate.Unload)
	want := []string{"library_load /lib/x.so", "library_unload /lib/x.so"}
	if !slices.Equal(a.heard, want) || !slices.Equal(b.heard, want) {
		t.Errorf("steppers heard %q and %q; want %q", a.heard, b.heard, want)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	libs.tell(&libstate.Library{Path: "/lib/y.so"}, libstate.Load)
	if len(a.heard) != 2 {
		t.Errorf("a stepper of a closed walker heard %q", a.heard[2:])
	}
	if err := w.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestGroupConcurrent(t *testing.T) {
	g := unwind.NewAddrRangeGroup()
	base := named("base", 1)
	if err := g.RegisterStepper(base); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			s := named(fmt.Sprint(i), uint32(i+2))
			for n := range uint64(100) {
				g.AddStepper(s, n*16+1, n*16+9)
				g.RemoveAddressRanges([]unwind.AddrRange{rng(n*16+3, n*16+5)}, s)
			}
		}()
		go func() {
			defer wg.Done()
			for n := range uint64(2000) {
				if s, err := g.FindStepperForAddr(n, nil); err != nil || s != base {
					t.Errorf("%#x: %v, %v; want the stepper that is over everything", n, s, err)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func BenchmarkFindStepper(b *testing.B) {
	g := unwind.NewAddrRangeGroup()
	for i := range uint64(100) {
		g.AddStepper(named("s", uint32(i)), i*0x1000+0x1000, i*0x1000+0x1800)
	}
	b.ReportAllocs()
	for b.Loop() {
		g.FindStepperForAddr(0x32100, nil)
	}
}
