package dwarfvars

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Members of classes of C++ without an object: &Class::member, and what methods return.

// classNamed returns the class of C++ with a name.
func (e *evaluation) classNamed(name string) (*types.Type, bool) {
	if name == "" || e.dialect != paths.Plain {
		return nil, false
	}
	t, ok := e.lookup(name)
	if !ok {
		return nil, false
	}
	t = t.Strip().Defined()
	return t, t.Aggregate() && types.IsCXX(t.Language)
}

// lineage calls visit with a class and its base classes, nearest first, until it returns true.
func (e *evaluation) lineage(t *types.Type, visit func(*types.Type) bool) {
	list := []*types.Type{t}
	for i := 0; i < len(list) && i < maxOuter*maxOuter; i++ {
		t := list[i].Strip().Defined()
		if !t.Aggregate() {
			continue
		}
		if visit(t) {
			return
		}
		for k := range t.Members().Fields {
			if f := &t.Members().Fields[k]; f.Base {
				list = append(list, e.a.r.types.OfField(f))
			}
		}
	}
}

// memberPointer is &Class::member: a pointer to a data member, or to a virtual function that has no code of its own. It returns
// false if the class has no such member.
func (e *evaluation) memberPointer(name string) (t Object, ok bool, err error) {
	class, isClass := e.classNamed(outer(name))
	if !isClass {
		return Object{}, false, nil
	}
	member, word := lastPart(name), e.a.r.types.Word()
	e.lineage(class, func(owner *types.Type) bool {
		for k := range owner.Members().Fields {
			f := &owner.Members().Fields[k]
			if f.Base || f.Static || f.Name != member {
				continue
			}
			t, err = e.word(e.a.r.types.MemberPointer(owner, e.a.r.types.OfField(f), word), f.Off)
			ok = true
			return true
		}
		for _, m := range owner.Methods(member) {
			if ok = true; !m.Virtual {
				err = fmt.Errorf("%s has no code of its own: it is inlined, or was left out", name)
				continue
			}
			t, err = e.virtualPointer(owner, &m)
			return true
		}
		return ok
	})
	return t, ok, err
}

// virtualPointer is a pointer to a virtual function as programs have it (Itanium C++ ABI, 2.3).
func (e *evaluation) virtualPointer(owner *types.Type, m *types.Method) (Object, error) {
	word := e.a.r.types.Word()
	first, adjust := m.Slot*word, uint64(1)
	if !e.x.P.VirtualInAdjust {
		first, adjust = first+1, 0
	}
	low, err := e.x.Word(e.a.r.types.Integer(word, false), first)
	if err != nil {
		return Object{}, err
	}
	high, err := e.x.Word(e.a.r.types.Integer(word, false), adjust)
	if err != nil {
		return Object{}, err
	}
	t := e.a.r.types.MemberPointer(owner, m.Type, 2*word)
	return e.object(values.Object{Type: t, Size: 2 * word, Data: append(low.Data, high.Data...)}, nil)
}

// returned is an object of the type that a method returns, where only the type is asked for: that of the overload whose this is
// const if the object is.
func (e *evaluation) returned(ob *values.Object, name string) (t Object, ok bool) {
	at := e.referred(ob).Type
	isConst := false
	for n := 0; n < maxReferences && at.Tag != 0; n++ {
		if at.Tag == dwarf.TagConstType {
			isConst = true
		} else if at.Tag != typedefTag && at.Tag != dwarf.TagVolatileType {
			break
		}
		at = at.Target()
	}
	e.lineage(at, func(owner *types.Type) bool {
		list := owner.Methods(name)
		for i := range list {
			if i > 0 && list[i].Const != isConst {
				continue
			}
			t, ok = Object{in: e.in, ob: values.Object{Type: list[i].Result}, at: true}, true
			if list[i].Const == isConst {
				break
			}
		}
		return ok
	})
	return t, ok
}

// typeid is the object of std::type_info of a type, or of the class of an object by its table of virtual functions.
func (e *evaluation) typeid(n paths.Node) (Object, error) {
	var t *types.Type
	if id, ok := n.(*paths.Ident); ok && e.unresolved(id.Name) {
		if named, err := e.typeNamed(paths.TypeName{Name: id.Name}); err == nil {
			t = named
		}
	}
	if t == nil {
		ob, err := e.stored(n)
		if err != nil {
			return Object{}, err
		}
		at := e.referred(&ob)
		if e.x.Polymorphic(at.Type) && at.Mem {
			table, err := e.a.r.mem.Memory.ReadWord(at.Addr)
			if err != nil {
				return Object{}, err
			}
			info, err := e.a.r.mem.Memory.ReadWord(table - arch.Address(e.a.r.types.Word()))
			if err != nil {
				return Object{}, err
			}
			if !strings.HasPrefix(e.a.r.mem.SymbolText(info), "typeinfo for ") {
				return Object{}, errors.New("no virtual table tells the class of the object")
			}
			return e.typeInfo(info)
		}
		t = at.Type
	}
	name, ok := mangledType(t, 0)
	addr, found := e.symbol("_ZTI" + name)
	if !ok || !found {
		return Object{}, fmt.Errorf("the program has no typeinfo of %s that is known", clip(t.Name()))
	}
	return e.typeInfo(addr)
}

func (e *evaluation) typeInfo(addr arch.Address) (Object, error) {
	if t, ok := e.lookup("std::type_info"); ok {
		return e.object(e.x.At(t, addr))
	}
	return e.word(e.pointerTo(e.a.r.types.Of(types.Ref{})), addr)
}

// mangledType returns the name of a type in names of typeinfo (Itanium C++ ABI, 5.1.5), of plain classes, numbers and pointers to
// them.
func mangledType(t *types.Type, depth int) (string, bool) {
	const most = 4
	for n := 0; n < maxReferences && (t.Tag == typedefTag || depth == 0 && (t.Tag == dwarf.TagConstType || t.Tag == dwarf.TagVolatileType)); n++ {
		t = t.Target()
	}
	switch {
	case depth > most:
		return "", false
	case t.Tag == dwarf.TagConstType:
		of, ok := mangledType(t.Target(), depth+1)
		return "K" + of, ok
	case t.Tag == dwarf.TagPointerType:
		of, ok := mangledType(t.Target(), depth+1)
		return "P" + of, ok
	case t.Tag == dwarf.TagBaseType:
		for _, c := range [...]struct{ name, code string }{
			{"void", "v"}, {"bool", "b"}, {"char", "c"}, {"signed char", "a"}, {"unsigned char", "h"}, {"short int", "s"}, {"short", "s"},
			{"short unsigned int", "t"}, {"unsigned short", "t"}, {"int", "i"}, {"unsigned int", "j"}, {"long int", "l"}, {"long", "l"}, {"long unsigned int", "m"},
			{"unsigned long", "m"}, {"long long int", "x"}, {"long long", "x"}, {"long long unsigned int", "y"}, {"unsigned long long", "y"},
			{"float", "f"}, {"double", "d"}, {"long double", "e"}, {"wchar_t", "w"}, {"char8_t", "Du"}, {"char16_t", "Ds"}, {"char32_t", "Di"}, {"__int128", "n"},
		} {
			if c.name == t.BareName {
				return c.code, true
			}
		}
	case t.Aggregate() || t.Tag == dwarf.TagEnumerationType:
		name := t.FullName()
		if name == "" || strings.ContainsAny(name, "<(){} ") {
			return "", false
		}
		parts := strings.Split(name, "::")
		text := ""
		for _, p := range parts {
			text += fmt.Sprint(len(p)) + p
		}
		if len(parts) > 1 {
			text = "N" + text + "E"
		}
		return text, true
	case t.Tag == 0:
		return "v", true
	}
	return "", false
}
