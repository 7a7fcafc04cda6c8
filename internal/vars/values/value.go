package values

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
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

	typ     *types.Type
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

// Read makes the tree of an object's value; t is the object's type as declared.
func Read(p *Process, f Frame, ob *Object, t *types.Type, o Options) *Value {
	b := builder{p: p, f: f, opts: o.withDefaults()}
	b.left = b.opts.MaxParts
	val := b.value(ob, 0)
	val.typ = t
	return val
}

// A Frame is what values need of the frame that they are read in.
type Frame interface {
	types.Frame
	// NumberOf is Number for an expression that may push the address of the object.
	NumberOf(object arch.Address, u *dwarf.Unit, v *dwarf.Value) (uint64, error)
	// Address evaluates an expression of unit u that begins with base on its stack.
	Address(u *dwarf.Unit, expr []byte, base arch.Address) (arch.Address, error)
	// Constant is the object of type t that a DW_AT_const_value of unit u gives.
	Constant(u *dwarf.Unit, v *dwarf.Value, t *types.Type) (Object, error)
	// Variable is the object of the variable, or DWARF procedure, whose entry is d. Its
	// type is t where the entry has none.
	Variable(d dwarf.DIE, t types.Ref) (Object, error)
	// ConstantBytes are the bytes that stand for the variable whose entry is d; false
	// where it is no such constant.
	ConstantBytes(d dwarf.DIE) ([]byte, bool)
	// Symbol is the address of a symbol in the file of the frame's function.
	Symbol(name string) (arch.Address, bool)
	// Global is the address of a variable of the frame's module by its PDB.
	Global(rva uint32) (arch.Address, bool)
	// Unit is the unit of the frame's function; nil where a PDB describes that.
	Unit() *dwarf.Unit
}

// A builder makes the tree of one variable's value.
type builder struct {
	p    *Process
	f    Frame
	opts Options
	left int // parts that may still be made

	bases map[place]bool // virtual bases that were shown
}

// take counts a part; false when there have been too many.
func (b *builder) take() bool {
	b.left--
	return b.left >= 0
}

// Failed is a value of type t that is not known.
func Failed(t *types.Type, err error) *Value { return &Value{typ: t, Err: err} }

func (b *builder) text(o *Object, s string) *Value {
	v := &Value{Text: s, typ: o.Type}
	if o.Mem {
		v.Addr = o.Addr
	}
	return v
}

func (b *builder) sizeOf(t *types.Type) (uint64, error) { return t.SizeIn(b.f) }
