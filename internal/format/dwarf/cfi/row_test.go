package cfi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
)

const ehAddr = 0x400000

func prog() *cfitest.Program { return new(cfitest.Program) }

// amd64Names names a few DWARF registers.
func amd64Names(n uint64) string {
	names := map[uint64]string{3: "rbx", 6: "rbp", 7: "rsp", 12: "r12", 16: "rip"}
	if s, ok := names[n]; ok {
		return s
	}
	return fmt.Sprintf("r%d", n)
}

// rowsOf lists the rows of one program as "start..end format", executed after the initial
// instructions that compilers write for AMD64.
func rowsOf(t *testing.T, cfg Config, c cfitest.CIE, insns *cfitest.Program) ([]string, error) {
	t.Helper()
	s := cfitest.Section{Addr: ehAddr, AddrSize: cfg.AddrSize}
	if c.Insns == nil {
		c.Insns = prog().DefCFA(7, 8).Offset(16, 1)
	}
	s.AddFDE(s.AddCIE(c), 0x1000, 0x100, insns)
	table := EHFrame(s.Bytes(), ehAddr, nil, 0, cfg)
	start, _, ok := table.FDEForPC(0x1000)
	if !ok || start != 0x1000 {
		t.Fatalf("no FDE: start %#x", start)
	}
	var row, single Row
	var out []string
	if err := table.Row(0x1000, &row); err != nil {
		return nil, err
	}
	for r, err := range table.Rows(row.FDE, &row) {
		if err != nil {
			return out, err
		}
		text := fmt.Sprintf("%x..%x %s", r.Start, r.End, r.Format(amd64Names))
		out = append(out, text)
		if r.Start == r.End {
			continue
		}
		// A lookup anywhere in the row gives the same row.
		for _, pc := range []uint64{r.Start, r.End - 1} {
			if err := table.Row(pc, &single); err != nil {
				t.Errorf("row at %#x: %v", pc, err)
			} else if got := fmt.Sprintf("%x..%x %s", single.Start, single.End, single.Format(amd64Names)); got != text {
				t.Errorf("row at %#x: %s, want %s", pc, got, text)
			}
		}
	}
	return out, nil
}

func TestInstructions(t *testing.T) {
	amd64 := Config{AddrSize: 8}
	for _, c := range []struct {
		name  string
		cfg   Config
		cie   cfitest.CIE
		insns *cfitest.Program
		want  []string
	}{
		{"nothing", amd64, cfitest.CIE{}, nil, []string{"1000..1100 rsp+8; ra at cfa-8"}},
		{"prologue and epilogue", amd64, cfitest.CIE{},
			prog().Advance(1).DefCFAOffset(16).Offset(6, 2).Advance(3).DefCFARegister(6).Advance(0x50).DefCFA(7, 8),
			[]string{"1000..1001 rsp+8; ra at cfa-8", "1001..1004 rsp+16; rbp at cfa-16; ra at cfa-8",
				"1004..1054 rbp+16; rbp at cfa-16; ra at cfa-8", "1054..1100 rsp+8; rbp at cfa-16; ra at cfa-8"}},
		{"all advances", amd64, cfitest.CIE{CodeAlign: 2},
			prog().Advance(1).DefCFAOffset(1).Advance(0x40).DefCFAOffset(2).Raw(3, 1, 0).DefCFAOffset(3).Raw(4, 1, 0, 0, 0).DefCFAOffset(4).
				Raw(0x1d, 1, 0, 0, 0, 0, 0, 0, 0).DefCFAOffset(5),
			[]string{"1000..1002 rsp+8; ra at cfa-8", "1002..1082 rsp+1; ra at cfa-8", "1082..1084 rsp+2; ra at cfa-8",
				"1084..1086 rsp+3; ra at cfa-8", "1086..1088 rsp+4; ra at cfa-8", "1088..1100 rsp+5; ra at cfa-8"}},
		{"an advance by nothing", amd64, cfitest.CIE{}, prog().DefCFAOffset(16).Advance(0).DefCFAOffset(24),
			[]string{"1000..1100 rsp+24; ra at cfa-8"}},
		{"an advance to the end", amd64, cfitest.CIE{}, prog().Advance(0x3f).Advance(0xc1).DefCFAOffset(24),
			[]string{"1000..103f rsp+8; ra at cfa-8", "103f..1100 rsp+8; ra at cfa-8"}},
		{"every rule", amd64, cfitest.CIE{},
			prog().Undefined(0).SameValue(3).Register(12, 13).ValOffset(1, 2).ValOffsetSF(2, -3).OffsetSF(6, -2).Offset(100, 3).
				Raw(0x2f, 101, 2).Expression(4, 0x77, 8).ValExpression(5, 0x30),
			[]string{"1000..1100 rsp+8; r0 undefined; rbx unchanged; r12 in r13; r1 = cfa-16; r2 = cfa+24; rbp at cfa+16; r100 at cfa-24; " +
				"r101 at cfa+16; r4 at [DW_OP_breg7(rsp)+8]; r5 = [DW_OP_lit0]; ra at cfa-8"}},
		{"signed CFA", amd64, cfitest.CIE{}, prog().DefCFASF(6, -2).Advance(4).Raw(0x13, 0x7f),
			[]string{"1000..1004 rbp+16; ra at cfa-8", "1004..1100 rbp+8; ra at cfa-8"}},
		{"CFA expression and back", amd64, cfitest.CIE{}, prog().DefCFAExpression(0x77, 8, 0x06).Advance(4).DefCFA(7, 16),
			[]string{"1000..1004 [DW_OP_breg7(rsp)+8 DW_OP_deref]; ra at cfa-8", "1004..1100 rsp+16; ra at cfa-8"}},
		{"restore", amd64, cfitest.CIE{}, prog().Offset(3, 2).Undefined(16).Advance(4).Restore(3).Restore(16).Restore(12).Offset(70, 1).Advance(1).Restore(70),
			[]string{"1000..1004 rsp+8; rbx at cfa-16; ra undefined", "1004..1005 rsp+8; r70 at cfa-8; ra at cfa-8", "1005..1100 rsp+8; ra at cfa-8"}},
		{"remember and restore, nested", amd64, cfitest.CIE{},
			prog().RememberState().DefCFAOffset(16).Offset(3, 2).RememberState().Advance(1).DefCFA(6, 24).Offset(12, 3).Offset(3, 9).
				Advance(1).RestoreState().Advance(1).RestoreState(),
			[]string{"1000..1001 rsp+16; rbx at cfa-16; ra at cfa-8", "1001..1002 rbp+24; rbx at cfa-72; r12 at cfa-24; ra at cfa-8",
				"1002..1003 rsp+16; rbx at cfa-16; ra at cfa-8", "1003..1100 rsp+8; ra at cfa-8"}},
		{"set_loc", amd64, cfitest.CIE{Abs: true}, prog().Raw(1, 0x20, 0x10, 0, 0, 0, 0, 0, 0).DefCFAOffset(16),
			[]string{"1000..1020 rsp+8; ra at cfa-8", "1020..1100 rsp+16; ra at cfa-8"}},
		{"SPARC's window", Config{AddrSize: 8}, cfitest.CIE{Insns: prog().DefCFA(14, 2047), RA: 15}, prog().NegateRAState(),
			[]string{"1000..1100 r14+2047; r8 in r24; r9 in r25; r10 in r26; r11 in r27; r12 in r28; r13 in r29; r14 in r30; " +
				"rip at cfa+0; r17 at cfa+8; r18 at cfa+16; r19 at cfa+24; r20 at cfa+32; r21 at cfa+40; r22 at cfa+48; r23 at cfa+56; " +
				"r24 at cfa+64; r25 at cfa+72; r26 at cfa+80; r27 at cfa+88; r28 at cfa+96; r29 at cfa+104; r30 at cfa+112; r31 at cfa+120; ra in r31"}},
		{"no CFA", amd64, cfitest.CIE{Insns: prog().Nop()}, nil, []string{"1000..1100 no rule"}},
	} {
		got, err := rowsOf(t, c.cfg, c.cie, c.insns)
		if c.name == "an advance by nothing" && len(got) == 2 { // the empty row comes first
			got = got[1:]
		}
		if err != nil || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestMalformedPrograms(t *testing.T) {
	for name, insns := range map[string]*cfitest.Program{
		"unknown opcode":          prog().Raw(0x3f),
		"cut operand":             prog().Raw(0, 0, 0x0c),
		"cut expression":          prog().Raw(0x0f, 0x7f, 0),
		"nothing remembered":      prog().RestoreState(),
		"too much remembered":     prog().Raw([]byte(strings.Repeat("\x0a", maxStates+1))...),
		"a register out of range": prog().Raw(0x07, 0xff, 0xff, 0x7f),
		"offset without register": prog().DefCFAExpression(0x30).DefCFAOffset(8),
		"location moves back":     prog().Raw(0x01, 0, 0, 0xc0, 0xff),
	} {
		if _, err := rowsOf(t, Config{AddrSize: 8}, cfitest.CIE{}, insns); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := prog()
	for r := range uint64(maxRules + 1) {
		many.Undefined(r + 200)
	}
	if _, err := rowsOf(t, Config{AddrSize: 8}, cfitest.CIE{}, many); !errors.Is(err, ErrMalformed) {
		t.Errorf("too many rules: %v", err)
	}
	if _, err := rowsOf(t, Config{AddrSize: 8}, cfitest.CIE{Insns: prog().DefCFA(7, 8).Advance(1)}, nil); !errors.Is(err, ErrMalformed) {
		t.Errorf("a CIE that moves the location: %v", err)
	}
}

func TestAArch64State(t *testing.T) {
	s := cfitest.Section{Addr: ehAddr}
	c := s.AddCIE(cfitest.CIE{Aug: "zRBS", RA: 30, Insns: prog().DefCFA(31, 0)})
	s.AddFDE(c, 0x1000, 0x10, prog().Advance(4).NegateRAState().RememberState().Advance(4).NegateRAState().Advance(4).RestoreState().ArgsSize(24))
	table := EHFrame(s.Bytes(), ehAddr, nil, 0, Config{AddrSize: 8, AArch64: true})
	var row Row
	for pc, signed := range map[uint64]bool{0x1000: false, 0x1004: true, 0x1008: false, 0x100c: true} {
		if err := table.Row(pc, &row); err != nil || row.RASigned != signed || !row.BKey || !row.Signal || row.RetAddrReg != 30 {
			t.Errorf("row at %#x: %v, %+v", pc, err, row)
		}
	}
	if err := table.Row(0x100f, &row); err != nil || row.ArgsSize != 24 {
		t.Errorf("args size %d, %v; want 24", row.ArgsSize, err)
	}
	if err := table.Row(0x1000, &row); err != nil || row.ArgsSize != 0 {
		t.Errorf("args size of the next lookup %d, %v; want 0", row.ArgsSize, err)
	}
}

// TestRowReuse checks that no state from one look-up affects the next, in another table
// with a CIE at the same offset.
func TestRowReuse(t *testing.T) {
	table := func(reg uint64) *Table {
		s := cfitest.Section{Addr: ehAddr}
		s.AddFDE(s.AddCIE(cfitest.CIE{Insns: prog().DefCFA(reg, 8).Offset(16, 1)}), 0x1000, 0x10, prog().Offset(reg, 5))
		return EHFrame(s.Bytes(), ehAddr, nil, 0, Config{AddrSize: 8})
	}
	a, b := table(6), table(7)
	var row Row
	for range 2 {
		for tab, want := range map[*Table]string{a: "rbp+8; rbp at cfa-40; ra at cfa-8", b: "rsp+8; rsp at cfa-40; ra at cfa-8"} {
			if err := tab.Row(0x1000, &row); err != nil || row.Format(amd64Names) != want {
				t.Errorf("%s, %v; want %s", row.Format(amd64Names), err, want)
			}
			if err := tab.Row(0x9000, &row); err != ErrNoFDE {
				t.Errorf("an address without FDE: %v", err)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	withHdr, without := built(300)
	var row Row
	for name, table := range map[string]*Table{"hdr": withHdr, "index": without} {
		pc := uint64(0x10000)
		run := func() {
			pc += 7
			if err := table.Row(pc, &row); err != nil {
				t.Fatal(err)
			}
			table.FDEForPC(pc)
			table.Row(1, &row)
		}
		for range 10 {
			run()
		}
		if n := testing.AllocsPerRun(200, run); n != 0 {
			t.Errorf("%s: %v allocations a lookup", name, n)
		}
	}
}
