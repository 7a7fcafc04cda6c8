package provenance

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestZero: what was compared with 0 on the only way to an instruction, or in one register on all ways.
func TestZero(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         uint64
		want       string
		size       int
	}{
		{"a jump that was taken", `
			48 85 ff # 0 test rdi,rdi
			74 01 # 3 je 6
			c3 # 5 ret
			c3 # 6 ret`, 6, "rdi", 8},
		{"one that was not", `
			48 85 ff # 0 test rdi,rdi
			75 01 # 3 jne 6
			90 # 5 nop
			c3 # 6 ret`, 5, "rdi", 8},
		{"the other way", `
			48 85 ff # 0 test rdi,rdi
			75 01 # 3 jne 6
			c3 # 5 ret
			c3 # 6 ret`, 6, "", 0},
		{"compared with 0", `
			83 fe 00 # 0 cmp esi,0
			75 01 # 3 jne 6
			90 # 5 nop
			c3 # 6 ret`, 5, "rsi", 4},
		{"compared with 1", `
			83 fe 01 # 0 cmp esi,1
			75 01 # 3 jne 6
			90 # 5 nop
			c3 # 6 ret`, 5, "", 0},
		{"0 or less", `
			48 85 ff # 0 test rdi,rdi
			7e 01 # 3 jle 6
			c3 # 5 ret
			c3 # 6 ret`, 6, "", 0},
		{"bits of it", `
			48 f7 c7 01 00 00 00 # 0 test rdi,1
			74 01 # 7 je 10
			c3 # 9 ret
			c3 # 10 ret`, 10, "", 0},
		{"further back", `
			48 85 ff # 0 test rdi,rdi
			75 05 # 3 jne 10
			39 f2 # 5 cmp edx,esi
			7f 01 # 7 jg 10
			90 # 9 nop
			c3 # 10 ret`, 9, "rdi", 8},
		{"two ways, one register", `
			48 8b 07 # 0 mov rax,[rdi]
			48 85 c0 # 3 test rax,rax
			74 09 # 6 je 17
			48 8b 40 08 # 8 mov rax,[rax+8]
			48 85 c0 # 12 test rax,rax
			75 01 # 15 jne 18
			90 # 17 nop
			c3 # 18 ret`, 17, "one of [[rdi+0]8+8]8 | [rdi+0]8", 8},
		{"two ways, two registers", `
			48 85 ff # 0 test rdi,rdi
			74 05 # 3 je 10
			48 85 f6 # 5 test rsi,rsi
			75 01 # 8 jne 11
			90 # 10 nop
			c3 # 11 ret`, 10, "", 0},
		{"one way without a comparison", `
			48 85 ff # 0 test rdi,rdi
			74 04 # 3 je 9
			39 f2 # 5 cmp edx,esi
			75 01 # 7 jne 10
			90 # 9 nop
			c3 # 10 ret`, 9, "", 0},
		{"the register changed on one way", `
			48 85 ff # 0 test rdi,rdi
			74 06 # 3 je 11
			48 85 ff # 5 test rdi,rdi
			48 89 d7 # 8 mov rdi,rdx
			90 # 11 nop
			c3 # 12 ret`, 11, "", 0},
		{"where the function begins", `
			48 85 ff # 0 test rdi,rdi
			74 fb # 3 je 0
			c3 # 5 ret`, 0, "", 0},
		{"where the function begins, and two ways lead back", `
			48 85 ff # 0 test rdi,rdi
			74 fb # 3 je 0
			48 85 ff # 5 test rdi,rdi
			74 f6 # 8 je 0
			c3 # 10 ret`, 0, "", 0},
		{"nothing before it", "90 # 0 nop\nc3 # 1 ret", 1, "", 0},
		{"unknown jumps", `
			53 # 0 push rbx
			48 85 ff # 1 test rdi,rdi
			74 02 # 4 je 8
			ff e2 # 6 jmp rdx
			5b # 8 pop rbx
			c3 # 9 ret`, 8, "", 0},
		{"no instruction", `
			48 85 ff # 0 test rdi,rdi
			74 01 # 3 je 6
			c3 # 5 ret
			48 89 c8 # 6 mov rax,rcx
			48 89 c8 # 9 mov rax,rcx
			c3 # 12 ret`, 8, "", 0},
		{"both ways lead there", `
			48 85 ff # 0 test rdi,rdi
			74 00 # 3 je 5
			c3 # 5 ret`, 5, "", 0},
		{"memory", `
			48 83 3f 00 # 0 cmp qword ptr [rdi],0
			74 01 # 4 je 7
			c3 # 6 ret
			c3 # 7 ret`, 7, "[rdi+0]8", 8},
		{"two ways, in memory", `
			48 83 3f 00 # 0 cmp qword ptr [rdi],0
			74 06 # 4 je 12
			48 83 3f 00 # 6 cmp qword ptr [rdi],0
			75 01 # 10 jne 13
			90 # 12 nop
			c3 # 13 ret`, 12, "", 0},
		{"two ways, one of half of the register", `
			48 85 ff # 0 test rdi,rdi
			74 04 # 3 je 9
			85 ff # 5 test edi,edi
			75 01 # 7 jne 10
			90 # 9 nop
			c3 # 10 ret`, 9, "", 0},
		{"two ways, one of them longer", `
			48 85 ff # 0 test rdi,rdi
			74 06 # 3 je 11
			48 85 ff # 5 test rdi,rdi
			75 02 # 8 jne 12
			90 # 10 nop
			90 # 11 nop
			c3 # 12 ret`, 11, "rdi", 8},
		{"two ways, the register changed on one", `
			48 85 ff # 0 test rdi,rdi
			74 08 # 3 je 13
			48 85 ff # 5 test rdi,rdi
			75 04 # 8 jne 14
			48 8b 3e # 10 mov rdi,[rsi]
			90 # 13 nop
			c3 # 14 ret`, 13, "", 0},
		{"two ways, of what is not known", `
			51 # 0 push rcx
			e8 00 10 00 00 # 1 call out
			59 # 6 pop rcx
			48 0f ce # 7 bswap rsi
			48 85 f6 # 10 test rsi,rsi
			74 05 # 13 je 20
			48 85 f6 # 15 test rsi,rsi
			75 01 # 18 jne 21
			90 # 20 nop
			c3 # 21 ret`, 20, "", 0},
	} {
		f := function(t, arch.AMD64, c.code)
		v, reg, size := f.Zero(base + c.at)
		got := ""
		if v != nil {
			got = text(f, v)
		}
		if c.name != "memory" && v != nil && v != f.Before(base+c.at, Reg(reg)) || (v == nil || c.name == "memory") && reg != arch.NoReg {
			t.Errorf("%s: in register %d", c.name, reg)
		}
		if got != c.want || size != c.size {
			t.Errorf("%s: %q of %d bytes, want %q of %d", c.name, got, size, c.want, c.size)
		}
	}
}

// TestZeroWays: as many ways as are looked at, one more, and more values than are told apart.
func TestZeroWays(t *testing.T) {
	for n, want := range map[int]bool{maxWays: true, maxWays + 1: false} {
		var code strings.Builder
		for i := range n { // test rdi,rdi; je to the nop
			fmt.Fprintf(&code, "48 85 ff 74 %02x\n", 5*(n-1-i)+1)
		}
		f := function(t, arch.AMD64, code.String()+"c3\n90\nc3")
		if v, _, _ := f.Zero(base + uint64(5*n) + 1); (v != nil) != want {
			t.Errorf("%d ways: %v", n, v)
		}
	}
	var code strings.Builder
	code.WriteString("48 89 f8\n") // mov rax,rdi
	for i := range maxJoins {      // test rsi,rsi; je to the end; mov rax,i
		rel := binary.LittleEndian.AppendUint32(nil, uint32(7+16*(maxJoins-1-i)))
		fmt.Fprintf(&code, "48 85 f6 0f 84 % x 48 c7 c0 % x\n", rel, binary.LittleEndian.AppendUint32(nil, uint32(i)))
	}
	code.WriteString("48 85 c0 74 06 # test rax,rax; je L\n48 85 c0 75 02 # test rax,rax; jne M\n90\n90 # L: nop\nc3 # M: ret")
	f := function(t, arch.AMD64, code.String())
	if v, _, _ := f.Zero(base + 3 + 16*maxJoins + 11); v != nil {
		t.Errorf("%d values, of which one is 0", len(v.alts))
	}
}

// TestZeroLost: code that can no longer be read compared nothing.
func TestZeroLost(t *testing.T) {
	const code = "48 85 ff # 0 test rdi,rdi\n74 01 # 3 je 6\nc3 # 5 ret\n90 # 6 nop\nc3 # 7 ret"
	for _, gone := range []uint64{0, 3} {
		f := function(t, arch.AMD64, code)
		reread(f).gone = base + gone
		if v, _, _ := f.Zero(base + 7); v != nil {
			t.Errorf("without the code at %d: %s", gone, text(f, v))
		}
	}
}

// TestBrought: what a register held when control came into a part of a function.
func TestBrought(t *testing.T) {
	const code = `
		48 8b 07 # 0 mov rax,[rdi]
		85 f6 # 3 test esi,esi
		74 03 # 5 je 10
		48 8b 3f # 7 mov rdi,[rdi]
		48 8b 4f 08 # 10 mov rcx,[rdi+8]
		e8 00 10 00 00 # 14 call
		48 8b 03 # 19 mov rax,[rbx]
		c3 # 22 ret`
	f := function(t, arch.AMD64, code)
	for _, c := range []struct {
		at, low, high uint64
		reg           arch.Reg
		want          bool
	}{
		{10, 10, 14, arch.RDI, true},
		{10, 7, 14, arch.RDI, false}, // one way writes it within
		{10, 3, 14, arch.RAX, true},
		{10, 0, 14, arch.RAX, false},
		{10, 10, 14, arch.NoReg, true},
		{7, 3, 14, arch.NoReg, true}, // a comparison and a jump
		{7, 0, 14, arch.NoReg, false},
		{19, 14, 22, arch.RBX, false}, // a call
		{19, 19, 22, arch.RBX, true},
		{0, 0, 14, arch.RDI, true}, // from the function's beginning
		{99, 0, 14, arch.RDI, false},
	} {
		if got := f.Brought(base+c.at, c.reg, func(addr uint64) bool { return addr-base >= c.low && addr-base < c.high }); got != c.want {
			t.Errorf("%d in [%d, %d), register %d: %v", c.at, c.low, c.high, c.reg, got)
		}
	}
}

// TestBroughtWays: what counts as computed in a part, and what control cannot be followed through.
func TestBroughtWays(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         uint64
		reg        arch.Reg
		want       bool
	}{
		{"another register written, by no memory", "48 89 c8 # 0 mov rax,rcx\nc3 # 3 ret", 3, arch.NoReg, false},
		{"memory read, no register written", "83 3f 00 # 0 cmp dword ptr [rdi],0\nc3 # 3 ret", 3, arch.NoReg, false},
		{"memory read, a register asked for", "83 3f 00 # 0 cmp dword ptr [rdi],0\nc3 # 3 ret", 3, arch.RDI, true},
		{"a loop", "48 ff c9 # 0 dec rcx\n75 fb # 3 jne 0\nc3 # 5 ret", 5, arch.RDI, true},
		{"far", strings.Repeat("90 # nop\n", maxGuards+2) + "c3 # ret", maxGuards + 2, arch.RDI, false},
		{"unknown jumps", `
			53 # 0 push rbx
			85 f6 # 1 test esi,esi
			74 02 # 3 je 7
			ff e2 # 5 jmp rdx
			5b # 7 pop rbx
			c3 # 8 ret`, 8, arch.RDI, false},
	} {
		f := function(t, arch.AMD64, c.code)
		if got := f.Brought(base+c.at, c.reg, func(uint64) bool { return true }); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	f := function(t, arch.AMD64, "90 # 0 nop\n90 # 1 nop\nc3 # 2 ret")
	reread(f).gone = base
	if f.Brought(base+2, arch.RDI, func(uint64) bool { return true }) {
		t.Error("what cannot be read writes nothing")
	}
	// No way is known to the code behind the return, but an exception may lead there.
	f = function(t, arch.AMD64, "53 # 0 push rbx\n5b # 1 pop rbx\nc3 # 2 ret\n48 89 d8 # 3 mov rax,rbx\n48 89 d8 # 6 mov rax,rbx\nc3 # 9 ret")
	if _, ok := f.Inst(base + 6); !ok || f.Brought(base+6, arch.RDI, func(uint64) bool { return true }) {
		t.Error("code to which no way is known, and where it begins is read:", ok)
	}
}

// TestZeroByBranch: branches of aarch64 that compare with zero themselves.
func TestZeroByBranch(t *testing.T) {
	for _, c := range []struct {
		name, code string
		at         uint64
		want       string
		size       int
	}{
		{"cbz", `
			41 00 00 b4 # 0 cbz x1,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, 8, "x1", 8},
		{"cbz, not taken", `
			41 00 00 b4 # 0 cbz x1,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, 4, "", 0},
		{"cbnz of a word, not taken", `
			42 00 00 35 # 0 cbnz w2,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, 4, "x2", 4},
		{"tbz", `
			41 00 00 36 # 0 tbz x1,0,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, 8, "", 0},
	} {
		f := function(t, arch.ARM64, c.code)
		v, reg, size := f.Zero(base + c.at)
		got := ""
		if v != nil {
			got = arch.ARM64.RegName(reg)
		}
		if got != c.want || size != c.size {
			t.Errorf("%s: %s, %d bytes, want %s, %d", c.name, got, size, c.want, c.size)
		}
	}
}

// TestNegative: what must have been below 0.
func TestNegative(t *testing.T) {
	for _, c := range []struct {
		name, code string
		arch       *arch.Arch
		at         uint64
		want       string
		size       int
	}{
		{"jl", `
			48 85 ff # 0 test rdi,rdi
			7c 01 # 3 jl 6
			c3 # 5 ret
			c3 # 6 ret`, arch.AMD64, 6, "rdi", 8},
		{"not jge, of a byte", `
			40 84 f6 # 0 test sil,sil
			7d 01 # 3 jge 6
			90 # 5 nop
			c3 # 6 ret`, arch.AMD64, 5, "rsi", 1},
		{"jle", `
			48 85 ff # 0 test rdi,rdi
			7e 01 # 3 jle 6
			c3 # 5 ret
			c3 # 6 ret`, arch.AMD64, 6, "", 0},
		{"not jl", `
			48 85 ff # 0 test rdi,rdi
			7c 01 # 3 jl 6
			90 # 5 nop
			c3 # 6 ret`, arch.AMD64, 5, "", 0},
		{"je", `
			48 85 ff # 0 test rdi,rdi
			74 01 # 3 je 6
			c3 # 5 ret
			c3 # 6 ret`, arch.AMD64, 6, "", 0},
		{"below 1", `
			48 83 ff 01 # 0 cmp rdi,1
			7c 01 # 4 jl 7
			c3 # 6 ret
			c3 # 7 ret`, arch.AMD64, 7, "", 0},
		{"tbnz", `
			41 00 f8 b7 # 0 tbnz x1,63,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, arch.ARM64, 8, "x1", 8},
		{"tbz, not taken", `
			42 00 f8 36 # 0 tbz w2,31,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, arch.ARM64, 4, "x2", 4},
		{"cbz", `
			41 00 00 b4 # 0 cbz x1,8
			c0 03 5f d6 # 4 ret
			c0 03 5f d6 # 8 ret`, arch.ARM64, 8, "", 0},
	} {
		f := function(t, c.arch, c.code)
		v, reg, size := f.Negative(base + c.at)
		got := ""
		if v != nil {
			got = c.arch.RegName(reg)
		}
		if got != c.want || size != c.size {
			t.Errorf("%s: %s, %d bytes, want %s, %d", c.name, got, size, c.want, c.size)
		}
	}
}
