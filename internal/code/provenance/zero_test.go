package provenance

import (
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
	} {
		f := function(t, arch.AMD64, c.code)
		v, _, size := f.Zero(base + c.at)
		got := ""
		if v != nil {
			got = text(f, v)
		}
		if got != c.want || size != c.size {
			t.Errorf("%s: %q of %d bytes, want %q of %d", c.name, got, size, c.want, c.size)
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
