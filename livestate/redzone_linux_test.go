package livestate

import (
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestRedZoneIsCopied: what a leaf function keeps below its stack pointer is part of the
// stack, also where it is in the page before.
func TestRedZoneIsCopied(t *testing.T) {
	const start, end, page = 0x10000, 0x20000, 0x18000
	for _, a := range []*arch.Arch{arch.AMD64, arch.PPC64LE, arch.ARM64} {
		stack := libstate.Mapping{Start: start, End: end, Perm: libstate.Read | libstate.Write}
		for _, sp := range []arch.Address{page, page + 8, page + arch.Address(a.RedZone) - 1, start + 16} {
			s := &Snapshot{arch: a, maps: &mapList{list: []libstate.Mapping{stack}}, threads: []snapThread{{sp: sp}}}
			spans, total := s.stacks(maxStack)
			if a.RedZone == 0 && sp < page {
				continue
			}
			want := max(start, sp-arch.Address(a.RedZone))
			if len(spans) != 1 || spans[0].start > want || spans[0].start < start || spans[0].end != end || total != end-spans[0].start {
				t.Errorf("%s, sp %#x: copied %#x, want all from %#x to %#x", a.Name, sp, spans, want, end)
			}
		}
	}
}

// TestOnlyStacksAreCopied: no thread has its stack where nothing can be read, and two
// threads in one mapping are copied once.
func TestOnlyStacksAreCopied(t *testing.T) {
	maps := &mapList{list: []libstate.Mapping{
		{Start: 0x10000, End: 0x20000, Perm: libstate.Read | libstate.Write}, {Start: 0x20000, End: 0x30000},
	}}
	for name, c := range map[string]struct {
		sps  []arch.Address
		want int
	}{
		"not readable": {[]arch.Address{0x28000}, 0}, "not mapped": {[]arch.Address{0x38000}, 0}, "none": {[]arch.Address{0}, 0},
		"two": {[]arch.Address{0x18000, 0x12000}, 1},
	} {
		s := &Snapshot{arch: arch.AMD64, maps: maps}
		for _, sp := range c.sps {
			s.threads = append(s.threads, snapThread{sp: sp})
		}
		if spans, total := s.stacks(maxStack); len(spans) != c.want || c.want == 1 && total != spans[0].end-spans[0].start {
			t.Errorf("%s: %#x, %d bytes", name, spans, total)
		}
	}
}
