package values

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Member returns a member by its name, also of what a pointer or a reference leads to, of base classes, of members
// without a name, and of what Go embeds. The members of a tuple are called 0, 1 ...
func (x Explorer) Member(o *Object, name string) (Object, error) {
	b := x.builder(Options{})
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if t.Aggregate() {
			if m, ok, err := x.in(b, &at, name); ok || err != nil {
				return m, err
			}
			if to, ok, err := b.iterated(&at); ok || err != nil {
				if err != nil {
					return Object{}, err
				}
				at = to
				continue
			}
			to, ok := x.boxed(&at)
			if !ok {
				break
			}
			if m, ok, _ := x.shown(&at, name); ok {
				return m, nil
			}
			at = to
			continue
		}
		if !t.Pointer() && !t.Reference() {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return Object{}, err
		}
		at = to
	}
	t := at.Type.Strip()
	if !t.Aggregate() {
		return Object{}, wrong("%s has no members", describe(o.Type))
	}
	return Object{}, wrong("%s has no member %s%s", describe(at.Type), name, x.members(t))
}

// in finds a member of an aggregate. The error says why it has no value.
func (x Explorer) in(b *builder, o *Object, name string) (Object, bool, error) {
	scope, bare := "", name
	if i := strings.LastIndex(name, "::"); i >= 0 {
		scope, bare = name[:i], name[i+2:]
	}
	left := types.MaxMembers
	return x.find(b, o, scope, bare, &left, 0)
}

func (x Explorer) find(b *builder, o *Object, scope, name string, left *int, depth int) (Object, bool, error) {
	t := o.Type.Strip()
	*left--
	if t.Declared {
		full, ok := b.p.Types.Complete(t)
		if !ok {
			return Object{}, false, &unknown.Incomplete{Name: t.Name()}
		}
		t = full
	}
	if !t.Aggregate() || depth > maxSteps || *left < 0 {
		return Object{}, false, nil
	}
	m := t.Members()
	if scope == "" || scope == t.FullName() || scope == t.BareName {
		scope = ""
		for i := range m.Fields {
			f := &m.Fields[i]
			if f.Base || f.Name != name && (f.Name == "" || f.Name != "__"+name) {
				continue
			}
			if f.Static {
				at, ok := b.static(o, f)
				if !ok {
					return Object{}, false, wrong("the static member %s was not found", name)
				}
				return at, true, nil
			}
			at, err := b.field(o, f)
			return at, err == nil, err
		}
	}
	if m.Variant != nil && t.Language != dwarf.LangRust && scope == "" {
		fields, err := b.variantFields(o, m.Variant)
		for i := range fields {
			if f := &fields[i]; f.Name == name {
				at, err := b.field(o, f)
				return at, err == nil, err
			}
		}
		if err != nil {
			return Object{}, false, err
		}
	}
	if m.Variant != nil && t.Language == dwarf.LangRust {
		if at, ok, err := x.shown(o, name); ok || err != nil {
			return at, ok, err
		}
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Static || !f.Base && f.Name != "" && !embedded(b, t, f) {
			continue
		}
		at, err := b.field(o, f)
		if err != nil {
			continue
		}
		if at.Type.Strip().Pointer() { // Go embeds pointers, too
			if at, err = x.Pointee(&at); err != nil {
				continue
			}
		}
		if in, ok, err := x.find(b, &at, scope, name, left, depth+1); ok || err != nil && scope == "" {
			return in, ok, err
		}
	}
	return Object{}, false, nil
}

// embedded reports whether a member of Go's struct t is embedded: it is called as its type.
func embedded(b *builder, t *types.Type, f *types.Field) bool {
	if t.Language != dwarf.LangGo {
		return false
	}
	name := strings.TrimPrefix(b.p.Types.OfField(f).Name(), "*")
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	return name[strings.LastIndexByte(name, '.')+1:] == f.Name
}

// Static returns the static member of a class.
func (x Explorer) Static(t *types.Type, name string) (Object, error) {
	s := t.Strip()
	if s.Declared {
		if full, ok := x.P.Types.Complete(s); ok {
			s = full
		}
	}
	if s.Aggregate() {
		for i := range s.Members().Fields {
			if f := &s.Members().Fields[i]; f.Static && f.Name == name {
				if at, ok := x.builder(Options{}).static(&Object{Type: s, Mem: true}, f); ok {
					return at, nil
				}
			}
		}
	}
	return Object{}, wrong("%s has no static member %s", describe(t), name)
}

// shown finds a part by the name that a printer gives it: a member of the variant of Rust's enum that the object has, or
// that variant itself by its name.
func (x Explorer) shown(o *Object, name string) (Object, bool, error) {
	s := x.Read(o, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 64, Raw: false})
	if s.Err != nil {
		return Object{}, false, s.Err
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Name == name || p.Name == "" && name == strconv.Itoa(i) {
			if in, ok := s.Object(p.Value); ok {
				return in, true, nil
			}
		}
	}
	if own, _, _ := strings.Cut(s.Text, " "); own == name || strings.HasSuffix(own, "::"+name) {
		return *o, true, nil
	}
	return Object{}, false, nil
}

// members lists the names of some members of t, for a message.
func (x Explorer) members(t *types.Type) string {
	if t.Declared {
		if full, ok := x.P.Types.Complete(t); ok {
			t = full
		}
	}
	const most = 8
	var names []string
	for _, f := range t.Members().Fields {
		if f.Base || f.Name == "" {
			continue
		}
		if len(names) == most {
			names = append(names, "...")
			break
		}
		names = append(names, strings.TrimPrefix(f.Name, "__"))
	}
	if len(names) == 0 {
		return ""
	}
	return "; it has " + strings.Join(names, ", ")
}
