// Package gopclntab reads the pc-line table that Go's linker puts into every program, stripped or not: the
// section .gopclntab. For an address of code it tells the function, the inlined calls, file and line, and how
// far the stack pointer has moved since the function was entered.
//
// It reads the layouts of Go 1.18 and later, where functions are 32-bit offsets from the start of the text, for
// both byte orders and pointers of 4 and 8 bytes. Package debug/gosym of the standard library reads the whole
// table at once, panics and recovers on damage, and knows neither frame sizes nor inlined calls. The layout is
// that of cmd/link/internal/ld/pcln.go and runtime/symtab.go.
//
// The table is hostile input. Parse reads only the header; a lookup reads what it needs. A Table is immutable
// and may be used concurrently.
package gopclntab

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sort"
	"sync/atomic"
)

// Errors of Parse, wrapped with what was found.
var (
	// ErrFormat: the bytes are not a table.
	ErrFormat = errors.New("not a Go pc-line table")
	// ErrVersion: the table is that of a Go release before 1.18.
	ErrVersion = errors.New("unsupported version of the Go pc-line table")
	// ErrTruncated: the header refers to data beyond the end of the table.
	ErrTruncated = errors.New("truncated Go pc-line table")
)

// A Version is the layout of a table, named by the release that introduced it.
type Version uint8

const (
	Go118 Version = iota + 1 // Go 1.18 and 1.19
	Go120                    // since Go 1.20
)

// Magic numbers of the header's first word.
const (
	magic12  = 0xfffffffb
	magic116 = 0xfffffffa
	magic118 = 0xfffffff0
	magic120 = 0xfffffff1
)

// Magics returns the bytes that tables which Parse reads begin with, in a byte order.
func Magics(big bool) [][]byte {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if big {
		order = binary.BigEndian
	}
	var out [][]byte
	for _, m := range []uint32{magic120, magic118} {
		out = append(out, append(order.AppendUint32(nil, m), 0, 0)) // and padding
	}
	return out
}

// A Table is the pc-line table of one module.
type Table struct {
	Version Version
	Big     bool
	PtrSize int // bytes of a pointer: 4 or 8
	MinLC   int // bytes of the shortest instruction
	Funcs   int // number of functions

	// Start of the text as the header has it: of Go 1.18 to 1.24, where it needs no relocation; 0 otherwise.
	HeaderText uint64

	text   uint64                  // address of the code that offsets of functions count from
	inline func(off uint64) []byte // what the module has from an offset of its function data on; nil for nothing

	work *atomic.Int64 // entries that were read, of all copies

	order binary.ByteOrder
	names []byte   // names of functions, each ending in a NUL
	cus   []byte   // 32-bit offsets in files, by compilation unit
	files []byte   // names of files
	pcs   []byte   // tables of values by pc
	funcs []byte   // the functions: index, then records
	offs  [5]int64 // where names, cus, files, pcs and funcs begin
}

// headerFixed is the size of the header up to its first word of pointer size, in bytes.
const headerFixed = 8

// Parse reads the header of the table that data begins with. Lookups need Loaded as well.
func Parse(data []byte) (*Table, error) {
	t := &Table{work: new(atomic.Int64)}
	magic, err := t.identify(data)
	if err != nil {
		return nil, err
	}
	switch magic {
	case magic118:
		t.Version = Go118
	case magic120:
		t.Version = Go120
	default:
		return nil, fmt.Errorf("magic number %#x: %w", magic, ErrVersion)
	}
	const words = 8 // functions, files, text, and five offsets
	if len(data) < headerFixed+words*t.PtrSize {
		return nil, fmt.Errorf("%d bytes are no header: %w", len(data), ErrTruncated)
	}
	word := func(i int) uint64 { return t.pointer(data[headerFixed+i*t.PtrSize:]) }
	t.HeaderText = word(2)
	parts := [...]*[]byte{&t.names, &t.cus, &t.files, &t.pcs, &t.funcs}
	prev := uint64(headerFixed + words*t.PtrSize)
	for i, part := range parts {
		off := word(3 + i)
		if off < prev || off > uint64(len(data)) {
			return nil, fmt.Errorf("part %d begins at %#x of %#x bytes: %w", i, off, len(data), ErrTruncated)
		}
		t.offs[i], prev = int64(off), off
		*part = data[off:]
		if i > 0 {
			*parts[i-1] = data[t.offs[i-1]:off]
		}
	}
	n := word(0)
	if n == 0 || n > uint64(len(t.funcs))/funcTabEntry || n*funcTabEntry+4 > uint64(len(t.funcs)) {
		return nil, fmt.Errorf("%d functions in %d bytes: %w", n, len(t.funcs), ErrTruncated)
	}
	t.Funcs = int(n)
	return t, nil
}

// identify reads what the byte order and the layout follow from.
func (t *Table) identify(data []byte) (magic uint32, err error) {
	if len(data) < headerFixed {
		return 0, fmt.Errorf("%d bytes: %w", len(data), ErrFormat)
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		switch m := order.Uint32(data); m {
		case magic12, magic116, magic118, magic120:
			magic, t.order, t.Big = m, order, order == binary.BigEndian
		}
	}
	t.MinLC, t.PtrSize = int(data[6]), int(data[7])
	switch {
	case magic == 0:
		return 0, fmt.Errorf("begins with %x: %w", data[:4], ErrFormat)
	case data[4] != 0 || data[5] != 0:
		return 0, fmt.Errorf("padding %x: %w", data[4:6], ErrFormat)
	case t.MinLC != 1 && t.MinLC != 2 && t.MinLC != 4:
		return 0, fmt.Errorf("instructions of %d bytes: %w", t.MinLC, ErrFormat)
	case t.PtrSize != 4 && t.PtrSize != 8:
		return 0, fmt.Errorf("pointers of %d bytes: %w", t.PtrSize, ErrFormat)
	}
	return magic, nil
}

func (t *Table) pointer(b []byte) uint64 {
	if t.PtrSize == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// Loaded returns the table of a module whose code begins at the address text. function data, which the inlined
// calls are in, is what inline returns for an offset from its start; inline may be nil, and may return nil.
func (t *Table) Loaded(text uint64, inline func(off uint64) []byte) *Table {
	u := *t
	u.text, u.inline = text, inline
	return &u
}

// entriesPerUnit is how many entries of tables cost a unit of Work.
const entriesPerUnit = 2

// Work is what all look-ups have cost so far, in units of a budget. A function's tables may have megabytes, and each look-up begins at
// their beginning.
func (t *Table) Work() int64 { return t.work.Load() / entriesPerUnit }

// Text returns the address of the first function and the end of the last one.
func (t *Table) Text() (start, end uint64) {
	return t.text + uint64(t.entryOff(0)), t.text + uint64(t.entryOff(t.Funcs))
}

// funcTabEntry is the size of an entry of the index, in bytes: offsets of the function's code from the start of
// the text and of its record from the start of the index. The entry behind the last function has only the
// former, the end of the code.
const funcTabEntry = 8

func (t *Table) entryOff(i int) uint32 { return t.order.Uint32(t.funcs[i*funcTabEntry:]) }

// Find returns the function that covers pc.
func (t *Table) Find(pc uint64) (Func, bool) {
	off := pc - t.text
	if pc < t.text || off>>32 != 0 || uint32(off) < t.entryOff(0) || uint32(off) >= t.entryOff(t.Funcs) {
		return Func{}, false
	}
	i := sort.Search(t.Funcs, func(i int) bool { return t.entryOff(i) > uint32(off) }) - 1
	if i < 0 { // a damaged index, which is not in order
		return Func{}, false
	}
	f, ok := t.function(i)
	return f, ok && pc >= f.Entry && pc < f.End
}

// function returns function i of the index.
func (t *Table) function(i int) (Func, bool) {
	at := uint64(t.order.Uint32(t.funcs[i*funcTabEntry+4:]))
	size := uint64(recordSize120)
	if t.Version == Go118 {
		size = recordSize118
	}
	if at > uint64(len(t.funcs)) || uint64(len(t.funcs))-at < size {
		return Func{}, false
	}
	f := Func{t: t, rec: t.funcs[at:], size: int(size), Entry: t.text + uint64(t.entryOff(i)), End: t.text + uint64(t.entryOff(i+1))}
	return f, f.u32(recEntry) == t.entryOff(i) && f.End > f.Entry
}

// ByName returns the first function with a name. It searches the names, and the index if one matches.
func (t *Table) ByName(name string) (Func, bool) {
	off, ok := t.nameOffset(name)
	for i := 0; ok && i < t.Funcs; i++ {
		if f, ok := t.function(i); ok && uint64(f.u32(recName)) == off {
			return f, true
		}
	}
	return Func{}, false
}

// All iterates over the functions in the order of their addresses. Damaged ones are left out.
func (t *Table) All() iter.Seq[Func] {
	return func(yield func(Func) bool) {
		for i := range t.Funcs {
			if f, ok := t.function(i); ok && !yield(f) {
				return
			}
		}
	}
}
