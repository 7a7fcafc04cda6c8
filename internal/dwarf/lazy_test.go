package dwarf

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"sync"
	"testing"
)

// lazySource hands its sections out byte by byte as they are asked for. What was
// not asked for is poison, so that reading it shows.
type lazySource struct {
	elfSource
	mu   sync.Mutex
	read map[string]uint64 // bytes asked for
	size map[string]uint64
}

func (s *lazySource) LazySection(name string) ([]byte, func(uint64) error, error) {
	real, err := s.Section(name)
	if err != nil || real == nil {
		return nil, nil, err
	}
	data := bytes.Repeat([]byte{0xa5}, len(real))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size[name] = uint64(len(real))
	return data, func(end uint64) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if end = min(end, uint64(len(real))); end > s.read[name] {
			copy(data[s.read[name]:end], real[s.read[name]:end])
			s.read[name] = end
		}
		return nil
	}, nil
}

func lazily(s elfSource) (*lazySource, *Data) {
	l := &lazySource{elfSource: s, read: map[string]uint64{}, size: map[string]uint64{}}
	low, high := textOf(s.f)
	return l, New(l, s.f.ByteOrder, WithText(low, high))
}

// TestLazySections checks that nothing is read that was not asked for: from the
// same addresses, each with a reader of its own, come the same calls.
func TestLazySections(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cores/*/*")
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, path := range files {
		if !isELF(path) {
			continue
		}
		s := readELF(t, path)
		text := s.f.Section(".text")
		if s.f.Type == elf.ET_CORE || s.f.Section(".debug_info") == nil || text == nil || text.Type == elf.SHT_NOBITS {
			continue
		}
		done++
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
	}
	if done == 0 {
		t.Skip("no ELF files with debugging information in testdata/cores")
	}
}

// TestLazyReadsAPart checks that a function in the first unit costs no more than
// that unit, where .debug_aranges tells which it is.
func TestLazyReadsAPart(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/cores/*/*")
	for _, path := range files {
		if !isELF(path) {
			continue
		}
		s := readELF(t, path)
		if s.f.Type == elf.ET_CORE || s.f.Section(".debug_aranges") == nil || s.f.Section(".debug_info") == nil {
			continue
		}
		l, d := lazily(s)
		var first *Unit
		units := 0
		s.data().Units(func(u *Unit) bool {
			if u.Sec != SecInfo {
				return true
			}
			if units++; first == nil && u.Type == UnitCompile {
				first = u
			}
			return units < 3
		})
		if first == nil || units < 3 {
			continue
		}
		ranges := first.Ranges(first.Root())
		if len(ranges) == 0 {
			continue
		}
		if _, err := d.Frames(ranges[0].Low, nil); err != nil {
			continue
		}
		if l.read[".debug_info"] >= l.size[".debug_info"] {
			t.Errorf("%s: all %d bytes of .debug_info read for a function of the first unit, which ends at %d", path, l.size[".debug_info"], first.End)
		}
		return
	}
	t.Skip("no file with several units and .debug_aranges in testdata/cores")
}
