package op

import "testing"

// plt is the CFA's expression in a procedure linkage table.
var plt = e(breg(7), 8, breg(16), 0, lit(15), And, lit(11), Ge, lit(3), Shl, Plus)

// fixedMem returns 1 for every word, without allocating.
type fixedMem struct{}

func (fixedMem) ReadMem(_ uint64, buf []byte) (int, error) { clear(buf); return len(buf), nil }
func (fixedMem) ReadWord(uint64) (uint64, error)           { return 1, nil }

func TestNoAllocation(t *testing.T) {
	m := new(Machine)
	en := Env{AddrSize: 8, Regs: testRegs{}, Mem: fixedMem{}, Resolver: &testResolver{}}
	for name, expr := range map[string][]byte{
		"plt":       plt,
		"memory":    e(breg(7), 8, Deref, DerefSize, 4, lit(1), Plus),
		"pieces":    e(dreg(0), OpPiece, 8, OpPiece, 4, breg(7), 0, OpPiece, 4),
		"typed":     e(RegvalType, 17, 0x28, Dup, Plus, Convert, 4, OpStackValue),
		"frame":     e(Fbreg, 8, OpPiece, 8),
		"implicit":  e(OpImplicitValue, 1, 2),
		"entry":     e(EntryValue, 1, dreg(5), OpStackValue),
		"pushed":    e(lit(8), Minus, Dup, Drop),
		"arguments": e(Const8u, le(1<<40, 8), Consts, 0x7f, Xor),
	} {
		push := name == "pushed"
		run := func() {
			var err error
			if push {
				_, err = m.EvalValue(en, expr, true, 0x1000)
			} else {
				_, err = m.Eval(en, expr)
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		run() // the first composite location makes room for pieces
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkEval(b *testing.B) {
	m := new(Machine)
	en := Env{AddrSize: 8, Regs: testRegs{}, Mem: fixedMem{}}
	for name, expr := range map[string][]byte{"plt": plt, "deref": e(breg(6), 0x70, Deref), "breg": e(breg(6), 0x70)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.EvalValue(en, expr, false, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzEval(f *testing.F) {
	for _, expr := range [][]byte{plt, e(dreg(0), OpPiece, 8, BitPiece, 1, 2), e(EntryValue, 1, dreg(5)), e(ConstType, 4, 4, 1, 2, 3, 4, Convert, 0x28),
		e(lit(3), lit(1), Minus, Dup, Bra, 0xfa, 0xff), e(breg(7), 0, DerefSize, 3, Call2, 0, 0)} {
		f.Add(expr, false)
		f.Add(expr, true)
	}
	m := new(Machine)
	f.Fuzz(func(t *testing.T, expr []byte, odd bool) {
		en := Env{AddrSize: 8, Regs: testRegs{}, Mem: fixedMem{}, Resolver: &testResolver{exprs: map[uint64][]byte{0: expr}}}
		if odd {
			en = Env{Big: true, AddrSize: 4, RefSize: 8, Regs: testRegs{}, Mem: fixedMem{}}
		}
		l, err := m.Eval(en, expr)
		if err == nil && l.Kind == Memory && l.Addr > mask(en.AddrSize) {
			t.Fatalf("address %#x of %d bytes", l.Addr, en.AddrSize)
		}
		if err == nil && (l.Kind == Composite) != (len(l.Pieces) > 0) {
			t.Fatalf("%v with %d pieces", l.Kind, len(l.Pieces))
		}
		v, err := m.EvalValue(en, expr, odd, 0x1000)
		if err == nil && (!v.Type.valid() || v.Bits > mask(m.size(v.Type))) {
			t.Fatalf("value %#x of type %v", v.Bits, v.Type)
		}
		Format(expr, Style{Big: odd, AddrSize: en.AddrSize})
	})
}
