// Package budget limits the work that one analysis does for what a dump and its files say. A dump is a
// stranger's: a few bytes of it may ask for hours of work. So everything whose amount the dump decides is
// charged to one Budget, and ends when that is spent.
package budget

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
)

// ErrSpent means that a dump asked for more work than its size explains.
var ErrSpent = errors.New("the dump asks for more work than its size explains")

// A Budget is an amount of work. One unit is about a simple look-up: some tens of nanoseconds. Several goroutines
// may use a Budget. A nil Budget is unlimited.
type Budget struct {
	all   int64
	left  atomic.Int64
	extra atomic.Int64 // left of what extras may take
	stop  atomic.Pointer[error]
}

const (
	// base is what the smallest dump may cost: some seconds.
	base = 1 << 26
	// perByte is what each byte of a dump adds. The smallest frame of a stack that overflowed has 16 bytes;
	// to walk it, to name it and to read its variables costs some 300 units.
	perByte = 32
	// most keeps a huge dump from being unlimited: it may be nothing but zeros.
	most = 1 << 29
	// extras is the part of all that extras may take.
	extras = 4
)

// New returns the budget of a dump of size bytes.
func New(size uint64) *Budget { return Of(int64(base + perByte*min(size, most/perByte))) }

// Of returns a budget of so many units.
func Of(units int64) *Budget {
	b := &Budget{all: units}
	b.left.Store(units)
	b.extra.Store(units / extras)
	return b
}

// Spend takes units from the budget. The error wraps ErrSpent when nothing is left, or is that of Stop. The
// work must then end, with what it has.
func (b *Budget) Spend(units int) error {
	if b == nil {
		return nil
	}
	if why := b.stop.Load(); why != nil {
		return *why
	}
	if b.left.Add(-int64(units)) < 0 {
		b.Stop(fmt.Errorf("%w (limit: %d units of work)", ErrSpent, b.all))
		return b.Err()
	}
	return nil
}

// Extra takes units for what a report can do without, as how each frame was found. It returns false if extras have had their
// part, or nothing is left.
func (b *Budget) Extra(units int) bool {
	return b == nil || b.extra.Add(-int64(units)) >= 0 && b.Spend(units) == nil
}

// Stop ends all work that is charged to the budget, with err. Only the first Stop counts.
func (b *Budget) Stop(err error) {
	if b != nil {
		b.stop.CompareAndSwap(nil, &err)
	}
}

// Renew makes the whole budget available again, for the next question. Nobody may work on the last one any more.
func (b *Budget) Renew() {
	if b != nil {
		b.left.Store(b.all)
		b.extra.Store(b.all / extras)
		b.stop.Store(nil)
	}
}

// Err returns why the work had to end; nil if it did not.
func (b *Budget) Err() error {
	if b == nil {
		return nil
	}
	if why := b.stop.Load(); why != nil {
		return *why
	}
	return nil
}

// Affords returns how many pieces of work of so many units are left.
func (b *Budget) Affords(units int) int {
	if b == nil {
		return math.MaxInt
	}
	return int(max(0, b.left.Load()) / int64(units))
}

// Spent returns how many units have been taken.
func (b *Budget) Spent() int64 {
	if b == nil {
		return 0
	}
	return b.all - b.left.Load()
}
