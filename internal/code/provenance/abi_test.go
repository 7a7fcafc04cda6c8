package provenance

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

// TestABI compares the conventions with the documents: the processor supplements of the System V ABI, the
// procedure call standards of ARM, RISC-V, LoongArch and PowerPC (ELFv2), and Microsoft's x64 convention.
func TestABI(t *testing.T) {
	for _, c := range []struct {
		arch         *arch.Arch
		windows      bool
		args, result string
		more         string // preserved, beyond CalleeSaved and the stack pointer
	}{
		{arch.AMD64, false, "rdi rsi rdx rcx r8 r9", "rax", ""},
		{arch.X32, false, "rdi rsi rdx rcx r8 r9", "rax", ""},
		{arch.AMD64, true, "rcx rdx r8 r9", "rax", "rsi rdi"},
		{arch.X86, false, "", "eax", ""},
		{arch.X86, true, "", "eax", ""},
		{arch.ARM64, false, "x0 x1 x2 x3 x4 x5 x6 x7", "x0", ""},
		{arch.ARM64, true, "x0 x1 x2 x3 x4 x5 x6 x7", "x0", ""},
		{arch.ARM, false, "r0 r1 r2 r3", "r0", ""},
		{arch.RISCV64, false, "a0 a1 a2 a3 a4 a5 a6 a7", "a0", ""},
		{arch.Loong64, false, "a0 a1 a2 a3 a4 a5 a6 a7", "a0", ""},
		{arch.PPC64LE, false, "r3 r4 r5 r6 r7 r8 r9 r10", "r3", ""},
		{arch.S390X, false, "r2 r3 r4 r5 r6", "r2", ""},
		{arch.SPARC64, false, "", "", ""},
	} {
		abi := ABIOf(c.arch, c.windows)
		var args []string
		for _, r := range abi.Args {
			args = append(args, c.arch.RegName(r))
		}
		if got := strings.Join(args, " "); got != c.args {
			t.Errorf("%s: arguments in %s, want %s", c.arch.Name, got, c.args)
		}
		want := arch.Reg(arch.NoReg)
		if c.result != "" {
			want, _ = c.arch.RegByName(c.result)
		}
		if abi.Return != want {
			t.Errorf("%s: result in %s, want %s", c.arch.Name, c.arch.RegName(abi.Return), c.result)
		}
		preserved := c.arch.CalleeSaved | arch.Mask(c.arch.SP)
		for _, name := range strings.Fields(c.more) {
			r, _ := c.arch.RegByName(name)
			preserved |= arch.Mask(r)
		}
		if abi.Preserved != preserved {
			t.Errorf("%s: preserved %v, want %v", c.arch.Name, abi.Preserved, preserved)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[Kind]string{Unknown: "unknown", Entry: "entry", EntrySlot: "entry-slot", Const: "const", StackAddr: "stack-address",
		Load: "load", Slot: "slot", Sum: "sum", Cut: "cut", Result: "result", Join: "join"} {
		if got := k.String(); got != want {
			t.Errorf("%d: %q, want %q", k, got, want)
		}
	}
}

// TestGoABI compares with cmd/compile/abi-internal.md of Go.
func TestGoABI(t *testing.T) {
	for _, c := range []struct {
		arch         *arch.Arch
		args, result string
	}{
		{arch.AMD64, "rax rbx rcx rdi rsi r8 r9 r10 r11", "rax"},
		{arch.X86, "", ""},
		{arch.ARM64, "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15", "x0"},
		{arch.ARM, "", ""},
		{arch.PPC64LE, "r3 r4 r5 r6 r7 r8 r9 r10 r14 r15 r16 r17", "r3"},
		{arch.RISCV64, "a0 a1 a2 a3 a4 a5 a6 a7 s0 s1 s2 s3 s4 s5 s6 s7", "a0"},
		{arch.Loong64, "a0 a1 a2 a3 a4 a5 a6 a7 t0 t1 t2 t3 t4 t5 t6 t7", "a0"},
		{arch.S390X, "", ""},
	} {
		for _, registers := range []bool{true, false} {
			abi := GoABI(c.arch, registers)
			var args []string
			for _, r := range abi.Args {
				args = append(args, c.arch.RegName(r))
			}
			want, result := c.args, c.result
			if !registers {
				want, result = "", ""
			}
			if got := strings.Join(args, " "); got != want {
				t.Errorf("%s: arguments in %s, want %s", c.arch.Name, got, want)
			}
			if got := abi.Return; (got == arch.NoReg) != (result == "") || result != "" && c.arch.RegName(got) != result {
				t.Errorf("%s: result in %v, want %q", c.arch.Name, got, result)
			}
			if abi.Preserved != arch.Mask(c.arch.SP) || !abi.Restarts {
				t.Errorf("%s: %+v", c.arch.Name, abi)
			}
		}
	}
}

// TestRestartsAtStart: a loop whose head is not the function's start has what its last round left.
func TestRestartsAtStart(t *testing.T) {
	f := function(t, arch.AMD64, `
		90 # nop
		48 8b 58 08 # L: mov rbx,[rax+8]
		e8 00 10 00 00 # call out
		48 89 c8 # mov rax,rcx
		eb f2 # jmp L`)
	f = New(arch.AMD64, GoABI(arch.AMD64, true), f.code, f.start, 0)
	if v := f.Before(base+1, Reg(arch.RAX)); v.Kind != Join {
		t.Errorf("%v", v.Kind)
	}
}

// TestRestarts: where a function begins again after its stack was made larger, its arguments are still those of the caller.
func TestRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		kind Kind
	}{
		"after a call": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		48 89 44 24 08 # L: mov [rsp+8],rax
		e8 00 10 00 00 # call out
		48 8b 44 24 08 # mov rax,[rsp+8]
		eb e4 # jmp start`, Entry},
		"a loop": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		48 89 44 24 08 # L: mov [rsp+8],rax
		90 90 90 90 90
		48 8b 40 08 # mov rax,[rax+8]
		eb e5 # jmp start`, Join},
		"a call on another way": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		e8 00 10 00 00 # L: call out
		75 02 # jne M
		90 # nop
		90 # nop
		48 8b 40 08 # M: mov rax,[rax+8]
		eb e6 # jmp start`, Join},
		"behind a return": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 06 # jbe M
		e8 00 10 00 00 # call out
		c3 # ret
		48 8b 40 08 # M: mov rax,[rax+8]
		eb ee # jmp start`, Join},
		"the call alone": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		e8 00 10 00 00 # L: call out
		eb ee # jmp start`, Entry},
		"as far behind a call as is looked at": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		e8 00 10 00 00 # L: call out
		` + strings.Repeat("90 ", maxReload-1) + `
		eb c7 # jmp start`, Entry},
		"far behind a call": {`
		49 3b 66 10 # cmp rsp,[r14+16]
		76 05 # jbe L
		48 8b 58 08 # mov rbx,[rax+8]
		c3 # ret
		e8 00 10 00 00 # L: call out
		` + strings.Repeat("90 ", maxReload) + `
		eb c6 # jmp start`, Join},
	} {
		f := function(t, arch.AMD64, c.code)
		for _, restarts := range []bool{true, false} {
			abi := GoABI(arch.AMD64, true)
			abi.Restarts = restarts
			f = New(arch.AMD64, abi, f.code, f.start, 0)
			kind := c.kind
			if !restarts {
				kind = Join
			}
			if v := f.Before(base+6, Reg(arch.RAX)); v.Kind != kind {
				t.Errorf("%s, restarts %v: %v, want %v", name, restarts, v.Kind, kind)
			}
		}
	}
}

// TestRestartsAtCall: a function may begin with the call, and where there is none it goes round.
func TestRestartsAtCall(t *testing.T) {
	for code, want := range map[string]Kind{
		"e8 fb 0f 00 00 # call elsewhere\n48 89 d0 # mov rax,rdx\neb f6 # jmp start": Entry,
		"90 # nop\n48 89 d0 # mov rax,rdx\neb fa # jmp start":                        Join,
	} {
		f := function(t, arch.AMD64, code)
		f = New(arch.AMD64, GoABI(arch.AMD64, true), f.code, f.start, 0)
		if v := f.Before(base, Reg(arch.RAX)); v.Kind != want {
			t.Errorf("%s: %v, want %v", code, v.Kind, want)
		}
	}
}

// A fading is code of which one address can be read only so often.
type fading struct {
	fakeCode
	at   uint64
	left int
}

func (c *fading) CodeAt(addr uint64) []byte {
	if addr == c.at {
		if c.left--; c.left < 0 {
			return nil
		}
	}
	return c.fakeCode.CodeAt(addr)
}

// TestRestartsLost: code that can no longer be read between a call and the jump to the start may be anything.
func TestRestartsLost(t *testing.T) {
	raw := function(t, arch.AMD64, "48 39 df # 0 cmp rdi,rbx\n73 08 # 3 jae 13\ne8 00 10 00 00 # 5 call out\n90 # 10 nop\neb f3 # 11 jmp 0\nc3 # 13 ret").code.(fakeCode)
	for left, want := range []Kind{Join, Join, Entry} { // it is read to be followed, and once more
		f := New(arch.AMD64, GoABI(arch.AMD64, true), &fading{raw, base + 10, left}, base, base+14)
		if f == nil {
			t.Fatal("the code cannot be followed")
		}
		if v := f.Before(base, Reg(arch.RAX)); v.Kind != want {
			t.Errorf("read %d times: %v, want %v", left, v.Kind, want)
		}
	}
}
