package dwarfvars

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestVariantLists chooses alternatives by values and by lists of values and
// ranges, whose numbers have the sign of the discriminant.
func TestVariantLists(t *testing.T) {
	for _, tc := range []struct {
		name  string
		enc   types.Encoding
		list  []byte
		discr byte
		want  string
	}{
		{"the value", types.EncUnsigned, []byte{0, 7}, 5, "E::One(1)"},
		{"in the list", types.EncUnsigned, []byte{0, 7}, 7, "E::Some(1)"},
		{"first of a range", types.EncUnsigned, []byte{0, 7, 1, 10, 20}, 10, "E::Some(1)"},
		{"last of a range", types.EncUnsigned, []byte{0, 7, 1, 10, 20}, 20, "E::Some(1)"},
		{"past a range", types.EncUnsigned, []byte{0, 7, 1, 10, 20}, 21, "E::Rest(1)"},
		{"above 127", types.EncUnsigned, []byte{1, 0xc8, 1, 0xff, 1}, 0xff, "E::Some(1)"},
		{"signed", types.EncSigned, []byte{1, 0x7d, 0x7f}, 0xfe, "E::Some(1)"},
		{"signed, below", types.EncSigned, []byte{1, 0x7d, 0x7f}, 0xfc, "E::Rest(1)"},
		{"cut short", types.EncUnsigned, []byte{1, 10}, 10, "E::Rest(1)"},
		{"of a kind that is not known", types.EncUnsigned, []byte{9, 10, 10}, 10, "E::Rest(1)"},
	} {
		tag, u32 := base("tag", tc.enc, 1), base("u32", types.EncUnsigned, 4)
		alternative := func(name string) (*handDIE, *handDIE) {
			typ := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrByteSize, 8}).with(
				die(dwarf.TagMember, handAttr{dwarf.AttrName, "__0"}, handAttr{dwarf.AttrType, u32}, handAttr{dwarf.AttrDataMemberLoc, 4}))
			return typ, die(dwarf.TagMember, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrDataMemberLoc, 0})
		}
		one, oneIn := alternative("One")
		some, someIn := alternative("Some")
		rest, restIn := alternative("Rest")
		discr := die(dwarf.TagMember, handAttr{dwarf.AttrType, tag}, handAttr{dwarf.AttrDataMemberLoc, 0})
		enum := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "E"}, handAttr{dwarf.AttrByteSize, 8}).with(
			die(dwarf.TagVariantPart, handAttr{dwarf.AttrDiscr, discr}).with(discr,
				die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 5}).with(oneIn),
				die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrList, handBlock(tc.list)}).with(someIn),
				die(dwarf.TagVariant).with(restIn)))
		p := newHand(arch.AMD64, 16)
		copy(p.mem, []byte{tc.discr, 0, 0, 0, 1})
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase, 8)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangRust, place, enum, tag, u32, one, some, rest); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestRustReferences shows what references and boxes point to, but no raw pointers.
func TestRustReferences(t *testing.T) {
	for name, want := range map[string]string{
		"&i32":     "@0x10010: -5",
		"&mut i32": "@0x10010: -5",
		"alloc::boxed::Box<i32, alloc::alloc::Global>": "@0x10010: -5",
		"*const i32": "0x10010",
	} {
		i32 := base("i32", types.EncSigned, 4)
		pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrType, i32})
		p := newHand(arch.AMD64, 32)
		p.put(handBase, 8, handBase+16)
		p.put(handBase+16, 4, 0xfffffffb)
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase, 8)...)
		p.libs = noLibraries{}
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangRust, place, pointer, i32); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestAdaVariants reads records whose discriminants, members like others, decide which members there are, also one in the other.
func TestAdaVariants(t *testing.T) {
	for _, tc := range []struct {
		name         string
		outer, inner byte
		deep         int
		want         string
	}{
		{"one", 1, 0, 0, "{k = 1, n = 0, one = 7}"},
		{"the inner", 2, 1, 0, "{k = 2, n = 1, two = 7, three = 8}"},
		{"no inner", 2, 5, 0, "{k = 2, n = 5, two = 7}"},
		{"none", 9, 0, 0, "{k = 9, n = 0}"},
		{"as deep as may be", 1, 0, 15, "{k = 1, n = 0, one = 7}"},
		{"too deep", 1, 0, 64, "{k = 1, n = 0}"},
	} {
		tag, u32 := base("tag", types.EncUnsigned, 1), base("u32", types.EncUnsigned, 4)
		member := func(name string, of *handDIE, at int) *handDIE {
			return die(dwarf.TagMember, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrType, of}, handAttr{dwarf.AttrDataMemberLoc, at})
		}
		k, n := member("k", tag, 0), member("n", tag, 1)
		inner := die(dwarf.TagVariantPart, handAttr{dwarf.AttrDiscr, n}).with(die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 1}).with(member("three", u32, 8)))
		part := die(dwarf.TagVariantPart, handAttr{dwarf.AttrDiscr, k}).with(
			die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 1}).with(member("one", u32, 4)),
			die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 2}).with(member("two", u32, 4), inner))
		for range tc.deep {
			part = die(dwarf.TagVariantPart, handAttr{dwarf.AttrDiscr, k}).with(die(dwarf.TagVariant, handAttr{dwarf.AttrDiscrValue, 1}).with(part))
		}
		record := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "r"}, handAttr{dwarf.AttrByteSize, 12}).with(k, n, part)
		p := newHand(arch.AMD64, 16)
		copy(p.mem, []byte{tc.outer, tc.inner, 0, 0, 7, 0, 0, 0, 8})
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase, 8)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangAda95, place, record, tag, u32); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestSets reads sets of Pascal: a bit for each number, from 0 on.
func TestSets(t *testing.T) {
	char, number := base("char", types.EncUnsignedChar, 1), base("byte", types.EncUnsigned, 1)
	for _, tc := range []struct {
		of   *handDIE
		size int
		mem  []byte
		want string
	}{
		{number, 2, []byte{0x86, 0x01}, "[1..2, 7..8]"}, {number, 1, []byte{0}, "[]"}, {number, 1, []byte{0x81}, "[0, 7]"},
		{char, 16, []byte{8: 0, 12: 0x0e, 15: 0x04}, "['a'..'c', 'z']"},
		{number, 1024, nil, "<corrupt location: exceeds a limit>"},
	} {
		set := die(dwarf.TagSetType, handAttr{dwarf.AttrByteSize, tc.size}, handAttr{dwarf.AttrType, tc.of})
		p := newHand(arch.AMD64, 16)
		copy(p.mem, tc.mem)
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase, 8)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangPascal83, place, set, char, number); got != tc.want {
			t.Errorf("%d bytes: %s, want %s", tc.size, got, tc.want)
		}
	}
}

// TestTablesOfD reads associative arrays whose numbers the process may have overwritten: those that do not fit the types are no tables.
func TestTablesOfD(t *testing.T) {
	const impl, buckets, entry = handBase + 16, handBase + 80, handBase + 112
	for name, c := range map[string]struct {
		at, value uint64 // what is written over
		size      int
		want      string
	}{
		"whole":             {impl + 24, 0, 1, "uint[uint] with 1 element = {[7] = 9}"},
		"null":              {handBase, 0, 8, "null"},
		"elsewhere":         {handBase, 0x7fff0000, 8, "{ptr = 0x7fff0000}"},
		"of another key":    {impl + 36, 8, 4, "{ptr = 0x10010}"},
		"of another value":  {impl + 40, 8, 4, "{ptr = 0x10010}"},
		"value in the key":  {impl + 44, 3, 4, "{ptr = 0x10010}"},
		"value far away":    {impl + 44, 69, 4, "{ptr = 0x10010}"},
		"more than there":   {impl + 16, 3, 4, "{ptr = 0x10010}"},
		"more are deleted":  {impl + 20, 2, 4, "{ptr = 0x10010}"},
		"very large":        {impl, 1 << 62, 8, "{ptr = 0x10010}"},
		"no buckets":        {impl + 8, 0, 8, "uint[uint] with 1 element = {...}"},
		"no entry":          {buckets + 24, 0, 8, "uint[uint] with 1 element = {[<no memory at 0x0>] = <no memory at 0x4>}"},
		"buckets are empty": {buckets + 16, 0, 8, "uint[uint] with 1 element"},
	} {
		u32, void := base("uint", types.EncUnsigned, 4), die(dwarf.TagPointerType, handAttr{dwarf.AttrByteSize, 8})
		ptr := die(dwarf.TagMember, handAttr{dwarf.AttrName, "ptr"}, handAttr{dwarf.AttrType, void}, handAttr{dwarf.AttrDataMemberLoc, 0})
		table := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "uint[uint]"}, handAttr{dwarf.AttrByteSize, 8}).with(ptr)
		p := newHand(arch.AMD64, 128)
		p.libs = noLibraries{}
		p.put(handBase, 8, impl)
		p.put(impl, 8, 2)
		p.put(impl+8, 8, buckets)
		p.put(impl+16, 4, 1)
		p.put(impl+36, 4, 4)
		p.put(impl+40, 4, 4)
		p.put(impl+44, 4, 4)
		p.put(buckets+16, 8, 1<<63)
		p.put(buckets+24, 8, entry)
		p.put(entry, 4, 7)
		p.put(entry+4, 4, 9)
		p.put(c.at, c.size, c.value)
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase, 8)...)
		if got := handValue(t, p, p.walk(t), 0, dwarf.LangD, place, table, u32, void); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
