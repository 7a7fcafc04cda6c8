package image

import (
	"testing"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// TestShortStubs: only the code tells whether stubs have 8 bytes: programs that are linked statically have such, and sections that give no size.
func TestShortStubs(t *testing.T) {
	jump := "\xff\x25\x00\x10\x00\x00\x66\x90" // jmp [rip+0x1000]; xchg ax,ax
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"jumps", jump + jump, true},
		{"one jump", jump, true},
		{"a jump and a push", "\xff\x25\x00\x10\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff", false},
		{"the call of the resolver", "\xff\x35\x00\x10\x00\x00\xff\x25\x00\x10\x00\x00\x0f\x1f\x40\x00", false},
		{"a landing pad", "\xf3\x0f\x1e\xfa\xff\x25\x00\x10\x00\x00\x66\x0f\x1f\x44\x00\x00", false},
		{"cut short", jump[:6], false},
		{"nothing", "", false},
	} {
		if got := shortStubs([]byte(c.code), 0x401018, elffile.EM_X86_64); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
