package provenance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// fakeCode is code at base, and nothing else.
type fakeCode struct {
	base uint64
	code []byte
}

func (c fakeCode) CodeAt(addr uint64) []byte {
	if addr < c.base || addr-c.base >= uint64(len(c.code)) {
		return nil
	}
	return c.code[addr-c.base:]
}
func (c fakeCode) DataAt(uint64) []byte    { return nil }
func (c fakeCode) FuncAt(addr uint64) bool { return addr == c.base }
func (c fakeCode) NoReturn(uint64) bool    { return false }

const base = 0x1000

func function(t *testing.T, a *arch.Arch, code string) *Func {
	t.Helper()
	var raw []byte
	for _, line := range strings.Split(code, "\n") {
		text, _, _ := strings.Cut(line, "#")
		for _, b := range strings.Fields(text) {
			var v byte
			if _, err := fmt.Sscanf(b, "%02x", &v); err != nil {
				t.Fatal(err)
			}
			raw = append(raw, v)
		}
	}
	f := New(a, ABIOf(a, false), fakeCode{base, raw}, base, base+uint64(len(raw)))
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	return f
}

// text describes a value and what it was made of.
func text(f *Func, v *Value, depth int) string {
	if depth > 8 {
		return "..."
	}
	reg := func(r arch.Reg) string { return text(f, f.Before(v.At, Reg(r)), depth+1) }
	sum := func() string {
		var parts []string
		if v.Base != arch.NoReg {
			parts = append(parts, reg(v.Base))
		}
		if v.Index != arch.NoReg {
			parts = append(parts, fmt.Sprintf("%s*%d", reg(v.Index), v.Scale))
		}
		return strings.Join(append(parts, fmt.Sprint(v.K)), "+")
	}
	switch v.Kind {
	case Entry:
		return f.arch.RegName(v.Reg)
	case EntrySlot:
		return fmt.Sprintf("stack%+d", v.K)
	case Const:
		return fmt.Sprint(v.K)
	case StackAddr:
		return fmt.Sprintf("&stack%+d", v.K)
	case Load:
		return fmt.Sprintf("[%s]%d", sum(), v.Size)
	case Slot:
		return "slot(" + text(f, f.Stored(v), depth+1) + ")"
	case Sum:
		return "(" + sum() + ")"
	case Cut:
		return fmt.Sprintf("low%d(%s)", v.Size, reg(v.Base))
	case Join:
		var parts []string
		for _, a := range v.Alternatives() {
			parts = append(parts, text(f, a, depth+1))
		}
		return "one of " + strings.Join(parts, " | ")
	case Result:
		return fmt.Sprintf("result@%#x", v.At)
	}
	return v.Kind.String()
}

// TestBefore traces rax before the last instruction of a function, a return.
func TestBefore(t *testing.T) {
	const ret = "\nc3"
	for _, c := range []struct{ name, code, want string }{
		{"a move", "48 89 f8 # mov rax,rdi", "rdi"},
		{"zeroed", "31 c0 # xor eax,eax", "0"},
		{"a load", "48 8b 47 10 # mov rax,[rdi+16]", "[rdi+16]8"},
		{"two loads", "48 8b 47 10\n48 8b 40 08 # mov rax,[rax+8]", "[[rdi+16]8+8]8"},
		{"an index", "48 8b 04 f7 # mov rax,[rdi+rsi*8]", "[rdi+rsi*8+0]8"},
		{"a half", "89 f8 # mov eax,edi", "low4(rdi)"},
		{"part of a register", "b0 01 # mov al,1", "unknown"},
		{"an argument on the stack", "48 8b 44 24 08 # mov rax,[rsp+8]", "slot(stack+0)"},
		{"spilled and read again", "48 89 7c 24 f8 # mov [rsp-8],rdi\n48 8b 44 24 f8 # mov rax,[rsp-8]", "slot(rdi)"},
		{"pushed and popped", "57 # push rdi\n58 # pop rax", "slot(rdi)"},
		{"of another width", "89 7c 24 f8 # mov [rsp-8],edi\n48 8b 44 24 f8", "slot(unknown)"},
		{"never stored", "48 8b 44 24 f8 # mov rax,[rsp-8]", "slot(stack-16)"},
		{"by frame pointer", "55 # push rbp\n48 89 e5 # mov rbp,rsp\n48 89 75 f8 # mov [rbp-8],rsi\n31 f6\n48 8b 45 f8\n5d # pop rbp", "slot(rsi)"},
		{"a number stored", "48 c7 44 24 f8 05 00 00 00 # mov qword [rsp-8],5\n48 8b 44 24 f8", "slot(5)"},
		{"a vector stored", "0f 11 44 24 f0 # movups [rsp-16],xmm0\n48 8b 44 24 f8", "slot(unknown)"},
		{"the same on both paths", "48 89 f8\n48 85 f6 # test rsi,rsi\n74 03 # je +3\n48 89 f9 # mov rcx,rdi", "rdi"},
		{"another on each path", "48 89 f8\n48 85 f6\n74 03\n48 89 d0 # mov rax,rdx", "one of rdx | rdi"},
		{"a loop that leaves it alone", "48 89 f8\n48 ff ce # dec rsi\n75 fb # jne to dec", "rdi"},
		{"a loop over a list", "48 89 f8\n48 8b 00 # mov rax,[rax]\n48 85 c0 # test rax,rax\n75 f8 # jne to mov", ""},
		{"across a call", "e8 00 10 00 00 # call", "result@0x1000"},
		{"preserved by a call", "53 # push rbx\n48 89 fb # mov rbx,rdi\ne8 00 10 00 00\n48 89 d8 # mov rax,rbx\n5b # pop rbx", "rdi"},
		{"not preserved by a call", "51 # push rcx\ne8 00 10 00 00\n48 89 c8 # mov rax,rcx\n59", "unknown"},
		{"on the stack across a call", "57 # push rdi\ne8 00 10 00 00\n58", "slot(rdi)"},
		{"its address given away", "57\n48 89 e7 # mov rdi,rsp\ne8 00 10 00 00\n58", "slot(unknown)"},
		{"a conditional move", "48 89 f8\n48 85 f6\n48 0f 44 c2 # cmove rax,rdx", "unknown"},
		{"thread-local", "64 48 8b 04 25 08 00 00 00 # mov rax,fs:[8]", "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := function(t, arch.AMD64, c.code+ret)
			last := f.steps[len(f.steps)-1].Addr
			got := text(f, f.Before(last, Reg(arch.RAX)), 0)
			if c.want != "" && got != c.want {
				t.Errorf("rax is %s, want %s", got, c.want)
			}
		})
	}
}

// TestLeft reads a register that a called function is known to leave alone.
func TestLeft(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 89 f9       # mov rcx,rdi
		e8 04 00 00 00 # call to what follows
		48 89 c8       # mov rax,rcx
		c3
		31 c0          # xor eax,eax
		c3`)
	if got := text(f, f.Before(base+11, Reg(arch.RAX)), 0); got != "rdi" {
		t.Errorf("rax is %s, want rdi", got)
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

// FuzzTrace traces every register and some words of the frame through random code: it must end, and values must
// come from that code.
func FuzzTrace(f *testing.F) {
	f.Add([]byte{0x48, 0x89, 0xf8, 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8, 0xc3}, uint8(0))
	f.Add([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x75, 0xf8, 0x48, 0x8b, 0x45, 0xf8, 0x5d, 0xc3}, uint8(0))
	f.Add([]byte{0xe8, 0xfb, 0xff, 0xff, 0xff, 0x74, 0xf9, 0xeb, 0xf7}, uint8(0))
	f.Add([]byte{0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe0, 0x07, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6}, uint8(1))
	arches := []*arch.Arch{arch.AMD64, arch.ARM64, arch.X86, arch.ARM, arch.PPC64LE, arch.RISCV64, arch.S390X, arch.Loong64}
	f.Fuzz(func(t *testing.T, code []byte, which uint8) {
		a := arches[int(which)%len(arches)]
		if len(code) > 4096 {
			return
		}
		fn := New(a, ABIOf(a, false), fakeCode{base, code}, base, base+uint64(len(code)))
		if fn == nil {
			return
		}
		last := fn.steps[len(fn.steps)-1].Addr
		s := &State{PC: last, CFA: 0x8000, HasCFA: true,
			Reg:  func(r arch.Reg) (uint64, bool) { return uint64(r), r%2 == 0 },
			Read: func(addr uint64, _ int) (uint64, bool) { return addr, true }}
		e := fn.Evaluator(s)
		look := func(p Place) {
			v := fn.Before(last, p)
			for _, w := range v.Alternatives() {
				if w.Kind == Join || w.Kind != Unknown && w.Kind != Const && w.At-base > uint64(len(code)) {
					t.Fatalf("%v made at %#x", w.Kind, w.At)
				}
				e.Value(w, v.At)
			}
			e.Value(v, 0)
		}
		for r := range arch.Reg(a.NumRegs()) {
			look(Reg(r))
		}
		for off := int64(-64); off < 32; off += 8 {
			look(Frame(off, 8))
		}
		fn.Operand(last)
	})
}
