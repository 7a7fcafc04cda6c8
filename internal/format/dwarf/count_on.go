//go:build countdwarf

package dwarf

import (
	"maps"
	"math/bits"
	"sync"
)

const counting = true

// counted has a bit for each byte of the units that cursors passed over. It is global
// because tests have no access to the Data inside a whole program.
var counted struct {
	mu    sync.Mutex
	units map[*Unit][]uint64
	refs  map[*Unit]bool // units to which references led
}

func (d DIE) referred() {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	if counted.refs == nil {
		counted.refs = map[*Unit]bool{}
	}
	counted.refs[d.Unit] = true
}

func (c *Cursor) mark(from, to int) {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	if counted.units == nil {
		counted.units = map[*Unit][]uint64{}
	}
	set := counted.units[c.u]
	if set == nil {
		set = make([]uint64, (c.u.End-c.u.Off)/64+1)
		counted.units[c.u] = set
	}
	for i := from - int(c.u.Off); i < to-int(c.u.Off); i++ {
		if i >= 0 && i/64 < len(set) {
			set[i/64] |= 1 << (i % 64)
		}
	}
}

// A Count says how much of one unit cursors passed over.
type Count struct {
	Bytes      int  // distinct bytes
	BeyondRoot int  // those outside the first entry
	Referred   bool // some entry, possibly of the unit itself, refers to one of the unit
}

// Counted calls yield for every unit that cursors passed over since the last ResetCounted.
func Counted(yield func(u *Unit, n Count)) {
	counted.mu.Lock()
	units := make(map[*Unit][]uint64, len(counted.units))
	for u, set := range counted.units {
		units[u] = append([]uint64(nil), set...)
	}
	refs := maps.Clone(counted.refs)
	counted.mu.Unlock()
	for u, set := range units {
		n := Count{Referred: refs[u]}
		for _, w := range set {
			n.Bytes += bits.OnesCount64(w)
		}
		var e Entry
		root := 0
		c := u.Cursor(u.Root())
		if c.Next(&e) {
			c.skipAttrs(int(c.ab.count))
			for i := int(u.Root() - u.Off); i < c.in.Off-int(u.Off); i++ {
				root += int(set[i/64] >> (i % 64) & 1)
			}
		}
		n.BeyondRoot = n.Bytes - root
		yield(u, n)
	}
}

// ResetCounted resets all counts.
func ResetCounted() {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	counted.units, counted.refs = nil, nil
}
