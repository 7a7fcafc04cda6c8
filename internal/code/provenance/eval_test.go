package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// An evalCase is the value of a register before the last instruction of code, computed from other registers and
// memory. The registers are those at the last instruction.
type evalCase struct {
	name, code string
	want       uint64
	exact, ok  bool
}

// frame is a frame with the CFA 0x8000 and memory whose words hold their own address plus 0x1000, and at
// 0x6000 a number whose bytes and halves are negative.
func frame(f *Func, regs map[arch.Reg]uint64) *State {
	return &State{PC: f.steps[len(f.steps)-1].Addr, CFA: 0x8000, HasCFA: true,
		Reg: func(r arch.Reg) (uint64, bool) { v, ok := regs[r]; return v, ok },
		Read: func(addr uint64, size int) (uint64, bool) {
			v := addr + 0x1000
			switch addr {
			case 0x6000:
				v = 0x8182838485868788
			case 0x6666:
				return 0, false
			}
			if size < 8 {
				v &= 1<<(8*size) - 1
			}
			return v, true
		}}
}

func evaluate(t *testing.T, a *arch.Arch, r arch.Reg, regs map[arch.Reg]uint64, cases []evalCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, a, c.code)
			s := frame(f, regs)
			got, exact, ok := f.Evaluator(s).Value(f.Before(s.PC, Reg(r)), 0)
			if ok != c.ok || ok && (got != c.want || exact != c.exact) {
				t.Errorf("%#x %v %v, want %#x %v %v", got, exact, ok, c.want, c.exact, c.ok)
			}
		})
	}
}

func TestEvaluate(t *testing.T) {
	regs := map[arch.Reg]uint64{arch.RDI: 0x5000, arch.RSI: 3, arch.R8: 0x6000, arch.R9: 0x6666, arch.R10: 0x80000001, arch.R11: 0x40000001, arch.R12: 0x100000005, arch.R13: 0x1313, arch.RSP: 0x7ff8, arch.RIP: base}
	evaluate(t, arch.AMD64, arch.RAX, regs, []evalCase{
		{"a number", `
			48 c7 c0 fe ff ff ff # mov rax,-2
			c3 # ret`, 0xfffffffffffffffe, true, true},
		{"an address of the frame", `
			48 8d 44 24 f0 # lea rax,[rsp-16]
			c3 # ret`, 0x7fe8, true, true},
		{"a sum", `
			48 8d 44 b7 07 # lea rax,[rdi+rsi*4+7]
			c3 # ret`, 0x5013, true, true},
		{"a sum of two", `
			48 89 f8 # mov rax,rdi
			48 01 f0 # add rax,rsi
			c3 # ret`, 0x5003, true, true},
		{"a multiple", `
			48 8d 04 f5 00 00 00 00 # lea rax,[rsi*8]
			c3 # ret`, 24, true, true},
		{"a sum with an unknown register", `
			48 8d 04 97 # lea rax,[rdi+rdx*4]
			c3 # ret`, 0, false, false},
		{"a sum by an unknown register", `
			48 8d 04 ba # lea rax,[rdx+rdi*4]
			c3 # ret`, 0, false, false},
		{"a load", `
			48 8b 47 08 # mov rax,[rdi+8]
			c3 # ret`, 0x6008, false, true},
		{"a load by a register that steps on", `
			48 8b 07 # mov rax,[rdi]
			48 83 c7 08 # add rdi,8
			c3 # ret`, 0x5ff8, false, true},
		{"a load by a register that steps on twice", `
			48 8b 07 # mov rax,[rdi]
			48 83 c7 08 # add rdi,8
			48 83 c7 10 # add rdi,16
			c3 # ret`, 0x5fe8, false, true},
		{"a load by a register that steps on in a loop", `
			48 8b 07 # mov rax,[rdi]
			48 83 c7 08 # add rdi,8
			75 f7 # jne .-7
			c3 # ret`, 0x5ff8, false, true},
		{"a load by a register to which another is added", `
			48 8b 07 # mov rax,[rdi]
			48 01 f7 # add rdi,rsi
			c3 # ret`, 0, false, false},
		{"two loads", `
			48 8b 47 08 # mov rax,[rdi+8]
			48 8b 00 # mov rax,[rax]
			c3 # ret`, 0x7008, false, true},
		{"the sum of a load", `
			48 8b 47 08 # mov rax,[rdi+8]
			48 8d 04 30 # lea rax,[rax+rsi]
			c3 # ret`, 0x600b, false, true},
		{"the sum by a load", `
			48 8b 47 08 # mov rax,[rdi+8]
			48 8d 04 06 # lea rax,[rsi+rax]
			c3 # ret`, 0x600b, false, true},
		{"a load with an unknown address", `
			48 8b 02 # mov rax,[rdx]
			c3 # ret`, 0, false, false},
		{"a load from what is not there", `
			49 8b 01 # mov rax,[r9]
			c3 # ret`, 0, false, false},
		{"a short load", `
			41 8b 00 # mov eax,[r8]
			c3 # ret`, 0x85868788, false, true},
		{"an extended load of a negative number", `
			49 63 00 # movsxd rax,dword ptr [r8]
			c3 # ret`, 0xffffffff85868788, false, true},
		{"an extended load", `
			48 63 07 # movsxd rax,dword ptr [rdi]
			c3 # ret`, 0x6000, false, true},
		{"a half", `
			44 89 d0 # mov eax,r10d
			c3 # ret`, 0x80000001, true, true},
		{"a half of a long number", `
			49 8b 00 # mov rax,[r8]
			89 c0 # mov eax,eax
			c3 # ret`, 0x85868788, false, true},
		{"an extended half", `
			48 63 c7 # movsxd rax,edi
			c3 # ret`, 0x5000, true, true},
		{"an extended negative half", `
			49 63 c2 # movsxd rax,r10d
			c3 # ret`, 0xffffffff80000001, true, true},
		{"an extended half with its second bit set", `
			49 63 c3 # movsxd rax,r11d
			c3 # ret`, 0x40000001, true, true},
		{"a half that may be extended, with its second bit set", `
			41 63 c3 # movsxd eax,r11d
			c3 # ret`, 0x40000001, true, true},
		{"a negative half that may be extended", `
			41 63 c2 # movsxd eax,r10d
			c3 # ret`, 0, false, false},
		{"a load less what is known", `
			48 8b 07 # mov rax,[rdi]
			48 29 f0 # sub rax,rsi
			c3 # ret`, 0x5ffd, false, true},
		{"what is known less a load", `
			48 89 f8 # mov rax,rdi
			48 2b 07 # sub rax,[rdi]
			c3 # ret`, 0xfffffffffffff000, false, true},
		{"a half below a set bit", `
			44 89 e0 # mov eax,r12d
			c3 # ret`, 5, true, true},
		{"a negative half of the frame", `
			89 94 24 08 e0 ff ff # mov [rsp-0x1ff8],edx
			48 63 84 24 08 e0 ff ff # movsxd rax,dword ptr [rsp-0x1ff8]
			c3 # ret`, 0xffffffff85868788, true, true},
		{"an extended result", `
			48 89 f8 # mov rax,rdi
			48 98 # cdqe
			c3 # ret`, 0x5000, true, true},
		{"an extended negative result", `
			4c 89 d0 # mov rax,r10
			48 98 # cdqe
			c3 # ret`, 0xffffffff80000001, true, true},
		{"a byte, extended", `
			41 0f b6 00 # movzx eax,byte ptr [r8]
			c3 # ret`, 0x88, false, true},
		{"a negative byte, extended to 4 bytes", `
			41 0f be 00 # movsx eax,byte ptr [r8]
			c3 # ret`, 0xffffff88, false, true},
		{"two negative bytes, extended", `
			49 0f bf 00 # movsx rax,word ptr [r8]
			c3 # ret`, 0xffffffffffff8788, false, true},
		{"a byte of a register", `
			41 0f b6 c2 # movzx eax,r10b
			c3 # ret`, 1, true, true},
		{"the second byte of a register", `
			0f b6 c4 # movzx eax,ah
			c3 # ret`, 0, false, false},
		{"a byte of the frame", `
			44 88 54 24 f8 # mov [rsp-8],r10b
			0f b6 44 24 f8 # movzx eax,byte ptr [rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 1, true, true},
		{"a second byte in the frame", `
			88 64 24 f8 # mov [rsp-8],ah
			0f b6 44 24 f8 # movzx eax,byte ptr [rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0, false, false},
		{"a difference", `
			4c 89 d0 # mov rax,r10
			48 29 f8 # sub rax,rdi
			c3 # ret`, 0x7fffb001, true, true},
		{"a difference from memory", `
			4c 89 d0 # mov rax,r10
			49 2b 00 # sub rax,[r8]
			c3 # ret`, 0x7e7d7c7bfa797879, false, true},
		{"a short sum by lea", `
			8d 47 fd # lea eax,[rdi-3]
			c3 # ret`, 0x4ffd, true, true},
		{"a short sum of two by lea", `
			41 8d 04 3a # lea eax,[r10+rdi]
			c3 # ret`, 0x80005001, true, true},
		{"a short sum of multiples", `
			8d 44 77 03 # lea eax,[rdi+rsi*2+3]
			c3 # ret`, 0, false, false},
		{"a short difference", `
			44 89 d0 # mov eax,r10d
			83 e8 02 # sub eax,2
			c3 # ret`, 0x7fffffff, true, true},
		{"a product", `
			48 6b c7 18 # imul rax,rdi,24
			c3 # ret`, 0x78000, true, true},
		{"a product of registers", `
			48 89 f8 # mov rax,rdi
			48 0f af c7 # imul rax,rdi
			c3 # ret`, 0x19000000, true, true},
		{"a shift", `
			48 89 f8 # mov rax,rdi
			48 c1 e0 04 # shl rax,4
			c3 # ret`, 0x50000, true, true},
		{"a short shift with its sign", `
			44 89 d0 # mov eax,r10d
			c1 f8 01 # sar eax,1
			c3 # ret`, 0xc0000000, true, true},
		{"a short shift without sign", `
			44 89 d0 # mov eax,r10d
			c1 e8 01 # shr eax,1
			c3 # ret`, 0x40000000, true, true},
		{"masked", `
			44 89 d0 # mov eax,r10d
			83 e0 0f # and eax,15
			c3 # ret`, 1, true, true},
		{"set bits", `
			44 89 d0 # mov eax,r10d
			83 c8 06 # or eax,6
			c3 # ret`, 0x80000007, true, true},
		{"negative", `
			89 f8 # mov eax,edi
			f7 d8 # neg eax
			c3 # ret`, 0xffffb000, true, true},
		{"a difference from what is not known", `
			48 89 f8 # mov rax,rdi
			48 29 d0 # sub rax,rdx
			c3 # ret`, 0, false, false},
		{"of what is not known", `
			48 89 d0 # mov rax,rdx
			48 29 f8 # sub rax,rdi
			c3 # ret`, 0, false, false},
		{"half of what is not known", `
			89 d0 # mov eax,edx
			c3 # ret`, 0, false, false},
		{"a word of the frame", `
			48 89 54 24 f8 # mov [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, 0x8ff0, true, true},
		{"half a word of the frame", `
			89 54 24 f8 # mov [rsp-8],edx
			8b 44 24 f8 # mov eax,[rsp-8]
			c3 # ret`, 0x8ff0, true, true},
		{"a word of the frame that is written again", `
			48 89 7c 24 f8 # mov [rsp-8],rdi
			48 8b 44 24 f8 # mov rax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0x5000, true, true},
		{"a word of the frame that is written again, unknown", `
			48 89 54 24 f8 # mov [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0, false, false},
		{"a word of the frame that was a vector", `
			0f 11 44 24 f0 # movups [rsp-16],xmm0
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, 0, false, false},
		{"a word of two values, written again", `
			48 89 7c 24 f8 # mov [rsp-8],rdi
			48 85 f6 # test rsi,rsi
			74 05 # je L
			4c 89 44 24 f8 # mov [rsp-8],r8
			48 8b 44 24 f8 # mov rax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0, false, false},
		{"a word of two values", `
			48 89 7c 24 f8 # mov [rsp-8],rdi
			48 85 f6 # test rsi,rsi
			74 05 # je L
			4c 89 44 24 f8 # mov [rsp-8],r8
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, 0x8ff0, true, true},
		{"an argument on the stack", `
			48 8b 44 24 08 # mov rax,[rsp+8]
			c3 # ret`, 0x9000, true, true},
		{"a word of two values that a register holds, written again", `
			48 89 fb # mov rbx,rdi
			48 85 f6 # test rsi,rsi
			74 03 # je L
			4c 89 c3 # mov rbx,r8
			48 89 5c 24 f8 # mov [rsp-8],rbx
			49 89 dd # mov r13,rbx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0x1313, true, true},
		{"half a word of the frame that is written again", `
			44 89 64 24 f8 # mov [rsp-8],r12d
			8b 44 24 f8 # mov eax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 5, true, true},
		{"half a word of the frame, extended, that is written again", `
			44 89 54 24 f8 # mov [rsp-8],r10d
			48 63 44 24 f8 # movsxd rax,dword ptr [rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0xffffffff80000001, true, true},
		{"a negative number in half a word that is written again", `
			c7 44 24 f8 fe ff ff ff # mov dword ptr [rsp-8],-2
			8b 44 24 f8 # mov eax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, 0xfffffffe, true, true},
		{"a word of the frame that is not there", `
			48 89 94 24 6e e6 ff ff # mov [rsp-0x1992],rdx
			48 8b 84 24 6e e6 ff ff # mov rax,[rsp-0x1992]
			c3 # ret`, 0, false, false},
		{"a register of two values", `
			48 89 f8 # mov rax,rdi
			48 85 f6 # test rsi,rsi
			74 03 # je L
			4c 89 c0 # mov rax,r8
			c3 # ret`, 0, false, false},
		{"a result", `
			51 # push rcx
			e8 00 10 00 00 # call out
			59 # pop rcx
			c3 # ret`, 0, false, false},
		{"a register changed since", `
			48 89 f8 # mov rax,rdi
			48 89 f7 # mov rdi,rsi
			c3 # ret`, 0, false, false},
		{"a copy of what changed since", `
			48 89 d0 # mov rax,rdx
			48 89 d7 # mov rdi,rdx
			48 89 f2 # mov rdx,rsi
			c3 # ret`, 0x5000, true, true},
	})
	for _, v := range []struct {
		reg     arch.Reg
		atEntry bool
		ok      bool
	}{{arch.RBX, true, true}, {arch.RBX, false, false}, {arch.RDX, true, false}, {arch.R12, true, false}} {
		f := function(t, arch.AMD64, "c3")
		s := frame(f, nil)
		if v.atEntry {
			s.AtEntry = func(r arch.Reg) (uint64, bool) { return 0x77, r == arch.RBX || r == arch.RDX }
		}
		got, exact, ok := f.Evaluator(s).Value(f.Before(base, Reg(v.reg)), 0)
		if ok != v.ok || ok && (got != 0x77 || !exact) {
			t.Errorf("register %d when called, known %v: %#x %v %v", v.reg, v.atEntry, got, exact, ok)
		}
	}
	// Without the CFA, nothing of the frame is known.
	for _, code := range []string{`
		48 8d 44 24 f0 # lea rax,[rsp-16]
		c3 # ret`, `
		48 8b 44 24 08 # mov rax,[rsp+8]
		c3 # ret`, `
		48 89 54 24 f8 # mov [rsp-8],rdx
		48 8b 44 24 f8 # mov rax,[rsp-8]
		c3 # ret`} {
		f := function(t, arch.AMD64, code)
		s := frame(f, regs)
		s.HasCFA = false
		if got, _, ok := f.Evaluator(s).Value(f.Before(s.PC, Reg(arch.RAX)), 0); ok {
			t.Errorf("%s: %#x without a CFA", code, got)
		}
	}
	// The program counter holds nothing that is looked for, and the stack pointer an address of the frame.
	f := function(t, arch.AMD64, "c3")
	s := frame(f, regs)
	if got, _, ok := f.Evaluator(s).Value(f.Before(base, Reg(arch.RIP)), 0); ok {
		t.Errorf("the program counter: %#x", got)
	}
	if got, exact, ok := f.Evaluator(s).Value(f.Before(base, Reg(arch.RSP)), 0); got != 0x7ff8 || !exact || !ok {
		t.Errorf("the stack pointer: %#x %v %v", got, exact, ok)
	}
	// A parameter on the stack is read while its bytes hold it.
	f = function(t, arch.AMD64, `
		48 8b 44 24 08 # mov rax,[rsp+8]
		48 89 74 24 08 # mov [rsp+8],rsi
		c3 # ret`)
	s = frame(f, regs)
	v := f.Before(base, Frame(0, 8))
	if _, _, ok := f.Evaluator(s).Value(v, 0); v.Kind != EntrySlot || ok {
		t.Errorf("%v overwritten: known %v", v.Kind, ok)
	}
	s.PC = base + 5
	if got, exact, ok := f.Evaluator(s).Value(v, 0); got != 0x9000 || !exact || !ok {
		t.Errorf("not yet overwritten: %#x %v %v", got, exact, ok)
	}
	if _, _, ok := f.Evaluator(s).Value(f.Before(base, Frame(0, 9)), 0); ok {
		t.Error("nine bytes in a word")
	}
	// What is not known is in no register.
	f = function(t, arch.AMD64, `
		b0 01 # mov al,1
		c3 # ret`)
	s = frame(f, map[arch.Reg]uint64{arch.RAX: 5})
	if got, _, ok := f.Evaluator(s).Value(f.Before(s.PC, Reg(arch.RAX)), 0); ok {
		t.Errorf("a part of a register: %#x", got)
	}
}

func TestEvaluateOther(t *testing.T) {
	evaluate(t, arch.X86, arch.EAX, map[arch.Reg]uint64{arch.ECX: 0xfffffff0}, []evalCase{
		{"a sum beyond the top", `
			8d 41 20 # lea eax,[ecx+0x20]
			c3 # ret`, 0x10, true, true},
		{"a load beyond the top", `
			8b 41 20 # mov eax,[ecx+0x20]
			c3 # ret`, 0x1010, false, true},
		{"a negative number", `
			b8 fe ff ff ff # mov eax,-2
			c3 # ret`, 0xfffffffe, true, true},
		{"a negative number pushed", `
			6a fe # push -2
			58 # pop eax
			c3 # ret`, 0x8ff8, true, true},
	})
	evaluate(t, arch.ARM64, arch.ARM64X0, map[arch.Reg]uint64{1: 0x6000, 2: 0x5000, 3: 0x80000001, arch.ARM64SP: 1}, []evalCase{
		{"a short load", `
			20 00 40 b9 # ldr w0,[x1]
			c0 03 5f d6 # ret`, 0x85868788, false, true},
		{"an extended load", `
			40 00 80 b9 # ldrsw x0,[x2]
			c0 03 5f d6 # ret`, 0x6000, false, true},
		{"an extended load of a negative number", `
			20 00 80 b9 # ldrsw x0,[x1]
			c0 03 5f d6 # ret`, 0, false, false},
		{"an extended load behind a pointer", `
			20 84 80 b8 # ldrsw x0,[x1],8
			c0 03 5f d6 # ret`, 0, false, false},
		{"an extended load at an unscaled offset", `
			20 00 80 b8 # ldursw x0,[x1]
			c0 03 5f d6 # ret`, 0, false, false},
		{"an extended pair", `
			20 10 40 69 # ldpsw x0,x4,[x1]
			c0 03 5f d6 # ret`, 0, false, false},
		{"a short pair", `
			20 10 40 29 # ldp w0,w4,[x1]
			c0 03 5f d6 # ret`, 0x85868788, false, true},
		{"a short copy", `
			e0 03 03 2a # mov w0,w3
			c0 03 5f d6 # ret`, 0x80000001, true, true},
		{"a short pair behind a pointer", `
			e5 03 01 aa # mov x5,x1
			a0 10 c1 28 # ldp w0,w4,[x5],8
			c0 03 5f d6 # ret`, 0x85868788, false, true},
	})
	evaluate(t, arch.RISCV64, 10, map[arch.Reg]uint64{11: 0x6000, 12: 0x5000}, []evalCase{
		{"an extended load", `
			03 25 06 00 # lw a0,0(a2)
			67 80 00 00 # ret`, 0x6000, false, true},
		{"an extended load of a negative number", `
			03 a5 05 00 # lw a0,0(a1)
			67 80 00 00 # ret`, 0, false, false},
		{"a long load", `
			03 b5 05 00 # ld a0,0(a1)
			67 80 00 00 # ret`, 0x8182838485868788, false, true},
	})
	evaluate(t, arch.ARM, 0, map[arch.Reg]uint64{1: 0x6000}, []evalCase{
		{"a load of a negative number", `
			00 00 91 e5 # ldr r0,[r1]
			1e ff 2f e1 # bx lr`, 0x85868788, false, true},
	})
	evaluate(t, arch.PPC64LE, 3, map[arch.Reg]uint64{arch.PPCLR: 0x1234}, []evalCase{
		{"the link register", `
			a6 02 68 7c # mflr 3
			20 00 80 4e # blr`, 0x1234, true, true},
	})
	// An offset that looks like the prefix and the opcode of x86's movsxd.
	evaluate(t, arch.PPC64LE, 3, map[arch.Reg]uint64{4: ^uint64(0x6348 - 1 - 0x6000)}, []evalCase{
		{"a load of a negative number", `
			48 63 64 80 # lwz 3,0x6348(4)
			20 00 80 4e # blr`, 0, false, false},
	})
	evaluate(t, arch.X32, arch.RAX, map[arch.Reg]uint64{arch.RDI: 0x80000001}, []evalCase{
		{"an extended negative result", `
			89 f8 # mov eax,edi
			48 98 # cdqe
			c3 # ret`, 0xffffffff80000001, true, true},
	})
	f := function(t, arch.ARM64, `
		40 00 00 98 # ldrsw x0,L
		c0 03 5f d6 # ret
		1f 20 03 d5 # nop`)
	if v := f.Before(base+4, Reg(0)); v.Kind != Load || !v.Signed {
		t.Errorf("%v, signed %v", v.Kind, v.Signed)
	}
}

// TestEvaluateLimits computes values from as many others as allowed, and from one more.
func TestEvaluateLimits(t *testing.T) {
	const load, double, next = "48 8b 00\n", "48 8d 04 00\n", "48 8d 40 01\n" // mov rax,[rax]; lea rax,[rax+rax]; lea rax,[rax+1]
	for _, c := range []struct {
		code string
		ok   bool
	}{
		{strings.Repeat(load, maxEval), true},
		{strings.Repeat(load, maxEval+1), false},
		{strings.Repeat(double, 7) + next, true}, // 255 values, and one
		{strings.Repeat(double, 7) + next + next, false},
		{strings.Repeat(next, maxEval), true},
		{strings.Repeat(next, maxEval+1), false},
		{strings.Repeat("48 8d 04 05 01 00 00 00\n", maxEval), true}, // lea rax,[rax*1+1]
		{strings.Repeat("48 8d 04 05 01 00 00 00\n", maxEval+1), false},
		{strings.Repeat("83 c0 01\n", maxEval), true}, // add eax,1
		{strings.Repeat("83 c0 01\n", maxEval+1), false},
		{strings.Repeat("48 89 f9\n48 29 c1\n48 89 c8\n", maxEval), true}, // mov rcx,rdi; sub rcx,rax; mov rax,rcx
		{strings.Repeat("48 89 f9\n48 29 c1\n48 89 c8\n", maxEval+1), false},
		{strings.Repeat("89 c0\n", maxEval), true}, // mov eax,eax
		{strings.Repeat("89 c0\n", maxEval+1), false},
		// mov [rsp-8],rax; mov rax,[rsp-8], and the frame is overwritten afterwards
		{strings.Repeat("48 89 44 24 f8\n48 8b 44 24 f8\n", maxEval) + "48 89 74 24 f8\n", true},
		{strings.Repeat("48 89 44 24 f8\n48 8b 44 24 f8\n", maxEval+1) + "48 89 74 24 f8\n", false},
	} {
		f := function(t, arch.AMD64, "48 89 f8\n"+c.code+"c3")
		s := frame(f, map[arch.Reg]uint64{arch.RDI: 0x10})
		e := f.Evaluator(s)
		for range 2 { // the second time the limit is the same
			if _, _, ok := e.Value(f.Before(s.PC, Reg(arch.RAX)), 0); ok != c.ok {
				t.Errorf("%s: known %v, want %v", c.code, ok, c.ok)
			}
		}
	}
	var asked int
	f := function(t, arch.AMD64, strings.Repeat(next, 3)+"c3")
	s := frame(f, nil)
	s.Reg = func(arch.Reg) (uint64, bool) { asked++; return 0, false }
	e := f.Evaluator(s)
	for range 2 {
		e.Value(f.Before(s.PC, Reg(arch.RAX)), 0)
	}
	if asked > arch.AMD64.NumRegs() {
		t.Errorf("%d registers read", asked)
	}
}

// TestPast asks, in a loop over a list, for a value of the iteration before the one that the registers are from.
func TestPast(t *testing.T) {
	// rcx is loaded in each iteration, rdx before the loop; the loop begins at base+10.
	f := function(t, arch.AMD64, `
		48 8b 16 # mov rdx,[rsi]
		4c 8b 44 24 08 # mov r8,[rsp+8]
		90 # nop
		90 # nop
		48 8b 0f # mov rcx,[rdi]
		48 8b 7f 08 # mov rdi,[rdi+8]
		48 85 ff # test rdi,rdi
		75 f4 # jne L
		48 8b 01 # mov rax,[rcx]
		c3 # ret`)
	s := frame(f, map[arch.Reg]uint64{arch.RDI: 0x555, arch.RCX: 0x111, arch.RDX: 0x222, arch.RSI: 0x333, arch.R8: 0x444})
	const join = base + 10
	e := f.Evaluator(s)
	for _, c := range []struct {
		v    *Value
		past uint64
		ok   bool
	}{
		{f.Before(s.PC, Reg(arch.RCX)), 0, true},
		{f.Before(s.PC, Reg(arch.RCX)), join, false},
		{f.Before(s.PC, Reg(arch.RDI)), 0, true},
		{f.Before(s.PC, Reg(arch.RDI)), join, false},
		{f.Before(s.PC, Reg(arch.RDX)), join, true},
		{f.Before(s.PC, Reg(arch.RSI)), join, true},
		{f.Before(s.PC, Frame(0, 8)), join, true},
		{f.Before(s.PC, Reg(arch.RDX)), join + 1, false}, // not an instruction
		{f.Before(s.PC, Reg(arch.RDX)), base, false},
		{f.Before(s.PC, Reg(arch.RCX)), s.PC, true}, // behind the loop
		{f.Before(s.PC, Reg(arch.RSI)), base, true},
		{f.Before(s.PC, Frame(0, 8)), base, true},
	} {
		if _, _, ok := e.Value(c.v, c.past); ok != c.ok {
			t.Errorf("%s past %#x: known %v, want %v", text(f, c.v), c.past, ok, c.ok)
		}
	}
	if _, _, ok := e.Value(&Value{Kind: Sum, At: base + 1, Base: arch.NoReg, Index: arch.NoReg}, join); ok {
		t.Error("a value of no instruction")
	}
	if _, _, ok := e.Value(&Value{Kind: Arith, At: base, Base: arch.RSI, Index: arch.NoReg, Size: 8}, 0); ok {
		t.Error("an operation that nobody knows")
	}
	if v := f.Second(&Value{Kind: Arith, At: base - 1, Base: arch.RSI, Index: arch.NoReg, Mem: true, Size: 8}); v.Kind != Unknown {
		t.Errorf("the operand of no instruction: %s", text(f, v))
	}
}

// TestAddress asks for the address of loads, up to as many values as a value may depend on.
func TestAddress(t *testing.T) {
	const load, double, next = "48 8b 00\n", "48 8d 04 00\n", "48 8d 40 01\n" // mov rax,[rax]; lea rax,[rax+rax]; lea rax,[rax+1]
	for _, c := range []struct {
		name, code string
		want       uint64
		ok         bool
	}{
		{"one load", load, 0x10, true},
		{"two loads", load + load, 0x1010, true},
		{"the deepest", strings.Repeat(load, maxEval), 0x10 + (maxEval-1)*0x1000, true},
		{"too deep", strings.Repeat(load, maxEval+1), 0, false},
		{"by as many values as allowed", strings.Repeat(double, 7) + next + load, 0x10<<7 + 1, true},
		{"by one more", strings.Repeat(double, 7) + next + next + load, 0, false},
		{"a sum", next, 0, false},
		{"by what is not known", "48 8b 02 # mov rax,[rdx]\n", 0, false},
	} {
		f := function(t, arch.AMD64, "48 89 f8\n"+c.code+"c3")
		s := frame(f, map[arch.Reg]uint64{arch.RDI: 0x10})
		e := f.Evaluator(s)
		for range 2 { // the second time the limit is the same
			if got, ok := e.Address(f.Before(s.PC, Reg(arch.RAX)), 0); ok != c.ok || ok && got != c.want {
				t.Errorf("%s: %#x %v, want %#x %v", c.name, got, ok, c.want, c.ok)
			}
		}
	}
}

// TestMemory asks what memory holds now that values were read from, and for values that were not.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name, code string
		place      Place
		want       uint64
		ok         bool
	}{
		{"a load", `
			48 8b 47 08 # mov rax,[rdi+8]
			c3 # ret`, Reg(arch.RAX), 0x6008, true},
		{"a load by what is not known", `
			48 8b 02 # mov rax,[rdx]
			c3 # ret`, Reg(arch.RAX), 0, false},
		{"a slot", `
			48 89 54 24 f8 # mov [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			c3 # ret`, Reg(arch.RAX), 0x8ff0, true},
		{"a slot that is written again", `
			48 89 54 24 f8 # mov [rsp-8],rdx
			48 8b 44 24 f8 # mov rax,[rsp-8]
			48 89 74 24 f8 # mov [rsp-8],rsi
			c3 # ret`, Reg(arch.RAX), 0, false},
		{"what the caller stored", `
			c3 # ret`, Frame(16, 8), 0x9010, true},
		{"what the caller stored, of a function that is entered again", `
			48 ff cf # L: dec rdi
			75 fb # jne L
			c3 # ret`, Frame(16, 8), 0x9010, true},
		{"a register", `
			c3 # ret`, Reg(arch.RDI), 0, false},
		{"a sum", `
			48 8d 47 10 # lea rax,[rdi+16]
			c3 # ret`, Reg(arch.RAX), 0, false},
		{"arithmetic with the offset of what the caller stored", `
			8d 47 10 # lea eax,[rdi+16]
			c3 # ret`, Reg(arch.RAX), 0, false},
		{"a number stored where it says", `
			48 c7 44 24 f8 f0 ff ff ff # mov qword ptr [rsp-8],-16
			c3 # ret`, Frame(-16, 8), 0, false},
	} {
		f := function(t, arch.AMD64, c.code)
		s := frame(f, map[arch.Reg]uint64{arch.RDI: 0x5000})
		if got, ok := f.Evaluator(s).Memory(f.Before(s.PC, c.place), 0); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %#x %v, want %#x %v", c.name, got, ok, c.want, c.ok)
		}
	}

	// A loop computes values again that are read from the same place: what is asked for may be of another iteration.
	f := function(t, arch.AMD64, `
		48 89 7c 24 f8 # mov [rsp-8],rdi
		48 8b 06 # L: mov rax,[rsi]
		48 8b 4c 24 f8 # mov rcx,[rsp-8]
		48 ff ca # dec rdx
		75 f3 # jne L
		c3 # ret`)
	s := frame(f, map[arch.Reg]uint64{arch.RSI: 0x5000})
	e := f.Evaluator(s)
	for r, want := range map[arch.Reg]uint64{arch.RAX: 0x6000, arch.RCX: 0x8ff0} {
		v := f.Before(s.PC, Reg(r))
		if got, ok := e.Memory(v, 0); got != want || !ok {
			t.Errorf("%s: %#x %v, want %#x", text(f, v), got, ok, want)
		}
		if got, ok := e.Memory(v, base+5); ok {
			t.Errorf("%s past a loop: %#x", text(f, v), got)
		}
	}
	v := f.Before(s.PC, Reg(arch.RAX))
	if got, ok := e.Address(v, 0); got != 0x5000 || !ok {
		t.Errorf("the address: %#x %v", got, ok)
	}
	if got, ok := e.Address(v, base+5); ok {
		t.Errorf("the address past a loop: %#x", got)
	}
}

func TestEvaluator(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 8b 47 10 # mov rax,[rdi+16]
		48 8b 48 08 # mov rcx,[rax+8]
		8b 01       # mov eax,[rcx]
		c3`)
	s := &State{PC: base + 8, Reg: func(r arch.Reg) (uint64, bool) {
		v, ok := map[arch.Reg]uint64{arch.RDI: 0x5000, arch.RCX: 7}[r]
		return v, ok
	}, Read: func(addr uint64, size int) (uint64, bool) {
		v, ok := map[uint64]uint64{0x5010: 0x6000, 0x6008: 7}[addr]
		return v, ok && size == 8
	}}
	e := f.Evaluator(s)
	v := f.Before(base+8, Reg(arch.RCX))
	if got, exact, ok := e.Value(v, 0); !ok || !exact || got != 7 {
		t.Errorf("rcx: %d %v %v", got, exact, ok)
	}
	s.Reg = func(r arch.Reg) (uint64, bool) { return 0x5000, r == arch.RDI }
	if got, exact, ok := f.Evaluator(s).Value(v, 0); !ok || exact || got != 7 {
		t.Errorf("by memory: %d %v %v, want 7, inexact", got, exact, ok)
	}
	s.Reg = func(arch.Reg) (uint64, bool) { return 0, false }
	if _, _, ok := f.Evaluator(s).Value(v, 0); ok {
		t.Error("a value out of nothing")
	}
}
