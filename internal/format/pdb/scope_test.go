package pdb

import (
	"fmt"
	"strings"
	"testing"
)

// record makes a record of 16- and 32-bit numbers, bytes and strings.
func record(kind uint16, fields ...any) []byte {
	b := le.AppendUint16(make([]byte, 2), kind)
	for _, f := range fields {
		switch f := f.(type) {
		case uint16:
			b = le.AppendUint16(b, f)
		case int:
			b = le.AppendUint32(b, uint32(f))
		case string:
			b = append(append(b, f...), 0)
		case []byte:
			b = append(b, f...)
		}
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	le.PutUint16(b, uint16(len(b)-2))
	return b
}

// stored puts bytes into a separate stream.
func stored(b []byte) *stream {
	c := &container{blockSize: 512, data: append(append([]byte(nil), b...), make([]byte, 512)...)}
	s := &stream{c: c, size: len(b)}
	for i := range (len(b) + 511) / 512 {
		s.blocks = append(s.blocks, uint32(i))
	}
	return s
}

// readScope decodes hand-made records as those of a function of 0x100 bytes at 0x1000.
func readScope(machine uint16, records ...[]byte) *Scope {
	b := make([]byte, 4)
	for _, r := range records {
		b = append(b, r...)
	}
	s := stored(b)
	root := &Scope{}
	list := []section{{start: 0x1000, size: 0x1000}, {start: 0x3000, size: 0x1000}}
	r := scopeReader{
		f: &File{Machine: machine}, p: &procs{symbols: view{s, 0, s.size}}, fn: proc{place{1, 0}, 0x100, 4}, start: 0x1000,
		sections: &sections{list: list, order: orderOf(list)}, end: s.size,
	}
	r.f.ids = func() (*types, error) { return nil, ErrFormat }
	r.open(root, r.end)
	r.read(4)
	r.finish(root)
	return root
}

// in is a range of 16 bytes from an offset on, with a gap.
func in(off int) []byte {
	b := record(0, off, uint16(1), uint16(16), uint16(4), uint16(2))[4:]
	return b
}

func flat(machine uint16, s *Scope) string {
	var lines []string
	describeScope(machine, s, 0, &lines)
	return strings.Join(lines, "\n")
}

// TestSymbolRecords decodes every kind of record with a variable or a location, including
// kinds that no compiler used here writes.
func TestSymbolRecords(t *testing.T) {
	// Local variables are relative to ebp and parameters to the virtual frame, or both to
	// rbp and rsp.
	frame := record(symFrameProc, 0x40, 0, 0, 0, 0, uint16(0), 2<<14|1<<16)
	span := "in 0x1020+16 not 4+2"
	local := func(flags int) []byte { return record(symLocal, 0x74, uint16(flags), "v") }
	for _, c := range []struct {
		name    string
		machine uint16
		records [][]byte
		want    string
	}{
		{"regrel", 0x8664, [][]byte{frame, record(symRegRel, 0x30, 0x74, uint16(335), "v"), record(symRegRel, 0x48, 0x74, uint16(335), "p")},
			"0 v type 0x74; RSP+48 in 0x0+0\n0 p type 0x74 param; RSP+72 in 0x0+0"},
		{"regrel without a frame", 0x8664, [][]byte{record(symRegRel, 0x48, 0x74, uint16(335), "v")}, "0 v type 0x74; RSP+72 in 0x0+0"},
		{"regrel x86", 0x14c, [][]byte{record(symRegRel, -4, 0x74, uint16(22), "v"), record(symRegRel, 8, 0x74, uint16(22), "p")},
			"0 v type 0x74; EBP-4 in 0x0+0\n0 p type 0x74 param; EBP+8 in 0x0+0"},
		{"bprel", 0x14c, [][]byte{record(symBPRel, -8, 0x74, "v"), record(symBPRel, 12, 0x74, "p")},
			"0 v type 0x74; EBP-8 in 0x0+0\n0 p type 0x74 param; EBP+12 in 0x0+0"},
		{"register", 0x8664, [][]byte{record(symRegister, 0x74, uint16(329), "v")}, "0 v type 0x74; RBX in 0x0+0"},
		{"constant", 0x8664, [][]byte{record(symConstant, 0x74, uint16(7), "v"), record(symManConstant, 0x74, []byte{1, 0x80, 0xfe, 0xff}, "w")},
			"0 v type 0x74; = 7\n0 w type 0x74; = 18446744073709551614"},
		{"data", 0x8664, [][]byte{record(symLocalData, 0x74, 0x10, uint16(2), "v"), record(symGlobalData, 0x74, 0x20, uint16(2), "w")},
			"0 v type 0x74; rva 0x3010\n0 w type 0x74; rva 0x3020"},
		{"no such section", 0x8664, [][]byte{record(symLocalData, 0x74, 0x10, uint16(7), "v")}, "0 v type 0x74"},
		{"optimised away", 0x8664, [][]byte{local(0x100)}, "0 v type 0x74"},
		{"defrange register", 0x8664, [][]byte{local(1), record(symDefRegister, uint16(330), uint16(0), in(0x20))}, "0 v type 0x74 param; RCX " + span},
		{"two ranges", 0x8664, [][]byte{local(0), record(symDefRegister, uint16(330), uint16(0), in(0x20)), record(symDefRegister, uint16(331), uint16(1), in(0x30))},
			"0 v type 0x74; RCX " + span + "; RDX in 0x1030+16 not 4+2"},
		{"defrange frame", 0x14c, [][]byte{frame, local(0), record(symDefFrame, -12, in(0x20))}, "0 v type 0x74; EBP-12 " + span},
		{"defrange frame of a parameter", 0x14c, [][]byte{frame, local(1), record(symDefFrame, 4, in(0x20))}, "0 v type 0x74 param; VFRAME+4 " + span},
		{"defrange frame, x64", 0x8664, [][]byte{frame, local(0), record(symDefFrame, 16, in(0x20))}, "0 v type 0x74; RBP+16 " + span},
		{"full scope", 0x8664, [][]byte{frame, local(1), record(symDefFrameFull, 16)}, "0 v type 0x74 param; RSP+16 in 0x0+0"},
		{"subfield register", 0x8664, [][]byte{local(0), record(symDefSubReg, uint16(328), uint16(0), 8, in(0x20))}, "0 v type 0x74; RAX part 8 " + span},
		{"register relative", 0x8664, [][]byte{local(0), record(symDefRegRel, uint16(335), uint16(0), 0x28, in(0x20))}, "0 v type 0x74; RSP+40 " + span},
		{"a spilled part", 0x8664, [][]byte{local(0), record(symDefRegRel, uint16(335), uint16(1|12<<4), 0x28, in(0x20))}, "0 v type 0x74; RSP+40 part 12 " + span},
		{"by a pointer", 0x8664, [][]byte{local(0), record(symDefRegRelPtr, uint16(335), uint16(0), 0x28, 4, in(0x20))}, "0 v type 0x74;  " + span},
		{"program", 0x8664, [][]byte{local(0), record(symDefProgram, 5, in(0x20)), record(symDefSubProgram, 5, 4, in(0x20))},
			"0 v type 0x74;  " + span + ";  part 4 " + span},
		{"ranges of what is no local", 0x8664, [][]byte{record(symFileStatic, 0x74, 0, uint16(0), "s"), record(symDefRegister, uint16(330), uint16(0), in(0x20)), local(0)}, "0 v type 0x74"},
		{"short records", 0x8664, [][]byte{record(symLocal, uint16(0)), record(symRegRel, 0), record(symConstant, 0x74, []byte{9, 0x80}), record(symDefRegister), record(symBlock, 0)}, ""},
		{"blocks", 0x8664, [][]byte{ // at 4: 28 bytes, a variable of 16, an end
			record(symBlock, 0, 48, 0x10, 0x20, uint16(1), ""), record(symLocal, 0x74, uint16(0), "abc"), record(symEnd), local(0)},
			"0 v type 0x74\n0 block 0x1020+16\n1 abc type 0x74"},
		{"separated code", 0x8664, [][]byte{record(symSepCode, 0, 44, 0, 0, 0, 0, uint16(1), uint16(1)), record(symLocal, 0x74, uint16(0), "a"), record(symEnd)}, "0 a type 0x74"},
	} {
		if got := flat(c.machine, readScope(c.machine, c.records...)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	s := readScope(0x8664, record(symLocalThread, 0x74, 8, uint16(2), "v"), record(symLocal, 0x74, uint16(0), "w"),
		record(symDefRegRelPtr, uint16(335), uint16(0), 0x28, 4, in(0x20)))
	if p := s.Vars[0].Places[0]; p.Kind != InThread || p.Off != 8 {
		t.Errorf("%+v", p)
	}
	if p := s.Vars[1].Places[0]; p.Kind != AtPointer || p.Off != 0x28 || p.Inner != 4 {
		t.Errorf("%+v", p)
	}
}

// TestPlaceHolds uses a place with gaps.
func TestPlaceHolds(t *testing.T) {
	p := Place{Range: Range{10, 30}, Gaps: []Range{{12, 14}, {20, 21}}}
	got := ""
	for rva := range uint32(32) {
		if p.Holds(rva) {
			got += fmt.Sprint(rva, " ")
		}
	}
	if want := "10 11 14 15 16 17 18 19 21 22 23 24 25 26 27 28 29 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p.Whole = true; !p.Holds(5) {
		t.Error("a place for all of a scope")
	}
}

// TestTypeRecords decodes records that no compiler used here writes.
func TestTypeRecords(t *testing.T) {
	for _, c := range []struct {
		rec  []byte
		want Type
		ok   bool
	}{
		{record(leafClass19, propUnique, 0x1005, 0, 0, uint16(3), uint16(24), "C", ".?AVC@@"), Type{Kind: TypeClass, Name: "C", Unique: ".?AVC@@", Size: 24, Fields: 0x1005}, true},
		{record(leafStruct19, propForward, 0x1005, 0, 0, uint16(3), uint16(24), "C"), Type{Kind: TypeStruct, Name: "C", Forward: true}, true},
		{record(leafUnion19, 0, 0x1005, uint16(3), uint16(24), "U"), Type{Kind: TypeUnion, Name: "U", Size: 24, Fields: 0x1005}, true},
		{record(leafInterface, uint16(1), uint16(0), 0x1005, 0, 0, uint16(8), "I"), Type{Kind: TypeClass, Name: "I", Size: 8, Fields: 0x1005}, true},
		{record(leafAlias, 0x74, "number"), Type{Kind: TypeAlias, Name: "number", Elem: 0x74}, true},
		{record(leafVector, 0x40, 4, uint16(16), ""), Type{Kind: TypeVector, Elem: 0x40, Count: 4, Size: 16}, true},
		{record(leafModifier, 0x74, uint16(7)), Type{Kind: TypeModifier, Elem: 0x74, Quals: Const | Volatile}, true},
		{record(leafPointer, 0x74, 0x0c|1<<10|1<<12), Type{Kind: TypePointer, Elem: 0x74, Size: 8, Quals: Const | Restrict}, true},
		{record(leafPointer, 0x1003, 0x0a|3<<5|4<<13, 0x1002, uint16(0)), Type{Kind: TypeMemberPointer, Elem: 0x1003, Class: 0x1002, MemberFunction: true, Size: 4}, true},
		{record(leafPointer, 0x74, 0x0c|4<<5|8<<13), Type{Kind: TypeRvalueReference, Elem: 0x74, Size: 8}, true},
		{record(leafBitField, 0x74, []byte{3, 5}), Type{Kind: TypeBitField, Elem: 0x74, Bits: 3, Bit: 5}, true},
		{record(leafBitField, 0x74, []byte{0, 5}), Type{}, false},
		{record(leafPointer, 0x74), Type{}, false},
		{record(leafPointer, 0x74, 0x0c|3<<5), Type{}, false},
		{record(leafArray, 0x74, 0x75, []byte{9, 0x80}), Type{}, false},
		{record(leafStruct, uint16(0)), Type{}, false},
		{record(0x1516, 0), Type{}, true}, // a kind that is not read
	} {
		kind := le.Uint16(c.rec[2:])
		if got, ok := decodeType(kind, c.rec); ok != c.ok || ok && got != c.want {
			t.Errorf("%#x: %+v, %v; want %+v, %v", kind, got, ok, c.want, c.ok)
		}
	}
	for id, want := range map[TypeID]string{
		0x03: "", 0x70: "char", 0x74: "int", 0x75: "unsigned int", 0x12: "long", 0x13: "__int64", 0x23: "unsigned __int64", 0x30: "bool",
		0x71: "wchar_t", 0x7a: "char16_t", 0x7c: "char8_t", 0x41: "double", 0x103: "std::nullptr_t", 0x43: "long double",
	} {
		if got, ok := simpleType(uint32(id), 0x8664); !ok || got.Name != want {
			t.Errorf("%#x: %q, %v; want %q", uint32(id), got.Name, ok, want)
		}
	}
	if p, ok := simpleType(0x674, 0x8664); !ok || p.Kind != TypePointer || p.Elem != 0x74 || p.Size != 8 {
		t.Errorf("pointer to int: %+v", p)
	}
	if p, ok := simpleType(0x475, 0x14c); !ok || p.Kind != TypePointer || p.Size != 4 {
		t.Errorf("pointer to unsigned: %+v", p)
	}
	if _, ok := simpleType(0x67, 0x8664); ok {
		t.Error("not a simple type, but accepted")
	}
}

// TestVirtualFrame executes programs written by clang and Microsoft's compilers, for a
// frame whose return address is at 0x8000.
func TestVirtualFrame(t *testing.T) {
	_, f := buildVars(t, "i686-pc-windows-msvc", "-O0")
	x, err := f.frames()
	if err != nil {
		t.Fatal(err)
	}
	aligned := 0
	for _, e := range x.data {
		w := f.frameData(x.dataS, int(e.at))
		want := uint32(0x8000)
		switch {
		case strings.Contains(w.Program, "@"):
			var saved uint32
			if _, err := fmt.Sscanf(w.Program, "$T1 $ebp 4 + = $T0 $T1 %d - 8 @ =", &saved); err != nil {
				t.Fatalf("%s: %v", w.Program, err)
			}
			want = (0x9016 - saved) &^ 7 // of what lies below the registers that were saved
			aligned++
		case strings.HasPrefix(w.Program, "$T0 $ebp 4 +"):
			want = 0x9016
		}
		got, err := f.VirtualFrame(w.Start, 0x8000, func(string) (uint32, bool) { return 0x9012, true }, func(uint64) (uint64, error) { return 0, nil })
		if err != nil || got != want {
			t.Errorf("%s: %#x, %v; want %#x", w.Program, got, err, want)
		}
	}
	if len(x.data) < 10 || aligned == 0 {
		t.Errorf("%d programs, %d with aligned frames", len(x.data), aligned)
	}
	if got, err := f.VirtualFrame(0, 0x8000, nil, nil); got != 0x8000 || err != nil {
		t.Errorf("without a program: %#x, %v", got, err)
	}
}

// A variable that several records list is one variable, with its home on the stack behind the
// places where optimised code has it.
func TestSameVariable(t *testing.T) {
	local := func(name string, typ int, flags uint16) []byte { return record(symLocal, typ, flags, name) }
	home := func(name string, typ int) []byte { return record(symRegRel, 0x30, typ, uint16(335), name) }
	rcx := record(symDefRegister, uint16(330), uint16(0), in(0x20))
	rdx := record(symDefRegister, uint16(331), uint16(0), in(0x20))
	part := record(symDefSubReg, uint16(328), uint16(0), 8, in(0x20))
	const ranged, ranged2, at = "RCX in 0x1020+16 not 4+2", "RDX in 0x1020+16 not 4+2", "RSP+48 in 0x0+0"
	block := func(end int) []byte { return record(symBlock, 0, end, 0x100, 0, uint16(1), "") }
	for _, c := range []struct {
		name    string
		records [][]byte
		want    string
	}{
		{"listed, then its home", [][]byte{local("v", 0x74, 1), rcx, home("v", 0x74)}, "0 v type 0x74 param; " + ranged + "; " + at},
		{"its home, then listed", [][]byte{home("v", 0x74), local("v", 0x74, 1), rcx}, "0 v type 0x74 param; " + ranged + "; " + at},
		{"others between", [][]byte{home("v", 0x74), home("w", 0x74), local("x", 0x74, 0), local("v", 0x74, 0), rcx, rdx},
			"0 v type 0x74; " + ranged + "; " + ranged2 + "; " + at + "\n0 w type 0x74; " + at + "\n0 x type 0x74"},
		{"optimised out but for its home", [][]byte{local("v", 0x74, 0x100), home("v", 0x74)}, "0 v type 0x74; " + at},
		{"parts", [][]byte{home("v", 0x74), local("v", 0x74, 0), part}, "0 v type 0x74; RAX part 8 in 0x1020+16 not 4+2; " + at},
		{"by ebp", [][]byte{record(symBPRel, 0x30, 0x74, "v"), local("v", 0x74, 0), rcx}, "0 v type 0x74; " + ranged + "; RBP+48 in 0x0+0"},
		{"another type", [][]byte{local("v", 0x74, 0), rcx, home("v", 0x75)}, "0 v type 0x74; " + ranged + "\n0 v type 0x75; " + at},
		{"another name", [][]byte{local("v", 0x74, 0), rcx, home("w", 0x74)}, "0 v type 0x74; " + ranged + "\n0 w type 0x74; " + at},
		{"a static of the same name", [][]byte{local("v", 0x74, 0), rcx, record(symLocalData, 0x74, 0x10, uint16(2), "v")},
			"0 v type 0x74; " + ranged + "\n0 v type 0x74; rva 0x3010"},
		{"twice the same", [][]byte{local("v", 0x74, 0), rcx, local("v", 0x74, 0), rcx}, "0 v type 0x74; " + ranged},
		{"twice in different places", [][]byte{local("v", 0x74, 0), rcx, local("v", 0x74, 0), rdx}, "0 v type 0x74; " + ranged + "\n0 v type 0x74; " + ranged2},
		{"also in a block", [][]byte{local("v", 0x74, 0), rcx, block(1 << 16), local("v", 0x74, 0), rcx}, "0 block 0x1000+256\n1 v type 0x74; " + ranged},
		{"another in a block", [][]byte{local("v", 0x74, 0), rcx, block(1 << 16), local("v", 0x74, 0), rdx},
			"0 v type 0x74; " + ranged + "\n0 block 0x1000+256\n1 v type 0x74; " + ranged2},
		{"a parameter, also in a block", [][]byte{local("v", 0x74, 1), rcx, block(1 << 16), local("v", 0x74, 1), rcx},
			"0 v type 0x74 param; " + ranged + "\n0 block 0x1000+256\n1 v type 0x74 param; " + ranged},
		{"also in an inlined call", [][]byte{local("v", 0x74, 0), rcx, record(symInlineSite, 0, 1<<16, 1), local("v", 0x74, 0), rcx}, "0 inlined \n1 v type 0x74; " + ranged},
		{"the argument of an inlined call", [][]byte{local("v", 0x74, 0), rcx, record(symInlineSite, 0, 1<<16, 1), local("v", 0x74, 1), rcx},
			"0 v type 0x74; " + ranged + "\n0 inlined \n1 v type 0x74 param; " + ranged},
		{"two unknown ones in two blocks", [][]byte{local("v", 0x74, 0), block(1 << 16), local("v", 0x74, 0)},
			"0 v type 0x74\n0 block 0x1000+256\n1 v type 0x74"},
	} {
		if got := flat(0x8664, readScope(0x8664, c.records...)); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, c.want)
		}
	}
}
