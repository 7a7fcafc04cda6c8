package analysis

import (
	"fmt"
	"math"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
)

// Of causes that the values alone tell, those go that the heap tells better, and only where it does.
func TestWithoutOthers(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	const at = 0x5000
	key := func(block uint64) string {
		return "rdi holds 0x7" + reason.LeftInFreed + fmt.Sprintf("%#x, where r9 points: use after free", block)
	}
	flip := reason.BitFlipped + "rdi: with bit 18 flipped it is 0x1"
	for name, c := range map[string]struct {
		read  heapWord
		given bool
		want  []string
	}{
		"nothing known":      {heapWord{}, false, []string{key(at), key(0x6000), key(0x50001), flip}},
		"a freed block":      {heapWord{known: true, block: heap.Block{Start: at, Size: 32, Free: true}}, false, []string{key(at), flip}},
		"a block in use":     {heapWord{known: true, block: heap.Block{Start: at, Size: 32}}, false, []string{key(at), key(0x6000), key(0x50001), flip}},
		"what was no block":  {heapWord{}, true, []string{key(at), key(0x6000), key(0x50001)}},
		"both are no secret": {heapWord{known: true, block: heap.Block{Start: at, Size: 32, Free: true}}, true, []string{key(at)}},
	} {
		died := o.crash(t, false, false)
		died.known.read = fact[heapWord]{c.read, true}
		died.known.verdict = fact[verdict]{verdict{kind: report.CrashHeapCorruption}, true}
		died.known.given = fact[givenBack]{givenBack{to: "free", value: 0x123456789000, known: c.given, exact: true}, true}
		var causes []report.Cause
		for _, text := range []string{key(at), key(0x6000), key(0x50001), flip} {
			causes = append(causes, report.Cause{Text: text})
		}
		var got []string
		for _, cause := range died.withoutOthers(causes) {
			got = append(got, cause.Text)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q\nwant %q", name, got, c.want)
		}
	}
}

// Numbers behind an array are like its own if they lie between them, have their upper half, or are as large as those of floating point that programs have.
func TestAlikeNumbers(t *testing.T) {
	of := func(f float64) uint64 { return math.Float64bits(f) }
	half := func(low, high float32) uint64 {
		return uint64(math.Float32bits(low)) | uint64(math.Float32bits(high))<<32
	}
	short := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	for name, c := range map[string]struct {
		value    uint64
		elements []uint64
		size     uint64
		floats   bool
		want     bool
	}{
		"doubles":               {of(2.5), []uint64{of(3), of(-1), of(0.5)}, 8, true, true},
		"a pointer":             {0x7f0000001000, []uint64{of(3), of(1), of(0.5)}, 8, true, false},
		"behind zero":           {of(2.5), []uint64{of(3), 0, of(0.5)}, 8, true, false},
		"doubles as numbers":    {of(2.5), []uint64{3, 1, 2}, 8, false, false},
		"floats":                {half(1.5, 2), []uint64{short(3), short(1), short(7)}, 4, true, true},
		"half a float":          {half(1.5, 0), []uint64{short(3), short(1), short(7)}, 4, true, false},
		"integers":              {5<<32 | 4, []uint64{7, 3, 5}, 4, false, true},
		"one too large":         {8<<32 | 4, []uint64{7, 3, 5}, 4, false, false},
		"one too small":         {5<<32 | 2, []uint64{7, 3, 5}, 4, false, false},
		"an array with nothing": {5<<32 | 4, []uint64{7, 0, 5}, 4, false, false},
		"one half":              {0x500000009, []uint64{0x500000001, 0x500000007, 0x500000003}, 8, false, true},
		"another half":          {0x600000009, []uint64{0x500000001, 0x500000007, 0x500000003}, 8, false, false},
		"small words":           {5, []uint64{7, 3, 5}, 8, false, true},
	} {
		if got := alikeNumbers(c.value, c.elements, c.size, 8, c.floats); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for name, want := range map[string]string{"m[2][1]": "m", "a[0].m[2]": "a[0].m", "a[0].m": "a[0].m", "": "", "[1]": "[1]"} {
		if got := rowsOf(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What stands in frames of the C library names nothing: owners look past them, and nothing there counts as a variable that is gone.
func TestFramesOfLibrary(t *testing.T) {
	for _, name := range []string{"amd64-abort", "amd64-musl-abort"} {
		framesOfLibrary(t, openCase(t, fixture.Get(t, name)).crash(t, false, false))
	}
}

func framesOfLibrary(t *testing.T, died *crash) {
	t.Helper()
	seen := map[bool]int{}
	for _, f := range died.stack {
		cfa, ok := f.CFA()
		if !ok || uint64(cfa) <= uint64(f.SP()) {
			continue
		}
		lib := died.libraryPath(f.LookupAddr())
		want := glibc(lib) || musl(lib)
		seen[want]++
		for _, at := range []uint64{uint64(f.SP()), uint64(cfa) - 8} {
			if got := died.names().ofLibrary(at); got != want {
				t.Errorf("%#x of %s: %t", at, lib, got)
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("frames of the library, and others: %v", seen)
	}
	if died.names().ofLibrary(uint64(died.stack[0].SP()) - 4096) {
		t.Error("what is below the stack is of a library")
	}
}

// TestDonated: musl hands out what is left of pages of libraries, too. An address there is in a block, and not in the library; its variables are.
func TestDonated(t *testing.T) {
	c := openCase(t, fixture.Get(t, "amd64-musl-tls")).crash(t, false, false)
	found := 0
	c.heap().Blocks(func(b heap.Block) bool {
		if c.isOfModule(b.Start) && !b.Own {
			found++
			p := c.Engine.At(t.Context(), unwind.Address(b.Start))
			if p.Kind != report.PlaceHeap || p.Module != "" || p.Block == nil || uint64(p.Block.Start) != b.Start {
				t.Errorf("%#x: %+v", b.Start, p)
			}
		}
		return found < 4
	})
	if found == 0 {
		t.Error("no block lies in a library's page")
	}
	libs, _ := c.Proc.LibraryTracker().Libraries(false)
	for _, lib := range libs {
		for _, m := range lib.Mappings {
			if m.Perm&libstate.Write == 0 {
				continue
			}
			if p := c.Engine.At(t.Context(), m.Start); p.Kind != report.PlaceData || p.Module != lib.Path {
				t.Errorf("the data of %s: %+v", lib.Path, p)
			}
		}
	}
}
