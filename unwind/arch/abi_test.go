package arch

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// An abi is what the documents say of an architecture, written down from them and not
// from this package: a second entry of every number.
//
// Lists of registers are read by items: "16" says the number, or the offset, of the next
// register, "r0-r3" is a run of registers, and "_" a number without one.
type abi struct {
	arch *Arch
	kind Family
	doc  string // where the DWARF numbers and the registers that calls preserve are from

	word, slot, align, redZone int
	big                        bool
	pc, sp, fp, ra             string
	dwarf                      string // numbers
	saved                      string
	mask, bias, cfa, ret       Address
	up, slots                  bool

	size  int    // of struct user_regs_struct, or what stands for it, in bytes
	block string // offsets in it, in bytes; each register takes slot bytes
	fp64  string // offsets in the floating-point block; each register takes 8 bytes
	step  int    // from one of them to the next
}

const (
	mipsDWARF = "0 zero at v0 v1 a0-a3 t0-t7 s0-s7 t8 t9 k0 k1 gp sp fp ra 52 f20-f31 64 hi lo"
	mipsNames = "zero at v0 v1 a0-a3 t0-t7 s0-s7 t8 t9 k0 k1 gp sp fp ra lo hi pc badvaddr status cause"
	ppcDWARF  = "0 r0-r31 46 f14-f31 64 cr lr ctr 67 nip cr 70 cr 76 xer 99 nip 108 lr ctr"
	ppcNames  = "0 r0-r31 nip msr orig_r3 ctr lr xer cr"
	s390DWARF = "0 r0-r15 f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15 48 a0 a1 64 pswm"
)

var abis = []abi{
	{
		arch: AMD64, kind: FamilyX86,
		doc:  "System V ABI, AMD64 Architecture Processor Supplement, 3.2.1 and figure 3.36; user_regs_struct of arch/x86/include/asm/user_64.h",
		word: 8, slot: 8, align: 1, redZone: 128, pc: "rip", sp: "rsp", fp: "rbp",
		dwarf: "0 rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip 49 eflags es cs ss ds fs gs 58 fs_base gs_base",
		saved: "rbx rbp r12-r15",
		size:  216, block: "0 r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs",
	},
	{
		arch: X32, kind: FamilyX86,
		doc:  "System V ABI, AMD64 Architecture Processor Supplement, chapter 10 (ILP32)",
		word: 4, slot: 8, align: 1, redZone: 128, pc: "rip", sp: "rsp", fp: "rbp",
		dwarf: "0 rax rdx rcx rbx rsi rdi rbp rsp r8-r15 rip 49 eflags es cs ss ds fs gs 58 fs_base gs_base",
		saved: "rbx rbp r12-r15",
		size:  216, block: "0 r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs",
	},
	{
		arch: X86, kind: FamilyX86,
		doc:  "System V ABI, Intel386 Architecture Processor Supplement, 2.2.2 and table 2.14; arch/x86/include/asm/user_32.h",
		word: 4, slot: 4, align: 1, pc: "eip", sp: "esp", fp: "ebp",
		dwarf: "0 eax ecx edx ebx esp ebp esi edi eip eflags 40 es cs ss ds fs gs",
		saved: "ebx ebp esi edi",
		size:  68, block: "0 ebx ecx edx esi edi ebp eax ds es fs gs orig_eax eip cs eflags esp ss",
	},
	{
		arch: ARM64, kind: FamilyARM64,
		doc:  "DWARF for the Arm 64-bit Architecture, 4.1; Procedure Call Standard for AArch64, 6.1.1 and 6.1.2: x18 belongs to the platform, and Linux lets calls change it; arch/arm64/include/uapi/asm/ptrace.h",
		word: 8, slot: 8, align: 4, pc: "pc", sp: "sp", fp: "x29", ra: "x30", mask: 0xffff_0000_0000_0000,
		dwarf: "0 x0-x30 sp pc 72 d8-d15",
		saved: "x19-x29 d8-d15",
		size:  272, block: "0 x0-x30 sp pc cpsr",
		fp64: "128 d8-d15", step: 16,
	},
	{
		arch: ARM, kind: FamilyARM,
		doc:  "DWARF for the Arm Architecture, 4.1, which numbers SPSR (128) but not CPSR; Procedure Call Standard for the Arm Architecture, 6.1.1 and 6.1.2; arch/arm/include/uapi/asm/ptrace.h, user_vfp of arch/arm/include/asm/user.h",
		word: 4, slot: 4, align: 2, pc: "pc", sp: "sp", fp: "r11", ra: "lr", mask: 1,
		dwarf: "0 r0-r12 sp lr pc 264 d8-d15",
		saved: "r4-r11 d8-d15",
		size:  72, block: "0 r0-r12 sp lr pc cpsr orig_r0",
		fp64: "64 d8-d15", step: 8,
	},
	{
		arch: PPC64LE, kind: FamilyPPC,
		doc:  "64-Bit ELF V2 ABI Specification, 2.2.2.2, 2.2.3.4 and table 2.26, with the further numbers of gcc and the kernel; arch/powerpc/include/uapi/asm/ptrace.h",
		word: 8, slot: 8, align: 4, redZone: 288, pc: "nip", sp: "r1", fp: "r31", ra: "lr",
		dwarf: ppcDWARF, saved: "r13-r31 f14-f31",
		size: 384, block: ppcNames, fp64: "112 f14-f31", step: 8,
	},
	{
		arch: PPC64, kind: FamilyPPC,
		doc:  "64-bit PowerPC ELF ABI Supplement, 3.2.1 and 3.2.3; numbers as for ELF V2",
		word: 8, slot: 8, align: 4, redZone: 288, big: true, pc: "nip", sp: "r1", fp: "r31", ra: "lr",
		dwarf: ppcDWARF, saved: "r13-r31 f14-f31",
		size: 384, block: ppcNames, fp64: "112 f14-f31", step: 8,
	},
	{
		arch: PPC, kind: FamilyPPC,
		doc:  "Power Architecture 32-bit ABI Supplement, 3.2.1; LR, CTR and CR as gcc numbers them",
		word: 4, slot: 4, align: 4, big: true, pc: "nip", sp: "r1", fp: "r31", ra: "lr",
		dwarf: ppcDWARF, saved: "r2 r13-r31 f14-f31",
		size: 192, block: ppcNames, fp64: "112 f14-f31", step: 8,
	},
	{
		arch: RISCV64, kind: FamilyRISCV,
		doc:  "RISC-V ABIs Specification, \"DWARF Register Numbers\", \"Integer Register Convention\", \"Floating-point Register Convention\"; gp and tp do not change; arch/riscv/include/uapi/asm/ptrace.h",
		word: 8, slot: 8, align: 2, pc: "pc", sp: "sp", fp: "s0", ra: "ra",
		dwarf: "0 zero ra sp gp tp t0-t2 s0 s1 a0-a7 s2-s11 t3-t6 40 fs0 fs1 50 fs2-fs11",
		saved: "gp tp s0-s11 fs0-fs11",
		size:  256, block: "0 pc ra sp gp tp t0-t2 s0 s1 a0-a7 s2-s11 t3-t6",
		fp64: "64 fs0 fs1 144 fs2-fs11", step: 8,
	},
	{
		arch: S390X, kind: FamilyS390,
		doc:  "ELF ABI s390x Supplement, 1.2.1 and table 1.20; access registers 0 and 1 are the thread pointer; arch/s390/include/uapi/asm/ptrace.h",
		word: 8, slot: 8, align: 2, big: true, pc: "pc", sp: "r15", fp: "r11", ra: "r14", cfa: 160,
		dwarf: s390DWARF, saved: "r6-r13 f8-f15 a0 a1",
		size: 216, block: "0 pswm pc r0-r15 208 orig_r2", fp64: "8 f0-f15", step: 8,
	},
	{
		arch: S390, kind: FamilyS390,
		doc:  "S/390 ELF ABI Supplement, \"Register Usage\" and \"DWARF Register Number Mapping\"",
		word: 4, slot: 4, align: 2, big: true, pc: "pc", sp: "r15", fp: "r11", ra: "r14", cfa: 96, mask: 0x8000_0000,
		dwarf: s390DWARF, saved: "r6-r13 f4 f6 a0 a1",
		size: 140, block: "0 pswm pc r0-r15 136 orig_r2", fp64: "8 f0-f15", step: 8,
	},
	{
		arch: MIPS, kind: FamilyMIPS,
		doc:  "System V ABI, MIPS RISC Processor Supplement, \"Registers and the Stack Frame\"; gcc's numbers; arch/mips/include/asm/elf.h",
		word: 4, slot: 4, align: 4, big: true, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp",
		size: 180, block: "24 " + mipsNames,
	},
	{
		arch: MIPSEL, kind: FamilyMIPS,
		doc:  "as MIPS",
		word: 4, slot: 4, align: 4, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp",
		size: 180, block: "24 " + mipsNames,
	},
	{
		arch: MIPSN32, kind: FamilyMIPS,
		doc:  "MIPSpro N32 ABI Handbook, table 2-1: of the floating-point registers the even ones from f20 on",
		word: 4, slot: 8, align: 4, big: true, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp f20 f22 f24 f26 f28 f30",
		size: 360, block: "0 " + mipsNames, fp64: "160 f20-f31", step: 8,
	},
	{
		arch: MIPSN32EL, kind: FamilyMIPS,
		doc:  "as MIPSN32",
		word: 4, slot: 8, align: 4, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp f20 f22 f24 f26 f28 f30",
		size: 360, block: "0 " + mipsNames, fp64: "160 f20-f31", step: 8,
	},
	{
		arch: MIPS64, kind: FamilyMIPS,
		doc:  "MIPSpro 64-Bit Porting and Transition Guide, table 2-1",
		word: 8, slot: 8, align: 4, big: true, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp f24-f31",
		size: 360, block: "0 " + mipsNames, fp64: "160 f20-f31", step: 8,
	},
	{
		arch: MIPS64EL, kind: FamilyMIPS,
		doc:  "as MIPS64",
		word: 8, slot: 8, align: 4, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: mipsDWARF, saved: "s0-s7 gp fp f24-f31",
		size: 360, block: "0 " + mipsNames, fp64: "160 f20-f31", step: 8,
	},
	{
		arch: Loong64, kind: FamilyLoongArch,
		doc:  "ELF psABI for the LoongArch Architecture, \"DWARF Register Numbers\"; Procedure Calling Convention, \"Register Convention\"; tp and r21 do not change; arch/loongarch/include/uapi/asm/ptrace.h",
		word: 8, slot: 8, align: 4, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: "0 zero ra tp sp a0-a7 t0-t8 u0 fp s0-s8 56 fs0-fs7",
		saved: "tp u0 fp s0-s8 fs0-fs7",
		size:  360, block: "0 zero ra tp sp a0-a7 t0-t8 u0 fp s0-s8 orig_a0 pc badvaddr",
		fp64: "192 fs0-fs7", step: 8,
	},
	{
		arch: SPARC64, kind: FamilySPARC,
		doc:  "SPARC Compliance Definition 2.4, 64-bit ABI: the window is preserved, and g6 and g7 are the system's; gcc's numbers; elf_gregset_t of arch/sparc/kernel/ptrace_64.c",
		word: 8, slot: 8, align: 4, big: true, slots: true, pc: "pc", sp: "sp", fp: "fp", ra: "o7", bias: 2047, ret: 8,
		dwarf: "0 g0-g7 o0-o5 sp o7 l0-l7 i0-i5 fp i7",
		saved: "g6 g7 l0-l7 i0-i5 fp i7",
		size:  288, block: "0 g0-g7 o0-o5 sp o7 l0-l7 i0-i5 fp i7 tstate pc npc y",
	},
	{
		arch: M68K, kind: FamilyM68K,
		doc:  "System V ABI, Motorola 68000 Processor Family Supplement, \"Function Calling Sequence\"; gcc's numbers; ELF_CORE_COPY_REGS of arch/m68k/include/asm/elf.h",
		word: 4, slot: 4, align: 2, big: true, pc: "pc", sp: "sp", fp: "fp",
		dwarf: "0 d0-d7 a0-a5 fp sp 24 pc",
		saved: "d2-d7 a2-a5 fp",
		size:  80, block: "0 d1-d7 a0-a5 fp d0 sp orig_d0 sr pc",
	},
	{
		arch: Alpha, kind: FamilyAlpha,
		doc:  "Tru64 UNIX Calling Standard for Alpha Systems, 2.1; gcc's numbers; dump_elf_thread of arch/alpha/kernel/process.c",
		word: 8, slot: 8, align: 4, pc: "pc", sp: "sp", fp: "fp", ra: "ra",
		dwarf: "0 v0 t0-t7 s0-s5 fp a0-a5 t8-t11 ra t12 at gp sp",
		saved: "s0-s5 fp",
		size:  264, block: "0 v0 t0-t7 s0-s5 fp a0-a5 t8-t11 ra t12 at gp sp pc unique",
	},
	{
		arch: HPPA, kind: FamilyHPPA,
		doc:  "32-bit PA-RISC Run-time Architecture, 2.1; gcc's numbers; elf_gregset_t of arch/parisc/include/asm/elf.h",
		word: 4, slot: 4, align: 4, big: true, slots: true, up: true, pc: "pc", sp: "r30", fp: "r3", ra: "r2", mask: 3,
		dwarf: "1 r1-r31",
		saved: "r3-r18 r27 cr27",
		size:  320, block: "0 psw r1-r31 160 pc pc2 176 sar iir isr ior 212 cr27",
	},
}

// list reads a list of registers: calls set with each name and its number, which goes up
// by step.
func list(t *testing.T, text string, step int, set func(n int, name string)) {
	t.Helper()
	n := 0
	for _, item := range strings.Fields(text) {
		if at, err := strconv.Atoi(item); err == nil {
			n = at
			continue
		}
		first, last, run := strings.Cut(item, "-")
		if !run {
			set(n, item)
			n += step
			continue
		}
		prefix := strings.TrimRight(first, "0123456789")
		from, err1 := strconv.Atoi(first[len(prefix):])
		to, err2 := strconv.Atoi(strings.TrimPrefix(last, prefix))
		if err1 != nil || err2 != nil {
			t.Fatalf("not a run of registers: %s", item)
		}
		for i := from; i <= to; i++ {
			set(n, prefix+strconv.Itoa(i))
			n += step
		}
	}
}

// reg is the register of that name; NoReg for "".
func (a *abi) reg(t *testing.T, name string) Reg {
	t.Helper()
	if name == "" {
		return NoReg
	}
	r, ok := a.arch.RegByName(name)
	if !ok {
		t.Fatalf("no register %q", name)
	}
	return r
}

// TestABI compares every architecture with the documents of its ABI.
func TestABI(t *testing.T) {
	for i := range abis {
		a := &abis[i]
		t.Run(a.arch.Name, func(t *testing.T) {
			t.Log(a.doc)
			a.dwarfNumbers(t)
			a.description(t)
		})
	}
}

func (a *abi) dwarfNumbers(t *testing.T) {
	want := map[uint64]string{}
	first := map[string]int{}
	list(t, a.dwarf, 1, func(n int, name string) {
		want[uint64(n)] = name
	})
	for n := range uint64(1024) {
		r, ok := a.arch.FromDWARF(n)
		if name := want[n]; ok != (name != "") || ok && a.arch.RegName(r) != name {
			t.Errorf("DWARF register %d is %s, want %q", n, a.arch.RegName(r), name)
		}
		if _, known := first[want[n]]; !known && want[n] != "" {
			first[want[n]] = int(n)
		}
	}
	for r := range Reg(a.arch.NumRegs()) {
		name := a.arch.RegName(r)
		n, numbered := first[name]
		switch got := a.arch.DWARF(r); {
		case got < 0:
			// PowerPC's program counter has only numbers that it takes over.
			if numbered && name != "nip" {
				t.Errorf("%s has no DWARF number, want %d", name, n)
			}
		case want[uint64(got)] != name:
			t.Errorf("%s is DWARF register %d", name, got)
		}
	}
}

func (a *abi) description(t *testing.T) {
	var saved RegMask
	list(t, a.saved, 1, func(_ int, name string) { saved |= Mask(a.reg(t, name)) })
	for r := range Reg(MaxRegs) {
		if got, want := a.arch.CalleeSaved.Has(r), saved.Has(r); got != want {
			t.Errorf("calls preserve %s: %v, want %v", a.arch.RegName(r), got, want)
		}
	}
	names := map[string]bool{}
	for r := range Reg(a.arch.NumRegs()) {
		names[a.arch.RegName(r)] = true
	}
	for _, text := range []string{a.dwarf, a.block, a.fp64, a.saved} {
		list(t, text, 1, func(_ int, name string) { delete(names, name) })
	}
	for name := range names { // what is no register of the processor's, or in no block
		if !slices.Contains([]string{"thumb", "cpsr", "fs_base", "gs_base"}, name) {
			t.Errorf("%s is in no document", name)
		}
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"family", a.arch.Family, a.kind}, {"word", a.arch.WordSize, a.word}, {"register", a.arch.RegSize, a.slot}, {"alignment of instructions", a.arch.PCAlign, a.align},
		{"red zone", a.arch.RedZone, a.redZone}, {"big-endian", a.arch.Big(), a.big}, {"PC", a.arch.PC, a.reg(t, a.pc)},
		{"SP", a.arch.SP, a.reg(t, a.sp)}, {"FP", a.arch.FP, a.reg(t, a.fp)}, {"RA", a.arch.RA, a.reg(t, a.ra)},
		{"bits that are no part of an address", a.arch.CodeMask, a.mask}, {"stack bias", a.arch.StackBias, a.bias},
		{"CFA offset", a.arch.CFAOffset, a.cfa}, {"return offset", a.arch.ReturnOffset, a.ret},
		{"stack grows up", a.arch.StackGrowsUp, a.up}, {"delay slots", a.arch.DelaySlots, a.slots},
		{"size of the register block", a.arch.GRegSetSize(), a.size}, {"mode", a.arch.Mode, map[bool]Reg{true: ARMThumb, false: NoReg}[a.arch == ARM]},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
}

// TestBlocks: each register of the register blocks is read from where the kernel puts it,
// and only from there.
func TestBlocks(t *testing.T) {
	for i := range abis {
		a := &abis[i]
		t.Run(a.arch.Name, func(t *testing.T) {
			order := a.arch.ByteOrder
			block := slices.Repeat([]byte{0xee}, a.size+64)
			want := map[string]uint64{}
			put := func(block []byte, at, size int, name string) {
				want[name] = uint64(0x1000 + 4*len(want)) // an address that no mode or mask changes
				if size == 4 {
					order.PutUint32(block[at:], uint32(want[name]))
				} else {
					order.PutUint64(block[at:], want[name])
				}
			}
			list(t, a.block, a.slot, func(at int, name string) { put(block, at, a.slot, name) })
			if a.arch.Family == FamilyS390 { // access registers have four bytes each
				put(block, 18*a.word, 4, "a0")
				put(block, 18*a.word+4, 4, "a1")
			}
			s, err := a.arch.DecodeGRegSet(block)
			if err != nil {
				t.Fatal(err)
			}
			if a.fp64 != "" {
				fp := make([]byte, 1024)
				list(t, a.fp64, a.step, func(at int, name string) {
					put(fp, at, 8, name)
					for _, end := range []int{at + 7, at + 8} {
						cut := s
						a.arch.DecodeFPRegSet(fp[:end], &cut)
						if got := cut.Valid.Has(a.reg(t, name)); got != (end == at+8) {
							t.Errorf("%s in a block of %d bytes: %v", name, end, got)
						}
					}
				})
				a.arch.DecodeFPRegSet(fp, &s)
			}
			if a.arch.Mode != NoReg {
				want["thumb"] = 0
			}
			for r := range Reg(MaxRegs) {
				name := a.arch.RegName(r)
				v, ok := s.Get(r)
				if w, known := want[name]; ok != known || v != w {
					t.Errorf("%s is %#x, %v; want %#x, %v", name, v, ok, w, known)
				}
			}
			for n := range a.size {
				if short, err := a.arch.DecodeGRegSet(block[:n]); err == nil != short.Valid.Has(a.arch.PC) {
					t.Errorf("a block of %d bytes: %v, valid %#x", n, err, short.Valid)
				}
			}
		})
	}
}

// TestModeOfBlock: whether the processor runs Thumb is a bit of cpsr.
func TestModeOfBlock(t *testing.T) {
	block := make([]byte, ARM.GRegSetSize())
	for cpsr, want := range map[uint32]uint64{0x10: 0, 0x30: 1, 0x50: 0, 0xffffffdf: 0} {
		binary.LittleEndian.PutUint32(block[15*4:], 0x8001)
		binary.LittleEndian.PutUint32(block[16*4:], cpsr)
		s, err := ARM.DecodeGRegSet(block)
		if err != nil {
			t.Fatal(err)
		}
		if pc, _ := s.Get(ARMPC); pc != 0x8000 {
			t.Errorf("pc is %#x, want the address of the instruction", pc)
		}
		if v, ok := s.Get(ARMThumb); !ok || v != want {
			t.Errorf("cpsr %#x: thumb is %d, %v; want %d", cpsr, v, ok, want)
		}
	}
}
