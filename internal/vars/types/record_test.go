package types

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/unwind/arch"
)

var le = binary.LittleEndian

// handTypes are the type records of a PDB made by hand.
type handTypes struct {
	records []byte
	n       int
}

// fields writes numbers of two (uint16) and four bytes (int, pdb.TypeID), names, and bytes.
func fields(list ...any) (b []byte) {
	for _, f := range list {
		switch v := f.(type) {
		case uint16:
			b = le.AppendUint16(b, v)
		case int:
			b = le.AppendUint32(b, uint32(v))
		case pdb.TypeID:
			b = le.AppendUint32(b, uint32(v))
		case string:
			b = append(append(b, v...), 0)
		case []byte:
			b = append(b, v...)
		}
	}
	return b
}

// add adds a record, and returns its number.
func (h *handTypes) add(kind uint16, list ...any) pdb.TypeID {
	b := fields(list...)
	for len(b)%4 != 2 {
		b = append(b, 0xf0)
	}
	h.records = append(h.records, fields(uint16(len(b)+2), kind, b)...)
	h.n++
	return pdb.TypeID(0x1000 + h.n - 1)
}

// list adds a list of members, each of them padded.
func (h *handTypes) list(members ...[]byte) pdb.TypeID {
	var all []byte
	for _, m := range members {
		for len(m)%4 != 0 {
			m = append(m, 0xf0)
		}
		all = append(all, m...)
	}
	return h.add(0x1203, append(all, 0xf1, 0xf1))
}

// class adds LF_CLASS (0x1504), LF_STRUCTURE or, without members of its own, a declaration.
func (h *handTypes) class(kind uint16, name string, size uint16, members pdb.TypeID) pdb.TypeID {
	return h.add(kind, uint16(0), uint16(0x200), members, 0, 0, size, name, "unique"+name)
}

func (h *handTypes) forward(kind uint16, name string) pdb.TypeID {
	return h.add(kind, uint16(0), uint16(0x280), 0, 0, 0, uint16(0), name, "unique"+name)
}

// file writes the PDB of a machine.
func (h *handTypes) file(t *testing.T, machine uint16) *pdb.File {
	t.Helper()
	const block = 512
	tpi := append(fields(20040203, 56, 0x1000, 0x1000+h.n, len(h.records), uint16(0xffff), uint16(0xffff)), make([]byte, 56-24)...)
	dbi := make([]byte, 64)
	le.PutUint32(dbi, 0xffffffff)
	le.PutUint16(dbi[58:], machine)
	out := make([]byte, 3*block)
	var sizes, blocks []byte
	for _, s := range [][]byte{nil, fields(20000404, 1, 1, make([]byte, 16), 0, 0, 0, 0, 0), append(tpi, h.records...), dbi} {
		sizes = le.AppendUint32(sizes, uint32(len(s)))
		for len(s) > 0 {
			n := min(len(s), block)
			blocks = le.AppendUint32(blocks, uint32(len(out)/block))
			out = append(append(out, s[:n]...), make([]byte, block-n)...)
			s = s[n:]
		}
	}
	dir := fields(len(sizes)/4, sizes, blocks)
	if len(dir) > block {
		t.Fatal("too many types")
	}
	copy(out, "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00")
	copy(out[32:], fields(block, 1, len(out)/block+2, len(dir), 0, len(out)/block))
	out = append(append(out, fields(len(out)/block+1)...), make([]byte, block-4)...)
	out = append(append(out, dir...), make([]byte, block-len(dir))...)
	f, err := pdb.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pointer adds LF_POINTER of a size with qualifiers; mode is 1 for references, 4 for those of rvalues.
func (h *handTypes) pointer(to pdb.TypeID, mode, size int, quals pdb.Qualifiers) pdb.TypeID {
	a := 0x0c | mode<<5 | size<<13
	for q, bit := range map[pdb.Qualifiers]int{pdb.Const: 10, pdb.Volatile: 9, pdb.Restrict: 12} {
		if quals&q != 0 {
			a |= 1 << bit
		}
	}
	return h.add(0x1002, to, a)
}

// TestRecords reads the types of PDBs.
func TestRecords(t *testing.T) {
	const integer, char, wide, void, float, short = 0x74, 0x70, 0x71, 3, 0x40, 0x11
	h := &handTypes{}
	modifier := func(to pdb.TypeID, quals uint16) pdb.TypeID { return h.add(0x1001, to, quals) }
	args := func(list ...any) pdb.TypeID { return h.add(0x1201, append([]any{len(list)}, list...)...) }
	function := func(result pdb.TypeID, list ...any) pdb.TypeID {
		return h.add(0x1008, result, uint16(0), uint16(len(list)), args(list...))
	}
	array := func(of pdb.TypeID, size uint16) pdb.TypeID { return h.add(0x1503, of, 0x23, size, "") }
	member := func(name string, typ pdb.TypeID, off uint16) []byte {
		return fields(uint16(0x150d), uint16(3), typ, off, name)
	}

	constant := modifier(integer, 1)
	both := modifier(integer, 3)
	plain := modifier(integer, 4) // unaligned
	chain := pdb.TypeID(integer)
	for range MaxChain - 1 {
		chain = modifier(chain, 0)
	}
	longer := modifier(chain, 0)
	nullBit := h.add(0x1205, integer, []byte{3, 5})
	bits := h.add(0x1205, integer, []byte{5, 11})
	inner := h.class(0x1505, "ns::inner", 8, h.list(member("x", integer, 0), member("y", integer, 4)))
	vector := h.add(0x151b, float, 4, uint16(16), "")
	alias := h.add(0x150a, integer, "number")
	enum := h.add(0x1507, uint16(2), uint16(0), short, h.list(fields(uint16(0x1502), uint16(3), uint16(5), "five"), fields(uint16(0x1502), uint16(3), uint16(0x8000), []byte{0xff}, "less")), "colour")
	union := h.add(0x1506, uint16(1), uint16(0), h.list(member("u", integer, 0)), uint16(4), "either")
	class := h.class(0x1504, "ns::box<a::b>", 24, h.list(
		fields(uint16(0x1400), uint16(3), inner, uint16(8)),
		fields(uint16(0x1401), uint16(3), inner, 0x674, uint16(16), uint16(2)),
		fields(uint16(0x1402), uint16(3), inner, 0x674, uint16(16), uint16(3)),
		fields(uint16(0x1409), uint16(0), 0x674),
		fields(uint16(0x150e), uint16(3), pdb.TypeID(integer), "shared"),
		member("flags", bits, 4), member("low", nullBit, 4), member("last", integer, 20)))
	declared := h.forward(0x1505, "ns::later")
	declaredArray := array(declared, 36)
	h.class(0x1505, "ns::other", 8, 0)
	later := h.class(0x1505, "ns::later", 12, h.list(member("z", integer, 8)))
	missing := h.forward(0x1505, "ns::missing")
	itanium := h.add(0x1505, uint16(0), uint16(0x200), h.list(fields(uint16(0x1401), uint16(3), inner, 0x674, uint16(0), uint16(4))), 0, 0, uint16(8), "v", "_ZTS1v")
	aliases := alias
	for range MaxChain - 2 {
		aliases = h.add(0x150a, aliases, "again")
	}
	types := []struct {
		id      pdb.TypeID
		want    string // in C++: name, kind, size
		members string
	}{
		{void, "void 0 0", ""}, {integer, "int 36 4", ""}, {0x674, "int * 15 8", ""}, {0x474, "int * 15 4", ""}, {0x103, "std::nullptr_t 59 8", ""},
		{constant, "const int 38 0", ""}, {both, "const volatile int 38 0", ""}, {plain, "int 36 4", ""}, {chain, "int 36 4", ""}, {longer, "0x74 19 0 declared", ""},
		{h.pointer(integer, 0, 8, 0), "int * 15 8", ""}, {h.pointer(integer, 0, 4, 0), "int * 15 4", ""}, {h.pointer(integer, 0, 8, pdb.Const), "int * const 38 0", ""},
		{h.pointer(integer, 0, 8, pdb.Volatile), "int * volatile 53 0", ""}, {h.pointer(integer, 0, 8, pdb.Restrict), "int * restrict 55 0", ""},
		{h.pointer(constant, 0, 8, 7), "const int * restrict volatile const 38 0", ""}, {h.pointer(integer, 1, 8, 0), "int & 16 8", ""}, {h.pointer(integer, 4, 8, 0), "int && 66 8", ""},
		{h.add(0x1002, pdb.TypeID(integer), 0x0c|2<<5|4<<13, inner, uint16(1)), "int ns::inner::* 31 4", ""},
		{h.add(0x1002, function(void, pdb.TypeID(integer)), 0x0c|3<<5|8<<13, inner, uint16(1)), "void (ns::inner::*)(int) 31 8", ""},
		{function(integer), "int (void) 21 0", ""}, {function(integer, pdb.TypeID(char), pdb.TypeID(0x674)), "int (char, int *) 21 0", ""}, {function(void, pdb.TypeID(char), 0), "void (char, ...) 21 0", ""},
		{h.add(0x1009, pdb.TypeID(integer), inner, 0, uint16(0), uint16(1), args(pdb.TypeID(char)), 0), "int (char) 21 0", ""},
		{array(integer, 12), "int [3] 1 12", ""}, {array(array(integer, 12), 24), "int [2][3] 1 24", ""}, {array(void, 12), "void [0] 1 12", ""}, {array(constant, 8), "const int [2] 1 8", ""},
		{array(alias, 8), "number [2] 1 8", ""}, {array(enum, 8), "colour [4] 1 8", ""}, {declaredArray, "ns::later [3] 1 36", ""}, {array(missing, 8), "ns::missing [0] 1 8", ""}, {array(0x9999, 8), "0x9999 [0] 1 8", ""},
		{array(aliases, 8), "again [2] 1 8", ""}, {array(h.add(0x150a, aliases, "more"), 8), "more [0] 1 8", ""},
		{vector, "float __attribute__ ((vector_size(4))) 1 16 vector", ""}, {alias, "number 22 0", ""}, {enum, "colour 4 2", "five=5, less=-1"}, {union, "either 23 4", "u@0"},
		{inner, "ns::inner 19 8", "x@0, y@4"}, {modifier(inner, 4), "ns::inner 19 8", "x@0, y@4"},
		{class, "ns::box<a::b> 2 24", "@8 base, @16 base virtual {16 2 false}, __vfptr@0, shared@0 static, flags@5:5@43, low@4:3@37, last@20"},
		{itanium, "v 19 8", "@0 base virtual {0 4 true}"},
		{declared, "ns::later 19 0 declared", "z@8"}, {later, "ns::later 19 12", "z@8"}, {missing, "ns::missing 19 0 declared", ""},
		{bits, "0x%x 19 0 declared", ""}, {0x9999, "0x9999 19 0 declared", ""}, {h.add(0x1234), "0x%x 19 0 declared", ""}, {wide, "wchar_t 36 2", ""},
	}
	set := NewSet(arch.AMD64, nil)
	db := set.Database(h.file(t, 0x8664), dwarf.LangCPlusPlus)
	if set.Database(db.File, dwarf.LangCPlusPlus) != db || set.Database(db.File, dwarf.LangC) == db {
		t.Error("a PDB has one Database for each language")
	}
	for _, c := range types {
		typ := set.Of(db.Type(c.id))
		got := fmt.Sprintf("%s %d %d", typ.Name(), typ.Tag, typ.ByteSize)
		if typ.Declared {
			got += " declared"
		}
		if typ.Vector {
			got += " vector"
		}
		if want := strings.ReplaceAll(c.want, "0x%x", fmt.Sprintf("%#x", uint32(c.id))); got != want {
			t.Errorf("%#x: %s, want %s", uint32(c.id), got, want)
		}
		var members []string
		for _, f := range typ.Members().Fields {
			text := fmt.Sprintf("%s@%d", f.Name, f.Off)
			if f.Bits != 0 {
				text += fmt.Sprintf(":%d@%d", f.Bits, f.BitOff)
			}
			for word, is := range map[string]bool{" base": f.Base, " static": f.Static} {
				if is {
					text += word
				}
			}
			if f.Virtual {
				text += fmt.Sprintf(" virtual %v", *f.Table)
			}
			members = append(members, text)
		}
		for _, e := range typ.Members().Enums {
			members = append(members, fmt.Sprintf("%s=%d", e.Name, int64(e.Val)))
		}
		if got := strings.Join(members, ", "); got != c.members {
			t.Errorf("members of %s: %s, want %s", typ.Name(), got, c.members)
		}
	}

	full, ok := set.Complete(set.Of(db.Type(declared)))
	if again, _ := set.Complete(set.Of(db.Type(declared))); !ok || full != set.Of(db.Type(later)) || again != full {
		t.Errorf("the definition is %s, %v", full.Name(), ok)
	}
	for range 2 {
		for _, id := range []pdb.TypeID{missing, 0x9999} {
			if full, ok := set.Complete(set.Of(db.Type(id))); ok || full.Ref.Valid() {
				t.Errorf("%#x is defined by %s", uint32(id), full.Name())
			}
		}
	}
	if in := set.Of(db.Type(inner)); in.Elem.Valid() || in.Class.Valid() {
		t.Error("a struct refers to a type")
	}
	if n := set.Of(db.Type(declaredArray)).Whole(); n != 36 {
		t.Errorf("an array of declarations has %d bytes", n)
	}
	in := set.Of(set.Database(db.File, dwarf.LangC).Type(inner))
	if in.Name() != "struct ns::inner" || in.BareName != "ns::inner" {
		t.Errorf("in C: %s, %s", in.Name(), in.BareName)
	}
	box := set.Of(db.Type(class)).Definition(Layout{Methods: true}) // whose entries say nothing of access, nor of methods
	if got := strings.Join(box, "|"); !strings.HasPrefix(got, "class ns::box<a::b> : ") || !strings.HasSuffix(got, "|}") {
		t.Errorf("%s", got)
	}
	for id, want := range map[pdb.TypeID]string{inner: "inner", class: "box<a::b>", enum: "colour", integer: "int"} {
		if got := set.Of(db.Type(id)).BareName; got != want {
			t.Errorf("%s is called %s", want, got)
		}
	}
	for id, want := range map[pdb.TypeID]Encoding{0x10: EncSignedChar, 0x20: EncUnsignedChar, 0x74: EncSigned, 0x75: EncUnsigned, 0x71: EncUTF, 0x30: EncBoolean, 0x40: EncFloat, 0x50: EncComplexFloat, 0x674: 0} {
		if got := set.Of(db.Type(id)).Encoding; got != want {
			t.Errorf("%#x has encoding %d, want %d", uint32(id), got, want)
		}
	}
}

// TestRecordPointers reads pointers that do not say their size: it is that of the machine's addresses.
func TestRecordPointers(t *testing.T) {
	h := &handTypes{}
	p := h.add(0x1002, pdb.TypeID(0x74), 0) // a near pointer of 16 bits
	r := h.add(0x1002, pdb.TypeID(0x74), 1<<5)
	for a, want := range map[*arch.Arch]uint64{arch.AMD64: 8, arch.X86: 4} {
		set := NewSet(a, nil)
		db := set.Database(h.file(t, 0x8664), dwarf.LangC)
		for _, id := range []pdb.TypeID{p, r} {
			typ := set.Of(db.Type(id))
			if in, err := typ.SizeIn(nil); in != want || err != nil || typ.Size() != want {
				t.Errorf("%s: %s has %d bytes, and %d in a frame, %v", a.Name, typ.Name(), typ.Size(), in, err)
			}
		}
	}
}
