package dwarfvars

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// What Pascal writes: names in letters of any case, the operators of sets, numbers of elements that a program chose, functions of the language.

// anyCase finds a variable whose name differs from what was written in the case of letters, and the object that a method is of.
func (e *evaluation) anyCase(name string) (Object, error) {
	for _, s := range e.scopes {
		for _, list := range [...][]*LocalVar{s.Locals, s.Params} {
			for _, v := range list {
				if v.Name != name && strings.EqualFold(v.Name, name) && e.a.inScope(v) {
					return e.variable(v.Name)
				}
			}
		}
	}
	if strings.EqualFold(name, "self") {
		return e.variable("this") // as Free Pascal calls it
	}
	if this, err := e.variable("this"); err == nil && this.at {
		if member := e.spelled(&this.ob, name); member != "" {
			return e.object(e.x.Member(&this.ob, member))
		}
	}
	for _, other := range [...]string{strings.ToUpper(name), strings.ToLower(name)} {
		if t, err := e.variable(other); !errors.Is(err, errNoVariable) {
			return t, err
		}
	}
	return Object{}, errNoVariable
}

// spelled returns the name of a member of a record or class that is written in letters of another case; "" if there is none.
func (e *evaluation) spelled(ob *values.Object, name string) string {
	t := e.referred(ob).Type.Strip()
	if t.Pointer() {
		t = t.Target().Strip()
	}
	for range maxOuter * maxOuter { // classes around
		if !t.Aggregate() {
			return ""
		}
		t = t.Defined()
		var base *types.Type
		for i := range t.Members().Fields {
			f := &t.Members().Fields[i]
			switch {
			case f.Base:
				base = e.a.r.types.OfField(f)
			case strings.EqualFold(f.Name, name) && f.Name != name:
				return f.Name
			}
		}
		if base == nil {
			return ""
		}
		t = base.Strip()
	}
	return ""
}

// firstOf is the number of the first element of an array or a string of Pascal; 0 for all others.
func (e *evaluation) firstOf(ob *values.Object) int64 {
	if e.dialect != paths.Pascal {
		return 0
	}
	at := e.referred(ob)
	if t := at.Type.Strip(); t.Pointer() || t.Aggregate() {
		if managedText(at.Type) || t.BareName == shortString {
			return 1
		}
		return 0
	}
	bounds, err := e.x.Bounds(at)
	if err != nil || len(bounds) == 0 {
		return 0
	}
	return bounds[0].Lower
}

// shortString is how Free Pascal calls the record that strings with a length in front are in DWARF 2.
const shortString = "ShortString"

// managedText reports whether a pointer to characters is a string of Pascal, which debugging information of DWARF 2 does not tell but by its name.
func managedText(t *types.Type) bool {
	switch strings.ToLower(t.Name()) {
	case "ansistring", "unicodestring", "widestring", "rawbytestring", "utf8string":
		return true
	}
	return false
}

// numbered returns the element of an array with the number that the program gives it.
func (e *evaluation) numbered(ob *values.Object, n paths.Node, first int64) (Object, error) {
	i, err := e.integer(n)
	if err != nil {
		return Object{}, err
	}
	if t := e.referred(ob).Type.Strip(); i == 0 && first == 1 && t.Tag == arrayTag && t.Dynamic() && t.Target().Strip().Encoding.Char() {
		if bounds, err := e.x.Bounds(ob); err == nil && len(bounds) == 1 { // the byte before a short string is its length
			return e.word(t.Target(), bounds[0].Count)
		}
	}
	if bounds, err := e.x.Bounds(ob); err == nil && len(bounds) > 0 && !e.referred(ob).Type.Strip().Pointer() && (i < first || i-first >= int64(bounds[0].Count)) {
		return Object{}, wrongAt(n, fmt.Errorf("element %d of an array from %d to %d", i, first, first+int64(bounds[0].Count)-1))
	}
	at := e.referred(ob)
	if at.Type.Strip().Aggregate() { // a string that DWARF 2 describes
		st, err := e.x.Member(at, "st")
		if err != nil {
			return Object{}, err
		}
		at = &st
	}
	return e.object(e.x.Element(at, i-first))
}

// letter compares a string with one letter, which is a string, too, where another stands beside it; false if none does.
func (e *evaluation) letter(n *paths.Binary) (Object, bool, error) {
	other, one := n.X, n.Y
	c, ok := one.(*paths.Number)
	if !ok || !c.Char {
		other, one = one, other
		if c, ok = one.(*paths.Number); !ok || !c.Char {
			return Object{}, false, nil
		}
	}
	ob, err := e.stored(other)
	if err != nil {
		return Object{}, false, err
	}
	at := e.referred(&ob)
	if t := at.Type.Strip(); t.Tag != arrayTag && !managedText(at.Type) && t.BareName != shortString {
		return Object{}, false, nil
	}
	t, err := e.compareText(&paths.Binary{Op: n.Op, X: other, Y: &paths.Text{Value: string(rune(c.Value))}})
	return t, true, err
}

// once is an operand at which more than one looks to see whether the operator is its own: sets, strings, numbers. It is evaluated for the first of them, as
// a row of operators would else take twice as long for each.
type once struct {
	paths.Node
	known bool
	t     Object
	err   error
}

// onceEach is an operator whose operands are evaluated once, however many look at them.
func onceEach(n *paths.Binary) *paths.Binary {
	of := func(n paths.Node) paths.Node {
		switch n.(type) {
		case *paths.Ident, *paths.Number, *paths.Float, *paths.Text, *paths.List, *paths.Range: // of which some are told by what they are written as
			return n
		}
		return &once{Node: n}
	}
	out := *n
	out.X, out.Y = of(n.X), of(n.Y)
	return &out
}

// ofPascal answers the operators that Pascal has, or means otherwise than C: false if an operator is the same.
func (e *evaluation) ofPascal(n *paths.Binary) (Object, bool, error) {
	if t, ok, err := e.ofSets(n); ok || err != nil {
		return t, ok, err
	}
	switch n.Op {
	case "in":
		is, err := e.inSet(n)
		if err != nil {
			return Object{}, false, err
		}
		t, err := e.truth(is)
		return t, true, err
	case "/", "&", "|", "^":
	default:
		return Object{}, false, nil
	}
	x, err := e.stored(n.X)
	if err != nil {
		return Object{}, false, err
	}
	if n.Op == "/" { // a real, whatever the numbers are
		y, err := e.stored(n.Y)
		if err != nil {
			return Object{}, false, err
		}
		if e.floats(&x) || e.floats(&y) {
			return Object{}, false, nil
		}
		a, err := e.asReal(&x)
		if err != nil {
			return Object{}, false, wrongAt(n.X, err)
		}
		b, err := e.asReal(&y)
		if err != nil {
			return Object{}, false, wrongAt(n.Y, err)
		}
		t, err := e.object(e.x.RealWord(e.realType(8), a/b))
		return t, true, err
	}
	if e.referred(&x).Type.Base().Encoding != types.EncBoolean {
		return Object{}, false, nil
	}
	a, err := e.isTrue(&x)
	if err != nil {
		return Object{}, false, err
	}
	if a == (n.Op == "|") && n.Op != "^" { // whatever the other is
		t, err := e.truth(a)
		return t, true, err
	}
	b, err := e.condition(n.Y)
	if err != nil {
		return Object{}, false, err
	}
	if n.Op == "^" {
		b = a != b
	}
	t, err := e.truth(b)
	return t, true, err
}

// inSet reports whether a number is in a set, which is a variable or a list.
func (e *evaluation) inSet(n *paths.Binary) (bool, error) {
	i, err := e.integer(n.X)
	if err != nil {
		return false, err
	}
	if list, ok := n.Y.(*paths.List); ok {
		for _, item := range list.Items {
			first, last, err := e.itemOf(item)
			if err != nil {
				return false, err
			}
			if first <= i && i <= last {
				return true, nil
			}
		}
		return false, nil
	}
	ob, err := e.stored(n.Y)
	if err != nil {
		return false, err
	}
	set := e.referred(&ob)
	if set.Type.Strip().Tag != dwarf.TagSetType {
		return false, wrongAt(n.Y, fmt.Errorf("an object of type %s is no set", clip(set.Type.Name())))
	}
	if i < 0 || uint64(i)/8 >= set.Size {
		return false, nil
	}
	raw, err := e.x.P.Bytes(set, uint64(i)/8, 1)
	return err == nil && raw[0]>>(i%8)&1 == 1, wrongAt(n.Y, err)
}

// standard answers a call of a function that is part of the language; false if there is none of the name.
func (e *evaluation) standard(n *paths.Call, name string) (Object, bool, error) {
	switch name {
	case "length", "high", "low", "ord", "chr", "succ", "pred", "abs", "odd", "assigned", "trunc", "round", "frac", "sqr", "upcase":
	default:
		return Object{}, false, nil
	}
	if len(n.Args) != 1 {
		return Object{}, true, &ExpressionError{n.Open, fmt.Errorf("%s has one argument", name)}
	}
	if name == "abs" {
		t, err := e.eval(&paths.Unary{Op: "abs", X: n.Args[0]})
		return t, true, err
	}
	t, err := e.standardOf(n.Args[0], name)
	return t, true, err
}

func (e *evaluation) standardOf(n paths.Node, name string) (Object, error) {
	whole := e.integerType(8, true)
	if text, ok := n.(*paths.Text); ok && name == "length" {
		return e.word(whole, uint64(len(text.Value)))
	}
	if id, ok := n.(*paths.Ident); ok && (name == "low" || name == "high") && e.unresolved(id.Name) {
		if _, missing := e.anyCase(id.Name); errors.Is(missing, errNoVariable) {
			if t, ok := e.lookup(id.Name); ok {
				return e.endOf(n, t, name == "high")
			}
		}
	}
	ob, err := e.stored(n)
	if err != nil {
		return Object{}, err
	}
	at := e.referred(&ob)
	switch name {
	case "trunc", "round", "frac", "sqr":
		return e.ofReal(n, name, at)
	case "upcase":
		v, _, err := e.number(at)
		if err == nil && v >= 'a' && v <= 'z' {
			v -= 'a' - 'A'
		}
		if err != nil {
			return Object{}, wrongAt(n, err)
		}
		return e.word(at.Type, v)
	case "length", "high", "low":
		s := at.Type.Strip()
		if c, ok, err := e.x.Characters(at, maxOwnText); (s.Pointer() && managedText(at.Type) || s.Aggregate()) && ok && err == nil && !c.Cut {
			length := uint64(len(c.Raw)) / max(c.Size, 1)
			return e.word(whole, map[string]uint64{"length": length, "high": length, "low": 1}[name])
		}
		bounds, err := e.x.Bounds(at)
		if err != nil {
			return Object{}, err
		}
		if name != "length" && len(bounds) == 0 && !s.Pointer() {
			return e.endOf(n, at.Type, name == "high")
		}
		if len(bounds) == 0 || s.Pointer() {
			return Object{}, wrongAt(n, fmt.Errorf("an object of type %s is no array", clip(ob.Type.Name())))
		}
		b := bounds[0]
		return e.word(whole, uint64(map[string]int64{"length": int64(b.Count), "low": b.Lower, "high": b.Lower + int64(b.Count) - 1}[name]))
	}
	v, signed, err := e.number(&ob)
	if err != nil {
		return Object{}, wrongAt(n, err)
	}
	switch name {
	case "assigned":
		return e.truth(v != 0)
	case "odd":
		return e.truth(v&1 == 1)
	case "chr":
		return e.word(e.basicOfPascal("char"), v)
	case "ord":
		return e.word(whole, v)
	}
	by := map[string]int64{"succ": 1, "pred": -1}[name]
	t := at.Type
	if t.Base().Tag == dwarf.TagEnumerationType || t.Base().Encoding.Char() {
		if first, last, ok := t.Strip().Range(); ok && (int64(v)+by < first || int64(v)+by > last) {
			return Object{}, wrongAt(n, fmt.Errorf("%s has no value number %d", clip(t.Name()), int64(v)+by))
		}
		return e.word(t, v+uint64(by))
	}
	return e.computed(e.result(&ob, nil, signed), v+uint64(by), signed)
}

// endOf is the first or the last value that a type has.
func (e *evaluation) endOf(n paths.Node, t *types.Type, high bool) (Object, error) {
	first, last, ok := t.Strip().Range()
	if s := t.Strip(); s.Tag == arrayTag && len(s.Dims()) > 0 {
		lower, count, constant := s.Dims()[0].Constant()
		if index := s.Dims()[0].Index(s); index != nil && constant {
			t = index
		} else {
			t = e.integerType(8, true)
		}
		first, last, ok = lower, lower+int64(count)-1, constant
	}
	if !ok {
		return Object{}, wrongAt(n, fmt.Errorf("the range of %s is not known", clip(t.Name())))
	}
	if high {
		first = last
	}
	return e.word(t, uint64(first))
}

// ofReal is what becomes of a number: a half is rounded to the even number beside it.
func (e *evaluation) ofReal(n paths.Node, name string, ob *values.Object) (Object, error) {
	if name == "sqr" {
		return e.binary(&paths.Binary{Op: "*", X: n, Y: n})
	}
	f, err := e.asReal(ob)
	if err != nil {
		return Object{}, wrongAt(n, err)
	}
	if name == "frac" {
		return e.object(e.x.RealWord(e.realType(8), f-math.Trunc(f)))
	}
	if name == "round" {
		f = math.RoundToEven(f)
	}
	if f = math.Trunc(f); math.IsNaN(f) || f < -1<<63 || f >= 1<<63 {
		return Object{}, wrongAt(n, fmt.Errorf("%v is no integer of 64 bits", f))
	}
	return e.word(e.integerType(8, true), uint64(int64(f)))
}

// basicOfPascal returns a type that Pascal itself has; nil for other names. integer is that of Delphi's mode, as in most programs.
func (e *evaluation) basicOfPascal(name string) *types.Type {
	size, enc := uint64(0), types.EncSigned
	switch name {
	case "shortint", "byte", "boolean", "char", "ansichar":
		size = 1
	case "smallint", "word", "widechar":
		size = 2
	case "integer", "longint", "cardinal", "longword", "dword", "single":
		size = 4
	case "int64", "qword", "double":
		size = 8
	case "nativeint", "ptrint", "nativeuint", "ptruint":
		size = e.a.r.types.Word()
	default:
		return nil
	}
	switch name {
	case "byte", "word", "cardinal", "longword", "dword", "qword", "nativeuint", "ptruint":
		enc = types.EncUnsigned
	case "boolean":
		enc = types.EncBoolean
	case "char", "ansichar":
		enc = types.EncUnsignedChar
	case "widechar":
		enc = types.EncUTF
	case "single", "double":
		enc = types.EncFloat
	}
	return e.a.r.types.Number(name, size, enc)
}
