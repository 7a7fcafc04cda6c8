package analysis

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// printers are the functions of the C library that write a text as it is, with the number of that argument; those with formats are formatFunctions.
var printers = lazy.Value[map[string]int]{Make: func() map[string]int {
	return map[string]int{"fwrite": 0, "fwrite_unlocked": 0, "fputs": 0, "fputs_unlocked": 0, "puts": 0, "perror": 0, "write": 1}
}}

// maxAfter is how many calls there may be between that which writes why the program ends and that which ends it, and afterPrinting are those that are known to say nothing.
const maxAfter = 3

var afterPrinting = []string{"fflush", "fflush_unlocked", "fputc", "putc", "putchar", "_IO_putc", "fsync", "fclose"}

// printed returns the constant text, formats too, that a function which may also return wrote right before it ended the program; "" where that is not known.
func (c *crash) printed() string {
	at := c.frame()
	if at == nil || *at >= len(c.named.Frames) {
		return ""
	}
	f := &c.named.Frames[*at]
	if f.Function == "" || f.NoReturn || f.Language != "" {
		return "" // who called it has the reason
	}
	w := c.witnessOf(c.stack, f.Physical, nil)
	if w == nil {
		return ""
	}
	defer w.close()
	if out := c.chosenTexts(w); !f.Inlined && len(out) > 0 {
		return strings.ToValidUTF8(strings.Join(out, " "), "?")
	}
	if !f.Inlined && c.neverEnds(w.call.Entry, w.abi) {
		return ""
	}
	pc := w.state.PC
	for range maxAfter {
		call, ok := w.code.LastCall(pc)
		if !ok || w.outside(call) > 0 { // else its caller may have said something, of something else
			return ""
		}
		pc = call
		in, _ := w.code.Inst(call)
		if format, ok := w.formatCall(&in); ok {
			text := w.textAt(call, format.format)
			if format.list || f.Inlined && strings.Contains(text, "%") { // whose caller has the words
				return ""
			}
			return strings.ToValidUTF8(text, "?")
		}
		name := w.called(&in)
		if n, ok := printers.Get()[name]; ok {
			return strings.ToValidUTF8(w.textAt(call, n), "?")
		}
		if !slices.Contains(afterPrinting, name) {
			return ""
		}
	}
	return ""
}

// endedAt returns the line at which a function ended the program, from that of its declaration: of one that does so at several lines, for a reason of its own each. It is 0
// for others, and where that is not known.
func (c *crash) endedAt() int {
	at := c.frame()
	if at == nil || *at >= len(c.named.Frames) || report.MergedAt(c.named.Frames, *at) != nil { // whose line is that of a condition
		return 0
	}
	f := &c.named.Frames[*at]
	if f.Function == "" || f.NoReturn || f.Language != "" {
		return 0
	}
	w := c.witnessOf(c.stack, f.Physical, nil)
	if w == nil {
		return 0
	}
	defer w.close()
	call, ok := w.code.Inst(w.state.PC)
	if !ok || call.Kind != disasm.Call {
		return 0
	}
	depth := 0
	for depth < *at && c.named.Frames[*at-depth-1].Physical == f.Physical {
		depth++
	}
	declared, several, looked := 0, false, 0
	for other := range w.code.Calls {
		if other.Kind != disasm.Call || other.Target != call.Target {
			continue
		}
		if looked++; looked > maxEnds {
			break
		}
		calls := w.callsAt(other.PC)
		if depth >= len(calls) || calls[depth].Name != f.Function || calls[depth].Approximate {
			continue
		}
		declared = calls[depth].Declared
		several = several || calls[depth].Line != f.Source.Line
	}
	if !several || declared == 0 || f.Source.Line <= declared {
		return 0
	}
	return f.Source.Line - declared
}

// maxEnds is how many calls in a function that end the program are looked at.
const maxEnds = 64
