package provenance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// formText describes the form of the memory operand of the last instruction but one, or of the last of a kind that has one.
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
