package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestFrameOffset(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 83 ec 58 # 0 sub rsp,0x58
		48 89 44 24 10 # 4 mov [rsp+0x10],rax
		48 89 47 10 # 9 mov [rdi+0x10],rax
		31 c0 # 13 xor eax,eax
		48 83 c4 58 # 15 add rsp,0x58
		c3 # 19 ret`)
	for _, c := range []struct {
		name string
		at   uint64
		want int64
		ok   bool
	}{
		{"in the frame", 4, -0x50, true},
		{"elsewhere", 9, 0, false},
		{"of no memory", 13, 0, false},
		{"within an instruction", 5, 0, false},
		{"within the one before", 3, 0, false},
	} {
		if got, ok := f.FrameOffset(base + c.at); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %#x %v, want %#x %v", c.name, got, ok, c.want, c.ok)
		}
	}
	reread(f).gone = base + 4
	f.at = -1
	if got, ok := f.FrameOffset(base + 4); ok {
		t.Errorf("of code that can no longer be read: %#x", got)
	}
}
