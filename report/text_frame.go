package report

import (
	"strconv"
	"strings"
)

// frame writes frame i of the threads in group, which have the same stack.
func (t *textWriter) frame(group []*Thread, i, digits int) {
	frames := group[0].Frames
	f := &frames[i]
	number := strconv.Itoa(frameNumber(frames, i))
	t.put(dim, "  #"+number)
	t.gap(digits - len(number) + 2)
	if f.Signal != "" {
		t.put(cyan, signalText(f))
	} else {
		t.call(group, i)
	}
	t.end()
	if innermost(frames, i) {
		if other := t.otherPlaces(frames, i); other != "" {
			t.gap(8)
			t.wrap(dim, 8, other)
		}
	}
	for v := range f.Locals {
		if f.Locals[v].Reason == optimisedOut && !t.opts.AllLocals && !t.opts.Explain {
			continue
		}
		t.put(plain, "        "+variableText(mergeVariable(group, i, v, localsOf), t.maxValue))
		t.end()
	}
	t.listing(f)
	t.code(f)
	if t.opts.Explain {
		t.explain(frames, i)
	}
}

// optimisedOut is the Variable.Reason of a variable that the compiler removed.
const optimisedOut = "optimised out"

// signalText is the line for the trampoline between a signal handler and the frame that the signal interrupted.
func signalText(f *Frame) string {
	s := "--- "
	switch {
	case f.SignalNumber != 0 && f.Signal != UnknownSignal:
		s += "signal " + strconv.Itoa(f.SignalNumber) + " (" + brief(f.Signal, maxName) + ")"
	case f.SignalNumber != 0:
		s += "signal " + strconv.Itoa(f.SignalNumber)
	case f.Signal != UnknownSignal:
		s += "signal " + brief(f.Signal, maxName)
	default:
		s += "a signal"
	}
	s += " delivered here"
	if f.SignalConfidence != "" {
		s += " [" + brief(f.SignalConfidence, maxName) + "]"
	}
	return s + " ---"
}

// call writes a frame's function, arguments, source line, marks and module. If the line is too long it shortens
// the arguments first, then the name.
func (t *textWriter) call(group []*Thread, i int) {
	f := &group[0].Frames[i]
	where := ""
	if f.Source.File != "" {
		where = t.sourceText(f.Source)
	}
	mark := marks(f)
	module := t.moduleText(f)
	avail := t.width - t.col
	for _, s := range []struct {
		text  string
		extra int
	}{{where, len(" at ")}, {mark, 1}, {module, 2}} {
		if s.text != "" {
			avail -= width(s.text) + s.extra
		}
	}
	if f.Function == "" {
		t.put(cyan, f.PC.String())
	} else {
		args := variablesText(group, i, t.argument())
		if t.opts.Wide {
			avail = unlimited
		}
		function := f.Function
		if args != "" && f.Language == "java" { // the values stand for the types
			function, _, _ = strings.Cut(function, "(")
		}
		if width(function)+width(args) > avail && len(args) > 40 {
			args = variablesText(group, i, 24)
		}
		name := briefFunction(function, max(avail-width(args), 40))
		t.put(yellow, name)
		t.put(plain, cutArgs(args, max(avail-width(name), 40)))
	}
	if where != "" {
		t.put(plain, " at ")
		t.put(green, where)
	}
	if mark != "" {
		t.gap(1)
		t.put(dim, mark)
	}
	if module != "" {
		t.right(width(module))
		t.put(dim, module)
	}
}

// argument is how many characters of an argument's value a line shows, if it has the room.
func (t *textWriter) argument() int {
	if t.opts.MaxValue > 0 {
		return t.maxValue / 2
	}
	return t.maxValue
}

// moduleText returns what the right edge of a frame's line shows: the module, unless it is the program itself,
// and the offset if there is no source line.
func (t *textWriter) moduleText(f *Frame) string {
	switch {
	case f.Module == "":
		return ""
	case f.Source.File == "":
		return moduleOffset(f)
	case f.Module == t.main:
		return ""
	}
	return briefBase(f.Module)
}

// marks returns what is special about a frame, in brackets: that it is virtual, how it was found if not by
// unwind tables, or that the file is from a different build.
func marks(f *Frame) string {
	var ms []string
	if f.Inlined {
		ms = append(ms, "inlined")
	}
	if f.Tail {
		ms = append(ms, "tail")
	}
	if m := trustMark(f.Trust); m != "" && !f.virtual() {
		if f.Doubtful && !strings.HasSuffix(m, "?") {
			m += "?"
		}
		ms = append(ms, m)
	} else if f.Doubtful && !f.virtual() {
		ms = append(ms, "doubtful")
	}
	if f.Approximate {
		ms = append(ms, "line of the function")
	}
	if f.Awaits == "possible" {
		ms = append(ms, "awaits?")
	}
	if f.Mismatched {
		ms = append(ms, "mismatched file")
	}
	if m := f.Verify.mark(); m != "" {
		ms = append(ms, m)
	}
	if len(ms) == 0 {
		return ""
	}
	return "[" + strings.Join(ms, ", ") + "]"
}

func trustMark(trust string) string {
	switch trust {
	case TrustFramePointer:
		return "fp"
	case TrustScan:
		return "scan?"
	case TrustFrameSize, TrustAnalysis, TrustWildPC, TrustInstrumentation, TrustUser:
		return trust
	}
	return ""
}
