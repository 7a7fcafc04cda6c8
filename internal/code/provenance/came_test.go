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
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code)
			s := frame(f, c.regs)
			s.Passed = func(r arch.Reg) (uint64, bool) { return 5, r == arch.RDI }
			if came, ok := f.Evaluator(s).Came(base + c.way); ok != c.ok || ok && came != c.came {
				t.Errorf("%v %v, want %v %v", came, ok, c.came, c.ok)
			}
		})
	}
}
