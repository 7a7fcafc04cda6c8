package stackflow

import (
	"encoding/binary"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// CallTargets lists, in ascending order, the code pointers into code, which is at addr, to
// which direct calls in code lead. Some may be wrong. If instructions have no fixed
// alignment (x86), bytes that look like a call count, too: one in many thousands. If there
// are two instruction sets, code of one may look like calls in the other.
func CallTargets(a *arch.Arch, code []byte, addr uint64) []uint64 {
	t := callTargets{arch: a, addr: addr, size: uint64(len(code))}
	switch {
	case a.Family == arch.FamilyX86:
		t.searchX86(code)
	case a.Mode != arch.NoReg:
		t.search(code, 0)
		t.search(code, 1)
	default:
		t.search(code, 0)
	}
	slices.Sort(t.list)
	return slices.Compact(t.list)
}

type callTargets struct {
	arch       *arch.Arch
	addr, size uint64
	list       []uint64
}

func (t *callTargets) add(to uint64) {
	if to-t.addr < t.size {
		t.list = append(t.list, to)
	}
}

func (t *callTargets) searchX86(code []byte) {
	for i := 0; i+5 <= len(code); i++ {
		if code[i] == 0xe8 {
			rel := int64(int32(binary.LittleEndian.Uint32(code[i+1:])))
			t.add(t.arch.Truncate(t.addr + uint64(i) + 5 + uint64(rel)))
		}
	}
}

// search decodes code in the instruction set given by mode.
func (t *callTargets) search(code []byte, mode uint64) {
	var in disasm.Inst
	step := uint64(max(t.arch.PCAlign, 1))
	for pc := uint64(0); pc < t.size; {
		if disasm.DecodeInto(&in, t.arch, code[pc:], (t.addr+pc)|mode) != nil {
			pc += step
			continue
		}
		at := pc
		pc += uint64(in.Len)
		switch {
		case in.Kind == disasm.Call && in.Target != in.Next():
			to := mode
			if in.Switches {
				to ^= 1
			}
			t.add(in.Target | to)
		case in.Kind == disasm.CallIndirect && !in.Delayed: // possibly the second of a pair
			from := max(at, disasm.MaxLen) - disasm.MaxLen
			if site, ok := disasm.CallBefore(t.arch, code[from:pc], (t.addr+pc)|mode); ok && site.Direct {
				t.add(site.Target)
			}
		}
	}
}

// StartsByPadding lists up to n addresses below pc, a code pointer, at which a function
// seems to begin: aligned addresses after padding that control does not run into. code is
// at addr and ends after pc. The nearest address comes first.
func StartsByPadding(a *arch.Arch, code []byte, addr, pc uint64, n int) []uint64 {
	return StartsKept(a, code, addr, pc, n, func(_ uint64, ends func() bool) bool { return ends() })
}

// PaddingBytes is how many bytes before an address show whether there is padding.
const PaddingBytes = 3 * disasm.MaxLen

// StartsKept is StartsByPadding for a caller that keeps what it learns of an address with PaddingBytes of code before it, a code
// pointer: kept returns that, or what ends finds out.
func StartsKept(a *arch.Arch, code []byte, addr, pc uint64, n int, kept func(at uint64, ends func() bool) bool) []uint64 {
	mode := uint64(0)
	if a.Mode != arch.NoReg {
		mode = pc & 1
	}
	align := uint64(4)
	if a.Family == arch.FamilyX86 {
		align = 16
	}
	var starts []uint64
	for at := pc &^ (align - 1); at > addr && len(starts) < n; at -= align {
		off := at - addr
		if off > uint64(len(code)) {
			continue
		}
		ends := func() bool { return endsBefore(a, code[:off], at, mode) }
		if off >= PaddingBytes && kept(at|mode, ends) || off < PaddingBytes && ends() {
			starts = append(starts, at)
		}
	}
	return starts
}

// endsBefore reports whether code, which ends at at, ends with an instruction after which
// control does not continue, and padding.
func endsBefore(a *arch.Arch, code []byte, at, mode uint64) bool {
	step := max(a.PCAlign, 1)
	for back := step; back <= PaddingBytes && back <= len(code); back += step {
		if ends, ok := lastEnds(a, code[len(code)-back:], at-uint64(back), mode); ok && ends {
			return true
		}
	}
	return false
}

// lastEnds decodes code and reports whether it is one instruction after which control does
// not continue, and padding; ok is false if it is not code.
func lastEnds(a *arch.Arch, code []byte, pc, mode uint64) (ends, ok bool) {
	var in disasm.Inst
	for first := true; len(code) > 0; first = false {
		if disasm.DecodeInto(&in, a, code, pc|mode) != nil || in.Len > len(code) {
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
