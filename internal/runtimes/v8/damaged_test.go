package v8

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// changed is a recording some of whose words are others.
func (r *recorded) changed(words map[uint64]uint64) *recorded {
	c := *r.recording
	c.Pages = maps.Clone(c.Pages)
	for at, v := range words {
		p := slices.Clone(c.Pages[at&^(page-1)])
		if p == nil {
			continue
		}
		binary.LittleEndian.PutUint64(p[at%page&^7:], v)
		c.Pages[at&^(page-1)] = p
	}
	return &recorded{recording: &c}
}

// word reads a word of a recording.
func (r *recorded) word(at uint64) uint64 {
	v, _ := r.ReadWord(at)
	return v
}

// TestDamaged damages the memory that stacks are read from, word by word. What comes of it must end, and
// must not take much longer than the undamaged one.
func TestDamaged(t *testing.T) {
	for _, name := range recordings {
		r := read(t, name)
		r.walk(t)
		usual := r.reads
		pages := slices.Sorted(maps.Keys(r.Pages))
		rng := rand.New(rand.NewPCG(1, 2))
		for range 150 {
			words := map[uint64]uint64{}
			for range 1 + rng.IntN(40) {
				at := pages[rng.IntN(len(pages))] + rng.Uint64N(page)&^7
				switch v := r.Pages[at&^(page-1)][at%page:]; rng.IntN(5) {
				case 0:
					words[at] = rng.Uint64()
				case 1:
					words[at] = ^uint64(0)
				case 2:
					words[at] = at + 1 // a circle
				case 3:
					words[at] = pages[rng.IntN(len(pages))] + rng.Uint64N(page)&^7 + 1
				default:
					words[at] = binary.LittleEndian.Uint64(v) ^ 1<<rng.IntN(64)
				}
			}
			c := r.changed(words)
			c.walk(t)
			if c.reads > 20*usual+100_000 {
				t.Fatalf("%s: %d reads, usually %d, with %#x", name, c.reads, usual, words)
			}
		}
	}
}

// FuzzMemory changes one word.
func FuzzMemory(f *testing.F) {
	r := read(f, recordings[0])
	pages := slices.Sorted(maps.Keys(r.Pages))
	f.Add(uint(3), uint(8), uint64(1))
	f.Fuzz(func(t *testing.T, number, offset uint, v uint64) {
		p := pages[number%uint(len(pages))]
		c := r.changed(map[uint64]uint64{p + uint64(offset)%page&^7: v})
		c.walk(t)
	})
}

// Each guard keeps names and lines from being made of what is not a function.
func TestGuards(t *testing.T) {
	r := read(t, "node20-all.zst")
	good := r.walk(t)
	l := &layout{}
	if err := l.table("11.3"); err != nil {
		t.Fatal(err)
	}
	// The frames before die's are those of calls in native code.
	fp := r.FP
	for range 8 {
		if fn := r.word(from(fp, frameFunction)); r.word(from(fp, frameContext))&1 == 1 && fn&3 == 1 {
			break
		}
		fp = r.word(fp)
	}
	fn := r.word(from(fp, frameFunction))
	shared := r.word(fn - 1 + 24)
	script := r.word(shared - 1 + 32)
	bytecode := r.word(from(fp, frameBytecode))
	table := r.word(bytecode - 1 + l.bytecodePositions)
	ends := r.word(script - 1 + 56)
	for _, c := range []struct {
		what, want string // what the first call must not be
		words      map[uint64]uint64
	}{
		{"a function of another type", "die", map[uint64]uint64{from(fp, frameFunction): script}},
		{"a function whose map is none", "die", map[uint64]uint64{fn - 1: script}},
		{"what describes a function is a script", "die", map[uint64]uint64{fn - 1 + 24: script}},
		{"a name that is no string", "die ", map[uint64]uint64{shared - 1 + 16: script}},
		{"a script of another type", "frames.js", map[uint64]uint64{shared - 1 + 32: fn}},
		{"bytecode of another type", "interpreted", map[uint64]uint64{from(fp, frameBytecode): fn}},
		{"an offset behind the bytecode", "interpreted", map[uint64]uint64{from(fp, frameOffset): 1 << 60}},
		{"positions of another type", "js:25:", map[uint64]uint64{bytecode - 1 + l.bytecodePositions: fn}},
		{"positions that end at once", "js:25:", map[uint64]uint64{table - 1 + 8: 0}},
		{"ends of lines that are not", "js:25:", map[uint64]uint64{ends - 1 + 16: 1 << 62, script - 1 + 8: fn}},
	} {
		if got := r.changed(c.words).walk(t); len(got) > 0 && got[0] == good[0] && strings.Contains(got[0], c.want) {
			t.Errorf("%s: still %s", c.what, got[0])
		}
	}
	// A frame pointer that does not rise ends the walk.
	if got := r.changed(map[uint64]uint64{fp: fp}).walk(t); len(got) > 2 {
		t.Errorf("a frame that is its own caller: %d calls", len(got))
	}
	// A version that is not known has no calls.
	major := r.recording.Symbols["_ZN2v88internal7Version6major_E"].Addr
	v := r.word(major &^ 7)
	if got := r.changed(map[uint64]uint64{major &^ 7: v ^ 1<<(8*(major&7))}).walk(t); len(got) != 0 {
		t.Errorf("an unknown version: %q", got[0])
	}
}

// TestLayouts: every version of the table has all columns, and those that are known only they.
func TestLayouts(t *testing.T) {
	for _, v := range []string{"10.2", "11.3", "12.4", "13.6"} {
		l := &layout{}
		if err := l.table(v); err != nil || l.header == 0 || l.codeSize == 0 || l.bytecodePositions == 0 || l.evalPosition == 0 {
			t.Errorf("%s: %v, %+v", v, err, l)
		}
	}
	if err := (&layout{}).table("9.4"); err == nil || !strings.Contains(err.Error(), "V8 9.4") {
		t.Errorf("an unknown version: %v", err)
	}
}
