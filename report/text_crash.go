package report

import (
	"slices"
	"strconv"
	"strings"
)

// crash writes the lines below the headline: the place, the instruction, the program's message, and guesses at
// the cause.
func (t *textWriter) crash() {
	c := t.r.Crash
	if c == nil {
		return
	}
	nth, thread := t.crashedThread(c)
	if thread != nil {
		t.where(c, nth, thread)
	}
	if c.Instruction != nil {
		t.instruction(c.Instruction, thread)
	}
	t.message(c, thread)
	t.raised(c.Raised)
	if c.Overflow != nil {
		t.overflow(c.Overflow)
	}
	for _, what := range c.Inconsistencies {
		t.put(plain, "  contradiction: ")
		t.wrap(plain, 4, brief(inconsistency(what), maxWords))
	}
	for i := range c.Causes {
		t.cause(&c.Causes[i])
	}
}

// overflow writes the size of the stack, and which functions filled it.
func (t *textWriter) overflow(o *Overflow) {
	text := strconv.Itoa(o.Frames) + " frames"
	if o.Frames == 1 {
		text = "1 frame"
	}
	switch {
	case o.Stack > 0 && o.Bytes > 0:
		text = sizeText(o.Stack) + ", of which " + text + " (" + sizeText(o.Bytes) + ") were walked"
	case o.Incomplete && o.Bytes > 0:
		text = "more than " + sizeText(o.Bytes) + " in more than " + text
	case o.Bytes > 0:
		text = sizeText(o.Bytes) + " in " + text
	}
	if o.Alternate {
		text += " of the alternate signal stack"
	}
	names := make([]string, 0, len(o.Cycle))
	for _, name := range o.Cycle {
		names = append(names, briefFunction(name, 40))
	}
	switch {
	case len(names) == 1:
		text += "; " + names[0] + " called itself"
	case len(names) > 1 && o.Times > 0:
		text += "; " + strings.Join(names, " <-> ") + ","
	case len(names) > 1:
		text += "; mostly " + strings.Join(names, ", ")
	}
	if o.Times > 1 && o.Incomplete {
		text += " at least"
	}
	if o.Times > 1 {
		text += " " + strconv.Itoa(o.Times) + " times"
	}
	t.put(plain, "  stack: ")
	t.wrap(plain, 4, text)
}

// inconsistency describes one of the Inconsistent constants.
func inconsistency(what string) string {
	const doubt = " (faulty hardware, or the dump is not a consistent snapshot)"
	switch what {
	case InconsistentDivision:
		return "division by zero, but the instruction does not divide" + doubt
	case InconsistentPrivileged:
		return "privileged instruction, but this instruction is not privileged" + doubt
	case InconsistentNonCanonical:
		return "non-canonical address, but the instruction accesses only canonical ones" + doubt
	case InconsistentAllowed:
		return "the memory map allows the access" + doubt
	case InconsistentAccess:
		return "the instruction does not access the address" + doubt
	}
	return what
}

// message writes the program's message unless the reason contains it, and with which words the function was called that ended
// the program. If frames are explained, it also writes where the message was found.
func (t *textWriter) message(c *Crash, thread *Thread) {
	if c.Message != "" && !strings.Contains(c.Reason, c.Message) {
		t.put(plain, "  message: ")
		t.wrap(plain, 4, brief(c.Message, maxWords))
	}
	if c.Told != "" {
		told := "\"" + brief(c.Told, maxWords) + "\""
		if c.ToldConfidence == Likely {
			told += " [likely]"
		}
		t.put(plain, "  called with: ")
		t.wrap(plain, 4, told)
	}
	if c.Printed != "" {
		t.put(plain, "  printed before: ")
		t.wrap(plain, 4, "\""+brief(c.Printed, maxWords)+"\" [likely]")
	}
	if c.MessageSource != "" && thread != nil && slices.ContainsFunc(thread.Frames, func(f Frame) bool { return f.Explain != nil }) {
		t.put(dim, "  message read from ")
		t.wrap(plain, 4, brief(c.MessageSource, maxWords))
	}
}

// crashedThread returns the thread that crashed and its number, from 1.
func (t *textWriter) crashedThread(c *Crash) (nth int, thread *Thread) {
	for i := range t.r.Threads {
		if t.r.Threads[i].ID == c.Thread {
			return i + 1, &t.r.Threads[i]
		}
	}
	return 0, nil
}

func (t *textWriter) where(c *Crash, nth int, thread *Thread) {
	t.put(plain, "  ")
	if x := c.MadeElsewhere(thread); x != nil {
		t.put(yellow, briefFunction(x.Function, t.width/2))
		t.put(plain, " at "+t.sourceText(Source{File: x.File, Line: x.Line})+" (no longer on the stack), ")
	} else if task, place := t.sleeper(c); place != nil {
		t.put(yellow, briefFunction(place.Function, t.width/2))
		if place.Source.File != "" {
			t.put(plain, " at "+t.sourceText(place.Source))
		}
		t.put(plain, ", "+task.Kind+" "+strconv.Itoa(task.ID)+", found by ")
	} else if i := c.frame(thread); i >= 0 {
		f := &thread.Frames[i]
		t.put(yellow, t.placeName(f, t.width/2))
		if f.Source.File != "" {
			t.put(plain, " at "+t.sourceText(f.Source))
		} else if f.Module != "" && f.Function != "" {
			t.put(plain, " in "+moduleOffset(f))
		}
		if other := t.otherPlaces(thread.Frames, i); other != "" {
			t.put(plain, ", "+other)
		}
		if c.ofNode(thread, f) {
			t.put(plain, " (Node's own: no call of the program is known)")
		}
		t.put(plain, ", ")
	}
	t.put(plain, "thread "+threadName(thread)+" ("+strconv.Itoa(nth)+" of "+strconv.Itoa(max(len(t.r.Threads), t.r.Dump.Threads))+")")
	t.end()
}

// sleeper is the first task that is known to sleep for ever, and where: the thread that found it only runs the scheduler. It is nil where another frame is to
// be named.
func (t *textWriter) sleeper(c *Crash) (task TaskRef, place *WaitPlace) {
	d := t.r.Hang()
	if d == nil || !c.Panic.Asleep() {
		return task, nil
	}
	for i := range min(len(d.Tasks), len(d.Places)) {
		if d.Places[i].Function != "" {
			return d.Tasks[i], &d.Places[i]
		}
	}
	return task, nil
}

// frame returns the number of the frame to name in the report's second line; -1 for an empty stack.
func (c *Crash) frame(thread *Thread) int {
	fs := thread.Frames
	if c.Frame != nil && *c.Frame >= 0 && *c.Frame < len(fs) {
		return *c.Frame
	}
	return min(0, len(fs)-1)
}

// placeName returns the frame's function, or its module and offset if it has no symbol.
func (t *textWriter) placeName(f *Frame, limit int) string {
	switch {
	case f.Signal != "":
		return "signal " + brief(f.Signal, maxName)
	case f.Function != "":
		return briefFunction(f.Function, limit)
	case f.Module != "":
		return moduleOffset(f)
	}
	return f.PC.String()
}

func moduleOffset(f *Frame) string { return briefBase(f.Module) + "+" + f.Offset.String() }

// sourceText returns the place in the source, with as much of the path as the options ask for.
func (t *textWriter) sourceText(s Source) string {
	name := t.sourcePath(s.File)
	if s.Line == 0 {
		return name
	}
	return name + ":" + strconv.Itoa(s.Line)
}

func (t *textWriter) sourcePath(file string) string {
	switch t.opts.Paths {
	case PathsRelative:
		dir := strings.TrimSuffix(t.opts.Dir, "/") + "/"
		if below, ok := strings.CutPrefix(file, dir); ok && below != "" {
			return clean(below)
		}
		return clean(file)
	case PathsFull:
		return clean(file)
	}
	return briefBase(file)
}

// threadName returns the thread's identifier and quoted name.
func threadName(th *Thread) string {
	s := strconv.Itoa(th.ID)
	if th.Name != "" {
		s += ` "` + brief(th.Name, maxName) + `"`
	}
	return s
}

// frame returns the frame that stopped at the instruction: the youngest one, or one that a signal interrupted; nil if
// there is none.
func (in *Instruction) frame(thread *Thread) *Frame {
	if thread == nil {
		return nil
	}
	for i := range thread.Frames {
		f := &thread.Frames[i]
		if (i == 0 || thread.Frames[i-1].Signal != "") && f.Language == "" && (f.PC == in.Address || f.Lookup == in.Address) {
			return f
		}
	}
	return nil
}

func (t *textWriter) instruction(in *Instruction, thread *Thread) {
	place := in.Address.String()
	if f := in.frame(thread); f != nil && f.Source.File != "" {
		place = t.sourceText(f.Source)
	} else if f != nil && f.Module != "" {
		place = moduleOffset(f)
	}
	t.put(plain, "  "+place+"   ")
	t.put(bold, brief(in.Text, maxValue))
	var notes []string
	for _, r := range in.Registers {
		notes = append(notes, brief(r.Name, maxName)+" = "+r.Value.String())
	}
	if in.Note != "" {
		notes = append(notes, brief(in.Note, maxWords))
	}
	if len(notes) > 0 {
		t.gap(5)
		t.put(plain, strings.Join(notes, ", "))
	}
	t.end()
}

func (t *textWriter) cause(c *Cause) {
	t.put(plain, "  cause: ")
	text := brief(c.Text, maxWords)
	mark := ""
	if c.Confidence != "" {
		mark = "[" + brief(c.Confidence, maxName) + "]"
	}
	if t.col+width(text)+2+width(mark) > t.width {
		t.wrap(plain, 4, text+" "+mark)
		return
	}
	t.put(plain, text)
	t.right(width(mark))
	t.put(dim, mark)
	t.end()
}
