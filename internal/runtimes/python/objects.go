package python

import (
	"encoding/binary"
	"unicode/utf8"
)

// Flags of types: of which built-in type they are subclasses.
const (
	flagLong      = 1 << 24
	flagList      = 1 << 25
	flagTuple     = 1 << 26
	flagBytes     = 1 << 27
	flagStr       = 1 << 28
	flagDict      = 1 << 29
	flagException = 1 << 30
	flagType      = 1 << 31
)

// A typ is what is read of a type object.
type typ struct {
	at                      uint64
	name                    string
	flags                   uint64
	basic, item, dictOffset int64
	slots                   []slot
	slotsRead               bool
	fields                  []string // of a named tuple
	fieldsRead              bool
}

// typeAt reads a type; nil if there is none at the address. The caller has the lock, or is alone.
func (r *runtime) typeAt(at uint64) *typ {
	if t, ok := r.types[at]; ok {
		return t
	}
	t := r.readType(at)
	r.types[at] = t
	return t
}

// readType checks that the type of the object's type is a type, up to type itself, which is its own.
func (r *runtime) readType(at uint64) *typ {
	b := r.bytes(at, r.at("type.dictoffset")+8)
	if b == nil {
		return nil
	}
	o := r.p.State.Arch().ByteOrder
	word := func(name string) uint64 { return o.Uint64(b[r.at(name):]) }
	meta := at
	for range 8 {
		up := r.field(meta, "object.type")
		if up == 0 {
			return nil
		}
		if up == meta {
			break
		}
		meta = up
	}
	if r.field(meta, "object.type") != meta || r.field(meta, "type.flags")&flagType == 0 {
		return nil
	}
	t := &typ{at: at, flags: word("type.flags"), basic: int64(word("type.basicsize")), item: int64(word("type.itemsize")),
		dictOffset: int64(word("type.dictoffset"))}
	if t.name = r.cstring(word("type.name"), 512); t.name == "" && r.lacks(word("type.name")) {
		t.name = r.nameWithout(t)
	}
	if t.name == "" || !utf8.ValidString(t.name) {
		return nil
	}
	return t
}

// str reads a str object of at most limit characters; false if it is none, or longer.
func (r *runtime) str(at uint64, limit int) (string, bool) {
	s, whole, ok := r.text(at, limit)
	return s, ok && whole
}

// text reads the first characters of a str object.
func (r *runtime) text(at uint64, limit int) (s string, whole, ok bool) {
	b := r.bytes(at, r.at("str.state")+4)
	if b == nil {
		return "", false, false
	}
	o := r.p.State.Arch().ByteOrder
	if t := r.typeAt(o.Uint64(b[r.at("object.type"):])); t == nil || t.flags&flagStr == 0 {
		return "", false, false
	}
	n := o.Uint64(b[r.at("str.length"):])
	state := o.Uint32(b[r.at("str.state"):])
	kind, compact, ascii := r.textState(state)
	if kind != 1 && kind != 2 && kind != 4 || n > 1<<40 {
		return "", false, false
	}
	data := at + r.at("str.compact")
	switch {
	case ascii && compact:
		data = at + r.at("str.ascii")
	case !compact:
		data = r.word(data)
	}
	take := min(n, uint64(limit))
	if take == 0 {
		return "", n == 0, true
	}
	raw := r.bytes(data, take*uint64(kind))
	if raw == nil {
		return "", false, false
	}
	return decode(raw, int(kind), o), take == n, true
}

// textState says what the state of a str object says: how many bytes a character has, whether the text is in the object, and whether it is ASCII alone.
func (r *runtime) textState(state uint32) (kind uint32, compact, ascii bool) {
	// The bits of how it is interned come before: 2, 8 in free-threaded builds, in the first releases of 3.14 16. A kind is never 0.
	switch {
	case state>>2&7 != 0:
		state >>= 2
	case r.free && state>>8&7 != 0:
		state >>= 8
	case r.minor >= 14:
		state >>= 16
	}
	return state & 7, state>>3&1 != 0, state>>4&1 != 0
}

// decode makes text of characters of 1, 2 or 4 bytes.
func decode(raw []byte, kind int, o binary.ByteOrder) string {
	if kind == 1 {
		plain := true
		for _, c := range raw {
			plain = plain && c < 0x80
		}
		if plain {
			return string(raw)
		}
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i+kind <= len(raw); i += kind {
		c := rune(raw[i])
		switch kind {
		case 2:
			c = rune(o.Uint16(raw[i:]))
		case 4:
			c = rune(o.Uint32(raw[i:]) & 0x7fffffff)
		}
		out = utf8.AppendRune(out, c)
	}
	return string(out)
}

// A slot is a member of instances that __slots__ made.
type slot struct {
	name   string
	offset uint64
}
