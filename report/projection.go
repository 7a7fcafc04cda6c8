package report

// A Projection says what of a report will be shown, so that nothing else is found out. Each way to write reports has one: TextOptions and
// *TextWriter for text, ForJSON, *LineWriter, and Whole for a program that looks at the structs. One of another format
// embeds Whole.
//
// One that also has the method Died(*Report) is told of the thread that crashed and all that concerns the crash before other threads are
// walked; not of processes that did not crash, and of running ones. One with the method Task(*Task) is told of each goroutine or other task
// that is no thread as soon as its stack is walked: the first long before the last. What it takes of memory is free again. Who holds
// what a task waits for is not known yet. The report then has, without frames, only the tasks of which more is known than Task was told: the
// holders, seconds or note of their waits; and those of threads. Of a running process it is told when that goes on again. Neither
// may keep or change what it is told.
type Projection interface {
	// Needs says what every part of the report needs.
	Needs() Needs
	// Shown returns for each frame of a stack whether its variables are shown; nil for all. The frames have no variables yet.
	Shown(frames []Frame) []bool
}

// Needs are what a Projection needs of a report.
type Needs struct {
	Trees     bool // each value as a tree (Variable.Data), too
	Types     bool // types of variables, and where they are
	Registers bool // of other threads than the one that crashed
	// LeftOut is what Frame.VariablesLeftOut says of frames that are not shown; "" for nothing.
	LeftOut string
	// FoldRounds: most frames of a recursion of more than a thousand are left out (Frame.LeftOut).
	FoldRounds bool
	// FoldThreads: threads with the same stack may share the frames of the first (Thread.Alike), and so may tasks.
	FoldThreads bool
	// ShareFrames: tasks with the same code may share their Task.Frames; Task.Places says where they are on each stack. A hundred
	// thousand goroutines then take half the memory.
	ShareFrames bool
}

// Whole needs all that a report has; values as trees only with Trees.
type Whole struct{ Trees bool }

// Needs implements Projection.
func (p Whole) Needs() Needs { return Needs{Trees: p.Trees, Types: true, Registers: true} }

// Shown implements Projection.
func (Whole) Shown([]Frame) []bool { return nil }

// ForJSON is the Projection of WriteJSON. Variables of the middle rounds of a recursion are left out (InRounds), but with Rounds.
type ForJSON struct{ Rounds bool }

// Needs implements Projection.
func (ForJSON) Needs() Needs {
	return Needs{Trees: true, Types: true, Registers: true, ShareFrames: true, LeftOut: LeftOutRecursion}
}

// Shown implements Projection.
func (p ForJSON) Shown(frames []Frame) []bool {
	if p.Rounds {
		return nil
	}
	var shown []bool
	for i := range InRounds(frames) {
		if shown == nil {
			shown = make([]bool, len(frames))
			for k := range shown {
				shown[k] = true
			}
		}
		shown[i] = false
	}
	return shown
}

// Needs implements Projection.
func (o TextOptions) Needs() Needs {
	folds := !o.unfolded()
	return Needs{Registers: o.ShowRegisters, FoldRounds: folds, FoldThreads: folds && !o.ShowRegisters}
}

// Needs implements Projection.
func (w *TextWriter) Needs() Needs { return w.t.opts.Needs() }

// Shown implements Projection.
func (w *TextWriter) Shown(frames []Frame) []bool { return w.t.opts.Shown(frames) }

// Needs implements Projection: those of ForJSON.
func (l *LineWriter) Needs() Needs { return ForJSON{}.Needs() }

// Shown implements Projection.
func (l *LineWriter) Shown(frames []Frame) []bool { return ForJSON{Rounds: l.Rounds}.Shown(frames) }
