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
