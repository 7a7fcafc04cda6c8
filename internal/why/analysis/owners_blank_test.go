package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
)

// TestBlank: memory that nobody has written to is read once, however often pointers are looked for, and costs the same each time; what has been written to is
// read again.
func TestBlank(t *testing.T) {
	for letter, again := range map[byte]bool{0: false, 'x': true} {
		died := openCase(t, fixture.Get(t, "amd64-pie")).crash(t, false, false)
		reads := 0
		died.mem.Memory = letters{letter, &reads}
		ranges := [][2]uint64{{0x100000, 0x200000}, {0x400000, 0x400100}}
		var spent [2]int
		var read [2]int
		for i := range spent {
			left, before := 1<<24, reads
			if got := died.names().pointersTo([]*held{{start: 0x1234}}, ranges, &left); len(got) != 0 {
				t.Errorf("%q: %v", letter, got)
			}
			spent[i], read[i] = 1<<24-left, reads-before
		}
		if spent[0] != spent[1] || read[0] == 0 || (read[1] != 0) != again {
			t.Errorf("%q: spent %v, reads %v", letter, spent, read)
		}
	}
}
