package dwarfvars

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
)

func (b *builder) enum(o *object, t *Type) *Value {
	if t.decl {
		if full, ok := b.p.Types.complete(t); ok {
			t = full
		}
	}
	v, err := b.uint(o, false)
	if err != nil {
		return fail(o.typ, err)
	}
	size := o.size
	return b.text(o, enumText(t, v, size))
}

// enumText names the value of an enumeration of size bytes: by its name, as a
// set of flags, or as a number.
func enumText(t *Type, v, size uint64) string {
	m := t.all()
	prefix := enumPrefix(t)
	for i := range m.enums {
		if resize(m.enums[i].val, int(size), false) == v {
			return prefix + m.enums[i].name
		}
	}
	if flags(t) {
		if s := flagText(t, v, prefix); s != "" {
			return s
		}
	}
	for i := range m.enums {
		if int64(m.enums[i].val) < 0 {
			return strconv.FormatInt(int64(resize(v, int(size), true)), 10)
		}
	}
	return strconv.FormatUint(v, 10)
}

// flags reports whether the enumerators are flags: each has bits of its own.
func flags(t *Type) bool {
	var seen uint64
	for _, e := range t.all().enums {
		if int64(e.val) < 0 || e.val&seen != 0 || bits.OnesCount64(e.val) > 1 {
			return false
		}
		seen |= e.val
	}
	return seen != 0
}

func flagText(t *Type, v uint64, prefix string) string {
	if v == 0 {
		return "0"
	}
	var names []string
	for _, e := range t.all().enums {
		if e.val != 0 && v&e.val == e.val {
			names = append(names, prefix+e.name)
			v &^= e.val
		}
	}
	if v != 0 {
		names = append(names, fmt.Sprintf("unknown: %#x", v))
	}
	return "(" + strings.Join(names, " | ") + ")"
}

// enumPrefix is what C++ and Rust write before an enumerator's name.
func enumPrefix(t *Type) string {
	if isC(t.lang) || t.lang == dwarf.LangGo || t.name == "" {
		return ""
	}
	name := t.Name()
	if !t.enumClass {
		i := strings.LastIndex(name, "::")
		if i < 0 || !strings.HasSuffix(name, "::"+t.name) {
			return ""
		}
		name = strings.TrimSuffix(name, "::"+t.name)
	}
	return name + "::"
}
