package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// manyCalls is a unit of 60 functions, each with three calls.
func manyCalls() *dwarfFile {
	f := newFile(binary.LittleEndian)
	parts := []any{name("unit.c"), pcs(0x10000, 60*0x100)}
	for i := range uint64(60) {
		low := 0x10000 + 0x100*i
		sub := []any{name(fmt.Sprint("function", i)), pcs(low, 0x100)}
		for _, to := range []uint64{0x20, 0x40, 0x60} {
			sub = append(sub, die(TagCallSite, at(AttrCallReturnPC, FormAddr, low+to)))
		}
		parts = append(parts, die(TagSubprogram, sub...))
	}
	f.unit(&unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit, parts...)})
	return f
}

// found is what look-ups of an address found.
type found struct {
	low, high, entry, site uint64
}

func lookUp(t *testing.T, d *Data, pc uint64) (f found) {
	t.Helper()
	u, err := d.UnitForPC(pc)
	if err != nil {
		t.Fatal(err)
	}
	if u.End-u.Off < minKeptUnit {
		t.Fatalf("a unit of %d bytes, of which nothing is kept", u.End-u.Off)
	}
	fn, ok := u.FuncAt(pc)
	if !ok {
		return f
	}
	f = found{low: fn.Low, high: fn.High, entry: fn.Off}
	if site, ok := u.CallSiteAt(fn.Off, pc+1); ok {
		f.site = site.Off
	}
	return f
}

// A run with the answers of an earlier one finds the same, and asks only once.
func TestKeptAnswers(t *testing.T) {
	f := manyCalls()
	kept := map[Question][]byte{}
	for run := range 2 {
		fresh := 0
		d := f.data(WithAnswers(func(q Question, find func() []byte) []byte {
			if b, ok := kept[q]; ok {
				return b
			}
			b := find()
			if b != nil {
				kept[q] = b
			}
			fresh++
			return b
		}))
		for pc := uint64(0x10000); pc < 0x10000+60*0x100; pc += 0x1f {
			if got, want := lookUp(t, d, pc), lookUp(t, f.data(), pc); got != want {
				t.Errorf("run %d, %#x: %+v, want %+v", run, pc, got, want)
			}
		}
		u, _ := d.UnitForPC(0x10000)
		if passed := len(u.outline.queue) > 0; passed != (run == 0) {
			t.Errorf("run %d: entries were gone through: %v", run, passed)
		}
		lookUp(t, d, 0x10000+0x1f)
		if was := fresh; was > 0 {
			if u.FuncAt(0x10000 + 0x1f); fresh != was {
				t.Error("a function that is known is asked for again")
			}
		}
	}
}

// Whatever was kept, no function and no call is found that does not have the address.
func TestKeptAnswersLie(t *testing.T) {
	f := manyCalls()
	root, _ := f.data().UnitForPC(0x10000)
	other, _ := root.FuncAt(0x10500)
	site, _ := root.CallSiteAt(other.Off, 0x10520)
	for name, lie := range map[string][]byte{
		"nothing":            {},
		"cut short":          {0x80},
		"a number too large": bytes.Repeat([]byte{0xff}, 11),
		"too much":           packNumbers(1, 2, 3, 4),
		"another function":   packNumbers(funcID(other.Off-root.Off, true), 0x10500, 0x10600),
		"wrong range":        packNumbers(funcID(other.Off-root.Off, true), 0x10000, 0x20000),
		"no function":        packNumbers(funcID(site.Off-root.Off, false), 0x10000, 0x20000),
		"outside":            packNumbers(1<<40, 0x10000, 0x20000),
		"before the entries": packNumbers(2, 0x10000, 0x20000),
		"another call":       packNumbers(site.Off),
		"a function's entry": packNumbers(other.Off),
		"outside, a call":    packNumbers(1 << 40),
	} {
		d := f.data(WithAnswers(func(Question, func() []byte) []byte { return lie }))
		for pc := uint64(0x10000); pc < 0x10700; pc += 0x1f {
			if got, want := lookUp(t, d, pc), lookUp(t, f.data(), pc); got != want {
				t.Errorf("%s, %#x: %+v, want %+v", name, pc, got, want)
			}
		}
	}
}

// What was kept leads to an entry of the right kind, and to no call of a function before the one that is asked about. All
// these entries have the addresses of what is looked up.
func TestKeptAnswersAlike(t *testing.T) {
	const low, size, ret = 0x10000, 0x100, 0x10020
	call := func(attrs ...any) *node { return die(TagCallSite, attrs...) }
	returns := at(AttrCallReturnPC, FormAddr, uint64(ret))
	folded := call(returns)
	block := die(TagLexicalBlock, name("block"), pcs(low, size))
	label := die(TagLabel, name("label"), at(AttrLowPC, FormAddr, uint64(ret)))
	tail := call(returns, at(AttrCallTailCall, FormFlag, 1))
	nowhere := call(at(AttrCallPC, FormAddr, uint64(ret)))
	right, again := call(returns), call(returns)
	gnu := die(TagGNUCallSite, at(AttrLowPC, FormAddr, uint64(ret)))
	first := die(TagSubprogram, name("first"), pcs(low, size), folded)
	second := die(TagSubprogram, name("second"), pcs(low, size), block, label, tail, nowhere, right, again, gnu)
	file := newFile(binary.LittleEndian)
	file.unit(&unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit, name(strings.Repeat("long", minKeptUnit/4)), pcs(low, size), first, second)})

	var kept []byte
	open := func() *Unit {
		u, err := file.data(WithAnswers(func(Question, func() []byte) []byte { return kept })).UnitForPC(low)
		if err != nil || !u.keeps() {
			t.Fatal(u, err)
		}
		return u
	}
	for what, c := range map[string]struct{ kept, want *node }{
		"the call": {right, right}, "another that returns there": {again, again}, "GNU's": {gnu, gnu}, "a call of a function with the same code": {folded, right},
		"a label": {label, right}, "a tail call": {tail, right}, "a call that returns nowhere": {nowhere, right}, "the function": {second, right},
	} {
		kept = packNumbers(c.kept.off)
		if site, ok := open().CallSiteAt(second.off, ret); !ok || site.Off != c.want.off || site.ReturnPC != ret {
			t.Errorf("%s: %+v, %v; want %#x", what, site, ok, c.want.off)
		}
	}
	kept = append(packNumbers(again.off), 0)
	if site, ok := open().CallSiteAt(second.off, ret); !ok || site.Off != right.off {
		t.Errorf("a byte too much: %+v, %v", site, ok)
	}
	for what, c := range map[string]struct{ kept, want *node }{
		"the function": {first, first}, "another with the same code": {second, second}, "a block": {block, first}, "a label": {label, first},
	} {
		kept = packNumbers(funcID(c.kept.off, true), low, low+size)
		if f, ok := open().FuncAt(low); !ok || f.Off != c.want.off || f.Range != (Range{low, low + size}) {
			t.Errorf("%s: %+v, %v; want %#x", what, f, ok, c.want.off)
		}
	}
	u := open()
	for what, off := range map[string]uint64{"before the entries": u.entries - 1, "the end": u.End, "behind it": u.End + 1, "far away": 1 << 61} {
		kept = packNumbers(funcID(off-u.Off, true), low, low+size)
		if f, ok := open().FuncAt(low); !ok || f.Off != first.off {
			t.Errorf("%s: %+v, %v", what, f, ok)
		}
		kept = packNumbers(off)
		if site, ok := open().CallSiteAt(second.off, ret); !ok || site.Off != right.off {
			t.Errorf("%s: %+v, %v", what, site, ok)
		}
	}
}
