package provenance

import (
	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Kept returns which registers of a set hold at an instruction what a register held when the function was called, by that
// register. It relies on the code alone: whatever the calling convention lets the function change, it did not. The
// result is nil if control may take unknown paths through the function. An instruction that was interrupted halfway,
// as repeated string instructions and system calls are, counts as having changed its registers.
func (f *Func) Kept(at uint64, of arch.RegMask) map[arch.Reg]arch.RegMask {
	i, ok := f.index(at)
	if !ok || f.opaque {
		return nil
	}
	in := f.inst(i)
	if in == nil {
		return nil
	}
	changing := arch.Mask(f.arch.SP, f.arch.PC)
	if in.Rep || in.Kind == disasm.Syscall {
		changing |= in.Writes
	}
	kept := map[arch.Reg]arch.RegMask{}
	for r := range arch.Reg(f.arch.NumRegs()) {
		if changing.Has(r) || !of.Has(r) {
			continue
		}
		v := f.Before(at, Reg(r))
		for range maxRestored {
			if v.Kind != Slot || v.Size != f.arch.RegSize {
				break
			}
			v = f.Stored(v)
		}
		if v.Kind == Entry {
			kept[v.Reg] |= arch.Mask(r)
		}
	}
	return kept
}

// maxRestored limits how often a register was saved in the frame and restored.
const maxRestored = 4

// SavedAt returns where in its frame, as offsets from the CFA, a function holds at an instruction what a register, or so many low bytes of it, held when it
// was called: where it stored that before anything else, as code that is not optimised does with its parameters.
func (f *Func) SavedAt(at uint64, r arch.Reg, size int) (offs []int64) {
	for i := f.entry; i < len(f.steps); i++ {
		in := f.inst(i)
		if in == nil || in.Kind.IsCall() || in.Target != 0 && in.Kind != disasm.CondJump {
			break
		}
		m := in.Mem()
		if in.Kind != disasm.Store || m == nil || in.Src != r || int(m.Size) != size {
			continue
		}
		off, ok := f.frameOffset(i, m)
		if !ok {
			continue
		}
		v := f.Before(at, Frame(off, size))
		if v.Kind == Cut && size < f.arch.RegSize {
			v = f.Before(v.At, Reg(v.Base))
		}
		if v.Reg == r { // an Entry
			offs = append(offs, off)
		}
	}
	return offs
}
