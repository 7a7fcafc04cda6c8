package types

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// described is a type with a descriptor.
func described(name string, descriptor any) *node {
	return structure(name, sized(8), nodeAttr{dwarf.AttrGoRuntimeType, descriptor})
}

// A type of Go is found by its descriptor, the first time and when all are listed.
func TestDescribed(t *testing.T) {
	zero, plain, again := described("p.zero", 0), described("p.plain", 0x100), described("p.again", 0x100)
	fixed, indexed, lost := described("p.fixed", address(0x200)), described("p.indexed", addressIndex(1)), described("p.lost", addressIndex(9))
	for _, c := range []struct {
		lang   dwarf.Language
		odd    *node
		listed int
	}{{dwarf.LangGo, zero, 4}, {dwarf.LangGo, lost, 3}, {dwarf.LangC99, zero, 0}} {
		unit := &tree{lang: c.lang, kids: []*node{c.odd, plain, again, fixed, indexed, structure("p.none")}}
		sections := forest(unit)
		sections[".debug_addr"] = binary.LittleEndian.AppendUint64(make([]byte, 8), 0x300)
		u := unitAt(t, open(sections), 0)
		for descriptor, want := range map[uint64]*node{0: nil, 1: nil, 9: nil, 0x100: again, 0x200: fixed, 0x300: indexed, 0x400: nil} {
			listed := c.listed
			if c.lang != dwarf.LangGo {
				want = nil
			}
			if descriptor == 0 {
				listed = 0
			}
			set := NewSet(arch.AMD64, nil)
			for n := range maxSearches + 2 {
				d, ok := set.Described(u, descriptor)
				if ok != (want != nil) || ok && d.Off != want.off || d.Valid() != ok {
					t.Errorf("language %#x, search %d: descriptor %#x at %#x, %v", uint16(c.lang), n, descriptor, d.Off, ok)
				}
				if got := len(set.typesOf(u).runtime); n < maxSearches && got > 0 || n >= maxSearches && got != listed {
					t.Errorf("language %#x: %d types are listed after search %d for descriptor %#x", uint16(c.lang), got, n, descriptor)
				}
			}
		}
	}
}

// The list of those with descriptors is believed unless it is full.
func TestDescribedOften(t *testing.T) {
	const n = maxTypeNames + 2
	u := longUnit(t, n, dwarf.TagStructureType, append(binary.AppendUvarint(nil, uint64(dwarf.AttrGoRuntimeType)), byte(dwarf.FormData4)), func(b []byte, i int) []byte {
		return binary.LittleEndian.AppendUint32(b, uint32(i+1))
	})
	set := NewSet(arch.AMD64, nil)
	list := set.typesOf(u)
	list.described.Store(maxSearches)
	for _, descriptor := range []uint64{1, maxTypeNames, maxTypeNames + 1, n} {
		if d, ok := set.Described(u, descriptor); !ok || d.Off != firstOfLong+1+5*(descriptor-1) {
			t.Errorf("%d at %#x, %v", descriptor, d.Off, ok)
		}
	}
	if d, ok := set.Described(u, n+1); ok {
		t.Errorf("%d at %#x", n+1, d.Off)
	}
	if len(list.runtime) != maxTypeNames {
		t.Errorf("%d are listed", len(list.runtime))
	}
	other := dwarf.DIE{Unit: u, Off: firstOfLong}
	list.runtime[1] = other
	if d, _ := set.Described(u, 1); d != other {
		t.Errorf("at %#x, not where the list says", d.Off)
	}
	list.runtime = map[uint64]dwarf.DIE{2: other}
	if d, ok := set.Described(u, 1); ok {
		t.Errorf("at %#x, and not listed", d.Off)
	}
}
