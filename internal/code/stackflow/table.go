package stackflow

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxTable bounds the entries of a table of jumps.
const maxTable = 4096

// maxGuess bounds those of a table whose length is not known.
const maxGuess = 128

// maxSpread is how far from a function's start its code is believed to lie where
// its end is not known, in bytes.
const maxSpread = 64 << 10

// maxTargets bounds those of all tables of a function.
const maxTargets = 16384

// boundWithin is how many instructions before an indirect jump its bounds check
// is looked for.
const boundWithin = 32

// resolve goes where an indirect jump at the end of b leads.
func (a *analysis) resolve(b *block, o *op) {
	targets, known := a.jumps[b.last]
	if !known {
		targets = a.readTable(b, o)
		a.jumps[b.last] = targets
	}
	soft := a.cur.soft
	a.cur.soft = soft || targets.guessed
	for _, to := range targets.to {
		if i, ok := a.find(to); ok && a.ops[i].leader { // else it will be, when solving goes on
			a.arrive(int(a.blockOf[i]), &a.cur)
		}
	}
	a.cur.soft = soft
}

// A jumpTable are the targets of an indirect jump; none where it is not
// understood.
type jumpTable struct {
	to      []uint64
	guessed bool // how many there are is not known
}

// readTable finds the targets of an indirect jump. Of a table whose length is not
// known, those count that lie in the function, up to the first that does not.
func (a *analysis) readTable(b *block, o *op) (t jumpTable) {
	v := a.jumpValue(o)
	if v.kind != tableEntry && v.kind != tableTarget {
		return jumpTable{}
	}
	n := a.tableLen(b)
	if t.guessed = n == 0; t.guessed {
		n = maxGuess
	}
	data := a.code.DataAt(uint64(v.k))
	size := int(v.size)
	if n = min(n, len(data)/size); n == 0 || a.ntargets+n > maxTargets {
		return jumpTable{}
	}
	a.ntargets += n
	t.to = make([]uint64, 0, n)
	for i := range n {
		to := a.readEntry(data[i*size:], size, v.kind == tableTarget)
		if v.kind == tableTarget {
			to += uint64(v.k + int64(v.id))
		}
		to = a.machine.arch.Truncate(to)
		if !a.plausible(to) {
			t.guessed = true
			break
		}
		t.to = append(t.to, to)
	}
	return t
}

// plausible reports whether a table of the function may have an entry that leads
// to addr.
func (a *analysis) plausible(addr uint64) bool {
	if addr%uint64(max(a.machine.arch.PCAlign, 1)) != 0 || addr == 0 {
		return false
	}
	for before := addr - 1; before > addr-disasm.MaxLen; before-- {
		if i, ok := a.find(before); ok && a.ops[i].next() > addr {
			return false // in the middle of an instruction
		}
	}
	if a.end != 0 {
		return a.inside(addr)
	}
	return addr-a.start+maxSpread < 2*maxSpread && a.code.CodeAt(addr) != nil
}

// readEntry reads a table's entry, sign-extended where it counts from something.
func (a *analysis) readEntry(b []byte, size int, signed bool) uint64 {
	order := a.machine.arch.ByteOrder
	switch {
	case size == 8:
		return order.Uint64(b)
	case signed:
		return uint64(int64(int32(order.Uint32(b))))
	}
	return uint64(order.Uint32(b))
}

// jumpValue is what the jump's operand holds.
func (a *analysis) jumpValue(o *op) value {
	if o.src != arch.NoReg {
		return a.cur.get(o.src)
	}
	if o.index == arch.NoReg {
		return value{}
	}
	if o.base == absolute {
		return value{kind: tableEntry, k: o.k, size: uint8(a.machine.arch.WordSize)}
	}
	if v := a.cur.get(o.base).plus(o.k); v.kind == constant {
		return value{kind: tableEntry, k: v.k, size: uint8(a.machine.arch.WordSize)}
	}
	return value{}
}

// tableLen looks backward from the jump at the end of b for the load from the
// table, and from there for the check of its index; 0 where there is none.
func (a *analysis) tableLen(b *block) int {
	last := int(b.last)
	index := a.ops[last].index
	for i := last - 1; i >= 0 && i >= last-boundWithin; i-- {
		o := &a.ops[i]
		switch {
		case o.kind == opTable && index == arch.NoReg:
			index = o.index
		case o.kind == opCmpImm && o.base == index && a.ops[i+1].flow == flowCond:
			n := o.k
			if a.ops[i+1].inclusive {
				n++
			}
			if n <= 0 || n > maxTable {
				return 0
			}
			return int(n)
		case o.dst == index && o.src != arch.NoReg && o.kind == opNone: // made longer
			index = o.src
		case o.dst == index && o.kind == opSet && o.k == 0:
			index = o.base
		case index != arch.NoReg && (o.dst == index || o.dst2 == index || (o.mask | o.list).Has(index)):
			return 0
		}
	}
	return 0
}

// unresolved reports whether some indirect jump is not understood.
func (a *analysis) unresolved() bool {
	for _, t := range a.jumps {
		if t.guessed || len(t.to) == 0 {
			return true
		}
	}
	return false
}
