package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
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
		{"before what is no instruction", made, 22, 0x20, false},
		{"the end of what the function may have changed", `
			48 83 ec 58 # 0 sub rsp,0x58
			90 # 4 nop
			48 83 c4 58 # 5 add rsp,0x58
			c3 # 9 ret`, 4, 0x48, true},
		{"a byte behind it", `
			48 83 ec 58 # 0 sub rsp,0x58
			90 # 4 nop
			48 83 c4 58 # 5 add rsp,0x58
			c3 # 9 ret`, 4, 0x49, false},
		{"unknown jumps", `
			48 83 ec 58 # 0 sub rsp,0x58
			48 89 44 24 10 # 4 mov [rsp+0x10],rax
			48 85 f6 # 9 test rsi,rsi
			74 02 # 12 je 16
			ff e2 # 14 jmp rdx
			48 83 c4 58 # 16 add rsp,0x58
			c3 # 20 ret`, 16, 0x20, false},
	} {
		f := function(t, arch.AMD64, c.code)
		if got := f.Omits(base+c.call, object, object+c.part, 8); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestFills: which instructions store into a part of an object that another function has made before, and which leave it out.
func TestFills(t *testing.T) {
	const object, part = -0x50, -0x30
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"none", "90 # nop", true},
		{"it is read", "48 8b 4c 24 30 # mov rcx,[rsp+0x30]", true},
		{"what is behind it is stored", "48 89 4c 24 38 # mov [rsp+0x38],rcx", true},
		{"what is before it is stored", "48 89 4c 24 28 # mov [rsp+0x28],rcx", true},
		{"its first byte", "48 89 4c 24 29 # mov [rsp+0x29],rcx", false},
		{"its last byte", "48 89 4c 24 37 # mov [rsp+0x37],rcx", false},
		{"a byte far before it", "88 0c 24 # mov [rsp],cl", true},
		{"that far from another pointer", "48 89 4e d0 # mov [rsi-0x30],rcx", true},
		{"by an address in rax", "48 8d 44 24 10 # lea rax,[rsp+0x10]\n48 89 48 20 # mov [rax+0x20],rcx", false},
		{"that far from a segment's base", "48 8d 44 24 10 # lea rax,[rsp+0x10]\n64 48 89 48 20 # mov fs:[rax+0x20],rcx", true},
		{"nobody knows how much, from before it", "0f ae 64 24 20 # xsave [rsp+0x20]", false},
		{"in a loop", "48 ff c9 # dec rcx\n75 fb # jne the dec", true},
		{"in a loop before it", "48 89 4c 24 30 # mov [rsp+0x30],rcx\n48 ff c9 # dec rcx\n75 fb # jne the dec", false},
		{"a system call", "0f 05 # syscall", true},
	} {
		f := function(t, arch.AMD64, `
			48 83 ec 58 # 0 sub rsp,0x58
			48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
			e8 00 10 00 00 # 9 call out
			`+c.code+`
			48 89 5c 24 10 # mov [rsp+0x10],rbx
			48 8d 7c 24 10 # lea rdi,[rsp+0x10]
			e8 00 10 00 00 # call out
			48 83 c4 58 # add rsp,0x58
			c3 # ret`)
		var call uint64
		for in := range f.Calls {
			if in.Kind == disasm.Call {
				call = in.PC
			}
		}
		if got := f.Omits(call, object, part, 8); got != c.want {
			t.Errorf("%s: left out %v, want %v", c.name, got, c.want)
		}
		if c.name != "none" {
			continue
		}
		for size, want := range map[int]bool{0: false, 1: true} {
			if got := f.Omits(call, object, part, size); got != want {
				t.Errorf("%d bytes: left out %v, want %v", size, got, want)
			}
		}
		reread(f).gone = base
		if f.Omits(call, object, part, 8) {
			t.Error("what cannot be read stores nothing")
		}
	}
	f := function(t, arch.AMD64, `
		48 83 ec 58 # 0 sub rsp,0x58
		48 8d 7c 24 10 # 4 lea rdi,[rsp+0x10]
		e8 00 10 00 00 # 9 call out
		48 89 44 24 10 # 14 mov [rsp+0x10],rax
		48 89 4c 24 30 # 19 mov [rsp+0x30],rcx
		48 83 c4 58 # 24 add rsp,0x58
		c3 # 28 ret`)
	if f.Omits(base+19, object, part, 8) {
		t.Error("the instruction itself stores it")
	}
	f = function(t, arch.AMD64, `
		48 89 cc # mov rsp,rcx
		48 89 14 24 # mov [rsp],rdx
		c3 # ret`)
	if !f.fills(1, part, 8) {
		t.Error("a stack pointer that is not known leads elsewhere")
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
		{"no second instruction", search, 5, 14, false},
		{"a jump out of the function", `
			48 83 c2 01 # 0 add rdx,1
			39 31 # 4 cmp [rcx],esi
			0f 84 f6 0f 00 00 # 6 je elsewhere
			eb f2 # 12 jmp 0`, 0, 4, true},
		{"and another way", `
			48 83 c2 01 # 0 add rdx,1
			39 31 # 4 cmp [rcx],esi
			0f 84 f6 0f 00 00 # 6 je elsewhere
			75 f2 # 12 jne 0
			c3 # 14 ret`, 0, 4, false},
		{"a loop that the code ends with", `
			48 ff ca # 0 dec rdx
			75 fb # 3 jne 0`, 0, 3, true},
		{"a way around the loop", `
			48 85 d2 # 0 test rdx,rdx
			74 05 # 3 je 10
			48 ff ca # 5 dec rdx
			75 fb # 8 jne 5
			c3 # 10 ret`, 5, 8, true},
		{"a jump within the loop", `
			48 85 f6 # 0 test rsi,rsi
			74 03 # 3 je 8
			48 ff c1 # 5 inc rcx
			48 ff ca # 8 dec rdx
			75 f3 # 11 jne 0
			c3 # 13 ret`, 0, 8, true},
		{"unknown jumps", `
			53 # 0 push rbx
			48 ff ca # 1 dec rdx
			75 fb # 4 jne 1
			85 f6 # 6 test esi,esi
			74 02 # 8 je 12
			ff e2 # 10 jmp rdx
			5b # 12 pop rbx
			c3 # 13 ret`, 1, 4, false},
	} {
		f := function(t, arch.AMD64, c.code)
		if got := f.OneWayOut(base+c.a, base+c.b, nil); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestOneWayOutCalls: a loop may call some functions, and its code must be there.
func TestOneWayOutCalls(t *testing.T) {
	f := function(t, arch.AMD64, `
		e8 fb 0f 00 00 # 0 call elsewhere
		48 ff ca # 5 dec rdx
		75 f6 # 8 jne 0
		c3 # 10 ret`)
	for called, want := range map[uint64]bool{elsewhere: true, elsewhere + 1: false} {
		if got := f.OneWayOut(base, base+5, func(call *disasm.Inst) bool { return call.Target == called }); got != want {
			t.Errorf("only %#x may be called: %v", called, got)
		}
	}
	reread(f).gone = base + 5
	if f.OneWayOut(base, base+5, func(*disasm.Inst) bool { return true }) {
		t.Error("what cannot be read is no call")
	}
}

// TestOneWayOutReturns: a return under a condition leads out of a loop.
func TestOneWayOutReturns(t *testing.T) {
	for code, want := range map[string]bool{
		"01 10 51 e2 # subs r1,r1,1\nfd ff ff 1a # bne the subs\n1e ff 2f e1 # bx lr":                                                    true,
		"01 10 51 e2 # subs r1,r1,1\n1e ff 2f 01 # bxeq lr\nfc ff ff ea # b the subs":                                                    true,
		"01 10 51 e2 # subs r1,r1,1\n1e ff 2f 01 # bxeq lr\n01 20 52 e2 # subs r2,r2,1\nfb ff ff 1a # bne the subs\n1e ff 2f e1 # bx lr": false,
	} {
		if got := function(t, arch.ARM, code).OneWayOut(base, base, nil); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}
