package dwarf

import (
	"bytes"
	"debug/elf"
	"sync"
	"testing"
)

// lazySource provides its sections byte by byte as requested. Bytes not requested are
// poisoned, so that reading them is noticed.
type lazySource struct {
	elfSource
	mu   sync.Mutex
	read map[string]uint64 // up to where bytes were asked for
	size map[string]uint64
}

func (s *lazySource) LazySection(name string) ([]byte, func(uint64, uint64) error, error) {
	whole, err := s.Section(name)
	if err != nil || whole == nil {
		return nil, nil, err
	}
	data := bytes.Repeat([]byte{0xa5}, len(whole))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size[name] = uint64(len(whole))
	return data, func(from, end uint64) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if end = min(end, uint64(len(whole))); end > from {
			copy(data[from:end], whole[from:end])
			s.read[name] = max(s.read[name], end)
		}
		return nil
	}, nil
}

func lazily(s elfSource) (*lazySource, *Data) {
	l := &lazySource{elfSource: s, read: map[string]uint64{}, size: map[string]uint64{}}
	low, high := textOf(s.f)
	return l, New(l, s.f.ByteOrder, WithText(low, high))
}

// TestLazySections checks that nothing is read without a request: separate readers give the
// same calls for the same addresses.
func TestLazySections(t *testing.T) {
	described(t, func(path string, s elfSource) bool {
		text := s.f.Section(".text")
		if text == nil || text.Type == elf.SHT_NOBITS {
			return true
		}
		whole := s.data()
		for i := range uint64(20) {
			pc := text.Addr + text.Size*i/20
			_, lazy := lazily(s)
			want, _ := whole.Frames(pc, nil)
			got, _ := lazy.Frames(pc, nil)
			if describe(got) != describe(want) {
				t.Errorf("%s %#x: lazily %s, want %s", path, pc, describe(got), describe(want))
			}
		}
		return true
	})
}

// TestLazyReadsAPart checks that a function in the first unit costs no more than that unit
// if .debug_aranges identifies it.
func TestLazyReadsAPart(t *testing.T) {
	found := false
	described(t, func(path string, s elfSource) bool {
		first, units := firstUnit(s)
		if first == nil || units < 3 || s.f.Section(".debug_aranges") == nil {
			return true
		}
		ranges := first.Ranges(first.Root(), new(1<<20))
		if len(ranges) == 0 {
			return true
		}
		l, d := lazily(s)
		if _, err := d.Frames(ranges[0].Low, nil); err != nil {
			return true
		}
		if l.read[".debug_info"] >= l.size[".debug_info"] {
			t.Errorf("%s: all %d bytes of .debug_info read for a function of the first unit, which ends at %d", path, l.size[".debug_info"], first.End)
		}
		found = true
		return false
	})
	if !found {
		t.Skip("no file with several units and .debug_aranges in testdata/cores")
	}
}

// firstUnit returns the first compilation unit of a file, and the number of units, counted
// up to three.
func firstUnit(s elfSource) (first *Unit, units int) {
	s.data().Units(func(u *Unit) bool {
		if u.Sec != SecInfo {
			return true
		}
		if units++; first == nil && u.Type == UnitCompile {
			first = u
		}
		return units < 3
	})
	return first, units
}
