package dwarf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// short prints calls as "name@file:line[inlined] <- ...".
func shortCalls(calls []Call) string {
	var parts []string
	for _, c := range calls {
		s := fmt.Sprintf("%s@%s:%d", c.Name, c.File.Name, c.Line)
		if c.Inlined {
			s += "[inlined]"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " <- ")
}

func checkFrames(t *testing.T, d *Data, want map[uint64]string) {
	t.Helper()
	for pc, w := range want {
		calls, err := d.Frames(pc, nil)
		got := shortCalls(calls)
		if errors.Is(err, ErrNotFound) {
			got = "none"
		} else if err != nil {
			t.Errorf("%#x: %v", pc, err)
		}
		if got != w {
			t.Errorf("%#x:\n got %s\nwant %s", pc, got, w)
		}
	}
}

func inlined(of *node, line int, parts ...any) *node {
	return die(TagInlinedSubroutine, append([]any{at(AttrAbstractOrigin, FormRef4, of),
		at(AttrCallFile, FormData1, 1), at(AttrCallLine, FormData2, line), at(AttrCallColumn, FormData1, 3)}, parts...)...)
}

// TestFrames has inlined calls beside and inside each other, in blocks with and without
// addresses, and an address in none of them.
func TestFrames(t *testing.T) {
	eachShape(t, func(t *testing.T, f *dwarfFile, u *unitSpec) {
		for _, sibling := range []bool{false, true} {
			u := *u
			u.sibling = sibling
			form := FormSecOffset
			if u.version < 4 {
				form = FormData4
				if u.dwarf64 {
					form = FormData8
				}
			}
			a := die(TagSubprogram, name("a"), at(AttrInline, FormData1, 1))
			b := die(TagSubprogram, name("b"), at(AttrInline, FormData1, 1), die(TagVariable, name("v")))
			fn := die(TagSubprogram, name("fn"), pcs(0x1000, 0x100),
				die(TagFormalParameter, name("p")),
				die(TagStructureType, die(TagMember, name("m"))),
				inlined(a, 10, pcs(0x1010, 0x10)),
				die(TagLexicalBlock, die(TagVariable, name("x")),
					inlined(b, 20, pcs(0x1020, 0x40),
						die(TagLexicalBlock, pcs(0x1030, 0x20),
							inlined(a, 30, pcs(0x1038, 8)))),
					inlined(b, 40, pcs(0x1080, 0x10))),
				inlined(a, 50, pcs(0x1090, 0x10)),
				die(TagLexicalBlock, pcs(0x10a0, 0x10), die(TagVariable, name("y"))),
				inlined(b, 60, pcs(0x10a0, 0x10))) // beside the block that it is in
			nested := die(TagSubprogram, name("outer"), pcs(0x1100, 0x10), die(TagLexicalBlock, pcs(0x1100, 0x10), die(TagSubprogram, name("nested"), pcs(0x1110, 0x10))))
			l := lineSpec{version: u.version, addrSize: u.addrSize, dwarf64: u.dwarf64, files: []fileSpec{{"m.c", 0}}, program: func(p *program) {
				p.setAddress(0x1000)
				p.row(0, 99)
				p.advance(0x120)
				p.end()
			}}
			if u.version >= 5 {
				l.files = append(l.files, l.files[0])
			}
			f := newFile(f.order)
			u.root = die(TagCompileUnit, pcs(0x1000, 0x130), at(AttrLanguage, FormData1, int(LangC99)), at(AttrStmtList, form, f.lines(l)), a, b, fn, nested)
			f.unit(&u)
			d := f.data()
			checkFrames(t, d, map[uint64]string{
				0x0fff: "none",
				0x1000: "fn@m.c:100",
				0x1010: "a@m.c:100[inlined] <- fn@m.c:10",
				0x1020: "b@m.c:100[inlined] <- fn@m.c:20",
				0x1030: "b@m.c:100[inlined] <- fn@m.c:20",
				0x1038: "a@m.c:100[inlined] <- b@m.c:30[inlined] <- fn@m.c:20",
				0x105f: "b@m.c:100[inlined] <- fn@m.c:20",
				0x1060: "fn@m.c:100",
				0x1080: "b@m.c:100[inlined] <- fn@m.c:40",
				0x109f: "a@m.c:100[inlined] <- fn@m.c:50",
				0x10a0: "b@m.c:100[inlined] <- fn@m.c:60",
				0x10ff: "fn@m.c:100",
				0x1100: "outer@m.c:100",
				0x1110: "nested@m.c:100",
				0x1120: "none",
			})
			calls, _ := d.Frames(0x1038, nil)
			if c := calls[0]; c.Entry != 0x1038 || c.Range != (Range{0x1038, 0x1040}) || c.Func.Off == 0 || c.Column != 0 {
				t.Errorf("innermost call: %+v", c)
			}
			if c := calls[2]; c.Entry != 0x1000 || c.Func.Off != fn.off || c.Column != 3 {
				t.Errorf("function: %+v", c)
			}
		}
	})
}

// The entry of a function in two parts is in its first part.
func TestSplitFunction(t *testing.T) {
	f := newFile(binary.LittleEndian)
	o := f.section(SecRanges)
	for _, v := range []uint64{0x2000, 0x2040, 0x1000, 0x1010, 0, 0} {
		o.u64(v)
	}
	fn := die(TagSubprogram, name("hot"), at(AttrRanges, FormSecOffset, 0), at(AttrNoreturn, FormFlagPresent, 1))
	f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, at(AttrRanges, FormSecOffset, 0), at(AttrLowPC, FormAddr, 0), fn)})
	d := f.data()
	calls, err := d.Frames(0x1008, nil)
	if err != nil || len(calls) != 1 {
		t.Fatal(calls, err)
	}
	if c := calls[0]; c.Entry != 0x2000 || c.Range != (Range{0x1000, 0x1010}) || !c.Noreturn {
		t.Errorf("%+v", c)
	}
}

func TestNames(t *testing.T) {
	type want struct{ name, linkage string }
	build := func(lang Language) (*Data, map[uint64]want) {
		f := newFile(binary.LittleEndian)
		method := die(TagSubprogram, name("m"), at(AttrDeclaration, FormFlagPresent, 1), at(AttrDeclLine, FormData1, 7))
		mangled := die(TagSubprogram, name("n"), at(AttrLinkageName, FormStrp, "_ZN2ns1C1nEv"), at(AttrDeclaration, FormFlagPresent, 1))
		class := die(TagClassType, name("C"), die(TagMember, name("x")), method, mangled)
		free := die(TagSubprogram, name("free"), pcs(0x1200, 0x10))
		abstract := die(TagSubprogram, at(AttrSpecification, FormRef4, method), at(AttrInline, FormData1, 1))
		lambda := die(TagSubprogram, name("operator()"), pcs(0x1600, 0x10))
		host := die(TagSubprogram, at(AttrSpecification, FormRef4, method), die(TagStructureType, name("<lambda()>"), lambda))
		loop := die(TagSubprogram, pcs(0x1500, 0x10))
		loop.attrs = append(loop.attrs, at(AttrAbstractOrigin, FormRef4, loop))
		root := die(TagCompileUnit, pcs(0x1000, 0x1000), at(AttrLanguage, FormData2, int(lang)),
			die(TagNamespace, name("ns"), class, die(TagNamespace, free)),
			abstract, host, loop,
			die(TagSubprogram, at(AttrAbstractOrigin, FormRef4, abstract), pcs(0x1000, 0x10)),
			die(TagSubprogram, at(AttrSpecification, FormRef4, mangled), pcs(0x1100, 0x10)),
			die(TagSubprogram, name("main"), pcs(0x1300, 0x10)))
		f.unit(&unitSpec{version: 4, addrSize: 8, root: root, sibling: true})
		other := die(TagSubprogram, at(AttrAbstractOrigin, FormRefAddr, method), pcs(0x5000, 0x10))
		f.unit(&unitSpec{version: 4, addrSize: 8, root: die(TagCompileUnit, pcs(0x5000, 0x10), at(AttrLanguage, FormData2, int(lang)), other)})
		return f.data(), map[uint64]want{
			0x1000: {"ns::C::m", ""}, 0x1100: {"n", "_ZN2ns1C1nEv"}, 0x1200: {"ns::(anonymous namespace)::free", ""},
			0x1300: {"main", ""}, 0x1500: {"", ""}, 0x5000: {"ns::C::m", ""}, 0x1600: {"ns::C::m::<lambda()>::operator()", ""},
		}
	}
	for _, lang := range []Language{LangCPlus14, LangC11} {
		d, wants := build(lang)
		for pc, w := range wants {
			if lang == LangC11 {
				w.name = w.name[strings.LastIndex(w.name, "::")+1:]
				w.name = strings.TrimPrefix(w.name, ":")
			}
			calls, err := d.Frames(pc, nil)
			if err != nil || len(calls) != 1 {
				t.Errorf("%#x: %v, %v", pc, calls, err)
				continue
			}
			if c := calls[0]; c.Name != w.name || c.LinkageName != w.linkage || c.Language != lang && w.name != "" {
				t.Errorf("%#x: %q, %q of language %#x; want %q, %q", pc, c.Name, c.LinkageName, c.Language, w.name, w.linkage)
			}
		}
		calls, _ := d.Frames(0x5000, nil)
		if calls[0].DeclLine != 7 || calls[0].Declaration {
			t.Errorf("%+v, want line 7", calls[0].FuncInfo)
		}
	}
}

// dwz moves abstract instances into a partial unit of another file.
func TestSupplementaryFile(t *testing.T) {
	for _, v := range []struct {
		version   int
		ref, strp Form
	}{{4, FormGNURefAlt, FormGNUStrpAlt}, {5, FormRefSup4, FormStrpSup}, {5, FormRefSup8, FormGNUStrpAlt}} {
		alt := newFile(binary.LittleEndian)
		shared := die(TagSubprogram, name("shared"), at(AttrInline, FormData1, 1))
		str := alt.addString(SecStr, "from alt")
		kind := UnitType(0)
		if v.version == 5 {
			kind = UnitPartial
		}
		alt.unit(&unitSpec{version: v.version, addrSize: 8, kind: kind, root: die(TagPartialUnit, shared)})

		f := newFile(binary.LittleEndian)
		fn := die(TagSubprogram, at(AttrName, v.strp, str), pcs(0x1000, 0x20),
			die(TagInlinedSubroutine, at(AttrAbstractOrigin, v.ref, shared), at(AttrCallLine, FormData1, 5), pcs(0x1010, 0x10)))
		f.unit(&unitSpec{version: v.version, addrSize: 8, root: die(TagCompileUnit, pcs(0x1000, 0x20), fn)})
		checkFrames(t, f.data(WithSup(alt.data())), map[uint64]string{0x1010: "shared@:0[inlined] <- from alt@:5", 0x1000: "from alt@:0"})
		checkFrames(t, f.data(), map[uint64]string{0x1010: "@:0[inlined] <- @:5"})

		u, _ := f.data().UnitAt(SecInfo, 0)
		ref := u.Value(fn.kids[0].off, AttrAbstractOrigin)
		if _, err := u.Ref(&ref); !errors.Is(err, ErrNoSup) {
			t.Errorf("reference without the other file: %v", err)
		}
	}
}

func TestTypeSignature(t *testing.T) {
	for _, version := range []int{4, 5} {
		f := newFile(binary.LittleEndian)
		typ := die(TagStructureType, name("S"))
		f.unit(&unitSpec{version: version, addrSize: 8, kind: UnitTypes, id: 0xfeedface, typ: typ, root: die(TagTypeUnit, die(TagBaseType), typ)})
		v := die(TagVariable, at(AttrType, FormRefSig8, uint64(0xfeedface)))
		w := die(TagVariable, at(AttrType, FormRefSig8, uint64(1)))
		cu := &unitSpec{version: version, addrSize: 8, kind: 0, root: die(TagCompileUnit, v, w)}
		f.unit(cu)
		d := f.data()
		u, err := d.UnitAt(SecInfo, cu.off)
		if err != nil {
			t.Fatal(err)
		}
		ref := u.Value(v.off, AttrType)
		got, err := u.Ref(&ref)
		if err != nil || got.Off != typ.off || got.Unit.Type != UnitTypes {
			t.Errorf("version %d: %+v, %v", version, got, err)
		} else if n := got.Unit.Value(got.Off, AttrName); got.Unit.Text(&n) != "S" {
			t.Errorf("name %q", got.Unit.Text(&n))
		}
		ref = u.Value(w.off, AttrType)
		if _, err := u.Ref(&ref); !errors.Is(err, ErrNotFound) {
			t.Errorf("unknown signature: %v", err)
		}
	}
}
