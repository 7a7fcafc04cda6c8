package dwarfvars

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// What looks like a call: elements of arrays in Fortran and Ada, conversions, and reads of containers. No function of the
// process is called.

func (e *evaluation) call(n *paths.Call) (Object, error) {
	switch f := n.Fun.(type) {
	case *paths.Attribute:
		return e.attribute(f, n.Args)
	case *paths.Register:
		return e.ownFunction(n, f.Name)
	case *paths.Member:
		if e.dialect.Calls() {
			return e.method(n, f)
		}
	case *paths.Ident:
		_, err := e.variable(f.Name)
		if errors.Is(err, errNoVariable) && !e.dialect.Calls() {
			_, err = e.variable(strings.ToLower(f.Name))
		}
		var elsewhere *errElsewhere
		if errors.As(err, &elsewhere) {
			return Object{}, err
		}
		if !e.dialect.Calls() && err == nil {
			break
		}
		if e.dialect == paths.Fortran && errors.Is(err, errNoVariable) {
			if t, ok, err := e.intrinsic(n, strings.ToLower(f.Name)); ok {
				return t, err
			}
		}
		if e.dialect == paths.Pascal && errors.Is(err, errNoVariable) {
			if t, ok, err := e.standard(n, strings.ToLower(f.Name)); ok {
				return t, err
			}
		}
		if len(n.Args) == 1 && f.Name == "typeid" && errors.Is(err, errNoVariable) && e.dialect == paths.Plain {
			return e.typeid(n.Args[0])
		}
		if len(n.Args) == 1 && (f.Name == "len" || f.Name == "cap") && errors.Is(err, errNoVariable) {
			return e.length(f.Name, n.Args[0])
		}
		if _, code := e.symbol(f.Name); len(n.Args) == 1 && !code && errors.Is(err, errNoVariable) {
			if t, err := e.typeNamed(paths.TypeName{Name: f.Name}); err == nil {
				ob, err := e.stored(n.Args[0])
				if err != nil {
					return Object{}, err
				}
				return e.converted("", &ob, t)
			}
		}
		return Object{}, notCalled(n, f.Name)
	}
	if e.dialect.Calls() {
		return Object{}, notCalled(n, "")
	}
	ob, err := e.stored(n.Fun)
	if err != nil {
		return Object{}, err
	}
	return e.elements(n, &ob)
}

// notCalled is the error of a call of a function.
func notCalled(n *paths.Call, name string) error {
	if name == "" {
		return &ExpressionError{n.Open, errors.New("a call: functions of the process are not called")}
	}
	return &ExpressionError{n.Open, fmt.Errorf("a call of %s: functions of the process are not called", name)}
}

// length is len(x) or cap(x).
func (e *evaluation) length(name string, n paths.Node) (Object, error) {
	if text, ok := n.(*paths.Text); ok && name == "len" {
		return e.count(uint64(len(text.Value)))
	}
	ob, err := e.stored(n)
	if err != nil {
		return Object{}, err
	}
	of := e.x.Length
	if name == "cap" {
		of = e.x.Capacity
	}
	v, err := of(&ob)
	if err != nil {
		return Object{}, wrongAt(n, err)
	}
	return e.count(v)
}

// count returns a number of elements, of the type that the frame's language has for them.
func (e *evaluation) count(n uint64) (Object, error) {
	set, word := e.a.r.types, e.a.r.types.Word()
	if u := e.a.fn.Unit; u != nil {
		switch u.Language {
		case dwarf.LangGo:
			return e.word(set.Number("int", word, types.EncSigned), n)
		case dwarf.LangRust:
			return e.word(set.Number("usize", word, types.EncUnsigned), n)
		}
	}
	return e.word(set.Integer(8, false), n)
}

// method answers a call of a method that only reads.
func (e *evaluation) method(n *paths.Call, f *paths.Member) (Object, error) {
	if name, ok := packageName(f); ok { // Go: main.f(x)
		if id := f.X.(*paths.Ident); e.a.fn.Unit != nil && e.a.fn.Unit.Language == dwarf.LangGo && e.unresolved(id.Name) {
			return Object{}, notCalled(n, name)
		}
	}
	ob, err := e.stored(f.X)
	if err != nil {
		return Object{}, err
	}
	if t := e.referred(&ob).Type.Strip(); t.Pointer() && !e.x.Container(&ob) || f.Arrow && !t.Pointer() {
		if ob, err = e.x.Pointee(&ob); err != nil {
			return Object{}, err
		}
	}
	err = notCalled(n, f.Name)
	if e.x.Container(&ob) {
		var t Object
		if t, err = e.read(n, f.Name, &ob); err == nil {
			return t, nil
		}
	}
	if e.typesOnly {
		if t, ok := e.returned(&ob, f.Name); ok {
			return t, nil
		}
	}
	return Object{}, err
}

// read answers a call of a method of a container, a string or a smart pointer.
func (e *evaluation) read(n *paths.Call, name string, ob *values.Object) (Object, error) {
	switch len(n.Args) {
	case 0:
		return e.readPlain(n, name, ob)
	case 1:
		switch name {
		case "at":
			return e.elementOf(ob, n.Args[0])
		case "count", "contains", "contains_key":
			key, isText, err := e.key(n.Args[0])
			if err != nil {
				return Object{}, err
			}
			has, err := e.x.Has(ob, key, isText)
			switch {
			case err != nil:
				return Object{}, err
			case name != "count":
				return e.truth(has)
			case has && strings.Contains(ob.Type.Strip().BareName, "multi"):
				return Object{}, errors.New("how many elements have the key is not known")
			case has:
				return e.count(1)
			}
			return e.count(0)
		case "expect":
			if isText(n.Args[0]) {
				return e.unwrapped(ob)
			}
		}
	}
	return Object{}, notCalled(n, name)
}

func (e *evaluation) readPlain(n *paths.Call, name string, ob *values.Object) (Object, error) {
	switch name {
	case "size", "length", "len", "capacity":
		of := e.x.Length
		if name == "capacity" {
			of = e.x.Capacity
		}
		v, err := of(ob)
		if err != nil {
			return Object{}, err
		}
		return e.count(v)
	case "empty", "is_empty", "isEmpty":
		v, err := e.x.Length(ob)
		if err != nil {
			return Object{}, err
		}
		return e.truth(v == 0)
	case "front":
		return e.object(e.x.Element(ob, 0))
	case "top":
		switch {
		case strings.HasPrefix(ob.Type.Strip().BareName, "priority_queue<"):
			return e.object(e.x.Element(ob, 0))
		case strings.HasPrefix(ob.Type.Strip().BareName, "stack<"):
			return e.readPlain(n, "back", ob)
		}
	case "back":
		v, err := e.x.Length(ob)
		if err != nil {
			return Object{}, err
		}
		return e.object(e.x.Element(ob, int64(v)-1))
	case "data", "c_str":
		return e.data(ob)
	case "get":
		return e.object(e.x.Raw(ob))
	case "value", "unwrap":
		return e.unwrapped(ob)
	case "has_value", "is_some", "is_none", "is_ok", "is_err":
		which, ok := e.x.Variant(ob)
		want := map[string]string{"has_value": "value", "is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}[name]
		if ok && (which == "value" || which == "") == (want == "value") {
			return e.truth(which == want)
		}
	}
	return Object{}, notCalled(n, name)
}

// unwrapped returns the value of an optional, an Option or a Result.
func (e *evaluation) unwrapped(ob *values.Object) (Object, error) {
	switch which, ok := e.x.Variant(ob); {
	case !ok:
		return Object{}, fmt.Errorf("an object of type %s is no optional value", clip(ob.Type.Name()))
	case which == "":
		return Object{}, errors.New("it has no value")
	case which == "None" || which == "Err":
		return Object{}, fmt.Errorf("it has no value: it is %s", which)
	}
	return e.object(e.x.Held(ob))
}

// data returns the address of the characters of a string, or of the first element of a container.
func (e *evaluation) data(ob *values.Object) (Object, error) {
	set := e.a.r.types
	c, ok, err := e.x.Characters(ob, 1)
	if err != nil {
		return Object{}, err
	}
	if ok && c.Located {
		elem := c.Elem
		if elem == nil {
			elem = set.Number("u8", 1, types.EncUnsigned)
		}
		return e.word(e.pointerTo(elem), c.Addr)
	}
	first, err := e.x.Element(ob, 0)
	if err != nil {
		return Object{}, err
	}
	if !first.Mem {
		return Object{}, errors.New("the elements have no address")
	}
	return e.word(e.pointerTo(first.Type), first.Addr)
}

// elements returns the element of an array that Fortran and Ada write a(2, 3), or elements from one number to another.
func (e *evaluation) elements(n *paths.Call, ob *values.Object) (Object, error) {
	if t, ok, err := e.substring(n, ob); ok || err != nil {
		return t, err
	}
	bounds, err := e.x.OpenBounds(ob)
	if err != nil {
		return Object{}, err
	}
	rows := e.dialect == paths.Ada && len(n.Args) < len(bounds) // m(1) is a row
	switch {
	case bounds == nil:
		return Object{}, &ExpressionError{n.Open, fmt.Errorf("an object of type %s is no array, and functions of the process are not called", clip(ob.Type.Name()))}
	case len(n.Args) != len(bounds) && !rows:
		return Object{}, &ExpressionError{n.Open, fmt.Errorf("%d indexes of an array of %d dimensions", len(n.Args), len(bounds))}
	}
	picks := make([]values.Pick, len(n.Args))
	for i := range n.Args {
		arg := n.Args[i]
		if e.dialect == paths.Fortran { // the last is the outermost
			arg = n.Args[len(n.Args)-1-i]
		}
		if picks[i], err = e.pick(arg, bounds[i]); err != nil {
			return Object{}, err
		}
	}
	at := *e.referred(ob)
	for range maxReferences { // q(1) of an access to an array is an element of that
		if t := at.Type.Strip(); !t.Pointer() || t.Target().Strip().Tag != arrayTag {
			break
		}
		if at, err = e.x.Pointee(&at); err != nil {
			return Object{}, err
		}
	}
	for len(picks) > 0 && picks[0].Single {
		t, err := e.object(e.x.Element(&at, picks[0].First))
		if picks = picks[1:]; err != nil || len(picks) == 0 {
			return t, err
		}
		if !t.at {
			return Object{}, errors.New("it is no object of its own")
		}
		at = t.ob
	}
	if p := picks[0]; len(picks) == 1 && p.Step == 1 && p.Count > 0 {
		s, err := e.x.Elements(&at, p.First, p.Count)
		if err != nil {
			return Object{}, err
		}
		return e.several(s, p.First), nil
	}
	s, err := e.x.Section(&at, picks)
	if err != nil {
		return Object{}, err
	}
	var counts []string
	for i := range picks {
		if !picks[i].Single {
			counts = append(counts, strconv.FormatInt(picks[i].Count, 10))
		}
	}
	listed := ""
	if t := e.referred(&at).Type.Strip(); t.Tag == arrayTag {
		slices.Reverse(counts)
		listed = t.Target().Name() + " (" + strings.Join(counts, ",") + ")"
	}
	return Object{in: e.in, elements: s.Slice(), listed: listed}, nil
}

// listed is how the frame's language calls a part of an array, of n elements.
func (e *evaluation) listed(elem *types.Type, n uint64) string {
	name := elem.Name()
	switch e.dialect {
	case paths.Go:
		return "[]" + name
	case paths.Rust:
		return "[" + name + "]"
	case paths.D:
		return name + "[]"
	case paths.Fortran, paths.Ada:
		return fmt.Sprintf("%s (%d)", name, n)
	}
	return e.arrayOf(elem, n).Name()
}

// several returns elements that follow one another. Characters are a string.
func (e *evaluation) several(s *values.Seen, first int64) Object {
	listed := ""
	if len(s.Parts) > 0 {
		at, ok := s.Object(s.Parts[0].Value)
		if ok && s.Parts[0].Key == nil {
			n := uint64(0)
			for i := range s.Parts {
				n += uint64(max(s.Parts[i].Repeat, 1))
			}
			listed = e.listed(at.Type, n)
		}
		if ok && at.Mem && at.Size > 0 && at.Type.Strip().Encoding.Char() && at.Type.Strip().Tag == dwarf.TagBaseType {
			n := uint64(0)
			for i := range s.Parts {
				n += uint64(max(s.Parts[i].Repeat, 1))
			}
			if next, ok := s.Object(s.Parts[len(s.Parts)-1].Value); ok && next.Mem && !s.More && next.Addr == at.Addr+(n-1)*at.Size {
				return Object{in: e.in, at: true, ob: values.Object{Type: e.arrayOf(at.Type, n), Mem: true, Addr: at.Addr, Size: n * at.Size}}
			}
		}
	}
	return Object{in: e.in, elements: s.Slice(), first: first, listed: listed}
}

// pick is which elements an index or a range means.
func (e *evaluation) pick(n paths.Node, b values.Bound) (p values.Pick, err error) {
	first, last := b.Lower, b.Lower+int64(b.Count)-1
	r, ok := n.(*paths.Range)
	if !ok {
		i, err := e.integer(n)
		if err == nil && b.Open && i < first {
			err = wrongAt(n, fmt.Errorf("element %d of an array that begins at %d", i, first))
		}
		if err == nil && !b.Open && (i < first || i > last) {
			err = wrongAt(n, fmt.Errorf("element %d of an array from %d to %d", i, first, last))
		}
		return values.Pick{First: i - b.Lower, Single: true}, err
	}
	if b.Open {
		return p, wrongAt(r, errors.New("where the array ends is not known"))
	}
	from, to, step := first, last, int64(1)
	if r.Step != nil {
		if step, err = e.integer(r.Step); err != nil {
			return p, err
		}
		if step == 0 {
			return p, wrongAt(r.Step, errors.New("a step of 0"))
		}
		if step < 0 {
			from, to = last, first
		}
	}
	if r.From != nil {
		if from, err = e.integer(r.From); err != nil {
			return p, err
		}
	}
	if r.To != nil {
		if to, err = e.integer(r.To); err != nil {
			return p, err
		}
	}
	if (to-from)/step < 0 || (to < from) != (step < 0) && to != from {
		return p, wrongAt(r, fmt.Errorf("elements from %d to %d: there are none", from, to))
	}
	if min(from, to) < first || max(from, to) > last {
		return p, wrongAt(r, fmt.Errorf("elements from %d to %d of an array from %d to %d", from, to, first, last))
	}
	return values.Pick{First: from - b.Lower, Count: (to-from)/step + 1, Step: step}, nil
}

// assertion returns what an interface of Go has, if its type is the one that x.(T) names.
func (e *evaluation) assertion(n *paths.Assertion) (Object, error) {
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	held, dynamic, ok, err := e.x.Dynamic(&ob)
	switch {
	case err != nil:
		return Object{}, err
	case !ok:
		return Object{}, fmt.Errorf("an object of type %s is no interface of Go", clip(ob.Type.Name()))
	case dynamic == "":
		return Object{}, errors.New("the interface is nil")
	}
	want := n.Type
	if pkg, _, ok := strings.Cut(e.a.Name, "."); ok && !strings.ContainsAny(want, ".[({ ") { // a type of the package
		if bare := strings.TrimLeft(want, "*"); dynamic == want[:len(want)-len(bare)]+pkg[strings.LastIndex(pkg, "/")+1:]+"."+bare {
			want = dynamic
		}
	}
	if strings.ReplaceAll(dynamic, " ", "") != strings.ReplaceAll(want, " ", "") {
		return Object{}, fmt.Errorf("the interface has a %s, no %s", dynamic, n.Type)
	}
	if held == nil {
		return Object{}, fmt.Errorf("no debugging information describes %s", dynamic)
	}
	return e.object(*held, nil)
}
