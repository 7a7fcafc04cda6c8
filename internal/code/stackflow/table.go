package stackflow

import (
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxTable limits the entries of a jump table.
const maxTable = 4096

// maxGuess limits the entries of a jump table of unknown length.
const maxGuess = 128

// maxSpread is the assumed maximum distance in bytes of a function's code from its start,
// if its end is unknown.
const maxSpread = 64 << 10

// maxTargets limits the entries of all jump tables of a function.
const maxTargets = 16384

// boundWithin is how many instructions before an indirect jump are searched for its bounds
// check.
const boundWithin = 32

// resolve follows an indirect jump at the end of b.
func (a *analysis) resolve(b *block, o *op) {
	targets, known := a.jumps[b.last]
	if !known {
		targets = a.readTable(b, o)
		a.jumps[b.last] = targets
	}
	soft := a.cur.soft
	a.cur.soft = soft || targets.guessed
	for _, to := range targets.to {
		if i, ok := a.find(to); ok && a.ops[i].leader { // otherwise it becomes one when solving continues
			a.arrive(int(a.blockOf[i]), &a.cur)
		}
	}
	a.cur.soft = soft
}

// A jumpTable has the targets of an indirect jump; none if it is not understood.
type jumpTable struct {
	to      []uint64
	guessed bool // their number is unknown
}

// readTable finds the targets of an indirect jump that are in the function. For a table of unknown length, the
// targets count up to the first one that is not.
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
		if !t.guessed && a.end != 0 && !a.inside(to) && a.code.CodeAt(to) != nil {
			continue // a part of the function that lies elsewhere, as compilers put what seldom runs
		}
		if !a.plausible(to) {
			t.guessed = true
			break
		}
		t.to = append(t.to, to)
	}
	return t
}

// plausible reports whether an entry of the function's jump table may lead to addr.
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

// readEntry decodes a table entry, sign-extended if it is relative.
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

// jumpValue returns the content of the jump's operand.
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

// tableLen searches backward from the jump at the end of b for the load from the table, and
// from there for the check of its index. It returns the number of entries, or 0 if not
// found.
func (a *analysis) tableLen(b *block) int {
	last := int(b.last)
	index := a.ops[last].index
	for i := last - 1; i >= 0 && i >= last-boundWithin; i-- {
		o := &a.ops[i]
		switch {
		case o.kind == opTable && index == arch.NoReg:
			if index = o.index; o.swaps && a.cur.get(o.index).kind == constant && a.cur.get(o.base).kind != constant {
				index = o.base
			}
		case o.kind == opCmpImm && o.base == index && a.ops[i+1].flow == flowCond:
			n := o.k
			if a.ops[i+1].inclusive {
				n++
			}
			if n <= 0 || n > maxTable {
				return 0
			}
			return int(n)
		case o.dst == index && o.src != arch.NoReg && o.kind == opNone: // extended
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

// indirect returns the indirect jumps of which nothing is known.
func (a *analysis) indirect() []uint64 {
	var out []uint64
	for i, t := range a.jumps {
		if len(t.to) == 0 {
			out = append(out, a.ops[i].addr)
		}
	}
	slices.Sort(out)
	return out
}
