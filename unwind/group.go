package unwind

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/libstate"
)

// An AddrRange is the range of addresses [Start, End). An End of 0 means the end of the
// address space, so that a range can include the last byte.
type AddrRange struct {
	Start, End Address
}

// WholeSpace covers every address.
var WholeSpace = AddrRange{0, 0}

func (r AddrRange) valid() bool { return r.End == 0 || r.Start < r.End }

// last is the last address in r.
func (r AddrRange) last() Address { return r.End - 1 }

// AddrRangeGroup is the default StepperGroup. Each stepper has address ranges; the steppers
// that cover an address are asked in order of priority, and in order of registration where
// priorities are equal.
//
// It is safe for concurrent use; finding a stepper takes no lock.
type AddrRangeGroup struct {
	mu       sync.Mutex // serialises changes
	steppers []FrameStepper
	order    map[FrameStepper]int // registration order
	pieces   atomic.Pointer[[]piece]
}

// A piece is a range with one list of steppers, in the order in which they are asked. It
// extends to the next piece's start. Pieces are replaced, never changed, so that readers
// need no lock.
type piece struct {
	start    Address
	steppers []FrameStepper
}

// NewAddrRangeGroup returns an empty group.
func NewAddrRangeGroup() *AddrRangeGroup {
	g := &AddrRangeGroup{order: map[FrameStepper]int{}}
	g.pieces.Store(&[]piece{{}})
	return g
}

// RegisterStepper implements StepperGroup.
func (g *AddrRangeGroup) RegisterStepper(s FrameStepper) error {
	if err := checkStepper(s); err != nil {
		return err
	}
	g.mu.Lock()
	g.enroll(s)
	g.mu.Unlock()
	if r, ok := s.(GroupRegistrar); ok {
		if err := r.RegisterStepperGroup(g); err != nil {
			return fmt.Errorf("register stepper %s: %w", s.Name(), err)
		}
		return nil
	}
	return g.AddAddressRanges([]AddrRange{WholeSpace}, s)
}

// AddStepper implements StepperGroup; an end of 0 is the end of the address space.
func (g *AddrRangeGroup) AddStepper(s FrameStepper, start, end Address) error {
	return g.AddAddressRanges([]AddrRange{{start, end}}, s)
}

// AddAddressRanges implements StepperGroup. If one of the ranges is empty, nothing is
// added.
func (g *AddrRangeGroup) AddAddressRanges(ranges []AddrRange, s FrameStepper) error {
	return g.change(ranges, s, true, func(have []FrameStepper) []FrameStepper {
		if slices.Contains(have, s) {
			return have
		}
		at, _ := slices.BinarySearchFunc(have, s, func(a, b FrameStepper) int {
			if c := cmp.Compare(a.Priority(), b.Priority()); c != 0 {
				return c
			}
			return cmp.Compare(g.order[a], g.order[b])
		})
		return slices.Insert(slices.Clone(have), at, s)
	})
}

// RemoveAddressRanges implements StepperGroup.
func (g *AddrRangeGroup) RemoveAddressRanges(ranges []AddrRange, s FrameStepper) error {
	return g.change(ranges, s, false, func(have []FrameStepper) []FrameStepper {
		i := slices.Index(have, s)
		if i < 0 {
			return have
		}
		return slices.Delete(slices.Clone(have), i, i+1)
	})
}

// change edits the steppers of the pieces that ranges cover; enroll makes s a member of the
// group.
func (g *AddrRangeGroup) change(ranges []AddrRange, s FrameStepper, enroll bool, edit func([]FrameStepper) []FrameStepper) error {
	if err := checkStepper(s); err != nil {
		return err
	}
	for _, r := range ranges {
		if !r.valid() {
			return fmt.Errorf("address range %#x to %#x is empty: %w", r.Start, r.End, ErrBadParam)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if enroll {
		g.enroll(s)
	}
	pieces := slices.Clone(*g.pieces.Load())
	for _, r := range ranges {
		pieces = splitAt(pieces, r.Start)
		pieces = splitAt(pieces, r.End)
		for i := range pieces {
			if pieces[i].start >= r.Start && pieces[i].start <= r.last() {
				pieces[i].steppers = edit(pieces[i].steppers)
			}
		}
	}
	g.pieces.Store(&pieces)
	return nil
}

// splitAt makes sure that a piece starts at addr.
func splitAt(pieces []piece, addr Address) []piece {
	i := findPiece(pieces, addr)
	if pieces[i].start == addr {
		return pieces
	}
	return slices.Insert(pieces, i+1, piece{addr, pieces[i].steppers})
}

// findPiece returns the index of the piece that addr lies in. The first piece
// starts at 0, so there is always one.
func findPiece(pieces []piece, addr Address) int {
	return sort.Search(len(pieces), func(i int) bool { return pieces[i].start > addr }) - 1
}

// enroll records the order of registration. The caller holds the lock.
func (g *AddrRangeGroup) enroll(s FrameStepper) {
	if _, ok := g.order[s]; !ok {
		g.order[s] = len(g.steppers)
		g.steppers = append(g.steppers, s)
	}
}

// FindStepperForAddr implements StepperGroup.
func (g *AddrRangeGroup) FindStepperForAddr(addr Address, lastTried FrameStepper) (FrameStepper, error) {
	pieces := *g.pieces.Load()
	have := pieces[findPiece(pieces, addr)].steppers
	i := 0
	if lastTried != nil {
		i = slices.Index(have, lastTried) + 1
		if i == 0 {
			return nil, errLastTried
		}
	}
	if i >= len(have) {
		return nil, ErrNoStepper
	}
	return have[i], nil
}

// errLastTried wraps ErrBadParam without fmt.Errorf, which would run at the start of every program.
var errLastTried error = lastTriedError{}

type lastTriedError struct{}

func (lastTriedError) Error() string {
	return "the last stepper tried does not cover the address: " + ErrBadParam.Error()
}

func (lastTriedError) Unwrap() error { return ErrBadParam }

// NewLibraryNotification implements StepperGroup. Steppers are notified in order of
// registration.
func (g *AddrRangeGroup) NewLibraryNotification(lib *libstate.Library, change libstate.Change) {
	for _, s := range g.Steppers() {
		if n, ok := s.(LibraryNotifier); ok {
			n.NewLibraryNotification(lib, change)
		}
	}
}

// Steppers implements StepperGroup.
func (g *AddrRangeGroup) Steppers() []FrameStepper {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.steppers)
}

// Ranges lists the address ranges of s, merged and in ascending order.
func (g *AddrRangeGroup) Ranges(s FrameStepper) []AddrRange {
	var out []AddrRange
	pieces := *g.pieces.Load()
	for i, p := range pieces {
		if !slices.Contains(p.steppers, s) {
			continue
		}
		r := AddrRange{Start: p.start}
		if i+1 < len(pieces) {
			r.End = pieces[i+1].start
		}
		if n := len(out); n > 0 && out[n-1].End == r.Start {
			out[n-1].End = r.End
		} else {
			out = append(out, r)
		}
	}
	return out
}

func checkStepper(s FrameStepper) error {
	if s == nil {
		return fmt.Errorf("nil stepper: %w", ErrBadParam)
	}
	if !reflect.ValueOf(s).Comparable() {
		return errors.Join(ErrBadParam, fmt.Errorf("stepper %s is not comparable: register a pointer", s.Name()))
	}
	return nil
}
