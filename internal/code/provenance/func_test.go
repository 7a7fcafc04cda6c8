package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestInst(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 89 f8 # mov rax,rdi
		e8 00 10 00 00 # call out
		c3 # ret`)
	for addr, want := range map[uint64]disasm.Kind{base: disasm.Mov, base + 3: disasm.Call, base + 8: disasm.Ret} {
		if in, ok := f.Inst(addr); !ok || in.Kind != want || in.PC != addr {
			t.Errorf("%#x: %v at %#x, %v; want %v", addr, in.Kind, in.PC, ok, want)
		}
	}
	for _, addr := range []uint64{base - 1, base + 1, base + 9} {
		if in, ok := f.Inst(addr); ok || in.Len != 0 {
			t.Errorf("%#x: %v", addr, in.Kind)
		}
		if v := f.Before(addr, Reg(arch.RAX)); v.Kind != Unknown {
			t.Errorf("before %#x: %v", addr, v.Kind)
		}
		if v := f.Operand(addr); v.Kind != Unknown {
			t.Errorf("operand at %#x: %v", addr, v.Kind)
		}
	}
}

func TestLastCall(t *testing.T) {
	f := function(t, arch.AMD64, `
		e8 00 10 00 00 # 0 call out
		90 # 5 nop
		e8 00 10 00 00 # 6 call out
		85 ff # 11 test edi,edi
		74 05 # 13 je 20
		e8 00 10 00 00 # 15 call out
		90 # 20 nop
		e8 00 10 00 00 # 21 call out
		eb 01 # 26 jmp 29
		90 # 28 nop
		c3 # 29 ret`)
	for at, want := range map[uint64]uint64{6: 0, 11: 6, 13: 6, 29: 21} {
		if got, ok := f.LastCall(base + at); !ok || got != base+want {
			t.Errorf("%d: %d %v, want %d", at, got-base, ok, want)
		}
	}
	for _, at := range []uint64{0, 3, 15, 21} { // nothing before, no instruction, behind a branch, and where ways meet
		if got, ok := f.LastCall(base + at); ok {
			t.Errorf("%d: %d", at, got-base)
		}
	}
	far := function(t, arch.AMD64, "e8 00 10 00 00 # call\n"+strings.Repeat("90 # nop\n", 2*maxDecided)+"c3 # ret")
	if got, ok := far.LastCall(base + 5 + 2*maxDecided); ok {
		t.Errorf("far away: %d", got-base)
	}
}

func TestCallBefore(t *testing.T) {
	f := function(t, arch.AMD64, `
		e8 00 10 00 00 # call out
		90 # nop
		ff d3 # call rbx
		90 # nop
		c3 # ret`)
	for ra, want := range map[uint64]uint64{base + 5: base, base + 8: base + 6, base: 0, base + 6: 0, base + 9: 0, base + 10: 0, base + 4: 0, base - 1: 0, base + 7: 0} {
		got, ok := f.CallBefore(ra)
		if got != want || ok != (want != 0) {
			t.Errorf("return to %#x: call at %#x %v, want %#x", ra, got, ok, want)
		}
	}
	// The call is the last instruction: its return address belongs to what follows.
	f = function(t, arch.AMD64, `
		90 # nop
		e8 00 10 00 00 # call out`)
	if got, ok := f.CallBefore(base + 6); !ok || got != base+1 {
		t.Errorf("call at %#x %v", got, ok)
	}
	if got, ok := f.CallBefore(base + 7); ok {
		t.Errorf("call at %#x", got)
	}
	// As long as an instruction can be, with another one in it.
	f = function(t, arch.AMD64, `
		74 0e # je to the last byte of the next instruction, a nop
		2e 2e 2e 2e 2e 2e 2e 2e ff 14 25 00 10 90 90 # call cs:[0x...90901000], with eight prefixes
		c3 # L: ret`)
	if got, ok := f.CallBefore(base + 17); !ok || got != base+2 {
		t.Errorf("the longest call at %#x %v", got, ok)
	}
}

// TestNew refuses code that cannot be followed.
func TestNew(t *testing.T) {
	code := fakeCode{base, []byte{3, 0xe0, 0, 8, 0, 0, 0, 0}} // jr $ra; nop
	if f := New(arch.MIPS, ABIOf(arch.MIPS, false), code, base, base+8); f != nil {
		t.Error("delayed jumps are followed")
	}
}

// TestLostCode asks about code that can no longer be read.
func TestLostCode(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 89 f8 # mov rax,rdi
		ff d3 # call rbx
		c3 # ret`)
	if _, ok := f.Inst(base + 3); !ok {
		t.Fatal("the call is not there")
	}
	reread(f).left = 0
	for _, addr := range []uint64{base, base + 3, base + 5, base} {
		if in, ok := f.Inst(addr); ok || in.PC != 0 {
			t.Errorf("%#x: %v %v", addr, in.Kind, ok)
		}
	}
	if v := f.Operand(base + 3); v.Kind != Unknown {
		t.Errorf("operand: %s", text(f, v))
	}
	if v := f.Before(base+5, Reg(arch.RBX)); v.Kind != Unknown {
		t.Errorf("rbx is %s", text(f, v))
	}
	if at, ok := f.CallBefore(base + 5); ok {
		t.Errorf("call at %#x", at)
	}

	// The operand in memory of arithmetic, and the jump that may decide.
	f = function(t, arch.AMD64, `
		48 03 06 # add rax,[rsi]
		48 85 ff # test rdi,rdi
		74 01 # je L
		90 # nop
		c3 # L: ret`)
	v := f.Before(base+3, Reg(arch.RAX))
	if got := f.Decided(base + 8); got != base+6 {
		t.Errorf("decided at %#x", got)
	}
	reread(f).left = 0
	f.at = -1 // nor is it decoded already
	if got := text(f, f.Second(v)); got != "unknown" {
		t.Errorf("what was added is %s", got)
	}
	if got := f.Decided(base + 8); got != base+6 {
		t.Errorf("decided at %#x, without the code", got)
	}

	// What the lost code does with the frame is not known.
	const store = `
		56 # push rsi
		e8 00 10 00 00 # call out
		58 # pop rax
		90 # nop
		c3 # ret`
	for gone, want := range map[uint64]string{0: "slot(rsi)", base + 7: "slot(unknown)"} {
		f = function(t, arch.AMD64, store)
		reread(f).gone = gone
		if got := text(f, f.Before(base+7, Reg(arch.RAX))); got != want {
			t.Errorf("without the code at %#x: %s, want %s", gone, got, want)
		}
	}

	// It may also vanish while the function is followed.
	raw := f.code.(*reader).fakeCode
	for left := range 64 {
		if f := New(arch.AMD64, ABIOf(arch.AMD64, false), &reader{raw, map[uint64]int{}, left, 0}, base, base+9); f != nil {
			if got := text(f, f.Before(base+7, Reg(arch.RAX))); got != "slot(rsi)" && !strings.Contains(got, "unknown") {
				t.Errorf("%d reads: %s", left, got)
			}
		}
	}
}

// TestOperand finds the target of indirect calls and jumps.
func TestOperand(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"a register", `
			48 89 fb # mov rbx,rdi
			ff d3 # call rbx`, "rdi"},
		{"memory", `
			48 89 fb # mov rbx,rdi
			ff 53 08 # call [rbx+8]`, "[rdi+8]8"},
		{"a table", `
			48 89 fb # mov rbx,rdi
			ff 24 f3 # jmp [rbx+rsi*8]`, "[rdi+rsi*8+0]8"},
		{"the frame", `
			48 89 7c 24 f8 # mov [rsp-8],rdi
			ff 64 24 f8 # jmp [rsp-8]`, "slot(rdi)"},
		{"a fixed address", `
			48 89 fb # mov rbx,rdi
			ff 25 08 00 00 00 # jmp [rip+8]`, "[4113]8"},
		{"thread-local", `
			48 89 fb # mov rbx,rdi
			64 ff 23 # jmp fs:[rbx]`, "unknown"},
		{"none", `
			48 89 fb # mov rbx,rdi
			c3 # ret`, "unknown"},
		{"direct", `
			48 89 fb # mov rbx,rdi
			e8 00 10 00 00 # call out`, "unknown"},
	} {
		f := function(t, arch.AMD64, c.code)
		last := f.steps[len(f.steps)-1].Addr
		v := f.Operand(last)
		if got := text(f, v); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if f.Operand(last) != v {
			t.Errorf("%s: another value the second time", c.name)
		}
		if v.Kind != Unknown && v.Kind != Entry && v.At != last {
			t.Errorf("%s: made at %#x", c.name, v.At)
		}
	}
	for code, want := range map[string]string{ // divisors, after mov rbx,rdi
		"f7 7b 08 # idiv dword ptr [rbx+8]":    "[rdi+8]4",
		"48 f7 7b 08 # idiv qword ptr [rbx+8]": "[rdi+8]8",
		"48 f7 fb # idiv rbx":                  "rdi",
	} {
		f := function(t, arch.AMD64, "48 89 fb # mov rbx,rdi\n"+code+"\nc3 # ret")
		if got := text(f, f.Operand(base+3)); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	f := function(t, arch.AMD64, `
		ff 53 08 # call [rbx+8]
		c3 # ret`)
	f.Operand(base)
	if got := text(f, f.Before(base+3, Reg(arch.RAX))); got != "result@0x1000" {
		t.Errorf("the result is %s", got)
	}
}

// TestSame compares copies of values: one Value stands for all of them.
func TestSame(t *testing.T) {
	f := function(t, arch.AMD64, `
		48 8b 07 # mov rax,[rdi]
		48 89 c1 # mov rcx,rax
		51 # push rcx
		5a # pop rdx
		48 8b 37 # mov rsi,[rdi]
		c3 # ret`)
	last := f.steps[len(f.steps)-1].Addr
	at := func(r arch.Reg) *Value { return f.Before(last, Reg(r)) }
	if at(arch.RAX) != at(arch.RCX) || f.Stored(at(arch.RDX)) != at(arch.RAX) {
		t.Error("a copy is another value")
	}
	if at(arch.RAX) == at(arch.RSI) {
		t.Error("two loads are one value")
	}
	if at(arch.RDI) != f.Before(base, Reg(arch.RDI)) {
		t.Error("a parameter is another value before the last instruction")
	}
	if sp := at(arch.RSP); at(arch.RSP) != sp {
		t.Error("the stack pointer is two values")
	}
	if v := at(arch.RDI); v.At != base || v.Size != 0 {
		t.Errorf("a parameter made at %#x, of %d bytes", v.At, v.Size)
	}
	if v := f.Before(last, Frame(8, 4)); v.At != base || v.K != 8 || v.Size != 4 || v.Reg != arch.NoReg || v.Base != arch.NoReg {
		t.Errorf("a word of the caller: %+v", v)
	}
	if v := at(arch.RAX); v.At != base || v.Size != 8 || v.Signed || v.Into != 0 || v.Reg != arch.NoReg || v.Index != arch.NoReg {
		t.Errorf("a load: %+v", v)
	}
}

// TestReadAndWritten has an instruction that reads a slot, and writes to another.
func TestReadAndWritten(t *testing.T) {
	f := function(t, arch.AMD64, `
		56 # 0 push rsi
		ff 34 24 # 1 push qword ptr [rsp]
		58 # 4 pop rax
		59 # 5 pop rcx
		c3 # 6 ret`)
	if got := text(f, f.Before(base+6, Reg(arch.RCX))); got != "slot(rsi)" {
		t.Errorf("what was read is %s", got)
	}
}

// TestThumb follows code of an instruction set that the lowest bit of its address selects.
func TestThumb(t *testing.T) {
	raw := function(t, arch.ARM, `
		10 b5 # push {r4,lr}
		0c 46 # mov r4,r1
		60 68 # ldr r0,[r4,#4]
		05 23 # movs r3,#5
		10 bd # pop {r4,pc}`).code
	f := New(arch.ARM, ABIOf(arch.ARM, false), raw, base+1, base+10)
	if f == nil {
		t.Fatal("the code cannot be followed")
	}
	v := f.Before(base+8, Reg(0))
	if got := text(f, v); got != "[r1+4]4" || v.At != base+4 {
		t.Errorf("%s made at %#x", got, v.At)
	}
	if v := f.Before(base+8, Reg(3)); v.Kind != Const || v.K != 5 || v.At != base+6 {
		t.Errorf("%v %d made at %#x", v.Kind, v.K, v.At)
	}
	if v := f.Before(base+8, Reg(1)); v.At != base {
		t.Errorf("a parameter made at %#x", v.At)
	}
}

// TestThumbCallee calls Thumb code: its instructions are decoded as such.
func TestThumbCallee(t *testing.T) {
	const head = "10 b5 # push {r4,lr}\n0b 46 # mov r3,r1\n00 f0 02 f8 # bl L\n18 46 # mov r0,r3\n10 bd # pop {r4,pc}\n"
	for code, want := range map[string]string{
		"70 47 # L: bx lr":                             "r1",
		"13 46 # L: mov r3,r2\n70 47":                  "unknown",
		"08 bf # L: it eq\n02 20 # moveq r0,#2\n70 47": "unknown",
	} {
		raw := function(t, arch.ARM, head+code+"\n00 bf").code
		f := New(arch.ARM, ABIOf(arch.ARM, false), raw, base+1, base+12)
		if f == nil {
			t.Fatal("the code cannot be followed")
		}
		if got := text(f, f.Before(base+10, Reg(0))); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	a, b := &Value{Kind: Const, K: 1}, &Value{Kind: Const, K: 2}
	inner := &Value{Kind: Join, alts: []*Value{a, b}}
	outer := &Value{Kind: Join, alts: []*Value{inner, a}}
	inner.alts = append(inner.alts, outer) // a loop
	if got := outer.Alternatives(); len(got) != 2 || got[0] != a && got[1] != a || got[0] == got[1] {
		t.Errorf("%v", got)
	}
	if got := a.Alternatives(); len(got) != 1 || got[0] != a {
		t.Errorf("%v", got)
	}
	outer.same = a
	if got := outer.Alternatives(); len(got) != 1 || got[0] != a || outer.resolve() != a {
		t.Errorf("resolved: %v", got)
	}
	if got := inner.alternatives(3); len(got) != 2 { // inner, a, b
		t.Errorf("three visited: %v", got)
	}
	if got := inner.alternatives(2); got != nil {
		t.Errorf("too many: %v", got)
	}
	// As many as are visited, and one more.
	many := &Value{Kind: Join}
	for range maxJoins - 1 {
		many.alts = append(many.alts, &Value{Kind: Const})
	}
	if got := many.Alternatives(); len(got) != maxJoins-1 {
		t.Errorf("%d of %d alternatives", len(got), maxJoins-1)
	}
	many.alts = append(many.alts, &Value{Kind: Const})
	if got := many.Alternatives(); got != nil {
		t.Errorf("%d alternatives", len(got))
	}
}
