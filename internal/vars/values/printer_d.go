package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/vars/types"
)

// Slices, strings and associative arrays of D, as GDC and LDC describe them: records with a length and an address.

// dPrinter returns the printer for a record of D; nil if there is none.
func dPrinter(t *types.Type) printer {
	name := t.BareName
	switch {
	case name == "string" || name == "wstring" || name == "dstring" || strings.HasSuffix(name, "[]"):
		return dSlice
	case dKeyed(name):
		return dTable
	}
	return nil
}

// dKeyed reports whether a name is that of an associative array: int[string].
func dKeyed(name string) bool {
	key, ok := strings.CutSuffix(name, "]")
	return ok && strings.Contains(key, "[") && !strings.HasSuffix(key, "[")
}

func dSlice(b *builder, o *Object, t *types.Type, depth int) *Value {
	elem, size, ok := b.elem(o, "ptr")
	addr, ok1 := b.num(o, "ptr")
	n, ok2 := b.num(o, "length")
	if !ok || !ok1 || !ok2 {
		return nil
	}
	if _, char := elem.Char(); char {
		if n == 0 {
			return b.placed(b.stringValue(o, elem, nil, false), addr, 0)
		}
		return b.lengthText(o, elem, addr, n)
	}
	if size == 0 && elem.Strip().Tag != 0 || n > maxLength {
		return badLength(o.Type, n)
	}
	if elem.Strip().Tag == 0 { // void[]: bytes
		elem, size = b.p.Types.Number("ubyte", 1, types.EncUnsigned), 1
	}
	return b.run(b.counted(b.text(o, ""), n), elem, addr, n, depth)
}

// An associative array of D's run-time library since 2.070 on 64 bits: a slice of buckets, each of a hash and the address of an
// entry; how many are used, and how many of these are deleted; the type of an entry; the first bucket in use; the sizes of a key
// and of a value, and where the value is in an entry.
const (
	dBuckets, dUsed, dDeleted      = 8, 16, 20
	dKeySize, dValueSize, dValueAt = 36, 40, 44
	dBucket, dFilled               = 16, 1 << 63
	maxPaddingD                    = 64 // between a key and its value
)

// dTable prints an associative array, whose type has the names of the types of values and keys: int[string].
func dTable(b *builder, o *Object, t *types.Type, depth int) *Value {
	open := strings.LastIndexByte(t.BareName, '[')
	at, ok := b.num(o, "ptr")
	if !ok || open <= 0 || b.word() != 8 {
		return nil
	}
	if at == 0 {
		return b.counted(b.text(o, "null"), 0)
	}
	val, ok := b.dType(t, t.BareName[:open])
	key, ok2 := b.dType(t, t.BareName[open+1:len(t.BareName)-1])
	if !ok || !ok2 {
		return nil
	}
	number := func(off uint64, size int) uint64 {
		n, err := b.p.Int(at+off, size, false)
		ok = ok && err == nil
		return n
	}
	room, buckets, used, deleted := number(0, 8), number(dBuckets, 8), number(dUsed, 4), number(dDeleted, 4)
	keySize, valueSize, value := number(dKeySize, 4), number(dValueSize, 4), number(dValueAt, 4)
	size, err := b.sizeOf(key)
	size2, err2 := b.sizeOf(val)
	if !ok || err != nil || err2 != nil || keySize != size || valueSize != size2 || value < size || value > size+maxPaddingD ||
		used < deleted || used > room || room > maxLength {
		return nil
	}
	v := b.elementsText(o, t.BareName, used-deleted)
	v.Compound = true
	for i := uint64(0); i < room && uint64(len(v.Parts)) < used-deleted; i++ {
		if b.scanned += dBucket; len(v.Parts) >= b.opts.MaxElements || depth >= b.opts.MaxDepth || b.scanned > maxScan {
			v.More = true
			break
		}
		hash, err := b.p.Memory.ReadWord(buckets + i*dBucket)
		if err == nil && hash&dFilled == 0 {
			continue
		}
		entry, err2 := b.p.Memory.ReadWord(buckets + i*dBucket + 8)
		if err != nil || err2 != nil || !b.take() {
			v.More = true
			break
		}
		v.Parts = append(v.Parts, Part{Key: b.read(key, entry, depth+1), Value: b.read(val, entry+value, depth+1)})
	}
	return v
}

// dType finds a type of D by the name that it has in that of an associative array.
func (b *builder) dType(t *types.Type, name string) (*types.Type, bool) {
	if t.Ref.Unit == nil {
		return nil, false
	}
	if d, ok := types.NamedIn(t.Ref.Unit, name); ok { // before the basic types of other languages: Go's uint is a word
		return b.p.Types.At(d), true
	}
	return b.p.Types.Lookup(t.Ref.Unit, name, b.word())
}
