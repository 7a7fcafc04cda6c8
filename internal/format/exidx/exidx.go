// Package exidx reads the exception index of 32-bit ARM, with which programs unwind their
// own stacks: .ARM.exidx, found through the program header PT_ARM_EXIDX, and the entries in
// .ARM.extab to which it refers (Exception Handling ABI for the Arm Architecture, EHABI32).
//
// A Table finds the unwinding instructions of the function at an address; Run executes
// them. The instructions describe a function at its calls: they are valid at a return
// address, but not in a prologue or epilogue.
//
// The tables are untrusted input: entries are checked, and a wrong order only means that
// some entries are not found. A Table is immutable and safe for concurrent use.
package exidx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// Reasons why there are no instructions for an address. Every error of Find wraps one.
var (
	// ErrNotFound: no function in the index contains the address.
	ErrNotFound = errors.New("no entry in the exception index")
	// ErrCantUnwind: the index marks the function as one that cannot be unwound
	// (EXIDX_CANTUNWIND).
	ErrCantUnwind = errors.New("exception index marks the function as impossible to unwind")
	// ErrCorrupt: the entry is invalid.
	ErrCorrupt = errors.New("damaged exception index")
)

// A Table is the index of one module. Addresses are those in the module's file.
type Table struct {
	index []byte
	addr  uint64
	order binary.ByteOrder
	data  func(addr uint64) []byte
}

// entrySize is the size of an index entry in bytes.
const entrySize = 8

// New returns a table for the index at addr. data returns the module's contiguous bytes
// from an address on, or nil if there are none.
func New(index []byte, addr uint64, order binary.ByteOrder, data func(addr uint64) []byte) *Table {
	return &Table{index: index[:len(index)/entrySize*entrySize], addr: addr, order: order, data: data}
}

// Len is the number of entries.
func (t *Table) Len() int { return len(t.index) / entrySize }

// maxOps is the maximum number of instruction bytes of an entry: three, and four for each
// of 255 further words.
const maxOps = 3 + 4*255

// An Entry is the index entry of a function. It can be reused.
type Entry struct {
	Start uint64 // address of the function
	// Generic: the entry has its own personality routine, at Personality. Its instructions
	// are where the routines of GNU and Arm have them.
	Generic     bool
	Personality uint64
	Index       int // of the personality routine if it is one of the ABI's: 0 to 2

	n   int
	ops [maxOps]byte
}

// Ops returns the unwinding instructions. The slice belongs to e.
func (e *Entry) Ops() []byte { return e.ops[:e.n] }

// Find fills in e for the function that contains pc, an address in the module's file.
func (t *Table) Find(pc uint64, e *Entry) error {
	n := sort.Search(t.Len(), func(i int) bool { return t.start(i) > pc })
	if n == 0 {
		return fmt.Errorf("%#x: %w", pc, ErrNotFound)
	}
	return t.entry(n-1, e)
}

// start returns the address of entry i's function.
func (t *Table) start(i int) uint64 {
	at := i * entrySize
	return t.relative(t.order.Uint32(t.index[at:]), t.addr+uint64(at)) &^ 1
}

// relative returns the address to which the word w at addr refers by a signed 31-bit
// distance.
func (t *Table) relative(w uint32, addr uint64) uint64 {
	return uint64(uint32(addr) + uint32(int32(w<<1)>>1))
}

const cantUnwind = 1

// entry fills in e from entry i.
func (t *Table) entry(i int, e *Entry) error {
	at := i * entrySize
	e.Start, e.Generic, e.Personality, e.Index, e.n = t.start(i), false, 0, 0, 0
	w := t.order.Uint32(t.index[at+4:])
	switch {
	case t.order.Uint32(t.index[at:])>>31 != 0:
		return fmt.Errorf("entry %d: bad distance to its function: %w", i, ErrCorrupt)
	case w == cantUnwind:
		return fmt.Errorf("function at %#x: %w", e.Start, ErrCantUnwind)
	case w>>24 == 0x80:
		e.add(w, 3)
		return nil
	case w>>31 != 0:
		return fmt.Errorf("function at %#x: inline entry %#x: %w", e.Start, w, ErrCorrupt)
	}
	return t.extended(t.relative(w, t.addr+uint64(at)+4), e)
}

// add appends the low n bytes of a word, the most significant first.
func (e *Entry) add(w uint32, n int) {
	for ; n > 0; n-- {
		e.ops[e.n] = byte(w >> (8 * (n - 1)))
		e.n++
	}
}

// extended fills in e from the .ARM.extab entry at addr.
func (t *Table) extended(addr uint64, e *Entry) error {
	data := t.data(addr)
	if len(data) < 4 {
		return fmt.Errorf("function at %#x: no entry at %#x: %w", e.Start, addr, ErrCorrupt)
	}
	w := t.order.Uint32(data)
	rest := data[4:]
	first, more := 3, uint32(0)
	switch {
	case w>>31 == 0:
		e.Generic, e.Personality = true, t.relative(w, addr)
		if len(rest) < 4 {
			return fmt.Errorf("function at %#x: entry at %#x is truncated: %w", e.Start, addr, ErrCorrupt)
		}
		w = t.order.Uint32(rest)
		rest, more = rest[4:], w>>24
	case w>>28 != 8 || w>>24&15 > 2:
		return fmt.Errorf("function at %#x: unknown personality routine %#x: %w", e.Start, w>>24, ErrCorrupt)
	default:
		if e.Index = int(w >> 24 & 15); e.Index > 0 {
			first, more = 2, w>>16&0xff
		}
	}
	if uint64(len(rest)) < uint64(more)*4 {
		return fmt.Errorf("function at %#x: entry at %#x is truncated: %w", e.Start, addr, ErrCorrupt)
	}
	e.add(w, first)
	for ; more > 0; more-- {
		e.add(t.order.Uint32(rest), 4)
		rest = rest[4:]
	}
	return nil
}
