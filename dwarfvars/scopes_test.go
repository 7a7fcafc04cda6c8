package dwarfvars

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// scopesText writes scopes as "f(parameters; locals) inlined:g(...)", with "*" behind what is
// artificial.
func scopesText(scopes []*Scope) string {
	names := func(vars []*LocalVar) string {
		var list []string
		for _, v := range vars {
			name := v.Name
			if v.Artificial {
				name += "*"
			}
			if v.Line != 0 {
				name += fmt.Sprint("@", v.Line)
			}
			list = append(list, name)
		}
		return strings.Join(list, " ")
	}
	var list []string
	for _, s := range scopes {
		text := fmt.Sprintf("%s(%s; %s)", s.Function, names(s.Params), names(s.Locals))
		if s.Inlined {
			text = "inlined:" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// Entries of functions made by hand.
//
//go:noinline
func named(tag dwarf.Tag, name string, attrs ...handAttr) *handDIE {
	return die(tag, append([]handAttr{{dwarf.AttrName, name}}, attrs...)...)
}

//go:noinline
func local(name string, attrs ...handAttr) *handDIE { return named(dwarf.TagVariable, name, attrs...) }
func param(name string, attrs ...handAttr) *handDIE {
	return named(dwarf.TagFormalParameter, name, attrs...)
}
func origin(d *handDIE) handAttr { return handAttr{dwarf.AttrAbstractOrigin, d} }

// code are the attributes of something that has a range of code.
func code(low, high uint64, more ...handAttr) []handAttr {
	return append([]handAttr{{dwarf.AttrLowPC, handAddr(low)}, {dwarf.AttrHighPC, handAddr(high)}}, more...)
}
func lexical(low, high uint64, more ...handAttr) *handDIE {
	return die(dwarf.TagLexicalBlock, code(low, high, more...)...)
}
func inlined(low, high uint64, more ...handAttr) *handDIE {
	return die(dwarf.TagInlinedSubroutine, code(low, high, more...)...)
}

// TestScopesOfFunctions lists the variables of functions: all, and those at addresses.
func TestScopesOfFunctions(t *testing.T) {
	const bias = 0x1000
	nest := func(n int, d func(low, high uint64, more ...handAttr) *handDIE, in ...*handDIE) *handDIE {
		for range n {
			in = []*handDIE{d(2, 100).with(in...)}
		}
		return in[0]
	}
	a, b, c := param("a"), param("b"), param("c")
	ordered := named(dwarf.TagSubprogram, "ordered").with(a, b, c, local("lost"), named(dwarf.TagConstant, "k"))
	kept, shut, pack := local("kept"), local("in the block"), die(dwarf.TagGNUFormalParameterPack).with(param("in a pack"))
	block, other := die(dwarf.TagLexicalBlock).with(shut), die(dwarf.TagLexicalBlock).with(local("in another"), die(dwarf.TagLexicalBlock).with(local("deep")))
	callee := named(dwarf.TagSubprogram, "callee").with(param("p"), kept, block, other, pack, die(dwarf.TagLabel).with(local("of a label")))
	namespace := named(dwarf.TagNamespace, "ns")
	far, near, farther := param("far"), param("near"), param("farther")
	elsewhere := named(dwarf.TagSubprogram, "elsewhere").with(far, farther)
	plain := func(_, _ uint64, _ ...handAttr) *handDIE { return die(dwarf.TagLexicalBlock) }
	sixteen, seventeen := die(dwarf.TagSubprogram).with(nest(16, plain, local("in"))), die(dwarf.TagSubprogram).with(nest(17, plain, local("in")))
	for _, c := range []struct {
		name string
		fn   *handDIE
		all  string
		at   map[uint64]string
	}{
		{"parameters by their declarations", die(dwarf.TagSubprogram, origin(ordered)).with(
			die(dwarf.TagFormalParameter, origin(c)), die(dwarf.TagFormalParameter, origin(a))),
			"f(a b c; lost k)", map[uint64]string{0: "f(a b c; lost k)"}},
		{"parameters of two units as they come", die(dwarf.TagSubprogram).with(
			die(dwarf.TagFormalParameter, handAttr{dwarf.AttrAbstractOrigin, handFar{far}}), near, die(dwarf.TagFormalParameter, handAttr{dwarf.AttrAbstractOrigin, handFar{farther}})),
			"f(far near farther; )", nil},
		{"entries below variables", die(dwarf.TagSubprogram).with(local("v").with(local("below"))), "f(; v)", nil},
		{"kinds of variables", die(dwarf.TagSubprogram).with(
			local("v"), named(dwarf.TagConstant, "k"), param("p", handAttr{dwarf.AttrDeclLine, 7}),
			local("this", handAttr{dwarf.AttrArtificial, true}), named(dwarf.TagLabel, "l").with(local("of a label")),
			die(dwarf.TagGNUFormalParameterPack).with(param("in a pack"), local("beside it")), local("last")),
			"f(p@7 in a pack; v k this* beside it last)", nil},
		{"without a name, and declared only", die(dwarf.TagSubprogram).with(
			die(dwarf.TagVariable), local(""), local("gone", handAttr{dwarf.AttrDeclaration, true}),
			local("there", handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrLocation, []byte{0x50}}),
			local("known", handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrConstValue, 1})),
			"f(; there known)", nil},
		{"blocks, the innermost first", die(dwarf.TagSubprogram).with(
			local("x"), lexical(10, 20).with(local("y"), lexical(12, 14).with(local("z"), local("w"))), local("v"), lexical(20, 30).with(local("u"))),
			"f(; z w y u x v)", map[uint64]string{9: "f(; x v)", 10: "f(; y x v)", 11: "f(; y x v)", 12: "f(; z w y x v)", 13: "f(; z w y x v)", 14: "f(; y x v)", 20: "f(; u x v)", 30: "f(; x v)"}},
		{"a block without addresses", die(dwarf.TagSubprogram).with(
			local("x"), die(dwarf.TagLexicalBlock).with(local("y")), die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrLowPC, handAddr(5)}).with(local("z")),
			die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrHighPC, handAddr(5)}).with(local("w"))),
			"f(; x y z w)", map[uint64]string{0: "f(; x y z w)", 5: "f(; x y z w)"}},
		{"a block with a list of addresses", die(dwarf.TagSubprogram).with(
			die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrRanges, []dwarf.Range{{Low: 2, High: 4}, {Low: 8, High: 9}}}).with(local("x")),
			die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrRanges, []dwarf.Range{}}).with(local("nowhere"))),
			"f(; x nowhere)", map[uint64]string{1: "f(; )", 2: "f(; x)", 4: "f(; )", 8: "f(; x)", 9: "f(; )"}},
		{"blocks of other kinds", die(dwarf.TagSubprogram).with(
			die(dwarf.TagTryBlock, code(2, 10)...).with(local("try")), die(dwarf.TagCatchBlock, code(2, 10)...).with(local("catch")),
			die(dwarf.TagWithStmt, code(2, 10)...).with(local("with"))),
			"f(; try catch with)", map[uint64]string{2: "f(; try catch with)", 10: "f(; )"}},
		{"inlined calls", die(dwarf.TagSubprogram).with(
			local("x"), inlined(10, 20, origin(namespace)).with(local("y"), inlined(12, 14).with(local("z"))),
			inlined(15, 30).with(local("second")), lexical(40, 50).with(inlined(40, 50).with(local("in a block"))),
			die(dwarf.TagInlinedSubroutine).with(local("of no code"))),
			"f(; x) inlined:ns(; y) inlined:(; z) inlined:(; second) inlined:(; in a block)",
			map[uint64]string{9: "f(; x)", 10: "inlined:ns(; y) f(; x)", 12: "inlined:(; z) inlined:ns(; y) f(; x)", 14: "inlined:ns(; y) f(; x)",
				16: "inlined:ns(; y) f(; x)", 20: "inlined:(; second) f(; x)", 30: "f(; x)", 40: "inlined:(; in a block) f(; x)"}},
		{"what only the abstract instance has", die(dwarf.TagSubprogram).with(
			inlined(2, 10, origin(callee)).with(
				die(dwarf.TagVariable, origin(kept)),
				lexical(2, 4, origin(block)).with(die(dwarf.TagVariable, origin(shut))))),
			"f(; ) inlined:callee(p in a pack; in the block kept in another deep)",
			map[uint64]string{5: "inlined:callee(p in a pack; kept in another deep) f(; )", 3: "inlined:callee(p in a pack; in the block kept in another deep) f(; )"}},
		{"a pack that is there", die(dwarf.TagSubprogram, origin(callee)).with(
			die(dwarf.TagGNUFormalParameterPack, origin(pack)).with(param("first"), param("second"))),
			"f(p in a pack first second; kept in the block in another deep)", nil},
		{"an inlined call that is skipped is not inherited", die(dwarf.TagSubprogram, origin(named(dwarf.TagSubprogram, "g"))).with(
			inlined(2, 10, origin(callee))),
			"f(; ) inlined:callee(p in a pack; kept in the block in another deep)", map[uint64]string{10: "f(; )"}},
		{"nothing", die(dwarf.TagSubprogram), "f(; )", map[uint64]string{0: "f(; )"}},
		{"null entries behind", &handDIE{tag: dwarf.TagSubprogram, kids: []*handDIE{{tag: dwarf.TagLexicalBlock, kids: []*handDIE{local("in")}, ends: 1}, local("out")}},
			"f(; in)", nil},
		{"256 blocks", die(dwarf.TagSubprogram).with(nest(256, lexical, local("in"))), "f(; in)", nil},
		{"256 inlined calls", die(dwarf.TagSubprogram).with(nest(256, inlined, local("in"))), "f(; )" + strings.Repeat(" inlined:(; )", 255) + " inlined:(; in)", nil},
		{"257 inlined calls", die(dwarf.TagSubprogram).with(nest(257, inlined, local("in"))), "f(; )" + strings.Repeat(" inlined:(; )", 257), nil},
		{"16 blocks of the abstract instance", die(dwarf.TagSubprogram, origin(sixteen)), "f(; in)", nil},
		{"17 blocks of the abstract instance", die(dwarf.TagSubprogram, origin(seventeen)), "f(; )", nil},
		{"257 blocks", die(dwarf.TagSubprogram).with(nest(257, lexical, local("in")), local("out")), "f(; out)", nil},
	} {
		list := []*handDIE{namespace, ordered, callee, sixteen, seventeen, c.fn}
		u := units(t, binary.LittleEndian, 8, 4, dwarf.LangC99, list, []*handDIE{elsewhere})[0]
		f := &Function{Name: "f", bias: bias, fn: dwarf.Func{DIE: c.fn.in(u)}}
		if got := scopesText(f.Scopes()); got != c.all {
			t.Errorf("%s: %s, want %s", c.name, got, c.all)
		}
		for at, want := range c.at {
			if got := scopesText(f.LiveScopes(bias + at)); got != want {
				t.Errorf("%s at %d: %s, want %s", c.name, at, got, want)
			}
		}
	}
}

// TestManyScopes: of very many scopes and variables, the first ones are listed.
func TestManyScopes(t *testing.T) {
	var calls, vars []*handDIE
	for i := range maxScopes + 1 {
		calls = append(calls, inlined(2, 10).with(local(fmt.Sprint(i))))
	}
	for i := range maxVars + 1 {
		vars = append(vars, local(fmt.Sprint(i)))
	}
	deep := local("in")
	for range maxLiveDepth + 1 {
		deep = inlined(2, 10).with(deep)
	}
	many, much, far := die(dwarf.TagSubprogram).with(calls...), die(dwarf.TagSubprogram).with(vars...), die(dwarf.TagSubprogram).with(deep)
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, many, much, far)
	if got := (&Function{fn: dwarf.Func{DIE: many.in(u)}}).Scopes(); len(got) != 4096 || got[4095].Locals[0].Name != "4094" {
		t.Errorf("%d scopes", len(got))
	}
	if got := (&Function{fn: dwarf.Func{DIE: much.in(u)}}).Scopes()[0].Locals; len(got) != 16384 || got[16383].Name != "16383" {
		t.Errorf("%d variables", len(got))
	}
	f := &Function{fn: dwarf.Func{DIE: far.in(u)}}
	if got := f.LiveScopes(5); len(got) != 64 {
		t.Errorf("%d live scopes", len(got))
	}
	if got := f.Scopes(); len(got) != 66 || len(got[65].Locals) != 1 {
		t.Errorf("%d scopes", len(got))
	}
}

// TestManyEntries: after very many entries no more are looked at.
func TestManyEntries(t *testing.T) {
	abstract := die(dwarf.TagSubprogram).with(local("a"), local("b"))
	fn := die(dwarf.TagSubprogram, origin(abstract)).with(local("x"), local("y"))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, abstract, fn)
	f := &Function{Name: "f", fn: dwarf.Func{DIE: fn.in(u)}}
	for left, want := range map[int]string{0: "f(; )", 1: "f(; x)", 2: "f(; x y)", 3: "f(; x y)", 4: "f(; x y a)", 5: "f(; x y a b)"} {
		c := collector{f: f, everything: true, entries: maxEntries - left}
		if got := scopesText(c.run()); got != want {
			t.Errorf("%d entries: %s, want %s", left, got, want)
		}
	}
}

// TestBlocksOfNoCode: a variable of a block that says that it has no code is nowhere in scope.
func TestBlocksOfNoCode(t *testing.T) {
	fn := die(dwarf.TagSubprogram).with(die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrRanges, []dwarf.Range{}}).with(local("x")), local("y"))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, fn)
	vars := (&Function{fn: dwarf.Func{DIE: fn.in(u)}}).Scopes()[0].Locals
	if vars[0].block.at(8) || !vars[1].block.at(8) {
		t.Errorf("%s is in scope, %s is not", vars[0].Name, vars[1].Name)
	}
}

// TestDamagedOrigins: chains of origins that lead nowhere or round, and an abstract instance that
// contains the concrete one.
func TestDamagedOrigins(t *testing.T) {
	chain := local("end")
	for range maxOrigins - 1 {
		chain = die(dwarf.TagVariable, origin(chain))
	}
	round := die(dwarf.TagVariable)
	back := die(dwarf.TagVariable, origin(round))
	round.attrs = append(round.attrs, origin(back), handAttr{dwarf.AttrDeclLine, 3})
	self := local("self")
	self.attrs = append(self.attrs, origin(self))
	own := die(dwarf.TagSubprogram)
	own.attrs = []handAttr{origin(own)}
	own.with(local("x"))
	var list []*handDIE
	for d := chain; d != nil; {
		list = append(list, d)
		if len(d.attrs) == 0 {
			break
		}
		next, ok := d.attrs[0].val.(*handDIE)
		if !ok {
			break
		}
		d = next
	}
	list = append(list, round, back, self)
	fn := die(dwarf.TagSubprogram).with(die(dwarf.TagVariable, origin(list[0])), die(dwarf.TagVariable, origin(list[1])),
		die(dwarf.TagVariable, origin(round)), die(dwarf.TagVariable, origin(self)), die(dwarf.TagVariable, handAttr{dwarf.AttrAbstractOrigin, 99999}))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, append(list, fn, own)...)
	if got := scopesText((&Function{fn: dwarf.Func{DIE: fn.in(u)}}).Scopes()); got != "(; end self)" {
		t.Error(got)
	}
	if got := scopesText((&Function{fn: dwarf.Func{DIE: own.in(u)}}).Scopes()); got != "(; x)" {
		t.Error(got)
	}
}

// TestGather: the first entry of a chain that has an attribute decides.
func TestGather(t *testing.T) {
	integer, short := base("int", types.EncSigned, 4), base("short", types.EncSigned, 2)
	declared := local("first", handAttr{dwarf.AttrType, short}, handAttr{dwarf.AttrDeclLine, 4}, handAttr{dwarf.AttrConstValue, 8},
		handAttr{dwarf.AttrLocation, []byte{0x51}}, handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrExternal, true}, handAttr{dwarf.AttrArtificial, true})
	middle := local("second", handAttr{dwarf.AttrSpecification, declared}, handAttr{dwarf.AttrDeclLine, 5})
	v := die(dwarf.TagVariable, origin(middle), handAttr{dwarf.AttrType, integer}, handAttr{dwarf.AttrLocation, []byte{0x50}}, handAttr{dwarf.AttrConstValue, 9})
	alone := local("alone", handAttr{dwarf.AttrArtificial, handRaw{dwarf.FormFlag, []byte{0}}}, handAttr{dwarf.AttrExternal, handRaw{dwarf.FormFlag, []byte{0}}},
		handAttr{dwarf.AttrDeclaration, handRaw{dwarf.FormFlag, []byte{0}}})
	flagged := die(dwarf.TagVariable, handAttr{dwarf.AttrArtificial, true}, handAttr{dwarf.AttrExternal, true}, handAttr{dwarf.AttrDeclaration, true}, origin(alone))
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, integer, short, declared, middle, v, alone, flagged)
	if a := gather(flagged.in(u)); !a.artificial || !a.external || !a.declaration {
		t.Errorf("%+v", a)
	}
	a := gather(v.in(u))
	if a.nameIn.Text(&a.name) != "second" || a.typ.Off != uint64(integer.off) || a.loc.B[0] != 0x50 || a.cst.U != 9 || a.line != 5 ||
		a.origin != declared.in(u) || a.first != middle.in(u) || !a.artificial || !a.external || a.declaration {
		t.Errorf("%+v", a)
	}
	if d := gather(declared.in(u)); !d.declaration || d.origin != declared.in(u) || d.first.Valid() || d.line != 4 {
		t.Errorf("%+v", d)
	}
	if a := gather(alone.in(u)); a.artificial || a.external || a.declaration || a.line != 0 {
		t.Errorf("%+v", a)
	}
}

// TestScopesOfRecords lists the variables that a PDB has of a function.
func TestScopesOfRecords(t *testing.T) {
	const bias = 0x1000
	v := func(name string) pdb.Var { return pdb.Var{Name: name} }
	p := func(name string) pdb.Var { return pdb.Var{Name: name, Param: true} }
	span := func(low, high uint32) []pdb.Range { return []pdb.Range{{Low: low, High: high}} }
	block := func(low, high uint32, vars ...pdb.Var) *pdb.Scope {
		return &pdb.Scope{Block: true, Ranges: span(low, high), Vars: vars}
	}
	call := func(name string, low, high uint32, vars ...pdb.Var) *pdb.Scope {
		return &pdb.Scope{Name: name, Inlined: true, Ranges: span(low, high), Vars: vars}
	}
	inside := func(s *pdb.Scope, inner ...*pdb.Scope) *pdb.Scope { s.Inner = inner; return s }
	deep, wide := call("in", 0, 9), &pdb.Scope{}
	for range maxLiveDepth {
		deep = inside(call("out", 0, 9), deep)
	}
	for range maxScopes {
		wide.Inner = append(wide.Inner, call("g", 0, 9))
	}
	for _, c := range []struct {
		name  string
		scope *pdb.Scope
		all   string // or the number of scopes
		at    map[uint64]string
	}{
		{"variables", &pdb.Scope{Vars: []pdb.Var{v("x"), p("a"), {Name: "gen", Generated: true}, p("this"), v("y")}}, "f(a this*; x gen* y)", nil},
		{"blocks", inside(&pdb.Scope{Vars: []pdb.Var{v("x")}}, inside(block(10, 20, v("y")), block(12, 14, v("z"))), block(20, 30, v("u"))),
			"f(; z y u x)", map[uint64]string{9: "f(; x)", 10: "f(; y x)", 12: "f(; z y x)", 14: "f(; y x)", 20: "f(; u x)", 30: "f(; x)"}},
		{"inlined calls", inside(&pdb.Scope{}, inside(call("g", 10, 20, v("y")), call("h", 12, 14)), call("i", 15, 30), inside(block(40, 50), call("j", 40, 50))),
			"f(; ) inlined:g(; y) inlined:h(; ) inlined:i(; ) inlined:j(; )",
			map[uint64]string{9: "f(; )", 10: "inlined:g(; y) f(; )", 13: "inlined:h(; ) inlined:g(; y) f(; )", 16: "inlined:g(; y) f(; )", 20: "inlined:i(; ) f(; )", 45: "inlined:j(; ) f(; )"}},
		{"a call and a block", inside(&pdb.Scope{}, call("g", 10, 20), block(10, 20, v("y"))), "f(; y) inlined:g(; )", map[uint64]string{12: "inlined:g(; ) f(; y)"}},
		{"deep", deep, "66", map[uint64]string{5: "64"}},
		{"wide", wide, "4096", map[uint64]string{5: "2"}},
	} {
		set := types.NewSet(arch.AMD64, nil)
		scope := c.scope
		if scope.Inlined {
			scope = inside(&pdb.Scope{}, scope)
		}
		f := &Function{Name: "f", bias: bias, rec: &pdb.Func{Scope: scope}, db: set.Database(nil, dwarf.LangC)}
		check := func(got []*Scope, want string) {
			t.Helper()
			if text := scopesText(got); text != want && fmt.Sprint(len(got)) != want {
				t.Errorf("%s: %s, want %s", c.name, text, want)
			}
		}
		check(f.Scopes(), c.all)
		for at, want := range c.at {
			check(f.LiveScopes(bias+at), want)
		}
	}
}

// TestSharedRanges: blocks that all have one long list of ranges do not cost their product.
func TestSharedRanges(t *testing.T) {
	t.Parallel()
	long := make([]dwarf.Range, 20_000)
	for i := range long {
		long[i] = dwarf.Range{Low: uint64(2*i + 2), High: uint64(2*i + 3)}
	}
	var blocks []*handDIE
	for range 200 {
		blocks = append(blocks, die(dwarf.TagLexicalBlock, handAttr{dwarf.AttrRanges, long}).with(local("x")))
	}
	fn := die(dwarf.TagSubprogram).with(blocks...)
	u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, fn)
	c := collector{f: &Function{fn: dwarf.Func{DIE: fn.in(u)}}, everything: true}
	if c.run(); c.ranges > maxRanges || c.ranges < maxRanges/2 {
		t.Errorf("%d ranges read", c.ranges)
	}
}
