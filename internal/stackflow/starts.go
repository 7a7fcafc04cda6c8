package stackflow

import (
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// CallTargets lists the addresses inside code, which lies at addr, that direct
// calls in code lead to, by rising order. Where instructions have no fixed place
// (x86) bytes that merely look like a call count too: one in many thousands.
func CallTargets(a *arch.Arch, code []byte, addr uint64) []uint64 {
	var targets []uint64
	add := func(to uint64) {
		if to-addr < uint64(len(code)) {
			targets = append(targets, to)
		}
	}
	if a.Family == arch.FamilyX86 {
		for i := 0; i+5 <= len(code); i++ {
			if code[i] == 0xe8 {
				add(a.Truncate(addr + uint64(i) + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))))
			}
		}
	} else {
		var in disasm.Inst
		for pc := uint64(0); pc < uint64(len(code)); {
			if disasm.DecodeInto(&in, a, code[pc:], addr+pc) != nil {
				pc += uint64(max(a.PCAlign, 1))
				continue
			}
			if in.Kind == disasm.Call && in.Target != in.Next() {
				add(in.Target)
			}
			pc += uint64(in.Len)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// functionAlign is what compilers align functions to, in bytes.
const functionAlign = 16

// StartsByPadding lists up to n addresses below pc where code, which lies at
// addr and ends before pc, looks as if a function began: aligned, after padding
// that control does not run into. The nearest comes first.
func StartsByPadding(a *arch.Arch, code []byte, addr, pc uint64, n int) []uint64 {
	var starts []uint64
	for at := pc &^ (functionAlign - 1); at > addr && len(starts) < n; at -= functionAlign {
		if off := at - addr; off <= uint64(len(code)) && endsBefore(a, code[:off], at) {
			starts = append(starts, at)
		}
	}
	return starts
}

// endsBefore reports whether code, which ends at at, ends with an instruction
// that control does not pass, and padding.
func endsBefore(a *arch.Arch, code []byte, at uint64) bool {
	// Decoding from several places finds the common end; instructions fall into
	// step quickly.
	step := max(a.PCAlign, 1)
	for back := step; back <= 3*disasm.MaxLen && back <= len(code); back += step {
		if ends, ok := lastEnds(a, code[len(code)-back:], at-uint64(back)); ok && ends {
			return true
		}
	}
	return false
}

// lastEnds decodes code, which begins with an instruction that ends control's
// way, or answers false: nothing but padding may follow.
func lastEnds(a *arch.Arch, code []byte, pc uint64) (ends, ok bool) {
	var in disasm.Inst
	for first := true; len(code) > 0; first = false {
		if disasm.DecodeInto(&in, a, code, pc) != nil || in.Len > len(code) {
			return false, false
		}
		switch {
		case first && (in.Kind == disasm.Ret || in.Kind == disasm.Jump || in.Kind == disasm.JumpIndirect):
		case first && in.Kind == disasm.Trap && (a.Family != arch.FamilyX86 || in.Bytes()[0] == 0x0f): // ud2
		case !first && (in.Kind == disasm.Nop || in.Kind == disasm.Int3):
		default:
			return false, true
		}
		code, pc = code[in.Len:], pc+uint64(in.Len)
	}
	return true, true
}
