package dwarfvars

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An asking is a function of a language with variables in memory, and what expressions in it are.
type asking struct {
	name string
	lang dwarf.Language
	kids []*handDIE // of the unit: types
	fn   []*handDIE // of the function
	mem  func(p *handProcess)
	want map[string]string
}

// there is a variable of a type at an offset of the memory.
func there(name string, typ *handDIE, at uint64) *handDIE {
	return local(name, handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrLocation, atAddr(handBase + at)})
}

// TestAsked evaluates expressions in functions made by hand, in languages of which no small fixture has the case.
func TestAsked(t *testing.T) {
	for _, c := range askings() {
		t.Run(c.name, func(t *testing.T) {
			p := newHand(arch.AMD64, 256)
			if c.mem != nil {
				c.mem(p)
			}
			frames := p.walk(t)
			fn := named(dwarf.TagSubprogram, "m__look").with(c.fn...)
			u := unit(t, p.arch.ByteOrder, p.arch.WordSize, c.lang, append(c.kids, fn)...)
			r := New(p, nil)
			d := fn.in(u)
			s := &scene{r: r, fn: &Function{Name: "m__look", r: r, fn: dwarf.Func{DIE: d}}, frames: frames}
			for expr, want := range c.want {
				got := ""
				if ob, err := s.evaluate(AllCalls, expr, nil, false); err != nil {
					got = "error: " + err.Error()
				} else {
					got = "(" + ob.Type() + ") " + ob.Read(Options{}).String()
				}
				if got != want {
					t.Errorf("%s: got %s, want %s", expr, got, want)
				}
			}
		})
	}
}

func askings() []asking {
	to := func(tag dwarf.Tag, of *handDIE, attrs ...handAttr) *handDIE {
		return die(tag, append(attrs, handAttr{dwarf.AttrType, of}, handAttr{dwarf.AttrByteSize, 8})...)
	}
	called := func(name string) handAttr { return handAttr{dwarf.AttrName, name} }
	i32, char, real8 := base("int", types.EncSigned, 4), base("char", types.EncSignedChar, 1), base("double", types.EncFloat, 8)
	// At 0 is 41, at 8 the address of that, at 16 the address of 8, at 32 are 1.5 and its address, at 48 the numbers 7, 8, 9 and their address at 64.
	numbers := func(p *handProcess) {
		p.put(handBase, 4, 41)
		p.put(handBase+8, 8, handBase)
		p.put(handBase+16, 8, handBase+8)
		p.put(handBase+32, 8, 0x3ff8000000000000)
		p.put(handBase+40, 8, handBase+32)
		for i := range uint64(3) {
			p.put(handBase+48+4*i, 4, 7+i)
		}
		p.put(handBase+64, 8, handBase+48)
		p.put(handBase+80, 8, handBase+64)
	}
	pint, three := to(dwarf.TagPointerType, i32), array(i32, 3)
	ref, refp, refa := to(dwarf.TagReferenceType, i32), to(dwarf.TagReferenceType, pint), to(dwarf.TagReferenceType, three)
	borrow := to(dwarf.TagPointerType, i32, called("&i32"))
	twice, raw := to(dwarf.TagPointerType, borrow, called("&&i32")), to(dwarf.TagPointerType, i32, called("*const i32"))
	box, whole := to(dwarf.TagPointerType, i32, called("alloc::boxed::Box<i32, alloc::alloc::Global>")), to(dwarf.TagPointerType, three, called("&[i32; 3]"))
	access, accessArray, accessReal := to(dwarf.TagPointerType, i32, called("number")), to(dwarf.TagPointerType, three, called("list")), to(dwarf.TagPointerType, real8)
	return []asking{
		{"references of C++ in arithmetic", dwarf.LangCPlusPlus, []*handDIE{i32, pint, three, ref, refp, refa}, []*handDIE{there("r", ref, 8), there("rp", refp, 16), there("ra", refa, 64)}, numbers, map[string]string{
			"r + 1": "(int) 42", "rp + 1": "(int *) 0x10004", "*rp": "(int) 41", "*rp + 1": "(int) 42", "ra + 1": "(int *) 0x10034", "*(ra + 1)": "(int) 8", "*ra": "(int) 7", "-r": "(int) -41",
			"r == 41": "(bool) true", "rp == &r": "(bool) true", "*&rp": "(int *) 0x10000", "~r": "(int) -42", "-rp": `error: "-" is not defined for an object of type int *`}},
		{"references of Rust in arithmetic", dwarf.LangRust, []*handDIE{i32, three, borrow, twice, raw, box, whole}, []*handDIE{there("r", borrow, 8), there("rr", twice, 16), there("p", raw, 8), there("b", box, 8), there("list", whole, 64)}, numbers, map[string]string{
			"r + 1": "(int) 42", "1 + r": "(int) 42", "rr * 2": "(int) 82", "r == 41": "(bool) true", "-r": "(int) -41", "!r": "(int) -42", "b + 1": "(int) 42", "rr == r": "(bool) true", "r == p": "(bool) true", "r > 40 && true": "(bool) true",
			"p + 1": "(*const i32) 0x10004", "list + 1": `error: "+" is not defined for a &[i32; 3]: x as usize is the address`, "-list": `error: "-" is not defined for an object of type &[i32; 3]`, "list[r - 40]": "(int) 8"}},
		{"access types of Ada in arithmetic", dwarf.LangAda95, []*handDIE{i32, three, access, accessArray}, []*handDIE{there("p", access, 8), there("q", accessArray, 64)}, numbers, map[string]string{
			"p.all + 1": "(int) 42", "p + 1": `error: "+" is not defined for the access type int *: x.all is what it designates`, "1 + p": `error: "+" is not defined for the access type int *: x.all is what it designates`, "p - p": `error: "-" is not defined for the access type int *: x.all is what it designates`,
			"not p": `error: "!" is not defined for an object of type int *`, "p and 1": `error: "and" is not defined for the access type int *: x.all is what it designates`, "p = null": "(bool) false", "p /= null": "(bool) true",
			"q(2)": "(int) 8", "q.all(1)": "(int) 7", "q(1 .. 2)": "() {7, 8}", "abs p": `error: "abs" is not defined for an object of type int *`}},
		{"pointers of Fortran in arithmetic", dwarf.LangFortran90, []*handDIE{i32, three, real8, pint, accessReal}, []*handDIE{there("p", pint, 8), there("x", accessReal, 40), there("list", three, 48), there("none", pint, 128)}, numbers, map[string]string{
			"p + 1": "(integer(kind=4)) 42", "p * 2": "(integer(kind=4)) 82", "p == 41": "(bool) true", "-p": "(integer(kind=4)) -41", "x * 2": "(real(kind=8)) 3", "mod(p, 5)": "(integer(kind=4)) 1", "max(p, 3)": "(int) 41", "abs(p)": "(integer(kind=4)) 41", "int(x)": "(integer(kind=4)) 1", "list(p - 39)": "(int) 8",
			"list(p)": "error: element 41 of an array from 1 to 3", "none + 1": "error: it is not associated or not allocated: it has no value", "associated(none)": "(bool) false", "p": "(int *) 0x10000", "p == 1 .or. p == 41": "(bool) true"}},
		{"references of D in arithmetic", dwarf.LangD, []*handDIE{i32, pint, ref, refp}, []*handDIE{there("r", ref, 8), there("rp", refp, 16)}, numbers, map[string]string{
			"r + 1": "(int) 42", "rp + 1": "(int *) 0x10004", "*rp + 1": "(int) 42", "~r": "(int) -42"}},
		{"variables of packages in a procedure of Ada", dwarf.LangAda95, []*handDIE{i32}, []*handDIE{there("inner__count", i32, 0), there("one__twin", i32, 0), there("two__twin", i32, 0)}, numbers, map[string]string{
			"count": "(int) 41", "inner.count": "(int) 41", "twin": "error: no variable is called twin; the frame has inner__count, one__twin, two__twin"}},
		{"types of a function", dwarf.LangC99, []*handDIE{i32, char}, []*handDIE{there("n", i32, 0), structure("tile", 12, member("a", i32, 0)),
			die(dwarf.TagLexicalBlock).with(structure("block", 20, member("b", i32, 0)))}, numbers, map[string]string{
			"sizeof(struct tile)": "(unsigned long) 12", "sizeof(struct block)": "(unsigned long) 20", "((struct tile *)&n)->a": "(int) 41"}},
		usingDirectives(i32), nullPointer(i32), functionPointers(i32, char), fortranText(char, i32), fortranOpen(i32), swiftNumbers(i32), packedNumbers(), dNames(i32), pascalRows(i32),
	}
}

// pascalRows has rows of operators, of which several kinds of operands are asked for.
func pascalRows(i32 *handDIE) asking {
	set := die(dwarf.TagSetType, handAttr{dwarf.AttrType, i32}, handAttr{dwarf.AttrByteSize, 4})
	row := func(name, op string) string { return name + strings.Repeat(" "+op+" "+name, 50) }
	return asking{"rows of operators of Pascal", dwarf.LangPascal83, []*handDIE{i32, set}, []*handDIE{there("n", i32, 0), there("s", set, 8), there("u", set, 12)},
		func(p *handProcess) {
			p.put(handBase, 4, 41)
			p.put(handBase+8, 4, 6)
			p.put(handBase+12, 4, 5)
		}, map[string]string{row("n", "+"): "(int) 2091", row("s", "+"): "(?) [1..2]", row("n", "and"): "(int) 41", "2 in " + row("s", "*"): "(bool) true", "abs(" + row("n", "-") + ") / 2": "(double) 1004.5",
			"s + u - [1]": "(?) [0, 2]", "s - u": "(?) [1]", "s <> [1, 2]": "(bool) false", "s + n": "error: an object of type ? is no integer", "nosuch + 1": "error: no variable is called nosuch; the frame has n, s, u"}}
}

// fortranText has character(len=:), whose length is a variable of its own.
func fortranText(char, i32 *handDIE) asking {
	text := named(dwarf.TagStringType, "character(kind=1)")
	pointer := die(dwarf.TagPointerType, handAttr{dwarf.AttrType, text}, handAttr{dwarf.AttrByteSize, 8})
	return asking{"strings of Fortran of a deferred length", dwarf.LangFortran90, []*handDIE{char, i32, text, pointer}, []*handDIE{there("s", pointer, 0), there(".s", i32, 8), there("t", pointer, 0)},
		func(p *handProcess) {
			p.put(handBase, 8, handBase+32)
			p.put(handBase+8, 4, 5)
			copy(p.mem[32:], "hello, and what is behind it")
		}, map[string]string{"s": `(character(len=5)) "hello"`, "len(s)": "(unsigned long) 5", "s(2:3)": `(character(len=2)) "el"`}}
}

// fortranOpen has an array b(2, *).
func fortranOpen(i32 *handDIE) asking {
	dim := func(attrs ...handAttr) *handDIE {
		return die(dwarf.TagSubrangeType, append(attrs, handAttr{dwarf.AttrType, i32})...)
	}
	open := die(dwarf.TagArrayType, handAttr{dwarf.AttrType, i32}).with(dim(handAttr{dwarf.AttrUpperBound, 2}), dim())
	return asking{"arrays of Fortran without an end", dwarf.LangFortran90, []*handDIE{i32, open}, []*handDIE{there("b", open, 0)},
		func(p *handProcess) {
			for i := range uint64(8) {
				p.put(handBase+4*i, 4, 10+i)
			}
		}, map[string]string{"b(1,1)": "(int) 10", "b(2,1)": "(int) 11", "b(1,3)": "(int) 14", "b(2,3)": "(int) 15"}}
}

// swiftNumbers has what the compiler of Swift describes: structures without members.
func swiftNumbers(i32 *handDIE) asking {
	number, flag, double := structure("Int16", 2), structure("Bool", 1), structure("Double", 8)
	text, mine := structure("String", 16), structure("Int", 8)
	return asking{"numbers of Swift", dwarf.LangSwift, []*handDIE{i32, named(dwarf.TagModule, "Swift").with(number, flag, double, text), named(dwarf.TagModule, "app").with(mine)},
		[]*handDIE{there("n", number, 0), there("yes", flag, 8), there("x", double, 16), there("s", text, 32), there("own", mine, 0)},
		func(p *handProcess) {
			p.put(handBase, 8, 0xfffb)
			p.put(handBase+8, 1, 1)
			p.put(handBase+16, 8, 0x4004000000000000)
		}, map[string]string{"n": "(Swift::Int16) -5", "yes": "(Swift::Bool) true", "x": "(Swift::Double) 2.5",
			"s": "(Swift::String) <incomplete type Swift::String>", "own": "(app::Int) <incomplete type app::Int>"}}
}

// packedNumbers has elements of four bits of a range that begins at 0, and of one that begins below.
func packedNumbers() asking {
	signed := base("integer", types.EncSigned, 4)
	within := func(name string, low, high handRaw) *handDIE {
		return named(dwarf.TagSubrangeType, name, handAttr{dwarf.AttrType, signed}, handAttr{dwarf.AttrLowerBound, low}, handAttr{dwarf.AttrUpperBound, high}, handAttr{dwarf.AttrByteSize, 1})
	}
	sdata := func(b byte) handRaw { return handRaw{dwarf.FormSdata, []byte{b}} }
	natural, around := within("digit", sdata(0), sdata(15)), within("around", sdata(0x78), sdata(7))
	packed := func(of *handDIE) *handDIE {
		return die(dwarf.TagArrayType, handAttr{dwarf.AttrType, of}, handAttr{dwarf.AttrBitStride, 4}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 2}))
	}
	digits, others := packed(natural), packed(around)
	return asking{"packed numbers without a sign", dwarf.LangAda95, []*handDIE{signed, natural, around, digits, others}, []*handDIE{there("d", digits, 0), there("o", others, 0)},
		func(p *handProcess) { p.put(handBase, 1, 0xf9) }, map[string]string{"d": "(digit [2]) {9, 15}", "d(1)": "(digit) 9", "d(2)": "(digit) 15", "o": "(around [2]) {-7, -1}"}}
}

// dNames has names with points, which D writes of what is in modules and types.
func dNames(i32 *handDIE) asking {
	colour := named(dwarf.TagEnumerationType, "Colour", handAttr{dwarf.AttrByteSize, 4}, handAttr{dwarf.AttrType, i32}).with(
		named(dwarf.TagEnumerator, "red", handAttr{dwarf.AttrConstValue, 1}), named(dwarf.TagEnumerator, "green", handAttr{dwarf.AttrConstValue, 2}))
	point := structure("Point", 8, member("x", i32, 0), member("y", i32, 4))
	return asking{"names of D with points", dwarf.LangD, []*handDIE{i32, named(dwarf.TagModule, "m").with(colour, point, there("count", i32, 0))}, []*handDIE{there("p", point, 0)},
		func(p *handProcess) { p.put(handBase, 4, 41) }, map[string]string{
			"m.Colour.green": "(m::Colour) m::green", "m.Point.sizeof": "(ulong) 8", "m.count": "(int) 41", "p.x": "(int) 41", "m.Colour.blue": "error: m::Colour has no enumerator blue"}}
}

// usingDirectives has a namespace that a directive names, and one that none does.
func usingDirectives(i32 *handDIE) asking {
	enum := func(name, of string, v int) *handDIE {
		return named(dwarf.TagEnumerationType, name, handAttr{dwarf.AttrByteSize, 4}, handAttr{dwarf.AttrType, i32}).with(named(dwarf.TagEnumerator, of, handAttr{dwarf.AttrConstValue, v}))
	}
	app := named(dwarf.TagNamespace, "app").with(enum("Flag", "R", 4), structure("tile", 12, member("a", i32, 0)))
	inner := named(dwarf.TagNamespace, "deep").with(enum("Level", "HIGH", 9))
	local := named(dwarf.TagNamespace, "local").with(enum("Kind", "K", 7))
	other := named(dwarf.TagNamespace, "other").with(enum("Else", "E", 5), structure("brick", 20))
	directive := func(space *handDIE) *handDIE {
		return die(dwarf.TagImportedModule, handAttr{dwarf.AttrImport, space})
	}
	return asking{"using directives of C++", dwarf.LangCPlusPlus, []*handDIE{i32, app, named(dwarf.TagNamespace, "outer").with(inner), local, other, directive(app), directive(inner)},
		[]*handDIE{there("n", i32, 0), die(dwarf.TagLexicalBlock).with(directive(local))}, nil, map[string]string{
			"R|1": "(int) 5", "HIGH + 0": "(int) 9", "K + 0": "(int) 7", "sizeof(tile)": "(unsigned long) 12", "sizeof(app::tile)": "(unsigned long) 12",
			"E": "error: no variable is called E; the frame has n", "sizeof(brick)": "error: no type is called brick"}}
}

// functionPointers has an address that is looked at as one of functions.
func functionPointers(i32, char *handDIE) asking {
	return asking{"types of functions", dwarf.LangC99, []*handDIE{i32, char}, []*handDIE{there("n", i32, 0)}, func(p *handProcess) { p.put(handBase, 4, 41) }, map[string]string{
		"(int (*)(int))n":                 "(int (*)(int)) 0x29",
		"(int (*)(int, char *, ...))n":    "(int (*)(int, char *, ...)) 0x29",
		"(char (**)())n":                  "(char (**)(void)) 0x29",
		"(int *(*)(void))n":               "(int * (*)(void)) 0x29",
		"(int (*)(int (*)(char), int))n":  "(int (*)(int (*)(char), int)) 0x29",
		"sizeof(int (*)(int))":            "(unsigned long) 8",
		"{int (*)(int)} &n == (char *)41": "(bool) true",
		"(int (*)(const char *))n":        "error: \")(const char *))n\" is not expected here",
		"(int (*)(nosuch))n":              "error: no type is called nosuch",
		"(int (*)(int)n":                  "error: \")(int)n\" is not expected here",
		"(int (*)(int,))n":                "error: \")(int,))n\" is not expected here",
		"(int (*)(..., int))n":            "error: \")(..., int))n\" is not expected here",
		"n * (n)":                         "(int) 1681",
	}}
}

// nullPointer has a variable of the type of nullptr.
func nullPointer(i32 *handDIE) asking {
	null, pointer := named(dwarf.TagUnspecifiedType, "decltype(nullptr)"), die(dwarf.TagPointerType, handAttr{dwarf.AttrType, i32}, handAttr{dwarf.AttrByteSize, 8})
	return asking{"nullptr", dwarf.LangCPlusPlus, []*handDIE{i32, null, pointer}, []*handDIE{there("np", null, 0), there("p", pointer, 8), there("q", pointer, 16)},
		func(p *handProcess) { p.put(handBase+16, 8, 64) }, map[string]string{"np == 0": "(bool) true", "p == np": "(bool) true", "q == np": "(bool) false", "!np": "(bool) true"}}
}
