package dwarfvars

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/unwind/arch"
)

// TestCodeViewRegisters holds registers against their names, in the order of their
// numbers as cvconst.h has them. A part of a register is its name, where it begins in
// it and its size.
func TestCodeViewRegisters(t *testing.T) {
	for _, c := range []struct {
		arch  *arch.Arch
		first pdb.Register
		names string
	}{
		{arch.AMD64, 1, "rax+0:1 rcx+0:1 rdx+0:1 rbx+0:1 rax+1:1 rcx+1:1 rdx+1:1 rbx+1:1 rax+0:2 rcx+0:2 rdx+0:2 rbx+0:2 rsp+0:2 rbp+0:2 rsi+0:2 rdi+0:2 rax+0:4 rcx+0:4 rdx+0:4 rbx+0:4 rsp+0:4 rbp+0:4 rsi+0:4 rdi+0:4 ?"},
		{arch.AMD64, 154, "xmm0+0:16 xmm1+0:16 xmm2+0:16 xmm3+0:16 xmm4+0:16 xmm5+0:16 xmm6+0:16 xmm7+0:16 ?"},
		{arch.AMD64, 252, "xmm8+0:16 xmm9+0:16"},
		{arch.AMD64, 324, "rsi+0:1 rdi+0:1 rbp+0:1 rsp+0:1 rax+0:8 rbx+0:8 rcx+0:8 rdx+0:8 rsi+0:8 rdi+0:8 rbp+0:8 rsp+0:8 r8+0:8 r9+0:8 r10+0:8 r11+0:8 r12+0:8 r13+0:8 r14+0:8 r15+0:8 r8+0:1 r9+0:1"},
		{arch.AMD64, 352, "r8+0:2 r9+0:2"},
		{arch.AMD64, 360, "r8+0:4 r9+0:4"},
		{arch.X86, 1, "eax+0:1 ecx+0:1 edx+0:1 ebx+0:1 eax+1:1 ecx+1:1 edx+1:1 ebx+1:1 eax+0:2 ecx+0:2 edx+0:2 ebx+0:2 esp+0:2 ebp+0:2 esi+0:2 edi+0:2 eax+0:4 ecx+0:4 edx+0:4 ebx+0:4 esp+0:4 ebp+0:4 esi+0:4 edi+0:4 ?"},
		{arch.AMD64, 127, "? st0+0:10"}, {arch.AMD64, 135, "st7+0:10 ?"}, {arch.AMD64, 145, "? mm0+0:8"}, {arch.AMD64, 153, "mm7+0:8 xmm0+0:16"},
		{arch.AMD64, 251, "? xmm8+0:16"}, {arch.AMD64, 259, "xmm15+0:16 ?"}, {arch.AMD64, 351, "r15+0:1 r8+0:2"}, {arch.AMD64, 359, "r15+0:2 r8+0:4"},
		{arch.AMD64, 367, "r15+0:4 xmm0+0:32 xmm1+0:32"}, {arch.AMD64, 383, "xmm15+0:32 ?"},
		{arch.X86, 135, "st7+0:10 ?"}, {arch.X86, 145, "? mm0+0:8"}, {arch.X86, 153, "mm7+0:8 xmm0+0:16"}, {arch.X86, 161, "xmm7+0:16 ?"},
		{arch.ARM64, 9, "? x0+0:4"}, {arch.ARM64, 42, "?"}, {arch.ARM64, 49, "? x0+0:8"}, {arch.ARM64, 99, "? v0+0:4"}, {arch.ARM64, 131, "v31+0:4 ?"},
		{arch.ARM64, 171, "v31+0:8 ?"}, {arch.ARM64, 211, "v31+0:16 ?"},
		{arch.X86, 128, "st0+0:10 st1+0:10"},
		{arch.X86, 154, "xmm0+0:16 xmm1+0:16"},
		{arch.ARM64, 10, "x0+0:4 x1+0:4"},
		{arch.ARM64, 40, "x30+0:4 zero:8"},
		{arch.ARM64, 50, "x0+0:8 x1+0:8"},
		{arch.ARM64, 78, "x28+0:8 x29+0:8 x30+0:8 sp+0:8 zero:8 ?"},
		{arch.ARM64, 100, "v0+0:4"},
		{arch.ARM64, 141, "v1+0:8"},
		{arch.ARM64, 182, "v2+0:16"},
	} {
		r := &Reader{arch: c.arch, machine: machineOf(c.arch)}
		for i, want := range strings.Fields(c.names) {
			reg := c.first + pdb.Register(i)
			got := "?"
			if p, ok := r.codeview(reg); ok && p.zero {
				got = fmt.Sprint("zero:", p.size)
			} else if ok {
				got = fmt.Sprintf("%s+%d:%d", r.regName(p.reg), p.off, p.size)
			}
			if got != want {
				t.Errorf("%s %d: %s, want %s", c.arch.Name, reg, got, want)
			}
		}
	}
}
