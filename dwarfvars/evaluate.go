package dwarfvars

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/paths"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// An ExpressionError says what is wrong with an expression: its text, or what it asks for. At is where, in bytes from
// the start of the expression.
type ExpressionError struct {
	At  int
	Err error
}

func (e *ExpressionError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *ExpressionError) Unwrap() error { return e.Err }

// AllCalls, as the call of Evaluate, looks for variables in all calls of a frame, the innermost first.
const AllCalls = -1

// A Convenience supplies the values of convenience variables, which no process has. name is what follows "$": "foo"
// of $foo, and for values that were printed before "" of $, "1" of $1, "$" of $$, "$2" of $$2. It returns false for
// variables that do not exist. Names of registers, $_siginfo and $_exitcode are not asked for.
type Convenience func(name string) (Object, bool)

// Evaluate returns what an expression names in frame number frame of a stack: q->head->next[3].name, *p, &x,
// arr[2:5], (struct tile *)0x55d0, $rip, p@4, state == GREEN ? a * 2.5 : b, name == "abc", v.size(). Names are those
// of the variables of the frame's function, of the calls inlined there, of members of this, of variables, functions
// and enumerators of the program. call is the number of the call in Activation.Live, or AllCalls. Calls of methods
// that only read containers, strings and smart pointers of libraries are answered by what is known of these; no
// function is called, and nothing is changed. vars supply convenience variables; they are asked in order. The error
// is an *ExpressionError.
func (r *Reader) Evaluate(swalk []*unwind.Frame, frame, call int, expr string, vars ...Convenience) (Object, error) {
	if frame < 0 || frame >= len(swalk) {
		return Object{}, &ExpressionError{0, fmt.Errorf("frame %d of %d: %w", frame, len(swalk), ErrParam)}
	}
	s := &scene{r: r, fn: r.bareFunction(swalk[frame]), frames: swalk, index: frame}
	return s.evaluateAnywhere(call, expr, vars, false)
}

// evaluateAnywhere evaluates in the frame, or in one of a function around it.
func (s *scene) evaluateAnywhere(call int, expr string, vars []Convenience, typesOnly bool) (Object, error) {
	t, err := s.evaluate(call, expr, vars, typesOnly)
	for range maxEnclosed {
		var outer *errElsewhere
		if !errors.As(err, &outer) {
			break
		}
		first := err
		if t, err = outer.in.evaluate(AllCalls, expr, vars, typesOnly); err != nil && !errors.As(err, &outer) {
			var at *ExpressionError
			errors.As(first, &at)
			err = &ExpressionError{at.At, fmt.Errorf("it is of the call of %s in frame %d: %w", outer.in.fn.Name, outer.in.index, err)}
		}
	}
	return t, err
}

// evaluate is Evaluate in one frame.
func (s *scene) evaluate(call int, expr string, vars []Convenience, typesOnly bool) (Object, error) {
	a := s.enter()
	defer a.Close()
	e := evaluation{a: a, x: a.explorer(), in: s, vars: vars, dialect: dialectOf(s.fn), typesOnly: typesOnly, left: maxSearched}
	n, err := paths.ParseIn(expr, e.dialect)
	if err != nil {
		var bad *paths.Error
		errors.As(err, &bad)
		return Object{}, &ExpressionError{bad.Where, err}
	}
	if live := a.liveOrNone(); call == AllCalls || call < 0 {
		e.scopes = live
	} else if call < len(live) {
		e.scopes = live[call : call+1]
	}
	var t Object
	doubtful := a.e.doubting(func() { t, err = e.eval(n) })
	if err != nil {
		var at *ExpressionError
		if !errors.As(err, &at) {
			err = &ExpressionError{n.At(), err}
		}
		return Object{}, err
	}
	if t.Type() == "" && t.at && t.ob.Type == nil {
		return Object{}, &ExpressionError{n.At(), errors.New("no value")}
	}
	t.other, t.doubtful = e.other, doubtful
	return t, nil
}

// dialectOf returns the dialect of a function's language.
func dialectOf(fn *Function) paths.Dialect {
	switch u := fn.fn.Unit; {
	case u == nil:
	case types.Fortran(u.Language):
		return paths.Fortran
	case types.Ada(u.Language):
		return paths.Ada
	case u.Language == dwarf.LangRust:
		return paths.Rust
	case u.Language == dwarf.LangGo:
		return paths.Go
	case u.Language == dwarf.LangD:
		return paths.D
	case u.Language == dwarf.LangPascal83:
		return paths.Pascal
	}
	return paths.Plain
}

// bareFunction returns the function of a frame, or one without a name and variables if no debugging information
// describes it.
func (r *Reader) bareFunction(f *unwind.Frame) *Function {
	if fn, err := r.FunctionForFrame(f); err == nil {
		return fn
	}
	fn := &Function{r: r}
	if libs := r.proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(f.LookupAddr()); ok {
			fn.Library, fn.im = lib, r.file(lib)
			fn.bias = fn.im.Bias(lib.LoadBias)
		}
	}
	return fn
}

// liveOrNone is Live of a function that may have no debugging information.
func (a *Activation) liveOrNone() []*Scope {
	if a.fn.Unit == nil && a.rec == nil {
		return nil
	}
	return a.Live()
}

// An evaluation is that of one expression.
type evaluation struct {
	a      *Activation
	x      values.Explorer
	in     *scene
	scopes []*Scope
	vars   []Convenience
	steps  int

	dialect    paths.Dialect
	typesOnly  bool                   // the type of what comes out is asked for, no value
	lengthOf   func() (Object, error) // of what is indexed, which D calls $
	left       uint64                 // bytes of debugging information that are still searched for enumerators and functions
	usedSpaces []string               // see used
	usedKnown  bool
	other      *libstate.Library // of a variable that is not one of the frame's module; nil if there is none
}

// maxEvaluated is how many parts of one expression are evaluated.
const maxEvaluated = 1 << 12

func (e *evaluation) object(ob values.Object, err error) (Object, error) {
	var bit *values.NotStored
	if errors.As(err, &bit) {
		return Object{in: e.in, v: bit.Value}, nil
	}
	return Object{in: e.in, ob: ob, at: true}, err
}

// word returns a number of a type.
func (e *evaluation) word(t *types.Type, v uint64) (Object, error) { return e.object(e.x.Word(t, v)) }

// at says where in the expression something is wrong.
func wrongAt(n paths.Node, err error) error {
	var at *ExpressionError
	if err == nil || errors.As(err, &at) {
		return err
	}
	return &ExpressionError{n.At(), err}
}

func (e *evaluation) eval(n paths.Node) (Object, error) {
	if e.steps++; e.steps > maxEvaluated {
		return Object{}, &ExpressionError{n.At(), ErrLimit}
	}
	t, err := e.evalNode(n)
	return t, wrongAt(n, err)
}

func (e *evaluation) evalNode(n paths.Node) (Object, error) {
	switch n := n.(type) {
	case *paths.Number:
		if n.Bool {
			return e.truth(n.Value != 0)
		}
		return e.literal(n, false)
	case *paths.Text:
		return e.textOf(n)
	case *paths.List:
		return e.list(n)
	case *paths.Float:
		size := uint64(8)
		if n.Single {
			size = 4
		}
		return e.object(e.x.RealWord(e.realType(size), n.Value))
	case *paths.Ident:
		return e.ident(n)
	case *paths.Range:
		return Object{}, errors.New("a range stands only among the indexes of an array")
	case *paths.Register:
		return e.register(n)
	case *paths.Member:
		return e.member(n)
	case *paths.Index:
		return e.index(n)
	case *paths.Slice:
		return e.slice(n)
	case *paths.Unary:
		return e.unary(n)
	case *paths.Binary:
		return e.binary(n)
	case *paths.Cast:
		return e.cast(n)
	case *paths.Sizeof:
		return e.sizeof(n)
	case *paths.Ternary:
		is, err := e.condition(n.If)
		switch {
		case err != nil:
			return Object{}, err
		case is:
			return e.eval(n.X)
		}
		return e.eval(n.Y)
	case *paths.Call:
		return e.call(n)
	case *paths.Assertion:
		return e.assertion(n)
	case *paths.Attribute:
		return e.attribute(n, nil)
	case *once:
		if !n.known {
			n.t, n.err = e.eval(n.Node)
			n.known = true
		}
		return n.t, n.err
	}
	return Object{}, fmt.Errorf("%T is not known", n)
}

// stored evaluates an operand that must be an object.
func (e *evaluation) stored(n paths.Node) (values.Object, error) {
	t, err := e.eval(n)
	if err != nil {
		return values.Object{}, err
	}
	if !t.at {
		return values.Object{}, &ExpressionError{n.At(), errors.New("it is no object of its own")}
	}
	return t.ob, nil
}

func (e *evaluation) member(n *paths.Member) (Object, error) {
	if name, ok := packageName(n); ok { // Go: main.counter
		if t, err := e.variable(name); err == nil {
			return t, nil
		}
		if id := n.X.(*paths.Ident); e.a.fn.Unit != nil && e.a.fn.Unit.Language == dwarf.LangGo && e.unresolved(id.Name) {
			if t, ok, err := e.function(&paths.Ident{Name: name}); ok || err != nil {
				return t, err
			}
			return Object{}, fmt.Errorf("no variable and no function is called %s", name)
		}
	}
	if name, ok := adaName(n); ok && e.dialect == paths.Ada { // package.variable
		if root, _, _ := strings.Cut(name, "__"); e.unresolved(root) {
			if t, err := e.variable(name); !errors.Is(err, errNoVariable) {
				return t, err
			}
			if t, ok, err := e.enumerator(name); ok || err != nil {
				return t, err
			}
			if t, ok, err := e.function(&paths.Ident{Name: name}); ok || err != nil {
				return t, err
			}
		}
	}
	if e.dialect == paths.D {
		if t, ok, err := e.dQualified(n); ok {
			return t, err
		}
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	if e.dialect == paths.Ada {
		return e.adaMember(&ob, n.Name)
	}
	if e.dialect == paths.D {
		return e.dMember(&ob, n.Name)
	}
	if e.dialect == paths.Fortran {
		ob = e.extended(ob, n.Name)
	}
	t, err := e.object(e.x.Member(&ob, n.Name))
	if err != nil && e.dialect == paths.Pascal { // the letters' case says nothing
		if name := e.spelled(&ob, n.Name); name != "" {
			return e.object(e.x.Member(&ob, name))
		}
	}
	if err != nil && e.dialect == paths.Plain {
		if f, ok := e.methodOf(&ob, n.Name); ok {
			return f, nil
		}
	}
	if lower := strings.ToLower(n.Name); err != nil && !e.dialect.Calls() && lower != n.Name {
		if t, missing := e.object(e.x.Member(&ob, lower)); missing == nil {
			return t, nil
		}
	}
	return t, err
}

// packageName returns the name of a variable of a package of Go.
func packageName(n *paths.Member) (string, bool) {
	pkg, ok := n.X.(*paths.Ident)
	if !ok {
		return "", false
	}
	return pkg.Name + "." + n.Name, true
}

// adaName returns the name that GNAT gives to what is called a.b.c.
func adaName(n *paths.Member) (string, bool) {
	switch x := n.X.(type) {
	case *paths.Ident:
		return strings.ToLower(x.Name + "__" + n.Name), true
	case *paths.Member:
		if outer, ok := adaName(x); ok {
			return outer + "__" + strings.ToLower(n.Name), true
		}
	}
	return "", false
}

func (e *evaluation) index(n *paths.Index) (Object, error) {
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	switch e.dialect {
	case paths.D:
		defer e.dollar(&ob)()
	case paths.Pascal:
		if first := e.firstOf(&ob); first != 0 {
			return e.numbered(&ob, n.I, first)
		}
	}
	return e.elementOf(&ob, n.I)
}

// elementOf returns the element of a container with a number or a key.
func (e *evaluation) elementOf(ob *values.Object, n paths.Node) (Object, error) {
	if e.x.Keyed(ob) {
		key, isText, err := e.key(n)
		if err != nil {
			return Object{}, err
		}
		return e.object(e.x.Key(ob, key, isText))
	}
	if key, ok := n.(*paths.Text); ok {
		return e.object(e.x.Key(ob, key.Value, true))
	}
	i, err := e.integer(n)
	if err != nil {
		return Object{}, err
	}
	t, err := e.object(e.x.Element(ob, i))
	if err != nil && (e.dialect == paths.Go || e.dialect == paths.Rust || e.dialect == paths.D || e.x.Container(ob)) {
		if b, ok := e.byteOf(ob, i); ok {
			return b, nil
		}
		if c, ok, failed := e.x.Characters(ob, 1); failed == nil && ok && c.Size == 1 {
			if n, failed := e.x.Length(ob); failed == nil && (i < 0 || uint64(i) >= n) {
				err = fmt.Errorf("element %d of a string of %d", i, n)
			}
		}
	}
	return t, err
}

// key returns the key of a map in words.
func (e *evaluation) key(n paths.Node) (key string, isText bool, err error) {
	if text, ok := n.(*paths.Text); ok {
		return text.Value, true, nil
	}
	ob, err := e.stored(n)
	if err != nil {
		return "", false, err
	}
	if t := ob.Type.Strip(); t.Tag == dwarf.TagEnumerationType || t.Encoding == types.EncBoolean {
		return e.x.Read(&ob, values.Options{}).Text, false, nil
	}
	if c, ok, err := e.x.Characters(&ob, maxCompared); err == nil && ok && !c.Cut && c.Size == 1 {
		if t := ob.Type.Strip(); t.Pointer() || t.Aggregate() {
			return string(c.Raw), true, nil
		}
	}
	v, signed, err := e.number(&ob)
	if err != nil {
		return "", false, wrongAt(n, err)
	}
	if !signed {
		return strconv.FormatUint(v, 10), false, nil
	}
	return strconv.FormatInt(int64(v), 10), false, nil
}

// integer evaluates an index or a length.
func (e *evaluation) integer(n paths.Node) (int64, error) {
	ob, err := e.stored(n)
	if err != nil {
		return 0, err
	}
	if ob, err = e.meant(n, ob); err != nil {
		return 0, err
	}
	v, _, err := e.number(&ob)
	return int64(v), wrongAt(n, err)
}

func (e *evaluation) slice(n *paths.Slice) (Object, error) {
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	if e.dialect == paths.D {
		defer e.dollar(&ob)()
	}
	var from, to int64
	to = -1
	if n.From != nil {
		if from, err = e.integer(n.From); err != nil {
			return Object{}, err
		}
	}
	if n.To != nil {
		if to, err = e.integer(n.To); err != nil {
			return Object{}, err
		}
	}
	first := e.firstOf(&ob)
	if first != 0 && !n.Run {
		if from -= first; n.From == nil {
			from = 0
		}
		if n.To != nil {
			to -= first
		}
		if from < 0 || n.To != nil && to < from {
			return Object{}, fmt.Errorf("elements of one whose first has the number %d: those from %d on are not there", first, from+first)
		}
	}
	if count, err := e.x.Length(&ob); err == nil && !n.Run && (e.dialect == paths.Rust || e.dialect == paths.Go || e.dialect == paths.D) && (from < 0 || max(from, to) > int64(count)) {
		return Object{}, fmt.Errorf("elements from %d to %d of one that has %d", from, max(from, to), count)
	}
	var s *values.Seen
	switch {
	case n.Run:
		s, err = e.x.Run(&ob, to)
	case n.To == nil:
		s, err = e.x.Elements(&ob, from, sliceToEnd)
	case to < from:
		return Object{}, fmt.Errorf("elements from %d to %d: the second number is that of the first element left out", from, to)
	default:
		s, err = e.x.Elements(&ob, from, to-from)
	}
	if err != nil {
		if t, ok := e.textSlice(&ob, from, to, n.To == nil); ok && !n.Run {
			return t, nil
		}
		return Object{}, err
	}
	if n.Run {
		from, first = 0, 0
	}
	return e.several(s, from+first), nil
}

// sliceToEnd is how many elements a slice without an end has at most.
const sliceToEnd = 200

func (e *evaluation) unary(n *paths.Unary) (Object, error) {
	if s, ok := n.X.(*paths.Slice); ok && n.Op == "&" && e.dialect == paths.Rust { // &a[1..]
		return e.slice(s)
	}
	if n.Op == "&" {
		if id, ok := n.X.(*paths.Ident); ok && !id.Global {
			if _, err := e.variable(id.Name); err != nil {
				if f, ok, err := e.function(id); ok || err != nil {
					if err != nil {
						return Object{}, err
					}
					return e.word(e.pointerTo(f.ob.Type), f.ob.Addr)
				}
				if m, ok, err := e.memberPointer(id.Name); ok {
					return m, err
				}
				if addr, ok := e.symbol(id.Name); ok {
					return e.word(e.pointerTo(e.a.r.types.Of(types.Ref{})), addr)
				}
			}
		}
	}
	if num, ok := n.X.(*paths.Number); ok && n.Op == "-" && num.Type != "" { // -128i8
		return e.literal(num, true)
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	switch n.Op {
	case "*":
		if to := e.referred(&ob); to != &ob && (to.Type.Strip().Pointer() || to.Type.Strip().Tag == arrayTag || to.Type.Strip().Aggregate()) { // of a pointer that a reference refers to
			ob = *to
		}
		t, err := e.object(e.x.Pointee(&ob))
		if err != nil && e.dialect == paths.Ada { // an access to an array whose bounds are not part of its type is the array here
			if bounds, missing := e.x.Bounds(&ob); missing == nil && len(bounds) > 0 {
				return Object{in: e.in, ob: ob, at: true}, nil
			}
		}
		return t, err
	case "&":
		t := ob.Type
		addr := ob.Addr
		switch {
		case t.Strip().Reference():
			at := ob
			at.Type = e.pointerTo(t.Strip().Target())
			if addr, _, err = e.x.Number(&at); err != nil {
				return Object{}, err
			}
			t = t.Strip().Target()
		case !ob.Mem && e.typesOnly:
			addr = 0
		case !ob.Mem:
			return Object{}, errors.New("it has no address: it is in a register, or was computed")
		}
		return e.word(e.pointerTo(t), addr)
	}
	if ob, err = e.meant(n.X, ob); err != nil {
		return Object{}, err
	}
	if t := ob.Type.Strip(); t.Pointer() && (n.Op != "!" && n.Op != "+" || e.dialect == paths.Ada) || e.dialect == paths.Rust && borrows(t) {
		return Object{}, fmt.Errorf("%q is not defined for an object of type %s", n.Op, clip(ob.Type.Name()))
	}
	if re, im, ok, err := e.x.Complex(&ob); ok && err == nil && n.Op == "-" {
		return e.object(e.x.ComplexWord(ob.Type, -re, -im))
	}
	if f, ok, err := e.x.Real(&ob); ok || err != nil {
		switch {
		case err != nil:
			return Object{}, err
		case n.Op == "-" || n.Op == "abs" && f < 0:
			f = -f
		case n.Op == "abs":
		case n.Op == "!":
			return e.truth(f == 0)
		case n.Op != "+":
			return Object{}, fmt.Errorf("%q is not defined for floating-point numbers", n.Op)
		}
		return e.object(e.x.RealWord(e.real(&ob, nil), f))
	}
	v, signed, err := e.number(&ob)
	if err != nil {
		return Object{}, err
	}
	if !e.typed() && ob.Size < 4 { // C makes an int of it
		signed = true
	}
	switch n.Op {
	case "-":
		v = -v
		if !signed {
			return e.word(e.unsignedOf(&ob), v)
		}
	case "~":
		if !signed {
			return e.word(e.unsignedOf(&ob), ^v)
		}
		return e.word(e.result(&ob, nil, signed), ^v)
	case "abs":
		if int64(v) < 0 && signed {
			v = -v
		}
	case "!":
		if e.dialect != paths.Rust && e.dialect != paths.Pascal || e.referred(&ob).Type.Base().Encoding == types.EncBoolean {
			return e.truth(v == 0)
		}
		return e.word(e.result(&ob, nil, signed), ^v)
	}
	return e.computed(e.result(&ob, nil, signed), v, signed)
}

// floats reports whether an object, or what a reference refers to, is a floating-point number.
func (e *evaluation) floats(o *values.Object) bool {
	_, ok, _ := e.x.Real(o)
	return ok
}

func (e *evaluation) truth(is bool) (Object, error) {
	v := uint64(0)
	if is {
		v = 1
	}
	return e.word(e.a.r.types.Bool(), v)
}

// condition reports whether an operand is not zero.
func (e *evaluation) condition(n paths.Node) (bool, error) {
	t, err := e.eval(n)
	switch {
	case err != nil:
		return false, err
	case !t.at && t.v != nil && (t.v.Text == "true" || t.v.Text == "false"): // a bit of a std::vector<bool>
		return t.v.Text == "true", nil
	case !t.at:
		return false, &ExpressionError{n.At(), errors.New("it is no object of its own")}
	}
	ob, err := e.meant(n, t.ob)
	if err == nil && e.dialect == paths.Ada {
		err = wrongAt(n, e.noArithmetic("and", &ob))
	}
	if err != nil {
		return false, err
	}
	is, err := e.isTrue(&ob)
	return is, wrongAt(n, err)
}

func (e *evaluation) isTrue(ob *values.Object) (bool, error) {
	if f, ok, err := e.x.Real(ob); ok || err != nil {
		return f != 0, err
	}
	v, _, err := e.number(ob)
	return v != 0, err
}
