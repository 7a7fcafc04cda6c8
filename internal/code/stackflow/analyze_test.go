package stackflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/unwind/arch"
)

// code concatenates instructions.
func code(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		for _, x := range strings.Fields(p) {
			var c byte
			fmt.Sscanf(x, "%02x", &c)
			b = append(b, c)
		}
	}
	return b
}

// cases are x86-64 functions at 0x1000 with the expected rows at some places: "CFA;
// registers that are not in themselves".
var cases = []struct {
	name string
	code []byte
	want map[uint64]string
}{
	{"a frame pointer", code("55", "48 89 e5", "53", "c9", "c3"), map[uint64]string{
		0: "rsp+8", 1: "rsp+16 rbp@-16", 4: "rbp+16 rbp@-16", 5: "rbp+16 rbx@-24 rbp@-16", 6: "rsp+8"}},
	{"pushes and pops", code("41 54", "48 83 ec 18", "e8 00 10 00 00", "48 83 c4 18", "41 5c", "c3"), map[uint64]string{
		2: "rsp+16 r12@-16", 6: "rsp+40 r12@-16", 11: "rsp+40 r12@-16", 15: "rsp+16 r12@-16", 17: "rsp+8"}},
	{"saved by mov", code("48 89 5c 24 f8", "48 83 ec 08", "31 db", "48 8b 1c 24", "48 83 c4 08", "c3"), map[uint64]string{
		5: "rsp+8", 9: "rsp+16 rbx@-16", 11: "rsp+16 rbx@-16", 19: "rsp+8"}},
	// lea 8(%rsp),%r10; and $-32,%rsp; push -8(%r10); push %rbp; mov %rsp,%rbp;
	// push %r10; sub $0x28,%rsp; call; mov -8(%rbp),%r10; leave; lea -8(%r10),%rsp; ret
	{"realigned without a frame pointer to spare", code("4c 8d 54 24 08", "48 83 e4 e0", "41 ff 72 f8", "55", "48 89 e5", "41 52", "48 83 ec 28",
		"e8 00 10 00 00", "4c 8b 55 f8", "c9", "49 8d 62 f8", "c3"), map[uint64]string{
		5: "rsp+8", 9: "r10+0", 23: "r10+0 rbp@rbp+0", 28: "[rbp-8]+0 rbp@rbp+0", 33: "r10+0", 37: "rsp+8"}},
	{"realigned below a frame pointer", code("55", "48 89 e5", "48 83 e4 c0", "48 83 ec 40", "e8 00 10 00 00", "c9", "c3"), map[uint64]string{
		8: "rbp+16 rbp@-16", 17: "rbp+16 rbp@-16", 18: "rsp+8"}},
	// sub %rax,%rsp
	{"an array of variable length", code("55", "48 89 e5", "53", "48 29 c4", "48 8b 5d f8", "c9", "c3"), map[uint64]string{
		8: "rbp+16 rbx@-24 rbp@-16", 13: "rsp+8"}},
	// lea -0x5000(%rsp),%r11; sub $0x1000,%rsp; orq $0,(%rsp); cmp %r11,%rsp; jne; ret
	{"a loop that touches pages", code("4c 8d 9c 24 00 b0 ff ff", "48 81 ec 00 10 00 00", "48 83 0c 24 00", "4c 39 dc", "75 ef", "90", "c3"), map[uint64]string{
		15: "r11+20488", 25: "rsp+20488"}},
	// test; je over; push; call abort; over: ret
	{"a call that never returns", code("85 ff", "74 06", "50", "e8 f6 f0 00 00", "c3"), map[uint64]string{4: "rsp+8", 5: "rsp+16", 10: "rsp+8"}},
	// The same function with an unknown callee, and with another path to the code after the
	// call.
	{"a call that may not return", code("85 ff", "74 06", "50", "e8 f7 f0 00 00", "c3"), map[uint64]string{10: "rsp+8"}},
	// cmp $2,%edi; ja 1f; lea table(%rip),%rax; movslq (%rax,%rdi,4),%rdx; add %rax,%rdx; push %rbx; jmp *%rdx; 1: ret
	{"a table of jumps", code("83 ff 02", "77 11", "48 8d 05 10 00 00 00", "48 63 14 b8", "48 01 c2", "53", "ff e2", "c3", "5b", "c3", "5b", "c3", "90",
		"fb ff ff ff", "fd ff ff ff", "fb ff ff ff"), map[uint64]string{20: "rsp+16 rbx@-16", 22: "rsp+8", 23: "rsp+16 rbx@-16", 24: "rsp+8", 25: "rsp+16 rbx@-16"}},
	{"enter", code("c8 20 00 00", "c9", "c3"), map[uint64]string{4: "rbp+16 rbp@-16", 5: "rsp+8"}},
	{"the address of the next instruction", code("e8 00 00 00 00", "58", "c3"), map[uint64]string{5: "rsp+16", 6: "rsp+8"}},
	{"another stack", code("48 89 fc", "c3"), map[uint64]string{3: "none"}},
	{"two heights", code("85 ff", "74 01", "50", "90", "c3"), map[uint64]string{5: "rsp+16 | rsp+8"}},
	{"the return address overwritten", code("48 89 04 24", "c3"), map[uint64]string{0: "rsp+8", 4: "rsp+8 ra lost"}},
	{"nowhere", code("c3", "50", "c3"), map[uint64]string{0: "rsp+8"}},
}

func TestAnalyze(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := stackflow.Analyze(arch.AMD64, bytesAt{0x1000, tc.code}, 0x1000, 0x1000+uint64(len(tc.code)))
			if f == nil {
				t.Fatal("not followed")
			}
			for off, want := range tc.want {
				rows, _ := f.Rows(nil, 0x1000+off)
				if got := describe(rows); got != want {
					t.Errorf("+%d: %s; want %s", off, got, want)
				}
			}
		})
	}
}

func describe(rows []*stackflow.Row) string { return describeOf(arch.AMD64, rows) }

func describeOf(a *arch.Arch, rows []*stackflow.Row) string {
	var all []string
	for _, r := range rows {
		if r.CFA.Reg == arch.NoReg {
			all = append(all, "none")
			continue
		}
		s := fmt.Sprintf("%s%+d", a.RegName(r.CFA.Reg), r.CFA.Off)
		if r.CFA.Deref {
			s = fmt.Sprintf("[%s]%+d", s, r.CFA.Add)
		}
		if r.RA.Kind == stackflow.Lost {
			s += " ra lost"
		}
		for _, saved := range r.Saved {
			switch l := saved.Loc; {
			case l.Kind == stackflow.AtCFA:
				s += fmt.Sprintf(" %s@%d", a.RegName(saved.Reg), l.Off)
			case l.Kind == stackflow.AtReg:
				s += fmt.Sprintf(" %s@%s%+d", a.RegName(saved.Reg), a.RegName(l.Reg), l.Off)
			case l.Reg != saved.Reg:
				s += fmt.Sprintf(" %s=%s", a.RegName(saved.Reg), a.RegName(l.Reg))
			}
		}
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, " | ")
}

func TestCallTargets(t *testing.T) {
	c := code("e8 06 00 00 00", "c3", "cc cc cc cc cc", "e8 f0 ff ff ff", "eb f9", "90 90 90 90 90 90 90 90 90 90 90 90 90 90", "c3")
	if got := stackflow.CallTargets(arch.AMD64, c, 0x1000); !slices.Equal(got, []uint64{0x1000, 0x100b}) {
		t.Errorf("targets %#x", got)
	}
	if got := stackflow.StartsByPadding(arch.AMD64, c, 0x1000, 0x101f, 4); len(got) != 0 {
		t.Errorf("starts %#x; nothing but nops that control passes", got)
	}
	c = code("50 58 c3", "66 90 90 90 90 90 90 90 90 90 90 90 90", "50 58 c3")
	if got := stackflow.StartsByPadding(arch.AMD64, c, 0x0ff0, 0x1002, 4); !slices.Equal(got, []uint64{0x1000}) {
		t.Errorf("starts %#x; want 0x1000", got)
	}
}

func TestNoReturnName(t *testing.T) {
	for name, want := range map[string]bool{"abort": true, "abort@GLIBC_2.2.5": true, "_ZSt20__throw_length_errorPKc": true, "runtime.throw": true,
		"_ZN4core9panicking5panic17h0123456789abcdefE": true, "runtime.panicIndex": true, "_Unwind_Resume": true,
		"aborted": false, "printf": false, "_ZN3foo5throwEv": false, "runtime.mallocgc": false, "": false} {
		if got := stackflow.NoReturnName(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// windowsCode is Windows code, whose calls also preserve rsi and rdi.
type windowsCode struct{ bytesAt }

func (windowsCode) Nonvolatile() arch.RegMask {
	return arch.AMD64.CalleeSaved | arch.Mask(arch.RSI, arch.RDI)
}

// The platform's convention determines what calls preserve: in a function that saves and
// changes rsi, both are known after a call on Windows, and neither elsewhere.
func TestConvention(t *testing.T) {
	// push %rsi; sub $32,%rsp; xor %esi,%esi; call; add $32,%rsp; pop %rsi; ret
	text := bytesAt{0x1000, code("56", "48 83 ec 20", "31 f6", "e8 00 10 00 00", "48 83 c4 20", "5e", "c3")}
	for name, tt := range map[string]struct {
		code stackflow.Code
		want map[arch.Reg]stackflow.LocKind
	}{
		"System V": {text, map[arch.Reg]stackflow.LocKind{}},
		"Windows":  {windowsCode{text}, map[arch.Reg]stackflow.LocKind{arch.RSI: stackflow.AtCFA, arch.RDI: stackflow.InReg}},
	} {
		f := stackflow.Analyze(arch.AMD64, tt.code, 0x1000, 0x1000+uint64(len(text.b)))
		if f == nil {
			t.Fatal(name)
		}
		rows, sure := f.Rows(nil, 0x100b)
		if len(rows) != 1 || !sure {
			t.Fatalf("%s: %d rows, %v", name, len(rows), sure)
		}
		got := map[arch.Reg]stackflow.LocKind{}
		for _, s := range rows[0].Saved {
			if s.Reg == arch.RSI || s.Reg == arch.RDI {
				got[s.Reg] = s.Loc.Kind
			}
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestLeavesAt: control may leave by an indirect jump before which the stack is as the caller left it.
func TestLeavesAt(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want []uint64
	}{
		"at once":          {[]byte{0xff, 0xe0}, []uint64{0x1000}},                                 // jmp rax
		"after a frame":    {[]byte{0x53, 0x5b, 0xff, 0xe0}, []uint64{0x1002}},                     // push rbx; pop rbx; jmp rax
		"within the frame": {[]byte{0x53, 0xff, 0xe0}, nil},                                        // push rbx; jmp rax
		"two":              {[]byte{0x74, 0x02, 0xff, 0xe0, 0xff, 0xe1}, []uint64{0x1002, 0x1004}}, // je; jmp rax; jmp rcx
		"none":             {[]byte{0xc3}, nil},
	} {
		f := stackflow.Analyze(arch.AMD64, bytesAt{0x1000, c.code}, 0x1000, 0x1000+uint64(len(c.code)))
		if got := f.LeavesAt(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %#x, want %#x", name, got, c.want)
		}
	}
}
