package dwarfvars

import (
	"errors"
	"iter"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Value is the value of a variable or of a part of one. It is immutable, and several
// goroutines may use it. The zero Value is no value at all.
type Value struct {
	v        *values.Value
	doubtful bool
}

// A Part is a member, a base class or an element of a compound value.
type Part struct {
	Name   string // of a member; "" for elements, and for members without a name
	Key    Value  // of an element of a map; for others the zero Value
	Value  Value
	Repeat int // how many such elements follow one another, at least 1
}

// Options limit how much of a value is read. A field that is zero has its default.
type Options struct {
	MaxDepth    int  // of nested values: 8
	MaxElements int  // of one array or container: 200
	MaxString   int  // characters of a string: 200
	MaxParts    int  // of a whole value: 2000
	Raw         bool // show the members of library types such as containers, not what they mean
}

// A Kind says what sort of value a Value is, the same for all languages.
type Kind string

// The kinds of values. The text of each is its name in small letters: "struct", "member-pointer".
// KindStruct includes classes, tuples and the alternatives of Rust's enums. KindSequence is a slice
// or a container of a library, KindMap a container with keys. KindText is a note, not a value of
// one of the program's types.
const (
	KindVoid          = Kind(values.KindVoid)
	KindBool          = Kind(values.KindBool)
	KindInt           = Kind(values.KindInt)
	KindFloat         = Kind(values.KindFloat) // also complex numbers
	KindChar          = Kind(values.KindChar)
	KindEnum          = Kind(values.KindEnum)
	KindString        = Kind(values.KindString)
	KindPointer       = Kind(values.KindPointer)
	KindReference     = Kind(values.KindReference)
	KindMemberPointer = Kind(values.KindMemberPointer)
	KindFunction      = Kind(values.KindFunction)
	KindArray         = Kind(values.KindArray)
	KindStruct        = Kind(values.KindStruct)
	KindUnion         = Kind(values.KindUnion)
	KindSequence      = Kind(values.KindSequence)
	KindMap           = Kind(values.KindMap)
	KindText          = Kind(values.KindText)
)

func (v Value) tree() *values.Value {
	if v.v == nil {
		return new(values.Value)
	}
	return v.v
}

// IsZero reports whether v is the zero Value.
func (v Value) IsZero() bool { return v.v == nil }

// Kind returns the value's kind. A value that could not be read has the kind of its type.
func (v Value) Kind() Kind { return Kind(v.tree().Kind()) }

// Type returns the name of the type as the source would write it: "struct tile *"; "" if it is
// not known or has no name, as a row of a matrix.
func (v Value) Type() string { return v.tree().Type() }

// Text returns a scalar's value, or of a compound value what stands before its parts:
// "std::vector of length 2, capacity 4"; mostly "".
func (v Value) Text() string { return v.tree().Text }

// Compound reports whether the value consists of parts, of which there may be none.
func (v Value) Compound() bool { return v.tree().Compound }

// More reports whether parts were left out, or the end of a string.
func (v Value) More() bool { return v.tree().More }

// Addr returns the value's address in the process's memory; 0 if it has none.
func (v Value) Addr() arch.Address { return v.tree().Addr }

// Err returns nil if the value is known. Otherwise it is or wraps one of this package's errors,
// which says why; Text may still have what is known.
func (v Value) Err() error { return v.tree().Err }

// Doubtful reports whether nothing proves the value of a variable: it comes from a register of a frame that was guessed,
// or lies where such a register leads. Parts do not say it again.
func (v Value) Doubtful() bool { return v.doubtful }

// Parts returns the members, base classes or elements, in order.
func (v Value) Parts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i := range v.tree().Parts {
			p := &v.v.Parts[i]
			if !yield(Part{Name: p.Name, Key: Value{v: p.Key}, Value: Value{v: p.Value}, Repeat: max(p.Repeat, 1)}) {
				return
			}
		}
	}
}

// String returns the value in one line: {a = 1, b = {2, 3}, name = "x"}.
func (v Value) String() string { return v.tree().String() }

// Read reads the value of a variable in the frame. Its Err says why the value is not known.
func (a *Activation) Read(v *LocalVar, o Options) Value {
	before := a.recordWork()
	defer func() { _ = a.Frame().Spend(int(a.recordWork() - before)) }() // of types, which are searched for
	t := a.typeOf(v)
	switch {
	case !a.owns(v):
		return Value{v: values.Failed(t, ErrParam)}
	case !a.inScope(v):
		return Value{v: values.Failed(t, ErrOutOfScope)}
	}
	inputs := a.e.inputs
	if inputs != nil && !v.onHeap {
		if in, ok := a.numberOnStack(v); ok {
			inputs.AddInput(in)
			a.e.inputs = nil // nothing else counts
			defer func() { a.e.inputs = inputs }()
		}
	}
	var val *values.Value
	a.last = lastRead{}
	doubtful := a.doubtful(func() {
		ob, err := a.object(v)
		if errors.Is(err, errAbsent) {
			val = values.Told(t, errAbsent.Error())
			return
		}
		if err != nil {
			val = values.Failed(t, err)
			return
		}
		number := numberIn(&ob)
		val = values.Read(a.r.mem, (*frame)(a), &ob, t, values.Options(o))
		if number != nil && val.Err == nil {
			a.last = lastRead{v, number, o, val}
		}
	})
	return Value{val, doubtful && val.Err == nil}
}

// numberIn returns the bytes of an object that is a pointer or a reference in a register; nil for others.
func numberIn(o *values.Object) []byte {
	switch o.Type.Strip().Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		if !o.Mem && len(o.Holes) == 0 {
			return o.Data
		}
	}
	return nil
}

// doubtful reports whether what ask reads is doubtful. All of a frame is that perhaps is not on the stack.
func (a *Activation) doubtful(ask func()) bool {
	return a.e.doubting(ask) || a.Frame().RALocation().Doubtful
}
