package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/why/reason"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Text that was written beyond the end of an array reaches what lies behind it: the bytes of a bad pointer then go on with the text
// before the pointer.

// How much text is looked at.
const (
	maxTextBefore = 1024 // bytes before the value
	maxTextAfter  = 64   // bytes from the value on
	maxTextShown  = 48
	minText       = 4 // bytes, of the value and before it, that are not text by chance
)

// overwritten returns the step for a value that text in memory runs into; false if there is no such text. v is where the value was
// read from.
func (t *tracer) overwritten(w *witness, v *provenance.Value, value uint64) (report.BlameStep, bool) {
	if t.loose || v.Size != t.in.arch.WordSize {
		return report.BlameStep{}, false
	}
	at, ok := uint64(0), false
	switch v.Kind {
	case provenance.Load:
		if at, ok = w.eval.Address(v, t.past); !ok {
			at, ok = t.stillAt(v, value)
		}
	case provenance.Slot, provenance.EntrySlot:
		at, ok = w.state.CFA+uint64(v.K), w.state.HasCFA
	}
	if now, read := t.in.mem.Uint(at, v.Size); !ok || !read || now != value {
		return report.BlameStep{}, false
	}
	if v.Kind != provenance.Load {
		t.readAt = append(t.readAt, at)
	}
	return t.textInto(w, v.At, at, func(addr uint64) named {
		if v.Kind == provenance.Load {
			if n := w.target(v.At, v.Base, v.Index, v.Scale, v.K+int64(addr-at), 1, 0); n.text != "" {
				return n
			}
		}
		return named{}
	})
}

// smashed tells which text runs into the return address to which a function failed to return; nil for none.
func (t *tracer) smashed(inst *disasm.Inst, why *reason.Reason) *report.Blame {
	if inst.Kind != disasm.Ret || !why.AtInst || why.Access != report.AccessExecute {
		return nil
	}
	w := t.witness(0, nil)
	if w == nil {
		return nil
	}
	at, ok := w.state.Reg(t.in.arch.SP)
	value, read := t.in.mem.Uint(at, t.in.arch.WordSize)
	if !ok || !read {
		return nil
	}
	s, ok := t.textInto(w, w.state.PC, at, func(uint64) named { return named{} })
	if !ok {
		return nil
	}
	t.out.Value = report.Addr(value)
	t.out.Steps = append(t.out.Steps, s)
	return &t.out
}

// textInto returns the step for the text that runs into the word at an address. name names a byte of memory, where it can.
func (t *tracer) textInto(w *witness, inst, at uint64, name func(addr uint64) named) (report.BlameStep, bool) {
	word := t.in.arch.WordSize
	before := t.in.mem.Bytes(at-maxTextBefore, maxTextBefore)
	if before == nil { // the memory begins nearer
		before = t.in.mem.Bytes(at-at%maxTextBefore, int(at%maxTextBefore))
	}
	after := t.in.mem.Some(at, maxTextAfter)
	if before == nil || len(after) < word {
		return report.BlameStep{}, false
	}
	back, on := 0, 0
	for back < len(before) && printable(before[len(before)-1-back]) {
		back++
	}
	for on < len(after) && printable(after[on]) {
		on++
	}
	ends := on
	on = writtenTo(t.in.arch, after, on, at)
	inside := min(on, word)
	if back < minText || inside < minText && (back < 2*minText || inside == 0 || after[ends] != 0) {
		return report.BlameStep{}, false
	}
	s := w.step(report.BlameOverwritten, inst)
	s.Number, s.Offset = inside, report.Addr(back)
	text := slices.Concat(before[len(before)-back:], after[:on])
	if s.Expression = string(text); len(text) > maxTextShown {
		s.Expression = string(text[:maxTextShown]) + "..."
	}
	s.Name = w.arrayAt(inst, at-uint64(back), name)
	if s.Name != "" && strings.HasPrefix(w.byteAt(inst, at).text, s.Name+"[") {
		return report.BlameStep{}, false // what was read is of the array itself: whoever read it there had a wrong pointer
	}
	if t.doubt(report.Likely); s.Name == "" || inside < minText {
		t.doubt(report.Possible)
	}
	return s, true
}

// writtenTo returns how many bytes of text reach into the word at an address, of as many that can be printed: the high bytes of a
// pointer are no text if they are those of the address where it lies.
func writtenTo(a *arch.Arch, word []byte, on int, at uint64) int {
	const low = 4 // bytes, that differ from one address of the process to the other
	if on >= a.WordSize || a.Big() {
		return on
	}
	for on > low && word[on-1] == byte(at>>(8*(on-1))) {
		on--
	}
	return on
}

// arrayAt names the array of characters that has a byte of memory; "" if there is none.
func (w *witness) arrayAt(inst, addr uint64, name func(uint64) named) string {
	if w.vars == nil {
		return ""
	}
	n := name(addr)
	if n.text == "" {
		n = w.byteAt(inst, addr)
	}
	open := strings.LastIndexByte(n.text, '[')
	if n.typ == nil || open <= 0 || !strings.HasSuffix(n.text, "]") {
		return ""
	}
	if size, char := n.typ.Char(); !char || size != 1 {
		return ""
	}
	return n.text[:open]
}

// byteAt names a byte of a variable of the function or of the process.
func (w *witness) byteAt(inst, addr uint64) named {
	n, low, ok := w.object(inst, addr)
	if !ok {
		return named{}
	}
	path, part, ok := n.typ.Part(addr-low, 1)
	if !ok {
		return named{}
	}
	return named{text: n.text + path, typ: part}
}

func printable(c byte) bool { return c >= ' ' && c <= '~' }
