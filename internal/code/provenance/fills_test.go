package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Each function makes an object at rsp+0x10 and calls a function with its address; CFA is rsp+0x60.
func TestOmits(t *testing.T) {
	const object = -0x50
	for _, c := range []struct {
		name, code string
		call       uint64
		part       int64 // of the object
		want       bool
	}{
		{"never stored", made, 23, 0x20, true},
		{"stored", made, 23, 0x28, false},
		{"the end of it stored", made, 23, 0x24, false},
		{"of no size", made, 24, 0x20, false}, // no instruction
		{"stored with others", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 89 44 24 10 # 4 mov [rsp+0x10],rax
			0f 11 44 24 28 # 9 movups [rsp+0x28],xmm0
			48 8d 7c 24 10 # 14 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 19 call out
			48 83 c4 58 # 24 add rsp,0x58
			c3 # 28 ret`, 19, 0x20, false},
		{"nothing of it stored", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 89 44 24 40 # 4 mov [rsp+0x40],rax
			48 8d 7c 24 10 # 9 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 14 call out
			48 83 c4 58 # 19 add rsp,0x58
			c3 # 23 ret`, 14, 0x20, true},
		{"of what calls the function, and nothing of it stored", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 9 call out
			48 83 c4 58 # 14 add rsp,0x58
			c3 # 18 ret`, 9, 0x50, false},
		{"made by another function", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 9 call out
			48 8d 7c 24 10 # 14 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 19 call out
			48 83 c4 58 # 24 add rsp,0x58
			c3 # 28 ret`, 19, 0x20, false},
		{"made again", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 9 call out
			48 89 44 24 10 # 14 mov [rsp+0x10],rax
			48 8d 7c 24 10 # 19 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 24 call out
			48 83 c4 58 # 29 add rsp,0x58
			c3 # 33 ret`, 24, 0x20, true},
		{"stored on one way", `
			48 83 ec 58 # 0 sub rsp,0x58
			85 c0 # 4 test eax,eax
			74 09 # 6 je 17
			48 c7 44 24 30 03 00 00 00 # 8 mov qword [rsp+0x30],3
			48 89 44 24 10 # 17 mov [rsp+0x10],rax
			48 8d 7c 24 10 # 22 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 27 call out
			48 83 c4 58 # 32 add rsp,0x58
			c3 # 36 ret`, 27, 0x20, false},
		{"stored by its address", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
			48 89 4f 20 # 9 mov [rdi+0x20],rcx
			48 89 44 24 10 # 13 mov [rsp+0x10],rax
			e8 00 10 00 00 # 18 call out
			48 83 c4 58 # 23 add rsp,0x58
			c3 # 27 ret`, 18, 0x20, false},
		{"stored with an index", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 89 14 cc # 4 mov [rsp+rcx*8],rdx
			48 89 44 24 10 # 8 mov [rsp+0x10],rax
			48 8d 7c 24 10 # 13 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 18 call out
			48 83 c4 58 # 23 add rsp,0x58
			c3 # 27 ret`, 18, 0x20, false},
		{"stored shortly behind it, nobody knows how far", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 77 # 4 lea rdi,[rsp+0x77]
			f3 aa # 9 rep stosb
			48 89 44 24 10 # 11 mov [rsp+0x10],rax
			48 8d 7c 24 10 # 16 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 21 call out
			48 83 c4 58 # 26 add rsp,0x58
			c3 # 30 ret`, 21, 0x20, false},
		{"stored far behind it, nobody knows how far", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 78 # 4 lea rdi,[rsp+0x78]
			f3 aa # 9 rep stosb
			48 89 44 24 10 # 11 mov [rsp+0x10],rax
			48 8d 7c 24 10 # 16 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 21 call out
			48 83 c4 58 # 26 add rsp,0x58
			c3 # 30 ret`, 21, 0x20, true},
	} {
		f := function(t, arch.AMD64, c.code)
		if got := f.Omits(base+c.call, object, object+c.part, 8); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

const made = `
	48 83 ec 58 # 0 sub rsp,0x58
	48 89 44 24 10 # 4 mov [rsp+0x10],rax
	48 c7 44 24 38 03 00 00 00 # 9 mov qword [rsp+0x38],3
	48 8d 7c 24 10 # 18 lea rdi,[rsp+0x10]
	e8 00 10 00 00 # 23 call out
	48 83 c4 58 # 28 add rsp,0x58
	c3 # 32 ret`

func TestOneWayOut(t *testing.T) {
	const search = `
		ba 01 00 00 00 # 0 mov edx,1
		48 8b 0c d0 # 5 mov rcx,[rax+rdx*8]
		48 83 c2 01 # 9 add rdx,1
		39 31 # 13 cmp [rcx],esi
		75 f4 # 15 jne 5
		48 8b 41 08 # 17 mov rax,[rcx+8]
		c3 # 21 ret`
	for _, c := range []struct {
		name, code string
		a, b       uint64
		want       bool
	}{
		{"until it is found", search, 5, 13, true},
		{"before the loop", search, 0, 13, false},
		{"behind the loop", search, 5, 17, false},
		{"no instruction", search, 6, 13, false},
		{"until the end", `
			ba 01 00 00 00 # 0 mov edx,1
			4c 39 c2 # 5 cmp rdx,r8
			74 0c # 8 je 22
			48 8b 0c d0 # 10 mov rcx,[rax+rdx*8]
			48 83 c2 01 # 14 add rdx,1
			39 31 # 18 cmp [rcx],esi
			75 ef # 20 jne 5
			48 8b 41 08 # 22 mov rax,[rcx+8]
			c3 # 26 ret`, 10, 18, false},
		{"from its end back to the start", `
			48 8b 0c d0 # 0 mov rcx,[rax+rdx*8]
			39 31 # 4 cmp [rcx],esi
			74 06 # 6 je 14
			48 83 c2 01 # 8 add rdx,1
			eb f2 # 12 jmp 0
			c3 # 14 ret`, 0, 4, true},
		{"within another loop", `
			ba 01 00 00 00 # 0 mov edx,1
			48 8b 0c d0 # 5 mov rcx,[rax+rdx*8]
			48 83 c2 01 # 9 add rdx,1
			39 31 # 13 cmp [rcx],esi
			75 f4 # 15 jne 5
			83 ee 01 # 17 sub esi,1
			75 ea # 20 jne 0
			c3 # 22 ret`, 5, 13, true},
		{"one of them in the outer loop only", `
			ba 01 00 00 00 # 0 mov edx,1
			48 8b 0c d0 # 5 mov rcx,[rax+rdx*8]
			48 83 c2 01 # 9 add rdx,1
			39 31 # 13 cmp [rcx],esi
			75 f4 # 15 jne 5
			83 ee 01 # 17 sub esi,1
			75 ea # 20 jne 0
			c3 # 22 ret`, 17, 13, true},
		{"until the end, within another loop", `
			ba 01 00 00 00 # 0 mov edx,1
			4c 39 c2 # 5 cmp rdx,r8
			74 0c # 8 je 22
			48 8b 0c d0 # 10 mov rcx,[rax+rdx*8]
			48 83 c2 01 # 14 add rdx,1
			39 31 # 18 cmp [rcx],esi
			75 ef # 20 jne 5
			83 ee 01 # 22 sub esi,1
			75 e5 # 25 jne 0
			c3 # 27 ret`, 10, 18, false},
		{"with a call", `
			ba 01 00 00 00 # 0 mov edx,1
			48 8b 0c d0 # 5 mov rcx,[rax+rdx*8]
			e8 00 10 00 00 # 9 call out
			39 31 # 14 cmp [rcx],esi
			75 f3 # 16 jne 5
			c3 # 18 ret`, 5, 14, false},
	} {
		f := function(t, arch.AMD64, c.code)
		if got := f.OneWayOut(base+c.a, base+c.b, nil); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
