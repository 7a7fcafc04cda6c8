package dwarfvars

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// What a template's own parameters mean in one of its instances: T of f<T>, N of Buf<int, N>.

// templateParameter returns the entry of the parameter with a name, of the frame's function or of the class that it is a
// member of; false if there is none.
func (e *evaluation) templateParameter(name string, tag dwarf.Tag) (dwarf.DIE, bool) {
	d := e.a.fn.DIE
	if u := e.a.fn.Unit; u == nil || !types.IsCXX(u.Language) || !d.Valid() {
		return dwarf.DIE{}, false
	}
	for o := range origins(d) {
		if p, ok := childNamed(o, name, tag); ok {
			return p, true
		}
	}
	class := outer(fullName(e.a.fn.DIE))
	if class == "" {
		return dwarf.DIE{}, false
	}
	if of, ok := types.NamedIn(e.a.fn.Unit, class); ok {
		return childNamed(of, name, tag)
	}
	return dwarf.DIE{}, false
}

// maxChildren is how many children of an entry are looked at for a parameter.
const maxChildren = 1 << 12

func childNamed(d dwarf.DIE, name string, tag dwarf.Tag) (dwarf.DIE, bool) {
	var en dwarf.Entry
	var v dwarf.Value
	c := d.Unit.Cursor(d.Off)
	if !c.Next(&en) {
		return dwarf.DIE{}, false
	}
	for n := 0; n < maxChildren && c.Level() > 0 && c.Next(&en); n++ {
		if en.Tag == tag && c.Find(dwarf.AttrName, &v) && d.Unit.Text(&v) == name {
			return dwarf.DIE{Unit: d.Unit, Off: en.Off}, true
		}
		c.SkipChildren()
	}
	return dwarf.DIE{}, false
}

// templateType returns the type that a template's parameter is; false if none is called so.
func (e *evaluation) templateType(name string) (*types.Type, bool) {
	d, ok := e.templateParameter(name, dwarf.TagTemplateTypeParameter)
	if !ok {
		return nil, false
	}
	v := d.Unit.Value(d.Off, dwarf.AttrType)
	if !v.Present() {
		return nil, false
	}
	return e.a.r.types.Of(types.RefTo(d.Unit, &v)), true
}

// templateValue returns the number that a template's parameter is; false if none is called so, or it is no number.
func (e *evaluation) templateValue(name string) (Object, bool, error) {
	d, ok := e.templateParameter(name, dwarf.TagTemplateValueParameter)
	if !ok {
		return Object{}, false, nil
	}
	of, v := d.Unit.Value(d.Off, dwarf.AttrType), d.Unit.Value(d.Off, dwarf.AttrConstValue)
	if !of.Present() || !v.Present() || v.Form.Class() != dwarf.ClassConstant {
		return Object{}, false, nil
	}
	t, err := e.word(e.a.r.types.Of(types.RefTo(d.Unit, &of)), v.U)
	return t, err == nil, nil
}

// spellings returns how compilers may write the name of a template's instance: Buf<int, 4>, Buf<int, 4u>; nothing for
// other names.
func spellings(name string) []string {
	if !strings.Contains(name, "<") {
		return nil
	}
	plain := strings.Join(strings.Fields(strings.ReplaceAll(name, ",", ", ")), " ")
	plain = strings.NewReplacer(" >", ">", "< ", "<", " ,", ",", " *", "*", " &", "&").Replace(plain)
	plain = strings.NewReplacer("*", " *", "&", " &").Replace(plain)
	plain = strings.NewReplacer("* *", "**").Replace(plain)
	list := []string{plain, strings.ReplaceAll(plain, " *", "*"), strings.ReplaceAll(plain, ">>", "> >")}
	for _, suffix := range [...]string{"u", "ul"} {
		list = append(list, suffixed(plain, suffix))
	}
	if full := inFull(plain); full != plain {
		list = append(list, full)
	}
	return list
}

// inFull writes the integer types among template arguments as GCC does: f<long unsigned int> for f<unsigned long>.
func inFull(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		n := strings.IndexAny(name, "<>,*&() ")
		if n < 0 {
			n = len(name)
		}
		count, rest := map[string]int{}, name
		for { // the words of a type
			word, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
			if i := strings.IndexAny(word, "<>,*&()"); i >= 0 {
				word = word[:i]
			}
			if !strings.Contains(" unsigned signed short long int char ", " "+word+" ") || word == "" {
				break
			}
			count[word]++
			rest = strings.TrimLeft(rest, " ")[len(word):]
		}
		if len(count) == 0 {
			n = max(n, 1)
			b.WriteString(name[:n])
			name = name[n:]
			continue
		}
		var words []string
		for range count["long"] {
			words = append(words, "long")
		}
		if count["short"] > 0 {
			words = append(words, "short")
		}
		if count["unsigned"] > 0 {
			words = append(words, "unsigned")
		}
		if count["signed"] > 0 && count["char"] > 0 {
			words = append(words, "signed")
		}
		if count["char"] > 0 {
			words = append(words, "char")
		} else {
			words = append(words, "int")
		}
		b.WriteString(strings.Join(words, " "))
		name = rest
	}
	return b.String()
}

// suffixed adds a suffix to the integers among template arguments.
func suffixed(name, suffix string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		b.WriteByte(name[i])
		if name[i] < '0' || name[i] > '9' || i+1 < len(name) && (name[i+1] >= '0' && name[i+1] <= '9') {
			continue
		}
		from := i
		for from > 0 && name[from-1] >= '0' && name[from-1] <= '9' {
			from--
		}
		if from > 0 && (name[from-1] == '<' || name[from-1] == ' ') && i+1 < len(name) && (name[i+1] == '>' || name[i+1] == ',') {
			b.WriteString(suffix)
		}
	}
	return b.String()
}
