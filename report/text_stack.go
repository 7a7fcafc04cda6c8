package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// threads writes one or more threads that have the same stack.
func (t *textWriter) threads(group []*Thread) {
	t.heading(group)
	t.waitLines(group)
	if t.opts.ShowRegisters {
		t.registers(group[0].Registers)
	}
	t.stack(group)
}

// stack writes the frames that a group of threads has in common.
func (t *textWriter) stack(group []*Thread) {
	first := group[0]
	frames := first.Frames
	if t.short {
		t.variables.partly = true
		t.stackLine(frames)
		return
	}
	rows, missing := t.opts.rows(frames)
	t.variables.add(group, rows)
	digits := 1
	if n := len(frames); n > 0 {
		digits = len(strconv.Itoa(max(n-1+missing, frames[n-1].Index)))
	}
	for _, r := range rows {
		switch {
		case r.missing > 0:
			t.put(dim, fmt.Sprintf("  #%d to #%d: ", r.first, r.first+r.missing-1))
			t.line(dim, fmt.Sprintf("%d frames left out of the report", r.missing))
		case r.elided:
			t.span(frames, r)
			t.line(dim, fmt.Sprintf("%d frames not shown (--max-frames 0 shows all)", count(frames, r.first, r.last)))
		case r.parked:
			t.span(frames, r)
			last := strings.TrimPrefix(frames[r.last].Function, "runtime.")
			t.line(dim, "waits in "+brief(last, maxName)+" of Go's runtime")
		case r.cycle > 0:
			t.span(frames, r)
			t.put(yellow, t.cycleNames(frames[r.first:r.first+r.cycle]))
			t.line(plain, fmt.Sprintf(", %d times", count(frames, r.first, r.last)/r.cycle))
		default:
			t.frame(group, r.first, digits)
		}
	}
	if len(frames) == 0 {
		t.line(plain, "  no frames")
	}
	t.byThread(group, rows)
	if first.End != "" && first.End != EndBottom {
		why := first.EndDetail
		if why == "" {
			why = first.End
		}
		t.put(plain, "  stack ends here: ")
		t.wrap(plain, 4, brief(why, maxWords))
	}
	t.verified(group)
}

// rows returns what the text shows of a stack, and how many frames are missing from the report.
func (o TextOptions) rows(frames []Frame) (rows []row, missing int) {
	fold := !o.unfolded()
	at, missing := frameGap(frames)
	rows = foldFrames(frames[:at], fold)
	if missing > 0 {
		rows = append(rows, row{first: at, last: at, missing: missing})
		for _, r := range foldFrames(frames[at:], fold) {
			r.first, r.last = r.first+at, r.last+at
			rows = append(rows, r)
		}
	}
	if o.HideInlines {
		rows = hideVirtual(rows, frames)
	}
	if !o.Native {
		rows = hideFolded(rows, frames)
	}
	if fold && !o.AllTasks {
		rows = foldParked(rows, frames)
	}
	return elide(rows, o.MaxFrames), missing
}

// Shown returns, for each frame of a stack, whether WriteText shows it by itself, with its variables, and not only as
// a part of a recursion or of the middle of a deep stack: it implements Projection.
func (o TextOptions) Shown(frames []Frame) []bool {
	shown := make([]bool, len(frames))
	rows, _ := o.rows(frames)
	for _, r := range rows {
		if r.alone() {
			shown[r.first] = true
		}
	}
	return shown
}

// span writes the head of a row that stands for several frames.
func (t *textWriter) span(frames []Frame, r row) {
	t.put(dim, fmt.Sprintf("  #%d to #%d: ", frameNumber(frames, r.first), frameNumber(frames, r.last)))
}

// hideVirtual drops rows of single virtual frames.
func hideVirtual(rows []row, frames []Frame) []row {
	kept := rows[:0]
	for _, r := range rows {
		if r.cycle == 0 && r.missing == 0 && frames[r.first].virtual() {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// hideFolded drops rows of single frames that only execute calls of a language.
func hideFolded(rows []row, frames []Frame) []row {
	return slices.DeleteFunc(rows, func(r row) bool { return r.cycle == 0 && r.missing == 0 && frames[r.first].Folded })
}

// maxHeading is the number of threads that a heading lists.
const maxHeading = 10

func (t *textWriter) heading(group []*Thread) {
	if len(group) == 1 {
		t.put(bold, "Thread "+threadName(group[0]))
		if group[0].Crashed {
			t.put(plain, ", ")
			t.put(red, "crashed")
		}
		t.line(plain, activity(group))
		return
	}
	var b strings.Builder
	b.WriteString("Threads ")
	for i, th := range group {
		switch {
		case i >= maxHeading && len(group) > maxHeading+1:
			continue
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(th.ID))
	}
	if n := len(group) - maxHeading; n > 1 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	if names := groupNames(group); names != "" && names != t.r.Dump.Command {
		b.WriteString(` "` + brief(names, 2*maxName) + `"`)
	}
	t.put(bold, b.String())
	t.line(plain, fmt.Sprintf(": %d with this stack%s", len(group), activity(group)))
}

// activity says what the threads of a running process did: ", running, 1.25 s of CPU", with numbers if there
// are several in different states.
func activity(group []*Thread) string {
	counts := map[string]int{}
	var states []string
	cpu := 0.0
	for _, th := range group {
		cpu += th.CPUSeconds
		if th.State == "" {
			continue
		}
		if counts[th.State]++; counts[th.State] == 1 {
			states = append(states, th.State)
		}
	}
	var b strings.Builder
	for _, s := range states {
		b.WriteString(", ")
		if counts[s] < len(group) {
			fmt.Fprintf(&b, "%d ", counts[s])
		}
		b.WriteString(brief(s, 16))
	}
	if len(states) > 0 {
		fmt.Fprintf(&b, ", %.2f s of CPU", cpu)
	}
	return b.String()
}

// groupNames returns the names of a group's threads: one that all have, "worker-1 .. worker-8" if they differ in
// their numbers only, else the first few; empty if no thread has a name.
func groupNames(group []*Thread) string {
	var names []string
	for _, th := range group {
		names = append(names, th.Name)
	}
	return allNames(names)
}

// allNames writes the different ones of some names, in short.
func allNames(all []string) string {
	var names []string
	seen := map[string]bool{"": true}
	for _, n := range all {
		if !seen[n] {
			names = append(names, n)
		}
		seen[n] = true
	}
	if len(names) < 3 {
		return strings.Join(names, ", ")
	}
	digits := func(r rune) bool { return '0' <= r && r <= '9' }
	stem := strings.TrimRightFunc(names[0], digits)
	low, high := names[0], names[0]
	for _, n := range names {
		if strings.TrimRightFunc(n, digits) != stem || len(n) == len(stem) {
			const most = 4
			if len(names) > most {
				names = append(names[:most], "…")
			}
			return strings.Join(names, ", ")
		}
		if len(n) < len(low) || len(n) == len(low) && n < low {
			low = n
		}
		if len(n) > len(high) || len(n) == len(high) && n > high {
			high = n
		}
	}
	return low + " .. " + high
}

// cycleNames joins the names of the functions of a recursion, each once.
func (t *textWriter) cycleNames(frames []Frame) string {
	var names []string
	seen := make(map[string]bool)
	for i := range frames {
		if frames[i].Folded && !t.opts.Native {
			continue
		}
		name := t.placeName(&frames[i], 40)
		if seen[name] {
			continue
		}
		seen[name] = true
		if len(names) == 4 {
			names[3] = "…"
			break
		}
		names = append(names, name)
	}
	return strings.Join(names, " <-> ")
}

// registers writes a table that fits the width.
func (t *textWriter) registers(rs Registers) {
	name, value := 0, 0
	for i := range rs {
		name = max(name, width(brief(rs[i].Name, 16)))
		value = max(value, len(rs[i].Value.String()))
	}
	cell := name + 1 + value + 3
	perLine := max(1, (t.width-2)/cell)
	for i := range rs {
		if i%perLine == 0 {
			if i > 0 {
				t.end()
			}
			t.gap(2)
		}
		n, v := brief(rs[i].Name, 16), rs[i].Value.String()
		t.put(cyan, n)
		t.gap(name - width(n) + 1)
		t.put(plain, v)
		t.gap(value - len(v) + 3)
	}
	if len(rs) > 0 {
		t.end()
	}
}
