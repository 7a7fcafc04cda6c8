package op

import (
	"slices"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	names := func(n uint64) string {
		if n == 7 {
			return "rsp"
		}
		return "?"
	}
	for _, c := range []struct {
		expr  []byte
		style Style
		want  string
	}{
		{nil, Style{}, ""},
		{e(breg(7), 8, Deref), Style{}, "DW_OP_breg7+8 DW_OP_deref"},
		{e(breg(7), 0x78, Deref), Style{RegName: names}, "DW_OP_breg7(rsp)-8 DW_OP_deref"},
		{e(dreg(7), OpPiece, 8), Style{RegName: names}, "DW_OP_reg7(rsp) DW_OP_piece 8"},
		{e(Bregx, 7, 1, Regx, 7), Style{RegName: names}, "DW_OP_bregx(rsp)+1 DW_OP_regx rsp"},
		{e(Bregx, 7, 1, Regx, 7), Style{}, "DW_OP_bregx(7)+1 DW_OP_regx 7"},
		{e(Addr, le(0x1234, 8)), Style{}, "DW_OP_addr 0x1234"},
		{e(Addr, 0, 0, 0x12, 0x34), Style{Big: true, AddrSize: 4}, "DW_OP_addr 0x1234"},
		{e(Fbreg, 0x70), Style{}, "DW_OP_fbreg-16"},
		{e(lit(0), Bra, 0xfd, 0xff), Style{}, "DW_OP_lit0 DW_OP_bra to 0x1"},
		{e(EntryValue, 2, breg(5), 0, OpStackValue), Style{}, "DW_OP_entry_value (DW_OP_breg5+0) DW_OP_stack_value"},
		{e(ConstType, 0x10, 2, 1, 2), Style{}, "DW_OP_const_type <0x10>,0102"},
		{e(OpImplicitPointer, le(0x99, 8), 0), Style{RefSize: 8}, "DW_OP_implicit_pointer <0x99>,0"},
		{e(RegvalType, 7, 0x10, DerefType, 4, 0x11, Convert, 0), Style{}, "DW_OP_regval_type 7,<0x10> DW_OP_deref_type 4,<0x11> DW_OP_convert <0x0>"},
		{e(lit(1), 0xee, lit(2)), Style{}, "DW_OP_lit1 <malformed at 0x1: DW_OP_0xee>"},
		{e(lit(1), Const4u, 0), Style{}, "DW_OP_lit1 <malformed at 0x1: DW_OP_const4u>"},
		{e(Call2, 0x10, 0, CallRef, le(0x20, 4)), Style{}, "DW_OP_call2 16 DW_OP_call_ref <0x20>"},
	} {
		if got := Format(c.expr, c.style); got != c.want {
			t.Errorf("%x: %q, want %q", c.expr, got, c.want)
		}
	}
	deep := e(lit(0))
	for range 40 {
		deep = slices.Concat(e(EntryValue, len(deep)), deep)
	}
	if got := Format(deep, Style{}); !strings.Contains(got, "(...)") {
		t.Errorf("deep nesting: %q", got)
	}
}

func TestNames(t *testing.T) {
	for o, want := range map[Op]string{Deref: "DW_OP_deref", lit(31): "DW_OP_lit31", dreg(0): "DW_OP_reg0", breg(31): "DW_OP_breg31",
		GNUEntryValue: "DW_OP_GNU_entry_value", 0x01: "DW_OP_0x01", 0xff: "DW_OP_0xff", Reinterpret: "DW_OP_reinterpret"} {
		if got := o.String(); got != want {
			t.Errorf("%#x is %s, want %s", uint8(o), got, want)
		}
	}
}
