package provenance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestKept lists what the registers still hold of those at the entry: "rcx=rcx,r9" if both hold rcx.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         uint64
		want       string
	}{
		{"at the start", `
			31 c9 # xor ecx,ecx
			c3 # ret`, 0, "rcx=rcx rdx=rdx r9=r9"},
		{"written", `
			31 c9 # xor ecx,ecx
			c3 # ret`, 2, "rdx=rdx r9=r9"},
		{"copied and exchanged by copies", `
			49 89 c9 # mov r9,rcx
			48 89 d1 # mov rcx,rdx
			c3 # ret`, 6, "rcx=r9 rdx=rcx,rdx"},
		{"saved and restored, twice", `
			51 # push rcx
			52 # push rdx
			59 # pop rcx
			5a # pop rdx
			51 # push rcx
			59 # pop rcx
			c3 # ret`, 6, "rcx=rdx rdx=rcx r9=r9"},
		{"restored too often", strings.Repeat(`
			51 # push rcx
			59 # pop rcx`, maxRestored+1) + `
			c3 # ret`, 2*maxRestored + 2, "rdx=rdx r9=r9"},
		{"a half of it restored", `
			51 # push rcx
			8b 0c 24 # mov ecx,[rsp]
			5a # pop rdx
			c3 # ret`, 5, "rcx=rdx r9=r9"},
		{"a half of it saved and restored", `
			89 4c 24 f8 # mov [rsp-8],ecx
			8b 54 24 f8 # mov edx,[rsp-8]
			c3 # ret`, 8, "rcx=rcx r9=r9"},
		{"read from another's memory at the offset of the slot", `
			51 # push rcx
			48 8b 57 f0 # mov rdx,[rdi-16]
			c3 # ret`, 5, "rcx=rcx r9=r9"},
		{"a repeated instruction", `
			f3 a4 # rep movsb
			c3 # ret`, 0, "rdx=rdx r9=r9"},
		{"behind it", `
			f3 a4 # rep movsb
			c3 # ret`, 2, "rdx=rdx r9=r9"},
		{"a system call", `
			0f 05 # syscall
			c3 # ret`, 0, "rdx=rdx r9=r9"},
		{"ways with and without a change meet", `
			74 02 # je L
			31 c9 # xor ecx,ecx
			c3 # L: ret`, 4, "rdx=rdx r9=r9"},
		{"unknown jumps", `
			55 # push rbp
			ff e0 # jmp rax
			c3 # ret`, 1, ""},
		{"no instruction", `
			31 c9 # xor ecx,ecx
			c3 # ret`, 1, ""},
		{"behind the code", `
			31 c9 # xor ecx,ecx
			c3 # ret`, 3, ""},
	} {
		f := function(t, arch.AMD64, c.code)
		kept := f.Kept(base+c.at, ^arch.RegMask(0))
		var got []string
		for _, r := range []arch.Reg{arch.RCX, arch.RDX, arch.R9} {
			var in []string
			for m := kept[r] & arch.Mask(arch.RCX, arch.RDX, arch.R9); m != 0; m &= m - 1 {
				in = append(in, arch.AMD64.RegName(m.First()))
			}
			if slices.Sort(in); in != nil {
				got = append(got, fmt.Sprintf("%s=%s", arch.AMD64.RegName(r), strings.Join(in, ",")))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
		if kept[arch.RSP] != 0 || kept[arch.RIP] != 0 {
			t.Errorf("%s: the stack pointer or the program counter counts", c.name)
		}
		for r, in := range f.Kept(base+c.at, arch.Mask(arch.RDX)) {
			if in != arch.Mask(arch.RDX) || kept[r]&in == 0 {
				t.Errorf("%s: asked for rdx only, %s is in %#x", c.name, arch.AMD64.RegName(r), in)
			}
		}
		if kept[arch.NoReg] != 0 {
			t.Errorf("%s: %#x hold what no register held", c.name, kept[arch.NoReg])
		}
	}
	f := function(t, arch.AMD64, `
		31 c9 # xor ecx,ecx
		c3 # ret`)
	reread(f).left = 0
	if kept := f.Kept(base+2, ^arch.RegMask(0)); kept != nil {
		t.Errorf("code that can no longer be read: %v", kept)
	}
}

// TestSavedAt: where the frame holds what a register held at the entry, while nothing else was stored there.
func TestSavedAt(t *testing.T) {
	const save = `
		48 89 4c 24 f8 # 0 mov [rsp-8],rcx`
	for _, c := range []struct {
		name, code string
		at         uint64
		want       []int64
	}{
		{"behind a jump that may be", `
			85 c9 # 0 test ecx,ecx
			74 00 # 2 je 4
			48 89 4c 24 f8 # 4 mov [rsp-8],rcx
			c3 # 9 ret`, 9, []int64{-16}},
		{"behind a jump", `
			eb 00 # 0 jmp 2
			48 89 4c 24 f8 # 2 mov [rsp-8],rcx
			c3 # 7 ret`, 7, nil},
		{"by a push", `
			51 # 0 push rcx
			59 # 1 pop rcx
			c3 # 2 ret`, 1, nil},
		{"compared with what was saved", save + `
			48 39 4c 24 f8 # 5 cmp [rsp-8],rcx
			c3 # 10 ret`, 10, []int64{-16}},
		{"by a copy", `
			48 89 ca # 0 mov rdx,rcx
			48 89 54 24 f8 # 3 mov [rsp-8],rdx
			c3 # 8 ret`, 8, nil},
		{"saved", save + `
			90 # 5 nop
			c3 # 6 ret`, 6, []int64{-16}},
		{"not yet", save + `
			c3 # 5 ret`, 0, nil},
		{"overwritten", save + `
			48 89 54 24 f8 # 5 mov [rsp-8],rdx
			c3 # 10 ret`, 10, nil},
		{"a half of it", `
			89 4c 24 f8 # 0 mov [rsp-8],ecx
			c3 # 4 ret`, 4, nil},
		{"changed before", `
			48 89 d1 # 0 mov rcx,rdx
			48 89 4c 24 f8 # 3 mov [rsp-8],rcx
			c3 # 8 ret`, 8, nil},
		{"elsewhere", `
			48 89 0f # 0 mov [rdi],rcx
			c3 # 3 ret`, 3, nil},
		{"in the frame and elsewhere", `
			48 89 4c 24 08 # 0 mov [rsp+8],rcx
			48 89 0f # 5 mov [rdi],rcx
			c3 # 8 ret`, 8, []int64{0}},
	} {
		if got := function(t, arch.AMD64, c.code).SavedAt(base+c.at, arch.RCX, 8); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	part := function(t, arch.AMD64, `
		88 4c 24 fc # 0 mov [rsp-4],cl
		89 54 24 f8 # 4 mov [rsp-8],edx
		c3 # 8 ret`)
	for size, want := range map[int][]int64{1: {-12}, 4: nil, 8: nil} {
		if got := part.SavedAt(base+8, arch.RCX, size); !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, want %v", size, got, want)
		}
	}
}

// TestSavedAtCall: behind a call nothing is stored before anything else, nor where code can no longer be read.
func TestSavedAtCall(t *testing.T) {
	f := function(t, arch.AMD64, `
		ff d0 # 0 call rax
		48 89 5c 24 08 # 2 mov [rsp+8],rbx
		c3 # 7 ret`)
	if got := f.SavedAt(base+7, arch.RBX, 8); got != nil {
		t.Errorf("behind a call: %v", got)
	}
	f = function(t, arch.AMD64, `
		31 c0 # 0 xor eax,eax
		48 89 5c 24 08 # 2 mov [rsp+8],rbx
		c3 # 7 ret`)
	if got := f.SavedAt(base+7, arch.RBX, 8); !slices.Equal(got, []int64{0}) {
		t.Errorf("%v", got)
	}
	reread(f).gone = base
	if got := f.SavedAt(base+7, arch.RBX, 8); got != nil {
		t.Errorf("behind code that can no longer be read: %v", got)
	}
	f = function(t, arch.AMD64, `
		48 89 44 24 08 # 0 mov [rsp+8],rax
		48 c7 44 24 08 07 00 00 00 # 5 mov qword [rsp+8],7
		c3 # 14 ret`)
	if got := f.SavedAt(base+14, arch.RAX, 8); got != nil {
		t.Errorf("written to since: %v", got)
	}
}
