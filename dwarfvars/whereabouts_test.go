package dwarfvars

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Expressions.
//
//go:noinline
func ops(list ...op.Op) (b []byte) {
	for _, o := range list {
		b = append(b, byte(o))
	}
	return b
}
func atAddr(addr uint64) []byte {
	return binary.LittleEndian.AppendUint64(ops(op.Addr), addr)
}
func piece(place []byte, size byte) []byte { return append(slices.Clip(place), byte(op.OpPiece), size) }

func located(d *handDIE, typ *handDIE, place any) *handDIE {
	d.attrs = append(d.attrs, handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrLocation, place})
	return d
}

// TestWhereabouts goes from registers and addresses to the variables there.
func TestWhereabouts(t *testing.T) {
	const bias, rdi, rsi, rdx, rbp = 0x1000, 5, 4, 1, 6 // DWARF's numbers
	reg := func(name string) arch.Reg { r, _ := arch.AMD64.RegByName(name); return r }
	integer, long := base("int", types.EncSigned, 4), base("long", types.EncSigned, 8)
	pair := named(dwarf.TagStructureType, "pair", handAttr{dwarf.AttrByteSize, 8}).with(
		named(dwarf.TagMember, "x", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrDataMemberLoc, 0}),
		named(dwarf.TagMember, "y", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrDataMemberLoc, 4}))
	unsized := named(dwarf.TagStructureType, "unsized", handAttr{dwarf.AttrDeclaration, true})
	in := func(n op.Op) []byte { return ops(op.Reg0 + n) }
	fn := named(dwarf.TagSubprogram, "f", handAttr{dwarf.AttrFrameBase, []handLoc{{0, 0x20, atAddr(handBase - bias)}, {0x20, 0x40, atAddr(handBase + 0x20 - bias)}}}).with(
		located(param("whole"), integer, in(rdi)),
		located(local("halves"), pair, slices.Concat(piece(in(rsi), 4), piece(in(rdi), 4))),
		located(local("upper"), integer, append(in(rdx), byte(op.BitPiece), 32, 32)),
		located(local("lower"), integer, append(in(rdx), byte(op.BitPiece), 32, 0)),
		located(local("memory"), pair, atAddr(handBase+0x30-bias)),
		located(local("same memory"), long, atAddr(handBase+0x30-bias)),
		located(local("based"), integer, ops(op.Fbreg, 0)),
		located(local("unsized"), unsized, atAddr(handBase+0x60-bias)),
		located(local("damaged"), integer, ops(op.Addr)),
		located(local("a value"), integer, ops(op.Reg0+17)),
		local("nowhere"),
		located(local("list"), die(dwarf.TagArrayType), atAddr(handBase+0x80-bias)),
		located(local("bits"), integer, slices.Concat(append(in(rsi), byte(op.BitPiece), 4, 0), append(in(rbp), byte(op.BitPiece), 32, 0))),
		lexical(0x10, 0x20).with(located(local("__late", handAttr{dwarf.AttrArtificial, true}), integer, in(rdx))),
	)
	list := array(integer, 2)
	fn.kids[len(fn.kids)-3].attrs[1].val = list
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, long, pair, unsized, list, fn)
	p := newHand(arch.AMD64, 0x100)
	p.libs = noLibraries{}
	a := handActivation(p, p.walk(t), 0, fn.in(u))
	defer a.Close()
	a.Function.bias = bias
	a.e.pc = 0x1000 - bias
	f := where.FrameOf(a)
	held := func(list ...where.Held) string {
		var words []string
		for _, h := range list {
			typ := "-"
			if h.Type != nil {
				typ = h.Type.Name()
			}
			text := fmt.Sprint(h.Function, ":", h.Name(), " ", typ)
			if h.Param {
				text += " param"
			}
			if h.Artificial {
				text += " artificial"
			}
			words = append(words, text)
		}
		return strings.Join(words, ", ")
	}
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	for _, c := range []struct {
		pc   uint64
		reg  arch.Reg
		want string
	}{
		{0, reg("rdi"), "f:whole int param, f:halves.y int"},
		{0, reg("rsi"), "f:halves.x int"},
		{0, reg("rdx"), "f:lower int"},
		{0x10, reg("rdx"), "f:__late int artificial, f:lower int"},
		{0x20, reg("rdx"), "f:lower int"},
		{0, reg("rbx"), ""},
		{0, reg("rax"), ""},
		{0, reg("rbp"), ""},
	} {
		check(fmt.Sprint("register ", c.reg, " at ", c.pc), held(f.InRegister(bias+c.pc, c.reg)...), c.want)
	}
	for _, c := range []struct {
		pc, at uint64
		size   int
		want   string
		object string // with its first and last address
	}{
		{0, 0x30, 4, "f:memory.x int", "f:memory struct pair 30 38"},
		{0, 0x34, 4, "f:memory.y int", "f:memory struct pair 30 38"},
		{0, 0x30, 8, "f:memory struct pair, f:same memory long", "f:memory struct pair 30 38"},
		{0, 0x37, 1, "", "f:memory struct pair 30 38"},
		{0, 0x38, 4, "", ""},
		{0, 0x2f, 1, "", ""},
		{0, 0, 4, "f:based int", "f:based int 0 4"},
		{0x20, 0, 4, "", ""},
		{0x20, 0x20, 4, "f:based int", "f:based int 20 24"},
		{0, 0x20, 4, "", ""},
		{0, 0x60, 1, "", ""},
		{0, 0x80, 4, "f:list[0] int", "f:list int [2] 80 88"},
		{0, 0x84, 4, "f:list[1] int", "f:list int [2] 80 88"},
		{0, 0x88, 4, "", ""},
		{0, 1<<64 + 2 - handBase, 1, "", ""},
		{0x20, 0x24, 4, "", ""},
	} {
		what := fmt.Sprintf("%#x at %#x", c.at, c.pc)
		check(what, held(f.InMemory(bias+c.pc, handBase+c.at, c.size)...), c.want)
		got := ""
		if h, low, high, ok := f.Object(bias+c.pc, handBase+c.at); ok {
			got = fmt.Sprintf("%s %x %x", held(h), low-handBase, high-handBase)
		} else if low != 0 || high != 0 {
			t.Errorf("%s: no object, at %#x to %#x", what, low, high)
		}
		check("object of "+what, got, c.object)
	}
	if got := held(f.InMemory(bias, 2, 1)...); got != "" { // a variable in a register is at no address
		t.Errorf("at address 2: %s", got)
	}
	// The frame itself is where it was.
	if got, _ := a.e.frameBase(); got != handBase {
		t.Errorf("frame base %#x", got)
	}
}

// TestPlainAddresses: which expressions are of one address.
func TestPlainAddresses(t *testing.T) {
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99)
	for _, c := range []struct {
		expr []byte
		want string
	}{
		{nil, "0 false"}, {ops(op.Addr), "0 false"}, {atAddr(0x1234), "1234 true"}, {append(atAddr(0x1234), 0), "0 false"}, {ops(op.Addrx, 1), "300010 true"},
		{ops(op.Addrx), "0 false"}, {ops(op.Addrx, 0x81), "0 false"}, {ops(op.Lit0), "0 false"}, {ops(op.Lit0, 1), "0 false"},
	} {
		addr, ok := plainAddress(u, &varAttrs{loc: dwarf.Value{B: c.expr}, locIn: u})
		if got := fmt.Sprintf("%x %v", addr, ok); got != c.want {
			t.Errorf("%x: %s, want %s", c.expr, got, c.want)
		}
	}
}

// TestNumbers: the number or pointer that a variable holds.
func TestNumbers(t *testing.T) {
	integer, float := base("int", types.EncSigned, 4), base("double", types.EncFloat, 8)
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, integer})
	constant := func(typ *handDIE, n int) *handDIE {
		return local("v", handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrConstValue, n})
	}
	list := []*handDIE{constant(integer, 17), constant(pointer, 0x400), constant(integer, -1), constant(float, 0), local("v", handAttr{dwarf.AttrType, integer})}
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, append(list, integer, float, pointer)...)
	p := newHand(arch.AMD64, 8)
	p.libs = noLibraries{}
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for i, want := range []string{"17 true", "1024 true", "0 false", "0 true", "0 false"} {
		n, ok := where.FrameOf(a).Number(&where.Held{Of: a.variable(list[i].in(u))})
		if got := fmt.Sprint(n, " ", ok); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	if n, ok := where.FrameOf(a).Number(&where.Held{}); ok || n != 0 {
		t.Errorf("of no variable: %d", n)
	}
}

// TestConvention: functions of Go call one another in their own ways.
func TestConvention(t *testing.T) {
	p := newHand(arch.AMD64, 8)
	frames := p.walk(t)
	const by = "Go cmd/compile go1.26.8; regabi"
	for _, c := range []struct {
		lang dwarf.Language
		rec  *pdb.Func
		by   string
		want where.Convention
	}{
		{dwarf.LangC99, nil, "", where.ConventionC}, {dwarf.LangC99, nil, by, where.ConventionC}, {dwarf.LangGo, &pdb.Func{}, by, where.ConventionC},
		{dwarf.LangGo, nil, by, where.ConventionGoInternal}, {dwarf.LangGo, nil, "Go cmd/compile go1.26; -N -l; regabi", where.ConventionGoInternal}, {dwarf.LangGo, nil, "Go noregabi", where.ConventionGoStack}, {dwarf.LangGo, nil, "Go cmd/compile go1.16", where.ConventionGoStack},
	} {
		u := unit(t, binary.LittleEndian, 8, c.lang, die(dwarf.TagCompileUnit, handAttr{dwarf.AttrProducer, c.by}, handAttr{dwarf.AttrLanguage, int(c.lang)}))
		a := handActivation(p, frames, 0, dwarf.DIE{Unit: u, Off: u.Root()})
		a.rec = c.rec
		if got := where.FrameOf(a).Convention(); got != c.want {
			t.Errorf("language %d by %q: %v", c.lang, c.by, got)
		}
		a.fn.Unit = nil
		if where.FrameOf(a).Convention() != where.ConventionC {
			t.Errorf("language %d, no unit", c.lang)
		}
		a.Close()
	}
}

// TestPointers: the pointers in scope, wherever they are.
func TestPointers(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	pointer := pointerTo(integer)
	fn := named(dwarf.TagSubprogram, "f").with(
		located(param("number"), integer, ops(op.Reg0)),
		located(param("passed"), pointer, ops(op.Reg0)),
		located(local("optimised out"), pointer, []byte{}),
		lexical(0x10, 0x20).with(located(local("inner"), pointer, ops(op.Reg0+1))),
	)
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, pointer, fn)
	p := newHand(arch.AMD64, 8)
	a := handActivation(p, p.walk(t), 0, fn.in(u))
	defer a.Close()
	for pc, want := range map[uint64]string{0x8: "passed optimised out", 0x18: "passed inner optimised out", 0x20: "passed optimised out"} {
		var names []string
		for _, h := range where.FrameOf(a).Pointers(pc) {
			names = append(names, h.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%#x: %s, want %s", pc, got, want)
		}
	}
}

// TestGlobals finds the variables of a unit that have an address of their own.
func TestGlobals(t *testing.T) {
	const bias = 0x1000
	integer, pair := base("int", types.EncSigned, 4), named(dwarf.TagStructureType, "pair", handAttr{dwarf.AttrByteSize, 8}).with(
		located(local("in a type"), base("int", types.EncSigned, 4), atAddr(0x240)))
	at := func(name string, place []byte) *handDIE { return located(local(name), integer, place) }
	indexed := func(n ...byte) []byte { return append(ops(op.Addrx), n...) }
	fn := named(dwarf.TagSubprogram, "f").with(at("local", atAddr(0x250)))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, pair, fn,
		located(local("g"), pair, atAddr(0x200)),
		located(local("g again"), pair, atAddr(0x200)),
		named(dwarf.TagNamespace, "ns").with(at("inside", atAddr(0x210))),
		named(dwarf.TagConstant, "constant", handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrLocation, atAddr(0x220)}),
		located(die(dwarf.TagVariable), integer, atAddr(0x230)),
		at("more", append(atAddr(0x260), byte(op.PlusUconst), 1)),
		at("less", ops(op.Addr)),
		at("other", append(ops(op.Addrx+2), atAddr(0x270)[1:]...)),
		at("indexed", indexed(2)), at("far", indexed(0x82, 1)), at("farther", indexed(0x83, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)),
		at("longer", indexed(0x84, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), at("cut", indexed(0x85)),
		at("beyond", indexed(0x90, 2)), at("last", atAddr(0x280)))
	p := newHand(arch.AMD64, 8)
	p.libs = noLibraries{}
	a := handActivation(p, p.walk(t), 0, fn.in(u))
	defer a.Close()
	a.Function.bias = bias
	for addr, want := range map[uint64]string{
		0x1ff: "", 0x200: "g struct pair+0", 0x207: "g struct pair+7", 0x208: "", 0x210: "inside int+0", 0x213: "inside int+3", 0x220: "", 0x230: "", 0x240: "", 0x250: "", 2: "",
		0x260: "", 0x261: "", 0x270: "", 0x280: "last int+0",
		handIndexed + 0x20: "indexed int+0", handIndexed + 0x820: "far int+0", handIndexed + 0x830: "farther int+0", handIndexed + 0x840: "", handIndexed + 0x850: "",
	} {
		name, typ, off := where.FrameOf(a).Global(addr + bias)
		got := ""
		if name != "" || typ != nil || off != 0 {
			got = fmt.Sprint(name, " ", typ.Name(), "+", off)
		}
		if got != want {
			t.Errorf("%#x: %q, want %q", addr, got, want)
		}
	}
	empty := unit(t, binary.LittleEndian, 8, dwarf.LangC99)
	if name, typ, off := a.globalIn(empty, 0); name != "" || typ != nil || off != 0 {
		t.Errorf("a unit of nothing: %s %v %d", name, typ, off)
	}
	a.fn.Unit = nil
	if name, _, _ := where.FrameOf(a).Global(0x200 + bias); name != "" {
		t.Errorf("without a unit: %s", name)
	}
}

// TestManyGlobals: in a large unit only the first entries are looked at.
func TestManyGlobals(t *testing.T) {
	integer := base("int", types.EncSigned, 4)
	list := []*handDIE{integer}
	for i := range maxGlobals {
		list = append(list, located(local(fmt.Sprint(i)), integer, atAddr(uint64(8*(i+1)))))
	}
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, list...)
	p := newHand(arch.AMD64, 8)
	a := handActivation(p, p.walk(t), 0, dwarf.DIE{Unit: u, Off: u.Root()})
	defer a.Close()
	for i, want := range map[int]string{0: "0", maxGlobals - 2: "4094", maxGlobals - 1: ""} {
		if name, _, off := a.globalIn(u, uint64(8*(i+1))); name != want || off != 0 {
			t.Errorf("%d: %q+%d, want %q", i, name, off, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { a.globalIn(u, 8*(maxGlobals-1)) }); n > 0 {
		t.Errorf("%v allocations for a variable that was read before", n)
	}
}
