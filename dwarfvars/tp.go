package dwarfvars

import "github.com/corewalk/corewalk/unwind"

// tpNote reads a thread pointer that is the first word of a note.
func tpNote(n note) func(*Reader, unwind.ThreadID) (uint64, bool) {
	return func(r *Reader, tid unwind.ThreadID) (uint64, bool) {
		b, _ := r.note(tid, n)
		if len(b) < r.arch.WordSize {
			return 0, false
		}
		return r.arch.Word(b), true
	}
}

// tpRegister reads a thread pointer that is in the registers with the given numbers, the most
// significant word first.
func tpRegister(numbers ...uint64) func(*Reader, unwind.ThreadID) (uint64, bool) {
	return func(r *Reader, tid unwind.ThreadID) (uint64, bool) {
		regs, err := r.proc.Registers(tid)
		if err != nil {
			return 0, false
		}
		var tp uint64
		for _, n := range numbers {
			reg, _ := r.arch.FromDWARF(n)
			v, ok := regs.Get(reg)
			if !ok {
				return 0, false
			}
			tp = tp<<32 | v
		}
		return tp, true
	}
}

// tpNamed reads a thread pointer that is in a register without a DWARF number.
func tpNamed(name string) func(*Reader, unwind.ThreadID) (uint64, bool) {
	return func(r *Reader, tid unwind.ThreadID) (uint64, bool) {
		regs, err := r.proc.Registers(tid)
		reg, _ := r.arch.RegByName(name)
		if err != nil {
			return 0, false
		}
		return regs.Get(reg)
	}
}
