package reason

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Codes of SIGILL and SIGTRAP.
const (
	illOperand   = 2
	illPrivOp    = 5
	illPrivReg   = 6
	trapStep     = 2
	trapHardware = 4
)

func (in *Input) illegal() Reason {
	r := Reason{Kind: report.CrashIllegalInstruction, Text: "illegal instruction", AtInst: true}
	if kind, text := in.trap(); kind == report.CrashTrap {
		r.Kind, r.Text = kind, text
		return r
	}
	code := in.Signal.Code
	if _, words := in.Signal.CodeName(); words != "" {
		r.Text = words
	}
	switch {
	case code == illPrivOp || code == illPrivReg:
		r.Kind = report.CrashPrivileged
	case code == illOperand && in.authenticates():
		// Since FPAC in Armv8.3. Processors without it make the pointer invalid instead.
		r.Kind, r.Text = report.CrashControlFlow, "pointer authentication failed: the signature of a return address or pointer is wrong"
	}
	return r
}

// authenticates reports whether the instruction checks the signature of a pointer.
func (in *Input) authenticates() bool {
	if in.Inst == nil || in.Arch.Family != arch.FamilyARM64 {
		return false
	}
	text := in.Inst.Text(disasm.TextOptions{})
	for _, prefix := range []string{"aut", "reta", "bra", "blra", "ldra"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// trapped explains SIGTRAP.
func (in *Input) trapped() Reason {
	r := Reason{Kind: report.CrashBreakpoint, Text: "breakpoint or single step"}
	s := in.Signal
	if name, words := s.CodeName(); words != "" {
		r.Text = fmt.Sprintf("%s (%s)", words, name)
	}
	if s.Code == trapStep || s.Code == trapHardware {
		return r
	}
	if kind, text := in.trap(); kind != "" {
		r.Kind, r.Text, r.AtInst = kind, text, true
		return r
	}
	if s.Code == siKernel && in.isX86() {
		r.Text = "breakpoint instruction (int3)" // pc is after it
	}
	return r
}

// trap says what an instruction that stops the program is for; kind is "" if the instruction is not one.
func (in *Input) trap() (kind, text string) {
	if in.Inst == nil {
		return "", ""
	}
	switch in.Inst.Kind {
	case disasm.Int3:
		return report.CrashBreakpoint, "breakpoint instruction" + in.instText()
	case disasm.Trap:
	default:
		return "", ""
	}
	switch code := in.trapCode(); {
	case code.undefined >= 0:
		return report.CrashTrap, "undefined behaviour found: " + undefinedBehaviour(code.undefined) + in.instText()
	case code.words != "":
		return code.kind, code.words + in.instText()
	}
	return report.CrashTrap, "trap instruction" + in.instText() + ", placed where code must not be reached"
}

// A trapCode is the meaning of the number in a trap instruction.
type trapCode struct {
	undefined   int // number of a clang -fsanitize-trap check, or negative
	kind, words string
}

// trapCode reads the number that compilers put into the trap instruction.
func (in *Input) trapCode() trapCode {
	switch code := string(in.Inst.Bytes()); {
	case code == "\x67\x0f\xb9\x00": // ud1 (%eax), %eax
		return trapCode{}
	case strings.HasPrefix(code, "\x67\x0f\xb9\x40"): // ud1 n(%eax), %eax
		return trapCode{undefined: int(code[len(code)-1])}
	case strings.HasPrefix(in.Inst.Text(disasm.TextOptions{}), "brk"): // arm64
		return brkCode(int(in.Inst.Imm))
	}
	return trapCode{undefined: -1}
}

// brkCode returns the meaning of the number in a brk instruction of arm64, by clang (clang/lib/CodeGen) and
// Windows (winnt.h, ntdef.h).
func brkCode(n int) trapCode {
	out := trapCode{undefined: -1}
	switch {
	case n&^0xff == 0x5500:
		out.undefined = n & 0xff
	case n&^3 == 0xc470:
		out.kind, out.words = report.CrashControlFlow, "pointer authentication failed: the signature of a pointer is wrong"
	case n == 0xf000:
		out.kind, out.words = report.CrashBreakpoint, "breakpoint instruction"
	case n == 0xf003:
		out.kind, out.words = report.CrashAbort, "the program ended itself (fast fail)"
	case n == 0xf004:
		out.kind, out.words = report.CrashDivZero, "integer division by zero"
	}
	return out
}

// undefinedBehaviours describes the checks of clang's undefined behaviour sanitizer, by the number in its trap
// instructions (clang/lib/CodeGen/SanitizerHandler.h).
const undefinedBehaviours = "integer overflow in an addition|unreachable code reached|control flow integrity check failed|" +
	"integer overflow in a division|object type does not match its pointer's|floating-point number that does not fit an integer|" +
	"call through a pointer to another function type|conversion that changes the value|invalid argument to a builtin function|" +
	"invalid Objective-C cast|invalid value for its type|end of a function reached without returning a value|integer overflow in a multiplication|" +
	"integer overflow in a negation|null passed for a nonnull parameter|null returned from a function that must not return null|" +
	"null passed for a nonnull parameter|null returned from a function that must not return null|subscript out of bounds|pointer arithmetic that overflows|" +
	"shift by too many or too few bits|integer overflow in a subtraction|null pointer, misaligned pointer or object too small|alignment assumption violated|" +
	"variable-length array whose length is not positive"

func undefinedBehaviour(n int) string {
	if all := strings.Split(undefinedBehaviours, "|"); n < len(all) {
		return all[n]
	}
	return fmt.Sprintf("check %d", n)
}
