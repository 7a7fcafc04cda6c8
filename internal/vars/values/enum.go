package values

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

func (b *builder) enum(o *Object, t *types.Type) *Value {
	if t.Declared {
		if full, ok := b.p.Types.Complete(t); ok {
			t = full
		}
	}
	v, err := b.uint(o, false)
	if err != nil {
		return Failed(o.Type, err)
	}
	if err := b.search(len(t.Members().Enums)); err != nil {
		return Failed(o.Type, err)
	}
	return b.text(o, enumText(t, v, o.Size))
}

// enumText returns the text of an enumeration's value of size bytes: its name, a set of flags, or
// a number.
func enumText(t *types.Type, v, size uint64) string {
	if t.Register {
		return registerText(t, v)
	}
	m := t.Members()
	prefix := enumPrefix(t)
	for i := range m.Enums {
		if types.Resize(m.Enums[i].Val, int(size), false) == v {
			if isAda(t.Language) {
				return adaLiteral(m.Enums[i].Name)
			}
			return prefix + m.Enums[i].Name
		}
	}
	if flags(t) && !isAda(t.Language) {
		if s := flagText(t, v, prefix); s != "" {
			return s
		}
	}
	for i := range m.Enums {
		if int64(m.Enums[i].Val) < 0 {
			return strconv.FormatInt(int64(types.Resize(v, int(size), true)), 10)
		}
	}
	return strconv.FormatUint(v, 10)
}

// registerText returns the flags that a register has as gdb writes them: [ PF ZF IF ]. Bits without a name are left out.
func registerText(t *types.Type, v uint64) string {
	var b strings.Builder
	b.WriteString("[ ")
	for _, e := range t.Members().Enums {
		if v&e.Val != 0 {
			b.WriteString(e.Name + " ")
		}
	}
	return b.String() + "]"
}

// flags reports whether the enumerators are flags: each has one bit, which no other has.
func flags(t *types.Type) bool {
	var seen uint64
	for _, e := range t.Members().Enums {
		if int64(e.Val) < 0 || e.Val&seen != 0 || bits.OnesCount64(e.Val) > 1 {
			return false
		}
		seen |= e.Val
	}
	return seen != 0
}

func flagText(t *types.Type, v uint64, prefix string) string {
	if v == 0 {
		return "0"
	}
	var names []string
	for _, e := range t.Members().Enums {
		if e.Val != 0 && v&e.Val == e.Val {
			names = append(names, prefix+e.Name)
			v &^= e.Val
		}
	}
	if v != 0 {
		names = append(names, fmt.Sprintf("unknown: %#x", v))
	}
	return "(" + strings.Join(names, " | ") + ")"
}

// enumPrefix returns what C++ and Rust write before an enumerator's name.
func enumPrefix(t *types.Type) string {
	if types.IsC(t.Language) || t.Language == dwarf.LangGo || t.BareName == "" {
		return ""
	}
	name := t.Name()
	if !t.EnumClass {
		i := strings.LastIndex(name, "::")
		if i < 0 || !strings.HasSuffix(name, "::"+t.BareName) {
			return ""
		}
		name = strings.TrimSuffix(name, "::"+t.BareName)
	}
	return name + "::"
}
