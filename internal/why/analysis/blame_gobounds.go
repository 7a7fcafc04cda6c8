package analysis

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// boundsError matches the texts of Go's panics for indexes and bounds of slices.
var boundsError = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp {
	return regexp.MustCompile(`^runtime error: (?:index|slice bounds) out of range \[(:{0,2})(-?\d+)(:?)(\d*)(:?)\](?: with (length|capacity) (\d+))?$`)
}}

// goBounds says of such a panic which index of what it was: what was compared on the way to the call of the runtime.
func (c *crash) goBounds() []report.Cause { return c.known.goBounds.of(c.findGoBounds) }

func (c *crash) findGoBounds() []report.Cause {
	w := c.words()
	if w.told != asReason || w.Fault != nil || w.Panic == nil || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	m := boundsError.Get().FindStringSubmatch(w.Panic.Value)
	if m == nil {
		return nil
	}
	t, caller := c.askedRuntime(func(f string) bool {
		return strings.HasPrefix(f, "runtime.panicIndex") || strings.HasPrefix(f, "runtime.panicSlice") || strings.HasPrefix(f, "runtime.goPanic") || strings.HasPrefix(f, "runtime.panicBounds")
	})
	if t == nil {
		return nil
	}
	defer t.close()
	index, limit, ok := caller.code.Compared(caller.state.PC)
	if !ok {
		return nil
	}
	bad, _ := strconv.ParseInt(m[2], 10, 64)
	other := m[4] + m[7]
	if other == "" { // a negative index
		other = "-1"
	}
	most, err := strconv.ParseInt(other, 10, 64)
	if err != nil || limit.Value.Kind == provenance.Const && other != "-1" && limit.Value.K != most || index.Value.Kind == provenance.Const && index.Value.K != bad {
		return nil // another comparison
	}
	for _, o := range []struct {
		of provenance.Operand
		is int64
	}{{index, bad}, {limit, most}} {
		if v, _, known := caller.eval.Value(o.of.Value, 0); known && o.of.Value.Kind != provenance.Const && other != "-1" && c.arch.Truncate(v) != c.arch.Truncate(uint64(o.is)) {
			return nil
		}
	}
	i := caller.name(index.Value, index.At, index.Reg, 0)
	from := suspect{w: caller, v: index.Value, reg: index.Reg, value: c.arch.Truncate(uint64(bad))}
	if whole, size := caller.sized(index); whole != "" { // of which the name is that of the whole slice
		i.text, from.w = size+"("+whole+")", nil
	}
	if v := index.Value; i.text == "" && v.Kind == provenance.Sum && v.Base != arch.NoReg && v.Index == arch.NoReg { // list[n+1]
		of := provenance.Operand{Value: caller.code.Before(v.At, provenance.Reg(v.Base)), Reg: v.Base, At: v.At}
		if i = caller.name(of.Value, of.At, of.Reg, 0); i.text != "" {
			if whole, size := caller.sized(of); whole != "" {
				i.text = size + "(" + whole + ")"
				from.w = nil
			}
			i.text += goOffset(v.K)
			from.v, from.reg, from.value = of.Value, arch.NoReg, c.arch.Truncate(uint64(bad-v.K))
		}
	}
	if i.text == "" && index.Value.Kind == provenance.Const {
		i.text = m[2]
	}
	var what string
	if whole, size := caller.sized(limit); whole != "" {
		if what = whole + "[" + m[1] + i.text + m[3] + "]"; i.text == "" {
			what = whole + "[" + m[1] + m[2] + m[3] + "]"
		}
		if m[1]+m[3] == "" && strings.Contains(m[0], "slice") { // of its end
			what = strings.TrimSuffix(what, "]") + ":]"
		}
		if most := m[4] + m[7]; most != "" {
			what += ", " + size + "(" + whole + ") = " + most
		}
	} else if n := caller.name(limit.Value, limit.At, limit.Reg, 0); m[4] != "" && n.text != "" && i.text != "" {
		what = "[" + m[1] + i.text + ":" + n.text + m[5] + "], " + n.text + " = " + m[4]
	} else if i.text != "" {
		what = "index " + i.text
	}
	if what == "" {
		return nil
	}
	what = goText(what)
	if index.Value.Kind == provenance.Const || from.w == nil {
		return []report.Cause{{Text: what + ", in " + caller.call.Name, Confidence: report.Likely}}
	}
	b := t.trace(from)
	if b == nil {
		return []report.Cause{{Text: what + ", in " + caller.call.Name, Confidence: report.Likely}}
	}
	if s := &b.Steps[0]; s.Kind != report.BlameVariable && (s.Name == "" || strings.HasPrefix(s.Name, "[")) { // which has no name
		return []report.Cause{{Text: what + " where the index is " + m[2] + ", in " + caller.call.Name, Confidence: report.Likely}}
	}
	return []report.Cause{{Text: what + " where " + goText(blameText(signedBlame(b, c.arch.WordSize), kindOfNumbers)), Confidence: b.Confidence}}
}

// firstElement is how the first element of a slice is named by what a slice has.
var firstElement = lazy.Value[*regexp.Regexp]{Make: func() *regexp.Regexp { return regexp.MustCompile(`\*([\w.]+)\.(?:array|str)\b`) }}

// goText writes an expression as the source does: variables that are on the heap have their own names, and elements are not those of what a slice has.
func goText(text string) string {
	text = strings.NewReplacer("*&", "", ".array[", "[", ".str[", "[").Replace(text)
	return firstElement.Get().ReplaceAllString(text, "$1[0]")
}

// goOffset writes a constant that is added.
func goOffset(k int64) string {
	if k < 0 {
		return strconv.FormatInt(k, 10)
	}
	return "+" + strconv.FormatInt(k, 10)
}

// sized is what has the length or the capacity that an operand is, and which of the two: "len", "cap"; "" if that is not known.
func (w *witness) sized(o provenance.Operand) (whole, size string) {
	n := w.name(o.Value, o.At, o.Reg, 0)
	if n.text == "" || n.doubt || len(n.arms) > 0 {
		return "", ""
	}
	if h := n.held; h != nil && h.Whole != nil && goSized(h.Whole) {
		if h.Path == ".len" || h.Path == ".cap" {
			return h.Variable, h.Path[1:]
		}
		return "", ""
	}
	// Of a string or a slice in a structure its parts have no names: the pointer before has the same.
	v := o.Value
	for i, size := range [...]string{"len", "cap"} {
		back, before := int64(1+i)*int64(w.in.arch.WordSize), named{}
		switch v.Kind {
		case provenance.Load:
			before = w.target(v.At, v.Base, v.Index, v.Scale, v.K-back, w.in.arch.WordSize, 0)
		case provenance.Slot, provenance.EntrySlot:
			before, _ = w.inFrame(o.At, v.K-back, w.in.arch.WordSize)
		}
		whole, part := strings.CutSuffix(n.text, "."+size) // only of a variable, or an element, itself
		first, array := strings.CutSuffix(before.text, ".array")
		if !array {
			first, array = strings.CutSuffix(before.text, ".str")
		}
		if before.typ != nil && before.typ.IsPointer() && first == whole && part == array && whole != "" {
			return whole, size
		}
	}
	return "", ""
}

// goSized reports whether a type is a slice or a string of Go.
func goSized(t *types.Type) bool {
	s := t.Strip()
	return s.GoKind == types.GoSlice || s.GoKind == types.GoString || s.BareName == "string"
}

// askedRuntime is a tracer of the function that called the runtime's functions of some names, nearest to the program, and that function's witness; nil if there
// is none or nothing is known of it.
func (c *crash) askedRuntime(is func(function string) bool) (*tracer, *witness) {
	frames := c.named.Frames
	at := slices.IndexFunc(frames, func(f report.Frame) bool { return is(f.Function) })
	if at < 0 {
		return nil, nil
	}
	for at < len(frames) && is(frames[at].Function) {
		at++
	}
	if at == len(frames) || frames[at].Physical >= len(c.stack) {
		return nil, nil
	}
	t := &tracer{in: c.question, stack: c.stack[frames[at].Physical:], out: report.Blame{Confidence: report.Certain}}
	w := t.witness(0, nil)
	if w == nil || w.vars == nil {
		t.close()
		return nil, nil
	}
	return t, w
}
