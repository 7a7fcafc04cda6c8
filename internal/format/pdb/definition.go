package pdb

import "strings"

// A class that is only declared has a record of its own, a forward reference. Its
// definition is another record with the same name. The types' hash stream has, for each
// record in order, the bucket of its name: a definition is searched for among the records
// of its bucket.

// maxUnhashed limits how many bytes of records are searched if names are not hashed.
const maxUnhashed = 16 << 20

// Definition returns the definition of a class, union or enumeration that id only declares,
// or false if there is none. If id is not a forward reference, it returns id.
func (f *File) Definition(id TypeID) (TypeID, bool) {
	decl, ok := f.Type(id)
	if !ok || !decl.Forward {
		return id, ok
	}
	t, err := f.types()
	if err != nil {
		return 0, false
	}
	same := func(kind uint16, rec []byte) bool {
		def, ok := decodeType(kind, rec)
		return ok && def.defines(&decl)
	}
	if !t.hashed() || anonymous(decl.Name) { // anonymous ones are hashed by contents
		return t.scan(uint32(id), same)
	}
	// Names inside functions are hashed by their linkage name.
	want := [2]uint32{hashName(decl.Name) % t.buckets, hashName(decl.Unique) % t.buckets}
	left := maxCandidates
	return t.around(uint32(id), func(n, bucket uint32) bool {
		if bucket != want[0] && bucket != want[1] {
			return false
		}
		left--
		kind, rec, ok := t.record(n)
		return left >= 0 && ok && same(kind, rec)
	})
}

// maxCandidates limits how many records of a bucket are examined.
const maxCandidates = 1 << 12

func anonymous(name string) bool {
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	return name == "<unnamed-tag>" || name == "__unnamed"
}

// defines reports whether t is the definition of d.
func (t *Type) defines(d *Type) bool {
	if t.Forward || t.Name != d.Name || t.Unique != d.Unique {
		return false
	}
	class := func(k TypeKind) bool { return k == TypeClass || k == TypeStruct }
	return t.Kind == d.Kind || class(t.Kind) && class(d.Kind)
}

// around calls found for all records and their buckets, beginning with those after a
// declaration: linkers keep a definition near where the compiler put it.
func (t *types) around(id uint32, found func(n, bucket uint32) bool) (TypeID, bool) {
	if def, ok := t.among(id+1, t.last, found); ok {
		return def, true
	}
	return t.among(t.first, id, found)
}

func (t *types) among(from, to uint32, found func(n, bucket uint32) bool) (TypeID, bool) {
	const step = 512
	for n := from; n < to; n += step {
		k := min(step, to-n)
		b, ok := t.hashes.bytes(4*int(n-t.first), 4*int(k))
		if !ok {
			break
		}
		t.records.s.c.work.Add(int64(k) / (4 * skipsPerUnit))
		for i := range k {
			if found(n+i, le.Uint32(b[4*i:])) {
				return TypeID(n + i), true
			}
		}
	}
	return 0, false
}

// scan examines the records after a declaration one by one.
func (t *types) scan(id uint32, found func(kind uint16, rec []byte) bool) (TypeID, bool) {
	at, ok := t.offset(id)
	from := at
	work := &t.records.s.c.work
	for n := id; ok && n < t.last && at-from < maxUnhashed; n++ {
		head, ok := t.records.bytes(at, 4)
		if !ok {
			break
		}
		work.Add(1)
		switch le.Uint16(head[2:]) {
		case leafClass, leafStruct, leafInterface, leafUnion, leafEnum, leafClass19, leafStruct19, leafUnion19:
			kind, rec, _, ok := t.records.record(at)
			if work.Add(int64(len(rec) / noteBytes)); ok && found(kind, rec) {
				return TypeID(n), true
			}
		}
		at, _ = t.next(at)
	}
	return 0, false
}

// hashed reports whether the buckets of all records are known.
func (t *types) hashed() bool {
	return t.buckets > 0 && uint64(t.hashes.size) == 4*uint64(t.last-t.first)
}

// hashName is the hash of a name in tables of types and symbols (microsoft-pdb,
// PDB/include/misc.h, LHashPbCb).
func hashName(name string) uint32 {
	var h uint32
	b := []byte(name)
	for ; len(b) >= 4; b = b[4:] {
		h ^= le.Uint32(b)
	}
	if len(b) >= 2 {
		h ^= uint32(le.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		h ^= uint32(b[0])
	}
	h |= 0x20202020
	h ^= h >> 11
	return h ^ h>>16
}

// TypeNamed returns the class, union or enumeration with a name, as the source writes it with its scopes; false if none is
// defined.
func (f *File) TypeNamed(name string) (TypeID, bool) {
	t, err := f.types()
	if err != nil || name == "" {
		return 0, false
	}
	same := func(kind uint16, rec []byte) bool {
		def, ok := decodeType(kind, rec)
		return ok && !def.Forward && def.Name == name && (def.Kind == TypeClass || def.Kind == TypeStruct || def.Kind == TypeUnion || def.Kind == TypeEnum)
	}
	if !t.hashed() {
		return t.scan(t.first, same)
	}
	want := hashName(name) % t.buckets
	left := maxCandidates
	return t.among(t.first, t.last, func(n, bucket uint32) bool {
		if bucket != want {
			return false
		}
		left--
		kind, rec, ok := t.record(n)
		return left >= 0 && ok && same(kind, rec)
	})
}
