package analysis

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
)

// slotCrash is a crash whose heap are some blocks of 64 bytes.
func slotCrash(t *testing.T, n int) (*slots, *crash) {
	t.Helper()
	s := &slots{start: 0x7777000000000, size: 64, data: make([]byte, 64*n), free: map[int]bool{}}
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	heapFinders = []func(heap.Process, heapBounds) heap.Allocator{func(heap.Process, heapBounds) heap.Allocator { return s }}
	died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
	died.mem.Memory = s
	return s, died
}

func (s *slots) put(at int, v uint64) { binary.LittleEndian.PutUint64(s.data[at:], v) }

// TestThroughFreed: text in a block in use came through freed blocks that are full of it, but for what a list writes there, from one in use that is full to its last byte.
func TestThroughFreed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *slots)
		from   int // in which block the text began; -1 if that is not said
	}{
		"two freed blocks":        {func(*slots) {}, 1},
		"as long as a list needs": {func(s *slots) { s.put(3*64+8, 0) }, 1},
		"longer":                  {func(s *slots) { s.put(3*64+16, 0) }, -1},
		"the first one's end":     {func(s *slots) { s.data[2*64-1] = 0 }, -1},
		"a middle one's end":      {func(s *slots) { s.data[3*64-1] = 0 }, -1},
		"too little":              {func(s *slots) { clear(s.data[64 : 2*64-minText+1]) }, -1},
		"just enough":             {func(s *slots) { clear(s.data[64 : 2*64-minText]) }, 1},
		"all are free":            {func(s *slots) { s.free[0], s.free[1] = true, true }, -1},
		"in use":                  {func(s *slots) { s.free[3] = false }, -1},
		"in use, little":          {func(s *slots) { s.free[3] = false; clear(s.data[3*64 : 4*64-minText+1]) }, -1},
	} {
		s, died := slotCrash(t, 6)
		copy(s.data[64:], strings.Repeat("name=value&", 30)[:4*64-8])
		s.free[2], s.free[3] = true, true
		s.put(2*64, 0)
		s.put(3*64, 0)
		c.change(s)
		b := s.at(4)
		v := &invaded{heapWord: heapWord{at: b.Start, heap: s, block: b, known: true}, run: died.runAround(b.Start), word: 8}
		v.findBefore()
		died.throughFreed(v)
		got := -1
		if v.before.Size != 0 && v.through {
			got = int(v.before.Start-s.start) / 64
			if v.run.from < v.before.Start || v.run.from >= v.before.End() {
				t.Errorf("%s: the text begins at %#x", name, v.run.from)
			}
		}
		if got != c.from {
			t.Errorf("%s: %d, want %d", name, got, c.from)
		}
	}
}

// TestSmallAlike: both halves of a value are numbers like those with which a block ends, if these are enough, and neither zero nor large.
func TestSmallAlike(t *testing.T) {
	two := func(a, b uint64) uint64 { return a | b<<32 }
	for name, c := range map[string]struct {
		value  uint64
		change func(s *slots)
		want   bool
	}{
		"between":     {two(2300, 2200), nil, true},
		"beside":      {two(2700, 2120), nil, true},
		"above":       {two(3000, 2200), nil, false},
		"below":       {two(2300, 1900), nil, false},
		"half":        {2300, nil, false},
		"a zero":      {two(2300, 2200), func(s *slots) { clear(s.data[64-8*4 : 64-7*4]) }, false},
		"a large one": {two(2300, 2200), func(s *slots) { binary.LittleEndian.PutUint32(s.data[64-8*4:], mostSmall) }, false},
		"eight":       {two(2300, 2200), func(s *slots) { clear(s.data[64-9*4 : 64-8*4]) }, true},
	} {
		s, died := slotCrash(t, 2)
		for i := range 16 {
			binary.LittleEndian.PutUint32(s.data[4*i:], uint32(2100+i*317%600))
		}
		if c.change != nil {
			c.change(s)
		}
		if got := died.smallAlike(s.at(0), c.value); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestHandedTwice: the only block in use of a list's size that begins with what the list begins with; of several none, as long as nobody says whose they are.
func TestHandedTwice(t *testing.T) {
	const wild = 0x6161616161616161
	for name, c := range map[string]struct {
		value  uint64
		change func(s *slots, d *heap.Damage)
		want   bool
	}{
		"one":              {wild, func(*slots, *heap.Damage) {}, true},
		"another one":      {wild, func(s *slots, _ *heap.Damage) { s.put(3*64, wild) }, false},
		"a free one":       {wild, func(s *slots, _ *heap.Damage) { s.free[2] = true }, false},
		"of another size":  {wild, func(_ *slots, d *heap.Damage) { d.Popped = 48 }, false},
		"the list's place": {wild, func(s *slots, d *heap.Damage) { d.At = s.start + 2*64 }, false},
		"a small value":    {7, func(s *slots, _ *heap.Damage) { s.put(2*64, 7) }, false},
	} {
		s, died := slotCrash(t, 6)
		s.put(2*64, wild)
		d := heap.Begins("list", s.start+5*64, 8, c.value, 64)
		c.change(s, &d)
		text, two := died.handedTwice(&d, c.value)
		if two || (text != "") != c.want || c.want && !strings.Contains(text, "0x7777000000080 may have been freed twice, or written to while it was free") {
			t.Errorf("%s: %q, %t", name, text, two)
		}
	}
}

// TestOrItself: a list begins with what its block's owner may have written, if that one is full of it, or that which seems to be overrun begins with it, and what is
// behind it has none.
func TestOrItself(t *testing.T) {
	const wild = 0x6161616161616161
	for name, c := range map[string]struct {
		at   []int // where the value stands
		want bool
	}{
		"nowhere":            {nil, false},
		"the end":            {[]int{2*64 - 8}, true},
		"begins":             {[]int{0}, true},
		"begins, and behind": {[]int{0, 64}, false},
		"begins, and after":  {[]int{0, 64 + maxReset}, false},
		"behind":             {[]int{64}, false},
		"of another size":    {[]int{0}, false},
	} {
		s, died := slotCrash(t, 3)
		for _, at := range c.at {
			s.put(at, wild)
		}
		to := s.at(1)
		if name == "of another size" {
			to.Size -= 16
		}
		if got := died.orItself(s.at(0), to, wild); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestNamelessRefused: a function without a name of an allocator's module, whose records are damaged, and that was given nothing back.
func TestNamelessRefused(t *testing.T) {
	for name, c := range map[string]struct {
		module, function, kind string
		damaged, given, want   bool
	}{
		"as it is":         {"/usr/lib/libmimalloc.so.2.0", "", report.CrashNonCanonicalRead, true, false, true},
		"another module":   {"/usr/lib/libm.so.6", "", report.CrashNonCanonicalRead, true, false, false},
		"a name":           {"/usr/lib/libmimalloc.so.2.0", "mi_free", report.CrashNonCanonicalRead, true, false, false},
		"an abort":         {"/usr/lib/libmimalloc.so.2.0", "", report.CrashAbort, true, false, false},
		"nothing is wrong": {"/usr/lib/libmimalloc.so.2.0", "", report.CrashNonCanonicalRead, false, false, false},
		"given back":       {"/usr/lib/libmimalloc.so.2.0", "", report.CrashNonCanonicalRead, true, true, false},
	} {
		s, died := slotCrash(t, 2)
		if c.damaged {
			s.damages = []heap.Damage{{}}
		}
		died.named.Frames = append([]report.Frame(nil), died.named.Frames...)
		died.named.Frames[0].Module, died.named.Frames[0].Function = c.module, c.function
		died.stop().why.Kind = c.kind
		died.known.given = fact[givenBack]{givenBack{to: "free", value: 1, known: c.given}, true}
		if got := died.namelessRefused(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMayBe: where a value may have been read from counts only if that is one place, and is a guess.
func TestMayBe(t *testing.T) {
	o := openCase(t, fixture.Get(t, "amd64-pie"))
	var m libstate.Mapping
	for _, m = range o.s.Mappings() {
		if m.Perm&libstate.Write != 0 && m.Path == "" && m.End-m.Start > 4096 {
			break
		}
	}
	known := heapFinders
	t.Cleanup(func() { heapFinders = known })
	heapFinders = []func(heap.Process, heapBounds) heap.Allocator{func(heap.Process, heapBounds) heap.Allocator {
		return filled{arena{m}, heap.Block{Start: uint64(m.Start) + 72, Size: 4096}, true, false}
	}}
	for n, want := range []bool{false, true, false} {
		died := o.crash(t, false, false)
		at := uint64(m.Start) + 128
		died.fault().readAt, died.fault().mayBe = nil, []uint64{at, at + 8}[:n]
		died.known.verdict = fact[verdict]{verdict{kind: report.CrashNullRead}, true}
		if p := died.findReadFrom(); p.known != want || want && (!p.guessed || p.at != at) {
			t.Errorf("%d places: %+v", n, p)
		}
	}
}

// TestListedInside: a list of an allocator has a pointer into a block, which is no block of its own, nor about a block that is known.
func TestListedInside(t *testing.T) {
	for name, c := range map[string]struct {
		value  uint64 // from the heap's beginning
		change func(s *slots, d *heap.Damage)
		want   bool
	}{
		"into a block":    {64 + 8, func(*slots, *heap.Damage) {}, true},
		"a block":         {64, func(*slots, *heap.Damage) {}, false},
		"nowhere":         {64 * 64, func(*slots, *heap.Damage) {}, false},
		"half a word":     {64 + 8, func(_ *slots, d *heap.Damage) { d.Size = 4 }, false},
		"of a block":      {64 + 8, func(s *slots, d *heap.Damage) { d.Of = s.at(2) }, false},
		"the allocator's": {64 + 8, func(s *slots, _ *heap.Damage) { s.own = true }, false},
	} {
		s, died := slotCrash(t, 4)
		s.put(3*64, s.start+c.value)
		d := heap.Damage{At: s.start + 3*64, Size: 8, Why: "why"}
		c.change(s, &d)
		if text := died.listedInside(&d); (text != "") != c.want || c.want && !strings.Contains(text, "8 bytes from the beginning of the block of 64 bytes at 0x7777000000040: why") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// TestCountBefore: a block begins with a number of elements if so many fit behind it, and by the size that was passed no more would.
func TestCountBefore(t *testing.T) {
	for name, c := range map[string]struct {
		count, size, off uint64
		want             bool
	}{
		"fits": {1, 56, 8, true}, "rounded": {1, 32, 8, true}, "too much is left": {1, 31, 8, false}, "no size": {3, 0, 8, true}, "too many": {2, 56, 8, false},
		"none": {0, 0, 8, false}, "more than bytes": {57, 0, 8, false}, "elsewhere": {1, 56, 16, false}, "a large size": {1, 57, 8, false}, "seven": {7, 8, 8, true}, "overflow": {1 << 62, 4, 8, false},
	} {
		s, died := slotCrash(t, 1)
		s.put(0, c.count)
		if _, ok := died.countBefore(s.at(0), &givenBack{value: s.start + c.off, size: c.size}); ok != c.want {
			t.Errorf("%s: %t", name, ok)
		}
	}
}
