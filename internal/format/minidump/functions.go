package minidump

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// A FunctionTable is an unwind table that the process registered for code generated at run
// time (RtlAddFunctionTable and its relatives).
type FunctionTable struct {
	MinAddress, MaxAddress, Base uint64 // the code is in [MinAddress, MaxAddress); entries are relative to Base
	Native                       []byte // the table's descriptor in the process
	Functions                    []byte // RUNTIME_FUNCTION entries
	EntrySize                    int    // size of an entry in bytes
}

// Limits on what a damaged or hostile stream may demand.
const (
	maxFunctionTables  = 1 << 16
	maxFunctionEntries = 1 << 20
)

// readFunctionTable decodes MINIDUMP_FUNCTION_TABLE_STREAM. The size of each structure
// includes the padding before the next.
func (f *File) readFunctionTable(s []byte) {
	c := f.cursor(s)
	head, desc, native, entry := c.U32(), c.U32(), c.U32(), c.U32()
	count, pad := c.U32(), c.U32()
	if c.Error != nil || head < 24 || desc < 32 || entry == 0 {
		f.warnf("stream FunctionTable: damaged header")
		return
	}
	c.Off = 0
	c.Skip64(uint64(head) + uint64(pad))
	for i := range count {
		if i == maxFunctionTables {
			f.warnf("stream FunctionTable: has %d tables, used %d", count, i)
			return
		}
		d := f.cursor(c.Bytes64(uint64(desc)))
		t := FunctionTable{MinAddress: d.U64(), MaxAddress: d.U64(), Base: d.U64(), EntrySize: int(entry)}
		entries, pad := uint64(d.U32()), uint64(d.U32())
		t.Native = c.Bytes64(uint64(native))
		t.Functions = c.Bytes64(entries * uint64(entry))
		if c.Error != nil || d.Error != nil {
			f.warnf("stream FunctionTable: truncated after %d of %d tables", i, count)
			return
		}
		f.Functions = append(f.Functions, t)
		if i+1 < count {
			c.Skip64(pad)
		}
	}
}

// A FunctionIndex finds the entries of all the function tables of a dump by address. It is
// safe for concurrent use.
type FunctionIndex struct {
	tables []FunctionTable
	size   int       // of an entry, in bytes
	list   []indexed // ascending, without overlaps
}

// Sizes of entries: begin, end and unwind information; on arm64 without the end.
const (
	entryAMD64 = 12
	entryARM64 = 8
)

// An indexed entry may describe the code from first to last, both included.
type indexed struct {
	first, last uint64
	table       int32
	at          uint32 // number of the entry in its table
}

// A RuntimeFunction is an entry of a function table.
type RuntimeFunction struct {
	Entry []byte // the RUNTIME_FUNCTION; its addresses are relative to Base
	Base  uint64
}

// FunctionIndex sorts the entries of the dump's function tables, in n log n steps. It leaves
// out those that contradict each other: whose code overlaps, in one table or in two. It is
// empty for processors that have no such tables. Of more than a million entries, it has the
// first.
func (f *File) FunctionIndex() *FunctionIndex {
	x := &FunctionIndex{tables: f.Functions}
	switch f.System.CPU {
	case CPUAMD64:
		x.size = entryAMD64
	case CPUARM64, CPUARM64Old:
		x.size = entryARM64
	}
	if x.size == 0 || f.Big {
		return x
	}
	for i := range x.tables {
		x.add(i)
	}
	slices.SortStableFunc(x.list, func(a, b indexed) int { return cmp.Compare(a.first, b.first) })
	if x.size == entryARM64 {
		x.end()
	}
	x.settle()
	return x
}

// add adds the entries of a table, each with the code that it may describe. Who removed the
// code of an entry has set its last word, where the unwind information is, to zero.
func (x *FunctionIndex) add(table int) {
	t := &x.tables[table]
	if t.EntrySize < x.size {
		return
	}
	for n, b := uint32(0), t.Functions; len(b) >= t.EntrySize && len(x.list) < maxFunctionEntries; n, b = n+1, b[t.EntrySize:] {
		begin, end := uint64(binary.LittleEndian.Uint32(b)), uint64(1<<32)
		if x.size == entryAMD64 {
			end = uint64(binary.LittleEndian.Uint32(b[4:]))
		}
		if binary.LittleEndian.Uint32(b[x.size-4:]) == 0 || end <= begin || t.Base+end < t.Base {
			continue
		}
		e := indexed{max(t.Base+begin, t.MinAddress), t.Base + end - 1, int32(table), n}
		if e.first < t.MaxAddress {
			e.last = min(e.last, t.MaxAddress-1)
			if e.first <= e.last {
				x.list = append(x.list, e)
			}
		}
	}
}

// end lets entries whose length is not known end where the next one begins.
func (x *FunctionIndex) end() {
	next := ^uint64(0)
	for i := len(x.list) - 1; i >= 0; i-- {
		e := &x.list[i]
		e.last = min(e.last, next-1)
		if i > 0 && x.list[i-1].first < e.first {
			next = e.first
		}
	}
}

// settle removes the entries that overlap others, but keeps one of those that say the same.
func (x *FunctionIndex) settle() {
	bad := make([]bool, len(x.list))
	widest := 0 // of the entries before, the one that ends last
	for i := 1; i < len(x.list); i++ {
		e, w := &x.list[i], &x.list[widest]
		if e.first <= w.last {
			bad[i] = true
			bad[widest] = bad[widest] || !x.same(e, w)
		}
		if e.last > w.last {
			widest = i
		}
	}
	kept := x.list[:0]
	for i, e := range x.list {
		if !bad[i] {
			kept = append(kept, e)
		}
	}
	x.list = kept
}

// same reports whether two entries say the same of the same code.
func (x *FunctionIndex) same(a, b *indexed) bool {
	p, q := x.function(a), x.function(b)
	return a.first == b.first && a.last == b.last && p.Base == q.Base && slices.Equal(p.Entry, q.Entry)
}

func (x *FunctionIndex) function(e *indexed) RuntimeFunction {
	t := &x.tables[e.table]
	at := int(e.at) * t.EntrySize
	return RuntimeFunction{t.Functions[at : at+x.size : at+x.size], t.Base}
}

// At returns the entry that may describe the code at pc: on x64 it does, on arm64 the unwind
// information says how long the code is. It returns false if there is none, and if tables
// contradict each other.
func (x *FunctionIndex) At(pc uint64) (RuntimeFunction, bool) {
	i := sort.Search(len(x.list), func(i int) bool { return x.list[i].first > pc })
	if i == 0 || x.list[i-1].last < pc {
		return RuntimeFunction{}, false
	}
	return x.function(&x.list[i-1]), true
}
