package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestSteps: a register that steps on tells what it was before only where all of its bits did so, whatever the conditions, and no other register tells otherwise.
func TestSteps(t *testing.T) {
	regs := map[arch.Reg]uint64{arch.RDI: 0x5000, arch.RSI: 0x5000}
	evaluate(t, arch.AMD64, arch.RAX, regs, []evalCase{
		{"by 4 bytes", `
			48 89 f8 # mov rax,rdi
			83 c7 08 # add edi,8
			c3 # ret`, 0, false, false},
		{"by 2 bytes", `
			48 89 f8 # mov rax,rdi
			66 83 c7 08 # add di,8
			c3 # ret`, 0, false, false},
		{"by an address of 4 bytes", `
			48 89 f8 # mov rax,rdi
			67 48 8d 7f 08 # lea rdi,[edi+8]
			c3 # ret`, 0, false, false},
		{"either way", `
			48 89 f8 # mov rax,rdi
			48 ab # stosq
			c3 # ret`, 0, false, false},
		{"perhaps", `
			48 89 f8 # mov rax,rdi
			48 8d 57 08 # lea rdx,[rdi+8]
			48 0f 44 fa # cmove rdi,rdx
			c3 # ret`, 0, false, false},
		{"on one of two paths", `
			48 89 f8 # mov rax,rdi
			48 85 d2 # test rdx,rdx
			74 04 # je L
			48 83 c7 08 # add rdi,8
			c3 # L: ret`, 0, false, false},
		{"in a round before", `
			48 89 c8 # L: mov rax,rcx
			48 89 f9 # mov rcx,rdi
			48 83 c7 08 # add rdi,8
			75 f4 # jne L
			c3 # ret`, 0, false, false},
		{"in this round", `
			48 89 f8 # L: mov rax,rdi
			48 83 c7 08 # add rdi,8
			75 f7 # jne L
			c3 # ret`, 0x4ff8, true, true},
		{"from what is not known", `
			48 0f cf # bswap rdi
			48 89 f8 # mov rax,rdi
			48 83 c7 08 # add rdi,8
			c3 # ret`, 0, false, false},
		{"from where it was read", `
			48 89 d0 # mov rax,rdx
			48 8b 7a 08 # mov rdi,[rdx+8]
			48 83 c7 08 # add rdi,8
			c3 # ret`, 0, false, false},
		{"two disagree", `
			48 89 f8 # mov rax,rdi
			48 8d 77 08 # lea rsi,[rdi+8]
			48 8d 7f 10 # lea rdi,[rdi+16]
			c3 # ret`, 0, false, false},
		{"two disagree, and what they were before", `
			48 89 f8 # mov rax,rdi
			48 83 c7 08 # add rdi,8
			48 8d 77 08 # lea rsi,[rdi+8]
			48 8d 7f 10 # lea rdi,[rdi+16]
			c3 # ret`, 0, false, false},
		{"two agree", `
			48 89 f8 # mov rax,rdi
			48 8d 77 08 # lea rsi,[rdi+8]
			48 83 c7 08 # add rdi,8
			c3 # ret`, 0x4ff8, true, true},
		{"another register has it still", `
			48 89 f8 # mov rax,rdi
			48 89 fe # mov rsi,rdi
			48 83 c7 08 # add rdi,8
			c3 # ret`, 0x5000, true, true},
		{"as often as is looked at", "48 89 f8\n" + strings.Repeat("48 83 c7 08\n", maxEval) + "c3", 0x5000 - 8*maxEval, true, true},
		{"once more", "48 89 f8\n" + strings.Repeat("48 83 c7 08\n", maxEval+1) + "c3", 0, false, false},
	})
	evaluate(t, arch.ARM, 0, map[arch.Reg]uint64{1: 0x5000}, []evalCase{
		{"by a condition", `
			01 00 a0 e1 # mov r0,r1
			04 10 81 12 # addne r1,r1,4
			1e ff 2f e1 # bx lr`, 0, false, false},
		{"around the end of memory", `
			01 00 a0 e1 # mov r0,r1
			06 1a 81 e2 # add r1,r1,0x6000
			1e ff 2f e1 # bx lr`, 0xfffff000, true, true},
	})
	evaluate(t, arch.ARM64, 0, map[arch.Reg]uint64{1: 0x5000}, []evalCase{
		{"by half a register", `
			e0 03 01 aa # mov x0,x1
			21 20 00 11 # add w1,w1,8
			c0 03 5f d6 # ret`, 0, false, false},
		{"as one adds or not", `
			e0 03 01 aa # mov x0,x1
			21 14 81 9a # cinc x1,x1,ne
			c0 03 5f d6 # ret`, 0, false, false},
	})
	evaluate(t, arch.RISCV64, 10, map[arch.Reg]uint64{11: 0x5000}, []evalCase{
		{"by a half that is extended", `
			13 85 05 00 # mv a0,a1
			9b 85 85 00 # addiw a1,a1,8
			67 80 00 00 # ret`, 0, false, false},
	})
	evaluate(t, arch.X32, arch.RAX, regs, []evalCase{
		{"by half a register, which is a pointer", `
			48 89 f8 # mov rax,rdi
			83 c7 08 # add edi,8
			c3 # ret`, 0, false, false},
	})
}
