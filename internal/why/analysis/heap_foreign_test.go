package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// letters is memory that is full of one letter.
type letters struct {
	letter byte
	reads  *int
}

func (l letters) ReadMem(_ arch.Address, b []byte) (int, error) {
	*l.reads++
	for i := range b {
		b[i] = l.letter
	}
	return len(b), nil
}

func (l letters) ReadWord(arch.Address) (uint64, error) {
	return uint64(l.letter) * 0x0101010101010101, nil
}

// A filled arena is all of a mapping, and has a record that text has damaged.
type filled struct {
	arena
	b     heap.Block
	known bool
	alone bool // no block ends at the record
}

func (f filled) BlockAt(at uint64) (heap.Block, bool) {
	if f.known && at < f.b.Start {
		return heap.Block{Start: f.b.Start - 4096, Size: 4096}, true
	}
	return f.b, f.known
}

func (f filled) Damages() []heap.Damage {
	start := uint64(f.m.Start)
	before := heap.Block{Start: start, Size: 64}
	if f.alone {
		before = heap.Block{}
	}
	return []heap.Damage{{At: start + 64, Size: 8, Why: "it is text", Of: heap.Block{Start: start + 72}, Before: before}}
}

// TestForeign: of a bad value that was read from memory of a heap it is said who wrote it; where the heap cannot be found, where there is no block, or one
// that is free or the allocator's own, nothing is said of a block in use.
func TestForeign(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	var m libstate.Mapping
	for _, m = range o.s.Mappings() {
		if m.Perm&libstate.Write != 0 && m.Path == "" && m.End-m.Start > 4096 {
			break
		}
	}
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	in := heap.Block{Start: uint64(m.Start) + 72, Size: 4096}
	free, own := in, in
	free.Free, free.List = true, "bin"
	own.Own = true
	for name, c := range map[string]struct {
		heap  heap.Allocator
		at    arch.Address
		want  int // causes of a block in use
		freed int // causes of a freed one
	}{
		"no heap":                    {nil, m.Start + 128, 0, 0},
		"behind a damaged record":    {filled{arena{m}, heap.Block{}, false, false}, m.Start + 128, 1, 0},
		"far behind it":              {filled{arena{m}, heap.Block{}, false, false}, m.Start + 64 + maxRun + 16, 0, 0},
		"no block before the record": {filled{arena{m}, heap.Block{}, false, true}, m.Start + 128, 0, 0},
		"before the damaged record":  {filled{arena{m}, heap.Block{}, false, false}, m.Start + 48, 1, 0},
		"a block in use":             {filled{arena{m}, in, true, false}, m.Start + 128, 1, 0},
		"a freed block":              {filled{arena{m}, free, true, false}, m.Start + 128, 0, 1},
		"the allocator's own block":  {filled{arena{m}, own, true, false}, m.Start + 128, 0, 0},
		"not of a mapping":           {filled{arena{m}, heap.Block{}, false, false}, 0x10, 0, 0},
	} {
		heapFinders = nil
		if c.heap != nil {
			heapFinders = append(heapFinders, func(heap.Process, heapBounds) heap.Allocator { return c.heap })
		}
		died := o.crash(t, false, false)
		died.fault().readAt = []uint64{c.at}
		reads := 0
		died.mem.Memory = letters{'x', &reads}
		if got := died.foreign(); len(got) != c.want || c.heap == nil && reads != 0 {
			t.Errorf("%s: %+v, after %d reads", name, got, reads)
		}
		zeros := o.crash(t, false, false)
		zeros.fault().readAt = []uint64{c.at}
		zeros.mem.Memory = letters{0, &reads}
		if got := zeros.foreign(); len(got) != 0 || zeros.owners != nil {
			t.Errorf("%s, of nothing: %+v, owners looked for: %t", name, got, zeros.owners != nil)
		}
		numbers := o.crash(t, false, false)
		numbers.fault().readAt = []uint64{c.at}
		numbers.mem.Memory = letters{1, &reads}
		want := 0
		if name == "behind a damaged record" { // it went on with something else
			want = 1
		}
		if got := numbers.foreign(); len(got) != want || want == 1 && got[0].Confidence != report.Possible {
			t.Errorf("%s, of no text, nor a series: %+v", name, got)
		}
		if got := died.usedAfterFree(); len(got) != c.freed {
			t.Errorf("%s: %+v", name, got)
		}
		if got := died.heapCauses(); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a block may have of its own denies no overrun of the one before; a pointer of it that the text fills does, if no other has it as something else.
func TestDenied(t *testing.T) {
	for _, c := range []struct {
		holds []holder
		want  bool
	}{{nil, false}, {[]holder{{denies: true}}, true}, {[]holder{{}}, false}, {[]holder{{denies: true}, {}}, false}, {[]holder{{}, {denies: true}}, false}, {[]holder{{denies: true}, {denies: true}}, true}} {
		if got := (&invaded{holds: c.holds}).denied(); got != c.want {
			t.Errorf("%+v: %t", c.holds, got)
		}
	}
}

// few is a heap of some blocks, with records of 16 bytes before and 8 behind them.
type few struct {
	heap.Allocator
	list []heap.Block
}

func (f few) BlockAt(at uint64) (heap.Block, bool) {
	for _, b := range f.list {
		if b.Start-16 <= at && at < b.End()+8 {
			return b, true
		}
	}
	return heap.Block{}, false
}

// TestBefore: the block before is one in use that ends before the other, and has enough of what goes on there; and it is known whether others are between.
func TestBefore(t *testing.T) {
	const start, at, word = 0x2000, 0x2008, 8
	in := heap.Block{Start: start, Size: 64}
	block := func(start, size uint64) heap.Block { return heap.Block{Start: start, Size: size} }
	free, own, top := block(0x1000, 64), block(0x1000, 64), block(0x1000, 64)
	free.Free, own.Own, top.Free, top.List = true, true, true, "top"
	end := uint64(0x1040)
	for name, c := range map[string]struct {
		blocks  []heap.Block
		from    uint64
		text    bool
		size    uint64 // of the block before; 0 for none
		through bool
	}{
		"text":                     {[]heap.Block{block(0x1000, 64)}, end - minText, true, 64, false},
		"too little text":          {[]heap.Block{block(0x1000, 64)}, end - minText + 1, true, 0, false},
		"numbers":                  {[]heap.Block{block(0x1000, 64)}, end - minSeries*word, false, 64, false},
		"too few numbers":          {[]heap.Block{block(0x1000, 64)}, end - minSeries*word + 8, false, 0, false},
		"a freed block":            {[]heap.Block{free}, 0x1000, true, 64, false},
		"a freed one, of numbers":  {[]heap.Block{free}, 0x1000, false, 0, false},
		"freed ones":               {[]heap.Block{free, block(0x1040, 64)}, 0x1000, true, 0, true},
		"what was never used":      {[]heap.Block{top}, 0x1000, true, 0, false},
		"the allocator's own":      {[]heap.Block{own}, 0x1000, true, 0, false},
		"a block's record":         {[]heap.Block{block(0x1000, 64)}, 0x1000 - 8, true, 0, false},
		"records between":          {[]heap.Block{block(0x1000, 0xfe8)}, 0x1f00, true, 0xfe8, false},
		"no block":                 {nil, 0x1000, true, 0, false},
		"the block itself":         {nil, start, true, 0, false},
		"what overlaps":            {[]heap.Block{block(0x1ff0, 0x20)}, 0x1ff0, true, 0, false},
		"a block between":          {[]heap.Block{block(0x1000, 64), block(0x1040, 64)}, 0x1000, true, 64, true},
		"a block between, further": {[]heap.Block{block(0x1000, 64), block(0x1f00, 16)}, 0x1000, true, 64, true},
	} {
		v := &invaded{heapWord: heapWord{at: at, heap: few{list: append(c.blocks, in)}, block: in, known: true}, run: run{c.from, at + 64, c.text}, word: word}
		if v.findBefore(); v.before.Size != c.size || v.through != c.through {
			t.Errorf("%s: %+v, others between: %t", name, v.before, v.through)
		}
	}
}
