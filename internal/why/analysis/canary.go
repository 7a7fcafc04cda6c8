package analysis

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The stack protector puts a secret word between the arrays of a function and its return address, and calls __stack_chk_fail where that word has changed
// before the function returns. Who overran what is then still in memory: arrays lie next to the word, and what was written goes on across it.

// Limits of what is looked at to find out which variable lies below the word.
const (
	maxProtectorCode  = 1 << 12 // instructions of the function
	maxProtectedBytes = 1 << 10 // of the frame, that belong to no variable
	maxProtectorCalls = 64      // calls of the function, for variables of inner blocks
	maxNoticedFrames  = 12      // frames of the C library before that of the function
)

// smashedFrame is the number of the physical frame whose function found its protecting word changed; 0 if none did.
func (c *crash) smashedFrame() int {
	number := 0
	for i := range c.named.Frames {
		f := &c.named.Frames[i]
		switch found := f.Function == "__stack_chk_fail" || f.Function == "__stack_chk_fail_local"; {
		case found:
			number = f.Physical + 1
		case number != 0 || f.Physical >= maxNoticedFrames || f.Signal != "":
			return number
		}
	}
	return number
}

// smashedStack says which variable was overrun where the stack protector ended the program.
func (c *crash) smashedStack() []report.Cause {
	number := c.smashedFrame()
	if number == 0 || number >= len(c.stack) || c.verdict().kind != report.CrashStackOverrun {
		return nil
	}
	w := c.witnessOf(c.stack, number, nil)
	if w == nil {
		return nil
	}
	defer w.close()
	slot, changed, ok := w.protector(&c.stop().regs)
	if !ok || w.vars == nil {
		return nil
	}
	arrays, others := w.below(slot)
	if len(arrays) == 0 {
		return nil
	}
	step := w.step(report.BlameVariable, w.state.PC)
	step.Role = "local"
	name, of, end, confidence := arrays[0].name, arrays[0], slot+changed, report.Likely
	from, to, what := c.textAcross(slot)
	if what != "" {
		name, of, confidence = beganIn(arrays, from)
		end = max(end, to)
	} else {
		what = c.content(slot, c.arch.WordSize)
		if len(arrays) > 1 || others {
			confidence = report.Possible // who wrote into another variable may have gone on, or jumped
		}
	}
	return []report.Cause{{Confidence: confidence, Text: fmt.Sprintf("%s, %s%s, has %s and was overrun by %s: %s stands in the word that protects the return address",
		name, roleOf(&step), atSource(&step), byteCount(of.high-of.low), span{end - of.high, true}, what)}}
}

// beganIn is the array that text was written to which goes on past the last of some: that in which it begins, and what else it may be.
func beganIn(arrays []stackArray, from uint64) (name string, of stackArray, confidence string) {
	of = arrays[0]
	for i, a := range arrays {
		switch {
		case from >= a.high: // what is before the array is text by chance
			return of.name, of, report.Likely
		case from >= a.low && i == 0:
			return a.name, a, report.Likely
		case from >= a.low: // what ends this one may be text of its own
			return a.name + " or " + of.name, of, report.Possible
		}
		of = a
	}
	return of.name, of, report.Possible // what was called may have begun below
}

// textAcross is the text that runs into a word from below, with its first byte and that behind its last one; "" if there is none.
func (c *crash) textAcross(at uint64) (from, end uint64, text string) {
	before := c.mem.Bytes(at-maxTextBefore, maxTextBefore)
	if before == nil {
		before = c.mem.Bytes(at-at%maxTextBefore, int(at%maxTextBefore))
	}
	after := c.mem.Some(at, maxTextAfter)
	back, on := 0, 0
	for back < len(before) && printable(before[len(before)-1-back]) {
		back++
	}
	for on < len(after) && printable(after[on]) {
		on++
	}
	if back < minText || on == 0 {
		return 0, 0, ""
	}
	on -= max(on-c.arch.WordSize, 0) % c.arch.WordSize // which may be the next word's own
	all := append(before[len(before)-back:len(before):len(before)], after[:on]...)
	dots := ""
	if len(all) > maxTextShown {
		all, dots = all[:maxTextShown], "..."
	}
	return at - uint64(back), at + uint64(on), strconv.Quote(string(all)) + dots
}

// protector is where the function has the word that it compares before it returns, and how many bytes of it have changed, up to the last one: what it was,
// memory still tells, but on i386, where the dump has no base of the segment. It is known where code loads it by a segment register, as on x86.
func (w *witness) protector(regs *arch.RegSet) (slot, changed uint64, ok bool) {
	word := uint16(w.in.arch.WordSize)
	kept, tells, loaded := uint64(0), false, arch.NoReg
	at := w.code.Start()
	for range maxProtectorCode {
		in, known := w.code.Inst(at)
		if !known || at >= w.state.PC {
			return 0, 0, false
		}
		at = in.Next()
		m := in.Mem()
		switch {
		case m == nil:
		case m.Read && !m.Write && m.Segment != arch.NoReg && m.Base == arch.NoReg && m.Index == arch.NoReg && m.Size == word:
			kept, tells = m.Address(regs)
			loaded = arch.NoReg
			for r := range arch.Reg(w.in.arch.NumRegs()) {
				if in.Writes.Has(r) && r != w.in.arch.PC {
					loaded = r
				}
			}
			continue
		case m.Write && !m.Read && loaded != arch.NoReg && in.Reads.Has(loaded) && m.Size == word:
			offset, known := w.code.FrameOffset(in.PC)
			if !known || !w.state.HasCFA {
				return 0, 0, false
			}
			slot = w.state.CFA + uint64(offset)
			if !tells { // __stack_chk_fail was called because of one byte at least
				return slot, 1, true
			}
			now := w.in.mem.Bytes(slot, int(word))
			was := w.in.mem.Bytes(kept, int(word))
			for i := range now {
				if i < len(was) && now[i] != was[i] {
					changed = uint64(i + 1)
				}
			}
			return slot, changed, changed > 0
		}
		if loaded != arch.NoReg && in.Writes.Has(loaded) {
			loaded = arch.NoReg
		}
	}
	return 0, 0, false
}

// A stackArray is a variable with an array in it.
type stackArray struct {
	name      string
	low, high uint64
}

// below lists the variables of a frame that have arrays, from an address downwards, the nearest first. others says that something that is no such variable
// lies between that address and the first.
func (w *witness) below(at uint64) (arrays []stackArray, others bool) {
	free := maxProtectedBytes
	for sp := uint64(w.frame.SP()); at > sp && free > 0; {
		name, t, low, high, ok := w.variableOver(at - 1)
		if !ok {
			at--
			free--
			continue
		}
		if hasArray(t, 0) {
			arrays = append(arrays, lastArray(name, t, low, high))
		} else if len(arrays) == 0 {
			others = true
		}
		if low >= at {
			break
		}
		at = low
	}
	return arrays, others
}

// lastArray is the array with which a structure ends, or else the whole variable.
func lastArray(name string, t *types.Type, low, high uint64) stackArray {
	whole := stackArray{name, low, high}
	path, part, ok := t.Part(high-low-1, 1)
	open := strings.LastIndexByte(path, '[')
	if !ok || open <= 0 || path[open-1] == ']' || !strings.HasSuffix(path, "]") {
		return whole
	}
	last, err := strconv.ParseUint(path[open+1:len(path)-1], 10, 32)
	size := part.Size()
	if err != nil || size == 0 || (last+1)*size > high-low {
		return whole
	}
	return stackArray{name + path[:open], high - (last+1)*size, high}
}

// variableOver is the variable of the frame that has a byte: also one of an inner block, which has ended where the function returns.
func (w *witness) variableOver(addr uint64) (name string, t *types.Type, low, high uint64, ok bool) {
	find := func(pc uint64) bool {
		h, from, to, found := w.vars.Object(pc, addr)
		if found && h.Type != nil && h.Variable != "" {
			name, t, low, high, ok = h.Variable, h.Type, from, to, true
		}
		return ok
	}
	if find(w.state.PC) {
		return name, t, low, high, ok
	}
	for _, pc := range w.blocks() {
		if find(pc) {
			break
		}
	}
	return name, t, low, high, ok
}

// blocks are instructions of the function, of which those of inner blocks, and of inlined calls, are some: calls, and the ends of loops.
func (w *witness) blocks() []uint64 {
	if w.inner == nil {
		w.inner = []uint64{}
		w.code.Calls(func(in disasm.Inst) bool {
			w.inner = append(w.inner, in.PC)
			return len(w.inner) < maxProtectorCalls
		})
		at := w.code.Start()
		for n := 0; n < maxProtectorCode && len(w.inner) < 2*maxProtectorCalls; n++ {
			in, known := w.code.Inst(at)
			if !known {
				break
			}
			if (in.Kind == disasm.CondJump || in.Kind == disasm.Jump) && in.Target < in.PC {
				w.inner = append(w.inner, in.PC)
			}
			at = in.Next()
		}
	}
	return w.inner
}

// hasArray reports whether a type is an array, or has one in it.
func hasArray(t *types.Type, depth int) bool {
	const deepest, widest = 4, 64
	t = t.Strip()
	if t.Tag == dwarf.TagArrayType {
		return true
	}
	if !t.Aggregate() || depth == deepest {
		return false
	}
	m := t.Members()
	for i := range m.Fields[:min(len(m.Fields), widest)] {
		if f := &m.Fields[i]; !f.Static && hasArray(t.MemberType(f), depth+1) {
			return true
		}
	}
	return false
}
