package dwarf

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// everyEntry reads all entries of a unit, and returns for each the scopes around it, as a pass
// without any skipping finds them; and the functions with code.
func everyEntry(u *Unit) (offs []uint64, around [][]uint64, funcs []span) {
	type open struct {
		off   uint64
		level int
	}
	var stack []open
	var e Entry
	for c := u.Cursor(u.Root()); c.Next(&e); {
		if c.ab == nil {
			if n := len(stack); n > 0 && stack[n-1].level == c.Level() {
				stack = stack[:n-1]
			}
			if c.Level() <= 0 {
				break
			}
			continue
		}
		var in []uint64
		for _, s := range stack {
			in = append(in, s.off)
		}
		offs, around = append(offs, e.Off), append(around, in)
		declared := c.ab.declared
		if e.Tag == TagSubprogram {
			for _, r := range u.Ranges(e.Off, new(1<<10)) {
				funcs = append(funcs, span{r.Low, r.High, e.Off})
			}
		}
		if e.HasChildren && isScope(e.Tag) && !(e.Tag == TagSubprogram && declared) && len(stack) < maxScopeDepth {
			stack = append(stack, open{e.Off, e.Depth})
		}
	}
	return offs, around, funcs
}

// checkOutline asks a unit for the scopes of entries and for functions, in an order of chance, and
// compares the answers with those of a pass over all entries.
func checkOutline(t *testing.T, again func() *Unit, questions int) {
	t.Helper()
	u := again()
	offs, around, funcs := everyEntry(u)
	r := rand.New(rand.NewPCG(u.Off, 1))
	overlap := newSpanIndex(slices.Clone(funcs)).reach != nil
	u = again()
	for range questions {
		if len(offs) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(offs))
			var got []uint64
			for _, s := range u.outline.scopes(u, offs[i]) {
				got = append(got, s.off)
			}
			if !slices.Equal(got, around[i]) {
				t.Fatalf("%v: scopes around %#x: %#x, want %#x", u, offs[i], got, around[i])
			}
		} else if len(funcs) > 0 && !overlap {
			f := funcs[r.IntN(len(funcs))]
			pc := f.low
			if r.IntN(2) == 0 {
				pc += (f.high - f.low) / 2
			}
			if got, ok := u.FuncAt(pc); !ok || got.Off != f.id || got.Low != f.low || got.High != f.high {
				t.Fatalf("%v: function at %#x: %#x %v, want %#x", u, pc, got.Off, ok, f)
			}
		}
	}
	if u = again(); !overlap {
		for _, f := range funcs {
			if got, ok := u.FuncAt(f.low); !ok || got.Off != f.id {
				t.Fatalf("%v: function at %#x: %#x %v, want %#x", u, f.low, got.Off, ok, f)
			}
		}
	}
}

// TestOutline checks the fixtures, and the files in DWARF_CHECK, separated by colons.
func TestOutline(t *testing.T) {
	units := 0
	check := func(path string, s elfSource) {
		var offs []DIE
		s.data().Units(func(u *Unit) bool {
			offs = append(offs, DIE{u, u.Off})
			return len(offs) < 400
		})
		for _, at := range offs {
			if at.Unit.Type == UnitSkeleton {
				continue
			}
			units++
			checkOutline(t, func() *Unit {
				u, err := s.data().UnitAt(at.Unit.Sec, at.Off)
				if err != nil {
					t.Fatal(path, err)
				}
				return u
			}, 300)
		}
	}
	described(t, func(path string, s elfSource) bool {
		check(path, s)
		return true
	})
	for _, path := range strings.FieldsFunc(os.Getenv("DWARF_CHECK"), func(r rune) bool { return r == ':' }) {
		check(path, readELF(t, path))
	}
	if units < 50 {
		t.Errorf("%d units checked", units)
	}
}

// deepUnit has namespaces, types and functions inside each other, with and without entries that
// say where their contents end, and so many entries that passes start again at marks.
func deepUnit(sibling bool) *Unit {
	f := newFile(binary.LittleEndian)
	low := uint64(0x1000)
	fn := func(kids ...*node) *node {
		low += 0x10
		return die(TagSubprogram, name(fmt.Sprintf("f%x", low)), pcs(low, 0x10), kids)
	}
	var build func(depth int) []*node
	build = func(depth int) []*node {
		var all []*node
		for i := range 12 {
			all = append(all, die(TagBaseType, name("a base type with a long name")), fn())
			if depth > 0 {
				tag := []Tag{TagNamespace, TagStructureType, TagSubprogram, TagLexicalBlock}[i%4]
				n := die(tag, name(fmt.Sprintf("scope %d.%d", depth, i)), build(depth-1))
				all = append(all, n)
			}
		}
		return all
	}
	f.unit(&unitSpec{version: 5, addrSize: 8, sibling: sibling, root: die(TagCompileUnit, pcs(0x1000, 0x1000000), build(3))})
	u, err := f.data().UnitAt(SecInfo, 0)
	if err != nil {
		panic(err)
	}
	return u
}

func TestOutlineDeep(t *testing.T) {
	for _, sibling := range []bool{false, true} {
		u := deepUnit(sibling)
		if size := u.End - u.Off; size < 10*markStep {
			t.Fatalf("%d bytes are too few for marks", size)
		}
		checkOutline(t, func() *Unit { return deepUnit(sibling) }, 2000)
	}
}

// A function that seems to begin at address 0 was discarded, and does not hide others.
func TestLeftoverFunction(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.unit(&unitSpec{version: 5, addrSize: 8, root: die(TagCompileUnit,
		die(TagSubprogram, name("discarded"), pcs(0, 0x2000)),
		die(TagSubprogram, name("live"), pcs(0x1000, 0x10)))})
	u, err := f.data(WithText(0, 0x10000)).UnitAt(SecInfo, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pc := range []uint64{0x1000, 0x1008, 0x1000} {
		if got, ok := u.FuncAt(pc); !ok || got.FuncInfo().Name != "live" {
			t.Errorf("function at %#x: %q, want live", pc, got.FuncInfo().Name)
		}
	}
	if got, ok := u.FuncAt(0x500); !ok || got.FuncInfo().Name != "discarded" {
		t.Errorf("function at 0x500: %v %v, want the only one that claims it", got, ok)
	}
}

// The answer does not depend on which questions were asked before.
func TestSpanSet(t *testing.T) {
	var x spanSet
	r := rand.New(rand.NewPCG(1, 2))
	var all []span
	for i := range 5000 {
		s := span{low: uint64(r.IntN(20000)), id: uint64(i)}
		s.high = s.low + uint64(r.IntN(40))
		x.add(s)
		all = append(all, s)
		pc := uint64(r.IntN(20000))
		var want span
		ok := false
		for _, s := range all {
			if s.holds(pc) && (!ok || s.id < want.id) {
				want, ok = s, true
			}
		}
		if got, known := x.find(pc, new(atomic.Int64)); got != want || known != ok {
			t.Fatalf("%d spans: at %d %v %v, want %v %v", i+1, pc, got, known, want, ok)
		}
	}
}
