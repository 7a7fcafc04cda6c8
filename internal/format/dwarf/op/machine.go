package op

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Limits on one evaluation. Normal expressions stay far below them.
const (
	maxStack   = 256
	maxSteps   = 1 << 16
	maxNesting = 16 // nesting of DW_OP_call2 and similar operators
	maxPieces  = 1024
)

// A Machine evaluates expressions. The zero Machine is ready for use; reuse it, since with
// its stack it has some 4 KB. It must not be copied while in use, nor used by two
// goroutines at once.
type Machine struct {
	env      Env
	stack    [maxStack]Value
	n        int // number of entries on the stack
	steps    int
	executed int      // since the last call of Executed
	loc      Location // set by operators that end a simple location description
	pieces   []Piece
	buf      [8]byte // for reading memory: a local buffer would escape to the heap
}

// Eval evaluates a location description. An empty one gives Empty: optimised out. The
// result refers to expr and to m, and is valid until m's next evaluation.
func (m *Machine) Eval(env Env, expr []byte) (Location, error) {
	m.reset(env)
	if err := m.exec(expr, 0); err != nil {
		return Location{}, err
	}
	switch {
	case len(m.pieces) > 0:
		if m.loc.Kind != Empty {
			return Location{}, fmt.Errorf("%v after the last piece: %w", m.loc.Kind, ErrMalformed)
		}
		return Location{Kind: Composite, Pieces: m.pieces}, nil
	case m.loc.Kind != Empty:
		return m.loc, nil
	case m.n == 0:
		return Location{}, nil
	}
	return m.memory()
}

// EvalValue evaluates a DWARF expression that computes a value, and returns the top of the
// stack. If push is set, it first pushes initial, as expressions of call frame information
// need the CFA. The error is ErrNotValue if the expression names a register or leaves
// nothing on the stack.
func (m *Machine) EvalValue(env Env, expr []byte, push bool, initial uint64) (Value, error) {
	m.reset(env)
	if push {
		m.stack[0] = Value{Bits: initial & mask(env.AddrSize)}
		m.n = 1
	}
	if err := m.exec(expr, 0); err != nil {
		return Value{}, err
	}
	switch {
	case len(m.pieces) > 0:
		return Value{}, fmt.Errorf("composite location: %w", ErrNotValue)
	case m.loc.Kind == StackValue:
		return m.loc.Value, nil
	case m.loc.Kind != Empty:
		return Value{}, fmt.Errorf("%v: %w", m.loc.Kind, ErrNotValue)
	case m.n == 0:
		return Value{}, fmt.Errorf("empty stack: %w", ErrNotValue)
	}
	return m.stack[m.n-1], nil
}

// Executed returns how many operations were executed since it was last called.
func (m *Machine) Executed() int {
	n := m.executed
	m.executed = 0
	return n
}

func (m *Machine) reset(env Env) {
	m.env = env
	if env.AddrSize <= 0 || env.AddrSize > 8 {
		m.env.AddrSize = 8
	}
	if env.RefSize == 0 {
		m.env.RefSize = 4
	}
	m.n, m.steps = 0, 0
	m.loc = Location{}
	m.pieces = m.pieces[:0]
}

// memory pops the top entry, the object's address.
func (m *Machine) memory() (Location, error) {
	v, err := m.pop()
	if err != nil {
		return Location{}, err
	}
	if v.Type.Enc == Float {
		return Location{}, fmt.Errorf("%v as an address: %w", v.Type, ErrType)
	}
	return Location{Kind: Memory, Addr: v.Bits & mask(m.env.AddrSize)}, nil
}

// exec executes expr on the current stack.
func (m *Machine) exec(expr []byte, depth int) error {
	c := binbuf.Cursor{Data: expr, Big: m.env.Big}
	for c.Off < len(expr) {
		at := c.Off
		o := Op(expr[at])
		c.Off++
		err := m.step(&c, o, depth)
		if c.Error != nil {
			err = fmt.Errorf("%w: %w", ErrMalformed, c.Error)
		}
		if inner, ok := err.(*EvalError); ok {
			return inner // of a called expression: a chain of errors could be as long as the calls are deep
		}
		if err != nil {
			return &EvalError{Op: o, Off: at, Err: err}
		}
	}
	return nil
}

func (m *Machine) step(c *binbuf.Cursor, o Op, depth int) error {
	m.executed++
	if m.steps++; m.steps > maxSteps {
		return fmt.Errorf("more than %d steps: %w", maxSteps, ErrLimit)
	}
	if m.loc.Kind != Empty {
		switch o {
		case OpPiece, BitPiece, Nop, GNUUninit:
		default:
			return fmt.Errorf("only a piece may follow a %v: %w", m.loc.Kind, ErrMalformed)
		}
	}
	switch {
	case o >= Lit0 && o < Lit0+32:
		return m.pushGeneric(uint64(o - Lit0))
	case o >= Breg0 && o < Breg0+32:
		return m.breg(uint64(o-Breg0), c.SLEB())
	case o >= Reg0 && o < Reg0+32:
		m.loc = Location{Kind: Register, Reg: uint64(o - Reg0)}
		return nil
	}
	switch o {
	case Nop, GNUUninit:
		return nil
	case Addr:
		return m.pushGeneric(c.Uint(m.env.AddrSize) + m.env.Bias)
	case Const1u, Const2u, Const4u, Const8u:
		return m.pushGeneric(c.Uint(1 << ((o - Const1u) / 2)))
	case Const1s, Const2s, Const4s, Const8s:
		return m.pushGeneric(uint64(c.Int(1 << ((o - Const1s) / 2))))
	case Constu:
		return m.pushGeneric(c.ULEB())
	case Consts:
		return m.pushGeneric(uint64(c.SLEB()))
	case Regx:
		m.loc = Location{Kind: Register, Reg: c.ULEB()}
		return nil
	case Bregx:
		r := c.ULEB()
		return m.breg(r, c.SLEB())
	case Skip, Bra:
		return m.branch(c, o)
	case Dup, Drop, Over, Pick, Swap, Rot:
		return m.shuffle(c, o)
	case Deref, DerefSize, Xderef, XderefSize, DerefType, GNUDerefType, XderefType:
		return m.deref(c, o.canonical())
	case Abs, Neg, Not:
		v, err := m.pop()
		if err == nil {
			v, err = m.unary(o, v)
		}
		return m.pushOr(v, err)
	case PlusUconst:
		return m.plusUconst(c.ULEB())
	case And, Div, Minus, Mod, Mul, Or, Plus, Shl, Shr, Shra, Xor:
		a, b, err := m.pop2()
		var v Value
		if err == nil {
			v, err = m.binary(o, a, b)
		}
		return m.pushOr(v, err)
	case Eq, Ge, Gt, Le, Lt, Ne:
		a, b, err := m.pop2()
		var v Value
		if err == nil {
			v, err = m.compare(o, a, b)
		}
		return m.pushOr(v, err)
	case OpPiece, BitPiece, OpStackValue, OpImplicitValue, OpImplicitPointer, GNUImplicitPointer:
		return m.describe(c, o.canonical())
	case ConstType, GNUConstType, RegvalType, GNURegvalType, Convert, GNUConvert, Reinterpret, GNUReinterpret:
		return m.typed(c, o.canonical())
	}
	return m.resolve(c, o.canonical(), depth)
}

func (m *Machine) push(v Value) error {
	if m.n == maxStack {
		return fmt.Errorf("more than %d stack entries: %w", maxStack, ErrLimit)
	}
	m.stack[m.n] = v
	m.n++
	return nil
}

func (m *Machine) pushGeneric(v uint64) error { return m.push(Value{Bits: v & mask(m.env.AddrSize)}) }

func (m *Machine) pushOr(v Value, err error) error {
	if err != nil {
		return err
	}
	return m.push(v)
}

func (m *Machine) pop() (Value, error) {
	if m.n == 0 {
		return Value{}, ErrStackUnderflow
	}
	m.n--
	return m.stack[m.n], nil
}

// pop2 pops two entries and returns the second and the top one.
func (m *Machine) pop2() (second, top Value, err error) {
	if m.n < 2 {
		return Value{}, Value{}, ErrStackUnderflow
	}
	m.n -= 2
	return m.stack[m.n], m.stack[m.n+1], nil
}

func (m *Machine) plusUconst(n uint64) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	if v.Type.Enc == Float {
		return fmt.Errorf("%v: %w", v.Type, ErrType)
	}
	if v.Type.isWide() {
		v, err = wideBinary(Plus, v, Value{Bits: n, Type: v.Type})
		return m.pushOr(v, err)
	}
	return m.push(m.integer(v.Bits+n, v.Type))
}

// branch moves c for Skip and Bra.
func (m *Machine) branch(c *binbuf.Cursor, o Op) error {
	dist := int(int16(c.U16()))
	if o == Bra {
		v, err := m.pop()
		if err != nil {
			return err
		}
		if v.Bits|v.High == 0 {
			return nil
		}
	}
	c.Seek(c.Off + dist)
	return nil
}

// shuffle applies the operators that only move entries.
func (m *Machine) shuffle(c *binbuf.Cursor, o Op) error {
	need, idx := 1, 0
	switch o {
	case Over:
		need, idx = 2, 1
	case Pick:
		idx = int(c.U8())
		need = idx + 1
	case Swap:
		need = 2
	case Rot:
		need = 3
	}
	if m.n < need {
		return ErrStackUnderflow
	}
	s := m.stack[m.n-need : m.n]
	switch o {
	case Drop:
		m.n--
	case Swap:
		s[0], s[1] = s[1], s[0]
	case Rot: // the top entry becomes the third
		s[0], s[1], s[2] = s[2], s[0], s[1]
	default:
		return m.push(m.stack[m.n-1-idx])
	}
	return nil
}
