package dwarfvars

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/values"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Types of variables made by hand, each with what it refers to.
func structure(name string, size int, members ...*handDIE) *handDIE {
	return named(dwarf.TagStructureType, name, handAttr{dwarf.AttrByteSize, size}).with(members...)
}
func member(name string, typ *handDIE, at int, more ...handAttr) *handDIE {
	return named(dwarf.TagMember, name, append([]handAttr{{dwarf.AttrType, typ}, {dwarf.AttrDataMemberLoc, at}}, more...)...)
}
func array(of *handDIE, n int) *handDIE {
	return die(dwarf.TagArrayType, handAttr{dwarf.AttrType, of}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, n}))
}

// TestPlaces reads variables in places of every kind, and says where they are.
func TestPlaces(t *testing.T) {
	integer, long, char, wide := base("int", types.EncSigned, 4), base("long", types.EncSigned, 8), base("unsigned char", types.EncUnsigned, 1), base("__int128", types.EncSigned, 16)
	u8, float := base("u8", types.EncUnsigned, 1), base("double", types.EncFloat, 8)
	pair := structure("pair", 8, member("x", integer, 0), member("y", integer, 4))
	five := structure("five", 20, member("a", integer, 0), member("b", integer, 4), member("c", integer, 8), member("d", integer, 12), member("e", integer, 16))
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, integer})
	pointers := structure("pointers", 16, member("p", pointer, 0), member("n", long, 8))
	big, most, nine := array(u8, values.MaxObject+1), array(u8, values.MaxObject), structure("nine", 9, member("x", integer, 0))
	unsized := named(dwarf.TagStructureType, "unsized", handAttr{dwarf.AttrDeclaration, true})
	target := local("target", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrConstValue, 33})
	reg := func(n op.Op) []byte { return ops(op.Reg0 + n) }
	at := func(off byte) []byte { return ops(op.Breg0+7, op.Op(off)) } // from the stack pointer
	parts := func(list ...[]byte) []byte { return slices.Concat(list...) }
	implicit := func(d *handDIE, size byte) func() []byte {
		return func() []byte {
			b := slices.Concat(ops(op.OpImplicitPointer), bytesOf(binary.LittleEndian, uint64(d.off), 4), []byte{0})
			if size > 0 {
				b = append(b, byte(op.OpPiece), size)
			}
			return b
		}
	}
	cases := []struct {
		name  string
		typ   *handDIE
		place any
		want  string
		where string
		expr  string
	}{
		{"a register", integer, reg(5), "-2", "register rdi", "DW_OP_reg5(rdi)"},
		{"a register by its number", integer, ops(op.Regx, 17), "<xmm0 not recovered>", "register xmm0", "DW_OP_regx xmm0"},
		{"a register without a name", integer, ops(op.Regx, 0x7f), "<register 127 not recovered>", "register 127", "DW_OP_regx register 127"},
		{"memory", integer, at(4), "9", "memory at 0x10004", "DW_OP_breg7(rsp)+4"},
		{"no memory", integer, ops(op.Lit0), "<no memory at 0x0>", "memory at 0x0", "DW_OP_lit0"},
		{"computed", integer, ops(op.Lit0+5, op.OpStackValue), "5", "computed", "DW_OP_lit5 DW_OP_stack_value"},
		{"computed, of 16 bytes", wide, ops(op.Lit0+5, op.OpStackValue), "5", "computed", "DW_OP_lit5 DW_OP_stack_value"},
		{"computed as a type", wide, typed(ops(op.Lit0+5), u8, op.OpStackValue), "<corrupt location: 8 bytes for 128 bits>", "computed", ""},
		{"computed with a sign", wide, typed(ops(op.Lit0+5), long, op.OpStackValue), "5", "computed", ""},
		{"bytes", integer, ops(op.OpImplicitValue, 4, 1, 2, 0, 0), "513", "constant", "DW_OP_implicit_value 01020000"},
		{"too few bytes", integer, ops(op.OpImplicitValue, 2, 1, 2), "<corrupt location: 2 bytes for 32 bits>", "constant", "DW_OP_implicit_value 0102"},
		{"a pointer to no object", pointer, implicit(target, 0), "(synthetic pointer) 33", "optimised away", ""},
		{"a pointer to no entry", pointer, implicit(&handDIE{off: 0xfffff}, 0), "<points to an object that was optimised away>", "optimised away", ""},
		{"a pointer and a register", pointers, func() []byte { return parts(implicit(target, 8)(), piece(reg(5), 8)) }, "{p = (synthetic pointer) 33, n = 4294967294}", "pieces: optimised away; register rdi", ""},
		{"a pointer and nothing", pointers, func() []byte { return parts(implicit(target, 8)(), piece(nil, 8)) }, "{p = (synthetic pointer) 33, n = <optimised out>}", "pieces: optimised away; nowhere", ""},
		{"empty", integer, []byte{}, "<optimised out>", "", ""},
		{"empty, of no size", unsized, []byte{}, "<optimised out>", "", ""},
		{"half in memory", pair, at(28), "{x = 0, y = <no memory at 0x10020>}", "memory at 0x1001c", ""},
		{"one lost piece", pair, piece(reg(17), 8), "<xmm0 not recovered>", "register xmm0", ""},
		{"nothing of a lost register", pair, parts(piece(reg(17), 0), piece(nil, 8)), "<optimised out>", "pieces: register xmm0; nowhere", ""},
		{"the last bytes of memory", pair, parts(piece(at(28), 4), piece(reg(5), 4)), "{x = 0, y = -2}", "pieces: memory at 0x1001c; register rdi", ""},
		{"nine bytes", nine, ops(op.OpImplicitValue, 8, 1, 2, 3, 4, 5, 6, 7, 8), "<corrupt location: 8 bytes for 72 bits>", "constant", ""},
		{"damaged", integer, ops(op.Addr), "<corrupt location: DW_OP_addr at offset 0x0: malformed DWARF expression: need 8 bytes at offset 0x1 of 0x1: unexpected end of data>", "", "<malformed at 0x0: DW_OP_addr>"},
		{"two pieces", pair, parts(piece(reg(5), 4), piece(at(4), 4)), "{x = -2, y = 9}", "pieces: register rdi; memory at 0x10004", ""},
		{"two alike", pair, parts(piece(reg(5), 4), piece(reg(5), 4)), "{x = -2, y = -2}", "register rdi", ""},
		{"the first is lost", pair, parts(piece(nil, 4), piece(reg(5), 4)), "{x = <optimised out>, y = -2}", "pieces: nowhere; register rdi", ""},
		{"the second is missing", pair, piece(reg(5), 4), "{x = -2, y = <optimised out>}", "register rdi", ""},
		{"more than needed", pair, parts(piece(reg(5), 4), piece(at(4), 4), piece(reg(17), 4)), "{x = -2, y = 9}", "pieces: register rdi; memory at 0x10004; register xmm0", ""},
		{"one of nothing", pair, parts(piece(reg(17), 0), piece(reg(5), 4), piece(at(4), 4)), "{x = -2, y = 9}", "pieces: register xmm0; register rdi; memory at 0x10004", ""},
		{"all lost", pair, parts(piece(nil, 4), piece(nil, 4)), "<optimised out>", "", ""},
		{"all lost, the first for a reason", pair, parts(piece(reg(17), 4), piece(nil, 4)), "<xmm0 not recovered>", "pieces: register xmm0; nowhere", ""},
		{"a part of lost memory", pair, parts(piece(reg(5), 4), piece(ops(op.Lit0), 4)), "{x = -2, y = <no memory at 0x0>}", "pieces: register rdi; memory at 0x0", ""},
		{"bits of memory", char, append(at(4), byte(op.BitPiece), 8, 0), "9", "memory at 0x10004", ""},
		{"bits from the middle of memory", char, append(at(4), byte(op.BitPiece), 8, 1), "4", "memory at 0x10004", ""},
		{"four pieces", five, parts(piece(reg(5), 4), piece(at(4), 4), piece(at(8), 4), piece(reg(3), 8)), "{a = -2, b = 9, c = 0, d = 3, e = 0}", "pieces: register rdi; memory at 0x10004; memory at 0x10008; register rbx", ""},
		{"five pieces", five, parts(piece(reg(5), 4), piece(at(4), 4), piece(at(8), 4), piece(reg(3), 4), piece(at(4), 4)), "{a = -2, b = 9, c = 0, d = 3, e = 9}", "pieces: register rdi; memory at 0x10004; memory at 0x10008; register rbx; ...", ""},
		{"too large for a register", big, reg(5), "<1048577 bytes outside of memory: exceeds a limit>", "register rdi", ""},
		{"too large for bytes", most, ops(op.OpImplicitValue, 0), "<corrupt location: 0 bytes for 8388608 bits>", "constant", ""},
		{"of no size", unsized, reg(5), "<incomplete type struct unsized>", "register rdi", ""},
		{"a number for a float", float, ops(op.Const1u, 1, op.OpStackValue), "5e-324", "computed", ""},
		{"a list", integer, []handLoc{{0x10, 0x20, reg(3)}, {0x1000, 0x1001, reg(5)}}, "-2", "register rdi", "DW_OP_reg5(rdi)"},
		{"not in the list", integer, []handLoc{{0x10, 0x20, reg(3)}}, "<optimised out>", "", ""},
		{"not a place", integer, "text", "<corrupt location: unit at .debug_info+0x0: form 0x8 is not a location: malformed DWARF>", "", ""},
	}
	list := []*handDIE{integer, long, char, wide, u8, float, pair, five, pointer, pointers, big, most, nine, unsized, target}
	for _, c := range cases {
		list = append(list, located(local(c.name), c.typ, c.place))
	}
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, list...)
	p := newHand(arch.AMD64, 32)
	p.libs = noLibraries{}
	p.put(handBase+4, 4, 9)
	for n, v := range map[uint64]uint64{5: 0xfffffffe, 3: 3} {
		r, _ := p.arch.FromDWARF(n)
		p.regs.Set(r, v)
	}
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for i, c := range cases {
		v := a.variable(list[len(list)-len(cases)+i].in(u))
		if got := a.Read(v, Options{}).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := a.Where(v); got != c.where {
			t.Errorf("%s is at %q, want %q", c.name, got, c.where)
		}
		if got := a.Expression(v); c.expr != "" && got != c.expr {
			t.Errorf("%s: expression %q, want %q", c.name, got, c.expr)
		}
	}
}

// TestSavedPlace: of a register that a callee saved, Where says where.
func TestSavedPlace(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	saved, kept, lost := located(local("v"), integer, ops(op.Reg0+3)), located(local("v"), integer, ops(op.Reg0+12)), located(local("v"), integer, ops(op.Reg0+13))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, saved, kept, lost)
	p := newHand(arch.AMD64, 32)
	frames := p.walkBy(t, func(_, out *unwind.Frame) {
		rbx, _ := arch.AMD64.FromDWARF(3)
		r12, _ := arch.AMD64.FromDWARF(12)
		r13, _ := arch.AMD64.FromDWARF(13)
		out.SetReg(rbx, 1, unwind.Location{Kind: unwind.LocAddress, Addr: 0x7ff0})
		out.SetReg(r12, 1, unwind.Location{})
		out.ForgetReg(r13)
	})
	a := handActivation(p, frames, 1, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for d, want := range map[*handDIE]string{saved: "register rbx, saved at 0x7ff0", kept: "register r12", lost: "register r13"} {
		if got := a.Where(a.variable(d.in(u))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestConstants reads DW_AT_const_value in its forms.
func TestConstants(t *testing.T) {
	integer, wide := base("int", types.EncSigned, 4), base("__int128", types.EncUnsigned, 16)
	chars := base("char", types.EncSignedChar, 1)
	text := array(chars, 3)
	signed, long := base("__int128", types.EncSigned, 16), base("long double", types.EncFloat, 16)
	one := []byte{0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f} // without the padding
	cases := []struct {
		typ   *handDIE
		value any
		want  string
		where string
	}{
		{integer, 7, "7", "computed"},
		{integer, handBlock{1, 2, 0, 0}, "513", "constant"},
		{integer, []byte{1, 2, 0, 0}, "513", "constant"},
		{text, "abc", `"abc"`, "constant"},
		{integer, handAddr(0x1234), "4660", "computed"},
		{wide, handRaw{dwarf.FormData16, []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}, "18446744073709551617", "constant"},
		{integer, handRaw{dwarf.FormAddrx, []byte{1}}, fmt.Sprint(handIndexed + 0x10), "computed"},
		{integer, handRaw{dwarf.FormSdata, []byte{0x7f}}, "-1", "computed"},
		{wide, handRaw{dwarf.FormSdata, []byte{0x7f}}, "340282366920938463463374607431768211455", "computed"},
		{signed, handRaw{dwarf.FormSdata, []byte{0x7b}}, "-5", "computed"},
		{signed, handRaw{dwarf.FormSdata, []byte{5}}, "5", "computed"},
		{signed, handRaw{dwarf.FormData1, []byte{0xff}}, "255", "computed"},
		{long, handBlock(one), "1", "constant"},
		{signed, handBlock(one), "<corrupt location: 10 bytes for 128 bits>", "constant"},
		{long, handBlock(one[:9]), "<corrupt location: 9 bytes for 128 bits>", "constant"},
	}
	list := []*handDIE{integer, wide, chars, text, signed, long}
	for _, c := range cases {
		list = append(list, local("v", handAttr{dwarf.AttrType, c.typ}, handAttr{dwarf.AttrConstValue, c.value}))
	}
	nothing := local("v", handAttr{dwarf.AttrType, integer})
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, append(list, nothing)...)
	p := newHand(arch.AMD64, 32)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for i, c := range cases {
		v := a.variable(list[6+i].in(u))
		if got := a.Read(v, Options{}).String(); got != c.want || a.Where(v) != c.where || a.Expression(v) != "DW_AT_const_value" {
			t.Errorf("%v: %s, %s, %s; want %s", c.value, got, a.Where(v), a.Expression(v), c.want)
		}
	}
	if v := a.variable(nothing.in(u)); a.Read(v, Options{}).String() != "<optimised out>" || a.Where(v) != "" || a.Expression(v) != "" {
		t.Errorf("nothing: %s, %s", a.Where(v), a.Expression(v))
	}
}

// TestWhoseVariable: variables of another function, or another block, have no value in a frame.
func TestWhoseVariable(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	v := located(local("v"), integer, ops(op.Breg0+7, 0)) // at the stack pointer
	fn, other := named(dwarf.TagSubprogram, "f").with(v), named(dwarf.TagSubprogram, "g")
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, fn, other)
	p := newHand(arch.AMD64, 32)
	frames := p.walk(t)
	a := handActivation(p, frames, 0, fn.in(u))
	defer a.Close()
	lib := &libstate.Library{}
	a.Function.Library = lib
	pc := frames[0].LookupAddr()
	again := &Function{fn: dwarf.Func{DIE: fn.in(u)}, Library: lib}
	for _, c := range []struct {
		name string
		v    func(v *LocalVar) *LocalVar
		want string
	}{
		{"its own", func(v *LocalVar) *LocalVar { return v }, "0"},
		{"another Function of the same", func(v *LocalVar) *LocalVar { v.fn = again; return v }, "0"},
		{"of another library", func(v *LocalVar) *LocalVar { v.fn = &Function{fn: again.fn}; return v }, "not a variable of the frame's function"},
		{"another function's", func(v *LocalVar) *LocalVar {
			v.fn = &Function{fn: dwarf.Func{DIE: other.in(u)}, Library: lib}
			return v
		}, "not a variable of the frame's function"},
		{"no function's", func(v *LocalVar) *LocalVar { v.fn = nil; return v }, "not a variable of the frame's function"},
		{"in a block here", func(v *LocalVar) *LocalVar { v.block.ranges = []dwarf.Range{{Low: pc, High: pc + 1}}; return v }, "0"},
		{"in a block before", func(v *LocalVar) *LocalVar { v.block.ranges = []dwarf.Range{{Low: pc - 1, High: pc}}; return v }, "not in scope here"},
		{"in a block behind", func(v *LocalVar) *LocalVar {
			v.block = &block{parent: &block{ranges: []dwarf.Range{{Low: pc + 1, High: pc + 2}}}}
			return v
		}, "not in scope here"},
	} {
		lv := c.v(a.variable(v.in(u)))
		val := a.Read(lv, Options{})
		got := val.String()
		if err := val.Err(); err != nil {
			got = err.Error()
		}
		if known := a.Where(lv) != ""; got != c.want || known != (c.want == "0") {
			t.Errorf("%s: %s, %q, want %s", c.name, got, a.Where(lv), c.want)
		}
	}
	if a.owns(nil) {
		t.Error("no variable is one of the function")
	}
	if pdbs := (&Activation{Function: &Function{}}); pdbs.owns(&LocalVar{fn: &Function{}}) {
		t.Error("a variable of another function of a PDB")
	}
}

// TestCopies: the bytes of a variable, into buffers of all sizes.
func TestCopies(t *testing.T) {
	integer, u8 := base("int", types.EncSigned, 4), base("u8", types.EncUnsigned, 1)
	big, most := array(u8, values.MaxObject+1), array(u8, values.MaxObject)
	at := func(typ *handDIE) *handDIE { return located(local("v"), typ, ops(op.Breg0+7, 0)) }
	v, tooBig, largest, lost := at(integer), at(big), at(most), located(local("v"), integer, ops(op.Lit0))
	gone := local("v", handAttr{dwarf.AttrType, integer})
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, u8, big, most, v, tooBig, largest, lost, gone)
	p := newHand(arch.AMD64, values.MaxObject)
	p.put(handBase, 4, 0x04030201)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for _, c := range []struct {
		d    *handDIE
		size int
		n    int
		code Code
		want string
	}{
		{v, 5, 4, GlvvSuccess, "0102030400"},
		{v, 4, 4, GlvvSuccess, "01020304"},
		{v, 3, 4, GlvvEBufferSize, "000000"},
		{lost, 4, 0, GlvvEUnknown, "00000000"},
		{gone, 4, 0, GlvvEUnknown, "00000000"},
		{tooBig, 4, 0, GlvvEUnknown, "00000000"},
		{largest, 4, values.MaxObject, GlvvEBufferSize, "00000000"},
	} {
		buf := make([]byte, c.size)
		n, code, err := a.copy(a.variable(c.d.in(u)), buf)
		if got := fmt.Sprintf("%x", buf); n != c.n || code != c.code || got != c.want || (err == nil) != (code == GlvvSuccess) {
			t.Errorf("%s into %d: %d, %v, %s, %v", c.d.attrs[0].val, c.size, n, code, got, err)
		}
	}
}

// TestRegisterPairs: two registers of 32-bit x86 that hold a number of 64 bits, by CodeView's name
// of the pair.
func TestRegisterPairs(t *testing.T) {
	for reg, want := range map[pdb.Register]string{
		211: "0 0 false", 212: "2 0 true", 213: "2 1 true", 214: "2 3 true", 215: "0 1 true", 216: "0 3 true", 217: "1 3 true", 218: "0 0 false",
	} {
		hi, lo, ok := registerPair(reg)
		if got := fmt.Sprint(hi, lo, ok); got != want {
			t.Errorf("%d: %s, want %s", reg, got, want)
		}
	}
}

// TestRecordsOfMachines reads variables in places of PDBs, of several machines.
func TestRecordsOfMachines(t *testing.T) {
	const (
		eax, edx, st0, edxEax = 17, 19, 128, 212 // of x86; rax and rcx are of x86-64, w0, x1 and xzr of ARM64
		ah, rax, rcx, rsp     = 5, 328, 330, 335
		w0, x1, xzr           = 10, 51, 82
	)
	integer, short, char, long := base("int", types.EncUnsigned, 4), base("short", types.EncUnsigned, 2), base("char", types.EncUnsigned, 1), base("long", types.EncUnsigned, 8)
	float, nothing := base("float", types.EncFloat, 4), die(dwarf.TagUnspecifiedType)
	pair := structure("pair", 8, member("x", integer, 0), member("y", integer, 4))
	inner := structure("inner", 4, member("low", short, 0), member("high", short, 2))
	outer := structure("outer", 8, named(dwarf.TagMember, "shared", handAttr{dwarf.AttrType, long}, handAttr{dwarf.AttrExternal, true}, handAttr{dwarf.AttrDeclaration, true}),
		member("first", char, 0), member("in", inner, 4))
	declared := named(dwarf.TagStructureType, "gone", handAttr{dwarf.AttrDeclaration, true})
	holding := structure("holding", 8, member("gone", declared, 0), member("x", integer, 4))
	shorts, empties := array(short, 4), array(structure("empty", 0), 4)
	three, self := structure("three", 12, member("x", integer, 0), member("y", integer, 4), member("z", integer, 8)), structure("self", 8)
	self.with(member("self", self, 0))
	constant := die(dwarf.TagConstType, handAttr{dwarf.AttrType, integer})
	deep := integer
	for range types.MaxNesting + 2 {
		deep = structure("deep", 4, member("in", deep, 0))
	}
	in := func(r pdb.Register) pdb.Place { return pdb.Place{Kind: pdb.InRegister, Reg: r, Whole: true} }
	part := func(r pdb.Register, at uint32) pdb.Place {
		return pdb.Place{Kind: pdb.InRegister, Reg: r, Whole: true, Part: true, At: at}
	}
	onStack := func(at uint32, off int64) pdb.Place {
		return pdb.Place{Kind: pdb.AtRegister, Reg: rsp, Off: off, Whole: true, Part: true, At: at}
	}
	known := func(n uint64) pdb.Place { return pdb.Place{Kind: pdb.IsConstant, Value: n, Whole: true} }
	all := []*handDIE{integer, short, char, long, float, nothing, pair, inner, outer, declared, holding, shorts, empties.attrs[0].val.(*handDIE), empties, constant, three, self}
	var nested []*handDIE
	for d := deep; d != integer; d = d.kids[0].attrs[1].val.(*handDIE) {
		nested = append(nested, d)
	}
	all = append(all, nested...)
	for _, c := range []struct {
		name   string
		arch   *arch.Arch
		typ    *handDIE
		places []pdb.Place
		want   string
		expr   string
	}{
		{"a pair of registers", arch.X86, long, []pdb.Place{in(edxEax)}, "47244641028", "CodeView register 212"},
		{"a pair of x86-64", arch.AMD64, long, []pdb.Place{in(edxEax)}, "<CodeView's register 212 is not supported>", ""},
		{"of a machine without PDBs", arch.MIPS64, integer, []pdb.Place{in(eax)}, "<CodeView's register 17 is not supported>", "CodeView register 17"},
		{"a register that reads as zero", arch.ARM64, long, []pdb.Place{in(xzr)}, "0", ""},
		{"a second byte", arch.AMD64, char, []pdb.Place{in(ah)}, "3", "rax"},
		{"at a second byte", arch.AMD64, char, []pdb.Place{{Kind: pdb.AtRegister, Reg: ah, Whole: true}}, "<CodeView's register 5 is not supported>", "[rax+0]"},
		{"at a register that is not known", arch.AMD64, char, []pdb.Place{{Kind: pdb.AtRegister, Reg: 999, Whole: true}}, "<CodeView's register 999 is not supported>", "[CodeView register 999+0]"},
		{"at a virtual frame of x86-64", arch.AMD64, char, []pdb.Place{{Kind: pdb.AtRegister, Reg: pdb.VFrame, Whole: true}}, "<CodeView's register 30006 is not supported>", "[vframe+0]"},
		{"at a virtual frame without a CFA", arch.X86, char, []pdb.Place{{Kind: pdb.AtRegister, Reg: pdb.VFrame, Whole: true}}, "<the frame's CFA is not known>", "[vframe+0]"},
		{"behind a pointer", arch.AMD64, integer, []pdb.Place{{Kind: pdb.AtPointer, Reg: rsp, Off: 8, Inner: 4, Whole: true}}, "77", "[[rsp+8]+4]"},
		{"behind no pointer", arch.AMD64, integer, []pdb.Place{{Kind: pdb.AtPointer, Reg: rsp, Off: 0x800, Inner: 4, Whole: true}}, "<no memory at 0x10800>", "[[rsp+2048]+4]"},
		{"in the module", arch.AMD64, integer, []pdb.Place{{Kind: pdb.AtAddress, RVA: 0x10, Whole: true}}, "88", "rva 0x10"},
		{"in a thread", arch.AMD64, integer, []pdb.Place{{Kind: pdb.InThread, Off: 8, Whole: true}}, "<thread-local storage not found: storage of Windows threads is not supported>", "tls+8"},
		{"by a program", arch.AMD64, integer, []pdb.Place{{Kind: pdb.ByProgram, Whole: true}}, "<a program of Microsoft's debuggers is not supported>", "program"},
		{"a constant of a constant type", arch.AMD64, constant, []pdb.Place{known(7)}, "7", "constant"},
		{"a constant of no type", arch.AMD64, nothing, []pdb.Place{known(0)}, "0x0", "constant"},
		{"a constant of a variable", arch.AMD64, integer, []pdb.Place{known(7)}, "<optimised out: 7 at times>", "constant"},
		{"a constant for a float", arch.AMD64, float, []pdb.Place{known(7)}, "<optimised out>", ""},
		{"a constant for a struct", arch.AMD64, pair, []pdb.Place{known(7)}, "<optimised out>", ""},
		{"a constant for an array", arch.AMD64, shorts, []pdb.Place{known(7)}, "<optimised out>", ""},
		{"two places", arch.AMD64, integer, []pdb.Place{{Kind: pdb.InRegister, Reg: rcx, Range: pdb.Range{Low: 1, High: 2}}, in(rax)}, "772", "rax"},
		{"two parts", arch.AMD64, pair, []pdb.Place{part(rcx, 4), part(rax, 0)}, "{x = 772, y = 11}", "byte 4: rcx; byte 0: rax"},
		{"parts, and the home that they left", arch.AMD64, pair, []pdb.Place{part(rcx, 4), {Kind: pdb.AtRegister, Reg: rsp, Off: 0x30, Whole: true}}, "{x = <optimised out>, y = 11}", ""},
		{"at home again", arch.AMD64, integer, []pdb.Place{{Kind: pdb.InRegister, Reg: rcx, Part: true, Range: pdb.Range{Low: 1, High: 2}}, {Kind: pdb.AtRegister, Reg: rsp, Off: 0x30, Whole: true}}, "88", ""},
		{"two places of the first part", arch.AMD64, pair, []pdb.Place{part(eax, 0), part(edx, 0), part(rcx, 4)}, "{x = 772, y = 11}", ""},
		{"a part that is too small", arch.AMD64, long, []pdb.Place{part(eax, 0)}, "<optimised out>", ""},
		{"a part in a pair of registers", arch.X86, three, []pdb.Place{part(edxEax, 0), part(eax, 8)}, "{x = 772, y = 11, z = 772}", ""},
		{"of a type that has itself", arch.AMD64, self, []pdb.Place{part(rcx, 0)}, "", ""},
		{"two places of one part", arch.AMD64, pair, []pdb.Place{part(rax, 0), part(rcx, 0), part(rcx, 4)}, "{x = 772, y = 11}", ""},
		{"a gap", arch.AMD64, pair, []pdb.Place{part(rcx, 4)}, "{x = <optimised out>, y = 11}", ""},
		{"a small register", arch.AMD64, pair, []pdb.Place{part(eax, 0)}, "{x = 772, y = <optimised out>}", ""},
		{"a register that is too small", arch.AMD64, long, []pdb.Place{part(eax, 0), part(edx, 4)}, "8589935364", ""},
		{"a register that is too large", arch.AMD64, outer, []pdb.Place{part(eax, 0)}, "{first = 4, in = {low = <optimised out>, high = <optimised out>}}", ""},
		{"a second byte as a part", arch.AMD64, outer, []pdb.Place{part(ah, 0)}, "{first = 3, in = {low = <optimised out>, high = <optimised out>}}", ""},
		{"a second byte as a part of two", arch.AMD64, outer, []pdb.Place{part(ah, 0), part(eax, 4)}, "{first = 3, in = {low = 772, high = <optimised out>}}", ""},
		{"the second of a struct in a struct", arch.AMD64, outer, []pdb.Place{part(eax, 6)}, "{first = <optimised out>, in = {low = <optimised out>, high = 772}}", ""},
		{"memory", arch.AMD64, outer, []pdb.Place{onStack(6, 0x22)}, "{first = <optimised out>, in = {low = <optimised out>, high = 8721}}", ""},
		{"an element", arch.AMD64, shorts, []pdb.Place{onStack(2, 0x22)}, "{<optimised out>, 8721, <optimised out> <repeats 2 times>}", ""},
		{"the second byte of an element", arch.AMD64, shorts, []pdb.Place{onStack(3, 0x22)}, "{<optimised out> <repeats 4 times>}", ""},
		{"beyond the end", arch.AMD64, integer, []pdb.Place{part(eax, 0), onStack(4, 0x22)}, "772", ""},
		{"of a type that is only declared", arch.AMD64, holding, []pdb.Place{onStack(0, 0x22), part(eax, 4)}, "{gone = <incomplete type struct gone>, x = 772}", ""},
		{"of elements without a size", arch.AMD64, empties, []pdb.Place{onStack(0, 0x22)}, "{{}, {}, {}, {}}", ""},
		{"nothing known", arch.AMD64, pair, []pdb.Place{part(999, 0)}, "<CodeView's register 999 is not supported>", ""},
	} {
		u := unit(t, c.arch.ByteOrder, c.arch.WordSize, dwarf.LangC99, all...)
		p := newHand(c.arch, 64)
		p.libs = noLibraries{}
		for n, v := range map[uint64]uint64{0: 0x304, 1: 11, 2: 11} {
			r, _ := c.arch.FromDWARF(n)
			p.regs.Set(r, v)
		}
		if c.arch == arch.AMD64 { // numbers of rdx and rcx
			r, _ := c.arch.FromDWARF(1)
			p.regs.Set(r, 2)
		}
		p.put(handBase+8, c.arch.WordSize, handBase+16)
		p.put(handBase+20, 4, 77)
		p.put(handBase+0x22, 4, 0x44332211)
		p.put(handBase+0x30, 4, 88)
		frames := p.walkBy(t, called)
		r := New(p, nil)
		f := &Function{Name: "f", r: r, rec: &pdb.Func{}, bias: handBase + 0x20, db: r.types.Database(nil, dwarf.LangC)}
		a := r.activation(f, frames, 0)
		a.e.pc = 0x100
		v := &LocalVar{Name: "v", fn: f, block: &block{}, rec: &pdb.Var{Places: c.places}}
		v.attrs.typ = types.Ref{DIE: c.typ.in(u)}
		if got := a.Read(v, Options{}).String(); got != c.want && c.want != "" {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := a.Where(v); c.name == "two parts" && got != "pieces: register rax; register rcx" {
			t.Errorf("two parts are at %q", got)
		}
		for reg, want := range map[pdb.Register]string{999: "CodeView's register 999 is not supported", pdb.VFrame: map[bool]string{true: "the frame's CFA is not known", false: "CodeView's register 30006 is not supported"}[c.arch == arch.X86]} {
			if got := result(a.recordRegister(reg)); got != want {
				t.Errorf("%s: %s, want %s", c.name, got, want)
			}
		}
		if got := a.Expression(v); c.expr != "" && got != c.expr {
			t.Errorf("%s: %s, want %s", c.name, got, c.expr)
		}
		a.Close()
	}
}

// TestPrologues: before a function has set its frame up, nothing is there.
func TestPrologues(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer)
	p := newHand(arch.AMD64, 64)
	r := New(p, nil)
	f := &Function{r: r, rec: &pdb.Func{Range: pdb.Range{Low: 0x100}, Body: 0x10}, db: r.types.Database(nil, dwarf.LangC)}
	a := r.activation(f, p.walk(t), 0)
	defer a.Close()
	for _, c := range []struct {
		pc    uint64
		place pdb.Place
		want  string
	}{
		{0x10f, pdb.Place{Kind: pdb.AtRegister, Reg: 335, Whole: true}, "<the function has not set its frame up here>"},
		{0x110, pdb.Place{Kind: pdb.AtRegister, Reg: 335, Whole: true}, "0"},
		{0x10f, pdb.Place{Kind: pdb.AtRegister, Reg: 335, Range: pdb.Range{Low: 0x100, High: 0x110}}, "0"},
		{0x10f, pdb.Place{Kind: pdb.InRegister, Reg: 335, Whole: true}, "65536"},
	} {
		a.e.pc = c.pc
		v := &LocalVar{fn: f, block: &block{}, rec: &pdb.Var{Places: []pdb.Place{c.place}}}
		v.attrs.typ = types.Ref{DIE: integer.in(u)}
		if got := a.Read(v, Options{}).String(); got != c.want {
			t.Errorf("%#x: %s, want %s", c.pc, got, c.want)
		}
	}
}

// TestLanguagesOfRecords: the language of a PDB as DWARF has it.
func TestLanguagesOfRecords(t *testing.T) {
	for l, want := range map[pdb.Language]dwarf.Language{
		pdb.LangC: dwarf.LangC, pdb.LangCXX: dwarf.LangCPlusPlus, pdb.LangMASM: dwarf.LangAssembly, pdb.LangRust: dwarf.LangRust, pdb.LangUnknown: dwarf.LangCPlusPlus,
	} {
		if got := recordLanguage(l); got != want {
			t.Errorf("%#x: %#x, want %#x", l, got, want)
		}
	}
}
