package analysis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// What Go's runtime refuses to do, as its panics say it.
const (
	negativeShift = "runtime error: negative shift amount"
	lenOutOfRange = "runtime error: makeslice: len out of range"
	capOutOfRange = "runtime error: makeslice: cap out of range"
	badChannel    = "makechan: size out of range"
	tooShort      = "runtime error: cannot convert slice with length "
	badAssertion  = "interface conversion: "
)

// goRefused says of such a panic which variable it was about.
func (c *crash) goRefused() []report.Cause { return c.known.goRefused.of(c.findGoRefused) }

func (c *crash) findGoRefused() []report.Cause {
	w := c.words()
	if w.told != asReason || w.Fault != nil || w.Panic == nil || c.Variables == nil || c.opts.NoBlame {
		return nil
	}
	find, functions := (*tracer).goShift, []string{"runtime.panicshift"}
	switch said := w.Panic.Value; {
	case said == negativeShift:
	case said == lenOutOfRange || said == capOutOfRange:
		find, functions = func(t *tracer, w *witness) []report.Cause { return t.goMade(w, said == capOutOfRange) }, []string{"runtime.makeslice", "runtime.panicmakeslice"}
	case said == badChannel:
		find, functions = func(t *tracer, w *witness) []report.Cause { return t.goMade(w, false) }, []string{"runtime.makechan"}
	case strings.HasPrefix(said, tooShort):
		find = func(t *tracer, w *witness) []report.Cause { return t.goTooShort(w, said[len(tooShort):]) }
		functions = []string{"runtime.panicSliceConvert", "runtime.goPanicSliceConvert", "runtime.panicBounds"}
	case strings.HasPrefix(said, badAssertion):
		find = func(t *tracer, w *witness) []report.Cause { return t.goAsserted(w, said[len(badAssertion):]) }
		functions = []string{"runtime.panicdottype", "runtime.panicnildottype", "runtime.typeAssert", "runtime.assertE2I", "runtime.assertI2I", "runtime.getitab"}
	case said == "send on closed channel":
		find, functions = (*tracer).goSelected, []string{"runtime.selectgo"}
	default:
		return nil
	}
	t, caller := c.askedRuntime(func(f string) bool {
		return slices.ContainsFunc(functions, func(p string) bool { return strings.HasPrefix(f, p) })
	})
	if t == nil {
		return nil
	}
	defer t.close()
	caller.state.Passed = func(r arch.Reg) (uint64, bool) { // functions of Go preserve no registers
		value, exact, ok := t.enteredWith(caller, r)
		return value, exact && ok
	}
	return find(t, caller)
}

// goShift says by which amount the code shifted: what was below zero.
func (t *tracer) goShift(w *witness) []report.Cause {
	v, reg, size := w.code.Negative(w.state.PC)
	if v == nil {
		return nil
	}
	value, _, known := w.eval.Value(v, 0)
	if known && int64(signExtended(value, size)) >= 0 {
		return nil // it is of another moment
	}
	return t.goNumber(w, v, reg, value, size, known, " is below 0")
}

// goMade says which length, or capacity, was out of range: the second argument of the runtime's function, or the third.
func (t *tracer) goMade(w *witness, capacity bool) []report.Cause {
	n, least := 1, int64(0)
	if capacity {
		n = 2
		v, _ := w.goArgument(1)
		length, _, known := w.eval.Value(v, 0)
		if least = int64(signExtended(length, t.in.arch.WordSize)); !known {
			return nil
		}
	}
	v, reg := w.goArgument(n)
	value, _, known := w.eval.Value(v, 0)
	const most = 1 << 14 // of elements of any type
	if n := int64(signExtended(value, t.in.arch.WordSize)); known && n >= least && n < most {
		return nil // it is of another moment
	}
	return t.goNumber(w, v, reg, value, t.in.arch.WordSize, known, " is out of range")
}

// goArgument is the argument of the call that a function of Go makes, and the register that has it; NoReg for none.
func (w *witness) goArgument(n int) (*provenance.Value, arch.Reg) {
	reg := arch.NoReg
	if n < len(w.abi.Args) {
		reg = w.abi.Args[n]
	}
	return w.code.Argument(w.state.PC, n), reg
}

// goNumber traces a number of so many bytes that was refused. Where its value is not known any more, what is said of it is what the code compared.
func (t *tracer) goNumber(w *witness, v *provenance.Value, reg arch.Reg, value uint64, size int, known bool, refused string) []report.Cause {
	if !known {
		n := w.name(v, w.state.PC, reg, 0)
		if n.text == "" || n.doubt {
			return nil
		}
		return t.goSays(w, goText(n.text)+refused)
	}
	b := t.trace(suspect{w: w, v: v, reg: reg, value: value})
	if b == nil || b.Steps[0].Kind != report.BlameVariable && (b.Steps[0].Kind != report.BlameRead || b.Steps[0].Name == "" || strings.HasPrefix(b.Steps[0].Name, "[")) {
		return nil
	}
	return []report.Cause{{Text: goText(blameText(signedBlame(b, size), kindOfNumbers)), Confidence: b.Confidence}}
}

// goSays is a cause that the code of a function of Go tells.
func (t *tracer) goSays(w *witness, text string) []report.Cause {
	return []report.Cause{{Text: text + ", in " + w.call.Name, Confidence: report.Likely}}
}

// signedBlame has the value of a trace, and that of the variable it is, as what 64 bits would hold of a number of so many bytes.
func signedBlame(b *report.Blame, size int) *report.Blame {
	b.Value = report.Addr(signExtended(uint64(b.Value), size))
	if s := &b.Steps[0]; s.Value != nil {
		value := report.Addr(signExtended(uint64(*s.Value), size))
		s.Value = &value
	}
	return b
}

// goTooShort names the slice that was shorter than the array that it was converted to. said is its length, and what follows that.
func (t *tracer) goTooShort(w *witness, said string) []report.Cause {
	_, length, ok := w.code.Compared(w.state.PC)
	if !ok {
		return nil
	}
	said, _, _ = strings.Cut(said, " ")
	n, _, known := w.eval.Value(length.Value, 0)
	if whole, size := w.sized(length); size == "len" && (!known || strconv.FormatUint(n, 10) == said) {
		return t.goSays(w, "len("+goText(whole)+") = "+said)
	}
	return nil
}

// goAsserted names the interface that had another type than the program asserted. said is "fmt.Stringer is main.a, not main.b" or
// "main.a is not io.Writer: missing method Write".
func (t *tracer) goAsserted(w *witness, said string) []report.Cause {
	call, ok := w.code.Inst(w.state.PC)
	if !ok {
		return nil
	}
	code := codeReader{in: t.in}
	f, _ := code.function(call.Target)
	var n named
	switch {
	case f.Name == "runtime.panicnildottype":
		v, reg, _ := w.code.Zero(w.state.PC)
		if v == nil {
			return nil
		}
		n = w.name(v, v.At, reg, 0)
	case strings.HasPrefix(f.Name, "runtime.panicdottype"):
		v, reg := w.goArgument(0)
		n = w.name(v, w.state.PC, reg, 0)
	default:
		v, reg := w.goArgument(1)
		if v.Kind == provenance.Load && v.Index == arch.NoReg && v.K == int64(t.in.arch.WordSize) { // the type, behind that of the interface
			v, reg = w.code.Before(v.At, provenance.Reg(v.Base)), v.Base
		}
		n = w.name(v, w.state.PC, reg, 0)
	}
	name := interfaceOf(&n)
	if name == "" || n.doubt || len(n.arms) > 0 {
		return nil
	}
	has, missing, ok := strings.Cut(said, " is not ")
	if ok {
		missing, method, _ := strings.Cut(missing, ": ")
		return t.goSays(w, goText(name)+" is "+has+", not "+missing+", "+method)
	}
	_, is, _ := strings.Cut(said, " is ")
	return t.goSays(w, goText(name)+" is "+is)
}

// interfaceOf is the interface of which a name is that of its first word; "" if it is another name.
func interfaceOf(n *named) string {
	for _, word := range [...]string{"._type", ".tab"} {
		if whole, ok := strings.CutSuffix(n.text, word); ok {
			return whole
		}
	}
	if n.typ == nil || !n.typ.IsPointer() {
		return ""
	}
	if name := n.typ.Strip().Target().Strip().BareName; goMethods(n.typ) || name == "internal/abi.Type" || name == "runtime._type" {
		return n.text // of an interface in a structure its parts have no names
	}
	return ""
}

// goSelected names the channel to which a select sent although it was closed, if only one of those that it would send to is. The runtime takes the first of
// its cases, which are a channel and the address of what is sent, and how many send.
func (t *tracer) goSelected(w *witness) []report.Cause {
	const most, sends = 1 << 8, 3
	word := uint64(t.in.arch.WordSize)
	v, _ := w.goArgument(0)
	first, _, ok := w.eval.Value(v, 0)
	v, _ = w.goArgument(sends)
	n, _, ok2 := w.eval.Value(v, 0)
	if !ok || !ok2 || n > most || !w.state.HasCFA {
		return nil
	}
	var text string
	for i := range n {
		at := first + i*2*word
		c, ok := t.in.mem.LookupWord(at)
		if !ok {
			return nil
		}
		closed, ok := t.in.mem.Uint(c+3*word+4, 4) // behind two numbers, the address of a buffer and the size of an element
		if c == 0 || ok && closed == 0 {
			continue
		}
		n := w.name(w.code.Before(w.state.PC, provenance.Frame(int64(at-w.state.CFA), int(word))), w.state.PC, arch.NoReg, 0)
		if !ok || closed != 1 || text != "" || n.text == "" || n.doubt {
			return nil
		}
		text = goText(n.text)
	}
	if text == "" {
		return nil
	}
	return t.goSays(w, text+" is closed")
}
