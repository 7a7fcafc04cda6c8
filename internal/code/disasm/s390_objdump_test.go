package disasm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/unwind/arch"
)

var (
	s390Mem     = regexp.MustCompile(`(-?\d+)\((?:(\d+),)?(?:%(r\d+),)?%(r\d+)\)`)
	s390CondJ   = regexp.MustCompile(`^(j|jg|b)(o|h|nle|l|nhe|lh|ne|e|nlh|he|nl|le|nh|no|nz|z|p|m|np|nm)$`)
	s390CmpJump = regexp.MustCompile(`^(c|cg|cl|clg|cgi|ci|clgi|cli|cr|cgr|clr|clgr)(i|r)?j(h|l|ne|e|nl|nh|ee)?$`)
	s390CondRet = regexp.MustCompile(`^b(o|h|nle|l|nhe|lh|ne|e|nlh|he|nl|le|nh|no|nz|z|p|m|np|nm)r$`)
)

// s390Kinds are the kinds implied by mnemonics.
var s390Kinds = map[string]Kind{
	"j": Jump, "jg": Jump, "brasl": Call, "svc": Syscall, "nopr": Nop, "nop": Nop, "jgnop": Nop, "jnop": Nop, "basr": CallIndirect, "bras": Jump,
	"l": Load, "lg": Load, "ly": Load, "lgf": Load, "llgf": Load, "llgc": Load, "llgh": Load, "lgh": Load, "lgb": Load, "ltg": Load, "lt": Load,
	"llc": Load, "llh": Load, "lh": Load, "lhy": Load, "lb": Load, "ld": Load, "ldy": Load, "lrl": Load, "lgrl": Load, "lgfrl": Load, "lmg": Load,
	"st": Store, "stg": Store, "sty": Store, "stc": Store, "stcy": Store, "sth": Store, "sthy": Store, "std": Store, "stdy": Store, "stgrl": Store,
	"strl": Store, "stmg": Store, "mvi": Store, "mviy": Store, "mvghi": Store, "mvhi": Store, "mvhhi": Store, "ste": Store,
	"lghi": MovImm, "larl": Lea, "lgfi": MovImm, "llilh": MovImm, "llill": MovImm, "llilf": MovImm, "llihf": MovImm, "llihh": MovImm,
	"ldgr": Mov, "lgdr": Mov, "ldr": Mov, "brct": CondJump, "brctg": CondJump, "brxle": CondJump, "dlgr": Div, "dsgr": Div, "dsgfr": Div,
}

func s390Want(name, operands string, in *Inst) (Kind, bool) {
	switch {
	case name == "lgr" && operands == "%r11,%r15":
		return MovSPtoFP, true
	case name == "lgr" && operands == "%r15,%r11":
		return MovFPtoSP, true
	case name == "lgr":
		return Mov, true
	case name == "basr" && strings.HasSuffix(operands, ",%r0"):
		return Lea, true
	case name == "br" && operands == "%r14":
		return Ret, true
	case name == "br":
		return JumpIndirect, true
	case s390CondRet.MatchString(name) && operands == "%r14":
		return Ret, in.Conditional
	case name == "j" && in.Kind == Trap:
		return Trap, in.code[3] == 1
	case name == "bras" && strings.HasPrefix(operands, "%r14,"):
		return Call, true
	case (name == "aghi" || name == "lay") && strings.HasPrefix(operands, "%r15,-") && !strings.Contains(operands, "("), strings.HasSuffix(operands, "(%r15)") && strings.HasPrefix(operands, "%r15,-") && name == "lay":
		return SubSP, true
	case (name == "la" || name == "lay") && in.Dst != arch.S390SP:
		return 0, false
	case s390CondJ.MatchString(name) && name[0] == 'j', s390CmpJump.MatchString(name):
		return CondJump, in.Target != 0
	}
	k, ok := s390Kinds[name]
	return k, ok
}

// s390Keeps are mnemonics whose first operand is a general register that is not written.
var s390Keeps = regexp.MustCompile(`^(st|sty|stg|stc|stcy|sth|sthy|strl|stgrl|sthrl|strv|strvg|strvh|stcm|stcmy|stcmh|stoc.*|stm|stmg|stmy|stmh|stpq|` +
	`c|cy|cg|cgf|ch|chy|cgh|cl|cly|clg|clgf|cr|cgr|cgfr|clr|clgr|clgfr|chi|cghi|cfi|cgfi|clfi|clgfi|crl|cgrl|cgfrl|chrl|cghrl|clrl|clgrl|clgfrl|clhrl|clghrl|clm|clmy|clmh|` +
	`c[lg]*[ri]j.*|c[lg]*[ri]b.*|c[lg]*[ri]t.*|tm[lh][lh]|cvd|cvdy|cvdg|ex|exrl|ppa|spm|sar|sfpc)$`)

func compareS390(in *Inst, text string) string {
	name, operands, _ := strings.Cut(text, "\t")
	operands, _, _ = strings.Cut(operands, " #")
	operands = strings.TrimSpace(operands)
	if want, ok := s390Want(name, operands, in); ok && in.Kind != want {
		return fmt.Sprintf("%v, want %v", in.Kind, want)
	}
	if m := textTarget.FindStringSubmatch(operands); m != nil {
		want, _ := strconv.ParseUint(m[1], 16, 64)
		op := in.Mem()
		if want != in.Target && (op == nil || !op.RIPRelative || uint64(op.Disp) != want) && !strings.HasPrefix(name, "exrl") && in.Kind != Trap && in.Kind != Nop && name != "pfdrl" && in.code[3] != 1 {
			return fmt.Sprintf("target %#x", in.Target)
		}
	}
	if m := s390Mem.FindStringSubmatch(operands); m != nil && in.Kind != Ret && in.Kind != JumpIndirect && name != "mvcle" && name != "clcle" { // (whose address is a pad)
		want, _ := strconv.ParseInt(m[1], 10, 64)
		if op := in.Mem(); op != nil && !op.RIPRelative && (op.Disp != want || op.Base != arch.NoReg && in.arch.RegName(op.Base) != m[4]) {
			return fmt.Sprintf("operand %+v", op)
		}
		if l, err := strconv.Atoi(m[2]); err == nil && in.code[0] != 0xe8 && in.code[0] < 0xf0 && in.code[0] >= 0xd0 && in.code[0] < 0xe0 && int(in.mems[0].Size) != l {
			return fmt.Sprintf("%d bytes", in.mems[0].Size)
		}
	}
	return compareS390Writes(in, name, operands)
}

func compareS390Writes(in *Inst, name, operands string) string {
	dst, _, _ := strings.Cut(operands, ",")
	r, ok := in.arch.RegByName(strings.TrimPrefix(dst, "%"))
	switch keeps := s390Keeps.MatchString(name); {
	case !ok || strings.HasPrefix(dst, "%f") || in.Kind == Ret || in.Kind == JumpIndirect || in.Kind == Nop || strings.HasPrefix(dst, "%a"):
	case !keeps && !in.Writes.Has(r):
		return "does not write " + dst
	case keeps && in.Writes.Has(r):
		return "writes " + dst
	}
	return ""
}

// s390Wraps reports whether code transfers registers up to r15 and on from r0, as
// _dl_runtime_resolve does.
func s390Wraps(code []byte) bool {
	return code[0] == 0xeb && (code[5] == 0x04 || code[5] == 0x24) && code[1]>>4 > code[1]&15
}

func TestS390AgainstObjdump(t *testing.T) {
	t.Parallel()
	bad := 0
	crossObjdump(t, "s390x-linux-gnu", func(addr uint64, code []string, text string) {
		b := unhex(t, strings.Join(code, ""))
		if bad > 40 || strings.HasPrefix(text, ".") || s390Wraps(b) {
			return
		}
		in, err := Decode(arch.S390X, b, addr)
		diff := ""
		switch {
		case err != nil:
			diff = err.Error()
		case in.Len != len(b):
			diff = fmt.Sprintf("length %d", in.Len)
		default:
			diff = compareS390(&in, text)
		}
		linked := in.Kind.IsCall() && in.Writes.Has(arch.S390LR)
		if site, ok := CallBefore(arch.S390X, b, addr+uint64(len(b))); diff == "" && (linked != (ok && site.Len == len(b)) || linked && site.Target != in.Target) {
			diff += fmt.Sprintf(", call %+v", site)
		}
		if diff != "" {
			bad++
			t.Errorf("%x: %x %q: %s", addr, b, text, diff)
		}
	})
}

// TestS390 checks what objdump does not show.
func TestS390(t *testing.T) {
	t.Parallel()
	r := func(n int) arch.Reg { return arch.Reg(n) }
	m := arch.Mask
	span := func(first, last int) arch.RegMask { return 1<<(last+1) - 1<<first }
	none := arch.NoReg
	for _, tt := range []struct {
		code, text    string
		kind          Kind
		reads, writes arch.RegMask
		dst, src      arch.Reg
		delta         int64
		known         bool
	}{
		{"eb6ff0300024", "stmg %r6,%r15,48(%r15)", Store, span(6, 15), 0, none, none, 0, true},
		{"eb6ff0d00004", "lmg %r6,%r15,208(%r15)", Load, m(r(15)), span(6, 15), none, none, 0, false},
		{"a7fbff60", "aghi %r15,-160", SubSP, m(r(15)), m(r(15)), r(15), r(15), -160, true},
		{"e3f0ff60ff71", "lay %r15,-160(%r15)", SubSP, m(r(15)), m(r(15)), r(15), r(15), -160, true},
		{"c2f8ffff0000", "agfi %r15,-65536", SubSP, m(r(15)), m(r(15)), r(15), r(15), -65536, true},
		{"41f0f0a0", "la %r15,160(%r15)", AddSP, m(r(15)), m(r(15)), r(15), r(15), 160, true},
		{"41f0b0a0", "la %r15,160(%r11)", LeaSP, m(r(11)), m(r(15)), r(15), none, 0, false},
		{"b90400bf", "lgr %r11,%r15", MovSPtoFP, m(r(15)), m(r(11)), r(11), r(15), 0, true},
		{"e310f0000024", "stg %r1,0(%r15)", Store, m(r(1), r(15)), 0, none, r(1), 0, true},
		{"b3c1002e", "ldgr %f2,%r14", Mov, m(r(14)), m(arch.S390F0 + 2), arch.S390F0 + 2, r(14), 0, true},
		{"b3cd00e2", "lgdr %r14,%f2", Mov, m(arch.S390F0 + 2), m(r(14)), r(14), arch.S390F0 + 2, 0, true},
		{"c0e500000004", "brasl %r14,0x401008", Call, 0, m(r(14)), none, none, 0, true},
		{"0de1", "basr %r14,%r1", CallIndirect, m(r(1)), m(r(14)), none, r(1), 0, true},
		{"0dd0", "basr %r13,%r0", Lea, 0, m(r(13)), r(13), none, 0, true},
		{"a7d50004", "bras %r13,0x401008", Jump, 0, m(r(13)), r(13), none, 0, true},
		{"07fe", "br %r14", Ret, m(r(14)), 0, none, r(14), 0, true},
		{"07f4", "br %r4", JumpIndirect, m(r(4)), 0, none, r(4), 0, true},
		{"0001", "(bytes 00 01)", Trap, 0, 0, none, none, 0, true},
		{"a7f40001", "j 0x401002", Trap, 0, 0, none, none, 0, true},
		{"a7840008", "je 0x401010", CondJump, 0, 0, none, none, 0, true},
		{"0aad", "svc 173", Syscall, 0, m(r(2)), none, none, 0, true},
		{"182e", "lr %r2,%r14", Other, m(r(2), r(14)), m(r(2)), r(2), r(14), 0, true},
	} {
		in, err := Decode(arch.S390X, unhex(t, tt.code), testPC)
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
	for _, code := range []string{"0000", "ebe4f0300004", "eb"} {
		if _, err := Decode(arch.S390X, unhex(t, code), testPC); err == nil {
			t.Errorf("%s is decoded", code)
		}
	}
	if in, err := Decode(arch.S390, unhex(t, "906ff018"), testPC); err != nil || in.Kind != Store || in.List != span(6, 15) {
		t.Errorf("stm on 31 bits: %v, %+v", err, in)
	}
	if in, err := Decode(arch.S390, unhex(t, "18ef"), testPC); err != nil || in.Kind != Mov {
		t.Errorf("lr on 31 bits: %v, %+v", err, in)
	}
}

func FuzzS390(f *testing.F) {
	for _, s := range []string{"eb6ff0300024", "a7fbff60", "0de1", "c0e500000004", "e7f0f0000036", "ec1200086064", "d207f0001000"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, a := range []*arch.Arch{arch.S390X, arch.S390} {
			fuzzOne(t, a, code)
		}
	})
}
