package image

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/slimnote"
)

func TestFromKept(t *testing.T) {
	k := &slimnote.Kept{Start: 0x10000, RA: 16, Symbols: []slimnote.KeptSymbol{{Addr: 0x11000, Size: 0x20, Func: true, Name: "f"}, {Addr: 0x13000, Size: 8, Name: "data"}},
		Rows: []slimnote.KeptRow{{PC: 0x11010, Reg: 7, Offset: 300, Rules: []slimnote.KeptRule{{Reg: 16, Offset: -8}, {Reg: 3, Offset: -200}}}, {PC: 0x11004, Reg: 6, Offset: -16}}}
	im := FromKept(k, 0x10000, 8)
	if s, ok := im.SymbolByName("data"); !ok || s.Value != 0x3000 || s.Size != 8 {
		t.Errorf("data: %+v, %v", s, ok)
	}
	if s, ok := im.SymbolAt(0x1011); !ok || s.Name() != "f" || s.Value != 0x1000 {
		t.Errorf("f: %+v, %v", s, ok)
	}
	if s, ok := im.SymbolAt(0x1020); ok {
		t.Errorf("behind f: %+v", s)
	}
	var row cfi.Row
	if err := im.DebugFrame().Row(0x1010, &row); err != nil || row.CFA().Reg != 7 || row.CFA().Offset != 300 {
		t.Errorf("%+v, %v", row.CFA(), err)
	}
	if err := im.DebugFrame().Row(0x1004, &row); err != nil || row.CFA().Reg != 6 || row.CFA().Offset != -16 {
		t.Errorf("%+v, %v", row.CFA(), err)
	}
	if err := im.DebugFrame().Row(0x1011, &row); err == nil {
		t.Errorf("an address without a rule has one: %+v", row.CFA())
	}
}
