package dwarfvars

import (
	"iter"

	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Value is what a variable, or a part of one, holds. It does not change, and may be used
// by several goroutines. The zero Value is none.
type Value struct{ v *values.Value }

// A Part is a member or an element of a compound value.
type Part struct {
	Name   string // of a member; "" for elements, and for members without a name
	Key    Value  // of an element of a map; for others the zero Value
	Value  Value
	Repeat int // how many such elements follow one another, at least 1
}

// Options bound what is read of a value. A zero field is its default.
type Options struct {
	MaxDepth    int  // of nested values: 8
	MaxElements int  // of one array or container: 200
	MaxString   int  // characters of a string: 200
	MaxParts    int  // of a whole value: 2000
	Raw         bool // the members of containers and other library types, not what they mean
}

// A Kind says what sort of value a Value is, the same for all languages.
type Kind string

// The kinds of values. A struct is also a class, a tuple and an alternative of a
// Rust enum; a sequence is a container of a library or a slice, a map one with
// keys. Text is a note that is no value of a type of the program.
const (
	KindVoid          Kind = "void"
	KindBool          Kind = "bool"
	KindInt           Kind = "int"
	KindFloat         Kind = "float" // complex numbers too
	KindChar          Kind = "char"
	KindEnum          Kind = "enum"
	KindString        Kind = "string"
	KindPointer       Kind = "pointer"
	KindReference     Kind = "reference"
	KindMemberPointer Kind = "member-pointer"
	KindFunction      Kind = "function"
	KindArray         Kind = "array"
	KindStruct        Kind = "struct"
	KindUnion         Kind = "union"
	KindSequence      Kind = "sequence"
	KindMap           Kind = "map"
	KindText          Kind = "text"
)

func (v Value) tree() *values.Value {
	if v.v == nil {
		return new(values.Value)
	}
	return v.v
}

// IsZero reports whether v is no value at all.
func (v Value) IsZero() bool { return v.v == nil }

// Kind is the value's kind; of a value that could not be read, that of its type.
func (v Value) Kind() Kind { return Kind(v.tree().Kind()) }

// Type is the type's name as the source would write it: "struct tile *"; "" when it is not
// known or, as that of a row of a matrix, has no name.
func (v Value) Type() string { return v.tree().Type() }

// Text is a scalar's value. Of a compound value it is what stands before its parts:
// "std::vector of length 2, capacity 4"; mostly nothing.
func (v Value) Text() string { return v.tree().Text }

// Compound reports whether the value is made of parts; it may have none.
func (v Value) Compound() bool { return v.tree().Compound }

// More reports whether parts were left out, or of a string that it goes on.
func (v Value) More() bool { return v.tree().More }

// Addr is where the value lies in the process's memory; 0 when it does not.
func (v Value) Addr() arch.Address { return v.tree().Addr }

// Err says why there is no value, with one of this package's errors; Text may hold what is
// known all the same. It is nil where there is a value.
func (v Value) Err() error { return v.tree().Err }

// Parts are members, elements and bases, in order.
func (v Value) Parts() iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i := range v.tree().Parts {
			p := &v.v.Parts[i]
			if !yield(Part{Name: p.Name, Key: Value{p.Key}, Value: Value{p.Value}, Repeat: max(p.Repeat, 1)}) {
				return
			}
		}
	}
}

// String writes the value in one line: {a = 1, b = {2, 3}, name = "x"}.
func (v Value) String() string { return v.tree().String() }

// Read reads a variable that lives in the frame. The Value's Err says why there is none.
func (a *Activation) Read(v *LocalVar, o Options) Value {
	t := a.r.types.Of(v.attrs.typ)
	switch {
	case !a.owns(v):
		return Value{values.Failed(t, ErrParam)}
	case !a.inScope(v):
		return Value{values.Failed(t, ErrOutOfScope)}
	}
	ob, err := a.object(v)
	if err != nil {
		return Value{values.Failed(t, err)}
	}
	return Value{values.Read(a.r.mem, (*frame)(a), &ob, t, values.Options(o))}
}
