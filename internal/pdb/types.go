package pdb

import (
	"fmt"
	"sort"
)

// CodeView kinds of type and id records that have to do with names.
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

// types are the records of the TPI or IPI stream. They have no table of
// contents, but an index of one in every few thousand bytes.
type types struct {
	first, last uint32 // numbers of records; last is one too many
	records     view
	index       view // pairs of a record's number and its offset
}

func (f *File) readTypes(n int) (*types, error) {
	s, err := f.c.stream(n)
	if err != nil {
		return nil, err
	}
	h, ok := s.bytes(0, 56)
	if !ok {
		return nil, fmt.Errorf("stream %d of %#x bytes: %w", n, s.size, ErrFormat)
	}
	t := &types{first: le.Uint32(h[8:]), last: le.Uint32(h[12:])}
	if t.records, ok = s.view(int(le.Uint32(h[4:])), int(le.Uint32(h[16:]))); !ok {
		return nil, fmt.Errorf("stream %d of %#x bytes: %w", n, s.size, ErrFormat)
	}
	hash, err := f.c.stream(number(h[20:]))
	if err != nil {
		return nil, err
	}
	t.index, _ = hash.view(int(le.Uint32(h[40:])), int(le.Uint32(h[44:]))) // empty: from the beginning
	return t, nil
}

// record finds a record by its number.
func (t *types) record(id uint32) (kind uint16, rec []byte, ok bool) {
	if id < t.first || id >= t.last {
		return 0, nil, false
	}
	at, n := 0, t.first
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
	for ; n < id; n++ {
		head, ok := t.records.bytes(at, 2)
		if !ok {
			return 0, nil, false
		}
		at += 2 + max(int(le.Uint16(head)), 2)
	}
	kind, rec, _, ok = t.records.record(at)
	return kind, rec, ok
}

// funcName is the qualified name of a function by its record in the IPI stream;
// empty when there is none.
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

// typeName is the name of a class, union or enumeration.
func (f *File) typeName(id uint32) string {
	t, err := f.types()
	if err != nil {
		return ""
	}
	kind, rec, ok := t.record(id)
	if !ok {
		return ""
	}
	at := 0
	switch kind {
	case leafClass, leafStruct, leafInterface:
		at = skipNumber(rec, 20)
	case leafUnion:
		at = skipNumber(rec, 12)
	case leafEnum:
		at = 16
	}
	if at == 0 || at > len(rec) {
		return ""
	}
	return cstring(rec[at:])
}

// skipNumber answers the offset behind a numeric leaf: two bytes that are the
// number, or that say how it is stored. 0: not known.
func skipNumber(rec []byte, at int) int {
	if len(rec) < at+2 {
		return 0
	}
	switch n := le.Uint16(rec[at:]); n {
	case 0x8000:
		return at + 3
	case 0x8001, 0x8002:
		return at + 4
	case 0x8003, 0x8004:
		return at + 6
	case 0x8009, 0x800a:
		return at + 10
	default:
		if n < 0x8000 {
			return at + 2
		}
	}
	return 0
}
