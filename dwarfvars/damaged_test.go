package dwarfvars

import (
	"encoding/binary"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestTypesOfDamagedUnit lists the types of units whose entries end more scopes
// than there are: what comes behind belongs to nothing.
func TestTypesOfDamagedUnit(t *testing.T) {
	structure := func(name string, ends int) *handDIE {
		d := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrByteSize, 4})
		d.ends = ends
		return d
	}
	for ends := range 4 {
		u := unit(t, binary.LittleEndian, 8, dwarf.LangC99, structure("a", ends), structure("b", ends), structure("c", 0))
		got := New(newHand(arch.AMD64, 8), nil).types.InUnit(u)
		if _, ok := got["struct a"]; !ok {
			t.Errorf("%d ends: %v", ends, got)
		}
		for _, name := range []string{"struct b", "struct c"} {
			if _, ok := got[name]; ok != (ends == 0) {
				t.Errorf("%d ends: %v", ends, got)
			}
		}
	}
}
