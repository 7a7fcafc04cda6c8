package values

import (
	"strings"
	"unicode/utf16"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What the methods of containers, strings and smart pointers return that only read, by what their printers know.

// Length returns how many elements a container or an array has, or how many characters a string; the error is a Wrong if
// an object has no length.
func (x Explorer) Length(o *Object) (uint64, error) {
	n, err := x.noted(o)
	if err != nil {
		return 0, err
	}
	if !n.counted {
		return 0, wrong("how many elements %s has is not known", describe(o.Type))
	}
	return n.count, nil
}

// Capacity returns for how many elements a container has room.
func (x Explorer) Capacity(o *Object) (uint64, error) {
	n, err := x.noted(o)
	if err != nil {
		return 0, err
	}
	if !n.hasRoom {
		return 0, wrong("%s has no capacity that is known", describe(o.Type))
	}
	return n.room, nil
}

// noted returns what a printer knows of an object, or of what leads from it to a container.
func (x Explorer) noted(o *Object) (*note, error) {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		switch {
		case goContainer(at.Type):
		case t.Reference(), t.Pointer() && (rustReference(t.BareName) || !single(t.Target())):
			to, err := x.Pointee(&at)
			if err != nil {
				return nil, err
			}
			at = to
			continue
		case t.Tag == dwarf.TagArrayType:
			return x.arrayNote(&at)
		case !t.Aggregate() && t.Tag != dwarf.TagStringType:
			return nil, wrong("%s has no elements", describe(o.Type))
		}
		b := x.many(1)
		b.opts.MaxDepth, b.opts.MaxElements = 0, MaxRun // lists are counted, their elements are not read
		from := at
		v := b.value(&from, 0)
		if v.Err != nil {
			return nil, v.Err
		}
		if n := b.notes[v]; n != nil {
			return n, nil
		}
		s := &Seen{v, b.objects}
		in, ok := s.inner(v)
		if ok && in.Type.Strip() != t {
			at = in
			continue
		}
		if to, ok := x.boxed(&at); ok {
			at = to
			continue
		}
		return nil, wrong("%s has no elements", describe(o.Type))
	}
	return nil, wrong("%s has no elements", describe(o.Type))
}

func (x Explorer) arrayNote(o *Object) (*note, error) {
	at, t := *o, o.Type.Strip()
	b := x.builder(Options{})
	if absent, err := t.Absent(b.in(&at)); err != nil {
		return nil, err
	} else if absent != "" {
		return nil, wrong("the array is %s", absent)
	}
	shape, err := b.layOut(&at, t)
	if err != nil {
		return nil, err
	}
	if !shape[0].Known {
		return nil, wrong("the array has no length")
	}
	return &note{count: shape[0].Count, counted: true}, nil
}

// Container reports whether an object is a container, a string or a smart pointer of a library, whose methods are known.
func (x Explorer) Container(o *Object) bool {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if !t.Reference() && !(t.Pointer() && rustReference(t.BareName)) {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return false
		}
		at = to
	}
	t := at.Type.Strip()
	switch {
	case goContainer(at.Type), t.Pointer() && rustReference(t.BareName):
		return true
	case !t.Aggregate():
		return t.Language == dwarf.LangRust && t.Tag == dwarf.TagArrayType
	}
	switch {
	case types.IsCXX(t.Language):
		return cxxPrinter(t) != nil
	case t.Language == dwarf.LangRust:
		if t.Members().Variant != nil {
			name := rustName(t.BareName)
			return name == "Option" || name == "Result"
		}
		full := t.FullName()
		return strings.HasPrefix(full, "alloc::") || strings.HasPrefix(full, "std::") || strings.HasPrefix(t.BareName, "&")
	case t.Language == dwarf.LangGo:
		return goPrinter(t) != nil
	}
	return false
}

// Engaged reports whether an optional, an Option or a Result has a value, or a smart pointer points to something; false
// if the object is none of them.
func (x Explorer) Engaged(o *Object) (has, ok bool) {
	name, ok := x.Variant(o)
	if !ok {
		return false, false
	}
	return name != "" && name != "None" && name != "Err", true
}

// Variant returns which variant an Option or a Result of Rust has, "Some", or "value" of an optional of C++ that has a
// value and "" of one that has none; false if the object is none of them.
func (x Explorer) Variant(o *Object) (string, bool) {
	at := *o
	for range maxSteps {
		if t := at.Type.Strip(); !t.Reference() && !(t.Pointer() && rustReference(t.BareName)) {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return "", false
		}
		at = to
	}
	t := at.Type.Strip()
	if !t.Aggregate() {
		return "", false
	}
	s := x.Read(&at, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 16})
	if s.Err != nil || !s.printed {
		return "", false
	}
	switch {
	case t.Language == dwarf.LangRust && t.Members().Variant != nil:
		switch own, _, _ := strings.Cut(s.Text, " "); own {
		case "Some", "None", "Ok", "Err":
			return own, true
		}
	case strings.HasSuffix(s.Text, "[no contained value]"):
		return "", true
	case len(s.Parts) == 1 && s.Parts[0].Name == "[contained value]":
		return "value", true
	}
	return "", false
}

// Held returns the value that an Option, a Result or an optional has, if it has one.
func (x Explorer) Held(o *Object) (Object, error) {
	at := *o
	for range maxSteps {
		t := at.Type.Strip()
		if !t.Reference() && !(t.Pointer() && rustReference(t.BareName)) {
			break
		}
		to, err := x.Pointee(&at)
		if err != nil {
			return Object{}, err
		}
		at = to
	}
	s := x.Read(&at, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 16})
	if len(s.Parts) == 1 {
		if in, ok := s.Object(s.Parts[0].Value); ok {
			return in, nil
		}
		if p := s.Parts[0].Value; p.Err != nil {
			return Object{}, p.Err
		}
	}
	return Object{}, wrong("%s has no value", describe(o.Type))
}

// Raw returns the pointer that a smart pointer has.
func (x Explorer) Raw(o *Object) (Object, error) {
	at := *o
	for n := 0; at.Type.Strip().Reference() && n < maxSteps; n++ {
		to, err := x.Pointee(&at)
		if err != nil {
			return Object{}, err
		}
		at = to
	}
	if at.Type.Strip().Aggregate() {
		if in, ok := x.Read(&at, Options{MaxDepth: 2, MaxElements: 4, MaxParts: 16}).held(); ok {
			return in, nil
		}
	}
	return Object{}, wrong("%s has no pointer get()", describe(o.Type))
}

// Characters are those of a string.
type Characters struct {
	Raw     []byte
	Size    uint64 // bytes of each
	Cut     bool   // others follow
	Addr    arch.Address
	Located bool        // Addr is where they are
	Elem    *types.Type // nil for UTF-8
}

// Characters returns up to most characters of a string; false if an object is none. A pointer to characters of C is one.
func (x Explorer) Characters(o *Object, most int) (c Characters, ok bool, err error) {
	b := x.builder(Options{MaxString: max(most, 1), MaxElements: 4, MaxDepth: 2, MaxParts: 16})
	b.objects = map[*Value][]Object{}
	at := *o
	v := b.value(&at, 0)
	if v.Err != nil {
		return c, false, v.Err
	}
	n := b.notes[v]
	if n == nil || !n.text {
		return c, false, nil
	}
	return Characters{n.raw, n.size, n.cut, n.at, n.located, n.elem}, true, nil
}

// Spells reports whether characters are those of a text. A string of C ends at the first zero; with zero the others, too.
func (x Explorer) Spells(c *Characters, text string, zero bool) bool {
	var units []uint64
	switch c.Size {
	case 1:
		for _, b := range []byte(text) {
			units = append(units, uint64(b))
		}
	case 2:
		for _, u := range utf16.Encode([]rune(text)) {
			units = append(units, uint64(u))
		}
	default:
		for _, r := range text {
			units = append(units, uint64(r))
		}
	}
	size, at := int(c.Size), 0
	for i := 0; i+size <= len(c.Raw); i += size {
		u := types.Uint(c.Raw[i:i+size], x.P.Arch.Big())
		if u == 0 && zero {
			return at == len(units)
		}
		if at >= len(units) || units[at] != u {
			return false
		}
		at++
	}
	return at == len(units) && !c.Cut
}
