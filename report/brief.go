package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// BriefSize is the usual size of a brief report, in bytes: what fits into a ticket or a message.
const BriefSize = 8 << 10

// A brevity says how much of the stacks a brief report has.
type brevity struct {
	frames int // lines of the stacks that are written whole; 0 for all
	around int // frames next to the one that the report points to whose local variables are written, on each side; -1 for all
	whole  int // stacks that are written whole, and not in one line each; 0 for all
	stacks int // stacks, or groups of threads with the same, that are written at all; 0 for all
	value  int // characters of a value; 0 for as many as usual
}

// brevities are what WriteBrief tries, one after the other, until the text is small enough.
var brevities = [...]brevity{
	{around: -1},
	{around: -1, whole: 2},
	{frames: 40, around: -1, whole: 1, stacks: 40},
	{frames: 30, around: 8, whole: 1, stacks: 16, value: 100},
	{frames: 30, around: 3, whole: 1, stacks: 12, value: 80},
	{frames: 20, around: 1, whole: 1, stacks: 8, value: 60},
	{frames: 16, around: 0, whole: 1, stacks: 4, value: 40},
	{frames: 8, around: 0, whole: 1, stacks: 1, value: 30},
}

// briefWidth is how many columns a brief report has, if it is not told and has not the room for long names.
const briefWidth = 120

// WriteBrief writes what WriteText writes in at most size bytes: first why the process died and the stack of the crashed thread, of
// which the frames around the one to look at have their variables; then of each other stack a line. Where that is
// still too much, it is cut, and says so. The error is w's.
func WriteBrief(w io.Writer, r *Report, opts TextOptions, size int) error {
	var b bytes.Buffer
	for _, v := range brevities {
		b.Reset()
		o := opts
		if v.stacks > 0 && o.Width == 0 {
			o.Width = briefWidth // names are then shortened
		}
		tw := NewTextWriter(&b, o)
		tw.t.brevity = v
		if v.frames > 0 {
			tw.t.opts.MaxFrames = v.frames
		}
		if v.value > 0 && (!opts.Wide || opts.MaxValue > 0) {
			tw.t.maxValue = min(v.value, tw.t.maxValue)
		}
		if err := tw.Finish(v.of(r)); err != nil {
			return err
		}
		if b.Len() <= size {
			break
		}
	}
	text := b.Bytes()
	if len(text) > size {
		const end = "(cut)\n"
		text = text[:max(size-len(end), 0)]
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		text = append(text, end[:min(len(end), max(size, 0))]...)
	}
	_, err := w.Write(text)
	return err
}

// of returns the report without the local variables that are not written.
func (v *brevity) of(r *Report) *Report {
	if v.around < 0 {
		return r
	}
	out := *r
	out.Threads = slices.Clone(r.Threads)
	for i := range out.Threads {
		th := &out.Threads[i]
		focus := -1
		if th.Crashed || i == 0 {
			focus = 0
			if c := r.Crash; c != nil {
				focus = c.frame(th)
			}
		}
		th.Frames = slices.Clone(th.Frames)
		for j := range th.Frames {
			f := &th.Frames[j]
			if focus >= 0 && f.Index >= focus-v.around && f.Index <= focus+v.around {
				continue
			}
			f.Locals = nil
		}
	}
	return &out
}

// short reports whether stack number n is written in one line, and whether it is written at all.
func (v *brevity) short(n int) (line, left bool) {
	return v.whole > 0 && n >= v.whole, v.stacks > 0 && n >= v.stacks
}

// maxShort is how many functions a stack in one line has.
const maxShort = 6

// stackLine writes a stack in one line: its innermost functions that have names.
func (t *textWriter) stackLine(frames []Frame) {
	var names []string
	for i := range frames {
		f := &frames[i]
		if f.Function == "" || f.Folded {
			continue
		}
		name := briefFunction(clean(f.Function), maxName/2)
		if f.Source.File != "" && len(names) < 2 || f.Source.File != "" && f.Module == t.main {
			name += " " + t.sourceText(f.Source)
		}
		if names = append(names, name); len(names) == maxShort {
			names = append(names, "...")
			break
		}
	}
	if len(names) == 0 {
		names = append(names, "no function that has a name")
	}
	t.put(plain, "  ")
	t.wrap(plain, 4, fmt.Sprintf("%s: %s", plural(len(frames), "frame"), strings.Join(names, " < ")))
}
