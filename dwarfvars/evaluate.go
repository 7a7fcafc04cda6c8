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
	"github.com/corewalk/corewalk/unwind/arch"
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

// Evaluate returns what an expression names in frame number frame of a stack: q->head->next[3].name, *p, &x, arr[2:5],
// (struct tile *)0x55d0, $rip, p@4. Names are those of the variables of the frame's function, of the calls inlined there,
// of members of this, and of variables of the program. call is the number of the call in Activation.Live, or AllCalls.
// Nothing is called and nothing is changed. The error is an *ExpressionError.
func (r *Reader) Evaluate(swalk []*unwind.Frame, frame, call int, expr string) (Object, error) {
	n, err := paths.Parse(expr)
	if err != nil {
		var bad *paths.Error
		errors.As(err, &bad)
		return Object{}, &ExpressionError{bad.Where, err}
	}
	if frame < 0 || frame >= len(swalk) {
		return Object{}, &ExpressionError{0, fmt.Errorf("frame %d of %d: %w", frame, len(swalk), ErrParam)}
	}
	s := &scene{r: r, fn: r.bareFunction(swalk[frame]), frames: swalk, index: frame}
	a := s.enter()
	defer a.Close()
	e := evaluation{a: a, x: a.explorer(), in: s}
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
	steps  int
	other  *libstate.Library // of a variable that is not one of the frame's module; nil if there is none
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
		size := uint64(8)
		if n.Value <= 1<<31-1 {
			size = 4
		}
		return e.word(e.a.r.types.Integer(size, n.Value < 1<<63), n.Value)
	case *paths.Text:
		return Object{}, errors.New("a string stands only in brackets, as the key of a map")
	case *paths.Ident:
		return e.ident(n)
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
	}
	ob, err := e.stored(n.X)
	if err != nil {
		if id, ok := n.X.(*paths.Ident); ok && e.unresolved(id.Name) && e.a.fn.Unit != nil && e.a.fn.Unit.Language == dwarf.LangGo {
			return Object{}, fmt.Errorf("no variable is called %s.%s", id.Name, n.Name)
		}
		return Object{}, err
	}
	return e.object(e.x.Member(&ob, n.Name))
}

// packageName returns the name of a variable of a package of Go.
func packageName(n *paths.Member) (string, bool) {
	pkg, ok := n.X.(*paths.Ident)
	if !ok {
		return "", false
	}
	return pkg.Name + "." + n.Name, true
}

func (e *evaluation) index(n *paths.Index) (Object, error) {
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	if key, ok := n.I.(*paths.Text); ok {
		return e.object(e.x.Key(&ob, key.Value, true))
	}
	i, err := e.integer(n.I)
	if err != nil {
		return Object{}, err
	}
	if e.x.Keyed(&ob) {
		return e.object(e.x.Key(&ob, strconv.FormatInt(i, 10), false))
	}
	return e.object(e.x.Element(&ob, i))
}

// integer evaluates an index or a length.
func (e *evaluation) integer(n paths.Node) (int64, error) {
	ob, err := e.stored(n)
	if err != nil {
		return 0, err
	}
	v, _, err := e.x.Number(&ob)
	return int64(v), wrongAt(n, err)
}

func (e *evaluation) slice(n *paths.Slice) (Object, error) {
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
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
		return Object{}, err
	}
	return Object{in: e.in, elements: s.Slice(), first: from}, nil
}

// sliceToEnd is how many elements a slice without an end has at most.
const sliceToEnd = 200

func (e *evaluation) unary(n *paths.Unary) (Object, error) {
	if n.Op == "&" {
		if id, ok := n.X.(*paths.Ident); ok {
			if _, err := e.variable(id.Name); err != nil {
				if addr, ok := e.symbol(id.Name); ok {
					return e.word(e.a.r.types.PointerTo(e.a.r.types.Of(types.Ref{})), addr)
				}
			}
		}
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	switch n.Op {
	case "*":
		return e.object(e.x.Pointee(&ob))
	case "&":
		if !ob.Mem {
			return Object{}, errors.New("it has no address: it is in a register, or was computed")
		}
		t := ob.Type
		addr := ob.Addr
		if t.Strip().Reference() {
			if addr, _, err = e.x.Number(&values.Object{Type: e.a.r.types.PointerTo(t.Strip().Target()), Mem: true, Addr: ob.Addr, Size: ob.Size}); err != nil {
				return Object{}, err
			}
			t = t.Strip().Target()
		}
		return e.word(e.a.r.types.PointerTo(t), addr)
	}
	v, signed, err := e.x.Number(&ob)
	if err != nil {
		return Object{}, err
	}
	switch n.Op {
	case "-":
		v, signed = -v, true
	case "~":
		v = ^v
	case "!":
		return e.truth(v == 0)
	}
	return e.word(e.result(&ob, nil, signed), v)
}

// result is the type of what is computed of one or two integers.
func (e *evaluation) result(a, b *values.Object, signed bool) *types.Type {
	small := a.Size <= 4 && (b == nil || b.Size <= 4)
	if small && signed {
		return e.a.r.types.Integer(4, true)
	}
	return e.a.r.types.Integer(8, signed)
}

func (e *evaluation) truth(is bool) (Object, error) {
	v := uint64(0)
	if is {
		v = 1
	}
	return e.word(e.a.r.types.Bool(), v)
}

func (e *evaluation) cast(n *paths.Cast) (Object, error) {
	t, err := e.typeNamed(n.Type)
	if err != nil {
		return Object{}, err
	}
	ob, err := e.stored(n.X)
	if err != nil {
		return Object{}, err
	}
	if s := t.Strip(); s.Aggregate() || s.Floats() {
		if s.Aggregate() && !ob.Mem {
			return Object{}, fmt.Errorf("a number does not become a %s: write *(%s *)", t.Name(), t.Name())
		}
		if from := ob.Type.Strip(); s.Floats() && !from.Floats() {
			return Object{}, errors.New("integers are not converted into floating-point numbers")
		}
		return e.object(e.x.As(&ob, t))
	}
	v, _, err := e.x.Number(&ob)
	if err != nil {
		return Object{}, err
	}
	return e.word(t, v)
}

// long is the size of C's long in bytes, which on Windows is not that of an address.
func (e *evaluation) long() uint64 {
	if e.a.im.PE() != nil || e.a.rec != nil {
		return 4
	}
	return e.a.r.types.Word()
}

// typeNamed returns the type with a name.
func (e *evaluation) typeNamed(name paths.TypeName) (*types.Type, error) {
	t, ok := e.a.r.types.Lookup(e.a.fn.Unit, name.Name, e.long())
	if !ok && e.a.db != nil {
		t, ok = e.a.r.types.InDatabase(e.a.db, name.Name)
	}
	if !ok {
		return nil, fmt.Errorf("no type is called %s", name.Name)
	}
	for range min(name.Pointers, 16) {
		t = e.a.r.types.PointerTo(t)
	}
	return t, nil
}

func (e *evaluation) sizeof(n *paths.Sizeof) (Object, error) {
	size := uint64(0)
	if n.X == nil {
		t, err := e.typeNamed(n.Type)
		if err == nil {
			size, err = e.a.sizeOf(t)
		}
		if err != nil {
			return Object{}, err
		}
	} else {
		ob, err := e.stored(n.X)
		if err != nil {
			var at *ExpressionError
			if id, ok := n.X.(*paths.Ident); ok && errors.As(err, &at) { // sizeof(type)
				return e.sizeof(&paths.Sizeof{Type: paths.TypeName{Name: id.Name}})
			}
			return Object{}, err
		}
		size = ob.Size
	}
	return e.word(e.a.r.types.Integer(8, false), size)
}

// register returns a register of the frame.
func (e *evaluation) register(n *paths.Register) (Object, error) {
	a, name := e.a.r.arch, strings.ToLower(n.Name)
	f := e.a.Frame()
	pointer := true
	var v uint64
	known := true
	switch name {
	case "pc":
		v = uint64(f.RA())
	case "sp":
		v = uint64(f.SP())
	case "fp":
		v = uint64(f.FP())
	case "cfa":
		var cfa arch.Address
		cfa, known = f.CFA()
		e.a.e.uses(known && f.CFADoubtful())
		v = uint64(cfa)
	default:
		reg, ok := a.RegByName(name)
		if !ok {
			return Object{}, fmt.Errorf("%s has no register %s", a.Name, n.Name)
		}
		pointer = reg == a.PC || reg == a.SP || reg == a.FP
		var at unwind.Location
		v, at, known = f.Reg(reg)
		e.a.e.uses(known && at.Doubtful)
		if reg == a.PC {
			v, known = uint64(f.RA()), true
		}
	}
	if !known {
		return Object{}, fmt.Errorf("the value of %s in this frame is not known: %w", n.Name, ErrRegister)
	}
	if pointer {
		return e.word(e.a.r.types.PointerTo(e.a.r.types.Of(types.Ref{})), v)
	}
	return e.word(e.a.r.types.Integer(uint64(max(a.WordSize, 4)), true), v)
}
