package analysis

import (
	"bytes"
	"slices"
	"strings"
	"unicode"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/provenance"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind/arch"
)

// maxTold is the longest text of report.Crash.Told, in bytes.
const maxTold = 200

// toldWith returns the constant texts with which the function was called that ended the program, inlined or not: what its author wrote
// for that place, and how sure that is: report.Certain or report.Likely. They are "" where they are not known: compilers join calls that
// differ in them only.
func (c *crash) toldWith() (text, confidence string) {
	at := c.frame()
	if at == nil || *at >= len(c.named.Frames) {
		return "", ""
	}
	f := &c.named.Frames[*at]
	w := c.witnessOf(c.stack, f.Physical, nil)
	if w == nil || w.vars == nil || f.Function == "" {
		w.close()
		return "", ""
	}
	defer w.close()
	if !f.Inlined {
		if text := c.listedText(w); text != "" {
			return text, report.Likely
		}
	}
	var out, passed []string
	if !f.Inlined {
		passed, confidence = c.passedTexts(w)
	}
	if report.MergedAt(c.named.Frames, *at) == nil { // else they are those of one of several calls
		out = c.argumentTexts(w, f.Function)
	}
	switch {
	case len(out) == 0:
		out = passed
	case !slices.Equal(out, passed): // the function may have changed its arguments
		confidence = report.Likely
	}
	if len(out) == 0 && f.Inlined {
		if out, confidence = c.chosenTexts(w), report.Likely; len(out) == 0 {
			out = c.printedTexts(w)
		}
	}
	if len(out) == 0 {
		return "", ""
	}
	return strings.ToValidUTF8(strings.Join(out, " "), "?"), confidence
}

// argumentTexts returns the constant texts that are arguments of a function in a frame.
func (c *crash) argumentTexts(w *witness, function string) (out []string) {
	for _, h := range w.vars.Pointers(w.state.PC) {
		if !h.Param || h.Path != "" || h.Type == nil || !strings.HasSuffix(function, h.Function) {
			continue
		}
		if size, ok := h.Type.Strip().Target().Char(); !ok || size != 1 {
			continue
		}
		if addr, ok := w.vars.Number(&h); ok {
			if text := c.constantText(addr); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// chosenTexts returns the texts that were passed to the call right before the frame's, which wrote them, where the ways there differ in them: of an inlined function
// of which the compiler made one for several calls.
func (c *crash) chosenTexts(w *witness) (out []string) {
	call, ok := w.code.CallBefore(w.state.PC)
	if !ok {
		return nil
	}
	for _, r := range w.abi.Args {
		all := w.code.Before(call, provenance.Reg(r)).Alternatives()
		if slices.ContainsFunc(all, func(v *provenance.Value) bool { return v.K != all[0].K }) {
			if text, _ := c.oneOf(w, all); text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

// listedText returns the constant format with which a frame's function has a list of arguments printed. Nobody writes that: who takes such a list takes the format, too,
// and the compiler knew that all callers, mostly the only one, pass this one. The register that it would be in has something else then.
func (c *crash) listedText(w *witness) (out string) {
	for call := range w.code.Calls {
		function, ok := w.formatCall(&call)
		if !ok || !function.list || w.textAt(call.PC, function.format) == "" {
			continue
		}
		if out != "" {
			return ""
		}
		out = w.textAt(call.PC, function.format)
	}
	return out
}

// formatCall returns what is known of a call of a function of the C library that takes a format.
func (w *witness) formatCall(call *disasm.Inst) (formatFunction, bool) {
	_, function, known := formatFunctionOf(w.called(call))
	return function, known
}

// called returns the name of the function that a call calls, without the decoration of the C library's; "" if that is not known.
func (w *witness) called(call *disasm.Inst) string {
	target, ok := w.callee(call)
	if !ok {
		return ""
	}
	code := codeReader{in: w.in}
	f, found := code.function(target)
	if !found || f.Entry != target {
		return ""
	}
	name, _, _ := strings.Cut(f.Name, "@")
	return libcName(name)
}

// textAt returns the constant text that is an argument of a call; "" for none.
func (w *witness) textAt(call uint64, n int) string {
	if n >= len(w.abi.Args) {
		return ""
	}
	v := w.code.Before(call, provenance.Reg(w.abi.Args[n]))
	if v.Kind != provenance.Const {
		return ""
	}
	return w.in.constantText(uint64(v.K))
}

// printedTexts returns the constant texts that were passed for %s to the call right before the frame's, by an inlined function that ended the program: LLVM forgets constants that are arguments of inlined calls. What the format says besides is the function's own.
func (c *crash) printedTexts(w *witness) (out []string) {
	at, ok := w.code.CallBefore(w.state.PC)
	if !ok || w.outside(at) > 0 { // else its caller may have said something, of something else
		return nil
	}
	call, _ := w.code.Inst(at)
	function, ok := w.formatCall(&call)
	if !ok || function.list {
		return nil
	}
	for _, one := range parseFormat(w.textAt(at, function.format), false).conversions {
		if said := w.textAt(at, function.format+1+one.argument); strings.HasSuffix(one.text, "s") && said != "" {
			out = append(out, said)
		}
	}
	return out
}

// Limits of the search for the text that a function was called with.
const (
	maxTexts = 8        // among which the code at the call chooses
	maxLeft  = 24 << 10 // bytes of the stack that functions left which were called later

	leastWritten = 4 // bytes of a text that is not on the stack by chance
)

// passedTexts returns the constant texts that the caller passed in registers. Where compilers joined calls that differ in them, each way to the call has its own:
// then it is the only one of these of which functions that were called later left the address on the stack.
func (c *crash) passedTexts(w *witness) (out []string, confidence string) {
	t := &tracer{in: c.question, stack: c.stack}
	defer t.close()
	caller := t.witness(w.number+1, nil)
	if caller == nil || caller.state.PC == caller.frame.RA() {
		return nil, ""
	}
	if call, ok := caller.code.Inst(caller.state.PC); !ok || !t.calls(&call, w) {
		return nil, ""
	}
	confidence = report.Certain
	_, params := where.ProcessOf(c.Variables).Signature(w.call.Entry)
	args := types.TextArguments(params, uint64(c.arch.WordSize))
	passed := func(i int) []*provenance.Value {
		if i >= len(w.abi.Args) {
			return nil
		}
		return caller.code.Before(caller.state.PC, provenance.Reg(w.abi.Args[i])).Alternatives()
	}
	for i, arg := range args[:min(len(args), len(w.abi.Args))] {
		text, sure := "", true
		switch arg {
		case types.TextToZero:
			text, sure = c.oneOf(w, passed(i))
		case types.TextOfNext:
			text = c.slice(passed(i), passed(i+1))
		case types.TextOfBefore:
			text = c.slice(passed(i), passed(i-1))
		}
		if text == "" || !w.takes(w.abi.Args[i]) {
			continue
		}
		if out = append(out, text); !sure {
			confidence = report.Likely
		}
	}
	return out, confidence
}

// maxKeptArguments is how many bytes of a frame are looked at for arguments that unoptimised code keeps there.
const maxKeptArguments = 1 << 10

// takes reports whether the function gets an argument in a register: a parameter is there when it begins, or unoptimised code has put it into its frame. A compiler
// leaves out parameters that are of no use, and the register has what an earlier call left there.
func (w *witness) takes(r arch.Reg) bool {
	if slices.ContainsFunc(w.vars.InRegister(w.call.Entry, r), func(h where.Held) bool { return h.Param }) {
		return true
	}
	word := w.in.arch.WordSize
	for off := word; off <= maxKeptArguments; off += word {
		if v := w.code.Before(w.state.PC, provenance.Frame(int64(-off), word)); v.Kind == provenance.Entry && v.Reg == r {
			return true
		}
	}
	return false
}

// slice returns the text at a constant address that has a constant length; "" if there is none.
func (in *Engine) slice(addr, length []*provenance.Value) string {
	if len(addr) != 1 || len(length) != 1 || addr[0].Kind != provenance.Const || length[0].Kind != provenance.Const {
		return ""
	}
	if n := uint64(length[0].K); n <= maxTold && in.constant(uint64(addr[0].K)) {
		if text := in.mem.Some(uint64(addr[0].K), int(n)); uint64(len(text)) == n {
			return plain(text)
		}
	}
	return ""
}

// oneOf returns the text at one of several constant addresses: the only one, which is sure, or the only one that the stack below the function
// still has.
func (c *crash) oneOf(w *witness, all []*provenance.Value) (text string, sure bool) {
	if len(all) > maxTexts {
		return "", false
	}
	texts := map[uint64]string{}
	for _, v := range all {
		text := ""
		if v.Kind == provenance.Const {
			text = c.constantText(uint64(v.K))
		}
		if text == "" {
			return "", false
		}
		texts[uint64(v.K)] = text
	}
	found := uint64(0)
	if len(texts) == 1 {
		found = uint64(all[0].K)
	} else if sp := uint64(w.frame.SP()); sp > maxLeft {
		word := uint64(c.arch.WordSize)
		for at := sp - word; at > sp-maxLeft; at -= word {
			have, ok := c.mem.LookupWord(at)
			switch {
			case !ok:
				return texts[found], false
			case texts[have] == "":
			case found != 0 && found != have:
				return "", false
			default:
				found = have
			}
		}
		if found == 0 {
			return c.written(texts, sp), false
		}
	}
	return texts[found], len(texts) == 1
}

// written returns the only one of some texts that is in what functions left on the stack which were called before: they wrote it, together with values. It is ""
// for none.
func (c *crash) written(texts map[uint64]string, sp uint64) (out string) {
	left := c.mem.Some(sp-maxLeft, maxLeft)
	for _, text := range texts {
		if len(text) < leastWritten || !within(left, text) {
			continue
		}
		if out != "" && out != text {
			return ""
		}
		out = text
	}
	return out
}

// within reports whether a text is a part of a longer one: what searched the constants left these in vector registers, each with a zero behind it.
func within(left []byte, text string) bool {
	for {
		at := bytes.Index(left, []byte(text))
		if at < 0 {
			return false
		}
		end := at + len(text)
		if at > 0 && left[at-1] >= ' ' && left[at-1] < 0x7f || end < len(left) && left[end] != 0 {
			return true
		}
		left = left[end:]
	}
}

// constant reports whether an address is one of a program's constants: memory of a file that cannot be written to.
func (in *Engine) constant(addr uint64) bool {
	m, ok := in.Proc.MappingAt(addr)
	return ok && m.Perm&libstate.Write == 0 && m.Path != ""
}

// constantText returns the text at an address of a program's constants, up to a zero; "" if there is none.
func (in *Engine) constantText(addr uint64) string {
	if !in.constant(addr) {
		return ""
	}
	text, ended := in.mem.CString(addr, maxTold)
	if !ended {
		return ""
	}
	return plain(text)
}

// plain returns a text; "" if it has characters that no text has.
func plain(text []byte) string {
	if bytes.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) }) {
		return ""
	}
	return string(text)
}
