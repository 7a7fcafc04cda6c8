package values

import (
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Value is the value of a variable or of a part of one.
type Value struct {
	// Text is a scalar's value, or what stands before the parts of a compound value: "std::vector
	// of length 2, capacity 4".
	Text string
	// Parts are members, base classes or elements, in order. More says that some were left out,
	// or the end of a string.
	Parts    []Part
	Compound bool
	More     bool
	// Addr is the value's address in the process's memory; 0 if it has none.
	Addr arch.Address
	// Err says why there is no value. Text may still have what is known.
	Err error

	typ     *types.Type
	style   style
	printed bool // a printer made the value
	row     bool // a row of an array of several dimensions; typ is the type of the whole array
}

// A Part is a member, a base class or an element of a compound value.
type Part struct {
	Name   string // of a member; "" for elements, and for members without a name
	Key    *Value // of an element of a map
	Value  *Value
	Repeat int // how many equal elements it stands for; 0 means 1
}

// A style is the brackets that a compound value is written in.
type style uint8

const (
	braces   style = iota // {a = 1, b = 2}
	parens                // (1, 2), of Rust's tuples
	record                // {a: 1, b: 2}, of Rust
	brackets              // [1, 2], of Rust
)

// Type returns the name of the type; "" if it is not known or has no name, as a row of a matrix.
func (v *Value) Type() string {
	if v.typ == nil || v.row {
		return ""
	}
	return v.typ.Name()
}

// Options are dwarfvars.Options.
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

// Read reads the value of an object as a tree. t is the object's declared type.
func Read(p *Process, f Frame, ob *Object, t *types.Type, o Options) *Value {
	b := builder{p: p, f: f, opts: o.withDefaults()}
	b.left = b.opts.MaxParts
	val := b.value(ob, 0)
	val.typ = t
	return val
}

// A Frame has what values need of the frame that their variable is in.
type Frame interface {
	types.Frame
	// NumberOf is Number for an expression that may use DW_OP_push_object_address.
	NumberOf(object arch.Address, u *dwarf.Unit, v *dwarf.Value) (uint64, error)
	// StoredOf is Stored for such an expression.
	StoredOf(object arch.Address, u *dwarf.Unit, v *dwarf.Value, size uint64) (uint64, error)
	// Address evaluates an expression of unit u with base on the stack.
	Address(u *dwarf.Unit, expr []byte, base arch.Address) (arch.Address, error)
	// Constant returns the object of type t with the value of a DW_AT_const_value of unit u.
	Constant(u *dwarf.Unit, v *dwarf.Value, t *types.Type) (Object, error)
	// Variable returns the object of the variable or DWARF procedure with entry d. It has type t
	// if the entry has none.
	Variable(d dwarf.DIE, t types.Ref) (Object, error)
	// ConstantBytes returns the bytes of the variable with entry d if its location is
	// DW_OP_implicit_value or DW_AT_const_value.
	ConstantBytes(d dwarf.DIE) ([]byte, bool)
	// Symbol returns the address of a symbol in the file of the frame's function.
	Symbol(name string) (arch.Address, bool)
	// Global returns the address of a variable of the frame's module, from its offset in the
	// module. It returns false unless a PDB describes the frame's function.
	Global(rva uint32) (arch.Address, bool)
	// Unit returns the unit of the frame's function; nil if a PDB describes it.
	Unit() *dwarf.Unit
	// Spend charges units to the budget of the walk. Its error says that nothing is left, and ends the work.
	Spend(units int) error
}

// A builder reads the value of one variable.
type builder struct {
	p    *Process
	f    Frame
	opts Options
	left int // how many more parts may be read
	// followed says that what a pointer of Go points to is being read.
	followed bool

	scanned int // bytes of hash tables that were looked at

	bases map[place]bool // virtual base classes that were shown

	skip      uint64              // elements of the outermost array to leave out
	noRepeats bool                // equal elements stay apart
	objects   map[*Value][]Object // what values were read from, the innermost first; nil to keep none
	notes     map[*Value]*note    // what printers know of containers and strings, with objects
}

// take counts a part. It returns false if there are too many.
func (b *builder) take() bool {
	b.left--
	return b.left >= 0
}

// Lists of a type, of enumerators or of alternatives, are searched for each value. Below freeSearch entries that is part of what a
// value costs; else searchPerUnit of them are one unit of work.
const freeSearch, searchPerUnit = 64, 4

// search charges a search of n entries.
func (b *builder) search(n int) error {
	if n <= freeSearch {
		return nil
	}
	return b.f.Spend(n / searchPerUnit)
}

// Failed returns a value of type t that is not known.
func Failed(t *types.Type, err error) *Value { return &Value{typ: t, Err: err} }

// Told returns the value of a variable of which a text is all that there is to say.
func Told(t *types.Type, text string) *Value { return &Value{typ: t, Text: text} }

func (b *builder) text(o *Object, s string) *Value {
	v := &Value{Text: s, typ: o.Type}
	if o.Mem {
		v.Addr = o.Addr
	}
	return v
}

func (b *builder) sizeOf(t *types.Type) (uint64, error) { return t.SizeIn(b.f) }
