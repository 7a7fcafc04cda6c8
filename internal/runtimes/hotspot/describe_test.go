package hotspot

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
)

// TestDescribe: the version is the one that the virtual machine gives itself, and its number alone if that is damaged.
func TestDescribe(t *testing.T) {
	for _, c := range []struct{ release, want string }{
		{"25.0.3+9-LTS", "HotSpot 25.0.3+9-LTS, layout from its own tables"},
		{"", "HotSpot 25, layout from its own tables"},
		{"9\x1b[2J", "HotSpot 25, layout from its own tables"},
		{"the best", "HotSpot 25, layout from its own tables"},
		{strings.Repeat("2", maxRelease+1), "HotSpot 25, layout from its own tables"},
	} {
		const at, text = 0x1000, 0x1100
		data := make([]byte, page)
		binary.LittleEndian.PutUint64(data, text)
		copy(data[text-at:], c.release)
		r := &recorded{recording: &recording{Pages: map[uint64][]byte{at: data}}}
		vm := &VM{memory: memory{procmem.Of(r)}, version: 25,
			tables: &tables{fields: map[string]field{"Abstract_VM_Version._s_vm_release": {address: at, static: true}}}}
		if got := vm.describe(); got != c.want {
			t.Errorf("%q: %s, want %s", c.release, got, c.want)
		}
	}
	old := &VM{version: 25, tables: &tables{fields: map[string]field{"CodeCache._heap": {address: 8, static: true}}}, memory: memory{procmem.Of(&recorded{recording: &recording{}})}}
	if got, want := old.describe(), "HotSpot of JDK 8, layout from its own tables"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
