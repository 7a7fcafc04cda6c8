package dwarf

import (
	"encoding/binary"
	"fmt"
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
