package provenance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// formText describes, with ~ for a value that may have changed, the form of the memory operand of the last instruction but one, or of the last of a kind that has one.
func formText(f *Func, s *State) string {
	var in disasm.Inst
	for i := range f.steps {
		if got, _ := f.Inst(f.steps[i].Addr); got.Mem() != nil && got.Kind != disasm.Ret {
			in = got
		}
	}
	m := in.Mem()
	form, ok := f.Evaluator(s).Form(in.PC, m.Base, m.Index, m.Scale, m.Disp)
	if !ok {
		return "none"
	}
	parts := []string{fmt.Sprint(form.K)}
	for _, t := range form.Terms {
		v := "?"
		if t.Known {
			v = fmt.Sprint(int64(t.Value))
			if !t.Exact {
				v += "~"
			}
		}
		if t.Steps {
			v += " steps"
		}
		parts = append(parts, fmt.Sprintf("%d*%s=%s", t.Times, text(f, t.Of), v))
	}
	return strings.Join(parts, " ")
}

func TestForm(t *testing.T) {
	for _, c := range []struct {
		name, code, want string
		regs             map[arch.Reg]uint64
	}{
		{"a difference in the index", `
			48 01 f6 # add rsi,rsi
			48 29 f7 # sub rdi,rsi
			48 8b 04 f8 # mov rax,[rax+rdi*8]
			c3 # ret`, "0 1*rax=? 8*rdi=7 -16*rsi=3", map[arch.Reg]uint64{arch.RSI: 6, arch.RDI: 1}},
		{"times a constant, added twice", `
			48 6b cf 18 # imul rcx,rdi,24
			48 01 f1 # add rcx,rsi
			48 8b 44 39 08 # mov rax,[rcx+rdi+8]
			c3 # ret`, "8 25*rdi=2 1*rsi=?", map[arch.Reg]uint64{arch.RDI: 2}},
		{"what is not known is computed from the sum", `
			48 6b ff 18 # imul rdi,rdi,24
			48 8b 04 3e # mov rax,[rsi+rdi]
			c3 # ret`, "0 1*rsi=4096 24*rdi=-3", map[arch.Reg]uint64{arch.RSI: 4096, arch.RDI: ^uint64(71)}},
		{"not a multiple", `
			48 6b ff 18 # imul rdi,rdi,24
			48 8b 04 3e # mov rax,[rsi+rdi]
			c3 # ret`, "0 1*rsi=4096 24*rdi=?", map[arch.Reg]uint64{arch.RSI: 4096, arch.RDI: 71}},
		{"a product too large to be an index", `
			48 c1 e7 04 # shl rdi,4
			48 8b 04 3e # mov rax,[rsi+rdi]
			c3 # ret`, "0 1*rsi=? 16*rdi=?", map[arch.Reg]uint64{arch.RDI: 1 << 62}},
		{"of 4 bytes, extended by the sign", `
			8d 47 ff # lea eax,[rdi-1]
			89 f9 # mov ecx,edi
			83 e9 01 # sub ecx,1
			48 63 c9 # movsxd rcx,ecx
			48 8b 04 ce # mov rax,[rsi+rcx*8]
			c3 # ret`, "-8 1*rsi=? 8*low4(rdi)=-5", map[arch.Reg]uint64{arch.RDI: 0xfffffffb}},
		{"of 4 bytes that overflowed", `
			89 f9 # mov ecx,edi
			83 c1 02 # add ecx,2
			89 c9 # mov ecx,ecx
			48 8b 04 ce # mov rax,[rsi+rcx*8]
			c3 # ret`, "0 1*rsi=? 8*low4(4 bytes of op1 low4(rdi) 2)=1", map[arch.Reg]uint64{arch.RDI: 0xffffffff}},
		{"read twice from the frame", `
			48 89 7c 24 f0 # mov [rsp-16],rdi
			48 8b 4c 24 f0 # mov rcx,[rsp-16]
			48 8b 54 24 f0 # mov rdx,[rsp-16]
			48 8b 04 ca # mov rax,[rdx+rcx*8]
			c3 # ret`, "0 9*slot(rdi)=36840", nil},
		{"read from the frame, and again what was stored since", `
			48 89 7c 24 f0 # mov [rsp-16],rdi
			48 8b 4c 24 f0 # mov rcx,[rsp-16]
			48 89 74 24 f0 # mov [rsp-16],rsi
			48 8b 54 24 f0 # mov rdx,[rsp-16]
			48 8b 04 ca # mov rax,[rdx+rcx*8]
			c3 # ret`, "0 1*slot(rsi)=36840 8*slot(rdi)=?", nil},
		{"added to in each round of a loop", `
			48 8d 4f 20 # lea rcx,[rdi+32]
			48 83 c1 18 # L: add rcx,24
			48 85 f6 # test rsi,rsi
			75 f7 # jne L
			48 8b 01 # mov rax,[rcx]
			c3 # ret`, "56 1*rdi=4096 24*one of (again+24) | (rdi+32)=2 steps", map[arch.Reg]uint64{arch.RDI: 4096, arch.RCX: 4096 + 56 + 48}},
		{"once, after it was subtracted", `
			48 6b cf 02 # imul rcx,rdi,2
			48 29 f9 # sub rcx,rdi
			48 8b 04 0e # mov rax,[rsi+rcx]
			c3 # ret`, "0 1*rsi=? 1*rdi=?", nil},
		{"the difference is known, its parts are not", `
			48 89 f9 # mov rcx,rdi
			48 29 f1 # sub rcx,rsi
			48 8b 04 ca # mov rax,[rdx+rcx*8]
			c3 # ret`, "0 1*rdx=? 8*8 bytes of op2 rdi rsi=5", map[arch.Reg]uint64{arch.RCX: 5}},
		{"neither the difference nor its parts are known", `
			48 89 f9 # mov rcx,rdi
			48 29 f1 # sub rcx,rsi
			48 8b 04 ca # mov rax,[rdx+rcx*8]
			c3 # ret`, "0 1*rdx=? 8*rdi=? -8*rsi=?", nil},
		{"an array of the frame", `
			48 8b 44 fc f0 # mov rax,[rsp+rdi*8-16]
			c3 # ret`, "-16 1*&stack-8=32760 8*rdi=?", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			if got := formText(f, frame(f, c.regs)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// chain is code of n sums, each of the one before it: rcx is rdi+8*n.
func chain(n int) string { return "48 89 f9\n" + strings.Repeat("48 8d 49 08\n", n) }

// TestFormParts: the parts of each operation, by what the instructions compute.
func TestFormParts(t *testing.T) {
	const (
		byRCX   = "48 8b 04 ce # mov rax,[rsi+rcx*8]\nc3"
		atRCX   = "48 8b 01 # mov rax,[rcx]\nc3"
		callOut = "e8 00 10 00 00 # call out\n"
	)
	deep := strings.Repeat("(", 16) + "rdi" + strings.Repeat("+8)", 16)
	cuts := strings.Repeat("low4(", 16) + "rdi" + strings.Repeat(")", 16)
	six := "48 89 f8 # mov rax,rdi\n48 01 f0 # add rax,rsi\n48 01 d0 # add rax,rdx\n48 01 c8 # add rax,rcx\n4c 01 c0 # add rax,r8\n4c 01 c8 # add rax,r9\n"
	double := chain(0) + strings.Repeat("48 01 c9 # add rcx,rcx\n", 5) // 63 parts
	type values = map[arch.Reg]uint64
	for _, c := range []struct {
		name, code, want string
		regs             values
	}{
		{"a constant", "48 c7 c1 40 00 00 00 # mov rcx,0x40\n48 8b 44 ce 01 # mov rax,[rsi+rcx*8+1]\nc3", "513 1*rsi=?", nil},
		{"no base", "48 8b 04 fd 10 00 00 00 # mov rax,[rdi*8+16]\nc3", "16 8*rdi=7", values{arch.RDI: 7}},
		{"a sum without a base", "48 8d 0c fd 10 00 00 00 # lea rcx,[rdi*8+16]\n48 8b 04 4e # mov rax,[rsi+rcx*2]\nc3", "32 1*rsi=? 16*rdi=7", values{arch.RDI: 7}},
		{"less a sum", "48 8d 4f 10 # lea rcx,[rdi+16]\n49 89 f0 # mov r8,rsi\n49 29 c8 # sub r8,rcx\n49 8b 00 # mov rax,[r8]\nc3", "-16 1*rsi=? -1*rdi=?", nil},
		{"negated", "48 89 f9 # mov rcx,rdi\n48 f7 d9 # neg rcx\n" + byRCX, "0 1*rsi=? -8*rdi=?", nil},
		{"plus memory", "48 89 f9 # mov rcx,rdi\n48 03 0e # add rcx,[rsi]\n" + atRCX, "0 1*rdi=? 1*[rsi+0]8=?", nil},
		{"plus memory, the sum is known", "48 89 f9 # mov rcx,rdi\n48 03 0e # add rcx,[rsi]\n" + atRCX, "0 1*rdi=5~ 1*[rsi+0]8=24576~", values{arch.RSI: 0x5000, arch.RCX: 0x6005}},
		{"by what was read, which may have changed", "48 8b 0e # mov rcx,[rsi]\n48 8d 14 39 # lea rdx,[rcx+rdi]\n48 8b 02 # mov rax,[rdx]\nc3", "0 1*[rsi+0]8=24576~ 1*rdi=9~", values{arch.RSI: 0x5000, arch.RDX: 0x6009}},
		{"bits are no sum", "48 89 f9 # mov rcx,rdi\n48 21 f1 # and rcx,rsi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*rdx=? 8*8 bytes of op5 rdi rsi=?", nil},
		{"a product of two", "48 89 f9 # mov rcx,rdi\n48 0f af ce # imul rcx,rsi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*rdx=? 8*8 bytes of op3 rdi rsi=?", nil},
		{"a product with memory", "48 89 f9 # mov rcx,rdi\n48 0f af 0e # imul rcx,[rsi]\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*rdx=? 8*8 bytes of op3 rdi [rsi+0]8=?", nil},
		{"shifted far", "48 89 f9 # mov rcx,rdi\n48 c1 e1 1f # shl rcx,31\n" + atRCX, "0 2147483648*rdi=?", nil},
		{"shifted too far", "48 89 f9 # mov rcx,rdi\n48 c1 e1 20 # shl rcx,32\n" + atRCX, "0 1*8 bytes of op7 rdi 32=?", nil},
		{"shifted out", "48 89 f9\n48 c1 e1 1f # shl rcx,31\n48 c1 e1 1f # shl rcx,31\n48 c1 e1 02 # shl rcx,2\n" + atRCX, "none", values{arch.RCX: 0}},
		{"times the most", "48 69 cf 00 00 00 80 # imul rcx,rdi,-1<<31\n" + atRCX, "0 -2147483648*rdi=?", nil},
		{"times more", "48 89 f9\n48 c1 e1 1f # shl rcx,31\n48 8b 04 39 # mov rax,[rcx+rdi]\nc3", "none", nil},
		{"times less", "48 69 cf 00 00 00 80 # imul rcx,rdi,-1<<31\n48 29 f9 # sub rcx,rdi\n" + atRCX, "none", nil},
		{"times the most and more", "48 69 cf 00 00 00 80 # imul rcx,rdi,-1<<31\n48 8b 04 4e # mov rax,[rsi+rcx*2]\nc3", "none", nil},
		{"times 0", "48 6b cf 00 # imul rcx,rdi,0\n" + byRCX, "0 1*rsi=?", values{arch.RCX: 0}},
		{"added and subtracted", "48 89 f9 # mov rcx,rdi\n48 01 f1 # add rcx,rsi\n48 01 d1 # add rcx,rdx\n48 29 f9 # sub rcx,rdi\n" + atRCX, "0 1*rsi=? 1*rdx=?", nil},
		{"added and subtracted last", "48 8d 0c 37 # lea rcx,[rdi+rsi]\n48 29 f1 # sub rcx,rsi\n" + atRCX, "0 1*rdi=?", nil},
		{"less itself", "48 89 f9 # mov rcx,rdi\n48 f7 d9 # neg rcx\n48 8b 44 39 08 # mov rax,[rcx+rdi+8]\nc3", "8", nil},
		{"less itself, the sum is known", "48 89 f9 # mov rcx,rdi\n48 f7 d9 # neg rcx\n48 8d 0c 39 # lea rcx,[rcx+rdi]\n48 8b 04 0e # mov rax,[rsi+rcx]\nc3", "0 1*rsi=?", values{arch.RCX: 0}},
		// Less than an address.
		{"4 bytes that are not known", "89 f9 # mov ecx,edi\n83 c1 02 # add ecx,2\n" + byRCX, "0 1*rsi=? 8*4 bytes of op1 low4(rdi) 2=?", nil},
		{"4 bytes", "89 f9 # mov ecx,edi\n83 c1 02 # add ecx,2\n" + byRCX, "16 1*rsi=? 8*low4(rdi)=5", values{arch.RDI: 5}},
		{"4 bytes of a longer number", "48 89 f9 # mov rcx,rdi\n83 c1 02 # add ecx,2\n" + byRCX, "16 1*rsi=? 8*rdi=5", values{arch.RDI: 0x100000005}},
		{"4 bytes, only the sum is known", "89 f9 # mov ecx,edi\n83 c1 02 # add ecx,2\n" + byRCX, "0 1*rsi=? 8*4 bytes of op1 low4(rdi) 2=2", values{arch.RCX: 2}},
		{"bits of 4 bytes", "48 89 f9 # mov rcx,rdi\n21 f1 # and ecx,esi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*rdx=? 8*4 bytes of op5 rdi rsi=0", values{arch.RDI: 0, arch.RSI: 0}},
		{"4 bytes of 8", "48 89 f9 # mov rcx,rdi\n48 29 f1 # sub rcx,rsi\n89 c9 # mov ecx,ecx\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*rdx=? 8*low4(8 bytes of op2 rdi rsi)=3", values{arch.RDI: 5, arch.RSI: 2}},
		{"4 bytes of a value that is not known for its depth", "89 f9 # mov ecx,edi\n" + strings.Repeat("89 c9 # mov ecx,ecx\n", 15) + "83 e9 02 # sub ecx,2\n" + byRCX,
			"0 1*rsi=? 8*4 bytes of op2 " + cuts + " 2=?", values{arch.RDI: 2}},
		{"4 bytes of too many sums", chain(16) + "83 c1 02 # add ecx,2\n" + byRCX, "0 1*rsi=? 8*4 bytes of op1 " + deep + " 2=0", values{arch.RCX: 0}},
		// Loops.
		{"one more in each round", "48 89 f9 # mov rcx,rdi\n48 83 c1 01 # L: add rcx,1\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n" + atRCX,
			"1 1*rdi=? 1*one of (again+1) | rdi=? steps", nil},
		{"multiplied in each round", "48 89 f9 # mov rcx,rdi\n48 6b c9 03 # L: imul rcx,rcx,3\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n" + atRCX,
			"0 3*one of 8 bytes of op3 again 3 | rdi=?", nil},
		{"a list", "48 89 f9 # mov rcx,rdi\neb 04 # jmp M\n48 8b 49 08 # L: mov rcx,[rcx+8]\n48 8b 01 # M: mov rax,[rcx]\n48 85 c0 # test rax,rax\n75 f4 # jne L\nc3",
			"0 1*one of [again+8]8 | rdi=?", nil},
		{"by a register in each round", "48 89 f9 # mov rcx,rdi\n48 8d 4c 31 08 # L: lea rcx,[rcx+rsi+8]\n48 85 f6 # test rsi,rsi\n75 f6 # jne L\n" + atRCX,
			"8 1*one of (again+rsi*1+8) | rdi=? 1*rsi=?", nil},
		{"one way or the other", "48 8d 4f 08 # lea rcx,[rdi+8]\n48 85 d2 # test rdx,rdx\n74 03 # je L\n48 89 f1 # mov rcx,rsi\n" + atRCX,
			"0 1*one of rsi | (rdi+8)=?", nil},
		{"from what is not known in each round", callOut + "48 83 c1 08 # L: add rcx,8\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n" + atRCX,
			"8 1*one of (again+8) | unknown=?", nil},
		{"nothing in each round", "48 89 f9 # mov rcx,rdi\n48 8d 49 00 # L: lea rcx,[rcx+0]\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n" + atRCX,
			"0 1*one of (again+0) | rdi=?", nil},
		{"8 or 16 in each round", "48 89 f9\n48 85 f6 # L: test rsi,rsi\n74 06 # je M\n48 83 c1 08 # add rcx,8\neb f5 # jmp L\n48 83 c1 10 # M: add rcx,16\n75 ef # jne L\n" + atRCX,
			"16 1*one of (again+16) | (again+8) | rdi=?", nil},
		// What is the same.
		{"a half twice", "89 f9 # mov ecx,edi\n89 fa # mov edx,edi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 9*low4(rdi)=5", values{arch.RDI: 5}},
		{"halves of two", "89 f9 # mov ecx,edi\n89 f2 # mov edx,esi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*low4(rsi)=? 8*low4(rdi)=?", nil},
		{"a half and a byte", "40 0f b6 cf # movzx ecx,dil\n89 fa # mov edx,edi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*low4(rdi)=? 8*low1(rdi)=?", nil},
		{"a byte, extended to 4 bytes and to 8 without its sign", "40 0f b6 cf # movzx ecx,dil\n48 0f b6 d7 # movzx rdx,dil\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 9*low1(rdi)=?", nil},
		{"a half that may be extended", "63 cf # movsxd ecx,edi\n89 fa # mov edx,edi\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*low4(rdi)=? 8*low4(rdi)=?", nil},
		{"extended to 4 bytes and to 8", "40 0f be cf # movsx ecx,dil\n48 0f be d7 # movsx rdx,dil\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3", "0 1*low1(rdi)=? 8*low1(rdi)=?", nil},
		{"halves of the frame", "48 89 7c 24 f0 # mov [rsp-16],rdi\n48 8b 4c 24 f0 # mov rcx,[rsp-16]\n89 c9 # mov ecx,ecx\n48 8b 54 24 f0 # mov rdx,[rsp-16]\n89 d2 # mov edx,edx\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3",
			"0 9*low4(slot(rdi))=36840", nil},
		{"halves of what is not known", callOut + "89 ce # mov esi,ecx\n89 ca # mov edx,ecx\n48 8b 04 f2 # mov rax,[rdx+rsi*8]\nc3", "0 1*low4(unknown)=? 8*low4(unknown)=?", nil},
		{"a half of the frame and of a register", "8b 4c 24 08 # mov ecx,[rsp+8]\n89 fa # mov edx,edi\n48 8b 04 d1 # mov rax,[rcx+rdx*8]\nc3", "0 1*slot(stack+0)=36864 8*low4(rdi)=?", nil},
		{"stored in two places", "48 89 7c 24 f0 # mov [rsp-16],rdi\n48 89 7c 24 e8 # mov [rsp-24],rdi\n48 8b 4c 24 f0 # mov rcx,[rsp-16]\n48 8b 54 24 e8 # mov rdx,[rsp-24]\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3",
			"0 1*slot(rdi)=36832 8*slot(rdi)=36840", nil},
		{"overwritten by a call", "48 89 7c 24 f0 # mov [rsp-16],rdi\n" + callOut + "48 8b 4c 24 f0 # mov rcx,[rsp-16]\n48 8b 54 24 f0 # mov rdx,[rsp-16]\n48 8b 04 ca # mov rax,[rdx+rcx*8]\nc3",
			"0 1*slot(unknown)=? 8*slot(unknown)=?", nil},
		// What is computed from the sum: indexes up to a limit, addresses without one.
		{"an address", "48 8d 0c 37 # lea rcx,[rdi+rsi]\n" + atRCX, "0 1*rdi=4611686018427387904 1*rsi=16", values{arch.RCX: 1<<62 + 16, arch.RSI: 16}},
		{"the greatest index", "48 c1 e7 04 # shl rdi,4\n48 8b 04 3e # mov rax,[rsi+rdi]\nc3", "0 1*rsi=? 16*rdi=70368744177663", values{arch.RDI: (1<<46 - 1) * 16}},
		{"a greater one", "48 c1 e7 04 # shl rdi,4\n48 8b 04 3e # mov rax,[rsi+rdi]\nc3", "0 1*rsi=? 16*rdi=?", values{arch.RDI: 1 << 50}},
		{"the least index", "48 c1 e7 04 # shl rdi,4\n48 8b 04 3e # mov rax,[rsi+rdi]\nc3", "0 1*rsi=? 16*rdi=-70368744177663", values{arch.RDI: 1<<64 - (1<<46-1)*16}},
		{"a lesser one", "48 c1 e7 04 # shl rdi,4\n48 8b 04 3e # mov rax,[rsi+rdi]\nc3", "0 1*rsi=? 16*rdi=?", values{arch.RDI: 1<<64 - 1<<50}},
		// Up to the limits, and beyond them.
		{"six terms", six + "48 8b 00 # mov rax,[rax]\nc3", "0 1*rdi=? 1*rsi=? 1*rdx=? 1*rcx=? 1*r8=? 1*r9=?", nil},
		{"seven terms", six + "4a 8b 04 10 # mov rax,[rax+r10]\nc3", "none", nil},
		{"seven terms, the first alone", six + "49 8b 04 02 # mov rax,[r10+rax]\nc3", "none", nil},
		{"seven terms with how often a loop added", six + "4c 8b 18 # L: mov r11,[rax]\n48 83 c0 18 # add rax,24\n48 85 f6 # test rsi,rsi\n75 f4 # jne L\nc3", "none", nil},
		{"seven terms, and one of them again", six + "4c 01 d0 # add rax,r10\n48 8b 04 38 # mov rax,[rax+rdi]\nc3", "none", nil},
		{"seven terms, of 4 bytes", six + "45 89 da # mov r10d,r11d\n41 83 c2 02 # add r10d,2\n4a 8b 04 10 # mov rax,[rax+r10]\nc3", "none", values{arch.R11: 5}},
		{"16 sums", chain(16) + "48 8b 04 0e # mov rax,[rsi+rcx]\nc3", "128 1*rsi=? 1*rdi=?", nil},
		{"17 sums", chain(17) + "48 8b 04 0e # mov rax,[rsi+rcx]\nc3", "none", nil},
		{"16 sums, the base", chain(16) + atRCX, "128 1*rdi=?", nil},
		{"17 sums, the base", chain(17) + atRCX, "none", nil},
		{"the index after 15", chain(15) + "48 8d 0c 4d 00 00 00 00 # lea rcx,[rcx*2]\n" + atRCX, "240 2*rdi=?", nil},
		{"the index after 16", chain(16) + "48 8d 0c 4d 00 00 00 00 # lea rcx,[rcx*2]\n" + atRCX, "none", nil},
		{"the index after 16, of a sum", chain(16) + "48 8d 0c 4e # lea rcx,[rsi+rcx*2]\n" + atRCX, "none", nil},
		{"the base after 16, of a sum", chain(16) + "48 8d 0c 31 # lea rcx,[rcx+rsi]\n" + atRCX, "none", nil},
		{"a product after 15", chain(15) + "48 6b c9 03 # imul rcx,rcx,3\n" + atRCX, "360 3*rdi=?", nil},
		{"a product after 16", chain(16) + "48 6b c9 03 # imul rcx,rcx,3\n" + atRCX, "none", nil},
		{"a shift after 15", chain(15) + "48 c1 e1 04 # shl rcx,4\n" + atRCX, "1920 16*rdi=?", nil},
		{"a shift after 16", chain(16) + "48 c1 e1 04 # shl rcx,4\n" + atRCX, "none", nil},
		{"negated after 15", chain(15) + "48 f7 d9 # neg rcx\n" + atRCX, "-120 -1*rdi=?", nil},
		{"negated after 16", chain(16) + "48 f7 d9 # neg rcx\n" + atRCX, "none", nil},
		{"a difference after 15", chain(15) + "48 29 f1 # sub rcx,rsi\n" + atRCX, "120 1*rdi=? -1*rsi=?", nil},
		{"a difference after 16", chain(16) + "48 29 f1 # sub rcx,rsi\n" + atRCX, "none", nil},
		{"subtracted after 15", chain(15) + "49 89 f0 # mov r8,rsi\n49 29 c8 # sub r8,rcx\n49 8b 00 # mov rax,[r8]\nc3", "-120 1*rsi=? -1*rdi=?", nil},
		{"subtracted after 16", chain(16) + "49 89 f0 # mov r8,rsi\n49 29 c8 # sub r8,rcx\n49 8b 00 # mov rax,[r8]\nc3", "none", nil},
		{"a loop after 15", chain(15) + "48 83 c1 18 # L: add rcx,24\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n" + atRCX, "none", nil},
		{"64 parts", double + "48 8b 04 31 # mov rax,[rcx+rsi]\nc3", "0 32*rdi=? 1*rsi=?", nil},
		{"65 parts", double + "48 83 c6 08 # add rsi,8\n48 8b 04 31 # mov rax,[rcx+rsi]\nc3", "none", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			if got := formText(f, frame(f, c.regs)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestFormAfterLoop goes to the greatest depth through a loop.
func TestFormAfterLoop(t *testing.T) {
	f := function(t, arch.AMD64, chain(14)+"48 83 c1 18 # L: add rcx,24\n48 85 f6 # test rsi,rsi\n75 f7 # jne L\n48 8b 01 # mov rax,[rcx]\nc3")
	s := frame(f, nil)
	form, ok := f.Evaluator(s).Form(s.PC, arch.RCX, arch.NoReg, 0, 0)
	if !ok || form.K != 14*8+24 || len(form.Terms) != 2 || form.Terms[0].Times != 1 || form.Terms[1].Times != 24 || !form.Terms[1].Steps {
		t.Errorf("%+v %v", form, ok)
	}
}

// TestFormOf takes values apart, up to as many parts as for an address.
func TestFormOf(t *testing.T) {
	double := chain(0) + strings.Repeat("48 01 c9 # add rcx,rcx\n", 5) // 63 parts
	for _, c := range []struct {
		code string
		k    int64
		ok   bool
	}{
		{chain(16), 128, true},
		{chain(17), 0, false},
		{double + "48 83 c1 08 # add rcx,8\n", 8, true},
		{double + "48 83 c1 08 # add rcx,8\n48 83 c1 08 # add rcx,8\n", 0, false},
	} {
		f := function(t, arch.AMD64, c.code+"c3")
		s := frame(f, nil)
		form, ok := f.Evaluator(s).FormOf(f.Before(s.PC, Reg(arch.RCX)))
		if ok != c.ok || ok && (form.K != c.k || len(form.Terms) != 1 || form.Terms[0].Times != 1 && form.Terms[0].Times != 32) {
			t.Errorf("%s: %+v %v", c.code, form, ok)
		}
	}
}

// TestFormAdd: how often a loop has added to a value is no value, though both are told of the same one.
func TestFormAdd(t *testing.T) {
	f := function(t, arch.AMD64, "90\nc3")
	v := f.Before(base, Reg(arch.RDI))
	out := Form{Terms: []Term{{Of: v, Times: 8, Steps: true}}}
	if !out.add(f.Evaluator(frame(f, nil)), Term{Of: v, Times: 1}) || len(out.Terms) != 2 || out.Terms[0].Times != 8 {
		t.Errorf("%+v", out.Terms)
	}
}

// TestFormSolve: what is computed from a sum that may have changed may have changed.
func TestFormSolve(t *testing.T) {
	for _, exact := range []bool{true, false} {
		out := Form{K: 1, Terms: []Term{{Times: 1, Value: 5, Known: true, Exact: true}, {Times: 2}}}
		if out.solve(12, exact); !out.Terms[1].Known || out.Terms[1].Value != 3 || out.Terms[1].Exact != exact {
			t.Errorf("exact %v: %+v", exact, out.Terms[1])
		}
	}
}
