package dwarfvars

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
)

// Casts, and the types that they name.

func (e *evaluation) cast(n *paths.Cast) (Object, error) {
	to := n.Type
	to.Reference = false
	t, err := e.typeNamed(to)
	if err != nil {
		return Object{}, err
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	if n.Type.Reference {
		return e.castReference(n, &ob, t)
	}
	return e.converted(n.Op, &ob, t)
}

// converted returns an object as a value of a type, as C and C++ convert it.
func (e *evaluation) converted(op string, ob *values.Object, t *types.Type) (Object, error) {
	s := t.Strip()
	if e.dialect == paths.Go && s.Name() == "string" {
		if text, ok, err := e.stringOfRunes(ob); ok || err != nil {
			return text, err
		}
	}
	switch {
	case op == "dynamic_cast":
		if !s.Pointer() {
			return Object{}, errors.New("dynamic_cast is to a pointer or a reference")
		}
		return e.castDynamic(ob, t)
	case s.Aggregate():
		if ob = e.referred(ob); !ob.Mem {
			return Object{}, fmt.Errorf("a number does not become a %s: write *(%s *)", t.Name(), t.Name())
		}
		if base, ok := e.x.Base(ob, t); ok {
			return e.object(base, nil)
		}
		if op == "static_cast" {
			return Object{}, fmt.Errorf("a %s does not become a %s", ob.Type.Name(), t.Name())
		}
		return e.object(e.x.As(ob, t))
	case s.Tag == 0:
		return Object{in: e.in, ob: values.Object{Type: t}, at: true}, nil
	case s.Tag == dwarf.TagArrayType, s.Tag == dwarf.TagSubroutineType:
		return Object{}, fmt.Errorf("nothing becomes a %s: cast the address to a pointer", t.Name())
	}
	f, isFloat, err := e.x.Real(ob)
	if err != nil {
		return Object{}, err
	}
	if isFloat && e.dialect == paths.Ada && !s.Floats() {
		f = math.Round(f)
	}
	var v uint64
	signed := false
	if !isFloat {
		if v, signed, err = e.number(ob); err != nil {
			return Object{}, err
		}
	}
	switch {
	case s.Floats() && isFloat:
		return e.object(e.x.RealWord(t, f))
	case s.Floats() && signed:
		return e.object(e.x.RealWord(t, float64(int64(v))))
	case s.Floats():
		return e.object(e.x.RealWord(t, float64(v)))
	case s.Encoding == types.EncBoolean:
		is := isFloat && f != 0 || v != 0
		if v = 0; is {
			v = 1
		}
	case isFloat && e.dialect == paths.Rust && s.Tag == dwarf.TagBaseType && s.ByteSize <= 8:
		v = saturated(f, s)
	case isFloat && (s.Pointer() || math.IsNaN(f) || f >= 1<<64 || f < -1<<63):
		return Object{}, fmt.Errorf("the number %v does not become a %s", f, t.Name())
	case isFloat && f < 0:
		v = uint64(int64(f))
	case isFloat:
		v = uint64(f)
	case s.Pointer() && op != "reinterpret_cast":
		if v, err = e.adjusted(ob, t, v); err != nil {
			return Object{}, err
		}
	}
	if first, last, ok := s.Range(); ok && e.dialect == paths.Ada && (s.Whole() < 8 || s.Base().Encoding.Signed()) && (int64(v) < first || int64(v) > last) {
		return Object{}, fmt.Errorf("%d is not in the range of %s, from %d to %d", int64(v), clip(t.Name()), first, last)
	}
	return e.word(t, v)
}

// stringOfRunes is Go's string(x) of a number, or of a slice of them; false for others.
func (e *evaluation) stringOfRunes(ob *values.Object) (Object, bool, error) {
	at := e.referred(ob)
	t := at.Type.Strip()
	if t.Tag == dwarf.TagBaseType && !t.Floats() && t.Encoding != types.EncBoolean {
		v, signed, err := e.number(at)
		if err != nil {
			return Object{}, false, err
		}
		if signed && int64(v) < 0 || v > math.MaxInt32 {
			v = utf8.RuneError
		}
		o, err := e.textOf(&paths.Text{Value: string(rune(v))})
		return o, true, err
	}
	if t.Name() != "[]int32" {
		return Object{}, false, nil
	}
	n, err := e.x.Length(at)
	if err == nil && n > maxListed {
		err = fmt.Errorf("a string of %d runes is not made", n)
	}
	if err != nil {
		return Object{}, false, err
	}
	var b strings.Builder
	for i := range n {
		r, err := e.x.Element(at, int64(i))
		if err != nil {
			return Object{}, false, err
		}
		v, _, err := e.number(&r)
		if err != nil {
			return Object{}, false, err
		}
		b.WriteRune(rune(v))
	}
	o, err := e.textOf(&paths.Text{Value: b.String()})
	return o, true, err
}

// saturated is the integer of Rust that a floating-point number becomes: the nearest that the type has, and 0 for what is no number.
func saturated(f float64, t *types.Type) uint64 {
	bits := 8 * int(t.ByteSize)
	least, most := 0.0, math.Ldexp(1, bits) // the first that is too large
	if t.Encoding.Signed() {
		least, most = -math.Ldexp(1, bits-1), math.Ldexp(1, bits-1)
	}
	switch {
	case math.IsNaN(f):
		return 0
	case f >= most && t.Encoding.Signed():
		return 1<<(bits-1) - 1
	case f >= most:
		return math.MaxUint64 >> (64 - bits)
	case f <= least:
		return uint64(int64(least))
	case f < 0:
		return uint64(int64(f))
	}
	return uint64(f)
}

// adjusted returns the address that a pointer to a class of C++ has as one to a base class, or to a class derived from it:
// where the base class is virtual, the object's virtual table tells where that is.
func (e *evaluation) adjusted(ob *values.Object, t *types.Type, v uint64) (uint64, error) {
	from, to := ob.Type.Strip(), t.Strip().Target()
	if !from.Pointer() || v == 0 || !from.Target().Strip().Aggregate() || !to.Strip().Aggregate() {
		return v, nil
	}
	part, err := e.x.At(from.Target(), v)
	if err != nil {
		return v, nil
	}
	if base, ok := e.x.Base(&part, to); ok {
		return base.Addr, nil
	}
	if off, ok := e.x.BaseOffset(to, from.Target()); ok {
		return e.a.r.arch.Truncate(v - off), nil
	}
	if !e.x.Derives(to, from.Target()) {
		return v, nil
	}
	whole, err := e.x.Whole(&part, e.long())
	if err != nil {
		return 0, err
	}
	derived, ok := e.x.Base(&whole, to)
	if !ok {
		return 0, fmt.Errorf("the object is a %s, no %s", whole.Type.Name(), to.Name())
	}
	return derived.Addr, nil
}

// castReference reads an object in memory as one of another type.
func (e *evaluation) castReference(n *paths.Cast, ob *values.Object, t *types.Type) (Object, error) {
	if ob.Type.Strip().Reference() {
		to, err := e.x.Pointee(ob)
		if err != nil {
			return Object{}, err
		}
		*ob = to
	}
	if !ob.Mem {
		return Object{}, errors.New("it has no address: it is in a register, or was computed")
	}
	addr := ob.Addr
	switch n.Op {
	case "dynamic_cast":
		whole, err := e.x.Whole(ob, e.long())
		if err != nil {
			return Object{}, err
		}
		base, ok := e.x.Base(&whole, t)
		if !ok {
			return Object{}, fmt.Errorf("the object is a %s, no %s", whole.Type.Name(), t.Name())
		}
		return e.object(base, nil)
	case "reinterpret_cast":
	default:
		pointer, err := e.x.Word(e.pointerTo(ob.Type), addr)
		if err != nil {
			return Object{}, err
		}
		if addr, err = e.adjusted(&pointer, e.pointerTo(t), addr); err != nil {
			return Object{}, err
		}
	}
	return e.object(e.x.At(t, addr))
}

// castDynamic is dynamic_cast of a pointer: the object's virtual table tells its class.
func (e *evaluation) castDynamic(ob *values.Object, t *types.Type) (Object, error) {
	target := t.Strip().Target().Strip()
	if !ob.Type.Strip().Pointer() || target.Tag != 0 && !target.Aggregate() {
		return Object{}, errors.New("dynamic_cast is of a pointer to a class, to one to another class")
	}
	v, _, err := e.x.Number(ob)
	if err != nil {
		return Object{}, err
	}
	if v == 0 {
		return e.word(t, 0)
	}
	part, err := e.x.Pointee(ob)
	if err != nil {
		return Object{}, err
	}
	whole, err := e.x.Whole(&part, e.long())
	if err != nil {
		return Object{}, err
	}
	base, ok := e.x.Base(&whole, target)
	if target.Tag == 0 {
		base, ok = whole, true
	}
	if !ok {
		return e.word(t, 0)
	}
	return e.word(t, base.Addr)
}

// typeNamed returns the type with a name: as it is written, in the scopes around the function, or with the spaces that
// compilers write.
func (e *evaluation) typeNamed(name paths.TypeName) (*types.Type, error) {
	t, ok := e.lookup(name.Name)
	if !ok {
		return nil, fmt.Errorf("no type is called %s", name.Name)
	}
	for range min(name.Pointers, maxPointers) {
		t = e.pointerTo(t)
	}
	for i := len(name.Dims) - 1; i >= 0; i-- {
		if size, err := e.a.sizeOf(t); err != nil || name.Dims[i] > maxArray/max(size, 1) {
			return nil, fmt.Errorf("arrays of more than %d bytes are not made", uint64(maxArray))
		}
		t = e.arrayOf(t, name.Dims[i])
	}
	if f := name.Function; f != nil {
		var params []*types.Type
		for _, p := range f.Params {
			param, err := e.typeNamed(p)
			if err != nil {
				return nil, err
			}
			params = append(params, param)
		}
		t = e.a.r.types.FunctionOf(t, params, f.Variadic)
	}
	for range min(name.Outer, maxPointers) {
		t = e.pointerTo(t)
	}
	return t, nil
}

// Limits on types that an expression makes.
const (
	maxPointers = 16
	maxArray    = 1 << 40 // bytes
)

func (e *evaluation) lookup(name string) (*types.Type, bool) {
	if !e.dialect.Calls() {
		name = strings.ToLower(name)
	}
	if t := e.basic(name); t != nil {
		return t, true
	}
	if t, ok := e.templateType(name); ok {
		return t, true
	}
	if d, ok := types.NamedInside(e.a.fn.DIE, name); ok {
		return e.a.r.types.At(d), true
	}
	names := e.scoped(name)
	bare := len(names) - 1
	if u := e.a.fn.Unit; u != nil {
		for _, n := range names[:bare] {
			if d, ok := types.NamedIn(u, n); ok {
				return e.a.r.types.At(d), true
			}
		}
	}
	list := append([]string{names[bare]}, names[:bare]...)
	switch e.dialect {
	case paths.Ada: // which knows no other name of what is in a package
		list = names
	case paths.Pascal:
		list = append(list, strings.ToUpper(name))
	}
	for _, n := range list[:len(list):len(list)] {
		list = append(list, spellings(n)...)
	}
	for _, n := range list {
		if t, ok := e.a.r.types.Lookup(e.a.fn.Unit, n, e.long()); ok {
			return t, true
		}
	}
	if e.a.db == nil {
		return nil, false
	}
	for _, n := range list {
		if t, ok := e.a.r.types.InDatabase(e.a.db, n); ok {
			return t, true
		}
	}
	return nil, false
}

// maxOuter is in how many scopes around a function a name is looked for.
const maxOuter = 4

// scoped returns a name in the scopes around the frame's function, the innermost first, and as it is: in app::Worker::run T
// means app::Worker::T, app::T or T.
func (e *evaluation) scoped(name string) (list []string) {
	word, bare := "", name
	for _, w := range [...]string{"struct ", "union ", "class ", "enum "} {
		if rest, ok := strings.CutPrefix(name, w); ok {
			word, bare = w, rest
		}
	}
	if e.dialect == paths.Ada {
		return adaScoped(fullName(e.a.fn.DIE), name)
	}
	if e.dialect == paths.D {
		bare = strings.ReplaceAll(strings.TrimPrefix(bare, e.module()+"."), ".", "::")
		name = word + bare
	}
	if u := e.a.fn.Unit; strings.HasPrefix(bare, "::") || u == nil || types.IsC(u.Language) || u.Language == dwarf.LangGo {
		return []string{strings.TrimPrefix(name, "::")}
	}
	scope := fullName(e.a.fn.DIE)
	for range maxOuter {
		if scope = outer(scope); scope == "" {
			break
		}
		list = append(list, word+scope+"::"+bare)
	}
	for _, space := range e.used() {
		list = append(list, word+space+"::"+bare)
	}
	return append(list, name)
}

// fullName returns the name of a function with the scopes around it.
func fullName(d dwarf.DIE) string {
	if !d.Valid() {
		return ""
	}
	a := gather(d)
	if a.nameIn == nil {
		return ""
	}
	name := a.nameIn.Text(&a.name)
	if scopes, _, ok := a.origin.Scopes(); ok && !types.IsC(a.origin.Unit.Language) && a.origin.Unit.Language != dwarf.LangGo {
		name = strings.Join(append(scopes, name), "::")
	}
	return name
}

// outer returns a name without its last part: "a::b<c::d>" of "a::b<c::d>::e".
func outer(name string) string {
	scope, _, _ := demangle.SplitScope(name)
	return scope
}

// long is the size of C's long in bytes, which on Windows is not that of an address.
func (e *evaluation) long() uint64 {
	if e.a.im.PE() != nil || e.a.rec != nil {
		return 4
	}
	return e.a.r.types.Word()
}

func (e *evaluation) sizeof(n *paths.Sizeof) (Object, error) {
	size, of := uint64(0), (*types.Type)(nil)
	if m, ok := n.X.(*paths.Member); ok && e.dialect == paths.Go { // sizeof(main.node)
		if name, ok := packageName(m); ok && e.unresolved(m.X.(*paths.Ident).Name) && e.unresolved(name) {
			n = &paths.Sizeof{Type: paths.TypeName{Name: name}}
		}
	}
	if n.X == nil {
		t, err := e.typeNamed(n.Type)
		if err == nil {
			size, err = e.a.sizeOf(t)
		}
		if err != nil {
			return Object{}, err
		}
		of = t
	} else {
		before := e.other
		e.other = nil
		ob, err := e.stored(n.X)
		found := e.other
		e.other = cmp.Or(found, before)
		if id, ok := n.X.(*paths.Ident); ok && found != nil { // a type is nearer than a variable of another library
			if _, failed := e.typeNamed(paths.TypeName{Name: id.Name}); failed == nil {
				e.other = before
				return e.sizeof(&paths.Sizeof{Type: paths.TypeName{Name: id.Name}, Align: n.Align})
			}
		}
		if err != nil {
			var at *ExpressionError
			if id, ok := n.X.(*paths.Ident); ok && errors.As(err, &at) { // sizeof(type)
				return e.sizeof(&paths.Sizeof{Type: paths.TypeName{Name: id.Name}, Align: n.Align})
			}
			if n.Type.Name != "" {
				if t, failed := e.sizeof(&paths.Sizeof{Type: n.Type, Align: n.Align}); failed == nil {
					return t, nil
				}
			}
			return Object{}, err
		}
		size, of = ob.Size, ob.Type
		if s := ob.Type.Strip(); s.Reference() { // of what it refers to
			if of = s.Target(); n.Align {
				size, err = 0, nil
			} else if size, err = e.a.sizeOf(of); err != nil {
				return Object{}, err
			}
		}
	}
	if n.Align {
		if size = of.Align(); size == 0 {
			return Object{}, fmt.Errorf("the alignment of %s is not known", clip(of.Name()))
		}
	}
	if size == 0 && of.Strip().Tag == dwarf.TagSubroutineType {
		size = 1 // as GNU C has it
	}
	return e.word(e.a.r.types.Integer(8, false), size)
}
