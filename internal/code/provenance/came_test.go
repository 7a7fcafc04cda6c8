package provenance

import (
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

func TestCame(t *testing.T) {
	const out = "\ne8 00 10 00 00 # call out"
	for _, c := range []struct {
		name, code string
		way        uint64
		regs       map[arch.Reg]uint64
		came, ok   bool
	}{
		{"the jump was taken", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			c3 # 4 ret` + out, 2, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, true, true},
		{"it was not", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			c3 # 4 ret` + out, 2, map[arch.Reg]uint64{arch.RBX: 1}, false, true},
		{"the other way", `
			eb 01 # 0 jmp 3
			c3 # 2 ret
			85 db # 3 test ebx,ebx
			78 fb # 5 js 2` + out, 5, map[arch.Reg]uint64{arch.RBX: 1}, true, true},
		{"code before the call", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			c3 # 4 ret
			90 # 5 nop
			90 # 6 nop` + out, 5, map[arch.Reg]uint64{arch.RBX: 1}, false, true},
		{"a slot of the frame", `
			53 # 0 push rbx
			48 83 3c 24 07 # 1 cmp qword ptr [rsp],7
			75 01 # 6 jne 9
			c3 # 8 ret` + out, 6, map[arch.Reg]uint64{}, true, true},
		{"an argument", `
			85 ff # 0 test edi,edi
			78 01 # 2 js 5
			c3 # 4 ret` + out, 2, map[arch.Reg]uint64{}, false, true},
		{"an argument that is not known", `
			85 d2 # 0 test edx,edx
			78 01 # 2 js 5
			c3 # 4 ret` + out, 2, map[arch.Reg]uint64{}, false, false},
		{"a register changed between", `
			85 db # 0 test ebx,ebx
			bb 01 00 00 00 # 2 mov ebx,1
			78 01 # 7 js 10
			c3 # 9 ret` + out, 7, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"a slot changed between", `
			51 # 0 push rcx
			48 83 3c 24 07 # 1 cmp qword ptr [rsp],7
			48 89 14 24 # 6 mov [rsp],rdx
			75 01 # 10 jne 13
			c3 # 12 ret` + out, 10, map[arch.Reg]uint64{}, false, false},
		{"memory that others may change", `
			83 3b 07 # 0 cmp dword ptr [rbx],7
			75 01 # 3 jne 6
			c3 # 5 ret` + out, 3, map[arch.Reg]uint64{arch.RBX: 0x5000}, false, false},
		{"the flags changed between", `
			85 db # 0 test ebx,ebx
			ff c1 # 2 inc ecx
			78 01 # 4 js 7
			c3 # 6 ret` + out, 4, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"paths meet before the jump", `
			85 d2 # 0 test edx,edx
			78 02 # 2 js 6
			85 db # 4 test ebx,ebx
			74 01 # 6 je 9
			c3 # 8 ret` + out, 6, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"both ways lead to the call", `
			85 db # 0 test ebx,ebx
			78 00 # 2 js 4` + out, 2, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"no jump on the way", `
			85 db # 0 test ebx,ebx` + out, 0, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"no code at the address", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			c3 # 4 ret` + out, 3, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"it runs again and again", `
			48 8d 5b ff # 0 lea rbx,[rbx-1]
			48 85 db # 4 test rbx,rbx
			75 f7 # 7 jne 0` + out, 7, map[arch.Reg]uint64{arch.RBX: 0}, true, true},
		{"not that way again", `
			48 8d 5b ff # 0 lea rbx,[rbx-1]
			48 85 db # 4 test rbx,rbx
			75 f7 # 7 jne 0` + out, 7, map[arch.Reg]uint64{arch.RBX: 1}, false, true},
		{"the first time, or again", `
			48 8d 5b ff # 0 lea rbx,[rbx-1]
			48 85 db # 4 test rbx,rbx
			75 f7 # 7 jne 0` + out, 4, map[arch.Reg]uint64{arch.RBX: 0}, false, false},
		{"paths meet on the way", `
			85 db # 0 test ebx,ebx
			74 01 # 2 je 5
			90 # 4 nop
			90 # 5 nop` + out, 5, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"the longer of two ways", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			90 # 4 nop
			90 # 5 nop` + out, 4, map[arch.Reg]uint64{arch.RBX: 1}, true, true},
		{"the shorter of two ways", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			90 # 4 nop
			90 # 5 nop` + out, 4, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, false, true},
		{"the other way leads out of the function", `
			85 db # 0 test ebx,ebx
			0f 88 00 10 00 00 # 2 js elsewhere` + out, 2, map[arch.Reg]uint64{arch.RBX: 1}, true, true},
		{"by a jump without a condition", `
			85 db # 0 test ebx,ebx
			78 01 # 2 js 5
			c3 # 4 ret
			eb 01 # 5 jmp 8
			c3 # 7 ret` + out, 2, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, true, true},
		{"both ways leave", `
			85 d2 # 0 test edx,edx
			74 0c # 2 je 10
			85 db # 4 test ebx,ebx
			78 01 # 6 js 9
			c3 # 8 ret
			e9 00 10 00 00 # 9 jmp elsewhere
			c3 # e ret
			c3 # f ret` + out, 6, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, false, false},
		{"one way goes round for ever", `
			85 d2 # 0 test edx,edx
			74 09 # 2 je d
			85 db # 4 test ebx,ebx
			78 01 # 6 js 9
			c3 # 8 ret
			90 # 9 nop
			eb fd # a jmp 9
			c3 # c ret` + out, 6, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, false, false},
		{"a jump that the function begins with", `
			75 05 # 0 jne 7
			85 db # 2 test ebx,ebx
			eb fa # 4 jmp 0
			c3 # 6 ret` + out, 0, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"two comparisons before the jump", `
			45 85 e4 # 0 test r12d,r12d
			78 02 # 3 js 7
			85 db # 5 test ebx,ebx
			74 01 # 7 je a
			c3 # 9 ret` + out, 7, map[arch.Reg]uint64{arch.RBX: 1, arch.R12: 1}, false, false},
		{"a register changed between, the flags not", `
			85 db # 0 test ebx,ebx
			b9 01 00 00 00 # 2 mov ecx,1
			78 01 # 7 js a
			c3 # 9 ret` + out, 7, map[arch.Reg]uint64{arch.RBX: 0xffffffff}, true, true},
		{"compared with what is not known", `
			39 d3 # 0 cmp ebx,edx
			78 01 # 2 js 5
			c3 # 4 ret` + out, 2, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
		{"the other way than one that is not known", `
			85 d2 # 0 test edx,edx
			0f 88 00 10 00 00 # 2 js elsewhere` + out, 2, map[arch.Reg]uint64{}, false, false},
		{"unknown jumps", `
			55 # 0 push rbp
			85 db # 1 test ebx,ebx
			78 02 # 3 js 7
			ff e0 # 5 jmp rax` + out, 3, map[arch.Reg]uint64{arch.RBX: 1}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			s := frame(f, c.regs)
			for in := range f.Calls {
				if in.Kind.IsCall() {
					s.PC = in.PC
				}
			}
			s.Passed = func(r arch.Reg) (uint64, bool) { return 5, r == arch.RDI }
			if came, ok := f.Evaluator(s).Came(base + c.way); ok != c.ok || came != c.came {
				t.Errorf("%v %v, want %v %v", came, ok, c.came, c.ok)
			}
		})
	}
}

// TestCameLost asks about a place outside of the function, and about code that can no longer be read.
func TestCameLost(t *testing.T) {
	const code = "\n85 db # 0 test ebx,ebx\n78 01 # 2 js 5\nc3 # 4 ret\nb9 01 00 00 00 # 5 mov ecx,1\ne8 00 10 00 00 # a call out"
	regs := map[arch.Reg]uint64{arch.RBX: 0xffffffff}
	f := function(t, arch.AMD64, code)
	s := frame(f, regs)
	if came, ok := f.Evaluator(s).Came(base + 2); !came || !ok {
		t.Fatalf("%v %v", came, ok)
	}
	for _, pc := range []uint64{base - 1, base + 6} {
		s.PC = pc
		if came, ok := f.Evaluator(s).Came(base + 2); came || ok {
			t.Errorf("at %#x, where no instruction begins: %v %v", pc, came, ok)
		}
	}
	for _, gone := range []uint64{0, 2, 5} {
		f := function(t, arch.AMD64, code)
		reread(f).gone = base + gone
		if came, ok := f.Evaluator(frame(f, regs)).Came(base + 2); came || ok {
			t.Errorf("without the code at %#x: %v %v", gone, came, ok)
		}
	}
}
