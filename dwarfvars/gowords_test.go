package dwarfvars

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Pieces are the parts of a variable whose order and size fit; what fits two ways is not known.
func TestArrange(t *testing.T) {
	text := []goPart{{0, 16, false, true}, {0, 8, true, false}, {8, 8, false, false}}
	slice := []goPart{{0, 24, false, true}, {0, 8, true, false}, {8, 8, false, false}, {16, 8, false, false}}
	mixedSizes := []goPart{{0, 24, false, true}, {0, 8, false, false}, {8, 4, false, false}, {16, 8, false, false}}
	for _, c := range []struct {
		name   string
		parts  []goPart
		pieces string // a size and a register; "-" nowhere
		want   string // the offsets of each piece
	}{
		{"a string", text, "8:0 8:3", "0 8"},
		{"a part without place", text, "8:- 8:3", "0 8"},
		{"a slice", slice, "8:0 8:3 8:2", "0 8 16"},
		{"a length that is the capacity", slice, "8:0 8:3 8:3", "0 8 16"},
		{"two words of a slice", slice, "8:0 8:3", "0,8 8,16"},
		{"the whole, which is nowhere, before its parts", slice, "24:- 8:0 8:3 8:2", "0 0 8 16"},
		{"the pointer twice", slice, "8:3 8:3 8:2 8:5", "0 0 8 16"},
		{"a word twice, and another", slice, "8:3 8:3 8:2", "0,8 0,8 8,16"},
		{"a part of one size", mixedSizes, "4:0", "8"},
		{"a part before one of one size", mixedSizes, "8:0 4:1", "0 8"},
		{"two parts after one another that overlap", mixedSizes, "4:0 8:1", "8 16"},
		{"a size that no part has", slice, "8:0 4:1", ""},
		{"too many", text, "8:0 8:1 8:2", ""},
		{"none", text, "", ""},
	} {
		var pieces []op.Piece
		for _, word := range strings.Fields(c.pieces) {
			var p op.Piece
			if _, err := fmt.Sscanf(word, "%d:%d", &p.BitSize, &p.Loc.Reg); err == nil {
				p.Loc.Kind = op.Register
			}
			p.BitSize *= 8
			pieces = append(pieces, p)
		}
		var got []string
		for _, fit := range arrange(c.parts, pieces) {
			var offs []string
			for _, i := range fit {
				if s := fmt.Sprint(c.parts[i].off); len(offs) == 0 || offs[len(offs)-1] != s {
					offs = append(offs, s)
				}
			}
			got = append(got, strings.Join(offs, ","))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// TestGoWords reads variables of Go of which the compiler kept some words, from what its location lists have.
func TestGoWords(t *testing.T) {
	const rax, rbx, rcx = op.Reg0, op.Reg0 + 3, op.Reg0 + 2 // 7, elements, 2
	const below, above = 0x70, 0x10                         // the frame base and -16 or 16
	const elements = handBase + 0x40
	p := newHand(arch.AMD64, 0x100)
	p.regs.Set(arch.RAX, 7)
	p.regs.Set(arch.RBX, elements)
	p.regs.Set(arch.RCX, 2)
	p.regs.Set(arch.RDX, 0)
	for i, v := range []uint64{21, 22, 23} {
		p.put(handBase+0x70+8*uint64(i), 8, v) // below
		p.put(handBase+0x90+8*uint64(i), 8, v) // above
	}
	for i := range uint64(3) {
		p.put(elements+i, 1, i+1)
	}
	word, char := base("int", types.EncSigned, 8), base("int8", types.EncSigned, 1)
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, char}, handAttr{dwarf.AttrByteSize, 8})
	record := func(name string, size int, kind int, members ...any) *handDIE {
		d := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrByteSize, size}, handAttr{dwarf.AttrGoKind, kind})
		for i := 0; i < len(members); i += 3 {
			d.with(die(dwarf.TagMember, handAttr{dwarf.AttrName, members[i]}, handAttr{dwarf.AttrType, members[i+1]}, handAttr{dwarf.AttrDataMemberLoc, members[i+2]}))
		}
		return d
	}
	pair := record("main.pair", 16, 25, "a", word, 0, "b", word, 8)
	mixed := record("main.mixed", 16, 25, "a", char, 0, "b", word, 8)
	inner := record("main.inner", 8, 25, "a", word, 0)
	nested := record("main.nested", 16, 25, "in", inner, 0, "b", word, 8)
	around := record("main.around", 24, 25, "p", pair, 0, "c", word, 16)
	slice := record("[]int8", 24, types.GoSlice, "array", pointer, 0, "len", word, 8, "cap", word, 16)
	one := record("main.one", 8, 25, "a", word, 0)
	handle := record("main.handle", 8, 25, "p", pointer, 0)
	const apart = "optimised out but for unnamed words"
	pieces := func(list ...any) (b []byte) { // sizes, each behind its place
		for _, x := range list {
			switch x := x.(type) {
			case op.Op:
				b = append(b, byte(x))
			case []byte:
				b = append(b, x...)
			case int:
				b = append(b, byte(op.OpPiece), byte(x))
			}
		}
		return b
	}
	here := func(expr []byte) []handLoc { return []handLoc{{0x1000, 0x1010, expr}} }
	down, up := ops(op.Fbreg, below), ops(op.Fbreg, above)
	for _, c := range []struct {
		name     string
		typ      *handDIE
		place    any
		producer string
		want     string
	}{
		{"all words", pair, here(pieces(rax, 8, rcx, 8)), "", "{a = 7, b = 2}"},
		{"one word", pair, here(ops(rax)), "", "<" + apart + ">"},
		{"a word in memory that was in a register", pair, []handLoc{{0x500, 0x1000, ops(rax)}, {0x1000, 0x1010, down}}, "", "<" + apart + ">"},
		{"its one place is in the frame", pair, []handLoc{{0x500, 0x1000, down}, {0x1000, 0x1010, down}}, "", "{a = 21, b = 22}"},
		{"an argument on the stack", pair, here(up), "", "<" + apart + ">"},
		{"one that is not optimised", pair, here(up), "Go cmd/compile go1.26; -N -l; regabi", "{a = 21, b = 22}"},
		{"a flag like that", pair, here(up), "Go cmd/compile go1.26; -Nx", "<" + apart + ">"},
		{"no list", pair, up, "", "{a = 21, b = 22}"},
		{"a type of one word", one, here(ops(rax)), "", "{a = 7}"},
		{"a type of one pointer", handle, here(ops(rcx)), "", "{p = 0x2}"},
		{"one of one word inside", nested, here(pieces(rax, 8, rcx, 8)), "", "{in = {a = 7}, b = 2}"},
		{"padding between", mixed, here(pieces(rax, 1, rcx, 8)), "", "{a = 7, b = 2}"},
		{"the last word alone", mixed, here(pieces(1, rcx, 8)), "", "{a = <optimised out>, b = 2}"},
		{"padding as registers have it", mixed, here(pieces(rax, 1, 7, rcx, 8)), "Go cmd/compile go1.26; -N", "{a = 7, b = 2}"},
		{"the whole and its words", around, here(pieces(24, 16, rax, 8, rcx, 8, rcx, 8)), "", "{p = {a = 7, b = 2}, c = 2}"},
		{"a whole in a register", around, here(pieces(rax, 16, 8, rcx, 8, 8)), "", "{p = {a = <optimised out>, b = 2}, c = <optimised out>}"},
		{"a whole in a register, and no word", around, here(pieces(rax, 16, 8, 8, rcx, 8)), "", "{p = {a = <optimised out>, b = <optimised out>}, c = 2}"},
		{"a slice in memory, where its pointer is, too", slice, here(pieces(down, 24, down, 8, 8, 8)), "", "{array = 0x15, len = <optimised out>, cap = <optimised out>}"},
		{"a whole in memory, a word of it elsewhere", around, here(pieces(down, 16, rax, 8, 8, rcx, 8)), "", "{p = {a = 7, b = <optimised out>}, c = 2}"},
		{"a word elsewhere behind a whole in memory", around, here(pieces(down, 16, 8, rax, 8, rcx, 8)), "", "{p = {a = <optimised out>, b = 7}, c = 2}"},
		{"a whole in memory", around, here(pieces(down, 16, 8, 8, rcx, 8)), "", "{p = {a = 21, b = 22}, c = 2}"},
		{"a slice", slice, here(pieces(rbx, 8, rcx, 8, rax, 8)), "", "[]int8 (len 2, cap 7) = {1, 2}"},
		{"a pointer twice", slice, here(pieces(rbx, 8, rbx, 8, rcx, 8, rax, 8)), "", "[]int8 (len 2, cap 7) = {1, 2}"},
		{"pointer, and length or capacity", slice, here(pieces(rbx, 8, rcx, 8)), "", "[]int8 (len or cap 2) = {1, 2}"},
		{"the pointer twice, and another", slice, here(pieces(rbx, 8, rbx, 8, rcx, 8)), "", "[]int8 (len or cap 2) = {1, 2}"},
		{"nothing, and another", slice, here(pieces(op.Reg0+1, 8, rax, 8)), "", "{array = <optimised out>, len = 0, cap = 7}"},
		{"length and capacity, or pointer and length", slice, here(pieces(rcx, 8, rax, 8)), "", "<" + apart + ">"},
		{"one of two words", slice, here(pieces(rbx, 8, 8)), "", "<" + apart + ">"},
		{"sizes that it has not", slice, here(pieces(rbx, 4, rcx, 8)), "", "<" + apart + ">"},
	} {
		root := die(dwarf.TagCompileUnit, handAttr{dwarf.AttrProducer, c.producer}, handAttr{dwarf.AttrFrameBase, atAddr(handBase + 0x80)})
		v := located(die(dwarf.TagVariable, handAttr{dwarf.AttrName, "v"}), c.typ, c.place)
		u := unit(t, p.arch.ByteOrder, 8, dwarf.LangGo, root, word, char, pointer, pair, mixed, inner, nested, around, slice, one, handle, die(dwarf.TagSubprogram).with(v))
		a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
		if got := a.Read(a.variable(v.in(u)), Options{}).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		a.Close()
	}
}

// TestReasonOfWords: that words are not told apart is a way to be optimised out, and stays what it is in expressions.
func TestReasonOfWords(t *testing.T) {
	for _, err := range []error{unknown.ErrPart, unknown.ErrCapacity} {
		if got := unknown.Reason(fmt.Errorf("v: %w", err)); got != err || !errors.Is(got, ErrOptimisedOut) {
			t.Errorf("%v: %v", err, got)
		}
	}
}
