package reason

import (
	"encoding/binary"
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
	if _, words := in.Signal.CodeName(); words != "" {
		r.Text = words
	}
	switch in.Signal.Code {
	case 0: // not known
	case fpeIntDiv:
		r.Kind = report.CrashDivZero
		if in.Inst == nil && in.overflowsAlike() {
			r.Text = "integer division by zero, or its quotient does not fit"
		}
	case fpeIntOvf:
		r.Kind = report.CrashIntOverflow
		return r
	case fpeSub:
		r.Kind = report.CrashBounds
		return r
	default:
		return r
	}
	if kind, text := in.division(); kind != "" {
		r.Kind, r.Text = kind, text
	}
	return r
}

func (in *Input) isX86() bool { return in.Arch != nil && in.Arch.Family == arch.FamilyX86 }

// overflowsAlike reports whether the processor raises the same fault for a division by zero and for a quotient
// that does not fit.
func (in *Input) overflowsAlike() bool {
	return in.isX86() || in.Arch != nil && in.Arch.Family == arch.FamilyS390
}

// division says what was wrong with the division at pc. The kind is "" if the instruction is not a division or
// its divisor is not known.
func (in *Input) division() (kind, text string) {
	if in.Inst == nil || in.Inst.Kind != disasm.Div {
		return "", ""
	}
	v, ok := in.divisor()
	switch {
	case !ok:
		return "", ""
	case v == 0:
		return report.CrashDivZero, "integer division by zero"
	case v == in.ofSize(^uint64(0)) && in.dividesLeast():
		return report.CrashDivOverflow, "integer division overflow: the most negative number divided by -1"
	}
	return report.CrashDivOverflow, "integer division overflow: the quotient does not fit"
}

// floats reports whether the instruction at pc is one of x86 that raises floating-point exceptions: of SSE and AVX, by what it computes
// and the type of its numbers; of x87, which raises those of the instruction before.
func (in *Input) floats() bool {
	if in.Inst == nil || !in.isX86() {
		return false
	}
	name, _, _ := strings.Cut(in.Inst.Text(disasm.TextOptions{}), " ")
	name = strings.TrimPrefix(name, "v")
	for _, what := range [...]string{"add", "sub", "mul", "div", "sqrt", "min", "max", "cmp", "comi", "ucomi", "cvt", "round", "fmadd", "fmsub", "fnmadd", "fnmsub"} {
		rest, ok := strings.CutPrefix(name, what)
		if !ok {
			continue
		}
		for _, of := range [...]string{"ss", "sd", "ps", "pd"} {
			if strings.HasSuffix(rest, of) || what == "cvt" {
				return true
			}
		}
	}
	for _, what := range [...]string{"fadd", "fiadd", "fsub", "fisub", "fmul", "fimul", "fdiv", "fidiv", "fsqrt", "fst", "fist", "fcom", "fucom", "fld", "fild", "fwait", "wait"} {
		if strings.HasPrefix(name, what) {
			return true
		}
	}
	return false
}

// dividesLeast reports whether an idiv divides the most negative number of its operand size. The dividend has
// twice that size: its upper half is -1 then.
func (in *Input) dividesLeast() bool {
	low, high := in.namedReg("ax"), in.namedReg("dx")
	if in.Inst.Size == 1 { // it is ax
		high = low >> 8
	}
	all := in.ofSize(^uint64(0))
	return in.ofSize(low) == all/2+1 && in.ofSize(high) == all && strings.HasPrefix(in.Inst.Text(disasm.TextOptions{}), "idiv")
}

// namedReg returns the value of a register of x86 by the name of its 16 bits; 0 if it is not known.
func (in *Input) namedReg(name string) uint64 {
	reg, ok := in.Arch.RegByName("r" + name)
	if !ok {
		reg, _ = in.Arch.RegByName("e" + name)
	}
	v, _ := in.Regs.Get(reg)
	return v
}

// ofSize returns the part of a value that has the operand size of the instruction.
func (in *Input) ofSize(v uint64) uint64 { return v & (^uint64(0) >> (64 - 8*in.Inst.Size)) }

// divisor returns the divisor of the instruction.
func (in *Input) divisor() (uint64, bool) {
	v, ok := in.Regs.Get(in.Inst.Src)
	if addr, isMem := in.Inst.EffectiveAddress(&in.Regs); isMem {
		v, ok = in.word(addr)
		if in.Arch.ByteOrder == binary.BigEndian {
			v >>= 8 * (uint(in.Arch.WordSize) - uint(in.Inst.Size))
		}
	}
	return in.ofSize(v), ok
}
