package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Parts of abi.Type (internal/abi): flags, kind, and the offset of the name from the start of the module's types. An itab has the
// type in its second word.
const (
	goExtraStar = 1 << 1 // the name begins with a star that is not part of it
	goKindMask  = 1<<5 - 1
)

func (b *builder) goTypeFlags() uint64 { return 2*b.word() + 4 }
func (b *builder) goTypeKind() uint64  { return 2*b.word() + 7 }
func (b *builder) goTypeStr() uint64   { return 4*b.word() + 8 }

// goInterfaceValue prints the dynamic type and value of an interface.
func goInterfaceValue(b *builder, o *Object, t *types.Type, depth int) *Value {
	typ, ok := b.num(o, "_type")
	if !ok {
		tab, ok := b.num(o, "tab")
		if !ok {
			return nil
		}
		if tab == 0 {
			return b.text(o, "nil")
		}
		var err error
		if typ, err = b.p.Memory.ReadWord(tab + b.word()); err != nil {
			return Failed(o.Type, unknown.Reason(err))
		}
	}
	if typ == 0 {
		return b.text(o, "nil")
	}
	data, ok := b.num(o, "data")
	if !ok {
		return nil
	}
	name, err := b.goTypeName(typ)
	if errors.Is(err, errNoTypes) {
		return nil
	}
	if err != nil { // Go's location lists mix up the words of some interfaces
		return Failed(o.Type, &unknown.Corrupt{Err: errNoType})
	}
	held := b.goTypeAt(typ, name, t.Ref.Unit)
	if held == nil {
		held = b.goBasic(typ)
	}
	if held == nil || depth >= b.opts.MaxDepth || !b.take() {
		return b.text(o, fmt.Sprintf("(%s) %#x", name, data))
	}
	kind, _ := b.p.Int(typ+b.goTypeKind(), 1, false)
	var v *Value
	switch kind & goKindMask {
	case types.GoPointer, types.GoMap, types.GoChan, types.GoFunc, types.GoUnsafe:
		word := Object{Type: held, Size: uint64(b.p.Arch.WordSize), Data: b.wordBytes(data)}
		if v = nil; kind&goKindMask == types.GoPointer && (depth == 0 || goChain(o.Type)) {
			v = b.goFollowed(&word, held.Strip(), data, depth)
		}
		if v == nil {
			v = b.value(&word, depth+1)
		}
	default:
		v = b.read(held, data, depth+1)
	}
	if v.Err != nil {
		return b.text(o, fmt.Sprintf("(%s) %#x %v", name, data, v))
	}
	v.Text = strings.TrimSpace("(" + name + ") " + v.Text)
	v.typ = o.Type
	return v
}

// goChain reports whether an interface is of those whose values have others of the same in them: all of the chain is what they say.
func goChain(t *types.Type) bool {
	return t.BareName == "error" || t.BareName == "context.Context"
}

var errNoTypes = errors.New("the file of the function has no symbol runtime.types")

var errNoType = errors.New("an interface of no type of the program")

// goKinds are the basic types by their kinds (package reflect): those that need no debugging information.
var goKinds = [...]string{1: "bool", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "uintptr", "float32", "float64"}

// goBasic returns the basic type that a type without debugging information is of; nil for none: the linker leaves out types
// that only interfaces hold.
func (b *builder) goBasic(typ uint64) *types.Type {
	kind, err := b.p.Int(typ+b.goTypeKind(), 1, false)
	if kind &= goKindMask; err != nil || kind >= uint64(len(goKinds)) && kind != types.GoString {
		return nil
	}
	name := "string"
	switch {
	case kind == types.GoString:
	case goKinds[kind] == "int" && b.word() == 8:
		name = "int64"
	case goKinds[kind] == "int":
		name = "int32"
	default:
		name = goKinds[kind]
	}
	held, ok := b.p.Types.Lookup(b.f.Unit(), name, b.word())
	if !ok {
		return nil
	}
	return held
}

// wordBytes returns an address as it is in memory.
func (b *builder) wordBytes(v uint64) []byte {
	raw := make([]byte, 8)
	if b.p.Arch.WordSize == 4 {
		b.p.Arch.ByteOrder.PutUint32(raw, uint32(v))
		return raw[:4]
	}
	b.p.Arch.ByteOrder.PutUint64(raw, v)
	return raw
}

// goTypeName reads the name of a runtime type.
func (b *builder) goTypeName(typ uint64) (string, error) {
	names, ok := b.f.Symbol("runtime.types")
	if !ok {
		return "", errNoTypes
	}
	off, err := b.p.Int(typ+b.goTypeStr(), 4, true)
	if err != nil {
		return "", err
	}
	if end, known := b.f.Symbol("runtime.etypes"); typ < names || known && typ >= end || off == 0 {
		return "", errNoType
	}
	at := names + off + 1 // over the flags
	n, shift := uint64(0), uint(0)
	for range 3 {
		c, err := b.p.Int(at, 1, false)
		if err != nil {
			return "", err
		}
		at++
		n |= c & 0x7f << shift
		shift += 7
		if c < 0x80 {
			break
		}
	}
	const longest = 1024
	raw := make([]byte, min(n, longest))
	if err := b.p.Read(at, raw); err != nil {
		return "", err
	}
	flags, err := b.p.Int(typ+b.goTypeFlags(), 1, false)
	if err == nil && flags&goExtraStar != 0 {
		raw = []byte(strings.TrimPrefix(string(raw), "*"))
	}
	return string(raw), nil
}

// goTypeAt finds the type with a descriptor and a name.
func (b *builder) goTypeAt(typ uint64, name string, shared *dwarf.Unit) *types.Type {
	if start, ok := b.f.Symbol("runtime.types"); ok && typ > start {
		for _, u := range []*dwarf.Unit{shared, b.f.Unit()} {
			if u == nil {
				continue
			}
			if d, ok := b.p.Types.Described(u, typ-start); ok {
				return b.p.Types.At(d)
			}
		}
	}
	return b.goTypeNamed(name, shared)
}

// goTypeNamed finds a type by the runtime's name for it, which begins with the last element of
// the package's path. The type is in the unit of the frame's function or in a shared one, mostly in
// shared, which has the interface's own type: Go's linker puts all types into that of package runtime.
func (b *builder) goTypeNamed(name string, shared *dwarf.Unit) *types.Type {
	own := b.f.Unit()
	for _, u := range []*dwarf.Unit{own, shared} {
		if u == nil {
			continue
		}
		if d, ok := b.p.Types.Named(u, name); ok {
			return b.p.Types.At(d)
		}
	}
	var found dwarf.DIE
	left := uint64(types.MaxSearch)
	own.Data.Units(func(u *dwarf.Unit) bool {
		if u.End-u.Off > left {
			return false
		}
		left -= u.End - u.Off
		d, ok := b.p.Types.Named(u, name)
		found = d
		return !ok
	})
	if !found.Valid() {
		return nil
	}
	return b.p.Types.At(found)
}
