package cfi

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi/cfitest"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
)

func FuzzTable(f *testing.F) {
	s := cfitest.Section{Addr: ehAddr}
	ref := s.AddCIE(cfitest.CIE{Aug: "zPLRS", Insns: prog().DefCFA(7, 8).Offset(16, 1)})
	s.AddFDE(ref, 0x1000, 0x100, prog().Advance(1).RememberState().DefCFAOffset(16).Offset(6, 2).Advance(0x50).RestoreState())
	s.AddFDE(ref, 0x2000, 0x100, prog().DefCFAExpression(0x77, 8).Advance(1).ValExpression(3, 0x30).Restore(3).Undefined(16))
	f.Add(s.Bytes(), s.Header(0x300000), uint64(0x1001), uint8(0))
	d := cfitest.Section{Debug: true, Big: true, AddrSize: 4, Wide: true}
	d.AddFDE(d.AddCIE(cfitest.CIE{Version: 4, SegSize: 4}), 0x1000, 0x100, prog().Advance(1).NegateRAState())
	f.Add(d.Bytes(), []byte{}, uint64(0x1001), uint8(7))
	f.Fuzz(func(t *testing.T, data, hdr []byte, pc uint64, how uint8) {
		cfg := Config{Big: how&1 != 0, AddrSize: 4 + 4*int(how>>1&1), AArch64: how&8 != 0}
		table := EHFrame(data, ehAddr, hdr, 0x300000, cfg)
		if how&4 != 0 {
			table = DebugFrame(data, cfg)
		}
		var row Row
		m := new(op.Machine)
		check := func(pc uint64) {
			if table.Row(pc, &row) != nil {
				return
			}
			if pc < row.Start || pc >= row.End || pc < row.FDE.Start || pc >= row.FDE.End {
				t.Fatalf("row [%#x, %#x) of [%#x, %#x) for %#x", row.Start, row.End, row.FDE.Start, row.FDE.End, pc)
			}
			cfa, _ := row.CFAValue(m, fakeRegs{}, fakeMem{})
			for reg := range row.Rules() {
				row.Recover(reg, cfa, m, fakeRegs{}, fakeMem{})
			}
			row.Format(nil)
		}
		check(pc)
		n := 0
		for d := range table.FDEs() {
			if n++; n > 10 {
				break
			}
			check(d.Start)
			rows := 0
			for range table.Rows(d, &row) {
				if rows++; rows > len(data) {
					t.Fatalf("%d rows from %d bytes", rows, len(data))
				}
			}
		}
	})
}
