package dwarfvars

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/format/dwarf/op"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A handProgram is a process of x86-64 with one file, made by hand.
type handProgram struct {
	*handProcess
	lib  *libstate.Library
	file *image.Image
}

// handBias is where a handProgram is loaded.
const handBias = 0x100000

// newProgram makes the process of a file with units.
func newProgram(t *testing.T, units ...[]*handDIE) *handProgram {
	t.Helper()
	sections, _ := unitSections(binary.LittleEndian, 8, 4, dwarf.LangC99, units...)
	lib := &libstate.Library{Path: "program", LoadBias: handBias, Start: handBias, End: handBias + 0x10000}
	p := &handProgram{newHand(arch.AMD64, 0x1000), lib, (&handFile{progs: []elffile.Prog{text}, sections: sections, symbols: map[string]uint64{"_alias": 0x2200, "_zero": 0, "_one": 1}}).image(t)}
	p.libs = &handLibraries{list: []*libstate.Library{lib}}
	return p
}

// at walks to the functions at addresses of the file: the first has the thread's registers, the
// others were called. The callers have rbx, and a CFA.
func (p *handProgram) at(t *testing.T, pcs ...uint64) (*Reader, []*unwind.Frame) {
	t.Helper()
	p.regs.Set(p.arch.PC, handBias+pcs[0])
	var steps []func(in, out *unwind.Frame)
	for _, ra := range pcs[1:] {
		steps = append(steps, func(_, out *unwind.Frame) {
			out.SetRA(handBias + ra)
			rbx, _ := p.arch.FromDWARF(3)
			out.SetReg(rbx, 77, unwind.Location{})
			out.SetCalleeCFA(0x7000)
		})
	}
	return New(p, handFiles{p.lib: p.file}), p.walkBy(t, steps...)
}

func function(name string, low, high uint64, more ...handAttr) *handDIE {
	return named(dwarf.TagSubprogram, name, code(low, high, more...)...)
}

// callTo is a call site that returns to an address.
func callTo(ret uint64, what handAttr, params ...*handDIE) *handDIE {
	return die(dwarf.TagCallSite, handAttr{dwarf.AttrCallReturnPC, handAddr(ret)}, what).with(params...)
}

// passes is a parameter of a call site: where it is passed, and its value.
func passes(place []byte, value any) *handDIE {
	return die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrLocation, place}, handAttr{dwarf.AttrCallValue, value})
}

// sleb is a signed LEB128 number.
func sleb(v int64) (b []byte) {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// TestCallers: what was passed in a register, by the ways that lead to a function.
func TestCallers(t *testing.T) {
	const rdi, rsi = op.Reg0 + 5, op.Reg0 + 4
	origin := func(d *handDIE) handAttr { return handAttr{dwarf.AttrCallOrigin, d} }
	far := func(d *handDIE) handAttr { return handAttr{dwarf.AttrCallOrigin, handFar{d}} }
	lit := func(n op.Op) *handDIE { return passes(ops(rdi), ops(op.Lit0+n)) }
	target := func(expr []byte) handAttr { return handAttr{dwarf.AttrCallTarget, expr} }
	tail := func(to *handDIE, at uint64, params ...*handDIE) *handDIE {
		d := callTo(at, origin(to), params...)
		d.attrs = append(d.attrs, handAttr{dwarf.AttrCallTailCall, true})
		return d
	}
	external := handAttr{dwarf.AttrExternal, true}
	callee := function("callee", 0x2000, 0x2100, external)
	linked := function("linked", 0x2200, 0x2300, handAttr{dwarf.AttrLinkageName, "_linked"}, external)
	abstract := named(dwarf.TagSubprogram, "copied")
	copied := die(dwarf.TagSubprogram, code(0x2400, 0x2500, handAttr{dwarf.AttrAbstractOrigin, abstract})...)
	declaredHere := named(dwarf.TagSubprogram, "method", handAttr{dwarf.AttrDeclaration, true})
	method := die(dwarf.TagSubprogram, code(0x2600, 0x2700, handAttr{dwarf.AttrSpecification, declaredHere})...)
	static := function("hidden", 0x2800, 0x2900)
	all := handAttr{dwarf.AttrCallAllCalls, true}
	jumps := function("jumps", 0x3000, 0x3100, all).with(tail(callee, 0x3050, lit(8)))
	twice := function("twice", 0x3100, 0x3200, all).with(tail(callee, 0x3150, lit(8)), tail(callee, 0x3160, lit(9)))
	hands := function("hands", 0x3200, 0x3300, all).with(tail(callee, 0x3250, passes(ops(rdi), ops(op.EntryValue, 1, rsi, op.PlusUconst, 1))))
	based := function("based", 0x3300, 0x3400, all, handAttr{dwarf.AttrFrameBase, ops(op.CallFrameCFA)}).with(
		tail(callee, 0x3350, passes(ops(rdi), ops(op.Fbreg, 0)), passes(ops(rsi), ops(op.Breg0+3, 1)), passes(ops(op.Reg0+1), ops(op.Breg0+2, 1)), passes(ops(op.Reg0+8), ops(op.CallFrameCFA))))
	popped := function("popped", 0x3500, 0x3600, all, handAttr{dwarf.AttrFrameBase, ops(op.Breg0+3, 8)}).with(tail(callee, 0x3550, passes(ops(rdi), ops(op.Fbreg, 0))))
	twoDeep := function("two deep", 0x3400, 0x3500, all).with(tail(hands, 0x3450, passes(ops(rsi), ops(op.Lit0+20))))
	again := function("again", 0x3600, 0x3700, all)
	around := function("around", 0x3700, 0x3800, all).with(tail(again, 0x3750, lit(9)))
	again.with(tail(around, 0x3650, lit(9)))
	unrelated := function("unrelated", 0x4000, 0x4100, all)
	decl := func(name string, more ...handAttr) *handDIE {
		return named(dwarf.TagSubprogram, name, append(more, handAttr{dwarf.AttrDeclaration, true})...)
	}
	declCallee, declLinked, declOther := decl("callee", external), decl("x", handAttr{dwarf.AttrLinkageName, "_linked"}), decl("linked", handAttr{dwarf.AttrLinkageName, "_other"})
	declPlain, declMore, declAlias := decl("linked", external), decl("callee", external, handAttr{dwarf.AttrLinkageName, "_callee"}), decl("y", external, handAttr{dwarf.AttrLinkageName, "_alias"})
	declElsewhere := decl("z", external, handAttr{dwarf.AttrLinkageName, "_one"})
	declHidden, declInternal := decl("hidden", external), decl("callee")
	main := function("main", 0x1000, 0x1800).with(
		callTo(0x1010, origin(callee), lit(5)),
		callTo(0x1020, far(declCallee), lit(6)),
		callTo(0x1030, far(declLinked), lit(7)),
		callTo(0x1040, far(declOther), lit(7)),
		callTo(0x1050, target(atAddr(0x2000)), lit(4)),
		callTo(0x1060, target(ops(op.Breg0+2, 0)), lit(4)),
		callTo(0x1070, target(atAddr(0x3000)), lit(4)),
		callTo(0x1080, target(atAddr(0x9000)), lit(4)),
		callTo(0x1090, origin(jumps), lit(4)),
		callTo(0x10a0, origin(twice), lit(4)),
		callTo(0x10b0, origin(hands), lit(4), passes(ops(rsi), ops(op.Lit0+10))),
		callTo(0x10c0, origin(based)),
		callTo(0x10d0, origin(twoDeep)),
		callTo(0x10e0, origin(unrelated), lit(4)),
		callTo(0x1100, origin(callee)),
		callTo(0x1110, origin(callee), passes(ops(rsi), ops(op.Lit0))),
		callTo(0x1120, origin(callee), passes(ops(rdi), []byte{})),
		callTo(0x1130, origin(callee), passes(ops(rdi), ops(op.Breg0+3, 1))),
		callTo(0x1140, origin(callee), passes(ops(rdi), ops(op.Breg0+2, 1))),
		callTo(0x1150, origin(abstract), lit(11)),
		callTo(0x1160, origin(declaredHere), lit(12)),
		callTo(0x1170, far(declHidden), lit(13)),
		callTo(0x1180, far(declInternal), lit(13)),
		callTo(0x1190, target([]byte{}), lit(4)),
		callTo(0x11a0, target(atAddr(0x4000)), lit(4)),
		die(dwarf.TagGNUCallSite, handAttr{dwarf.AttrLowPC, handAddr(0x11b0)}, handAttr{dwarf.AttrAbstractOrigin, callee}).with(
			die(dwarf.TagVariable),
			die(dwarf.TagGNUCallSiteParameter, handAttr{dwarf.AttrLocation, ops(rdi)}, handAttr{dwarf.AttrGNUCallSiteValue, ops(op.Lit0 + 14)},
				handAttr{dwarf.AttrGNUCallSiteDataVal, ops(op.Lit0 + 15)})),
		callTo(0x11c0, origin(linked), lit(16)),
		callTo(0x11d0, origin(popped), lit(4)),
		callTo(0x11e0, target(append(ops(op.Breg0+3), sleb(handBias+0x2000-77)...)), lit(4)),
		die(dwarf.TagCallSite, handAttr{dwarf.AttrCallReturnPC, handAddr(0x11f0)}, origin(jumps), target(atAddr(0x9000))).with(lit(4)),
		callTo(0x1200, target(append(atAddr(0x2000), byte(op.Plus))), lit(4)),
		callTo(0x1210, far(declPlain), lit(4)),
		callTo(0x1220, far(declMore), lit(4)),
		callTo(0x1230, far(declAlias), lit(4)),
		callTo(0x1240, origin(again), lit(4)),
		callTo(0x1250, far(declElsewhere), lit(4)),
	)
	p := newProgram(t, []*handDIE{spans(0x1000, 0x5000), callee, linked, abstract, copied, declaredHere, method, static, jumps, hands, twice, based, popped, twoDeep, again, around, unrelated, main},
		[]*handDIE{declCallee, declLinked, declOther, declHidden, declInternal, declPlain, declMore, declAlias, declElsewhere})
	const another = "the caller called another function, which left by a tail call"
	for _, c := range []struct {
		pc, ra uint64
		place  []byte
		want   string
	}{
		{0x2010, 0x1010, ops(rdi), "5"},
		{0x2010, 0x1020, ops(rdi), "6"},
		{0x2210, 0x1030, ops(rdi), "7"},
		{0x2210, 0x1040, ops(rdi), another},
		{0x2210, 0x11c0, ops(rdi), "16"},
		{0x2210, 0x1010, ops(rdi), another},
		{0x2010, 0x1050, ops(rdi), "4"},
		{0x2210, 0x1050, ops(rdi), another},
		{0x2010, 0x1060, ops(rdi), another},
		{0x2010, 0x1070, ops(rdi), "8"},
		{0x2010, 0x1080, ops(rdi), another},
		{0x2010, 0x11a0, ops(rdi), another},
		{0x2010, 0x1190, ops(rdi), another},
		{0x2010, 0x1090, ops(rdi), "8"},
		{0x2010, 0x10a0, ops(rdi), "the function that left by a tail call has several tail calls"},
		{0x2010, 0x10b0, ops(rdi), "11"},
		{0x2010, 0x10c0, ops(rdi), "the frame's CFA is not known"},
		{0x2010, 0x10c0, ops(rsi), "78"},
		{0x2010, 0x10c0, ops(op.Reg0 + 1), "rcx not recovered"},
		{0x2010, 0x10c0, ops(op.Reg0 + 8), "the frame's CFA is not known"},
		{0x2010, 0x10d0, ops(rdi), "21"},
		{0x2010, 0x10e0, ops(rdi), another},
		{0x2010, 0x10f0, ops(rdi), "the caller does not describe the call"},
		{0x2010, 0x1100, ops(rdi), "the call site describes no parameters"},
		{0x2010, 0x1110, ops(rdi), "the call site does not describe this parameter"},
		{0x2010, 0x1120, ops(rdi), "the caller no longer has it"},
		{0x2010, 0x1130, ops(rdi), "78"},
		{0x2010, 0x1140, ops(rdi), "rcx not recovered"},
		{0x2410, 0x1150, ops(rdi), "11"},
		{0x2610, 0x1160, ops(rdi), "12"},
		{0x2810, 0x1170, ops(rdi), another},
		{0x2010, 0x1180, ops(rdi), another},
		{0x2010, 0x11b0, ops(rdi), "14"},
		{0x2010, 0x11b0, ops(op.Breg0+5, 0, op.Deref), "15"},
		{0x2010, 0x11d0, ops(rdi), "the frame's CFA is not known"},
		{0x3610, 0x1240, ops(rdi), "a tail call may have entered the function again"},
		{0x2010, 0x11e0, ops(rdi), "4"},
		{0x2010, 0x11f0, ops(rdi), "8"},
		{0x2010, 0x1200, ops(rdi), another},
		{0x2210, 0x1210, ops(rdi), another},
		{0x2010, 0x1220, ops(rdi), another},
		{0x2210, 0x1230, ops(rdi), "4"}, // _alias is another name of _linked
		{0x2210, 0x1250, ops(rdi), another},
		{0x2010, 0x9010, ops(rdi), "no debugging information for the caller"},
		{0x2010, 0x1010, ops(op.Breg0 + 5), "it was not in a register"},
	} {
		r, frames := p.at(t, c.pc, c.ra, 0x1010)
		for range 2 { // the second time from what is known
			a, err := r.At(frames, 0)
			if err != nil {
				t.Fatal(err)
			}
			v, err := a.e.entryValue(c.place)
			got := fmt.Sprint(v.Bits)
			var entry *unknown.Entry
			if errors.As(err, &entry) {
				got = entry.Why
			} else if err != nil {
				got = err.Error()
			}
			if got != c.want || err != nil && v != (op.Value{}) {
				t.Errorf("%#x called from %#x: %s, want %s", c.pc, c.ra, got, c.want)
			}
			a.Close()
		}
		if _, ok := r.known.values.Load(frames[1]); ok {
			t.Errorf("%#x called from %#x: what a function without a frame was passed is known of the frame", c.pc, c.ra)
		}
	}
	r, frames := p.at(t, 0x2010, 0x1010)
	why := func(frame int, frames []*unwind.Frame) string {
		a, err := r.At(frames, frame)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, err = a.e.callSite()
		var entry *unknown.Entry
		if !errors.As(err, &entry) {
			return fmt.Sprint(err)
		}
		return entry.Why
	}
	if got := why(1, frames); got != "the stack has no caller" {
		t.Error(got)
	}
	if got := why(0, frames); got != "<nil>" {
		t.Error(got)
	}
	// A signal's handler, what it interrupted, and what called that.
	stack := p.walkBy(t, func(_, out *unwind.Frame) {
		out.SetRA(handBias + 0x2020)
		interrupted(nil, out)
	}, func(_, out *unwind.Frame) { out.SetRA(handBias + 0x1010) })
	for i, want := range []string{"a signal handler has no caller", "<nil>"} {
		if got := why(i, stack); got != want {
			t.Errorf("frame %d: %s", i, got)
		}
	}
}

// TestPassedOn: a value that each call of a recursion passes on, more of them than evaluations may wait for one another. It does not
// matter which frame is asked about first.
func TestPassedOn(t *testing.T) {
	const rdi = op.Reg0 + 5
	f := function("f", 0x2000, 0x2100)
	f.with(callTo(0x2050, handAttr{dwarf.AttrCallOrigin, f}, passes(ops(rdi), ops(op.EntryValue, 1, rdi))))
	main := function("main", 0x1000, 0x1100).with(callTo(0x1010, handAttr{dwarf.AttrCallOrigin, f}, passes(ops(rdi), ops(op.Lit0+5))))
	p := newProgram(t, []*handDIE{spans(0x1000, 0x3000), f, main})
	const deep = 1000
	pcs := append(slices.Repeat([]uint64{0x2050}, deep), 0x1010)
	for name, order := range map[string]func(i int) int{
		"youngest first": func(i int) int { return i },
		"oldest first":   func(i int) int { return deep - 1 - i },
		"inside first":   func(i int) int { return (i + deep/2) % deep },
	} {
		r, frames := p.at(t, pcs...)
		for i := range deep {
			n := order(i)
			a, err := r.At(frames, n)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := a.e.entryValue(ops(rdi)); v.Bits != 5 || err != nil {
				t.Errorf("%s: frame %d: %d, %v", name, n, v.Bits, err)
			}
			a.Close()
		}
	}
	// Without an origin it ends, and says why, until the rest of the stack has been walked. What depends on where the stack ends is not
	// taken for the answer in a longer one, whoever asked for it first.
	ask := func(r *Reader, frames []*unwind.Frame, n int) string {
		a, err := r.At(frames, n)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		v, err := a.e.entryValue(ops(rdi))
		var entry *unknown.Entry
		if errors.As(err, &entry) {
			return entry.Why
		}
		return fmt.Sprint(v.Bits)
	}
	for _, order := range [][]int{{0}, {deep - 1, 10, 0}, {10, 0, deep - 1}, {0, 0, 0}} {
		r, whole := p.at(t, pcs...)
		for _, c := range []struct {
			frames []*unwind.Frame
			want   string
		}{{whole[:deep], "the stack has no caller"}, {whole, "5"}} {
			for _, n := range order {
				if got := ask(r, c.frames, n); got != c.want {
					t.Errorf("%d frames, frame %d of %v: %s, want %s", len(c.frames), n, order, got, c.want)
				}
			}
		}
	}
}

// TestPassedTooFar: what waits for as many expressions as may wait is given up, and not kept; so it is when the budget of the walk is spent.
func TestPassedTooFar(t *testing.T) {
	const rdi = op.Reg0 + 5
	f := function("f", 0x2000, 0x2100)
	f.with(callTo(0x2050, handAttr{dwarf.AttrCallOrigin, f}, passes(ops(rdi), ops(op.EntryValue, 1, rdi))))
	main := function("main", 0x1000, 0x1100).with(callTo(0x1010, handAttr{dwarf.AttrCallOrigin, f}, passes(ops(rdi), ops(op.Lit0+5))))
	p := newProgram(t, []*handDIE{spans(0x1000, 0x3000), f, main})
	r, frames := p.at(t, append(slices.Repeat([]uint64{0x2050}, 40), 0x1010)...)
	a, err := r.At(frames, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.e.nested = maxNested
	var entry *unknown.Entry
	if _, err := a.e.entryValue(ops(rdi)); !errors.As(err, &entry) || entry.Why != tooFar {
		t.Errorf("as many as may wait: %v", err)
	}
	a.e.nested = 0
	in := new(where.Inputs)
	a.e.inputs = in
	if v, err := a.e.entryValue(ops(rdi)); v.Bits != 5 || err != nil {
		t.Errorf("then: %d, %v", v.Bits, err)
	}
	if in.More || len(in.List) == 0 {
		t.Errorf("what it depends on is not known: %+v", in)
	}
}

// TestReadEntry: which parameters have a value on entry.
func TestReadEntry(t *testing.T) {
	const rdi = op.Reg0 + 5
	integer, eight, nine := base("int", types.EncSigned, 4), structure("eight", 8), structure("nine", 9)
	reference := die(dwarf.TagReferenceType, handAttr{dwarf.AttrType, integer})
	eight.with(member("a", integer, 0), member("b", integer, 4))
	none, unsized := structure("none", 0), named(dwarf.TagStructureType, "unsized", handAttr{dwarf.AttrDeclaration, true})
	at := func(typ *handDIE, place any) *handDIE { return located(param("p"), typ, place) }
	onStack := func(off ...byte) []byte { return append(ops(op.Fbreg), off...) }
	cases := []struct {
		name string
		d    *handDIE
		want string // "" for none
	}{
		{"a register", at(integer, ops(rdi)), "5"},
		{"a register at first", at(integer, []handLoc{{0x1000, 0x1010, ops(rdi)}, {0x1010, 0x1020, ops(op.Reg0 + 3)}}), "5"},
		{"nothing at first", at(integer, []handLoc{{0x1001, 0x1020, ops(rdi)}}), ""},
		{"nothing", at(integer, []byte{}), ""},
		{"no place", param("p", handAttr{dwarf.AttrType, integer}), ""},
		{"not a place", at(integer, "x"), ""},
		{"no parameter", located(local("v"), integer, ops(rdi)), ""},
		{"eight bytes", at(eight, ops(rdi)), "{a = 5, b = 0}"},
		{"nine bytes", at(nine, ops(rdi)), ""},
		{"no bytes", at(none, ops(rdi)), ""},
		{"of no size", at(unsized, ops(rdi)), ""},
		{"another register", at(integer, ops(op.Reg0+4)), ""},
		{"behind a register", at(integer, ops(op.Breg0+5, 0, op.Deref)), ""},
		{"a reference to nothing", at(reference, ops(rdi)), "@0x5: <no memory at 0x5>"},
		{"on the stack, what is there", at(integer, onStack(24)), ""},
		{"on the stack", at(integer, onStack(8)), "6"},
		{"on the stack, farther", at(integer, onStack(0x80, 1)), "7"},
		{"elsewhere on the stack", at(integer, onStack(16)), ""},
		{"on the stack, and more", at(integer, onStack(8, 0x23, 0)), ""},
		{"on the stack, cut short", at(integer, onStack(0x80)), ""},
		{"at the stack pointer", at(integer, ops(op.Breg0+7, 8)), ""},
	}
	rsp := op.Breg0 + 7
	build := func(base []byte) (*handProgram, *handDIE) {
		f := function("f", 0x2000, 0x2100, handAttr{dwarf.AttrFrameBase, base})
		for _, c := range cases {
			f.kids = append(f.kids, c.d)
		}
		main := function("main", 0x1000, 0x1100).with(callTo(0x1010, handAttr{dwarf.AttrCallOrigin, f},
			passes(ops(rsp, 24, op.Deref), ops(op.Lit0+9)),
			passes(ops(rsp), ops(op.Lit0+9)),
			passes(ops(op.Breg0+6, 8), ops(op.Lit0+9)),
			die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 9)}),
			passes(ops(rsp, 0), ops(op.Lit0+9)),
			die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrLocation, ops(rdi)}, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 5)}, handAttr{dwarf.AttrCallDataValue, ops(op.Lit0 + 9)}),
			passes(ops(rsp, 8), ops(op.Lit0+6)), passes(ops(rsp, 0x80, 1), ops(op.Lit0+7))))
		return newProgram(t, []*handDIE{spans(0x1000, 0x3000), f, main, integer, eight, nine, none, unsized, reference}), f
	}
	p, _ := build(ops(op.CallFrameCFA))
	r, frames := p.at(t, 0x2010, 0x1010)
	a, err := r.At(frames, 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, v *LocalVar, want string) {
		t.Helper()
		got := ""
		if val, ok := a.ReadEntry(v, Options{}); ok {
			got = val.String()
			if val.IsZero() {
				got = "?"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, c := range cases {
		v := a.variable(c.d.in(a.fn.Unit))
		v.Param = c.d.tag == dwarf.TagFormalParameter
		check(c.name, v, c.want)
	}
	own := func() *LocalVar { v := a.variable(cases[0].d.in(a.fn.Unit)); v.Param = true; return v }
	v := own()
	v.fn = &Function{}
	check("another function's", v, "")
	v = own()
	v.block = &block{parent: &block{}}
	check("in a block", v, "")
	v = own()
	v.block = &block{ranges: []dwarf.Range{{Low: 0x2000, High: 0x2100}}}
	check("in a block with code", v, "")
	a.Close()
	// Where the frame base is no canonical frame address, the stack says nothing.
	for _, base := range [][]byte{ops(op.Breg0+6, 16), ops(op.CallFrameCFA, op.Nop)} {
		p, _ = build(base)
		if r, frames = p.at(t, 0x2010, 0x1010); true {
			if a, err = r.At(frames, 0); err != nil {
				t.Fatal(err)
			}
		}
		v := a.variable(cases[15].d.in(a.fn.Unit))
		v.Param = true
		check("of another frame base", v, "")
		a.Close()
	}
}

// TestEntryTypes: a register's value on entry may have a base type.
func TestEntryTypes(t *testing.T) {
	float, integer := base("double", types.EncFloat, 8), base("int", types.EncSigned, 4)
	call := die(dwarf.TagCallSite).with(
		passes(ops(op.Reg0+17, op.Deref), ops(op.Lit0+1)),
		local("x", handAttr{dwarf.AttrLocation, ops(op.Reg0 + 20)}, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 1)}).with(passes(ops(op.Reg0+21), ops(op.Lit0+1))),
		passes(ops(op.Reg0+22), ops(op.Lit0+1, op.Plus)),
		passes(ops(op.Reg0+17), append(ops(op.Const8u), bytesOf(binary.LittleEndian, f64(2.5), 8)...)),
		passes(ops(op.Reg0+18), typed(ops(op.Lit0+2), float)))
	param := die(dwarf.TagFormalParameter)
	inlinedParam := die(dwarf.TagFormalParameter)
	referred := die(dwarf.TagCallSite).with(
		die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 1)}),
		die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrCallParameter, handRaw{dwarf.FormRef4, []byte{0xff, 0xff, 0, 0}}}, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 2)}),
		die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrName, "x"}, handAttr{dwarf.AttrCallParameter, param}, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 3)}),
		die(dwarf.TagCallSiteParameter, handAttr{dwarf.AttrAbstractOrigin, inlinedParam}, handAttr{dwarf.AttrCallValue, ops(op.Lit0 + 4)}))
	stray := passes(ops(op.Reg0+19), ops(op.Lit0+1))
	us := units(t, binary.LittleEndian, 8, 4, dwarf.LangC99, []*handDIE{float, integer, call, stray, param, inlinedParam, referred}, nil)
	u := us[0]
	p := newHand(arch.AMD64, 16)
	r := New(p, nil)
	fn := &Function{r: r, fn: dwarf.Func{DIE: dwarf.DIE{Unit: u, Off: u.Root()}}}
	a := r.activation(fn, p.walk(t), 0)
	defer a.Close()
	a.e.by = &caller{fn: fn, index: 1, site: call.in(u)}
	typ := func(o op.Op, reg, typ uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(ops(o), reg), typ)
	}
	for _, c := range []struct {
		block []byte
		want  string
	}{
		{typ(op.RegvalType, 17, uint64(float.off)), fmt.Sprint(f64(2.5), " 8 true")},
		{typ(op.GNURegvalType, 17, uint64(float.off)), fmt.Sprint(f64(2.5), " 8 true")},
		{ops(op.Reg0 + 17), fmt.Sprint(f64(2.5), " 0 false")},
		{ops(op.Reg0 + 18), fmt.Sprint(f64(2), " 8 true")},
		{typ(op.RegvalType, 18, uint64(integer.off)), fmt.Sprint(f64(2), " 8 true")},
		{typ(op.RegvalType, 17, uint64(call.off)), "wrong type"},
		{typ(op.RegvalType, 19, uint64(float.off)), "the call site does not describe this parameter"},
		{ops(op.Reg0 + 20), "the call site does not describe this parameter"},
		{ops(op.Reg0 + 21), "the call site does not describe this parameter"},
		{ops(op.Reg0 + 22), "corrupt"},
		{typ(op.RegvalType, 17, uint64(float.off))[:2], "it was not in a register"},
		{append(typ(op.RegvalType, 17, uint64(float.off)), 0), "it was not in a register"},
	} {
		a.e.unit = u
		if c.block[0] == byte(op.Reg0)+18 {
			a.e.unit = us[1] // of the function, not of its caller
		}
		v, err := a.e.entryValue(c.block)
		got := fmt.Sprint(v.Bits, " ", v.Type.Size, " ", v.Type.Enc == op.Float)
		var entry *unknown.Entry
		if errors.As(err, &entry) {
			got = entry.Why
		} else if errors.Is(err, op.ErrType) {
			got = "wrong type"
		} else if errors.Is(err, unknown.ErrCorrupt) {
			got = "corrupt"
		}
		if got != c.want {
			t.Errorf("%x: %s, want %s", c.block, got, c.want)
		}
	}
	a.e.nested = maxNested
	var entry *unknown.Entry
	if _, err := a.e.entryValue(ops(op.Reg0 + 23)); !errors.As(err, &entry) || entry.Why != "the call site does not describe this parameter" {
		t.Errorf("nothing to wait for: %v", err)
	}
	if _, err := a.e.passed(callValue, func(*dwarf.Unit, *dwarf.Cursor) bool { return true }); !errors.As(err, &entry) || entry.Why != tooFar {
		t.Errorf("too many that wait: %v", err)
	}
	a.e.nested = 0
	a.e.by.site = referred.in(u)
	for d, want := range map[*handDIE]uint64{param: 3, inlinedParam: 4} {
		if v, err := a.e.parameterRef(d.in(u)); v.Bits != want || err != nil {
			t.Errorf("%v, %v, want %d", v, err, want)
		}
	}
	if v, err := a.e.parameterRef(float.in(u)); err == nil {
		t.Errorf("no parameter: %v", v)
	}
}

// TestEntryPlaces: the first and the last register of each operator.
func TestEntryPlaces(t *testing.T) {
	for _, c := range []struct {
		expr []byte
		want string
	}{
		{ops(op.Reg0), "0 false true"}, {ops(op.Reg0 + 31), "31 false true"},
		{ops(op.Breg0, 0, op.Deref), "0 true true"}, {ops(op.Breg0+31, 0, op.Deref), "31 true true"},
		{ops(op.Lit0 + 31), "0 false false"}, {ops(op.Regx, 0x81, 1), "129 false true"}, {ops(op.Regx, 0x81), "0 false false"},
		{nil, "0 false false"}, {ops(op.Regx), "0 false false"}, {ops(op.Breg0+3, 0, op.DerefSize, 4), "3 true true"}, {ops(op.Breg0+3, 0, op.DerefSize), "3 true false"},
		{ops(op.Breg0+3, 0), "3 true false"}, {ops(op.Breg0+3, 1, op.Deref), "3 true false"}, {ops(op.Breg0+3, 0, op.Nop), "3 true false"}, {ops(op.Fbreg, 0, op.Deref), "0 false false"},
	} {
		p, ok := readPlace(c.expr, false)
		if got := fmt.Sprint(p.reg, p.pointed, ok); got != c.want {
			t.Errorf("%x: %s, want %s", c.expr, got, c.want)
		}
	}
}

// TestTailsAcrossFiles: a call by address of a function of one file, which leaves to one of
// another file.
func TestTailsAcrossFiles(t *testing.T) {
	const rdi = op.Reg0 + 5
	const biasA, biasB, biasC = 0x100000, 0x200000, 0x300000
	p := newHand(arch.AMD64, 64)
	files, libs := handFiles{}, &handLibraries{}
	p.libs = libs
	add := func(bias uint64, symbols map[string]uint64, list ...*handDIE) {
		sections, _ := unitSections(binary.LittleEndian, 8, 4, dwarf.LangC99, append([]*handDIE{spans(0x1000, 0x5000)}, list...))
		lib := &libstate.Library{Path: fmt.Sprintf("%x", bias), LoadBias: bias, Start: bias, End: bias + 0x10000}
		libs.list = append(libs.list, lib)
		files[lib] = (&handFile{progs: []elffile.Prog{text}, sections: sections, symbols: symbols}).image(t)
	}
	// jumps leaves to a function by its name, and passes 8 on.
	jumps := func(to *handDIE, low uint64) *handDIE {
		site := callTo(low+0x50, handAttr{dwarf.AttrCallOrigin, to}, passes(ops(rdi), ops(op.Lit0+8)))
		site.attrs = append(site.attrs, handAttr{dwarf.AttrCallTailCall, true})
		return function("jumps", low, low+0x100, handAttr{dwarf.AttrCallAllCalls, true}).with(site)
	}
	declared := func() *handDIE {
		return named(dwarf.TagSubprogram, "callee", handAttr{dwarf.AttrDeclaration, true}, handAttr{dwarf.AttrExternal, true})
	}
	target := func(ret, to uint64) *handDIE {
		return callTo(ret, handAttr{dwarf.AttrCallTarget, append(ops(op.Const8u), bytesOf(binary.LittleEndian, to, 8)...)}, passes(ops(rdi), ops(op.Lit0+4)))
	}
	here, there := declared(), declared()
	main := function("main", 0x1000, 0x1100).with(target(0x1010, biasA+0x3000), target(0x1020, biasB+0x3000), target(0x1030, biasC+0x3000))
	callee := function("callee", 0x2000, 0x2100, handAttr{dwarf.AttrExternal, true})
	add(biasA, map[string]uint64{"main": 0x1000}, here, main, jumps(here, 0x3000))
	add(biasB, map[string]uint64{"callee": 0x2000}, callee, jumps(callee, 0x3000))
	add(biasC, map[string]uint64{"jumps": 0x3000}, there, jumps(there, 0x3000))
	p.regs.Set(p.arch.PC, biasB+0x2010)
	for ret, want := range map[uint64]string{0x1010: "8", 0x1020: "8", 0x1030: "8"} {
		r := New(p, files)
		a, err := r.At(p.walkBy(t, func(_, out *unwind.Frame) { out.SetRA(biasA + ret) }), 0)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.e.entryValue(ops(rdi))
		got := fmt.Sprint(v.Bits)
		var entry *unknown.Entry
		if errors.As(err, &entry) {
			got = entry.Why
		}
		if got != want {
			t.Errorf("%#x: %s, want %s", ret, got, want)
		}
		by, _ := a.e.calledFrom()
		if want == "8" && by.fn.Name != "jumps" {
			t.Errorf("%#x: called from %s", ret, by.fn.Name)
		}
		a.Close()
	}
}

// TestCalledWithoutDWARF: the caller has no debugging information, but somebody knows what it called.
func TestCalledWithoutDWARF(t *testing.T) {
	const rdi = op.Reg0 + 5
	callee := function("callee", 0x2000, 0x2100)
	site := callTo(0x3050, handAttr{dwarf.AttrCallOrigin, callee}, passes(ops(rdi), ops(op.Lit0+8)))
	site.attrs = append(site.attrs, handAttr{dwarf.AttrCallTailCall, true})
	left := function("left", 0x3000, 0x3100, handAttr{dwarf.AttrCallAllCalls, true}).with(site)
	other := function("other", 0x4000, 0x4100, handAttr{dwarf.AttrCallAllCalls, true})
	p := newProgram(t, []*handDIE{spans(0x2000, 0x5000), callee, left, other})
	for _, c := range []struct {
		target uint64
		want   string
	}{
		{0, "no debugging information for the caller"},
		{0x3000, "8 left"},
		{0x2000, "no debugging information for the caller"}, // nobody left
		{0x4000, "the caller called another function, which left by a tail call"},
	} {
		r, frames := p.at(t, 0x2010, 0x1010)
		if c.target != 0 {
			where.ProcessOf(r).Ask(calledTarget(handBias + c.target))
		}
		a, err := r.At(frames, 0)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.e.entryValue(ops(rdi))
		got := fmt.Sprint(v.Bits)
		var entry *unknown.Entry
		if errors.As(err, &entry) {
			got = entry.Why
		}
		for _, b := range a.Left() {
			got += " " + b.Name
			b.Close()
		}
		if got != c.want {
			t.Errorf("%#x: %s, want %s", c.target, got, c.want)
		}
		a.Close()
	}
}

// calledTarget is what all calls led to.
type calledTarget arch.Address

func (c calledTarget) CalledAs([]*unwind.Frame, int) arch.Address { return arch.Address(c) }

// TestPoppedRegisters: a value that a tail call's site describes by a register which calls preserve. LLVM means
// what the register held before the epilogue.
func TestPoppedRegisters(t *testing.T) {
	const rdi = op.Reg0 + 5
	for producer, want := range map[string]string{"GNU C17": "78", "clang version 19": "rbx not recovered", "rustc (LLVM)": "rbx not recovered"} {
		callee := function("callee", 0x2000, 0x2100)
		site := callTo(0x3050, handAttr{dwarf.AttrCallOrigin, callee}, passes(ops(rdi), ops(op.Breg0+3, 1)))
		site.attrs = append(site.attrs, handAttr{dwarf.AttrCallTailCall, true})
		left := function("left", 0x3000, 0x3100, handAttr{dwarf.AttrCallAllCalls, true}).with(site)
		main := function("main", 0x1000, 0x1100).with(callTo(0x1010, handAttr{dwarf.AttrCallOrigin, left}))
		root := spans(0x1000, 0x5000)
		root.attrs = append(root.attrs, handAttr{dwarf.AttrProducer, producer})
		p := newProgram(t, []*handDIE{root, callee, left, main})
		r, frames := p.at(t, 0x2010, 0x1010)
		a, err := r.At(frames, 0)
		if err != nil {
			t.Fatal(err)
		}
		v, err := a.e.entryValue(ops(rdi))
		got := fmt.Sprint(v.Bits)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", producer, got, want)
		}
		a.Close()
	}
}
