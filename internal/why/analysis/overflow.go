package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A fullStack is what is known of a stack that overflowed besides its frames.
type fullStack struct {
	bounds [2]arch.Address // from low to high, exclusive; 0 if they are not known
	cut    bool            // it has more frames than the walk went to
}

// overflowed says whether the walk of the thread that died came to an end, by how it ended.
func overflowed(end string, bounds [2]arch.Address) fullStack {
	return fullStack{bounds, end == unwind.EndMaxFrames.String() || end == unwind.EndLimit.String() || end == unwind.EndCancelled.String()}
}

// overflow measures a stack that overflowed, and finds the functions that filled it.
func overflow(frames []report.Frame, of fullStack) *report.Overflow {
	o := &report.Overflow{Incomplete: of.cut}
	if len(frames) == 0 {
		return o
	}
	frames, o.Alternate = onStack(frames)
	first, last := &frames[0], &frames[len(frames)-1]
	o.Frames = last.Physical + 1
	end := max(last.CFA, last.SP)
	if o.Alternate {
		end = last.SP // its caller is on another stack
	}
	if end > first.SP {
		o.Bytes = uint64(end - first.SP)
	}
	if sp := arch.Address(first.SP); o.Incomplete && !o.Alternate && of.bounds[0] <= sp && sp < of.bounds[1] {
		o.Stack = of.bounds[1] - sp
	}
	if from, length, times := report.Recursion(frames); 2*length*times > last.Index-first.Index+1 {
		o.Times = times
		for i := range frames[from : from+length] {
			o.Cycle = addName(o.Cycle, &frames[from+i])
		}
		return o
	}
	o.Cycle = crowd(frames)
	return o
}

// maxSignalFrame is more than the kernel puts on a stack between what a signal interrupts and its handler, in bytes.
const maxSignalFrame = 64 << 10

// onStack returns the frames of the stack that the innermost frame is on. alternate is set if it is one on which signals are handled: the
// outermost of its frames is that of the signal then, and what it interrupted was on another stack.
func onStack(frames []report.Frame) (own []report.Frame, alternate bool) {
	for i := range frames[:len(frames)-1] {
		if at, next := frames[i].SP, frames[i+1].SP; frames[i].Signal != "" && (next < at || next-at > maxSignalFrame) {
			return frames[:i+1], true
		}
	}
	return frames, false
}

// addName adds a function to a list that names each function once.
func addName(list []string, f *report.Frame) []string {
	if name := frameName(f); !slices.Contains(list, name) {
		list = append(list, name)
	}
	return list
}

// frameName returns the function, or the frame's place in the code.
func frameName(f *report.Frame) string {
	switch {
	case f.Function != "":
		return f.Function
	case f.Module != "":
		return find.BaseName(f.Module) + "+" + f.Offset.String()
	}
	return f.PC.String()
}

// crowd returns the functions that together make up most of the frames but call one another in no regular
// order, as those of a parser do, innermost first; nil if there are none.
func crowd(frames []report.Frame) []string {
	const most, share = 8, 20
	if len(frames) < 10*most {
		return nil
	}
	count := make(map[string]int)
	all := 0
	for i := range frames {
		f := &frames[i]
		all += 1 + f.LeftOut.Entries
		count[frameName(f)]++
		for k := i - f.LeftOut.Cycle; k < i; k++ {
			count[frameName(&frames[k])] += f.LeftOut.Entries / f.LeftOut.Cycle
		}
	}
	var names []string
	covered := 0
	for i := range frames {
		name := frameName(&frames[i])
		n := count[name]
		if n < all/share || len(names) == most {
			continue
		}
		delete(count, name)
		names = append(names, name)
		covered += n
	}
	if covered < all/2 {
		return nil
	}
	return names
}
