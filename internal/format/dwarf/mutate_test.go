package dwarf

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// TestMutations damages real files in many small ways: nothing may panic or hang, and
// results must stay within limits.
func TestMutations(t *testing.T) {
	files, _ := filepath.Glob("../../../testdata/cores/*/*")
	rng := rand.New(rand.NewPCG(1, 2))
	done := 0
	for _, path := range files {
		if done == 12 || !isELF(path) {
			continue
		}
		s := readELF(t, path)
		info, _ := s.Section(".debug_info")
		if len(info) == 0 || len(info) > 1<<15 {
			continue
		}
		done++
		low, high := textOf(s.f)
		for range 60 {
			m := &mutated{elfSource: s, rng: rng, damage: 1 + rng.IntN(8)}
			d := New(m, s.f.ByteOrder, WithText(low, high))
			for range 20 {
				pc := low + rng.Uint64N(high-low)
				calls, err := d.Frames(pc, nil)
				if err != nil && !errors.Is(err, ErrNotFound) && calls != nil {
					t.Errorf("%s: calls and error %v", path, err)
				}
				for _, c := range calls {
					if c.Func.Valid() && !c.Range.Contains(pc) {
						t.Errorf("%s: call at %#x has range %#x", path, pc, c.Range)
					}
				}
				d.TailChain(pc, Callee{PC: low + rng.Uint64N(high-low)}, nil, nil)
			}
			d.Units(func(u *Unit) bool {
				walkAll(t, u)
				return true
			})
		}
	}
	if done == 0 {
		t.Skip("no small files in testdata/cores")
	}
}

// mutated is a Source that changes some bytes of each section.
type mutated struct {
	elfSource
	rng    *rand.Rand
	damage int
}

func (m *mutated) Section(name string) ([]byte, error) {
	b, err := m.elfSource.Section(name)
	if len(b) == 0 || err != nil {
		return b, err
	}
	b = slices.Clone(b)
	for range m.damage {
		at := m.rng.IntN(len(b))
		switch m.rng.IntN(4) {
		case 0:
			b[at] ^= 1 << m.rng.IntN(8)
		case 1:
			b[at] = byte(m.rng.Uint32())
		case 2:
			b[at] = []byte{0, 0xff, 0x7f, 0x80}[m.rng.IntN(4)]
		case 3:
			if m.damage == 8 {
				b = b[:at+1] // a section cut short
			}
		}
	}
	return b, nil
}
