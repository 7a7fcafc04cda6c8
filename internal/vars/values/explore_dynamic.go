package values

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// Dynamic returns what an interface of Go has, nil if its type is not described, and the name of that type, "" of a nil
// interface; false if an object is no interface.
func (x Explorer) Dynamic(o *Object) (held *Object, name string, ok bool, err error) {
	t := o.Type.Strip()
	if t.Language != dwarf.LangGo || t.BareName != "runtime.iface" && t.BareName != "runtime.eface" {
		return nil, "", false, nil
	}
	b := x.builder(Options{})
	typ, ok := b.num(o, "_type")
	if !ok {
		tab, ok := b.num(o, "tab")
		if !ok {
			return nil, "", false, nil
		}
		if tab == 0 {
			return nil, "", true, nil
		}
		if typ, err = b.p.Memory.ReadWord(tab + b.word()); err != nil {
			return nil, "", true, err
		}
	}
	if typ == 0 {
		return nil, "", true, nil
	}
	data, ok := b.num(o, "data")
	if !ok {
		return nil, "", false, nil
	}
	if name, err = b.goTypeName(typ); err != nil {
		return nil, "", true, err
	}
	described := b.goTypeAt(typ, name, t.Ref.Unit)
	if described == nil {
		if described = b.goBasic(typ); described == nil {
			return nil, name, true, nil
		}
	}
	kind, err := b.p.Int(typ+b.goTypeKind(), 1, false)
	if err != nil {
		return nil, name, true, err
	}
	switch kind & goKindMask {
	case types.GoPointer, types.GoMap, types.GoChan, types.GoFunc, types.GoUnsafe:
		return &Object{Type: described, Size: b.word(), Data: b.wordBytes(data)}, strings.TrimSpace(name), true, nil
	}
	at, err := b.inMemory(described, data)
	return &at, name, true, err
}
