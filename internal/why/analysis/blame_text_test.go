package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestWrittenTo: the high bytes of a pointer that text ran into are text only if they are not those of an address near it.
func TestWrittenTo(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *arch.Arch
		word string
		on   int
		at   uint64
		want int
	}{
		{"half a pointer", arch.AMD64, "qrst_U\x00\x00", 6, 0x555f6a0012c0, 4},
		{"of another address", arch.AMD64, "qrst_U\x00\x00", 6, 0x7ffc6a0012c0, 6},
		{"one byte of the address", arch.AMD64, "qrst_U\x00\x00", 6, 0x55006a0012c0, 5},
		{"low bytes alike", arch.AMD64, "qrst\x00\x00\x00\x00", 4, 0x74737271, 4},
		{"the text goes on", arch.AMD64, "qrst_Uvw", 8, 0x7776555f74737271, 8},
		{"big-endian", arch.S390X, "qrst_U\x00\x00", 6, 0x555f6a0012c0, 6},
	} {
		if got := writtenTo(c.a, []byte(c.word), c.on, c.at); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}
