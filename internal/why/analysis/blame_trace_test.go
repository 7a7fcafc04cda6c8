package analysis

import "testing"

// Numbers of either sign that are near 0, of 4 bytes, too, are common; pointers and text are not.
func TestCommon(t *testing.T) {
	for value, want := range map[uint64]bool{
		0: true, 0xffff: true, 0x10000: false, 1<<64 - 1: true, 1<<64 - 0x10000: true, 1<<64 - 0x10001: false,
		0xffffffff: true, 0xffff0000: true, 0xfffeffff: false, 0x1_ffffffff: false, 0x4141414141414141: false,
	} {
		if got := common(value); got != want {
			t.Errorf("%#x: %v", value, got)
		}
	}
}
