package reason

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Codes of SIGFPE.
const (
	fpeIntDiv = 1
	fpeIntOvf = 2
	fpeSub    = 8
)

func (in *Input) arithmetic() Reason {
	r := Reason{Kind: report.CrashFloat, Text: "arithmetic error", AtInst: true}
	code := in.Signal.Code
	if in.Signal.HasInfo {
		if _, words := CodeName(sigFPE, code); words != "" {
			r.Text = words
		}
		switch code {
		case fpeIntDiv:
			r.Kind = report.CrashDivZero
		case fpeIntOvf:
			r.Kind = report.CrashIntOverflow
		case fpeSub:
			r.Kind = report.CrashBounds
		}
	}
	if in.Signal.HasInfo && code != fpeIntDiv {
		return r
	}
	if kind, text := in.division(); kind != "" {
		r.Kind, r.Text = kind, text
	} else if in.Signal.HasInfo && in.Inst == nil && in.isX86() {
		r.Text = "integer division by zero, or its quotient does not fit"
	}
	return r
}

func (in *Input) isX86() bool { return in.Arch != nil && in.Arch.Family == arch.FamilyX86 }

// division says what was wrong with the division at pc: x86 raises the same fault for a division by zero and
// for a quotient that does not fit. The kind is "" if the instruction is not a division or its divisor is not
// known.
func (in *Input) division() (kind, text string) {
	if in.Inst == nil || in.Inst.Kind != disasm.Div || !in.isX86() {
		return "", ""
	}
	v, ok := in.divisor()
	switch {
	case !ok:
		return "", ""
	case v == 0:
		return report.CrashDivZero, "integer division by zero"
	case v == in.allOnesOfSize() && in.dividesLeast():
		return report.CrashDivOverflow, "integer division overflow: the most negative number divided by -1"
	}
	return report.CrashDivOverflow, "integer division overflow: the quotient does not fit"
}

// dividesLeast reports whether the dividend is the most negative number.
func (in *Input) dividesLeast() bool {
	ax, ok := in.Arch.RegByName("rax")
	if in.Arch.WordSize == 4 {
		ax, ok = in.Arch.RegByName("eax")
	}
	v, known := in.Regs.Get(ax)
	all := in.allOnesOfSize()
	return ok && known && v&all == all/2+1 && strings.HasPrefix(in.Inst.Text(disasm.TextOptions{}), "idiv")
}

// allOnesOfSize returns -1 in the operand size of the instruction.
func (in *Input) allOnesOfSize() uint64 {
	if n := in.Inst.Size; n > 0 && n < 8 {
		return 1<<(8*n) - 1
	}
	return ^uint64(0)
}

// divisor returns the divisor of the instruction.
func (in *Input) divisor() (uint64, bool) {
	v, ok := in.Regs.Get(in.Inst.Src)
	if addr, isMem := in.Inst.EffectiveAddress(&in.Regs); isMem {
		if in.Word == nil {
			return 0, false
		}
		v, ok = in.Word(addr)
	}
	return v & in.allOnesOfSize(), ok
}
