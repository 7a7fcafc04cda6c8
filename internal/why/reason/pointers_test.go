package reason

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

const heap = 0x55555555b000 // writable, anonymous

var heapMapping = mapped(append([]libstate.Mapping{area(heap, heap+0x21000, rw)}, process...))

// Blocks freed by glibc: the last of its list, one with another block after it, and one whose first word is not
// a link.
const (
	freedKey  = 0x78a6d343fcb90044
	freedLast = heap + 0x2c0
	freedNext = heap + 0x300
)

func freedWord(addr uint64) (uint64, bool) {
	switch addr {
	case freedLast, freedNext + 0x40:
		return heap>>12 ^ (addr-freedLast)/0x80*0x18, true
	case freedNext:
		return heap>>12 ^ freedLast, true
	case freedLast + 8, freedNext + 8, freedNext + 0x48:
		return freedKey, true
	}
	return 0, false
}

func TestPoisonWords(t *testing.T) {
	for word, want := range map[uint64]string{
		0xfeeefeee: "fill pattern of freed memory (Windows)",
		0xdddddddd: "fill pattern of freed memory (Microsoft's debug heap)",
		0xdeadbeef: "a marker for invalid memory that programs use",
	} {
		in := Input{Arch: arch.X86} // as for an exception: there is no signal
		if got := in.poison(word); got != want {
			t.Errorf("%#x: got %q, want %q", word, got, want)
		}
	}
}

// What a pointer's value says about its origin.
func TestPointers(t *testing.T) {
	for _, c := range []struct {
		name string
		p    at
		addr uint64
		want string // "" if nothing
		sure string
	}{
		{"Windows's, elsewhere", at{a: arch.X86, code: loadRAX8, regs: regs{"eax": 0xfeeefeee}}, 0xfeeefef6, "eax holds 0xfeeefeee: a marker for invalid memory that programs use", "likely"},
		{"Microsoft's, elsewhere", at{a: arch.X86, code: loadRAX, regs: regs{"eax": 0xcdcdcdcd}}, 0xcdcdcdcd, "eax holds 0xcdcdcdcd: one byte repeated", "likely"},
		{"jemalloc, arm64", at{a: arch.ARM64, code: "000040f9", regs: regs{"x0": 0x5a5a5a5a5a5a5a5a}}, 0x005a5a5a5a5a5a5a, "x0 holds 0x5a5a5a5a5a5a5a5a: one byte repeated", "likely"},
		{"marked, arm", at{a: arch.ARM, code: "000093e5", regs: regs{"r3": 0xdeadbeef}}, 0xdeadbeef, "r3 holds 0xdeadbeef", "likely"},
		{"marked, 64 bits", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0xdeadbeef}}, 0xdeadbeef, "rax holds 0xdeadbeef", "likely"},
		{"no code", at{a: arch.X86}, 0xfeeefef6, "the address is near 0xfeeefeee", "likely"},
		{"text", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x6f77206f6c6c}}, 0x6f77206f6c6c, `rax holds text: "llo wo"`, "likely"},
		{"text, i386", at{a: arch.X86, code: loadRAX, regs: regs{"eax": 0x64636261}}, 0x64636261, `eax holds text: "abcd"`, "likely"},
		{"text, big-endian", at{a: arch.PPC, code: "813e0000", regs: regs{"r30": 0x61626364}}, 0x61626364, `text: "abcd"`, "likely"},
		{"called", at{a: arch.AMD64, regs: regs{"rip": 0x424242424242}}, 0x424242424242, `the address is text: "BBBBBB"`, "likely"},
		{"failed mmap", at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": ^uint64(0)}}, 7, "", ""}, // counts as near null
		{"failed mmap, first byte", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": ^uint64(0)}}, ^uint64(0), "rax holds -1", "likely"},
		{"freed by glibc", at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": heap >> 12, "rbx": heap + 0x2a0}}, heap>>12 + 8,
			"rax holds 0x55555555b, which glibc leaves in a freed block on page 0x55555555b000, where rbx points: use after free, or of a block that was not filled", "likely"},
		{"freed by glibc, perhaps", at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": heap >> 12}}, heap>>12 + 8, "use after free", "possible"},
		{"glibc's key", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": freedKey, "rbx": freedLast}}, freedKey,
			"rax holds 0x78a6d343fcb90044, which glibc left in the freed block 0x55555555b2c0, where rbx points: use after free", "likely"},
		{"glibc's key, another behind", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": freedKey, "rbx": freedNext}}, freedKey, "freed block 0x55555555b300", "likely"},
		{"a value behind no link", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": freedKey, "rbx": freedNext + 0x40}}, freedKey, "", ""},
		{"a number", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x123456789}}, 0x123456789, "", ""},
		{"an address", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x7f1234567000}}, 0x7f1234567000, "", ""},
		{"a dangling pointer without randomisation", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x555555894141}}, 0x555555894141, "", ""},
		{"likewise, printable", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x555555594141}}, 0x555555594141, "", ""},
		{"likewise, i386", at{a: arch.X86, code: loadRAX, regs: regs{"eax": 0x565a6161}}, 0x565a6161, "", ""},
		{"short text", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x6f6c6c65}}, 0x6f6c6c65, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.p.input(t)
			in.Mapping, in.Signal, in.Word = heapMapping, segv(1, c.addr), freedWord
			r := Why(in)
			got, sure := "", ""
			if len(r.Causes) > 0 {
				got, sure = r.Causes[0].Text, r.Causes[0].Confidence
			}
			if !strings.Contains(got, c.want) || (c.want == "") != (got == "") || sure != c.sure {
				t.Errorf("%s: %q [%s]; want %q [%s]", r.Text, got, sure, c.want, c.sure)
			}
		})
	}
}

func TestBitFlips(t *testing.T) {
	const good = heap + 0x100
	for _, c := range []struct {
		name  string
		p     at
		s     Signal
		first report.BitFlip // without confidence if there is none
		cause string
	}{
		{"near a register", at{a: arch.AMD64, code: loadRAX8, regs: regs{"rax": good ^ 1<<33, "rbx": good + 0x20}}, segv(1, good^1<<33+8),
			report.BitFlip{Address: good, Bit: 33, Register: "rax", Confidence: 0.625, Details: report.BitFlipDetails{NearbyRegisters: 1}},
			"single-bit error in rax: with bit 33 flipped it is 0x55555555b100, in mapped memory"},
		{"the lowest impossible bit", at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": good ^ 1<<47}}, segv(siKernel, 0),
			report.BitFlip{Address: good, Bit: 47, Register: "rax", Confidence: 0.925, Details: report.BitFlipDetails{WasNonCanonical: true}}, "bit 47"},
		{"the highest bit", at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": good ^ 1<<63}}, segv(siKernel, 0),
			report.BitFlip{Address: good, Bit: 63, Register: "rax", Confidence: 0.925, Details: report.BitFlipDetails{WasNonCanonical: true}}, "bit 63"},
		{"the highest possible bit", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": good ^ 1<<46}}, segv(1, good^1<<46),
			report.BitFlip{Address: good, Bit: 46, Register: "rax", Confidence: 0.25}, ""},
		{"alone", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": good ^ 1<<33}}, segv(1, good^1<<33),
			report.BitFlip{Address: good, Bit: 33, Register: "rax", Confidence: 0.25}, ""},
		{"not canonical", at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": good ^ 1<<60}}, segv(siKernel, 0),
			report.BitFlip{Address: good, Bit: 60, Register: "rax", Confidence: 0.925, Details: report.BitFlipDetails{WasNonCanonical: true}}, "bit 60"},
		{"null", at{a: arch.AMD64, code: "488b80d0000000", regs: regs{"rax": 1 << 32}}, segv(1, 0x1000000d0),
			report.BitFlip{Address: 0, Bit: 32, Register: "rax", Confidence: 0.625, Details: report.BitFlipDetails{IsNull: true}}, "a null pointer"},
		{"a pattern in a register", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": good ^ 1<<60, "rcx": 0xe5e5e5e5e5e5e5e5}}, segv(siKernel, 0),
			report.BitFlip{Address: good, Bit: 60, Register: "rax", Confidence: 0.4625, Details: report.BitFlipDetails{WasNonCanonical: true, PoisonRegisters: true}}, ""},
		{"jump", at{a: arch.AMD64, regs: regs{"rip": (text + 0x10) ^ 1<<40}}, segv(1, (text+0x10)^1<<40),
			report.BitFlip{Address: text + 0x10, Bit: 40, Confidence: 0.25}, ""},
		{"no code", at{a: arch.AMD64}, segv(1, good^1<<33), report.BitFlip{Address: good, Bit: 33, Confidence: 0.25}, ""},
		{"behind memory", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": heap + 0x21000}}, segv(1, heap+0x21000), report.BitFlip{}, ""},
		{"small", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x8000}}, segv(1, 0x8000), report.BitFlip{}, ""},
		{"guard page", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": none}}, segv(2, none), report.BitFlip{}, ""},
		{"32 bits", at{a: arch.X86, code: loadRAX, regs: regs{"eax": data ^ 1<<30}}, segv(1, data^1<<30), report.BitFlip{}, ""},
		{"arm64", at{a: arch.ARM64, code: "000040f9", regs: regs{"x0": good ^ 1<<33}}, segv(1, good^1<<33), report.BitFlip{}, ""},
		{"not writable there", at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": text ^ 1<<33}}, segv(1, text^1<<33), report.BitFlip{}, ""},
		{"text", at{a: arch.AMD64, code: loadRAX, regs: regs{"rax": 0x4141414141414141}}, segv(siKernel, 0), report.BitFlip{}, "text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := c.p.input(t)
			in.Mapping, in.Signal = heapMapping, c.s
			r := Why(in)
			if len(r.BitFlips) > 0 != (c.first.Confidence != 0) || len(r.BitFlips) > 0 && r.BitFlips[0] != c.first {
				t.Errorf("%s: %+v; want %+v first", r.Text, r.BitFlips, c.first)
			}
			cause := ""
			if len(r.Causes) > 0 {
				cause = r.Causes[0].Text
			}
			if !strings.Contains(cause, c.cause) || (cause == "") != (c.cause == "") {
				t.Errorf("%s: cause %q, want %q", r.Text, cause, c.cause)
			}
		})
	}
}

// Confidence ranks guesses as minidump-stackwalk does.
func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		d    report.BitFlipDetails
		want float64
	}{
		{report.BitFlipDetails{}, 0.25},
		{report.BitFlipDetails{IsNull: true}, 0.625},
		{report.BitFlipDetails{IsNull: true, WasLow: true}, 0.4375},
		{report.BitFlipDetails{NearbyRegisters: 2}, 0.6625},
		{report.BitFlipDetails{NearbyRegisters: 4}, 0.7375},
		{report.BitFlipDetails{NearbyRegisters: 40}, 0.7375},
		{report.BitFlipDetails{WasNonCanonical: true}, 0.925},
		{report.BitFlipDetails{WasNonCanonical: true, PoisonRegisters: true}, 0.4625},
	} {
		if got := confidence(&c.d); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%+v: %v, want %v", c.d, got, c.want)
		}
	}
}

func TestAccesses(t *testing.T) {
	in := at{a: arch.AMD64, code: movsb, regs: regs{"rsi": none, "rdi": data}}.input(t)
	in.Signal = segv(2, none)
	r := Why(in)
	want := []report.Access{{Address: data, Size: 1, Kind: "write"}, {Address: none, Size: 1, Kind: "read", GuardPage: true}}
	slices.SortFunc(r.Accesses, func(a, b report.Access) int { return int(a.Address) - int(b.Address) })
	if !slices.Equal(r.Accesses, want) {
		t.Errorf("%+v, want %+v", r.Accesses, want)
	}
	in = at{a: arch.AMD64, code: lockCmp, regs: regs{"rax": 0}}.input(t)
	in.Signal = segv(1, 0)
	if r = Why(in); len(r.Accesses) != 1 || r.Accesses[0].Kind != report.AccessReadWrite || r.Adjusted == nil || *r.Adjusted != (report.AdjustedAddress{Kind: report.AdjustedNullPointer}) {
		t.Errorf("%+v %+v", r.Accesses, r.Adjusted)
	}
	in = at{a: arch.AMD64, code: storeRAX, regs: regs{"rax": 1 << 60}}.input(t)
	in.Signal = segv(siKernel, 0)
	if r = Why(in); r.Adjusted == nil || *r.Adjusted != (report.AdjustedAddress{Kind: report.AdjustedNonCanonical, Address: 1 << 60}) {
		t.Errorf("%+v", r.Adjusted)
	}
}

// A growing stack that hits another mapping differs from one that is used up.
func TestCrowdedStack(t *testing.T) {
	in := at{a: arch.AMD64, code: pushRBP, regs: regs{"rsp": lowStack}}.input(t)
	in.Signal = segv(1, lowStack-8)
	in.Mapping = mapped(append([]libstate.Mapping{area(lowStack-0x90000, lowStack-0x80000, rd)}, process...))
	if r := Why(in); !strings.HasSuffix(r.Text, ", below the stack, which cannot grow: other memory ends at 0xbef80000") {
		t.Errorf("crowded: %q", r.Text)
	}
}

func TestSyscallName(t *testing.T) {
	for _, c := range []struct {
		a      *arch.Arch
		number int
		want   string
	}{
		{arch.AMD64, 0, "read"}, {arch.AMD64, 59, "execve"}, {arch.AMD64, 435, "clone3"}, {arch.X32, 1<<30 | 59, "execve"}, {arch.AMD64, 400, ""},
		{arch.X86, 11, "execve"}, {arch.X86, 102, "socketcall"}, {arch.ARM64, 221, "execve"}, {arch.RISCV64, 93, "exit"}, {arch.Loong64, 56, "openat"},
		{arch.ARM, 11, "execve"}, {arch.ARM, 322, "openat"}, {arch.MIPS, 4001, ""}, {nil, 1, ""}, {arch.AMD64, -1, ""}, {arch.AMD64, 1 << 20, ""},
	} {
		if got := SyscallName(c.a, c.number); got != c.want {
			t.Errorf("%v %d: %q, want %q", c.a, c.number, got, c.want)
		}
	}
}

// Whatever a dump contains, there is a reason and no panic.
func FuzzWhy(f *testing.F) {
	f.Add(uint8(0), uint8(11), int16(1), uint64(8), uint64(0), []byte{0x8b, 0x50, 8})
	f.Add(uint8(2), uint8(7), int16(1), uint64(1), uint64(1<<60), []byte{0, 0, 0x40, 0xf9})
	archs := []*arch.Arch{arch.AMD64, arch.X86, arch.ARM64, arch.ARM, arch.RISCV64, arch.PPC64, arch.S390X, arch.MIPS, arch.HPPA}
	f.Fuzz(func(t *testing.T, which, number uint8, code int16, addr, value uint64, insn []byte) {
		a := archs[int(which)%len(archs)]
		in := Input{Arch: a, Mapping: heapMapping, Word: func(v uint64) (uint64, bool) { return v ^ value, v&1 == 0 },
			Bytes: func(v uint64, buf []byte) int { return copy(buf, insn) }}
		for r := range arch.Reg(a.NumRegs()) {
			in.Regs.Set(r, value+uint64(r)<<(value%61))
		}
		if inst, err := disasm.Decode(a, insn, addr); err == nil {
			in.Inst = &inst
		}
		in.Signal = Signal{Number: int(number), Code: int(code), HasInfo: code%2 == 0, Addr: addr, HasAddr: value%2 == 0}
		if r := Why(in); !slices.Contains(report.CrashKinds(), r.Kind) {
			t.Errorf("kind %q", r.Kind)
		}
		for _, of := range []Exceptions{WindowsExceptions, MachExceptions} {
			e := Exception{Of: of, Code: uint32(number), Flags: uint32(code), Addr: addr, Params: []uint64{uint64(number % 9), addr}}
			if of == WindowsExceptions {
				e.Code |= 0xc0000000
			}
			if r := WhyException(in, e); !slices.Contains(report.CrashKinds(), r.Kind) {
				t.Errorf("kind %q", r.Kind)
			}
		}
	})
}
