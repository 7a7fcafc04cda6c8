package dwarfvars

import (
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Value is what a variable, or a part of one, holds.
type Value struct {
	// Text is a scalar's value. Of a Compound it is what stands before its parts:
	// "std::vector of length 2, capacity 4"; mostly nothing.
	Text string
	// Parts are members, elements and bases, in order. More says that some were
	// left out, or of a string that it goes on.
	Parts    []Part
	Compound bool
	More     bool
	// Addr is where the value lies in the process's memory; 0 when it does not.
	Addr arch.Address
	// Err says why there is no value; Text may hold what is known all the same.
	Err error

	typ     *Type
	style   style
	printed bool // by a printer
	row     bool // of an array of several dimensions; typ is the whole array's
}

// A Part is a member or an element of a compound value.
type Part struct {
	Name   string // of a member; "" for elements, and for members without a name
	Key    *Value // of an element of a map
	Value  *Value
	Repeat int // how many such elements follow one another; 0 and 1 are one
}

// A style says in which brackets a compound value stands.
type style uint8

const (
	braces   style = iota // {a = 1, b = 2}
	parens                // (1, 2), of Rust's tuples
	record                // {a: 1, b: 2}, of Rust
	brackets              // [1, 2], of Rust
)

// Type is the type's name, "" when it is not known or, as that of a row of a
// matrix, has no name.
func (v *Value) Type() string {
	if v.typ == nil || v.row {
		return ""
	}
	return v.typ.Name()
}

// Options bound what is read of a value. A zero field is its default.
type Options struct {
	MaxDepth    int // of nested values: 8
	MaxElements int // of one array or container: 200
	MaxString   int // characters of a string: 200
	MaxParts    int // of a whole value: 2000
	Raw         bool
}

func (o Options) withDefaults() Options {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.MaxDepth, 8)
	set(&o.MaxElements, 200)
	set(&o.MaxString, 200)
	set(&o.MaxParts, 2000)
	return o
}

// Read reads a variable that lives in the frame. The Value is never nil: its Err
// says why there is none.
func (a *Activation) Read(v *LocalVar, o Options) *Value {
	t := a.r.typeOf(v.attrs.typ)
	switch {
	case !a.owns(v):
		return &Value{typ: t, Err: ErrParam}
	case !a.inScope(v):
		return &Value{typ: t, Err: ErrOutOfScope}
	}
	ob, err := a.object(v)
	if err != nil {
		return &Value{typ: t, Err: err}
	}
	return a.build(&ob, t, o)
}

// build makes the tree of an object's value; t is the object's type as declared.
func (a *Activation) build(ob *object, t *Type, o Options) *Value {
	b := builder{Activation: a, opts: o.withDefaults()}
	b.left = b.opts.MaxParts
	val := b.value(ob, 0)
	val.typ = t
	return val
}

// A builder makes the tree of one variable's value.
type builder struct {
	*Activation
	opts Options
	left int // parts that may still be made

	bases map[place]bool // virtual bases that were shown
}

// take counts a part; false when there have been too many.
func (b *builder) take() bool {
	b.left--
	return b.left >= 0
}

func fail(t *Type, err error) *Value { return &Value{typ: t, Err: err} }

func (b *builder) text(o *object, s string) *Value {
	v := &Value{Text: s, typ: o.typ}
	if o.mem {
		v.Addr = o.addr
	}
	return v
}
