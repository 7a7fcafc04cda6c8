package pdb

import (
	"fmt"
	"sort"
)

// publics are the public symbols, which the linker saw, in the order of their places.
type publics struct {
	records view
	addrs   view // offsets of their records
}

func (f *File) readPublics() (*publics, error) {
	s, err := f.c.stream(f.dbi.publics)
	if err != nil || s.size == 0 {
		return &publics{}, err
	}
	recs, err := f.c.stream(f.dbi.records)
	if err != nil {
		return nil, err
	}
	h, ok := s.bytes(0, 28)
	if !ok {
		return nil, fmt.Errorf("publics stream has only %#x bytes: %w", s.size, ErrFormat)
	}
	p := &publics{records: view{recs, 0, recs.size}}
	if p.addrs, ok = s.view(28+int(le.Uint32(h)), int(le.Uint32(h[4:]))); !ok {
		return nil, fmt.Errorf("address map of publics: %w", ErrFormat)
	}
	return p, nil
}

// A public is one public symbol.
type public struct {
	place
	text     []byte // begins with the name
	function bool
}

// name copies the name, which may be long: only that of what was searched for is wanted.
func (x *public) name() string { return cstring(x.text) }

func (p *publics) get(i int) (x public, ok bool) {
	b, ok := p.addrs.bytes(4*i, 4)
	if !ok {
		return x, false
	}
	kind, rec, _, ok := p.records.record(int(le.Uint32(b)))
	if !ok || kind != symPublic || len(rec) < 14 {
		return x, false
	}
	x.function = le.Uint32(rec[4:])&3 != 0
	x.place = place{le.Uint16(rec[12:]), le.Uint32(rec[8:])}
	x.text = rec[14:]
	return x, true
}

// before returns the last name at or before a place in its section, and the next place with
// a name, or 0 if there is none.
func (p *publics) before(where place) (x public, next uint32, ok bool) {
	n := p.addrs.size / 4
	bad := false
	i := sort.Search(n, func(i int) bool {
		x, ok := p.get(i)
		bad = bad || !ok
		return where.less(x.place)
	})
	if bad || i == 0 {
		return x, 0, false
	}
	if y, ok := p.get(i); ok && y.sect == where.sect {
		next = y.off
	}
	x, ok = p.get(i - 1)
	for j := i - 2; j >= 0 && i-j < 64; j-- { // of several names at the same place, use the first
		y, ok := p.get(j)
		if !ok || y.place != x.place {
			break
		}
		x = y
	}
	return x, next, ok && x.sect == where.sect
}
