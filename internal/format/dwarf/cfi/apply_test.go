package cfi

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/unwind/arch"
)

// fakeRegs knows rsp, rbp and r12.
type fakeRegs struct{}

func (fakeRegs) DWARFReg(n uint64) (uint64, error) {
	switch n {
	case 7:
		return 0x7000, nil
	case 6:
		return 0x7100, nil
	case 12:
		return 12, nil
	}
	return 0, errUnknown
}

var errUnknown = errors.New("unknown")

// fakeMem holds at every word of [0x7000, 0x8000) the word's address and 0x100000.
type fakeMem struct{}

func (fakeMem) ReadMem(addr uint64, _ []byte) (int, error) {
	return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
}

func (fakeMem) ReadWord(addr uint64) (uint64, error) {
	if addr < 0x7000 || addr >= 0x8000 {
		return 0, &arch.MemError{Addr: addr, Err: arch.ErrUnmapped}
	}
	return addr + 0x100000, nil
}

// rowFor builds one FDE and looks its first row up.
func rowFor(tb testing.TB, cfg Config, insns *cfitest.Program) *Row {
	tb.Helper()
	s := cfitest.Section{Addr: ehAddr, AddrSize: cfg.AddrSize}
	s.AddFDE(s.AddCIE(cfitest.CIE{Insns: insns}), 0x1000, 0x10, nil)
	row := new(Row)
	if err := EHFrame(s.Bytes(), ehAddr, nil, 0, cfg).Row(0x1000, row); err != nil {
		tb.Fatal(err)
	}
	return row
}

func TestCFAValue(t *testing.T) {
	m := new(op.Machine)
	for _, c := range []struct {
		name  string
		size  int
		insns *cfitest.Program
		want  uint64
		err   error
	}{
		{"register", 8, prog().DefCFA(7, 16), 0x7010, nil},
		{"negative offset", 8, prog().DefCFASF(7, 2), 0x6ff0, nil},
		{"wraps", 4, prog().DefCFASF(12, 2), 0xfffffffc, nil},
		{"expression", 8, prog().DefCFAExpression(0x77, 8, 0x06), 0x107008, nil},
		{"unknown register", 8, prog().DefCFA(3, 16), 0, errUnknown},
		{"unmapped", 8, prog().DefCFAExpression(0x30, 0x06), 0, arch.ErrUnmapped},
		{"no rule", 8, prog().Nop(), 0, ErrNoRule},
		{"register location", 8, prog().DefCFAExpression(0x57), 0, op.ErrNotValue},
		{"needs debug information", 8, prog().DefCFAExpression(0x91, 0), 0, op.ErrUnsupportedOp{Op: op.Fbreg}},
	} {
		row := rowFor(t, Config{AddrSize: c.size}, c.insns)
		if got, err := row.CFAValue(m, fakeRegs{}, fakeMem{}); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %#x, %v; want %#x, %v", c.name, got, err, c.want, c.err)
		}
	}
	_, err := rowFor(t, Config{AddrSize: 8}, prog().DefCFA(3, 16)).CFAValue(m, fakeRegs{}, fakeMem{})
	var reg op.ErrRegister
	if !errors.As(err, &reg) || reg.Reg != 3 {
		t.Errorf("unknown register: %v", err)
	}
}

func TestRecover(t *testing.T) {
	m := new(op.Machine)
	const cfa = 0x7010
	row := rowFor(t, Config{AddrSize: 8}, prog().DefCFA(7, 16).Offset(0, 2).ValOffsetSF(1, -2).Undefined(2).SameValue(3).Register(4, 12).
		Expression(5, 0x38, 0x1c).ValExpression(6, 0x38, 0x1c, 0x06).ValExpression(8, 0x73, 0).ValExpression(9, 0x03, 1, 2, 0, 0, 0, 0, 0, 0))
	row.Bias = 0x10000
	for reg, want := range map[uint64]Value{
		0: {Kind: ValueMemory, Addr: 0x7000}, 1: {Kind: ValueKnown, Bits: 0x7020}, 2: {Kind: ValueUndefined}, 3: {Kind: ValueSame},
		4: {Kind: ValueRegister, Reg: 12}, 5: {Kind: ValueMemory, Addr: 0x7008}, 6: {Kind: ValueKnown, Bits: 0x107008},
		7: {}, 1 << 20: {}, 9: {Kind: ValueKnown, Bits: 0x10201},
	} {
		if got, err := row.Recover(reg, cfa, m, fakeRegs{}, fakeMem{}); err != nil || got != want {
			t.Errorf("register %d: %+v, %v; want %+v", reg, got, err, want)
		}
	}
	if _, err := row.Recover(8, cfa, m, fakeRegs{}, fakeMem{}); !errors.Is(err, errUnknown) {
		t.Errorf("expression with an unknown register: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() {
		v, err := row.CFAValue(m, fakeRegs{}, fakeMem{})
		if err != nil {
			t.Fatal(err)
		}
		for reg := range uint64(8) {
			if _, err := row.Recover(reg, v, m, fakeRegs{}, fakeMem{}); err != nil {
				t.Fatal(err)
			}
		}
		for range row.Rules() {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
