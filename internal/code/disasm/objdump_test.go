package disasm

import (
	"bufio"
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An objdumpLine is one instruction in objdump's output.
type objdumpLine struct {
	addr uint64
	code []byte
	text string
}

// objdumpSample is the number of instructions of a file that are compared without
// COREWALK_LONG.
const objdumpSample = 60_000

// objdumpLines runs objdump and calls f for each instruction; without COREWALK_LONG only
// for the first objdumpSample.
func objdumpLines(t *testing.T, f func(objdumpLine), args ...string) {
	t.Helper()
	fixture.Tools(t)
	tool, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is not installed (Debian: binutils)")
	}
	if err := objdumpColumns(t, func(addr uint64, bytes, text string) bool {
		code, err := hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		if err != nil || len(code) == 0 {
			return false
		}
		text, _, _ = strings.Cut(text, "\t")
		f(objdumpLine{addr, code, text})
		return true
	}, tool, append([]string{"-w", "-M", "intel"}, args...)...); err != nil {
		t.Skipf("objdump: %v", err)
	}
}

// objdumpColumns calls f with the columns of each instruction that an objdump prints; without COREWALK_LONG only until f has taken objdumpSample.
func objdumpColumns(t *testing.T, f func(addr uint64, code, text string) bool, tool string, args ...string) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	n, whole := 0, fixture.IsLong(t)
	for sc.Scan() && (whole || n < objdumpSample) {
		parts := strings.SplitN(sc.Text(), "\t", 3)
		if len(parts) < 3 {
			continue
		}
		addr, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(parts[0]), ":"), 16, 64)
		if err == nil && f(addr, strings.TrimSpace(parts[1]), parts[2]) {
			n++
		}
	}
	if !whole && n == objdumpSample {
		cancel()
		_ = cmd.Wait() // it was killed
		return nil
	}
	return cmd.Wait()
}

var objdumpSizes = map[string]uint16{"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "TBYTE": 10, "OWORD": 16, "XMMWORD": 16,
	"YMMWORD": 32, "ZMMWORD": 64, "FWORD": 6}

// sizeInText returns the size given by "XXX PTR" or "XXX BCST", or 0.
func sizeInText(text string) uint16 {
	for _, mark := range []string{" PTR ", " BCST "} {
		if i := strings.Index(text, mark); i >= 0 {
			words := strings.FieldsFunc(text[:i], func(r rune) bool { return r == ' ' || r == ',' })
			return objdumpSizes[words[len(words)-1]]
		}
	}
	return 0
}

// dispInText returns the displacement in the first brackets, and whether there is one.
func dispInText(text string) (int64, bool) {
	i := strings.IndexByte(text, '[')
	j := strings.IndexByte(text, ']')
	if i < 0 || j < i {
		return 0, false
	}
	expr := text[i+1 : j]
	k := strings.LastIndexAny(expr, "+-")
	if k < 0 {
		return 0, true
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(expr[k+1:], "0x"), 16, 64)
	if err != nil || !strings.HasPrefix(expr[k+1:], "0x") {
		return 0, true
	}
	if expr[k] == '-' {
		return -int64(v), true
	}
	return int64(v), true
}

// onlyPrefixes reports whether objdump prints prefixes that belong to no instruction, or a
// wait that it treats as part of the next instruction.
func onlyPrefixes(code []byte) bool {
	if code[0] == 0x9b {
		return true
	}
	for _, b := range code {
		if b&0xf0 != 0x40 && !strings.ContainsRune("\x26\x2e\x36\x3e\x64\x65\x66\x67\u00f0\u00f2\u00f3", rune(b)) {
			return false
		}
	}
	return true
}

// objdumpOddity reports readings to disregard: what objdump itself calls bad,
// broadcasts that do not exist, branches with a prefix 66 (16 bits wide to AMD,
// ignored by Intel), rex.W of far pointers (ignored by AMD), prefixes that make
// a VEX instruction undefined, and wait taken for a part of what follows.
func objdumpOddity(l objdumpLine) bool {
	for _, mark := range []string{"{ba", "(bad)", ".byte", "rex.", "FWORD", "lss ", "lfs ", "lgs "} {
		if strings.Contains(l.text, mark) {
			return true
		}
	}
	if strings.Contains(l.text, " BCST ") && (!strings.Contains(l.text, "{1to") || strings.HasPrefix(l.text, "vmovnt")) {
		return true
	}
	if l.code[0] == 0x66 && len(l.code) > 1 && (l.code[1]&0xfe == 0xe8 || l.code[1] == 0x0f && l.code[2]&0xf0 == 0x80 || l.code[1] == 0xff) {
		return true
	}
	return len(l.code) > 1 && l.code[1] == 0x9b
}

// compareObjdump compares one instruction with objdump's output and returns the difference,
// or "".
func compareObjdump(l objdumpLine, in *Inst, err error) string {
	if onlyPrefixes(l.code) || objdumpOddity(l) {
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if in.Len != len(l.code) {
		return "length " + strconv.Itoa(in.Len)
	}
	if want, ok := kindInText(l.text, in); ok && in.Kind != want {
		return "kind " + in.Kind.String()
	}
	return compareOperand(l, in)
}

// objdumpKinds are the kinds implied by a mnemonic alone, except for whether an operand is
// a register or memory.
var objdumpKinds = map[string]Kind{
	"call": Call, "jmp": Jump, "ret": Ret, "leave": Leave, "enter": Enter, "push": Push, "pop": Pop, "pusha": Push, "popa": Pop,
	"pushf": Push, "popf": Pop, "syscall": Syscall, "sysenter": Syscall, "int3": Int3, "hlt": Halt, "ud2": Trap,
	"div": Div, "idiv": Div, "lret": RetFar, "retf": RetFar, "iret": RetFar,
}

// kindInText returns the kind implied by objdump's text, or false if there is none.
func kindInText(text string, in *Inst) (Kind, bool) {
	for _, prefix := range []string{"bnd ", "notrack ", "repz ", "repnz ", "rep ", "data16 ", "cs ", "ds ", "es ", "ss ", "gs ", "fs ", "lock ", "addr32 ", "addr16 "} {
		text = strings.TrimPrefix(text, prefix)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return Other, false
	}
	k, ok := objdumpKinds[words[0]]
	direct := false // a far call to an address counts as indirect
	if len(words) > 1 {
		_, err := strconv.ParseUint(strings.TrimPrefix(words[1], "0x"), 16, 64)
		direct = err == nil
	}
	switch {
	case k == Call && !direct:
		return CallIndirect, true
	case k == Jump && !direct:
		return JumpIndirect, true
	case !ok && words[0][0] == 'j' && in.Kind != Trap:
		return CondJump, true
	case words[0] == "int" && len(words) > 1:
		if words[1] == "0x80" {
			return Syscall, true
		}
		return Interrupt, true
	}
	return k, ok
}

// compareOperand checks the first memory operand's size and displacement.
func compareOperand(l objdumpLine, in *Inst) string {
	if len(in.Mems()) == 0 {
		if strings.Contains(l.text, "[") {
			return "no memory operand"
		}
		return ""
	}
	m := in.Mems()[0]
	if want := sizeInText(l.text); want != 0 && (m.Read || m.Write) && m.Size != want {
		return "memory size " + strconv.Itoa(int(m.Size))
	}
	if want, ok := dispInText(l.text); ok && !m.RIPRelative && m.Disp != want {
		return "displacement " + strconv.FormatInt(m.Disp, 16)
	}
	return ""
}

// A libraryOf is a library of one of the x86 architectures.
type libraryOf struct {
	arch *arch.Arch
	path string
}

// TestAgainstObjdump decodes whole libraries of this machine as objdump does.
// COREWALK_DISASM_LIBS and COREWALK_DISASM_LIBS32 name more files.
func TestAgainstObjdump(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("decodes whole libraries")
	}
	libs := []libraryOf{{arch.AMD64, "/lib/x86_64-linux-gnu/libc.so.6"}, {arch.AMD64, "/lib/x86_64-linux-gnu/libm.so.6"},
		{arch.X86, "/lib32/libc.so.6"}, {arch.X86, "/lib32/libm.so.6"}, {arch.X32, "/libx32/libc.so.6"}}
	for _, lib := range strings.Fields(os.Getenv("COREWALK_DISASM_LIBS")) {
		libs = append(libs, libraryOf{arch.AMD64, lib})
	}
	for _, lib := range strings.Fields(os.Getenv("COREWALK_DISASM_LIBS32")) {
		libs = append(libs, libraryOf{arch.X86, lib})
	}
	for _, l := range libs {
		lib := l.path
		if _, err := os.Stat(lib); err != nil {
			t.Logf("%s is not here: not compared", lib)
			continue
		}
		a := l.arch
		t.Run(lib, func(t *testing.T) {
			n, bad := 0, 0
			objdumpLines(t, func(l objdumpLine) {
				n++
				in, err := Decode(a, l.code, l.addr)
				if diff := compareObjdump(l, &in, err); diff != "" {
					if bad++; bad < 40 {
						t.Errorf("%x: % x: %s: %s", l.addr, l.code, l.text, diff)
					}
				}
			}, "-d", lib)
			t.Logf("%d instructions, %d differ", n, bad)
		})
	}
}
