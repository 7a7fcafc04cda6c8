package stackflow

import "github.com/corewalk/corewalk/unwind/arch"

// maxTable bounds the entries of a table of jumps.
const maxTable = 4096

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
	for _, to := range targets {
		a.goTo(to, &a.cur)
	}
}

// readTable finds the targets of an indirect jump; nil when it is none through a
// table, or one whose length is not known.
func (a *analysis) readTable(b *block, o *op) []uint64 {
	v := a.jumpValue(o)
	if v.kind != tableEntry && v.kind != tableTarget {
		return nil
	}
	n := a.tableLen(b)
	data := a.code.DataAt(uint64(v.k))
	size := int(v.size)
	if n == 0 || n*size > len(data) || a.ntargets+n > maxTargets {
		return nil
	}
	a.ntargets += n
	var targets []uint64
	for i := range n {
		to := a.readEntry(data[i*size:], size, v.kind == tableTarget)
		if v.kind == tableTarget {
			to += uint64(v.k + int64(v.id))
		}
		to = a.machine.arch.Truncate(to)
		if a.code.CodeAt(to) == nil {
			return nil
		}
		targets = append(targets, to)
	}
	return targets
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

// tableLen looks backward from the end of b for the check of the table's index;
// 0 for none.
func (a *analysis) tableLen(b *block) int {
	last := int(b.last)
	for i := last - 1; i >= 0 && i >= last-boundWithin; i-- {
		o, next := &a.ops[i], &a.ops[i+1]
		if o.kind != opCmpImm || next.flow != flowCond {
			continue
		}
		n := o.k
		if next.inclusive {
			n++
		}
		if n <= 0 || n > maxTable {
			return 0
		}
		return int(n)
	}
	return 0
}

// unresolved reports whether some indirect jump is not understood.
func (a *analysis) unresolved() bool {
	for _, to := range a.jumps {
		if to == nil {
			return true
		}
	}
	return false
}
