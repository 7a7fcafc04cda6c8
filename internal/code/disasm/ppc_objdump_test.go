package disasm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

var (
	ppcMem     = regexp.MustCompile(`(-?\d+)\((r\d+|0)\)`)
	ppcBranchy = regexp.MustCompile(`^b(|l|a|la|dnz|dz|eq|ne|lt|le|gt|ge|so|ns|un|nu|c)(|t|f)(|l|a|la)[+-]?$`)
	ppcReturn  = regexp.MustCompile(`^b(|dnz|dz|eq|ne|lt|le|gt|ge|so|ns|un|nu|c)(|t|f)lr[+-]?$`)
)

// ppcKinds are the kinds implied by mnemonics, including objdump's aliases.
var ppcKinds = map[string]Kind{
	"b": Jump, "ba": Jump, "bl": Call, "bla": Call, "blr": Ret, "blrl": CallIndirect, "bctr": JumpIndirect, "bctrl": CallIndirect,
	"sc": Syscall, "scv": Syscall, "trap": Trap, "nop": Nop, "pnop": Nop, "li": MovImm, "lis": MovImm, "pli": MovImm,
	"mflr": Mov, "mtlr": Mov, "mfctr": Mov, "mtctr": Mov,
	"lwz": Load, "lwzu": Load, "lbz": Load, "lbzu": Load, "lhz": Load, "lhzu": Load, "lha": Load, "lhau": Load, "lwa": Load, "ld": Load, "ldu": Load,
	"ldx": Load, "lwzx": Load, "lbzx": Load, "lhzx": Load, "lfd": Load, "lfs": Load, "lfdx": Load, "lwarx": Load, "ldarx": Load, "pld": Load, "plwz": Load,
	"stw": Store, "stwu": Store, "stb": Store, "stbu": Store, "sth": Store, "sthu": Store, "std": Store, "stdu": Store, "stwux": Store, "stdux": Store,
	"stdx": Store, "stwx": Store, "stbx": Store, "sthx": Store, "stfd": Store, "stfs": Store, "stfdx": Store, "pstd": Store, "pstw": Store,
	"stwcx.": Store, "stdcx.": Store,
}

func ppcWant(name, operands string, in *Inst) (Kind, bool) {
	sameReg := func(dst, src string) bool { return operands == dst+","+src }
	switch {
	case name == "mr" && sameReg("r31", "r1"):
		return MovSPtoFP, true
	case name == "mr" && sameReg("r1", "r31"):
		return MovFPtoSP, true
	case name == "mr":
		return Mov, true
	case name == "bcl" && in.Target == 0: // of the next instruction
		return Lea, strings.HasPrefix(operands, "20,4*cr7+so,")
	case name == "stdu" && strings.HasPrefix(operands, "r1,"), name == "stwu" && strings.HasPrefix(operands, "r1,"):
		return Store, in.Writeback != 0 && in.Writes.Has(arch.PPCSP)
	case name == "addi" && strings.HasPrefix(operands, "r1,r1,-"):
		return SubSP, true
	case name == "addi" && strings.HasPrefix(operands, "r1,r1,"):
		return AddSP, true
	}
	if k, ok := ppcKinds[name]; ok {
		return k, true
	}
	if ppcReturn.MatchString(name) {
		return Ret, true
	}
	return CondJump, ppcBranchy.MatchString(name) && !strings.HasSuffix(strings.TrimRight(name, "+-"), "l")
}

// ppcKeeps are mnemonics whose first operand is not written.
var ppcKeeps = regexp.MustCompile(`^(p?st|cmp|t[wd]|mt|dcb|icb|b|tlb|slb|copy|paste|tabort|v|xv|lv|lxv)`)

func comparePPC(in *Inst, text string) string {
	name, operands, _ := strings.Cut(text, " ")
	operands = strings.TrimSpace(operands)
	operands, _, _ = strings.Cut(operands, " #")
	if want, ok := ppcWant(name, operands, in); ok && in.Kind != want {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil && in.Kind != Lea {
		if want, _ := strconv.ParseUint(m[1], 16, 64); want != in.Target {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	if m := ppcMem.FindStringSubmatch(operands); m != nil {
		want, _ := strconv.ParseInt(m[1], 10, 64)
		if op := in.Mem(); op == nil || !op.RIPRelative && (op.Disp != want || op.Base != arch.NoReg && in.arch.RegName(op.Base) != m[2]) {
			return fmt.Sprintf("operand %+v", op)
		}
	} else if len(in.Mems()) != 0 && (in.mems[0].Read || in.mems[0].Write) && !strings.Contains(name, "x") && !strings.HasSuffix(name, "i") && name != "dcbz" && !strings.HasPrefix(name, "p") {
		return "an access"
	}
	dst, _, _ := strings.Cut(operands, ",")
	if r, ok := in.arch.RegByName(dst); ok && !ppcKeeps.MatchString(name) && in.Kind != Nop && !in.Writes.Has(r) {
		return "does not write " + dst
	}
	if in.Writes&^arch.Mask(arch.PPCCTR, arch.PPCLR, arch.PPCXER) != 0 && name != "cmpb" && name != "bpermd" && ppcKeeps.MatchString(name) && in.Writeback == 0 && !strings.HasSuffix(name, "x") && !strings.Contains("vxl", name[:1]) {
		return fmt.Sprintf("writes %#x", in.Writes)
	}
	return ""
}

func TestPPCAgainstObjdump(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a      *arch.Arch
		triple string
	}{
		{arch.PPC64LE, "powerpc64le-linux-gnu"},
		{arch.PPC64, "powerpc64-linux-gnu"},
		{arch.PPC, "powerpc-linux-gnu"},
	} {
		t.Run(tt.a.Name, func(t *testing.T) {
			bad := 0
			crossObjdump(t, tt.triple, func(addr uint64, code []string, text string) {
				if bad > 20 || strings.HasPrefix(text, ".") || text == "attn" { // the words of traceback tables
					return
				}
				b := unhex(t, strings.Join(code, ""))
				in, err := Decode(tt.a, b, addr)
				diff := ""
				switch {
				case err != nil:
					diff = err.Error()
				case in.Len != len(b):
					diff = fmt.Sprintf("length %d", in.Len)
				default:
					diff = comparePPC(&in, text)
				}
				if site, ok := CallBefore(tt.a, b, addr+4); ok != in.Kind.IsCall() || ok && site.Target != in.Target {
					diff += fmt.Sprintf(", call %+v", site)
				}
				if diff != "" {
					bad++
					t.Errorf("%x: %x %q: %s", addr, b, text, diff)
				}
			})
		})
	}
}

// TestPPC checks what objdump does not show.
func TestPPC(t *testing.T) {
	t.Parallel()
	r := func(n int) arch.Reg { return arch.Reg(n) }
	m := arch.Mask
	for _, tt := range []struct {
		code, text    string
		kind          Kind
		reads, writes arch.RegMask
		dst, src      arch.Reg
		delta         int64
		known         bool
	}{
		{"7c0802a6", "mflr r0", Mov, m(arch.PPCLR), m(r(0)), r(0), arch.PPCLR, 0, true},
		{"7c0803a6", "mtlr r0", Mov, m(r(0)), m(arch.PPCLR), arch.PPCLR, r(0), 0, true},
		{"f821ff91", "stdu r1,-112(r1)", Store, m(r(1)), m(r(1)), arch.NoReg, r(1), -112, true},
		{"9421ffe0", "stwu r1,-32(r1)", Store, m(r(1)), m(r(1)), arch.NoReg, r(1), -32, true},
		{"7c21496a", "stdux r1,r1,r9", Store, m(r(1), r(9)), m(r(1)), arch.NoReg, r(1), 0, false},
		{"38210070", "addi r1,r1,112", AddSP, m(r(1)), m(r(1)), r(1), r(1), 112, true},
		{"3821ff90", "addi r1,r1,-112", SubSP, m(r(1)), m(r(1)), r(1), r(1), -112, true},
		{"383f0070", "addi r1,r31,112", LeaSP, m(r(31)), m(r(1)), r(1), r(31), 0, false},
		{"7c3f0b78", "mr r31,r1", MovSPtoFP, m(r(1)), m(r(31)), r(31), r(1), 0, true},
		{"7fe1fb78", "mr r1,r31", MovFPtoSP, m(r(31)), m(r(1)), r(1), r(31), 0, false},
		{"80010000", "lwz r0,0(r1)", Load, m(r(1)), m(r(0)), r(0), arch.NoReg, 0, true},
		{"e8210000", "ld r1,0(r1)", Load, m(r(1)), m(r(1)), r(1), arch.NoReg, 0, false},
		{"dbe1fff8", "stfd f31,-8(r1)", Store, m(r(1), arch.PPCF31), 0, arch.NoReg, arch.PPCF31, 0, true},
		{"48000009", "bl 0x401008", Call, 0, m(arch.PPCLR), arch.NoReg, arch.NoReg, 0, true},
		{"4e800421", "bctrl", CallIndirect, m(arch.PPCCTR), m(arch.PPCLR), arch.NoReg, arch.PPCCTR, 0, true},
		{"4e800020", "blr", Ret, m(arch.PPCLR), 0, arch.NoReg, arch.PPCLR, 0, true},
		{"429f0005", "bcl 20,4*cr7+so,0x401004", Lea, 0, m(arch.PPCLR), arch.PPCLR, arch.NoReg, 0, true},
		{"4200fff8", "bdnz 0x400ff8", CondJump, m(arch.PPCCTR), m(arch.PPCCTR), arch.NoReg, arch.NoReg, 0, true},
		{"7fe00008", "trap", Trap, m(r(0)), 0, arch.NoReg, r(0), 0, true},
		{"44000002", "sc", Syscall, m(r(0)), m(r(3)), arch.NoReg, arch.NoReg, 0, true},
		{"7fff0b78", "or r31,r31,r1", Other, m(r(31), r(1)), m(r(31)), r(31), arch.NoReg, 0, true},
		{"60000000", "nop", Nop, 0, 0, arch.NoReg, arch.NoReg, 0, true},
		{"78210564", "rldicr r1,r1,0,53", AndSP, m(r(1)), m(r(1)), r(1), r(1), 0, false},
		{"0612345638608765", "pla r3,-7711848603", Lea, 0, m(r(3)), r(3), arch.NoReg, 0, true},
	} {
		in, err := Decode(arch.PPC64, unhex(t, tt.code), testPC)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if in.Kind != tt.kind || in.Reads != tt.reads || in.Writes != tt.writes || in.Dst != tt.dst || in.Src != tt.src {
			t.Errorf("%s: %v reads %#x writes %#x dst %d src %d; want %v %#x %#x %d %d", tt.text, in.Kind, in.Reads, in.Writes, in.Dst, in.Src,
				tt.kind, tt.reads, tt.writes, tt.dst, tt.src)
		}
		if got := in.Text(TextOptions{}); got != tt.text {
			t.Errorf("text %q, want %q", got, tt.text)
		}
		if delta, ok := in.StackDelta(); ok != tt.known || ok && delta != tt.delta {
			t.Errorf("%s: stack moves by %d, %v; want %d, %v", tt.text, delta, ok, tt.delta, tt.known)
		}
	}
	for _, code := range []string{"00000000", "7c2107fe", "7fe007fe"} {
		if _, err := Decode(arch.PPC64, unhex(t, code), testPC); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", code, err)
		}
	}
	if _, ok := CallBefore(arch.PPC, unhex(t, "429f0005"), testPC); ok {
		t.Error("reading the program counter is no call")
	}
}

func FuzzPPC(f *testing.F) {
	for _, s := range []string{"7c0802a6", "f821ff91", "7c21496a", "0612345638608765", "429f0005", "bfc1fff8"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, a := range []*arch.Arch{arch.PPC64LE, arch.PPC64, arch.PPC} {
			fuzzOne(t, a, code)
		}
	})
}

// fuzzOne checks properties that hold for every instruction of every architecture.
func fuzzOne(t *testing.T, a *arch.Arch, code []byte) {
	in, err := Decode(a, code, testPC)
	if err != nil {
		if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrUnknown) {
			t.Fatalf("% x: %v", code, err)
		}
		return
	}
	if in.Len < 1 || in.Len > len(code) {
		t.Fatalf("% x: %d bytes long", code, in.Len)
	}
	again, err := Decode(a, code[:in.Len], testPC)
	if err != nil || again != in {
		t.Fatalf("% x: what follows it matters: %v", code[:in.Len], err)
	}
	if in.Text(TextOptions{}) == "" {
		t.Fatalf("% x: no text", code[:in.Len])
	}
	in.StackDelta()
	var regs arch.RegSet
	FaultAccess(nil, &in, &regs)
	CallBefore(a, code, testPC)
}
