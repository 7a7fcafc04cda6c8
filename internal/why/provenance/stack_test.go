package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// A traceCase is code, and what a register is before its last instruction.
type traceCase struct{ name, code, want string }

func trace(t *testing.T, a *arch.Arch, r arch.Reg, cases []traceCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, a, c.code)
			last := f.steps[len(f.steps)-1].Addr
			if got := text(f, f.Before(last, Reg(r)), 0); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestStackAMD64 reads words of the frame that were stored, overlapped, or may have been written to.
func TestStackAMD64(t *testing.T) {
	trace(t, arch.AMD64, arch.RAX, []traceCase{
		{"an instruction pushes memory", `
			ff 37 # push qword ptr [rdi]
			58 # pop rax
			c3 # ret`, "slot([rdi+0]8)"},
		{"pushes memory of the frame", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			ff 74 24 f8 # push qword ptr [rsp-8]
			58 # pop rax
			c3 # ret`, "slot(slot(rsi))"},
		{"part of pushed memory", `
			ff 37 # push qword ptr [rdi]
			8b 04 24 # mov eax,[rsp]
			59 # pop rcx
			c3 # ret`, "slot(unknown)"},
		{"the upper part of pushed memory", `
			ff 37 # push qword ptr [rdi]
			8b 44 24 04 # mov eax,[rsp+4]
			59 # pop rcx
			c3 # ret`, "slot(unknown)"},
		{"pushes a number", `
			6a 05 # push 5
			58 # pop rax
			c3 # ret`, "slot(5)"},
		{"pushes a long number", `
			68 34 12 00 00 # push 0x1234
			58 # pop rax
			c3 # ret`, "slot(4660)"},
		{"part of a pushed number", `
			6a 05 # push 5
			8b 04 24 # mov eax,[rsp]
			59 # pop rcx
			c3 # ret`, "slot(unknown)"},
		{"pushes the flags", `
			9c # pushfq
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"pushes the stack pointer", `
			54 # push rsp
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"a number of four bytes", `
			c7 44 24 f8 05 00 00 00 # mov dword ptr [rsp-8],5
			8b 44 24 f8 # mov eax,[rsp-8]
			c3 # ret`, "slot(5)"},
		{"upper half of a number", `
			48 c7 44 24 f8 05 00 00 00 # mov qword ptr [rsp-8],5
			8b 44 24 fc # mov eax,[rsp-4]
			c3 # ret`, "slot(unknown)"},
		{"lower half of a number", `
			48 c7 44 24 f8 05 00 00 00 # mov qword ptr [rsp-8],5
			8b 44 24 f8 # mov eax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"a byte in it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			c6 44 24 fb 05 # mov byte ptr [rsp-5],5
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"its first byte", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			c6 44 24 f8 05 # mov byte ptr [rsp-8],5
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"its last byte", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			c6 44 24 ff 05 # mov byte ptr [rsp-1],5
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"the byte before it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			c6 44 24 f7 05 # mov byte ptr [rsp-9],5
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"the byte after it", `
			48 89 74 24 f0 # mov [rsp-16],rsi
			c6 44 24 f8 05 # mov byte ptr [rsp-8],5
			48 8b 44 24 f0 # mov rax,[rsp-16]
			c3 # ret`, "slot(rsi)"},
		{"seven bytes before it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 7c 24 f1 # mov [rsp-15],rdi
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"eight bytes before it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 7c 24 f0 # mov [rsp-16],rdi
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"seven bytes after it", `
			48 89 74 24 f0 # mov [rsp-16],rsi
			48 89 7c 24 f7 # mov [rsp-9],rdi
			48 8b 44 24 f0 # mov rax,[rsp-16]
			c3 # ret`, "slot(unknown)"},
		{"eight bytes after it", `
			48 89 74 24 f0 # mov [rsp-16],rsi
			48 89 7c 24 f8 # mov [rsp-8],rdi
			48 8b 44 24 f0 # mov rax,[rsp-16]
			c3 # ret`, "slot(rsi)"},
		{"changed in place", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 ff 44 24 f8 # inc qword ptr [rsp-8]
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"only compared", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 83 7c 24 f8 05 # cmp qword ptr [rsp-8],5
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"a store of no known size below it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			0f ae 84 24 f8 fd ff ff # fxsave [rsp-520]
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"a store by another register", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 17 # mov [rdi],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"a store to thread-local memory", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			64 48 89 54 24 f8 # mov fs:[rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"a store to a fixed address", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 15 08 00 00 00 # mov [rip+8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"a bit of it", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 0f ab 54 24 f8 # bts [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"an indexed store", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 54 fc c0 # mov [rsp+rdi*8-64],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"an indexed store by another register", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 54 fa c0 # mov [rdx+rdi*8-64],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"an indexed store by a frame pointer not of the function", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 54 fd c0 # mov [rbp+rdi*8-64],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"by a frame pointer not of the function", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 55 f8 # mov [rbp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"by a frame pointer not of the function, its address taken", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 8d 4c 24 f8 # lea rcx,[rsp-8]
			48 89 55 f8 # mov [rbp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"by an unknown stack pointer", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 fc # mov rsp,rdi
			48 89 54 24 10 # mov [rsp+16],rdx
			48 8b 03 # mov rax,[rbx]
			c3 # ret`, "[rbx+0]8"},
		{"its address taken, another is written", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 8d 4c 24 f8 # lea rcx,[rsp-8]
			48 89 17 # mov [rdi],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"the address after it taken", `
			48 89 74 24 f0 # mov [rsp-16],rsi
			48 8d 4c 24 f8 # lea rcx,[rsp-8]
			48 89 17 # mov [rdi],rdx
			48 8b 44 24 f0 # mov rax,[rsp-16]
			c3 # ret`, "slot(rsi)"},
		{"the address of its last byte taken", `
			48 89 74 24 f0 # mov [rsp-16],rsi
			48 8d 4c 24 f7 # lea rcx,[rsp-9]
			48 89 17 # mov [rdi],rdx
			48 8b 44 24 f0 # mov rax,[rsp-16]
			c3 # ret`, "slot(unknown)"},
		{"its address taken as an index", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 8d 0c 2f # lea rcx,[rdi+rbp]
			48 89 17 # mov [rdi],rdx
			5d # pop rbp
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"its address taken, nothing written", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 8d 4c 24 f8 # lea rcx,[rsp-8]
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"its address taken, a system call", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 8d 4c 24 f8 # lea rcx,[rsp-8]
			0f 05 # syscall
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(unknown)"},
		{"a system call", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			0f 05 # syscall
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"its address pushed", `
			56 # push rsi
			54 # push rsp
			e8 00 10 00 00 # call out
			59 # pop rcx
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"its address stored", `
			56 # push rsi
			48 89 27 # mov [rdi],rsp
			e8 00 10 00 00 # call out
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"its address copied", `
			56 # push rsi
			48 89 e2 # mov rdx,rsp
			e8 00 10 00 00 # call out
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"the frame pointer copied", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			56 # push rsi
			48 89 ef # mov rdi,rbp
			e8 00 10 00 00 # call out
			58 # pop rax
			5d # pop rbp
			c3 # ret`, "slot(rsi)"},
		{"below the frame pointer's copy", `
			56 # push rsi
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 89 ef # mov rdi,rbp
			e8 00 10 00 00 # call out
			5d # pop rbp
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"a frame pointer not of the function copied", `
			56 # push rsi
			48 89 ef # mov rdi,rbp
			e8 00 10 00 00 # call out
			58 # pop rax
			c3 # ret`, "slot(rsi)"},
		{"its address by addition", `
			56 # push rsi
			48 01 e7 # add rdi,rsp
			e8 00 10 00 00 # call out
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"its address compared", `
			56 # push rsi
			48 39 fc # cmp rsp,rdi
			e8 00 10 00 00 # call out
			58 # pop rax
			c3 # ret`, "slot(rsi)"},
		{"the stack pointer moved by lea", `
			56 # push rsi
			48 8d 64 24 f8 # lea rsp,[rsp-8]
			e8 00 10 00 00 # call out
			48 8d 64 24 08 # lea rsp,[rsp+8]
			58 # pop rax
			c3 # ret`, "slot(rsi)"},
		{"the stack pointer moved by a register", `
			56 # push rsi
			48 29 fc # sub rsp,rdi
			e8 00 10 00 00 # call out
			48 8b 04 24 # mov rax,[rsp]
			c3 # ret`, "unknown"},
		{"an indirect call, its address taken", `
			56 # push rsi
			48 89 e7 # mov rdi,rsp
			ff d3 # call rbx
			58 # pop rax
			c3 # ret`, "slot(unknown)"},
		{"an indirect call", `
			56 # push rsi
			ff d3 # call rbx
			58 # pop rax
			c3 # ret`, "slot(rsi)"},
		{"by enter and leave", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 83 ec 10 # sub rsp,16
			48 89 75 f0 # mov [rbp-16],rsi
			48 8b 45 f0 # mov rax,[rbp-16]
			c9 # leave
			c3 # ret`, "slot(rsi)"},
		{"the frame pointer after leave", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 83 ec 10 # sub rsp,16
			c9 # leave
			48 89 e8 # mov rax,rbp
			c3 # ret`, "slot(rbp)"},
		{"the address of a variable", `
			48 8d 44 24 e8 # lea rax,[rsp-24]
			c3 # ret`, "&stack-32"},
		{"the stack pointer", `
			48 89 e0 # mov rax,rsp
			c3 # ret`, "&stack-8"},
		{"the frame pointer", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 89 e8 # mov rax,rbp
			5d # pop rbp
			c3 # ret`, "&stack-16"},
		{"the address by the frame pointer", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 8d 45 f8 # lea rax,[rbp-8]
			5d # pop rbp
			c3 # ret`, "&stack-24"},
		{"an indexed address of the frame", `
			48 8d 04 fc # lea rax,[rsp+rdi*8]
			c3 # ret`, "unknown"},
		{"an address by a frame pointer not of the function", `
			48 8d 44 fd 04 # lea rax,[rbp+rdi*8+4]
			c3 # ret`, "(rbp+rdi*8+4)"},
		{"the address of its last byte copied", `
			48 89 74 24 f9 # mov [rsp-7],rsi
			48 89 e2 # mov rdx,rsp
			48 89 0f # mov [rdi],rcx
			48 8b 44 24 f9 # mov rax,[rsp-7]
			c3 # ret`, "slot(unknown)"},
		{"the address behind it copied", `
			48 89 74 24 f8 # mov [rsp-8],rsi
			48 89 e2 # mov rdx,rsp
			48 89 0f # mov [rdi],rcx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, "slot(rsi)"},
		{"the address of its last byte stored", `
			48 89 74 24 f9 # mov [rsp-7],rsi
			48 89 27 # mov [rdi],rsp
			48 89 0f # mov [rdi],rcx
			48 8b 44 24 f9 # mov rax,[rsp-7]
			c3 # ret`, "slot(unknown)"},
		{"the address of its last byte added", `
			48 89 74 24 f9 # mov [rsp-7],rsi
			48 01 e2 # add rdx,rsp
			48 89 0f # mov [rdi],rcx
			48 8b 44 24 f9 # mov rax,[rsp-7]
			c3 # ret`, "slot(unknown)"},
		{"the address of its last byte as an index", `
			55 # push rbp
			48 89 e5 # mov rbp,rsp
			48 89 75 f9 # mov [rbp-7],rsi
			48 8d 0c 2f # lea rcx,[rdi+rbp]
			48 89 17 # mov [rdi],rdx
			48 8b 45 f9 # mov rax,[rbp-7]
			5d # pop rbp
			c3 # ret`, "slot(unknown)"},
		{"the caller's argument", `
			53 # push rbx
			48 8b 44 24 18 # mov rax,[rsp+24]
			5b # pop rbx
			c3 # ret`, "slot(stack+8)"},
	})
}

// TestObject tells apart variables of the frame: an address of one does not open another.
func TestObject(t *testing.T) {
	const escape = `
		56 # push rsi
		57 # push rdi
		48 8d 04 24 # lea rax,[rsp]
		e8 00 10 00 00 # call out
		48 8b 44 24 08 # mov rax,[rsp+8]
		c3 # ret` // rsi at -16, its neighbour at -24
	const index = `
		56 # push rsi
		48 89 54 fc 80 # mov [rsp+rdi*8-128],rdx
		48 8b 04 24 # mov rax,[rsp]
		c3 # ret` // from -144 on
	for _, c := range []struct {
		name      string
		code      string
		low, high int64
		want      string
	}{
		{"a neighbour", escape, -24, -16, "slot(rsi)"},
		{"one byte of it", escape, -24, -15, "slot(unknown)"},
		{"ends above it, begins in it", escape, -9, 0, "slot(unknown)"},
		{"begins behind it", escape, -8, 0, "slot(rsi)"},
		{"around it", escape, -32, 0, "slot(unknown)"},
		{"an array far below", index, -144, -80, "slot(rsi)"},
		{"an array near", index, -144, -79, "slot(unknown)"},
		{"an array far above", index, 56, 100, "slot(rsi)"},
		{"an array near above", index, 55, 100, "slot(unknown)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			var asked []int64
			f.Object = func(off int64) (int64, int64, bool) {
				asked = append(asked, off)
				return c.low, c.high, true
			}
			last := f.steps[len(f.steps)-1].Addr
			if got := text(f, f.Before(last, Reg(arch.RAX)), 0); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			want := int64(-24)
			if c.code == index {
				want = -144
			}
			if len(asked) != 1 || asked[0] != want {
				t.Errorf("asked for the objects at %d, want %d once", asked, want)
			}
		})
	}
	for code, want := range map[string]string{
		escape: "slot(unknown)", // the address of what is not known to be a variable may reach all above it
		index:  "slot(unknown)",
		`
			56 # push rsi
			48 8d 44 24 08 # lea rax,[rsp+8]
			e8 00 10 00 00 # call out
			48 8b 04 24 # mov rax,[rsp]
			c3 # ret`: "slot(rsi)",
		`
			48 81 ec c8 00 00 00 # sub rsp,200
			48 89 34 24 # mov [rsp],rsi
			48 89 54 fc 80 # mov [rsp+rdi*8-128],rdx
			48 8b 04 24 # mov rax,[rsp]
			48 81 c4 c8 00 00 00 # add rsp,200
			c3 # ret`: "slot(unknown)",
	} {
		f := function(t, arch.AMD64, code)
		f.Object = func(int64) (int64, int64, bool) { return 0, 0, false }
		last := f.steps[len(f.steps)-1].Addr
		if got := text(f, f.Before(last, Reg(arch.RAX)), 0); got != want {
			t.Errorf("no variable is known: %s, want %s", got, want)
		}
	}
}

func TestStackARM64(t *testing.T) {
	trace(t, arch.ARM64, arch.ARM64X0, []traceCase{
		{"the first of a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e0 03 40 f9 # ldr x0,[sp]
			ff 43 00 91 # add sp,sp,16
			c0 03 5f d6 # ret`, "slot(x1)"},
		{"the second of a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e0 07 40 f9 # ldr x0,[sp,8]
			ff 43 00 91 # add sp,sp,16
			c0 03 5f d6 # ret`, "slot(x2)"},
		{"across a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e0 43 40 f8 # ldur x0,[sp,4]
			ff 43 00 91 # add sp,sp,16
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"half of a register of a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e0 0b 40 b9 # ldr w0,[sp,8]
			ff 43 00 91 # add sp,sp,16
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"a pair of the same", `
			e1 07 bf a9 # stp x1,x1,[sp,-16]!
			e0 07 40 f9 # ldr x0,[sp,8]
			ff 43 00 91 # add sp,sp,16
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"loaded as the first of a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e0 0f c1 a8 # ldp x0,x3,[sp],16
			c0 03 5f d6 # ret`, "slot(x1)"},
		{"loaded as the second of a pair", `
			e1 0b bf a9 # stp x1,x2,[sp,-16]!
			e3 03 c1 a8 # ldp x3,x0,[sp],16
			c0 03 5f d6 # ret`, "slot(x2)"},
		{"loaded as the first of a pair from elsewhere", `
			20 0c 41 a9 # ldp x0,x3,[x1,16]
			c0 03 5f d6 # ret`, "[x1+16]8"},
		{"loaded as the second of a pair from elsewhere", `
			23 00 41 a9 # ldp x3,x0,[x1,16]
			c0 03 5f d6 # ret`, "[x1+24]8"},
		{"loaded as the second of a short pair", `
			23 00 42 29 # ldp w3,w0,[x1,16]
			c0 03 5f d6 # ret`, "[x1+20]4"},
		{"a base that a load updates", `
			01 84 40 f8 # ldr x1,[x0],8
			c0 03 5f d6 # ret`, "unknown"},
		{"a base that a pair updates", `
			01 08 c1 a8 # ldp x1,x2,[x0],16
			c0 03 5f d6 # ret`, "unknown"},
		{"a short word", `
			e1 0f 1f b8 # str w1,[sp,-16]!
			e0 07 41 b8 # ldr w0,[sp],16
			c0 03 5f d6 # ret`, "slot(x1)"},
		{"zero stored", `
			ff 0f 1f f8 # str xzr,[sp,-16]!
			e0 07 41 f8 # ldr x0,[sp],16
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"a vector stored", `
			e1 0f 9f 3c # str q1,[sp,-16]!
			e0 07 41 f8 # ldr x0,[sp],16
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"an index", `
			20 78 62 f8 # ldr x0,[x1,x2,lsl 3]
			c0 03 5f d6 # ret`, "[x1+x2*8+0]8"},
		{"an index of 32 bits", `
			20 d8 62 f8 # ldr x0,[x1,w2,sxtw 3]
			c0 03 5f d6 # ret`, "unknown"},
		{"a literal", `
			40 00 00 58 # ldr x0,L
			c0 03 5f d6 # ret
			1f 20 03 d5 # nop
			1f 20 03 d5 # nop`, "[4104]8"},
		{"a byte", `
			20 00 40 39 # ldrb w0,[x1]
			c0 03 5f d6 # ret`, "unknown"},
		{"a sum", `
			20 00 02 8b # add x0,x1,x2
			c0 03 5f d6 # ret`, "(x1+x2*1+0)"},
		{"a short sum", `
			20 00 02 0b # add w0,w1,w2
			c0 03 5f d6 # ret`, "unknown"},
		{"a sum with a number", `
			20 60 00 91 # add x0,x1,24
			c0 03 5f d6 # ret`, "(x1+24)"},
		{"a difference", `
			20 60 00 d1 # sub x0,x1,24
			c0 03 5f d6 # ret`, "(x1+-24)"},
		{"a short copy", `
			e0 03 01 2a # mov w0,w1
			c0 03 5f d6 # ret`, "low4(x1)"},
		{"a number", `
			a0 09 80 d2 # mov x0,77
			c0 03 5f d6 # ret`, "77"},
		{"a negative number", `
			20 00 80 92 # mov x0,-2
			c0 03 5f d6 # ret`, "-2"},
		{"a short negative number", `
			20 00 80 12 # mov w0,-2
			c0 03 5f d6 # ret`, "4294967294"},
		{"the link register", `
			e0 03 1e aa # mov x0,x30
			c0 03 5f d6 # ret`, "x30"},
		{"the stack pointer", `
			e0 03 00 91 # mov x0,sp
			c0 03 5f d6 # ret`, "&stack+0"},
		{"an address", `
			ff 83 00 d1 # sub sp,sp,32
			e0 23 00 91 # add x0,sp,8
			ff 83 00 91 # add sp,sp,32
			c0 03 5f d6 # ret`, "&stack-24"},
		{"a result", `
			fd 7b bf a9 # stp x29,x30,[sp,-16]!
			00 04 00 94 # bl out
			fd 7b c1 a8 # ldp x29,x30,[sp],16
			c0 03 5f d6 # ret`, "result@0x1004"},
		{"an address escapes", `
			fd 7b be a9 # stp x29,x30,[sp,-32]!
			e1 0b 00 f9 # str x1,[sp,16]
			e0 43 00 91 # add x0,sp,16
			00 04 00 94 # bl out
			e0 0b 40 f9 # ldr x0,[sp,16]
			fd 7b c2 a8 # ldp x29,x30,[sp],32
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"no address escapes", `
			fd 7b be a9 # stp x29,x30,[sp,-32]!
			e1 0b 00 f9 # str x1,[sp,16]
			00 04 00 94 # bl out
			e0 0b 40 f9 # ldr x0,[sp,16]
			fd 7b c2 a8 # ldp x29,x30,[sp],32
			c0 03 5f d6 # ret`, "slot(x1)"},
		{"the frame pointer is the second of a stored pair", `
			fd 7b be a9 # stp x29,x30,[sp,-32]!
			fd 03 00 91 # mov x29,sp
			e1 0b 00 f9 # str x1,[sp,16]
			62 74 00 a9 # stp x2,x29,[x3]
			00 04 00 94 # bl out
			e0 0b 40 f9 # ldr x0,[sp,16]
			fd 7b c2 a8 # ldp x29,x30,[sp],32
			c0 03 5f d6 # ret`, "slot(unknown)"},
		{"the second register stored is the stack pointer's copy", `
			e9 03 00 91 # mov x9,sp
			e1 0f 1f f8 # str x1,[sp,-16]!
			62 24 00 a9 # stp x2,x9,[x3]
			00 04 00 94 # bl out
			e0 07 41 f8 # ldr x0,[sp],16
			c0 03 5f d6 # ret`, "slot(x1)"},
	})
}
