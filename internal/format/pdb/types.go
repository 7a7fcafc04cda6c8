package pdb

import (
	"fmt"
	"sort"
	"sync"
)

// CodeView kinds of type and id records that contain names.
const (
	leafClass     = 0x1504
	leafStruct    = 0x1505
	leafUnion     = 0x1506
	leafEnum      = 0x1507
	leafInterface = 0x1519
	leafFuncID    = 0x1601
	leafMethodID  = 0x1602
	leafStringID  = 0x1605
)

// types are the records of the TPI or IPI stream. They have no table of contents, only an
// index entry for every few thousand bytes.
type types struct {
	first, last uint32 // range of record numbers; last is exclusive
	records     view
	index       view // pairs of a record's number and offset

	buckets uint32
	hashes  view // bucket of each record's name

	marks func() []int // see findMarks
}

func (f *File) readTypes(n int) (*types, error) {
	s, err := f.c.stream(n)
	if err != nil {
		return nil, err
	}
	h, ok := s.bytes(0, 56)
	if !ok {
		return nil, fmt.Errorf("stream %d has only %#x bytes: %w", n, s.size, ErrFormat)
	}
	t := &types{first: le.Uint32(h[8:]), last: le.Uint32(h[12:])}
	if t.records, ok = s.view(int(le.Uint32(h[4:])), int(le.Uint32(h[16:]))); !ok {
		return nil, fmt.Errorf("stream %d has an invalid header or size of %#x bytes: %w", n, s.size, ErrFormat)
	}
	hash, err := f.c.stream(number(h[20:]))
	if err != nil {
		return nil, err
	}
	t.marks = sync.OnceValue(t.findMarks)
	t.buckets = le.Uint32(h[28:])
	t.hashes, _ = hash.view(int(le.Uint32(h[32:])), int(le.Uint32(h[36:])))
	t.index, _ = hash.view(int(le.Uint32(h[40:])), int(le.Uint32(h[44:]))) // if empty, search from the beginning
	return t, nil
}

// record finds a record by its number.
func (t *types) record(id uint32) (kind uint16, rec []byte, ok bool) {
	at, ok := t.offset(id)
	if !ok {
		return 0, nil, false
	}
	kind, rec, _, ok = t.records.record(at)
	return kind, rec, ok
}

// offset finds where a record begins.
func (t *types) offset(id uint32) (at int, ok bool) {
	if id < t.first || id >= t.last {
		return 0, false
	}
	n := t.first
	i := sort.Search(t.index.size/8, func(i int) bool {
		b, ok := t.index.bytes(8*i, 4)
		return !ok || le.Uint32(b) > id
	}) - 1
	if i >= 0 {
		b, _ := t.index.bytes(8*i, 8)
		if first := le.Uint32(b); first >= t.first && first <= id {
			n, at = first, int(le.Uint32(b[4:]))
		}
	}
	if id-n >= maxSkip { // there is no index, or an unreliable one
		marks := t.marks()
		i := int(id-t.first) / maxSkip
		if i >= len(marks) {
			return 0, false
		}
		n, at = t.first+uint32(i)*maxSkip, marks[i]
	}
	t.records.s.c.work.Add(int64(id-n)/skipsPerUnit + 1)
	for ; n < id; n++ {
		if at, ok = t.next(at); !ok {
			return 0, false
		}
	}
	return at, true
}

// skipsPerUnit is how many records that are skipped, or whose hashes are compared, cost a unit of Work.
const skipsPerUnit = 4

// maxSkip limits how many records are skipped to get to one: no two index entries have more
// between them.
const maxSkip = 4096

// next returns the offset of the record after the one at an offset.
func (t *types) next(at int) (int, bool) {
	head, ok := t.records.bytes(at, 2)
	if !ok {
		return 0, false
	}
	return at + 2 + max(int(le.Uint16(head)), 2), true
}

// findMarks reads all records to build an index if there is none.
func (t *types) findMarks() []int {
	var marks []int
	at, ok := 0, true
	t.records.s.c.work.Add(int64(t.last-t.first) / skipsPerUnit)
	for n := uint32(0); ok && n < t.last-t.first; n++ {
		if n%maxSkip == 0 {
			marks = append(marks, at)
		}
		at, ok = t.next(at)
	}
	return marks
}

// funcName returns the qualified name of a function by its record in the IPI stream, or ""
// if there is none.
func (f *File) funcName(id uint32) string {
	ids, err := f.ids()
	if err != nil {
		return ""
	}
	kind, rec, ok := ids.record(id)
	if !ok || len(rec) < 12 {
		return ""
	}
	name, scope := cstring(rec[12:]), ""
	switch parent := le.Uint32(rec[4:]); {
	case kind == leafMethodID:
		scope = f.typeName(parent)
	case kind != leafFuncID:
		return ""
	case parent != 0:
		if k, r, ok := ids.record(parent); ok && k == leafStringID && len(r) > 8 {
			scope = cstring(r[8:])
		}
	}
	if scope != "" {
		return scope + "::" + name
	}
	return name
}

// typeName returns the name of a class, union or enumeration.
func (f *File) typeName(id uint32) string {
	t, _ := f.Type(TypeID(id))
	switch t.Kind {
	case TypeClass, TypeStruct, TypeUnion, TypeEnum:
		return t.Name
	}
	return ""
}
