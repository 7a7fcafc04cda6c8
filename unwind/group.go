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

// An AddrRange is the addresses from Start up to but not including End. End 0
// stands for the end of the address space, so that its last byte can be covered
// too.
type AddrRange struct {
	Start, End Address
}

// WholeSpace covers every address.
var WholeSpace = AddrRange{0, 0}

func (r AddrRange) valid() bool { return r.End == 0 || r.Start < r.End }

// last is the last address in r.
func (r AddrRange) last() Address { return r.End - 1 }

// AddrRangeGroup is the default StepperGroup: each stepper has address ranges,
// and the steppers that cover an address are asked by priority, equal
// priorities in the order of registration.
//
// It may be used by several goroutines; finding a stepper takes no lock.
type AddrRangeGroup struct {
	mu       sync.Mutex // serialises changes
	steppers []FrameStepper
	order    map[FrameStepper]int // registration order
	pieces   atomic.Pointer[[]piece]
}

// A piece is a range over which the same steppers apply, in the order in which
// they are asked. It reaches to the next piece's start. Pieces are never
// changed, only replaced, so that readers need no lock.
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

// AddStepper implements StepperGroup; end 0 is the end of the address space.
func (g *AddrRangeGroup) AddStepper(s FrameStepper, start, end Address) error {
	return g.AddAddressRanges([]AddrRange{{start, end}}, s)
}

// AddAddressRanges implements StepperGroup. Nothing is added when one of the
// ranges is empty.
func (g *AddrRangeGroup) AddAddressRanges(ranges []AddrRange, s FrameStepper) error {
	return g.change(ranges, s, true, func(have []FrameStepper) []FrameStepper {
		if slices.Contains(have, s) {
			return have
		}
		have = append(slices.Clone(have), s)
		slices.SortStableFunc(have, func(a, b FrameStepper) int {
			return cmp.Or(cmp.Compare(a.Priority(), b.Priority()), cmp.Compare(g.order[a], g.order[b]))
		})
		return have
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

// change edits the steppers of the pieces that ranges cover; enroll says whether
// s is a member of the group from now on.
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
		if r.End != 0 {
			pieces = splitAt(pieces, r.End)
		}
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

// enroll remembers the order of registration. The lock is held.
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

var errLastTried = fmt.Errorf("the stepper tried last does not cover the address: %w", ErrBadParam)

// NewLibraryNotification implements StepperGroup. Steppers hear the news in
// registration order.
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

// Ranges lists the ranges that s is asked about, in ascending order and merged.
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
		if n := len(out); n > 0 && out[n-1].End == r.Start && r.Start != 0 {
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
		return errors.Join(ErrBadParam, fmt.Errorf("stepper %s cannot be compared: register a pointer to it", s.Name()))
	}
	return nil
}
