package report

import (
	"slices"
	"strings"
	"testing"
)

// TestIdle: what containers have for nothing is told where that is much, in the text and in the rows that a page has.
func TestIdle(t *testing.T) {
	m := &Memory{Allocators: []MemoryAllocator{{Name: "malloc", Used: MemoryCount{Count: 4, Bytes: 100_000}}},
		Types: []MemoryType{{Name: "int[]", Count: 1, Bytes: 4000, Idle: 999}, {Name: "Order[]", Count: 1, Bytes: 8000}}}
	for idle, want := range map[uint64]string{999: "", 1000: "1.0 kB; 1.0 kB of 4.0 kB in int[]"} {
		m.Types[0].Idle = idle
		var out strings.Builder
		if err := WriteMemoryText(&out, m, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), "do not hold: "+want); got != (want != "") {
			t.Errorf("%d bytes: %s", idle, out.String())
		}
		if got := slices.Contains(m.Summary(), [2]string{"empty room in containers", want}); got != (want != "") {
			t.Errorf("%d bytes: %q", idle, m.Summary())
		}
	}
}
