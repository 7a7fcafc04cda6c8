package analysis

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// pointing is a type that is a pointer.
func pointing() *types.Type { return &types.Type{Tag: dwarf.TagPointerType, ByteSize: 8} }

// A pair is where a bad value was read from, 8 bytes into the second block of a heap. A variable of the program points to the first one: ptr, a const int *.
type pair struct {
	*slots
	free, own, mapped, named bool
	gap                      uint64 // between the blocks
}

const placed, placeSize, wildWord = 0x562e0c1e7010, 64, 0x1122334455667788

func (p *pair) Name() string { return map[bool]string{true: "glibc malloc"}[p.named] }

func (p *pair) BlockAt(at uint64) (heap.Block, bool) {
	b, ok := p.slots.BlockAt(at)
	if b.Start == placed {
		b.Size -= p.gap
		b.Free, b.Own, b.Mapped = p.free, p.own, p.mapped
	}
	return b, ok
}

// crash returns the crash with the block.
func (p *pair) crash(t *testing.T, o *openedCase) (*crash, *invaded) {
	t.Helper()
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	heapFinders = []func(heap.Process, heapBounds) heap.Allocator{func(heap.Process, heapBounds) heap.Allocator { return p }}
	died := o.crash(t, false, false)
	died.mem.Memory = p.slots
	b := p.slots.at(1)
	v := &invaded{heapWord: heapWord{at: b.Start + 8, heap: p, block: b, known: true}, run: run{from: b.Start + 8, end: b.Start + 16}, word: 8}
	v.holds = []holder{{path: "card", to: "struct card", size: placeSize, whole: true, points: true, pointee: pointing()}}
	return died, v
}

func newPair(words ...uint64) *pair {
	s := &slots{start: placed, size: placeSize, data: make([]byte, 4*placeSize)}
	for i := range s.data[placeSize : 2*placeSize] {
		s.data[placeSize+i] = byte(0x11 + 7*i)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(s.data[placeSize+8*i:], w)
	}
	return &pair{slots: s}
}

// Everybody who leads to a block has a pointer where the bad value is, but for those who say nothing of what is there.
func TestAimed(t *testing.T) {
	yes, other, plain, void := holder{size: 8, points: true, whole: true}, holder{size: 8, whole: true}, holder{size: 8, points: true}, holder{}
	for i, c := range []struct {
		holds []holder
		want  bool
	}{{nil, false}, {[]holder{yes}, true}, {[]holder{yes, void}, true}, {[]holder{void}, false}, {[]holder{plain}, false}, {[]holder{plain, yes}, true}, {[]holder{yes, other}, false}, {[]holder{other, yes}, false}} {
		if got := (&invaded{holds: c.holds}).aimed(); got != c.want {
			t.Errorf("%d: %t", i, got)
		}
	}
}

// TestSpoilt: the block before is named only if it is in use, the program's, and right before; and if nothing that should be a pointer leads anywhere.
func TestSpoilt(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	for name, c := range map[string]struct {
		change func(p *pair, v *invaded)
		want   bool
	}{
		"as it is":         {func(*pair, *invaded) {}, true},
		"a short gap":      {func(p *pair, _ *invaded) { p.gap = 16 }, true},
		"a gap":            {func(p *pair, _ *invaded) { p.gap = 24 }, false},
		"it is free":       {func(p *pair, _ *invaded) { p.free = true }, false},
		"the allocator's":  {func(p *pair, _ *invaded) { p.own = true }, false},
		"a mapping's":      {func(p *pair, _ *invaded) { p.mapped = true }, false},
		"nobody has it":    {func(p *pair, v *invaded) { p.start += 8; v.block.Start += 8; v.at += 8 }, false},
		"of the same type": {func(_ *pair, v *invaded) { v.holds[0].to = "const int" }, false},
		"text":             {func(_ *pair, v *invaded) { v.run.text = true }, false},
		"a guess":          {func(_ *pair, v *invaded) { v.guessed = true }, true},
		"a guess, and short": {func(p *pair, v *invaded) {
			v.guessed = true
			binary.LittleEndian.PutUint64(p.data[placeSize+8:], 0x77777)
		}, false},
		"no pointer there":  {func(_ *pair, v *invaded) { v.holds[0].points = false }, false},
		"a pointer is left": {func(p *pair, _ *invaded) { binary.LittleEndian.PutUint64(p.data[placeSize:], placed) }, false},
		"a null pointer":    {func(p *pair, _ *invaded) { binary.LittleEndian.PutUint64(p.data[placeSize:], 0) }, false},
		"a number is left": {func(p *pair, v *invaded) {
			v.holds[0].pointee = &types.Type{Tag: dwarf.TagBaseType, ByteSize: 8}
			binary.LittleEndian.PutUint64(p.data[placeSize:], 0)
		}, true},
		"far in the block": {func(_ *pair, v *invaded) { v.at = v.block.Start + 64*8 }, false},
	} {
		p := newPair(wildWord, wildWord+0x101)
		died, v := p.crash(t, o)
		c.change(p, v)
		if text, _ := died.spoilt(v); (text != "") != c.want || c.want && !strings.Contains(text, "(ptr), which ends where that begins, may have been overrun") && !strings.Contains(text, "(hidden), which ends") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestUnfilled: what glibc leaves in a freed block is told by the block to which it leads, or by its own address.
func TestUnfilled(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	const start = placed + placeSize
	link := func(to uint64) uint64 { return to ^ start>>12 }
	for name, c := range map[string]struct {
		word   uint64
		change func(p *pair, v *invaded)
		want   bool
	}{
		"the last of a list":  {link(0), nil, true},
		"another block":       {link(start + placeSize), nil, true},
		"within one":          {link(start + placeSize + 8), nil, false},
		"no block":            {link(start + 0x100000), nil, false},
		"one of another size": {link(placed), func(p *pair, _ *invaded) { p.gap = 16 }, false},
		"another allocator":   {link(0), func(p *pair, _ *invaded) { p.named = false }, false},
		"not its beginning":   {link(0), func(p *pair, v *invaded) { v.at += 8; binary.LittleEndian.PutUint64(p.data[placeSize+8:], v.at>>12) }, false},
		"a small number":      {start >> 12 & 0xffff, nil, false},
	} {
		p := newPair(c.word)
		p.named = true
		died, v := p.crash(t, o)
		v.at = v.block.Start
		if c.change != nil {
			c.change(p, v)
		}
		if text, sure := died.unfilled(v); (text != "") != c.want || c.want && (sure != report.Likely || !strings.Contains(text, "(card) begins with what the C library leaves")) {
			t.Errorf("%s: %q [%s]", name, text, sure)
		}
	}
}

// TestLinked: a freed block begins with glibc's link if that leads to the end of its list, or to another block that is free and as large.
func TestLinked(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	const start = placed + placeSize
	link := func(to uint64) uint64 { return to ^ start>>12 }
	for name, c := range map[string]struct {
		word   uint64
		change func(p *pair, v *heapWord)
		want   bool
	}{
		"the last of a list": {link(0), nil, true},
		"another block":      {link(placed), nil, true},
		"one in use":         {link(placed), func(p *pair, _ *heapWord) { p.free = false }, false},
		"of another size":    {link(placed), func(p *pair, _ *heapWord) { p.gap = 16 }, false},
		"on another list":    {link(placed), func(_ *pair, v *heapWord) { v.block.List = "fastbin" }, false},
		"within one":         {link(placed + 8), nil, false},
		"no block":           {link(placed + 0x100000), nil, false},
		"in use itself":      {link(0), func(_ *pair, v *heapWord) { v.block.Free = false }, false},
		"not its beginning":  {link(0), func(p *pair, v *heapWord) { v.at += 8; binary.LittleEndian.PutUint64(p.data[placeSize+8:], v.at>>12) }, false},
	} {
		p := newPair(c.word)
		p.free = true
		died, v := p.crash(t, o)
		v.block.Free = true
		v.at = v.block.Start
		if c.change != nil {
			c.change(p, &v.heapWord)
		}
		if got := died.linked(&v.heapWord); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPouredInto: text that goes on from the block before is named, unless one who leads to the block may have text of his own there, both are of one type, or it begins within the block.
func TestPouredInto(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	for name, c := range map[string]struct {
		change func(v *invaded)
		want   bool
	}{
		"as it is":               {func(*invaded) {}, true},
		"it may be its own":      {func(v *invaded) { v.holds[0].text = true }, false},
		"behind what is reset":   {func(v *invaded) { v.run = run{v.block.Start + maxReset, v.block.End(), true} }, true},
		"beginning in the block": {func(v *invaded) { v.run = run{v.block.Start + maxReset + 8, v.block.End(), true} }, false},
		"no pointer there":       {func(v *invaded) { v.holds[0].points = false }, false},
		"of the same type":       {func(v *invaded) { v.holds[0].to = "const int" }, false},
	} {
		p := newPair()
		copy(p.data, strings.Repeat("no such text, ", 12))
		died, v := p.crash(t, o)
		c.change(v)
		if text, _ := died.pouredInto(v); (text != "") != c.want {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// What is said of the block that was overrun is no more certain than what is known of it.
func TestPouredFrom(t *testing.T) {
	died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	b := heap.Block{Start: 0x1000, Size: 32}
	free := b
	free.Free = true
	for name, c := range map[string]struct {
		b    heap.Block
		what poured
		next bool
		want string
		sure string
	}{
		"text":          {b, poured{text: "X", kind: pouredText}, true, " was overrun: X goes on there", report.Likely},
		"denied":        {b, poured{text: "X", kind: pouredText, denied: true}, true, " may have been overrun: X goes on there", report.Possible},
		"alike":         {b, poured{text: "X", kind: pouredAlike}, true, " may have been overrun: X goes on there", report.Possible},
		"not the next":  {b, poured{text: "X", kind: pouredText}, false, ", or one of those behind it, may have been overrun: X goes on there", report.Possible},
		"free":          {free, poured{text: "X", kind: pouredText}, true, ", which is free now, may have been overrun: X goes on there", report.Possible},
		"begins behind": {b, poured{text: "X", kind: pouredText, denied: true, begins: true}, true, " may have been overrun: X begins behind it, and goes on there", report.Possible},
	} {
		if text, sure := died.pouredFrom(c.b, c.what, c.next, "there"); !strings.HasSuffix(text, c.want) || sure != c.sure {
			t.Errorf("%s: %q [%s]", name, text, sure)
		}
	}
}

// TestNumbersGoOn: a pointer has a number like those of the array right before it.
func TestNumbersGoOn(t *testing.T) {
	died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	s := &slots{start: 0x7777000000000, size: 64, data: make([]byte, 64)}
	for i, n := range []uint64{900, 1200, 1100, 1000, 1150} {
		binary.LittleEndian.PutUint64(s.data[8*i:], n)
	}
	died.mem.Memory = s
	long, pointer := &types.Type{Tag: dwarf.TagBaseType, ByteSize: 8, BareName: "long"}, pointing()
	short := &types.Type{Tag: dwarf.TagBaseType, ByteSize: 2, BareName: "short"}
	element := func(i int) string { return fmt.Sprintf("m.a[%d]", i) }
	for name, c := range map[string]struct {
		name  func(i int) string
		t, at *types.Type // of the elements, and of what is behind them
		zero  bool
		want  bool
	}{
		"as it is":             {element, long, pointer, false, true},
		"null":                 {element, long, pointer, true, false},
		"no pointer behind it": {element, long, long, false, false},
		"pointers":             {element, pointer, pointer, false, false},
		"of another size":      {element, short, pointer, false, false},
		"of one name":          {func(int) string { return "m.a" }, long, pointer, false, false},
		"of several arrays":    {func(i int) string { return fmt.Sprintf("m.%c[0]", 'a'+i%2) }, long, pointer, false, false},
		"rows":                 {func(i int) string { return fmt.Sprintf("m.a[%d][%d]", i/2, i%2) }, long, pointer, false, true},
	} {
		binary.LittleEndian.PutUint64(s.data[32:], map[bool]uint64{false: 1150}[c.zero])
		got := died.numbersGoOn(s.start+32, func(at, size uint64) (string, *types.Type) {
			switch i := int(at-s.start) / 8; {
			case i == 4:
				return "m.to", c.at
			case i < 4 && size == 8:
				return c.name(i), c.t
			}
			return "", nil
		})
		if want := map[bool]string{true: "m.a may have been overrun: numbers like those at its end stand in m.to, behind it"}[c.want]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Frames of the thread may be none: nothing is looked at there, and nothing fails.
func TestNothingWalked(t *testing.T) {
	for _, name := range []string{"amd64-pie", "amd64-abort"} {
		for _, kind := range []string{report.CrashNullAccess, report.CrashHeapCorruption} {
			died := openCase(t, fixture.Get(t, name)).crash(t, false, false)
			died.stack = nil
			died.known.verdict = fact[verdict]{verdict{kind: kind}, true}
			died.toldOfGiven()
			died.deadVariable()
			died.overranArray()
			died.foreign()
			died.ranOff()
			died.wronglyGiven()
			died.usedAfterFree()
			died.stalePointers(func(*stale) bool { t.Error("a pointer of no frame"); return false })
			if died.onStack(0x7ffc00000000) || died.nearData() != nil || died.names().ofLibrary(0) {
				t.Error("there is no stack")
			}
		}
	}
}

// Beside the youngest frames, that to look at first is one in which values are looked for, if it is another.
func TestNearData(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-vars-c-O0"))
	for physical, want := range map[int]int{0: 0, maxWordFrames - 1: 0, maxWordFrames: 1, maxWordFrames + 1: 1} {
		died := o.crash(t, false, false)
		at := slices.IndexFunc(died.named.Frames, func(f report.Frame) bool { return f.Physical == physical })
		died.known.frame = fact[*int]{&at, true}
		cfa, _ := died.stack[physical].CFA()
		n := 0
		for _, r := range died.nearData()[1:] {
			if r == [2]uint64{uint64(died.stack[physical].SP()), uint64(cfa)} {
				n++
			}
		}
		if n != want {
			t.Errorf("frame %d is %d times among them", physical, n)
		}
	}
}

// An ending heap has damages, and blocks of which some are not the program's.
type ending struct {
	*slots
	own, free, record bool
	damages           []heap.Damage
}

func (e *ending) Damages() []heap.Damage { return e.damages }

func (e *ending) BlockAt(at uint64) (heap.Block, bool) {
	b, ok := e.slots.BlockAt(at)
	b.Own, b.Free = e.own, e.free
	if e.record {
		b.Start, b.Size = b.Start+48, b.Size-48
	}
	return b, ok
}

// TestRanOff: of a write right behind memory of a heap the block is named from which text goes on to the end of that, or that has a damage behind it there.
func TestRanOff(t *testing.T) {
	const size, n = 128, 12
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	var data, code libstate.Mapping
	for _, m := range o.s.Mappings() {
		switch {
		case m.Perm&libstate.Write != 0 && m.Path == "" && data.End == 0:
			data = m
		case m.Perm&libstate.Exec != 0 && code.End == 0:
			code = m
		}
	}
	stack, ok := o.s.MappingAt(o.crash(t, false, false).stack[0].SP())
	if !ok || data.End == 0 || code.End == 0 || data == stack {
		t.Fatal("no such memory")
	}
	const text, record = " may have been overrun by ", "it is text; the block of 128 bytes at "
	for name, c := range map[string]struct {
		m      libstate.Mapping
		from   int // text, from the end
		change func(died *crash, e *ending)
		want   string
	}{
		"text":                      {data, size + 40, nil, text},
		"text of a whole block":     {data, 2 * size, nil, text},
		"text of the last block":    {data, size, nil, ""},
		"no text":                   {data, 0, nil, ""},
		"text from far":             {data, maxRun, nil, ""},
		"a read":                    {data, size + 40, func(died *crash, _ *ending) { died.known.own.value.why.Access = report.AccessRead }, ""},
		"another fault":             {data, size + 40, func(died *crash, _ *ending) { died.known.verdict.value.kind = report.CrashAbort }, ""},
		"no address":                {data, size + 40, func(died *crash, _ *ending) { died.known.own.value.address = nil }, ""},
		"not known what is mapped":  {data, size + 40, func(died *crash, _ *ending) { died.PartialMaps = true }, ""},
		"a write within":            {data, size + 40, func(died *crash, _ *ending) { *died.known.own.value.address -= 8 }, ""},
		"behind code":               {code, size + 40, nil, ""},
		"behind the stack":          {stack, size + 40, nil, ""},
		"the allocator's":           {data, size + 40, func(_ *crash, e *ending) { e.own = true }, ""},
		"a free block":              {data, size + 40, func(_ *crash, e *ending) { e.free = true }, ""},
		"a block's record":          {data, 2*size - 8, func(_ *crash, e *ending) { e.record = true }, ""},
		"a damage":                  {data, 0, func(_ *crash, e *ending) { e.damages[0].Before.Size = size }, record},
		"a damage behind no block":  {data, 0, func(*crash, *ending) {}, ""},
		"a damage of other memory":  {data, 0, func(_ *crash, e *ending) { e.damages[0].Before.Size, e.damages[0].At = size, uint64(data.Start)-8 }, ""},
		"a damage behind the write": {data, 0, func(_ *crash, e *ending) { e.damages[0].Before.Size, e.damages[0].At = size, uint64(data.End) }, ""},
	} {
		s := &slots{start: uint64(c.m.End) - n*size, size: size, data: make([]byte, n*size)}
		for i := range c.from {
			s.data[len(s.data)-1-i] = "on and on and on "[i%17]
		}
		e := &ending{slots: s}
		e.damages = []heap.Damage{{At: s.start + size, Size: 8, Why: "it is text", Of: heap.Block{Start: s.start + size, Size: size}, Before: heap.Block{Start: s.start}}}
		heapFinders = []func(heap.Process, heapBounds) heap.Allocator{func(heap.Process, heapBounds) heap.Allocator { return e }}
		died := o.crash(t, false, false)
		died.mem.Memory = s
		end := report.Addr(c.m.End)
		f := *died.own()
		f.address, f.why.Access = &end, report.AccessWrite
		died.known.own = fact[*fault]{&f, true}
		died.known.verdict = fact[verdict]{verdict{kind: report.CrashBadWrite}, true}
		if c.change != nil {
			c.change(died, e)
		}
		got := died.ranOff()
		if (len(got) == 1) != (c.want != "") || len(got) == 1 && (!strings.Contains(got[0].Text, c.want) || got[0].Confidence != report.Possible) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}
