package v8

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
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
	rounds := 150
	if !fixture.IsLong(t) {
		rounds /= 3
	}
	for _, name := range recordings {
		r := read(t, name)
		r.walk(t)
		usual := r.reads
		pages := slices.Sorted(maps.Keys(r.Pages))
		rng := rand.New(rand.NewPCG(1, 2))
		for range rounds {
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
	both := []*recorded{read(f, recordings[0]), read(f, "node24-variables.zst")}
	f.Add(uint(3), uint(8), uint64(1))
	f.Fuzz(func(t *testing.T, number, offset uint, v uint64) {
		r := both[number%2]
		number /= 2
		pages := slices.Sorted(maps.Keys(r.Pages))
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
	// V8 with compressed pointers, as Electron has it, has no calls, and says why.
	for name, want := range map[string]string{"v8dbg_TaggedSize": "pointers compressed to 4 bytes", "v8dbg_SmiShiftSize": "small integers are shifted by"} {
		at := r.recording.Symbols[name].Addr
		c := r.changed(map[uint64]uint64{at &^ 7: r.word(at&^7)&^(0xffffffff<<(8*(at&7))) | 4<<(8*(at&7))})
		if rt, err := Find(&tasks.Process{State: c, Symbols: c, Modules: []*libstate.Library{{Path: "electron"}}}); rt != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.walk(t); len(got) != 0 {
			t.Errorf("%s: %q", name, got[0])
		}
	}
	// A version that is not known has no calls.
	major := r.recording.Symbols["_ZN2v88internal7Version6major_E"].Addr
	v := r.word(major &^ 7)
	if got := r.changed(map[uint64]uint64{major &^ 7: v ^ 1<<(8*(major&7))}).walk(t); len(got) != 0 {
		t.Errorf("an unknown version: %q", got[0])
	}
}

// TestNoValues: without a symbol that values need, calls are known, no variable is read, and the description says so.
func TestNoValues(t *testing.T) {
	r := read(t, "node24-variables.zst")
	c := *r.recording
	c.Symbols = maps.Clone(c.Symbols)
	lacks := ""
	for name := range c.Symbols {
		if strings.HasPrefix(name, "v8dbg_class_JSFunction__context__") {
			lacks = name
		}
	}
	delete(c.Symbols, lacks)
	without := &recorded{recording: &c}
	j := without.script()
	if got := j.Describe(); lacks == "" || !strings.Contains(got, "variables are not read: v8dbg_class_JSFunction__context") {
		t.Errorf("without %s: %s", lacks, got)
	}
	if got := without.walk(t); len(got) == 0 || len(without.variables) != 0 {
		t.Errorf("without values: %d calls, %q", len(got), without.variables)
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

// Each guard keeps variables from being made of what is none.
func TestVariableGuards(t *testing.T) {
	r := read(t, "node24-variables.zst")
	r.walk(t)
	good := r.variables
	has := func(list []string, begin string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, begin) })
	}
	if !has(good, "show b={") || !has(good, "show sum=14.5") || !has(good, "outer r3='in a register'") {
		t.Fatalf("%q", good)
	}
	// The frames of show, doubled and outer.
	var fps []uint64
	for fp := r.FP; len(fps) < 3 && fp != 0; fp = r.word(fp) {
		fn := r.word(from(fp, frameFunction))
		if r.word(from(fp, frameContext))&1 == 1 && fn&3 == 1 && r.word(from(fp, frameOffset))<<32 == 0 && r.word(from(fp, frameOffset)) != 0 {
			fps = append(fps, fp)
		}
	}
	show, outer := fps[0], fps[2]
	context := r.word(from(show, frameContext))
	function := r.word(context - 1 + 24) // the block's is within the function's
	info := r.word(function - 1 + 16)
	bytecode := r.word(from(outer, frameBytecode))
	for _, c := range []struct {
		what, begin string // what there must not be any more
		words       map[uint64]uint64
	}{
		{"no count of arguments", "show this=undefined", map[uint64]uint64{from(show, frameCount): 0}},
		{"an absurd count of arguments", "show this=undefined", map[uint64]uint64{from(show, frameCount): 1 << 40}},
		{"a context of another type", "show sum=", map[uint64]uint64{from(show, frameContext): bytecode}},
		{"a context that does not lead to the function's own", "show sum=", map[uint64]uint64{function - 1 + 24: r.word(from(outer, frameFunction))}},
		{"a context in a circle", "show sum=", map[uint64]uint64{function - 1 + 24: function}},
		{"names of another type", "show sum=", map[uint64]uint64{function - 1 + 16: bytecode}},
		{"an absurd number of names", "show sum=", map[uint64]uint64{info - 1 + 24: 1 << 60}},
		{"a name that is no string", "show sum=", map[uint64]uint64{info - 1 + 8*6: bytecode, info - 1 + 8*7: bytecode, info - 1 + 8*8: bytecode}},
		{"a value that is none", "outer r3=", map[uint64]uint64{outer - 56 - 8*3: bytecode}},
		{"an absurd number of registers", "outer r3=", map[uint64]uint64{bytecode - 1 + 48: 7}},
		{"more names than parameters", "outer n=", map[uint64]uint64{bytecode - 1 + 48: 8<<3 | 1<<32}},
	} {
		d := r.changed(c.words)
		d.walk(t)
		if len(d.variables) == 0 || has(d.variables, c.begin) {
			t.Errorf("%s: still %s in %q", c.what, c.begin, d.variables)
		}
	}
}

// TestParameterNames: names are read as far as they are certain.
func TestParameterNames(t *testing.T) {
	for source, want := range map[string]string{
		"(a, b) {":                   "a b",
		"() {":                       "",
		"(/* (x, */ a, // y,\n b) {": "a b",
		"(a, b = ')', c) {":          "a b",
		"(a, {b}, c) {":              "a",
		"(a, ...rest) {":             "a",
		"x => x":                     "x",
		"x.y":                        "",
		"($a1, größe)":               "$a1 größe",
		"(a":                         "",
		"(a, b":                      "a",
		"(1, 2)":                     "",
		"":                           "",
		"(/*":                        "",
	} {
		if got := strings.Join(parameterNames([]rune(source)), " "); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
}
