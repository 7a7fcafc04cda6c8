// Package exidx reads the exception index of 32-bit ARM, by which its programs
// unwind their own stacks: .ARM.exidx, which is found through the program header
// PT_ARM_EXIDX, and the entries that it refers to in .ARM.extab (Exception
// Handling ABI for the Arm Architecture, EHABI32).
//
// A Table answers for an address the unwinding instructions of the function that
// lies there; Run executes them. The instructions describe a function between its
// calls: they hold at a return address, and not where a prologue or an epilogue
// has been interrupted.
//
// The tables are hostile input. Nothing is trusted about their contents or order;
// a wrong order makes entries that are not found. A Table is immutable and may be
// used concurrently.
package exidx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// Why there are no instructions for an address. Every error of Find wraps one.
var (
	// ErrNotFound: no function of the index holds the address.
	ErrNotFound = errors.New("no entry in the exception index")
	// ErrCantUnwind: the function says that its caller cannot be found
	// (EXIDX_CANTUNWIND).
	ErrCantUnwind = errors.New("the exception index says that the function cannot be unwound")
	// ErrCorrupt: the entry is none.
	ErrCorrupt = errors.New("damaged exception index")
)

// A Table is the index of one module. Addresses are those of its file.
type Table struct {
	index []byte
	addr  uint64
	order binary.ByteOrder
	data  func(addr uint64) []byte
}

// entrySize is the bytes of an entry of the index.
const entrySize = 8

// New returns the table whose index lies at addr. data returns what the module has
// from an address on, as much as there is in one piece; nil for nothing.
func New(index []byte, addr uint64, order binary.ByteOrder, data func(addr uint64) []byte) *Table {
	return &Table{index: index[:len(index)/entrySize*entrySize], addr: addr, order: order, data: data}
}

// Len is the number of entries.
func (t *Table) Len() int { return len(t.index) / entrySize }

// maxOps is how many bytes of instructions an entry can have: three, and four for
// each of 255 further words.
const maxOps = 3 + 4*255

// An Entry is what the index says of a function. It can be used again.
type Entry struct {
	Start uint64 // address of the function
	// Generic: the entry has a personality routine of its own, at Personality. Its
	// instructions are where GNU's and Arm's routines have them.
	Generic     bool
	Personality uint64
	Index       int // of the personality routine where it is one of the ABI's: 0 to 2

	n   int
	ops [maxOps]byte
}

// Ops are the unwinding instructions. The slice belongs to e.
func (e *Entry) Ops() []byte { return e.ops[:e.n] }

// Find fills in e for the function that holds pc, an address of the module's
// file.
func (t *Table) Find(pc uint64, e *Entry) error {
	n := sort.Search(t.Len(), func(i int) bool { return t.start(i) > pc })
	if n == 0 {
		return fmt.Errorf("%#x: %w", pc, ErrNotFound)
	}
	return t.entry(n-1, e)
}

// start is the address of the function of entry i.
func (t *Table) start(i int) uint64 {
	at := i * entrySize
	return t.relative(t.order.Uint32(t.index[at:]), t.addr+uint64(at)) &^ 1
}

// relative is the address that the word w at addr means: 31 bits of a signed
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
		return fmt.Errorf("entry %d: its function is at no distance of 31 bits: %w", i, ErrCorrupt)
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

// add appends the last n bytes of a word, the most significant first.
func (e *Entry) add(w uint32, n int) {
	for ; n > 0; n-- {
		e.ops[e.n] = byte(w >> (8 * (n - 1)))
		e.n++
	}
}

// extended fills in e from the entry of .ARM.extab at addr.
func (t *Table) extended(addr uint64, e *Entry) error {
	data := t.data(addr)
	if len(data) < 4 {
		return fmt.Errorf("function at %#x: its entry at %#x is not there: %w", e.Start, addr, ErrCorrupt)
	}
	w := t.order.Uint32(data)
	rest := data[4:]
	first, more := 3, uint32(0)
	switch {
	case w>>31 == 0:
		e.Generic, e.Personality = true, t.relative(w, addr)
		if len(rest) < 4 {
			return fmt.Errorf("function at %#x: its entry at %#x is cut: %w", e.Start, addr, ErrCorrupt)
		}
		w = t.order.Uint32(rest)
		rest, more = rest[4:], w>>24
	case w>>28 != 8 || w>>24&15 > 2:
		return fmt.Errorf("function at %#x: personality %#x: %w", e.Start, w>>24, ErrCorrupt)
	default:
		if e.Index = int(w >> 24 & 15); e.Index > 0 {
			first, more = 2, w>>16&0xff
		}
	}
	if uint64(len(rest)) < uint64(more)*4 {
		return fmt.Errorf("function at %#x: its entry at %#x is cut: %w", e.Start, addr, ErrCorrupt)
	}
	e.add(w, first)
	for ; more > 0; more-- {
		e.add(t.order.Uint32(rest), 4)
		rest = rest[4:]
	}
	return nil
}
