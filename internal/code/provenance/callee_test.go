package provenance

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCallee keeps a value in a register that the convention allows to change, across a call of code that is
// seen: rsi is rdi before the call.
func TestCallee(t *testing.T) {
	const head = `
		48 89 fe # mov rsi,rdi
		e8 07 00 00 00 # call L
		48 89 f0 # mov rax,rsi
		c3 # ret
		90 # nop
		90 # nop
		90 # nop
		90 # nop`
	for _, c := range []struct {
		name, code string
		kept       bool
	}{
		{"returns", `
			c3 # ret`, true},
		{"changes another", `
			31 c0 # xor eax,eax
			c3 # ret`, true},
		{"changes it", `
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"changes it by a load", `
			ac # lodsb
			c3 # ret`, false},
		{"changes it on the path that falls through", `
			74 02 # je L
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"changes it on the path of the jump", `
			74 01 # je L
			c3 # ret
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"jumps over the change", `
			eb 02 # jmp L
			31 f6 # xor esi,esi
			c3 # ret`, true},
		{"jumps to the change", `
			eb 01 # jmp L
			c3 # ret
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"behind the return", `
			c3 # ret
			31 f6 # xor esi,esi
			c3 # ret`, true},
		{"a loop", `
			48 ff c9 # dec rcx
			75 fb # jne L
			c3 # ret`, true},
		{"calls code that leaves it alone", `
			e8 01 00 00 00 # call L
			c3 # ret
			c3 # ret`, true},
		{"calls code that changes it", `
			e8 01 00 00 00 # call L
			c3 # ret
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"changes it after a call", `
			e8 02 00 00 00 # call L
			31 f6 # xor esi,esi
			c3 # ret`, false},
		{"two calls deep", `
			e8 01 00 00 00 # call L
			c3 # ret
			e8 01 00 00 00 # call M
			c3 # ret
			c3 # ret`, true},
		{"three calls deep", `
			e8 01 00 00 00 # call L
			c3 # ret
			e8 01 00 00 00 # call M
			c3 # ret
			e8 01 00 00 00 # call N
			c3 # ret
			c3 # ret`, false},
		{"calls the same twice", `
			e8 06 00 00 00 # call L
			e8 01 00 00 00 # call L
			c3 # ret
			c3 # ret`, true},
		{"calls itself", `
			48 ff c9 # dec rcx
			74 05 # je M
			e8 f6 ff ff ff # call L
			c3 # ret`, false},
		{"calls what is not there", `
			e8 00 10 00 00 # call out
			c3 # ret`, false},
		{"an indirect call", `
			ff d3 # call rbx
			c3 # ret`, false},
		{"an indirect jump", `
			ff e3 # jmp rbx
			c3 # ret`, false},
		{"a far return", `
			cb # retf
			c3 # ret`, false},
		{"a system call", `
			0f 05 # syscall
			c3 # ret`, false},
		{"an interrupt", `
			cd 80 # int 0x80
			c3 # ret`, false},
		{"a breakpoint", `
			cc # int3
			c3 # ret`, false},
		{"another interrupt", `
			cd 21 # int 0x21
			c3 # ret`, false},
		{"undefined", `
			0f 0b # ud2
			c3 # ret`, false},
		{"privileged", `
			f4 # hlt
			c3 # ret`, false},
		{"runs out of the code", `
			90 # nop`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := "unknown"
			if c.kept {
				want = "rdi"
			}
			f := inside(t, arch.AMD64, head+"\n"+c.code, 12)
			if got := text(f, f.Before(base+11, Reg(arch.RAX))); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	for n, want := range map[int]string{maxCalleeOps - 1: "rdi", maxCalleeOps: "unknown"} { // and head's nop
		f := inside(t, arch.AMD64, head+"\n"+strings.Repeat("90 ", n-1)+"c3", 12)
		if got := text(f, f.Before(base+11, Reg(arch.RAX))); got != want {
			t.Errorf("%d instructions: %s, want %s", n+1, got, want)
		}
	}
}

// A reader is code that stops being readable, in whole or at one address. It counts the reads.
type reader struct {
	fakeCode
	reads map[uint64]int
	left  int    // -1 for no end
	gone  uint64 // 0 for nothing
}

func (r *reader) CodeAt(addr uint64) []byte {
	r.reads[addr]++
	if r.left == 0 || addr == r.gone {
		return nil
	}
	r.left--
	return r.fakeCode.CodeAt(addr)
}

// reread returns f by a reader of its code.
func reread(f *Func) *reader {
	r := &reader{f.code.(fakeCode), map[uint64]int{}, -1, 0}
	f.code = r
	return r
}

// TestCalleeOnce calls the same function twice: it is analysed once.
func TestCalleeOnce(t *testing.T) {
	f := inside(t, arch.AMD64, `
		48 89 fe # mov rsi,rdi
		e8 09 00 00 00 # call L
		e8 04 00 00 00 # call L
		48 89 f0 # mov rax,rsi
		c3 # ret
		c3 # L: ret`, 17)
	code := reread(f)
	if got := text(f, f.Before(base+16, Reg(arch.RAX))); got != "rdi" || code.reads[base+17] != 1 {
		t.Errorf("%s, read %d times", got, code.reads[base+17])
	}
}

// TestCalleeAtZero calls through a register: that is no call of the code at 0.
func TestCalleeAtZero(t *testing.T) {
	raw := function(t, arch.AMD64, `
		c3 # ret
		48 89 fe # mov rsi,rdi
		ff d3 # call rbx
		48 89 f0 # mov rax,rsi
		c3 # ret`).code.(fakeCode).code
	f := New(arch.AMD64, ABIOf(arch.AMD64, false), fakeCode{0, raw}, 1, 10)
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	if got := text(f, f.Before(9, Reg(arch.RAX))); got != "unknown" {
		t.Errorf("%s, want unknown", got)
	}
}

// inside is function for code that ends size bytes after its start: the rest belongs to others.
func inside(t *testing.T, a *arch.Arch, code string, size uint64) *Func {
	t.Helper()
	whole := function(t, a, code).code.(fakeCode)
	f := New(a, ABIOf(a, false), whole, base, base+size)
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	return f
}

// TestCallees calls more functions than are analysed.
func TestCallees(t *testing.T) {
	const extra = 1
	n := maxCallees + extra
	var code strings.Builder
	code.WriteString("48 89 fe\n")
	for i := range n { // call number i is at base+3+5*i, its target behind the return
		rel := binary.LittleEndian.AppendUint32(nil, uint32(5*(n-1-i)+4+i))
		fmt.Fprintf(&code, "e8 % x\n", rel)
	}
	code.WriteString("48 89 f0\nc3\n" + strings.Repeat("c3 ", n))
	end := uint64(base + 3 + 5*n)
	f := inside(t, arch.AMD64, code.String(), end-base+4)
	if got := text(f, f.Before(end, Reg(arch.RSI))); got != "unknown" {
		// the calls are analysed from the last one back: the first one is too many
		t.Errorf("after %d calls: %s, want unknown", n, got)
	}
	f = inside(t, arch.AMD64, code.String(), end-base+4)
	if got := text(f, f.Before(end-5, Reg(arch.RSI))); got != "rdi" {
		t.Errorf("after %d calls: %s, want rdi", maxCallees, got)
	}
}

// TestCalleeARM calls code with instructions under conditions.
func TestCalleeARM(t *testing.T) {
	const head = `
		10 40 2d e9 # push {r4,lr}
		01 30 a0 e1 # mov r3,r1
		01 00 00 eb # bl L
		03 00 a0 e1 # mov r0,r3
		10 80 bd e8 # pop {r4,pc}
		00 f0 20 e3 # nop`
	for _, c := range []struct {
		name, code string
		want       string
	}{
		{"returns", `
			1e ff 2f e1 # bx lr`, "r1"},
		{"returns under a condition", `
			1e ff 2f 01 # bxeq lr
			1e ff 2f e1 # bx lr`, "r1"},
		{"changes it behind a return under a condition", `
			1e ff 2f 01 # bxeq lr
			02 30 a0 e1 # mov r3,r2
			1e ff 2f e1 # bx lr`, "unknown"},
		{"jumps under a condition", `
			00 00 00 0a # beq L
			02 30 a0 e1 # mov r3,r2
			1e ff 2f e1 # bx lr`, "unknown"},
		{"changes it behind a jump under a condition", `
			00 00 00 0a # beq L
			1e ff 2f e1 # bx lr
			02 30 a0 e1 # mov r3,r2
			1e ff 2f e1 # bx lr`, "unknown"},
		{"switches to the other instruction set", `
			00 00 00 fa # blx L
			1e ff 2f e1 # bx lr
			1e ff 2f e1 # bx lr`, "unknown"},
	} {
		f := inside(t, arch.ARM, head+"\n"+c.code, 20)
		if got := text(f, f.Before(base+16, Reg(0))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestAsksForPC: a call that reads its return address is no call that leaves ebx as the caller had it.
func TestAsksForPC(t *testing.T) {
	const thunk, other = "8b 1c 24 # 10: mov ebx,[esp]\n", "8b 5c 24 04 # 10: mov ebx,[esp+4]\n"
	for _, c := range []struct {
		callee string
		reg    arch.Reg
		want   string
	}{
		{thunk + "c3", arch.EBX, "pc"},
		{thunk + "c3", arch.ESI, "entry"},
		{other + "c3", arch.EBX, "entry"},
		{thunk + "90\nc3", arch.EBX, "entry"},
		{thunk, arch.EBX, "entry"},
		{"66 8b 1c 24 # 10: mov bx,[esp]\nc3", arch.EBX, "entry"},
		{"8b 19 # 10: mov ebx,[ecx]\nc3", arch.EBX, "entry"},
		{"8b 1c 0c # 10: mov ebx,[esp+ecx]\nc3", arch.EBX, "entry"},
		{"03 1c 24 # 10: add ebx,[esp]\nc3", arch.EBX, "entry"},
		{"89 e3 # 10: mov ebx,esp\nc3", arch.EBX, "entry"},
		{"", arch.EBX, "entry"}, // code that is not there
	} {
		f := function(t, arch.X86, `
			e8 0b 00 00 00 # 0: call 10
			90 90 90 90 90 90 90 90 90 90 # 5
			c3 # f: ret
			`+c.callee)
		v, want := f.Before(base+5, Reg(c.reg)), "?"
		switch {
		case v.Kind == Const && v.K == base+5:
			want = "pc"
		case v.Kind == Entry && v.Reg == c.reg:
			want = "entry"
		}
		if want != c.want {
			t.Errorf("%s: %s of %s", c.callee, text(f, v), c.want)
		}
	}
}

// TestAsksForPCAtZero calls through a register: that is no call of the code at 0, though it reads its return address.
func TestAsksForPCAtZero(t *testing.T) {
	raw := function(t, arch.X86, `
		8b 1c 24 # mov ebx,[esp]
		c3 # ret
		ff d0 # call eax
		c3 # ret`).code.(fakeCode).code
	f := New(arch.X86, ABIOf(arch.X86, false), fakeCode{0, raw}, 4, 7)
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	if got := text(f, f.Before(6, Reg(arch.EBX))); got != "ebx" {
		t.Errorf("%s, want ebx", got)
	}
}
