package dwarfvars

import (
	"errors"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An Object is a value of a frame that can be looked into one level at a time: a variable, a part of one, or
// what an expression names. It is immutable and stays valid as long as its Reader; several goroutines may use it.
// The zero Object has no value.
type Object struct {
	in *scene
	ob values.Object
	at bool          // ob is the object
	v  *values.Value // instead: a value that is no object of its own
	// elements, if not nil, are those that a slice has.
	elements *values.Seen
	first    int64  // number of the first of them
	listed   string // their type, as of an array of them, which no type of the program is; "" if it is not known
	other    *libstate.Library
	doubtful bool // as Value.Doubtful
}

// A scene is the frame that an Object belongs to.
type scene struct {
	r      *Reader
	fn     *Function
	frames []*unwind.Frame
	index  int
}

// enter returns the frame's Activation, for one question. Close it when done.
func (s *scene) enter() *Activation { return s.r.activation(s.fn, s.frames, s.index) }

func (a *Activation) scene() *scene {
	return &scene{r: a.r, fn: a.Function, frames: a.frames, index: a.index}
}

func (a *Activation) explorer() values.Explorer {
	return values.Explorer{P: a.r.mem, F: (*frame)(a)}
}

// Object returns a variable of the frame as an Object. The error says why it has no value, as that of Read does.
func (a *Activation) Object(v *LocalVar) (Object, error) {
	switch {
	case !a.owns(v):
		return Object{}, ErrParam
	case !a.inScope(v):
		return Object{}, ErrOutOfScope
	}
	var ob values.Object
	var err error
	doubtful := a.doubtful(func() { ob, err = a.object(v) })
	if err != nil {
		return Object{}, err
	}
	return Object{in: a.scene(), ob: ob, at: true, doubtful: doubtful}, nil
}

// Read reads the value as a tree.
func (o Object) Read(opts Options) Value {
	switch {
	case o.in == nil:
		return Value{}
	case o.elements != nil:
		return Value{o.elements.Value, o.doubtful}
	case !o.at:
		return Value{o.v, o.doubtful}
	}
	a := o.in.enter()
	defer a.Close()
	ob := o.ob
	val := values.Read(a.r.mem, (*frame)(a), &ob, ob.Type, values.Options(opts))
	return Value{val, o.doubtful && val.Err == nil}
}

// Type returns the name of the type; "" if it is not known.
func (o Object) Type() string {
	switch {
	case o.at:
		return o.ob.Type.Name()
	case o.elements != nil || o.v == nil:
		return ""
	}
	return o.v.Type()
}

// Module returns the path of the module whose variable an expression named, if that is not the frame's own; else "".
func (o Object) Module() string {
	if o.other == nil {
		return ""
	}
	return o.other.Path
}

// Addr returns where the object is in the process's memory, and its size in bytes; false if it is not in memory.
func (o Object) Addr() (addr arch.Address, size uint64, ok bool) {
	return o.ob.Addr, o.ob.Size, o.at && o.ob.Mem
}

// A Child is a part of an Object.
type Child struct {
	Name   string // of a member; "[3]" of an element, "*" of what a pointer points to
	Key    Value  // of an element of a map
	Object Object
	// Suffix is what to write after an expression that names the whole, to name the part: ".name", "->name",
	// "[3]"; "" if no expression names it. If Prefix is not "", it is written before, and Suffix is "".
	Prefix, Suffix string
	// Transparent says of a member without a name that an expression names its members as those of the whole.
	Transparent bool
}

// previewDepth is how deep a whole is read to find its parts.
const previewDepth = 2

// MaxMembers is how many members of one object Children returns at most.
const MaxMembers = 1 << 12

// Children returns n parts of an object from number first on: members, elements, or what it points to. more says that
// others follow. An object without parts, such as a number, has none.
func (o Object) Children(first, n int) (list []Child, more bool, err error) {
	switch {
	case o.in == nil || first < 0 || n <= 0:
		return nil, false, nil
	case o.elements != nil:
		list = o.in.children(o.elements, true, o.first, "")
		return page(list, first, n, o.elements.More)
	case !o.at:
		return nil, false, nil
	}
	a := o.in.enter()
	defer a.Close()
	x := a.explorer()
	ob, arrow := o.ob, "."
	s := x.Read(&ob, values.Options{MaxDepth: previewDepth, MaxElements: 8, MaxParts: MaxMembers})
	if s.Err != nil {
		return nil, false, s.Err
	}
	if k := s.Kind(); !s.Compound && k == values.KindPointer || k == values.KindReference {
		to, err := x.Pointee(&ob)
		if err != nil {
			return nil, false, nil // to nothing, to void
		}
		if to.Mem {
			if _, err := a.r.mem.Int(to.Addr, 1, false); err != nil {
				return nil, false, nil
			}
		}
		inner := x.Read(&to, values.Options{MaxDepth: previewDepth, MaxElements: 8, MaxParts: MaxMembers})
		if !inner.Compound || inner.Err != nil || x.Indexed(inner) {
			if inner.Kind() == values.KindFunction || s.More || quotedPointer(s) {
				return nil, false, nil
			}
			prefix := "*"
			if k == values.KindReference && to.Type.Strip().Pointer() { // *r is what the pointer points to
				prefix = "*&"
			}
			return page([]Child{{Name: "*", Object: Object{in: o.in, ob: to, at: true}, Prefix: prefix}}, first, n, false)
		}
		s, arrow = inner, "->"
		ob = to
	}
	if x.Indexed(s) {
		el, err := x.Elements(&ob, int64(first), int64(min(n, values.MaxRun)))
		var w *values.Wrong
		if errors.As(err, &w) { // beyond the end
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		e := evaluation{x: x, in: o.in, dialect: dialectOf(o.in.fn)}
		return o.in.children(el, true, int64(first)+e.firstOf(&ob), arrow), el.More || x.MoreThan(&ob, int64(first)+int64(len(el.Parts))), nil
	}
	return page(o.in.children(s, false, 0, arrow), first, n, s.More)
}

// quotedPointer reports whether a pointer shows the string that it points to.
func quotedPointer(s *values.Seen) bool { return len(s.Text) > 0 && s.Text[len(s.Text)-1] == '"' }

func page(list []Child, first, n int, more bool) ([]Child, bool, error) {
	list = list[min(first, len(list)):]
	if len(list) > n {
		return list[:n], true, nil
	}
	return list, more, nil
}

// children makes the parts of a value. Elements are numbered from first on.
func (in *scene) children(s *values.Seen, elements bool, first int64, arrow string) []Child {
	list := make([]Child, 0, len(s.Parts))
	at := first
	for i := range s.Parts {
		p := &s.Parts[i]
		c := Child{Name: p.Name, Object: Object{in: in, v: p.Value}}
		if ob, ok := s.Object(p.Value); ok && p.Value.Err == nil {
			c.Object = Object{in: in, ob: ob, at: true}
		}
		switch {
		case p.Key != nil:
			c.Key = Value{v: p.Key}
			c.Name = "[" + p.Key.String() + "]"
			if !strings.Contains(s.Text, "multi") { // where several elements may have the key
				c.Suffix = keySuffix(p.Key)
			}
		case elements:
			c.Name = fmt.Sprintf("[%d]", at)
			c.Suffix = c.Name
		case p.Name == "" && s.Tuple():
			c.Name = fmt.Sprint(at)
			c.Suffix = "." + c.Name
		case p.Name == "":
			c.Name, c.Transparent = "{...}", s.Plain()
		default:
			c.Suffix = memberSuffix(p.Name, arrow)
		}
		at += int64(max(p.Repeat, 1))
		list = append(list, c)
	}
	return list
}

// memberSuffix is how an expression names a member: base classes and notes of printers have no such name.
func memberSuffix(name, arrow string) string {
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c < 0x80 {
			return ""
		}
	}
	return arrow + name
}

// keySuffix is how an expression names an element of a map, if the key is a number or a plain string.
func keySuffix(key *values.Value) string {
	switch key.Kind() {
	case values.KindInt, values.KindEnum, values.KindBool:
		for _, c := range []byte(key.Text) {
			if (c < '0' || c > '9') && c != '-' {
				return ""
			}
		}
		return "[" + key.Text + "]"
	case values.KindString:
		if len(key.Text) > 1 && key.Text[0] == '"' && !key.More {
			return "[" + key.Text + "]"
		}
	}
	return ""
}

// MostDerived returns the object of C++ that a pointer or a reference points to, or that this is a part of, as one of the
// class that its table of virtual functions tells: of a pointer another pointer. It returns false if that is the one it is
// known as, or nothing tells it.
func (o Object) MostDerived() (Object, bool) {
	if !o.at {
		return Object{}, false
	}
	a := o.in.enter()
	defer a.Close()
	e := evaluation{a: a, x: a.explorer(), in: o.in, dialect: dialectOf(o.in.fn)}
	part, t := o.ob, o.ob.Type.Strip()
	pointer := t.Pointer()
	if pointer || t.Reference() {
		var err error
		if part, err = e.x.Pointee(&part); err != nil {
			return Object{}, false
		}
	}
	if !part.Mem || !part.Type.Strip().Aggregate() {
		return Object{}, false
	}
	whole, err := e.x.Whole(&part, e.long())
	if err != nil || whole.Addr == part.Addr && whole.Type.Name() == part.Type.Strip().Name() {
		return Object{}, false
	}
	if !pointer {
		return Object{in: o.in, ob: whole, at: true, other: o.other, doubtful: o.doubtful}, true
	}
	to, err := e.word(e.pointerTo(whole.Type), whole.Addr)
	to.other, to.doubtful = o.other, o.doubtful
	return to, err == nil
}

// Bits returns the bits of a number or an address of at most 64, those of a signed integer extended, and how many bytes
// its type has.
func (o Object) Bits() (v, size uint64, err error) {
	if !o.at {
		return 0, 0, errors.New("it is no number")
	}
	a := o.in.enter()
	defer a.Close()
	ob := o.ob
	return a.explorer().Bits(&ob)
}

// Number returns the value as an integer, or the address that a pointer has; that of a signed one is extended to 64 bits.
func (o Object) Number() (uint64, error) {
	if !o.at {
		return 0, errors.New("it is no number")
	}
	a := o.in.enter()
	defer a.Close()
	ob := o.ob
	n, _, err := a.explorer().Number(&ob)
	return n, err
}
