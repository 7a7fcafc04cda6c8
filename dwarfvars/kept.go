package dwarfvars

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Registers that calls need not preserve. Where the code of the callee shows that it has not
// changed such a register on any way from its first instruction to where it is, the register
// still holds what the caller had in it. Compilers rely on that for functions of the same file
// (gcc's -fipa-ra), and the arguments of a call often stay where they were passed.

// maxKept is through how many younger frames a register is followed.
const maxKept = 16

// kept returns a register of a frame that made a call, if the functions that were called since
// have left it as it was. It returns false if that is not certain.
func (e *evaluator) kept(r arch.Reg) (uint64, bool) {
	if e.virtual || r == e.r.arch.RA || e.isGo() {
		return 0, false // functions of Go preserve nothing, and the call itself changes RA
	}
	return e.inFrame(e.index, r, maxKept)
}

// atEntry returns what a register held when the frame's function was called, if one still holds
// that.
func (e *evaluator) atEntry(dwarfReg uint64) (uint64, bool) {
	r, ok := e.r.arch.FromDWARF(dwarfReg)
	if !ok || e.virtual || e.fn.rec != nil || e.isGo() {
		return 0, false
	}
	return e.enteredWith(e.index, e.fn.fn.Entry+e.fn.bias, r, maxKept)
}

// isGo reports whether the function is one of Go.
func (e *evaluator) isGo() bool { return e.fn.rec == nil && e.fn.fn.Unit.Language == dwarf.LangGo }

// inFrame returns a register of frame number index: one that the walk found, or one that the
// callee did not change.
func (e *evaluator) inFrame(index int, reg arch.Reg, left int) (uint64, bool) {
	f := e.frames[index]
	v, loc, ok := f.Reg(reg)
	e.inputs.Add(where.InputReg, index, reg, v, ok)
	e.uses(ok && loc.Doubtful)
	if ok {
		return v, true
	}
	callee, ok := e.callee(index, left)
	if !ok || reg == e.r.arch.RA {
		return 0, false
	}
	return e.enteredWith(index-1, callee, reg, left-1)
}

// callee returns the function that frame number index called, in which its registers may still be.
func (e *evaluator) callee(index, left int) (arch.Address, bool) {
	f := e.frames[index]
	if index == 0 || left == 0 || f.NonCall() || f.Trust() == unwind.TrustScan || e.frames[index-1].IsTrampoline() {
		return 0, false
	}
	return e.r.calledDirectly(f)
}

// enteredWith returns what a register held when the function of frame number index was called at
// start.
func (e *evaluator) enteredWith(index int, start arch.Address, reg arch.Reg, left int) (uint64, bool) {
	first := e.r.arch.CalleeSaved // mostly the only ones that are known, and each takes time
	for _, of := range []arch.RegMask{first, ^first} {
		if of != first && !e.knows(index, of, left) {
			break
		}
		for regs := e.r.keptBy(e.frames[index], start, of)[reg]; regs != 0; regs &= regs - 1 {
			if v, ok := e.inFrame(index, regs.First(), left); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// knows reports whether some register of a set may be known in frame number index.
func (e *evaluator) knows(index int, of arch.RegMask, left int) bool {
	for reg := range arch.Reg(e.r.arch.NumRegs()) {
		if of.Has(reg) && reg != e.r.arch.SP && reg != e.r.arch.PC {
			if _, _, ok := e.frames[index].Reg(reg); ok {
				return true
			}
		}
	}
	_, ok := e.callee(index, left)
	return ok
}

// calledDirectly returns the function that a frame's call instruction names.
func (r *Reader) calledDirectly(f *unwind.Frame) (arch.Address, bool) {
	c, ok := r.codeAt(f.LookupAddr())
	if !ok {
		return 0, false
	}
	ra, n := f.RA()-c.bias, uint64(disasm.MaxLen+1)
	code := c.CodeAt(ra - n)
	for ; n > 1 && uint64(len(code)) < n; code = c.CodeAt(ra - n) {
		n-- // near the start of a segment
	}
	if uint64(len(code)) < n {
		return 0, false
	}
	site, ok := disasm.CallBefore(r.arch, code[:n], ra|r.mode(f))
	return site.Target&^r.mode(f) + c.bias, ok && site.Direct
}

// mode is the bit of code pointers to the frame's code that selects the instruction set.
func (r *Reader) mode(f *unwind.Frame) uint64 {
	if r.arch.Mode == arch.NoReg {
		return 0
	}
	return f.CodePointer() & 1
}

// A codeFile is the code of a library.
type codeFile struct {
	stackflow.Code
	im   *image.Image
	lib  *libstate.Library
	bias arch.Address
}

// codeAt returns the code of the library at an address.
func (r *Reader) codeAt(addr arch.Address) (c codeFile, ok bool) {
	libs := r.proc.LibraryTracker()
	if libs == nil {
		return c, false
	}
	if c.lib, ok = libs.LibraryAt(addr); !ok {
		return c, false
	}
	// The code of another build proves nothing.
	if c.im = (*image.Image)(modules.MatchedImage(r.files, c.lib)); c.im.ELF() == nil || c.im.ELF().DebugOnly() {
		return c, false
	}
	c.Code, c.bias = c.im.Code(), c.im.Bias(c.lib.LoadBias)
	return c, true
}

// A keptKey is a frame's instruction in a file, in a function that was entered at start.
type keptKey struct {
	start, pc uint64 // start with the bit of mode
	call      bool   // the instruction is the call that returns to pc
	of        arch.RegMask
}

// An imageKey is a keptKey and its file.
type imageKey struct {
	im *image.Image
	keptKey
}

// keptBy returns which registers of a set hold, at a frame's instruction, what a register held at start,
// by that register; nil if the code does not lead from there to the frame. That depends on the
// file alone: other dumps of a batch ask the same of libc.
func (r *Reader) keptBy(f *unwind.Frame, start arch.Address, of arch.RegMask) map[arch.Reg]arch.RegMask {
	c, ok := r.codeAt(f.LookupAddr())
	if !ok {
		return nil
	}
	key := imageKey{c.im, keptKey{(start - c.bias) | r.mode(f), f.RA() - c.bias, f.LookupAddr() != f.RA(), of}}
	if v, ok := r.untouched.Load(key); ok {
		return v.(map[arch.Reg]arch.RegMask)
	}
	kept := image.Kept(c.im, key.keptKey, func() map[arch.Reg]arch.RegMask {
		return unpackKept(c.im.Answer(key.question(), func() []byte { return packKept(r.followTo(&c, key.keptKey, start-c.bias)) }))
	})
	r.untouched.Store(key, kept)
	return kept
}

func (k keptKey) question() image.Question {
	q := image.Question{Kind: image.AskedKept, A: k.start, B: k.pc, C: uint64(k.of)}
	if k.call {
		q.Kind = image.AskedKeptCall
	}
	return q
}

// keptSize is the size in bytes of what packKept writes for a register: its number and the mask.
const keptSize = 1 + 8

// packKept writes what followTo returns, as an answer that is kept on disk.
func packKept(kept map[arch.Reg]arch.RegMask) []byte {
	b := make([]byte, 0, keptSize*len(kept))
	for _, reg := range slices.Sorted(maps.Keys(kept)) {
		b = binary.LittleEndian.AppendUint64(append(b, byte(reg)), uint64(kept[reg]))
	}
	return b
}

// unpackKept is the reverse of packKept, or an empty map.
func unpackKept(b []byte) map[arch.Reg]arch.RegMask {
	kept := map[arch.Reg]arch.RegMask{}
	for ; len(b) >= keptSize; b = b[keptSize:] {
		kept[arch.Reg(b[0])] = arch.RegMask(binary.LittleEndian.Uint64(b[1:]))
	}
	return kept
}

// followTo follows the code of a function to a frame's instruction; see keptBy.
func (r *Reader) followTo(c *codeFile, key keptKey, start uint64) map[arch.Reg]arch.RegMask {
	end, ok := c.end(start)
	if !ok {
		return nil // jumps to the middle of a function could be taken for tail calls
	}
	windows := c.lib.Module != nil && c.lib.Module.Format == libstate.FormatPE
	code := provenance.New(r.arch, provenance.ABIOf(r.arch, windows), c.Code, key.start, end)
	if code == nil {
		return nil
	}
	pc := key.pc
	if key.call {
		if pc, ok = code.CallBefore(pc); !ok {
			return nil
		}
	}
	return code.Kept(pc, key.of)
}

// end returns where the function that begins at start ends; false if that is not known. Unwind
// tables say it without a search of all symbols.
func (c *codeFile) end(start uint64) (uint64, bool) {
	if t := c.im.EHFrame(); t != nil {
		if low, high, ok := t.FDEForPC(start); ok && low == start {
			return high, true
		}
	}
	s, ok := c.im.SymbolAt(start)
	return start + s.Size, ok && s.Value == start && s.Size > 0
}
