package dwarfvars

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// refTo is an operator with the offset of an entry in size bytes, and what follows it.
func refTo(o op.Op, d *handDIE, size int, more ...op.Op) func() []byte {
	return refIn(o, d, size, &handDIE{}, more...)
}

// refIn is refTo with an offset that counts from an entry.
func refIn(o op.Op, d *handDIE, size int, from *handDIE, more ...op.Op) func() []byte {
	return func() []byte {
		return slices.Concat(ops(o), bytesOf(binary.LittleEndian, uint64(d.off-from.off), size), ops(more...))
	}
}

// typed is DW_OP_convert to a base type, in the first unit of a file.
func typed(before []byte, d *handDIE, more ...op.Op) func() []byte {
	return func() []byte {
		return slices.Concat(before, binary.AppendUvarint(ops(op.Convert), uint64(d.off)), ops(more...))
	}
}

// TestVariablesAsNumbers: the value of a variable or a DWARF procedure that an expression or the
// bound of an array refers to.
func TestVariablesAsNumbers(t *testing.T) {
	const reg = byte(op.Reg0) + 3
	i8, i16, u32, i64 := base("char", types.EncSignedChar, 1), base("short", types.EncSigned, 2), base("unsigned", types.EncUnsigned, 4), base("long long", types.EncSigned, 8)
	wide := named(dwarf.TagStructureType, "wide", handAttr{dwarf.AttrByteSize, 9})
	of := func(typ *handDIE, place any, more ...handAttr) *handDIE {
		return located(die(dwarf.TagVariable, more...), typ, place)
	}
	for _, c := range []struct {
		name       string
		d          *handDIE
		of64, of32 string
	}{
		{"a constant", die(dwarf.TagVariable, handAttr{dwarf.AttrConstValue, 7}), "7", "7"},
		{"a constant with a place", of(i8, []byte{reg}, handAttr{dwarf.AttrConstValue, 7}), "fffffffffffffff2", "fffffffffffffff2"},
		{"nothing", die(dwarf.TagVariable), "optimised out", ""},
		{"no place here", of(i8, []handLoc{{0x5000, 0x6000, []byte{reg}}}), "optimised out", ""},
		{"an empty place", of(i8, []byte{}), "optimised out", ""},
		{"an empty piece", of(i8, piece(nil, 1)), "a variable in pieces as an operand", ""},
		{"a place that is damaged", of(i8, ops(op.Addr)), "corrupt location: ...", ""},
		{"not a place", of(i8, "x"), "unit at .debug_info+0x0: form 0x8 is not a location: malformed DWARF", ""},
		{"a register", of(i16, []byte{reg}), "fffffffffffffff2", "fffffffffffffff2"},
		{"a register without a sign", of(u32, []byte{reg}), "fffffff2", "fffffff2"},
		{"a register that is not known", of(u32, []byte{byte(op.Reg0) + 17}), "xmm0 not recovered", "st6 not recovered"},
		{"memory", of(i8, []byte{byte(op.Breg0) + 4, 1}), "ffffffffffffff81", "ffffffffffffff81"},
		{"memory of 8 bytes", of(i64, []byte{byte(op.Breg0) + 4, 0}), "8877665544338180", "8877665544338180"},
		{"memory of a struct", of(wide, []byte{byte(op.Breg0) + 4, 0}), "8877665544338180", "44338180"},
		{"no memory", of(i64, []byte{byte(op.Breg0) + 4, 60}), "no memory at 0x1003c", ""},
		{"a computed number", of(i8, ops(op.Const2u, 0x82, 0x01, op.OpStackValue)), "ffffffffffffff82", "ffffffffffffff82"},
		{"bytes", of(u32, append(ops(op.OpImplicitValue), 2, 3, 4)), "403", "403"},
		{"nothing computed", of(i8, ops(op.Nop)), "optimised out", ""},
		{"memory without a type", die(dwarf.TagVariable, handAttr{dwarf.AttrLocation, []byte{byte(op.Breg0) + 4, 0}}), "8877665544338180", "44338180"},
		{"a place without a type", die(dwarf.TagVariable, handAttr{dwarf.AttrLocation, []byte{reg}}), "fffffff2", "fffffff2"},
	} {
		for _, a := range []*arch.Arch{arch.AMD64, arch.X86} {
			want := c.of64
			if a == arch.X86 && c.of32 != "" {
				want = c.of32
			}
			u := unit(t, a.ByteOrder, a.WordSize, dwarf.LangC99, i8, i16, u32, i64, wide, c.d)
			p := newHand(a, 16)
			copy(p.mem, []byte{0x80, 0x81, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88})
			r3, _ := a.FromDWARF(3)
			r4, _ := a.FromDWARF(4)
			p.regs.Set(r3, a.Truncate(0xfffffff2))
			p.regs.Set(r4, handBase)
			act := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
			if got := result(act.e.integer(c.d.in(u))); got != want && !strings.HasSuffix(want, " ...") || !strings.HasPrefix(got, strings.TrimSuffix(want, "...")) {
				t.Errorf("%s, %s: %s, want %s", a.Name, c.name, got, want)
			}
			act.Close()
		}
	}
}

// TestNestedExpressions: variables that count on one another, as many as may, and one more.
func TestNestedExpressions(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	list := []*handDIE{integer, local("v", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrConstValue, 7})}
	for range maxNested + 1 {
		list = append(list, located(local("v"), integer, refTo(op.GNUVariableValue, list[len(list)-1], 4, op.OpStackValue)))
	}
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, list...)
	p := newHand(arch.AMD64, 16)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	if n, err := a.e.integer(list[len(list)-2].in(u)); n != 7 || err != nil {
		t.Errorf("24 nested: %d, %v", n, err)
	}
	if n, err := a.e.integer(list[len(list)-1].in(u)); n != 0 || !errors.Is(err, unknown.ErrLimit) {
		t.Errorf("25 nested: %d, %v", n, err)
	}
}

// TestExpressions reads variables in places that expressions compute with what only the
// debugging information, the frame or the process can tell.
func TestExpressions(t *testing.T) {
	const base0 = handBase - 0x1000 // what a file's address is, with the bias
	for _, version := range []int{2, 4, dwarf64 + 4} {
		refSize := map[int]int{2: 8, 4: 4, dwarf64 + 4: 8}[version]
		integer, small, float := base("int", types.EncSigned, 4), base("signed char", types.EncSignedChar, 1), base("double", types.EncFloat, 8)
		before := &handDIE{} // where the unit begins, which is behind another one
		root := die(dwarf.TagCompileUnit, handAttr{dwarf.AttrName, func() []byte {
			before.off = before.kids[0].off - map[bool]uint32{true: 23, false: 11}[version > dwarf64]
			return nil
		}})
		before.kids = []*handDIE{root}
		typed := func(first []byte, d *handDIE, more ...op.Op) func() []byte {
			return func() []byte {
				return slices.Concat(first, binary.AppendUvarint(ops(op.Convert), uint64(d.off-before.off)), ops(more...))
			}
		}
		bad := die(dwarf.TagDwarfProcedure, handAttr{dwarf.AttrLocation, "text"})
		proc := die(dwarf.TagDwarfProcedure, handAttr{dwarf.AttrLocation, ops(op.Lit0 + 5)})
		lost := die(dwarf.TagDwarfProcedure)
		later := die(dwarf.TagDwarfProcedure, handAttr{dwarf.AttrLocation, []handLoc{{0x5000, 0x6000, ops(op.Lit0 + 5)}, {0, 0x5000, ops(op.Lit0 + 6)}}})
		one, two := local("one", handAttr{dwarf.AttrConstValue, 1}, handAttr{dwarf.AttrType, integer}), local("two", handAttr{dwarf.AttrConstValue, 2})
		of := func(typ *handDIE, place any) *handDIE { return located(local("v"), typ, place) }
		type row struct {
			v    *handDIE
			want string
		}
		list := []row{
			{of(integer, ops(op.Const2u, 0x34, 0x12, op.OpStackValue)), "4660"},
			{of(integer, ops(op.Constx, 1, op.OpStackValue)), fmt.Sprint(handIndexed + 0x10)},
			{of(integer, ops(op.Constx, 199, 1, op.OpStackValue)), fmt.Sprint(handIndexed + 0xc70)},
			{of(integer, ops(op.Constx, 200, 1, op.OpStackValue)), "<corrupt location: DW_OP_constx at offset 0x0: address number 200: malformed DWARF>"},
			{of(integer, atAddr(base0+4)), "17"},
			{of(integer, ops(op.Addrx, 1)), "<no memory at 0x301010>"},
			{of(integer, ops(op.CallFrameCFA)), "<the frame's CFA is not known>"},
			{of(integer, ops(op.FormTLSAddress)), "<corrupt location: "},
			{of(integer, ops(op.Lit0, op.FormTLSAddress)), "<thread-local storage not found: the thread has no thread pointer>"},
			{of(integer, append(ops(op.EntryValue, 1), byte(op.Lit0))), "<value on entry not known>"},
			{of(integer, ops(op.XderefType, 1, 1)), "<corrupt location: "},
			{of(integer, refIn(op.Call4, proc, 4, before, op.OpStackValue)), "5"},
			{of(integer, refIn(op.Call2, proc, 2, before, op.OpStackValue)), "5"},
			{of(integer, refTo(op.CallRef, bad, refSize, op.OpStackValue)), "<corrupt location: "},
			{of(integer, refTo(op.CallRef, proc, refSize, op.OpStackValue)), "5"},
			{of(integer, func() []byte {
				return slices.Concat(ops(op.Lit0+3), refTo(op.CallRef, lost, refSize)(), ops(op.OpStackValue))
			}), "3"},
			{of(integer, refTo(op.CallRef, &handDIE{off: 0xffff}, refSize, op.OpStackValue)), "<corrupt location: "},
			{of(integer, refTo(op.GNUVariableValue, one, refSize, op.OpStackValue)), "1"},
			{of(integer, refTo(op.GNUVariableValue, two, refSize, op.OpStackValue)), "2"},
			{of(integer, refTo(op.GNUVariableValue, lost, refSize, op.OpStackValue)), "<optimised out>"},
			{of(integer, refTo(op.GNUVariableValue, &handDIE{off: 0xffff}, refSize, op.OpStackValue)), "<corrupt location: "},
			{of(integer, typed(ops(op.Const1u, 0xfe), small, op.Convert, 0, op.OpStackValue)), "-2"},
			{of(integer, typed(ops(op.Const1u, 0xfe), proc, op.Convert, 0, op.OpStackValue)), "<corrupt location: DW_OP_convert at offset 0x2: base type"},
			{of(float, typed(ops(op.Const1u, 0xfe), float, op.OpStackValue)), "254"},
		}
		in := []*handDIE{root, integer, small, float, proc, lost, one, two, bad}
		if version == 4 { // the one with lists of locations as they are written here
			in = append(in, later)
			list = append(list, row{of(integer, refTo(op.CallRef, later, refSize, op.OpStackValue)), "6"})
		}
		for _, c := range list {
			in = append(in, c.v)
		}
		u := units(t, binary.LittleEndian, 8, version, dwarf.LangC99, []*handDIE{base("unsigned", types.EncUnsigned, 2)}, in)[1]
		p := newHand(arch.AMD64, 16)
		p.put(handBase+4, 4, 17)
		a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
		a.Function.bias = 0x1000
		for i, c := range list {
			if got := a.Read(a.variable(c.v.in(u)), Options{}).String(); got != c.want && !(strings.HasPrefix(c.want, "<corrupt") && strings.HasPrefix(got, c.want)) {
				t.Errorf("version %d, %d: %s, want %s", version, i, got, c.want)
			}
		}
		a.Close()
	}
}

// TestExpressionsOfOtherUnits: what an entry of another unit computes is of that unit's types.
func TestExpressionsOfOtherUnits(t *testing.T) {
	integer, signed := base("int", types.EncSigned, 4), base("signed char", types.EncSignedChar, 1)
	proc := die(dwarf.TagDwarfProcedure, handAttr{dwarf.AttrLocation, typed(ops(op.Const1u, 0xff), signed, op.Convert, 0)})
	v := located(local("v"), integer, refTo(op.CallRef, proc, 4, op.OpStackValue))
	number := base("int", types.EncSigned, 4)
	w := located(local("w"), number, typed(ops(op.Const1u, 0xff), signed, op.Convert, 0, op.OpStackValue))
	us := units(t, binary.LittleEndian, 8, 4, dwarf.LangC99, []*handDIE{signed, proc, w, number}, []*handDIE{integer, v})
	p := newHand(arch.AMD64, 16)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: us[1], Off: us[1].Root()})
	defer a.Close()
	if got := a.Read(a.variable(v.in(us[1])), Options{}).String(); got != "-1" {
		t.Error(got)
	}
	if got := a.Read(a.variable(w.in(us[0])), Options{}).String(); got != "-1" {
		t.Error(got)
	}
	a.e.unit = units(t, binary.LittleEndian, 8, 2, dwarf.LangC99, nil)[0]
	if got, want := a.Expression(a.variable(v.in(us[1]))), fmt.Sprintf("DW_OP_call_ref <%#x> DW_OP_stack_value", proc.off); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	a.e.nested = maxNested
	if err := a.Read(a.variable(v.in(us[1])), Options{}).Err(); !errors.Is(err, unknown.ErrLimit) {
		t.Errorf("with too many expressions that wait: %v", err)
	}
	a.e.nested = 0
	// The first and the last entry of a unit, and the first of the next.
	for _, c := range []struct {
		off  uint64
		unit *dwarf.Unit
	}{{us[0].Off, us[0]}, {us[0].Root(), us[0]}, {us[0].End - 1, us[0]}, {us[0].End, us[1]}, {us[1].End - 1, us[1]}} {
		for _, u := range us {
			a.e.unit = u
			if d, err := a.e.info(c.off); err != nil || d.Unit != c.unit || d.Off != c.off {
				t.Errorf("%#x from %#x: %v, %v", c.off, u.Off, d, err)
			}
		}
	}
	if _, err := a.e.info(us[1].End); err == nil {
		t.Error("an entry behind all units")
	}
}

// TestDescribedArrays: an array whose elements and bounds are computed from the address of what
// describes it.
func TestDescribedArrays(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	array := die(dwarf.TagArrayType, handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrDataLocation, ops(op.PushObjectAddress, op.Deref)}).with(
		die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, ops(op.PushObjectAddress, op.PlusUconst, 8, op.Deref)}))
	v := located(local("v"), array, ops(op.Breg0+7, 0))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, array, v)
	p := newHand(arch.AMD64, 64)
	p.put(handBase, 8, handBase+16)
	p.put(handBase+8, 8, 2)
	p.put(handBase+16, 4, 5)
	p.put(handBase+20, 4, 6)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	if got := a.Read(a.variable(v.in(u)), Options{}).String(); got != "{5, 6}" {
		t.Error(got)
	}
}

// TestNoObjectYet: where a variable is does not depend on an object, not even on the one that was read before.
func TestNoObjectYet(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	array := die(dwarf.TagArrayType, handAttr{dwarf.AttrType, integer}).with(
		die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, ops(op.PushObjectAddress, op.Deref)}))
	before, v := located(local("before"), integer, ops(op.Breg0+7, 0)), located(local("v"), integer, ops(op.PushObjectAddress))
	gone := located(local("gone"), array, ops(op.Lit0, op.OpStackValue))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, array, before, v, gone)
	p := newHand(arch.AMD64, 64)
	p.put(handBase, 4, 5)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for _, c := range []struct {
		d    *handDIE
		want string
	}{{before, "5"}, {v, "DW_OP_push_object_address is not supported"}, {before, "5"}, {gone, "DW_OP_push_object_address is not supported"}} {
		got := a.Read(a.variable(c.d.in(u)), Options{})
		if text := got.String(); text != c.want && !strings.Contains(fmt.Sprint(got.Err()), c.want) {
			t.Errorf("%#x: %s, %v; want %s", c.d.off, text, got.Err(), c.want)
		}
	}
}

// TestOldString: a string without a length is one of the ABI before C++11 only if the pointer is all of it.
func TestOldString(t *testing.T) {
	char := base("char", types.EncSignedChar, 1)
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, char}, handAttr{dwarf.AttrByteSize, 8})
	for size, want := range map[int]string{8: `"hello"`, 32: "{_M_dataplus = {_M_p = "} {
		hider := named(dwarf.TagStructureType, "_Alloc_hider", handAttr{dwarf.AttrByteSize, 8}).with(
			named(dwarf.TagMember, "_M_p", handAttr{dwarf.AttrType, pointer}, handAttr{dwarf.AttrDataMemberLoc, 0}))
		class := named(dwarf.TagClassType, "basic_string<char, std::char_traits<char>, std::allocator<char> >", handAttr{dwarf.AttrByteSize, size}).with(
			named(dwarf.TagMember, "_M_dataplus", handAttr{dwarf.AttrType, hider}, handAttr{dwarf.AttrDataMemberLoc, 0}))
		v := located(local("v"), class, ops(op.Breg0+7, 0))
		u := unit(t, binary.LittleEndian, 8, dwarf.LangCPlus14, char, pointer, named(dwarf.TagNamespace, "std").with(hider, class), v)
		p := newHand(arch.AMD64, 128)
		p.put(handBase, 8, handBase+64)
		p.put(handBase+40, 8, 5)
		for i, c := range "hello" {
			p.put(handBase+64+uint64(i), 1, uint64(c))
		}
		a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
		if got := a.Read(a.variable(v.in(u)), Options{}).String(); !strings.HasPrefix(got, want) {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
		a.Close()
	}
}

// TestFrameBases evaluates frame bases of every kind.
func TestFrameBases(t *testing.T) {
	p := newHand(arch.AMD64, 16)
	for n, v := range map[uint64]uint64{0: 0x100, 5: 0x105} {
		r, _ := p.arch.FromDWARF(n)
		p.regs.Set(r, v)
	}
	frames := p.walkBy(t, called, func(_, out *unwind.Frame) { out.SetCalleeCFA(0x7000) })
	for _, c := range []struct {
		name  string
		base  any
		index int
		want  string
	}{
		{"a register", ops(op.Reg0 + 5), 0, "105"},
		{"the first register", ops(op.Reg0), 0, "100"},
		{"a register and more", ops(op.Reg0+5, op.Nop), 0, "105"},
		{"a register that is not known", ops(op.Reg0 + 31), 0, "xmm14 not recovered"},
		{"an offset", ops(op.Breg0+5, 0x7f), 0, "104"},
		{"an offset from the first register", ops(op.Breg0, 8), 0, "108"},
		{"an offset from the last register", ops(op.Breg0+31, 0), 0, "xmm14 not recovered"},
		{"an offset and more", ops(op.Breg0+5, 8, op.PlusUconst, 1), 0, "10e"},
		{"an offset cut short", ops(op.Breg0+5, 0x80), 0, "corrupt location: ..."},
		{"by its long name", ops(op.Regx, 5), 0, "105"},
		{"an offset by its long name", ops(op.Bregx, 5, 8), 0, "10d"},
		{"the CFA", ops(op.CallFrameCFA), 1, "7000"},
		{"the CFA and more", ops(op.CallFrameCFA, op.PlusUconst, 8), 1, "7008"},
		{"no CFA", ops(op.CallFrameCFA), 0, "the frame's CFA is not known"},
		{"a number", ops(op.Lit0+9, op.OpStackValue), 0, "9"},
		{"an address", ops(op.Lit0 + 9), 0, "9"},
		{"bytes", ops(op.OpImplicitValue, 1, 7), 0, "frame base is ..."},
		{"of itself", ops(op.Fbreg, 8), 0, "corrupt location: DW_OP_fbreg at offset 0x0: frame base refers to itself: malformed DWARF"},
		{"of a list", []handLoc{{0x10, 0x20, ops(op.Lit0 + 1)}, {0x1000, 0x1001, ops(op.Lit0 + 2)}}, 0, "2"},
		{"not in the list", []handLoc{{0x10, 0x20, ops(op.Lit0 + 1)}}, 0, "no frame base at 0x1000: malformed DWARF"},
		{"empty", []byte{}, 0, "no frame base at 0x1000: malformed DWARF"},
		{"not a place", "text", 0, "unit at .debug_info+0x0: form 0x8 is not a location: malformed DWARF"},
		{"none", nil, 0, "function without a frame base: malformed DWARF"},
	} {
		fn := die(dwarf.TagSubprogram)
		if c.base != nil {
			fn.attrs = []handAttr{{dwarf.AttrFrameBase, c.base}}
		}
		u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, fn)
		a := handActivation(p, frames, c.index, fn.in(u))
		a.e.pc = 0x1000
		for range 2 {
			if got := result(a.e.frameBase()); got != c.want && !strings.HasSuffix(c.want, "...") || !strings.HasPrefix(got, strings.TrimSuffix(c.want, "...")) {
				t.Errorf("%s: %s, want %s", c.name, got, c.want)
			}
		}
		a.Close()
	}
}

// TestFrameBaseOnce: an expression that waits for another one has its frame base, too, unless it
// is of another frame.
func TestFrameBaseOnce(t *testing.T) {
	fn := die(dwarf.TagSubprogram, handAttr{dwarf.AttrFrameBase, ops(op.Lit0 + 9)})
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, fn)
	p := newHand(arch.AMD64, 16)
	frames := p.walk(t)
	a := handActivation(p, frames, 0, fn.in(u))
	defer a.Close()
	nest := func(e *evaluator) *evaluator {
		in, err := e.nest()
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	first := nest(&a.e)
	second := nest(first)
	third := nest(second)
	a.e.index = 1
	if v, err := third.frameBase(); v != 9 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if !third.based || !second.based || !first.based || second.base != 9 || first.base != 9 || a.e.based {
		t.Errorf("%v %v %v %v", third.based, second.based, first.based, a.e.based)
	}
	a.e.begin(setting{}, answers{}, nil, 0)
	a.e.start(a.r, a.Function, frames, 0)
	in := nest(&a.e)
	a.e.fn = &Function{}
	if _, err := in.frameBase(); err != nil || a.e.based {
		t.Errorf("another function's: %v, %v", err, a.e.based)
	}
}

// TestFrameRegisters: which registers of a frame are known.
func TestFrameRegisters(t *testing.T) {
	for _, c := range []struct {
		name    string
		arch    *arch.Arch
		lang    dwarf.Language
		index   int
		virtual bool
		rec     bool
		tramp   bool // the callee returns from a signal's handler
		known   []uint64
		lost    []uint64
	}{
		{"the youngest", arch.AMD64, dwarf.LangC99, 0, false, false, true, []uint64{0, 3, 6, 7, 14, 58, 59}, []uint64{17, 70, 99}},
		{"a caller", arch.AMD64, dwarf.LangC99, 1, false, false, false, []uint64{0, 3, 6, 7, 14, 58, 59}, nil},
		{"the youngest, left by a tail call", arch.AMD64, dwarf.LangC99, 0, true, false, false, []uint64{3, 6}, []uint64{0, 17}},
		{"left by a tail call", arch.AMD64, dwarf.LangC99, 1, true, false, false, []uint64{3, 6, 12, 58, 59}, []uint64{0, 5, 17}},
		{"of Go", arch.AMD64, dwarf.LangGo, 1, false, false, false, []uint64{6, 7, 14, 58, 59}, []uint64{0, 3, 12, 13, 15}},
		{"of Go, of a PDB", arch.AMD64, dwarf.LangGo, 1, false, true, false, []uint64{0, 3}, nil},
		{"of Go, interrupted", arch.AMD64, dwarf.LangGo, 1, false, false, true, []uint64{0, 3, 12}, nil},
		{"of Go, the youngest", arch.AMD64, dwarf.LangGo, 0, false, false, true, []uint64{0, 3, 12}, nil},
		{"of Go", arch.ARM64, dwarf.LangGo, 1, false, false, false, []uint64{28, 29, 31}, []uint64{19, 27}},
	} {
		u := unit(t, c.arch.ByteOrder, c.arch.WordSize, c.lang)
		p := newHand(c.arch, 16)
		for n := range uint64(80) {
			if r, ok := c.arch.FromDWARF(n); ok {
				p.regs.Set(r, n+1000)
			}
		}
		frames := p.walkBy(t, func(in, out *unwind.Frame) {
			for n := range uint64(58) { // all but the steady ones of x86-64
				if r, ok := c.arch.FromDWARF(n); ok && r != c.arch.SP && r != c.arch.PC {
					out.SetReg(r, n+1000, unwind.Location{})
				}
			}
			if c.tramp {
				interrupted(in, out)
			}
		})
		a := handActivation(p, frames, c.index, dwarf.DIE{Unit: u, Off: u.Root()})
		if a.e.virtual = c.virtual; c.virtual {
			p.notes[noteFP] = make([]byte, fxSize)
		}
		if c.rec {
			a.rec = &pdb.Func{}
		}
		for _, n := range c.known {
			want := n + 1000
			if r, _ := c.arch.FromDWARF(n); r == c.arch.SP && c.index == 1 {
				want = handBase + 8
			}
			if v, err := a.e.DWARFReg(n); v != want || err != nil {
				t.Errorf("%s, %s: register %d is %d, %v", c.arch.Name, c.name, n, v, err)
			}
		}
		if c.arch == arch.AMD64 && c.index == 1 {
			p.lost = true
			if v, ok := a.e.register(58); v != 0 || ok {
				t.Errorf("%s: a register of a thread without registers: %d", c.name, v)
			}
		}
		for _, n := range c.lost {
			if v, ok := a.e.register(n); v != 0 || ok {
				t.Errorf("%s, %s: register %d is %d", c.arch.Name, c.name, n, v)
			}
			if v, err := a.e.DWARFReg(n); v != 0 || !errors.Is(err, unknown.ErrRegister) {
				t.Errorf("%s, %s: register %d is %d, %v", c.arch.Name, c.name, n, v, err)
			}
		}
		a.Close()
	}
}

// TestVectorsAsNumbers: of a register that is wider than a word, an expression gets the low half.
func TestVectorsAsNumbers(t *testing.T) {
	for _, c := range []struct {
		arch *arch.Arch
		note note
		reg  uint64
		want uint64
	}{
		{arch.AMD64, noteFP, 17, 0xa7a6a5a4a3a2a1a0},
		{arch.PPC64, notePPCVMX, 77, 0x08090a0b0c0d0e0f},
		{arch.PPC64, noteFP, 32, 0x0001020304050607},
		{arch.S390X, noteS390High, 68, 0x0001020304050607},
		{arch.X86, notePRXFP, 11, 0x2726252423222120},
		{arch.MIPS, noteFP, 32, 0x04050607},
	} {
		p := newHand(c.arch, 8)
		for i := range 512 {
			p.notes[c.note] = append(p.notes[c.note], byte(i))
		}
		u := unit(t, c.arch.ByteOrder, c.arch.WordSize, dwarf.LangC99)
		a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
		if v, err := a.e.DWARFReg(c.reg); v != c.want || err != nil {
			t.Errorf("%s %d: %#x, %v", c.arch.Name, c.reg, v, err)
		}
		a.Close()
	}
}

// TestFrameOfValues: what the reading of values asks of a frame.
func TestFrameOfValues(t *testing.T) {
	integer, small := base("int", types.EncSigned, 4), base("signed char", types.EncSignedChar, 1)
	number := func(v any) *handDIE { return die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, v}) }
	one := local("one", handAttr{dwarf.AttrConstValue, 11})
	plain, refer, lost, computed, object, damaged := number(7), number(one), number(handRaw{dwarf.FormRef4, []byte{0xff, 0xff, 0, 0}}),
		number(typed(ops(op.Const1u, 0xfe), small, op.Convert, 0)), number(ops(op.PushObjectAddress)), number(ops(op.Lit0+1, op.Plus))
	bytes := local("bytes", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrConstValue, handBlock{1, 2, 0, 0}})
	untyped := local("untyped", handAttr{dwarf.AttrConstValue, handBlock{1, 2, 0, 0}})
	inMemory, bad := located(local("in memory"), integer, ops(op.Lit0)), located(local("bad"), integer, "text")
	list := []*handDIE{function("f", 0x1000, 0x1100), integer, small, one, plain, refer, lost, computed, object, damaged, bytes, untyped, inMemory, bad}
	p := newProgram(t, append([]*handDIE{spans(0x1000, 0x2000)}, list...), []*handDIE{base("other", types.EncSigned, 4)})
	r, frames := p.at(t, 0x1010)
	a, err := r.At(frames, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f, u := (*frame)(a), a.fn.Unit
	other, err := u.Data.UnitAt(dwarf.SecInfo, u.End)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want && (!strings.HasSuffix(want, "...") || !strings.HasPrefix(got, strings.TrimSuffix(want, "..."))) {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	for d, want := range map[*handDIE]string{plain: "7", refer: "b", lost: "corrupt location: ...", computed: "fffffffffffffffe", object: "77", damaged: "corrupt location: ..."} {
		v := u.Value(uint64(d.off), dwarf.AttrCount)
		a.e.unit = other
		check(fmt.Sprint("number ", d.off), result(f.NumberOf(0x77, u, &v)), want)
	}
	v := u.Value(uint64(computed.off), dwarf.AttrCount)
	a.e.unit = other
	addr, err := f.Address(u, v.B, 0)
	check("address", result(addr, err), "fffffffffffffffe")
	addr, err = f.Address(u, ops(op.PlusUconst, 8), 0x70)
	check("address from a base", result(addr, err), "78")
	short := types.Ref{DIE: small.in(u)}
	for d, want := range map[*handDIE]string{bytes: "4 <nil>", untyped: "1 <nil>", inMemory: "4 <nil>", bad: "0 corrupt location: ..."} {
		ob, err := f.Variable(d.in(u), short)
		check(fmt.Sprint("variable ", d.off), fmt.Sprint(ob.Size, " ", err), want)
	}
	for d, want := range map[*handDIE]string{bytes: "01020000 true", one: " false", inMemory: " false", bad: " false"} {
		b, ok := f.ConstantBytes(d.in(u))
		check(fmt.Sprint("constant ", d.off), fmt.Sprintf("%x %v", b, ok), want)
	}
	for name, want := range map[string]string{"_alias": "102200 true", "_one": "100001 true", "_zero": "false", "none": "false"} {
		at, ok := f.Symbol(name)
		got := fmt.Sprintf("%x %v", at, ok)
		if !ok {
			got = "false"
		}
		check(name, got, want)
	}
	if _, ok := f.Global(0x10); ok {
		t.Error("an address that counts from the start of a module, with DWARF")
	}
	a.rec = &pdb.Func{}
	if at, ok := f.Global(0x10); at != handBias+0x10 || !ok {
		t.Errorf("%#x, %v", at, ok)
	}
}
