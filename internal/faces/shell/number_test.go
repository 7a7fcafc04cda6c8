package shell

import "testing"

func TestTaskNumber(t *testing.T) {
	for text, want := range map[string]uint64{"17": 17, "0x1f": 31, "<0.129.0>": 129, "<0.129.2>": 129 + 2<<28} {
		if got, ok := taskNumber(text); !ok || got != want {
			t.Errorf("%s: %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "<0.129>", "0.129.0", "<0.129.0", "<1.129.0>", "<0.268435456.0>", "<0.1.x>", "<0.1.0.2>"} {
		if got, ok := taskNumber(text); ok {
			t.Errorf("%q: %d", text, got)
		}
	}
}
