package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestMentions: which addresses a function has as operands.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		name, code string
		low        uint64
		want       bool
	}{
		{"a number", "bf 10 40 40 00 # mov edi,0x404010", 0x404010, true},
		{"the last byte of the range", "bf 10 40 40 00 # mov edi,0x404010", 0x404009, true},
		{"below the range", "bf 10 40 40 00 # mov edi,0x404010", 0x404011, false},
		{"behind the range", "bf 10 40 40 00 # mov edi,0x404010", 0x404008, false},
		{"an address beside the instruction", "48 8b 05 01 00 00 00 # mov rax,[rip+1]", base + 8, true},
		{"an address, and an index", "48 8b 04 fd 10 40 40 00 # mov rax,[rdi*8+0x404010]", 0x404010, true},
		{"the last byte of the range, by an address", "48 8b 04 fd 10 40 40 00 # mov rax,[rdi*8+0x404010]", 0x404009, true},
		{"behind the range, by an address", "48 8b 04 fd 10 40 40 00 # mov rax,[rdi*8+0x404010]", 0x404008, false},
		{"a member that far in an object", "48 8b 87 10 40 40 00 # mov rax,[rdi+0x404010]", 0x404010, false},
	} {
		f := function(t, arch.AMD64, c.code+"\nc3 # ret")
		if got := f.Mentions(c.low, 8); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	f := function(t, arch.AMD64, "90 # nop\nbf 10 40 40 00 # mov edi,0x404010\nc3 # ret")
	reread(f).gone = base
	if !f.Mentions(0x404010, 8) {
		t.Error("what cannot be read ends the search")
	}
}
