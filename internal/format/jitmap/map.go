package jitmap

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/format/spans"
)

// A Function is code that a record describes.
type Function struct {
	Start, Size uint64
	Name        string
	// Code is what was at Start when the record was written; nil if the record does not have it.
	Code []byte
	// Cut says that other code took the place of a part of this one later: it may not be there any more.
	Cut bool

	// Table is the unwind table that the record has of the function, as in a section .eh_frame at TableAddr; nil for none.
	Table []byte

	lines lines
	shift uint64 // by which the addresses of lines are too high
}

// A Map has the functions of one file, and refers to its bytes. It is safe for concurrent use.
type Map struct {
	data   []byte
	list   []record
	lines  []lines
	tables []piece
	shift  uint64
	pieces spans.Table

	// PID is that of the process, as the file's header has it; 0 for a map of perf, whose name has it.
	PID uint32
	// Damaged says what is wrong with the rest of the file; nil for nothing.
	Damaged error
}

// A record is small: a file has many, and few are asked for.
type record struct {
	start, size   uint64
	name, nameLen uint32 // where it is in the file
	code          uint32 // likewise; 0 for none
	lines         int32  // of Map.lines; -1 for none
	table         int32  // of Map.tables; -1 for none
}

// A piece is a part of the file.
type piece struct{ at, len uint32 }

// Len returns how many records the map has.
func (m *Map) Len() int { return len(m.list) }

// At returns record number i, in the order in which they were written.
func (m *Map) At(i int) Function {
	r := &m.list[i]
	f := Function{Start: r.start, Size: r.size, Name: string(m.data[r.name:][:r.nameLen])}
	if r.code != 0 {
		f.Code = m.data[r.code:][:r.size]
	}
	if r.lines >= 0 {
		f.lines, f.shift = m.lines[r.lines], m.shift
	}
	if r.table >= 0 {
		p := m.tables[r.table]
		f.Table = m.data[p.at:][:p.len]
	}
	return f
}

// Find returns the function at an address, by the record that was written last.
func (m *Map) Find(addr uint64) (Function, bool) {
	i, ok := m.pieces.Find(addr)
	if !ok {
		return Function{}, false
	}
	f := m.At(len(m.list) - 1 - i)
	f.Cut = m.cut(&f)
	return f, true
}

// index makes the table of addresses.
func (m *Map) index() {
	last := len(m.list) - 1
	m.pieces = spans.New(len(m.list), func(i int) (first, end uint64, ok bool) {
		r := &m.list[last-i]
		return r.start, r.start + r.size - 1, true
	})
}

// cut reports whether later records took a part of one of which something is left. If not, the piece at its beginning has all of it.
func (m *Map) cut(f *Function) bool {
	k, _ := slices.BinarySearchFunc(m.pieces, f.Start, func(p spans.Piece, at uint64) int { return cmp.Compare(p.Last, at) })
	return m.pieces[k].Last != f.Start+f.Size-1
}

// add adds a record, unless no code can be there.
func (m *Map) add(r record) bool {
	if r.size == 0 || r.size > maxFunction || r.start == 0 || r.start+r.size < r.start {
		return false
	}
	r.nameLen = min(r.nameLen, maxName)
	m.list = append(m.list, r)
	return true
}

const (
	// maxFunction is how large the code of a record may be, in bytes: the code of an interpreter is one record.
	maxFunction = 1 << 30
	// maxName is how long a name may be, in bytes; what is longer is cut off.
	maxName = 4096
	// maxRecords is how many records of a file are read. Large programs of JavaScript have a tenth of them.
	maxRecords = 1 << 20
	// maxFile is how large a file may be, in bytes.
	maxFile = 1<<31 - 1
)
