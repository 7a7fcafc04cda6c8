package v8

import (
	"slices"
	"unicode/utf16"
)

// isObject reports whether a word is a strong reference to an object.
func isObject(w uint64) bool { return w&3 == 1 && w > 1<<12 && w < 1<<56 }

// smi is the small integer that a word is.
func smi(w uint64) (int, bool) { return int(int32(w >> 32)), uint32(w) == 0 }

// at reads a word of an object.
func (e *engine) at(obj, offset uint64) uint64 { return e.Word(obj - 1 + offset) }

// typeOf is the type of an object: its map has it, and the map of the map proves that. 0 is no type that is used.
func (e *engine) typeOf(obj uint64) uint16 {
	if !isObject(obj) {
		return 0
	}
	m := e.Word(obj - 1)
	if !isObject(m) {
		return 0
	}
	return e.maps.Get(m, func() uint16 {
		meta := e.Word(m - 1)
		if !isObject(meta) {
			return 0
		}
		if t, ok := e.U16(meta - 1 + e.mapType); !ok || t != e.types.meta {
			return 0
		}
		t, _ := e.U16(m - 1 + e.mapType)
		return t
	})
}

func (e *engine) isFunction(obj uint64) bool {
	t := e.typeOf(obj)
	return t >= e.types.firstFunction && t <= e.types.lastFunction
}

// array is the length of an array, and where its elements begin; false if the object is no array of these types.
func (e *engine) array(obj uint64, types []uint16) (length int, data uint64, ok bool) {
	if !slices.Contains(types, e.typeOf(obj)) {
		return 0, 0, false
	}
	n, ok := smi(e.at(obj, 8))
	if !ok || n < 0 {
		return 0, 0, false
	}
	return n, obj - 1 + 16, true
}

// maxTable is the most bytes of a table that are read.
const maxTable = 1 << 20

// byteArray reads a table of bytes; nil if there is none.
func (e *engine) byteArray(obj uint64) []byte {
	n, data, ok := e.array(obj, e.types.byteArrays)
	if !ok || n > maxTable || e.p.Spend(n/8) != nil { // whoever asks goes through it
		return nil
	}
	return e.Bytes(data, n)
}

// What strings are, by the low bits of their types.
const (
	stringTypes   = 128 // types below are strings'
	stringKind    = 7
	stringOneByte = 8
)

// maxDepth is the most strings that a string may be made of.
const maxDepth = 64

// flat finds the characters of a string, and how many; false if it has none in one place.
func (e *engine) flat(obj uint64) (data uint64, length int, one, ok bool) {
	start, want := uint64(0), -1
	for range maxDepth {
		t := e.typeOf(obj)
		if !e.isString(obj) {
			return
		}
		n, good := e.U32(obj - 1 + 12)
		if !good || n > 1<<30 {
			return
		}
		if want < 0 {
			want = int(n)
		}
		switch one = t&stringOneByte != 0; t & stringKind {
		case 0:
			data = obj - 1 + 16
		case 1: // of two halves; a flat one has an empty second half
			if second, good := e.U32(e.at(obj, 24) - 1 + 12); !good || second != 0 {
				return
			}
			obj = e.at(obj, 16)
			continue
		case 2:
			if data = e.at(obj, 24); data == 0 { // from 12 on the resource's data may not be cached
				return
			}
		case 3:
			from, good := smi(e.at(obj, 24))
			if !good || from < 0 {
				return
			}
			start += uint64(from)
			obj = e.at(obj, 16)
			continue
		case 5:
			obj = e.at(obj, 16)
			continue
		default:
			return
		}
		if start+uint64(want) > uint64(n) {
			return
		}
		if !one {
			start *= 2
		}
		return data + start, want, one, true
	}
	return
}

// isString reports whether an object is a string.
func (e *engine) isString(obj uint64) bool {
	t := e.typeOf(obj)
	return t < stringTypes && (t != 0 || e.isInternalizedTwoByte(obj))
}

// isInternalizedTwoByte reports whether the type 0 of an object is that of a string, and not none.
func (e *engine) isInternalizedTwoByte(obj uint64) bool {
	if !isObject(obj) {
		return false
	}
	m := e.Word(obj - 1)
	if !isObject(m) {
		return false
	}
	meta := e.Word(m - 1)
	if !isObject(meta) {
		return false
	}
	t, ok := e.U16(meta - 1 + e.mapType)
	own, ok2 := e.U16(m - 1 + e.mapType)
	return ok && ok2 && t == e.types.meta && own == 0
}

// maxText is the most characters of a text that are shown.
const maxText = 1024

// text reads a string; false if the object is none.
func (e *engine) text(obj uint64) (string, bool) {
	return e.textUpTo(obj, maxText)
}

// textUpTo reads a string, or its beginning of so many characters.
func (e *engine) textUpTo(obj uint64, most int) (string, bool) {
	t := characters{engine: e, most: most}
	if !t.add(obj, maxDepth) {
		return "", false
	}
	return string(utf16.Decode(t.all)), true
}

// characters are those of a string, until there are as many as is said.
type characters struct {
	*engine
	all   []uint16
	most  int
	empty int // parts that had none
}

// add appends the characters of a string.
func (t *characters) add(obj uint64, depth int) bool {
	if depth == 0 || !t.isString(obj) {
		return false
	}
	if data, n, one, ok := t.flat(obj); ok {
		if n = min(n, t.most-len(t.all)); n == 0 {
			t.empty++
		}
		if t.p.Spend(n/4) != nil { // it becomes text
			return false
		}
		if one {
			for _, c := range t.Bytes(data, n) {
				t.all = append(t.all, uint16(c))
			}
			return true
		}
		b := t.Bytes(data, 2*n)
		for ; len(b) >= 2; b = b[2:] {
			t.all = append(t.all, littleEndian.Uint16(b))
		}
		return true
	}
	// V8 makes no string of an empty one: many of them are one that has another twice, and that one another.
	if t.typeOf(obj)&stringKind != 1 || len(t.all) >= t.most || t.empty > maxDepth || t.p.Spend(1) != nil {
		return false
	}
	return t.add(t.at(obj, 16), depth-1) && (len(t.all) >= t.most || t.add(t.at(obj, 24), depth-1))
}

// Where a property is described: bits of its details.
const (
	detailAccessor  = 1 << 0
	detailNotShown  = 1 << 3 // DONT_ENUM
	detailInMap     = 1 << 5
	detailIndex     = 19
	detailIndexMask = 1<<10 - 1
	mapDictionary   = 1 << 21
	mapOwnShift     = 10
	mapOwnMask      = 1<<10 - 1
)

// reads reports whether a string is one of ASCII. Most are of another length, so that they are not read.
func (e *engine) reads(obj uint64, want string) bool {
	if n, ok := e.U32(obj - 1 + 12); !ok || int(n) != len(want) {
		return false
	}
	s, ok := e.text(obj)
	return ok && s == want
}

// property is the value of an own property of an object, as a word; false if it has none of that name, or no value.
func (e *engine) property(obj uint64, name string) (value uint64, ok bool) {
	if e.typeOf(obj) == 0 {
		return 0, false
	}
	e.each(obj, func(key, v uint64, accessor bool) bool {
		if !e.reads(key, name) {
			return true
		}
		value, ok = v, !accessor
		return false
	})
	return value, ok
}
