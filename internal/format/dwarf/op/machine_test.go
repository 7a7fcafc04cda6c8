package op

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// e assembles an expression from operators, single bytes and byte slices.
func e(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case Op:
			b = append(b, byte(p))
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		default:
			panic(fmt.Sprintf("%T in an expression", p))
		}
	}
	return b
}

func le(v uint64, size int) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:size]
}

func lit(n int) Op  { return Lit0 + Op(n) }
func breg(n int) Op { return Breg0 + Op(n) }
func dreg(n int) Op { return Reg0 + Op(n) }

var errNoReg = errors.New("not saved")

// testRegs has registers 0 to 19: 0x1000 times the number, but 17 is a float64.
type testRegs struct{}

func (testRegs) DWARFReg(n uint64) (uint64, error) {
	switch {
	case n == 17:
		return math.Float64bits(2.5), nil
	case n < 20:
		return 0x1000 * n, nil
	}
	return 0, errNoReg
}

// testMem holds bytes from address 0x7000 on.
type testMem struct {
	b    []byte
	big  bool
	word int
}

func (m testMem) ReadMem(addr uint64, buf []byte) (int, error) {
	n := 0
	if addr >= 0x7000 && addr < 0x7000+uint64(len(m.b)) {
		n = copy(buf, m.b[addr-0x7000:])
	}
	if n < len(buf) {
		return n, &arch.MemError{Addr: addr + uint64(n), Err: arch.ErrNotInDump}
	}
	return n, nil
}

func (m testMem) ReadWord(addr uint64) (uint64, error) {
	b := make([]byte, m.word)
	if _, err := m.ReadMem(addr, b); err != nil {
		return 0, err
	}
	return assemble(b, m.big), nil
}

// testResolver returns base types by DIE and some values.
type testResolver struct {
	exprs map[uint64][]byte
	in    Resolver // answered by Expr
}

var testTypes = map[uint64]Type{
	1: {Signed, 1}, 2: {Signed, 2}, 4: {Signed, 4}, 8: {Signed, 8},
	0x11: {Unsigned, 1}, 0x12: {Unsigned, 2}, 0x14: {Unsigned, 4}, 0x18: {Unsigned, 8},
	0x24: {Float, 4}, 0x28: {Float, 8}, 0x10: {Signed, 16}, 0x1f: {Unsigned, 16},
	0x30: {Float, 2}, // not a type
}

func (r *testResolver) BaseType(die uint64) (Type, error) {
	t, ok := testTypes[die]
	if die == 0x2f {
		return t, ErrLongFloat
	}
	if !ok {
		return Type{}, fmt.Errorf("no DIE: %w", ErrType)
	}
	return t, nil
}

func (r *testResolver) Value(op Op, arg uint64, block []byte) (Value, error) {
	switch op {
	case Fbreg:
		return Value{Bits: 0x9000}, nil
	case CallFrameCFA:
		return Value{Bits: 0xcfa0}, nil
	case FormTLSAddress:
		return Value{Bits: 0x50000 + arg}, nil
	case Addrx, Constx:
		return Value{Bits: 0x600 + arg}, nil
	case EntryValue:
		if len(block) == 1 && Op(block[0]) == dreg(5) {
			return Value{Bits: 55}, nil
		}
	case GNUVariableValue, GNUParameterRef:
		return Value{Bits: arg, Type: Type{Signed, 4}}, nil
	}
	return Value{}, ErrUnsupportedOp{op}
}

func (r *testResolver) Expr(op Op, arg uint64) ([]byte, Resolver, error) {
	x, ok := r.exprs[arg]
	if !ok {
		return nil, nil, ErrUnsupportedOp{op}
	}
	return x, r.in, nil
}

var memory = testMem{b: []byte{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xf0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, word: 8}

func env(size int) Env {
	m := memory
	m.word = size
	return Env{AddrSize: size, Regs: testRegs{}, Mem: m, Resolver: &testResolver{}}
}

func TestArithmetic(t *testing.T) {
	minus := func(n int) []byte { return e(Const1s, -n) }
	for _, c := range []struct {
		name   string
		expr   []byte
		want64 uint64
		want32 uint64
	}{
		{"lit31", e(lit(31)), 31, 31},
		{"const1u", e(Const1u, 0xff), 0xff, 0xff},
		{"const1s", e(Const1s, 0xff), math.MaxUint64, math.MaxUint32},
		{"const2u", e(Const2u, 0xfe, 0xff), 0xfffe, 0xfffe},
		{"const2s", e(Const2s, 0xfe, 0xff), math.MaxUint64 - 1, math.MaxUint32 - 1},
		{"const4u", e(Const4u, le(0x80000000, 4)), 0x80000000, 0x80000000},
		{"const4s", e(Const4s, le(0x80000000, 4)), 0xffffffff80000000, 0x80000000},
		{"const8u", e(Const8u, le(0x123456789a, 8)), 0x123456789a, 0x3456789a},
		{"const8s", e(Const8s, le(math.MaxUint64, 8)), math.MaxUint64, math.MaxUint32},
		{"constu", e(Constu, 0x80, 1), 128, 128},
		{"consts", e(Consts, 0x80, 0x7f), math.MaxUint64 - 127, math.MaxUint32 - 127},
		{"plus wraps", e(minus(1), lit(3), Plus), 2, 2},
		{"minus wraps", e(lit(3), lit(4), Minus), math.MaxUint64, math.MaxUint32},
		{"mul", e(minus(3), lit(4), Mul), math.MaxUint64 - 11, math.MaxUint32 - 11},
		{"div is signed", e(minus(7), lit(2), Div), math.MaxUint64 - 2, math.MaxUint32 - 2},
		{"mod is unsigned", e(minus(1), lit(10), Mod), 5, 5},
		{"abs", e(minus(5), Abs), 5, 5},
		{"neg", e(lit(5), Neg), math.MaxUint64 - 4, math.MaxUint32 - 4},
		{"not", e(lit(0), Not), math.MaxUint64, math.MaxUint32},
		{"and or xor", e(lit(12), lit(10), And, lit(1), Or, lit(3), Xor), 10, 10},
		{"plus_uconst", e(lit(1), PlusUconst, 0x80, 1), 129, 129},
		{"shl", e(lit(1), lit(31), Shl), 1 << 31, 1 << 31},
		{"shl past the word", e(lit(1), Const1u, 200, Shl), 0, 0},
		{"shr fills with zeros", e(minus(1), lit(28), Shr), 0xfffffffff, 0xf},
		{"shra fills with the sign", e(minus(16), lit(2), Shra), math.MaxUint64 - 3, math.MaxUint32 - 3},
		{"shra past the word", e(minus(16), Const1u, 200, Shra), math.MaxUint64, math.MaxUint32},
		{"lt is signed", e(minus(1), lit(1), Lt), 1, 1},
		{"le", e(lit(1), lit(1), Le), 1, 1},
		{"gt is signed", e(lit(1), minus(1), Gt), 1, 1},
		{"ge", e(minus(1), lit(0), Ge), 0, 0},
		{"eq", e(lit(4), lit(4), Eq), 1, 1},
		{"ne", e(lit(4), lit(4), Ne), 0, 0},
		{"dup", e(lit(3), Dup, Mul), 9, 9},
		{"drop", e(lit(3), lit(4), Drop), 3, 3},
		{"over", e(lit(3), lit(4), Over), 3, 3},
		{"pick", e(lit(3), lit(4), lit(5), Pick, 2), 3, 3},
		{"swap", e(lit(3), lit(4), Swap), 3, 3},
		{"rot", e(lit(1), lit(2), lit(3), Rot, Const1u, 100, Mul, Plus, Const1u, 100, Mul, Plus), 3 + 100*(1+200), 3 + 100*(1+200)},
		{"skip", e(lit(1), Skip, 1, 0, lit(9), lit(2), Plus), 3, 3},
		{"bra taken", e(lit(1), lit(1), Bra, 1, 0, lit(9)), 1, 1},
		{"bra not taken", e(lit(1), lit(0), Bra, 1, 0, lit(9)), 9, 9},
		{"loop", e(lit(0), lit(5), Swap, lit(2), Plus, Swap, lit(1), Minus, Dup, Bra, 0xf6, 0xff, Drop), 10, 10},
		{"breg", e(breg(7), 0x78), 0x6ff8, 0x6ff8},
		{"bregx", e(Bregx, 19, 8), 0x13008, 0x13008},
		{"PLT entry", e(breg(7), 8, breg(16), 0, lit(15), And, lit(11), Ge, lit(3), Shl, Plus), 0x7008, 0x7008},
		{"deref_size", e(Const2u, 0x00, 0x70, DerefSize, 2), 0x2211, 0x2211},
		{"deref_size of 3", e(Const2u, 0x08, 0x70, DerefSize, 3), 0xfffff0, 0xfffff0},
		{"deref", e(breg(7), 0, Deref), 0x8877665544332211, 0x44332211},
		{"deref_type extends on convert", e(breg(7), 8, DerefType, 2, 2, Convert, 0), math.MaxUint64 - 15, math.MaxUint32 - 15},
		{"xderef of space 0", e(lit(0), breg(7), 0, XderefSize, 1), 0x11, 0x11},
		{"fbreg", e(Fbreg, 0x70), 0x8ff0, 0x8ff0},
		{"call_frame_cfa", e(CallFrameCFA), 0xcfa0, 0xcfa0},
		{"form_tls_address", e(Const2u, 0x10, 0, FormTLSAddress), 0x50010, 0x50010},
		{"GNU_push_tls_address", e(Const2u, 0x10, 0, GNUPushTLSAddress), 0x50010, 0x50010},
		{"constx", e(Constx, 2), 0x602, 0x602},
		{"addrx", e(GNUAddrIndex, 3), 0x603, 0x603},
		{"entry_value", e(EntryValue, 1, dreg(5), lit(1), Plus), 56, 56},
		{"GNU_variable_value", e(GNUVariableValue, le(0x77, 4)), 0x77, 0x77},
		{"GNU_uninit", e(lit(2), GNUUninit), 2, 2},
		{"stack_value", e(lit(2), OpStackValue), 2, 2},
	} {
		for size, want := range map[int]uint64{8: c.want64, 4: c.want32} {
			var m Machine
			v, err := m.EvalValue(env(size), c.expr, false, 0)
			if err != nil || v.Bits != want {
				t.Errorf("%s, %d-byte addresses: %#x, %v; want %#x", c.name, size, v.Bits, err, want)
			}
		}
	}
}

func TestTyped(t *testing.T) {
	f64 := func(f float64) []byte { return e(ConstType, 0x28, 8, le(math.Float64bits(f), 8)) }
	i32 := func(n int32) []byte { return e(ConstType, 4, 4, le(uint64(uint32(n)), 4)) }
	u8 := func(n int) []byte { return e(GNUConstType, 0x11, 1, n) }
	for _, c := range []struct {
		name string
		expr []byte
		want Value
	}{
		{"int32 wraps", e(i32(math.MaxInt32), i32(1), Plus), Value{Bits: 0x80000000, Type: Type{Signed, 4}}},
		{"int32 mod is signed", e(i32(-7), i32(4), Mod), Value{Bits: 0xfffffffd, Type: Type{Signed, 4}}},
		{"int32 min / -1", e(i32(math.MinInt32), i32(-1), Div), Value{Bits: 0x80000000, Type: Type{Signed, 4}}},
		{"uint8 wraps", e(u8(200), u8(100), Plus), Value{Bits: 44, Type: Type{Unsigned, 1}}},
		{"uint8 div is unsigned", e(u8(200), u8(10), Div), Value{Bits: 20, Type: Type{Unsigned, 1}}},
		{"uint8 compares unsigned", e(u8(200), u8(100), Gt), Value{Bits: 1, Type: Type{}}},
		{"uint8 shra", e(u8(0x80), lit(1), Shra), Value{Bits: 0xc0, Type: Type{Unsigned, 1}}},
		{"int32 shr", e(i32(-1), lit(28), Shr), Value{Bits: 0xf, Type: Type{Signed, 4}}},
		{"abs of unsigned", e(u8(200), Abs), Value{Bits: 200, Type: Type{Unsigned, 1}}},
		{"float64 sum", e(f64(1.5), f64(2), Plus), Value{Bits: math.Float64bits(3.5), Type: Type{Float, 8}}},
		{"float64 div by zero", e(f64(1), f64(0), Div), Value{Bits: math.Float64bits(math.Inf(1)), Type: Type{Float, 8}}},
		{"float64 neg", e(f64(1.5), Neg), Value{Bits: math.Float64bits(-1.5), Type: Type{Float, 8}}},
		{"float64 lt", e(f64(-1), f64(0), Lt), Value{Bits: 1, Type: Type{}}},
		{"NaN ne", e(f64(math.NaN()), Dup, Ne), Value{Bits: 1, Type: Type{}}},
		{"NaN ge", e(f64(math.NaN()), Dup, Ge), Value{Bits: 0, Type: Type{}}},
		{"regval_type", e(RegvalType, 17, 0x28), Value{Bits: math.Float64bits(2.5), Type: Type{Float, 8}}},
		{"regval_type cuts", e(GNURegvalType, 19, 0x12), Value{Bits: 0x3000, Type: Type{Unsigned, 2}}},
		{"deref_type", e(breg(7), 8, DerefType, 4, 4), Value{Bits: 0xfffffff0, Type: Type{Signed, 4}}},
		{"float to int truncates", e(f64(-2.9), Convert, 4), Value{Bits: 0xfffffffe, Type: Type{Signed, 4}}},
		{"float to uint64", e(f64(1<<63), Convert, 0x18), Value{Bits: 1 << 63, Type: Type{Unsigned, 8}}},
		{"int to float", e(i32(-2), Convert, 0x28), Value{Bits: math.Float64bits(-2), Type: Type{Float, 8}}},
		{"unsigned to float32", e(u8(200), Convert, 0x24), Value{Bits: uint64(math.Float32bits(200)), Type: Type{Float, 4}}},
		{"float32 to float64", e(ConstType, 0x24, 4, le(uint64(math.Float32bits(0.5)), 4), Convert, 0x28), Value{Bits: math.Float64bits(0.5), Type: Type{Float, 8}}},
		{"sign extension", e(i32(-1), Convert, 8), Value{Bits: math.MaxUint64, Type: Type{Signed, 8}}},
		{"zero extension", e(u8(255), Convert, 8), Value{Bits: 255, Type: Type{Signed, 8}}},
		{"to generic", e(i32(-1), GNUConvert, 0), Value{Bits: math.MaxUint64, Type: Type{}}},
		{"reinterpret", e(f64(1), Reinterpret, 0x18), Value{Bits: math.Float64bits(1), Type: Type{Unsigned, 8}}},
		{"reinterpret as generic", e(f64(1), Reinterpret, 0), Value{Bits: math.Float64bits(1), Type: Type{}}},
		{"generic and int64 mix", e(lit(1), ConstType, 8, 8, le(2, 8), Plus), Value{Bits: 3, Type: Type{Signed, 8}}},
		{"plus_uconst keeps the type", e(u8(255), PlusUconst, 2), Value{Bits: 1, Type: Type{Unsigned, 1}}},
	} {
		var m Machine
		if v, err := m.EvalValue(env(8), c.expr, false, 0); err != nil || v != c.want {
			t.Errorf("%s: %#x %v, %v; want %#x %v", c.name, v.Bits, v.Type, err, c.want.Bits, c.want.Type)
		}
	}
}

func TestBigEndian(t *testing.T) {
	en := env(4)
	mem := memory
	mem.big, mem.word = true, 4
	en.Big, en.Mem = true, mem
	for _, c := range []struct {
		expr []byte
		want uint64
	}{
		{e(Const2u, 0x70, 0x00, Deref), 0x11223344},
		{e(Const4u, 0, 0, 0x70, 0x01, DerefSize, 2), 0x2233},
		{e(Addr, 0, 0, 1, 2), 0x102},
		{e(Skip, 0, 1, lit(1), lit(2)), 2},
	} {
		var m Machine
		if v, err := m.EvalValue(en, c.expr, false, 0); err != nil || v.Bits != c.want {
			t.Errorf("%s: %#x, %v; want %#x", Format(c.expr, Style{Big: true, AddrSize: 4}), v.Bits, err, c.want)
		}
	}
}

func TestInitialValueAndBias(t *testing.T) {
	var m Machine
	en := Env{AddrSize: 4, Bias: 0x1000}
	if v, err := m.EvalValue(en, e(lit(8), Minus), true, 0x1_0000_0010); err != nil || v.Bits != 8 {
		t.Errorf("initial value: %#x, %v; want 8", v.Bits, err)
	}
	if v, err := m.EvalValue(en, e(Addr, le(0x20, 4)), false, 0); err != nil || v.Bits != 0x1020 {
		t.Errorf("DW_OP_addr: %#x, %v; want 0x1020", v.Bits, err)
	}
	en.Resolver = &testResolver{}
	if v, err := m.EvalValue(en, e(Addrx, 1), false, 0); err != nil || v.Bits != 0x1601 {
		t.Errorf("DW_OP_addrx: %#x, %v; want 0x1601", v.Bits, err)
	}
	if v, err := m.EvalValue(en, e(Constx, 1), false, 0); err != nil || v.Bits != 0x601 {
		t.Errorf("DW_OP_constx: %#x, %v; want 0x601", v.Bits, err)
	}
}

func TestCalls(t *testing.T) {
	r := &testResolver{exprs: map[uint64][]byte{
		0x10: e(lit(7), Plus), 0x20: e(dreg(3)), 0x30: nil, 0x40: e(Call2, 0x40, 0),
	}}
	en := env(8)
	en.Resolver = r
	var m Machine
	if v, err := m.EvalValue(en, e(lit(1), Call2, 0x10, 0, Call4, le(0x10, 4)), false, 0); err != nil || v.Bits != 15 {
		t.Errorf("two calls: %d, %v; want 15", v.Bits, err)
	}
	if l, err := m.Eval(en, e(CallRef, le(0x20, 4))); err != nil || l.Kind != Register || l.Reg != 3 {
		t.Errorf("call to a register location: %+v, %v", l, err)
	}
	if l, err := m.Eval(en, e(Call2, 0x30, 0)); err != nil || l.Kind != Empty {
		t.Errorf("call to a DIE without location: %+v, %v", l, err)
	}
	if _, err := m.Eval(en, e(Call2, 0x40, 0)); !errors.Is(err, ErrLimit) {
		t.Errorf("endless recursion: %v", err)
	}
	// The called expression belongs to another unit, whose resolver answers.
	r.in = &testResolver{exprs: map[uint64][]byte{}}
	if _, err := m.Eval(en, e(Call2, 0x40, 0)); !errors.As(err, new(ErrUnsupportedOp)) {
		t.Errorf("call in another unit: %v", err)
	}
}

func TestLocations(t *testing.T) {
	mem := func(a uint64) Location { return Location{Kind: Memory, Addr: a} }
	for _, c := range []struct {
		name string
		expr []byte
		want Location
	}{
		{"nothing", nil, Location{}},
		{"memory", e(breg(7), 0x10), mem(0x7010)},
		{"register", e(dreg(31)), Location{Kind: Register, Reg: 31}},
		{"regx", e(Regx, 0x80, 2), Location{Kind: Register, Reg: 256}},
		{"stack value", e(lit(4), OpStackValue), Location{Kind: StackValue, Value: Value{Bits: 4}}},
		{"implicit value", e(OpImplicitValue, 3, 1, 2, 3), Location{Kind: ImplicitValue, Bytes: []byte{1, 2, 3}}},
		{"implicit pointer", e(OpImplicitPointer, le(0x1234, 4), 0x7f), Location{Kind: ImplicitPointer, DIE: 0x1234, Offset: -1}},
		{"GNU implicit pointer", e(GNUImplicitPointer, le(0x1234, 4), 2), Location{Kind: ImplicitPointer, DIE: 0x1234, Offset: 2}},
		{"uninitialised register", e(dreg(1), GNUUninit), Location{Kind: Register, Reg: 1}},
		{"pieces", e(dreg(0), OpPiece, 8, OpPiece, 4, breg(7), 0, OpPiece, 4, lit(9), OpStackValue, OpPiece, 1), Location{Kind: Composite, Pieces: []Piece{
			{Loc: Location{Kind: Register}, BitSize: 64}, {BitSize: 32}, {Loc: mem(0x7000), BitSize: 32},
			{Loc: Location{Kind: StackValue, Value: Value{Bits: 9}}, BitSize: 8}}}},
		{"bit pieces", e(dreg(2), BitPiece, 3, 5, OpImplicitValue, 1, 0xff, BitPiece, 5, 0), Location{Kind: Composite, Pieces: []Piece{
			{Loc: Location{Kind: Register, Reg: 2}, BitSize: 3, BitOffset: 5}, {Loc: Location{Kind: ImplicitValue, Bytes: []byte{0xff}}, BitSize: 5}}}},
	} {
		var m Machine
		got, err := m.Eval(env(8), c.expr)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	none := Env{AddrSize: 8}
	deep := slices.Repeat(e(lit(0)), maxStack+1)
	for _, c := range []struct {
		name string
		env  Env
		expr []byte
		want error
	}{
		{"underflow", none, e(lit(1), Plus), ErrStackUnderflow},
		{"pick underflow", none, e(lit(1), Pick, 1), ErrStackUnderflow},
		{"rot underflow", none, e(lit(1), lit(1), Rot), ErrStackUnderflow},
		{"piece of a float", env(8), e(RegvalType, 17, 0x28, OpPiece, 8), ErrType},
		{"overflow", none, deep, ErrLimit},
		{"endless loop", none, e(Skip, 0xfd, 0xff), ErrLimit},
		{"too many pieces", none, slices.Repeat(e(OpPiece, 1), maxPieces+1), ErrLimit},
		{"branch outside", none, e(Skip, 0x10, 0), ErrMalformed},
		{"branch before", none, e(Skip, 0, 0x80), ErrMalformed},
		{"cut operand", none, e(Const4u, 1, 2), ErrMalformed},
		{"cut block", none, e(OpImplicitValue, 5, 1), ErrMalformed},
		{"cut type", env(8), e(ConstType, 4, 4, 1), ErrMalformed},
		{"division by zero", none, e(lit(1), lit(0), Div), ErrDivideByZero},
		{"remainder by zero", none, e(lit(1), lit(0), Mod), ErrDivideByZero},
		{"operator after register", none, e(dreg(1), lit(1)), ErrMalformed},
		{"register after a piece", none, e(OpPiece, 1, dreg(1)), ErrMalformed},
		{"huge piece", none, e(OpPiece, le(math.MaxUint64, 8), 0x7f), ErrMalformed},
		{"unknown register", env(8), e(breg(20), 0), errNoReg},
		{"missing memory", env(8), e(lit(1), Deref), arch.ErrNotInDump},
		{"memory past the end", env(8), e(Const2u, 0x0f, 0x70, DerefSize, 2), arch.ErrNotInDump},
		{"wide deref_size", env(8), e(lit(1), DerefSize, 9), ErrMalformed},
		{"empty deref_size", env(8), e(lit(1), DerefSize, 0), ErrMalformed},
		{"mixed types", env(8), e(lit(1), RegvalType, 17, 0x28, Plus), ErrType},
		{"bits of a float", env(8), e(RegvalType, 17, 0x28, Dup, And), ErrType},
		{"unknown type", env(8), e(RegvalType, 17, 0x55), ErrType},
		{"type of no stack entry", env(8), e(RegvalType, 17, 0x30), ErrType},
		{"reinterpret another size", env(8), e(lit(1), Reinterpret, 4), ErrType},
	} {
		var m Machine
		_, err := m.Eval(c.env, c.expr)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v; want %v", c.name, err, c.want)
		}
	}
	var m Machine
	for _, expr := range [][]byte{e(dreg(1)), nil, e(OpPiece, 4)} {
		if _, err := m.EvalValue(none, expr, false, 0); !errors.Is(err, ErrNotValue) {
			t.Errorf("value of %q: %v", Format(expr, Style{}), err)
		}
	}
}

// TestUnsupported checks that errors about a missing Resolver name the operator.
func TestUnsupported(t *testing.T) {
	for want, expr := range map[Op][]byte{
		Fbreg: e(Fbreg, 0), CallFrameCFA: e(CallFrameCFA), PushObjectAddress: e(PushObjectAddress), Call2: e(Call2, 0, 0),
		Call4: e(Call4, 0, 0, 0, 0), CallRef: e(CallRef, 0, 0, 0, 0), EntryValue: e(GNUEntryValue, 1, dreg(0)), Addrx: e(Addrx, 0),
		Constx: e(Constx, 0), FormTLSAddress: e(lit(0), FormTLSAddress), GNUVariableValue: e(GNUVariableValue, 0, 0, 0, 0),
		ConstType: e(ConstType, 4, 4, 0, 0, 0, 0), RegvalType: e(RegvalType, 1, 4), Convert: e(lit(0), Convert, 4),
		GNUParameterRef: e(GNUParameterRef, 0, 0, 0, 0), Deref: e(lit(0), Deref), 0xff: e(0xff), GNUEncodedAddr: e(GNUEncodedAddr, 0),
		Xderef: e(lit(1), lit(1), Xderef),
	} {
		var m Machine
		_, err := m.Eval(Env{AddrSize: 8}, expr)
		var u ErrUnsupportedOp
		if !errors.As(err, &u) || u.Op != want {
			t.Errorf("%v: %v", want, err)
		}
	}
	var m Machine
	_, err := m.Eval(Env{AddrSize: 8}, e(lit(1), breg(7), 0))
	var at *EvalError
	var r ErrRegister
	if !errors.As(err, &at) || at.Off != 1 || at.Op != breg(7) || !errors.As(err, &r) || r.Reg != 7 {
		t.Errorf("without registers: %v", err)
	}
}

// calls has one expression, whatever is called.
type calls struct {
	Resolver
	expr []byte
}

func (c calls) Expr(Op, uint64) ([]byte, Resolver, error) { return c.expr, nil, nil }

// An expression that calls itself ends with one error, not with one for each call, and its operations are counted
// over several evaluations.
func TestCallsItself(t *testing.T) {
	var m Machine
	expr := e(Nop, Call2, 0, 0)
	for range 2 {
		_, err := m.Eval(Env{AddrSize: 8, Resolver: calls{expr: expr}}, expr)
		var at *EvalError
		if !errors.As(err, &at) || errors.As(at.Err, new(*EvalError)) || !errors.Is(err, ErrLimit) {
			t.Errorf("%v", err)
		}
	}
	if n, again := m.Executed(), m.Executed(); n < 8 || n%4 != 0 || again != 0 {
		t.Errorf("executed %d operations, then %d", n, again)
	}
}

func TestBaseType(t *testing.T) {
	for _, c := range []struct {
		ate  uint8
		size uint64
		want Type
		ok   bool
	}{
		{0x05, 4, Type{Signed, 4}, true}, {0x08, 1, Type{Unsigned, 1}, true}, {0x02, 1, Type{Unsigned, 1}, true},
		{0x04, 8, Type{Float, 8}, true}, {0x04, 2, Type{}, false}, {0x04, 16, Type{}, false}, {0x05, 16, Type{Signed, 16}, true}, {0x07, 16, Type{Unsigned, 16}, true}, {0x05, 32, Type{}, false}, {0x03, 8, Type{}, false}, {0x05, 3, Type{}, false},
	} {
		got, ok := BaseType(c.ate, c.size)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("BaseType(%#x, %d) = %v, %v; want %v, %v", c.ate, c.size, got, ok, c.want, c.ok)
		}
	}
}
