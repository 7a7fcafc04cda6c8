package hotspot

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
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

// TestDamaged damages the memory that stacks are read from, word by word. What comes of it must end, and
// must not take much longer than the undamaged one.
func TestDamaged(t *testing.T) {
	rounds := 60
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
					words[at] = at // a circle
				case 3:
					words[at] = pages[rng.IntN(len(pages))] + rng.Uint64N(page)
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

// FuzzMemory changes one word and the first page after it.
func FuzzMemory(f *testing.F) {
	var all []*recorded
	for _, name := range recordings {
		all = append(all, read(f, name))
	}
	f.Add(uint(0), uint(3), uint(8), uint64(1))
	f.Fuzz(func(t *testing.T, which, number, offset uint, v uint64) {
		r := all[which%uint(len(all))]
		pages := slices.Sorted(maps.Keys(r.Pages))
		p := pages[number%uint(len(pages))]
		c := r.changed(map[uint64]uint64{p + uint64(offset)%page&^7: v})
		c.walk(t)
	})
}

// Each guard keeps names from being made of what is not a method.
func TestGuards(t *testing.T) {
	r := read(t, "java17-interpreted.zst")
	good := strings.Join(r.walk(t), "\n")
	vm := r.java().machine()
	at := r.FP
	m := vm.Word(at + interpretedMethodOffset())
	l := &vm.layout
	cm := vm.Word(m + l.constMethod)
	pool := vm.Word(cm + l.methodPool)
	klass := vm.Word(pool + l.holder)
	back, _ := vm.off("InstanceKlass._constants")
	name := vm.Word(klass + l.klassName)
	first := strings.SplitN(good, "\n", 2)[0]
	for _, c := range []struct {
		what  string
		words map[uint64]uint64
	}{
		{"a method that is not aligned", map[uint64]uint64{at + interpretedMethodOffset(): m + 4}},
		{"a method without constants", map[uint64]uint64{m + l.constMethod: 0}},
		{"constants of no class", map[uint64]uint64{pool + l.holder: 0}},
		{"a class with other constants", map[uint64]uint64{klass + back: pool + 8}},
		{"a class without a name", map[uint64]uint64{klass + l.klassName: 0}},
		{"a name that is binary", map[uint64]uint64{(name + l.symbolBody) &^ 7: 0x0101010101010101}},
	} {
		if got := r.changed(c.words).walk(t); len(got) > 0 && got[0] == first {
			t.Errorf("%s: still named %s", c.what, got[0])
		}
	}
	// A stack pointer of the caller that lies below the frame ends the walk there.
	sender := int64(interpretedSender)
	c := r.changed(map[uint64]uint64{at + uint64(sender): at - 64})
	if got := c.walk(t); len(got) != 1 {
		t.Errorf("a caller below its callee: %d calls", len(got))
	}
	// So does code that the map of segments does not lead to.
	h := vm.heapOf(r.PC)
	seg := h.segments + (r.PC-h.low)>>h.shift
	c = r.changed(map[uint64]uint64{seg: ^uint64(0)})
	if got := c.walk(t); len(got) != 0 {
		t.Errorf("code in no blob: %q", got)
	}
}

// interpretedMethodOffset is interpretedMethod as what is added to an address.
func interpretedMethodOffset() uint64 {
	o := int64(interpretedMethod)
	return uint64(o)
}
