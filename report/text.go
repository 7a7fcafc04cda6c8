package report

import (
	"fmt"
	"io"
	"strconv"
)

// TextOptions control how the text looks. The zero value suits a log.
type TextOptions struct {
	Color bool // use ANSI colours; the text is the same
	// Width is how many columns of a terminal a line may take, at least 40. A line that needs more is broken between
	// words, and its names are shortened. 0 means 100, where that is possible without breaking lines.
	Width int
	// MaxFrames is the number of lines to show of each stack, after recursion is folded: the first and the last
	// lines. 0 shows all.
	MaxFrames     int
	ShowRegisters bool // show the registers of every thread; threads are then not folded together
	HideInlines   bool // leave out inlined calls and tail calls
	AllTasks      bool // show every goroutine or other task by itself, also the runtime's own
	Unfolded      bool // show every thread and every frame of a recursion
	Native        bool // show also native frames that only execute calls of a language above them
	AllLocals     bool // show also local variables that are optimised out, which are else only counted
	Explain       bool // below each frame, how its caller was found; implies Unfolded
	// Wide shows values, arguments and names whole, however wide the lines become, and breaks none for Width.
	Wide bool
	// MaxValue is how many characters of a variable's value a line shows, and half as many of one among arguments. 0 means 120, or all of them
	// with Wide.
	MaxValue int
	Paths    PathStyle // how much of the path of a source file to show
	// Dir is the directory that PathsRelative paths are relative to: absolute, of this machine.
	Dir string
}

func (o TextOptions) unfolded() bool { return o.Unfolded || o.Explain }

// A PathStyle says how much of the path of a source file the text shows.
type PathStyle uint8

const (
	PathsBase     PathStyle = iota // the file's name
	PathsFull                      // the path that the debug information has
	PathsRelative                  // relative to TextOptions.Dir for files below it, else in full
)

// WriteText writes r for people: why the process died, the stack of the crashed thread, the other threads'
// stacks, and last what is not known, with what to do about it. The error is w's.
func WriteText(w io.Writer, r *Report, opts TextOptions) error {
	return NewTextWriter(w, opts).Finish(r)
}

// A TextWriter writes what WriteText writes, in two parts: the first while the other threads are not yet known.
type TextWriter struct {
	t     *textWriter
	begun bool
}

// NewTextWriter returns a TextWriter that writes to w.
func NewTextWriter(w io.Writer, opts TextOptions) *TextWriter {
	t := &textWriter{lineWriter: newLineWriter(w, opts), opts: opts, maxValue: maxValue}
	switch {
	case opts.MaxValue > 0:
		t.maxValue = opts.MaxValue
	case opts.Wide:
		t.maxValue = unlimited
	}
	return &TextWriter{t: t}
}

// WriteFrames writes frames of one stack as WriteText does, without anything around them. program is the path of the main
// module, whose name is not written.
func WriteFrames(w io.Writer, frames []Frame, program string, opts TextOptions) error {
	t := NewTextWriter(w, opts).t
	t.r, t.main = new(Report), program
	t.stack([]*Thread{{Frames: frames}})
	return t.w.Flush()
}

// Died writes why the process died and the stack of the crashed thread, or nothing if no thread crashed. Of r's threads only that one is needed,
// and of its modules only the main one; Dump.Threads has the number of all threads. Finish returns the writer's error.
func (w *TextWriter) Died(r *Report) {
	t := w.t
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			w.begun = true
			t.begin(r)
			t.end()
			t.threads([]*Thread{&r.Threads[i]})
			t.memory()
			break
		}
	}
	_ = t.w.Flush() // an error stays
}

// Finish writes the rest: all, if Died wrote nothing. The error is the writer's.
func (w *TextWriter) Finish(r *Report) error {
	t := w.t
	if !w.begun {
		t.begin(r)
	}
	t.r = r
	t.indexTasks()
	threads, idle := t.scheduler(r.Threads)
	left := 0
	for i, group := range groupThreads(threads, !t.opts.unfolded() && !t.opts.ShowRegisters) {
		if i == 0 && w.begun {
			continue
		}
		line, leave := t.brevity.short(i)
		if t.short = line; leave {
			left += len(group)
			continue
		}
		t.end()
		t.threads(group)
		if i == 0 { // the crashed thread
			t.memory()
		}
	}
	if left > 0 {
		t.variables.partly = true
		t.end()
		t.line(dim, fmt.Sprintf("and %s, left out", plural(left, "other thread")))
	}
	if r.Hang() == nil && len(r.Deadlocks) > 0 {
		t.end()
		t.deadlocks()
	}
	t.otherTasks()
	if idle > 0 {
		t.variables.partly = true
		t.end()
		t.line(dim, fmt.Sprintf("Threads of the scheduler that run no goroutine: %d (--no-fold shows them)", idle))
	}
	t.environment()
	t.gaps()
	return t.w.Flush()
}

// begin writes what comes before the threads.
func (t *textWriter) begin(r *Report) {
	t.about(r)
	t.headline()
	t.reasons()
}

// about says which report is written.
func (t *textWriter) about(r *Report) {
	t.r = r
	for i := range r.Modules {
		if r.Modules[i].Main {
			t.main = r.Modules[i].Path
			break
		}
	}
	t.indexTasks()
}

// reasons writes what stands between the headline and the stacks.
func (t *textWriter) reasons() {
	if t.r.Hang() != nil {
		t.deadlocks()
	}
	t.crash()
	t.started()
}

type textWriter struct {
	kind string // of the tasks whose stack is written; "" for threads
	*lineWriter
	r    *Report
	opts TextOptions
	main string // the main module's path

	maxValue  int // characters shown of a variable's value
	brevity   brevity
	short     bool // stacks are written in one line
	tasks     taskIndex
	variables variableCount   // of the stacks written so far
	newer     map[string]bool // source files of which it was said that they are newer than the program
}

// headline says which process died of what, and where and when.
func (t *textWriter) headline() {
	t.happened()
	system := t.r.Dump.system()
	if t.col+2+width(system) > t.width {
		t.end()
		t.put(plain, "  "+system)
	} else if system != "" {
		t.right(width(system))
		t.put(dim, system)
	}
	t.end()
}

// happened writes which process died, and of what.
func (t *textWriter) happened() {
	d := &t.r.Dump
	who := brief(d.Command, maxName)
	if who == "" {
		who = "process"
	}
	if d.PID != 0 {
		who += "[" + strconv.Itoa(d.PID) + "]"
	}
	t.put(bold, who)
	if s := t.r.HangText(); s != "" {
		t.put(plain, ": ")
		t.put(red, "hang: "+brief(s, maxWords))
		if c := t.r.Crash; c != nil {
			t.put(plain, ", ended by "+brief(c.name(), maxName))
			if c.sentBy() {
				t.put(plain, ", "+brief(c.Reason, maxWords))
			}
		}
	} else if c := t.r.Crash; c != nil {
		t.put(plain, " died of ")
		t.put(red, brief(c.name(), maxName))
		if why := c.why(); why != "" {
			t.put(plain, ": "+brief(why, maxWords))
		}
	} else {
		t.put(plain, d.alive())
	}
}

func (d *Dump) alive() string {
	if d.Format == FormatLive {
		return " is alive"
	}
	return " was running when dumped: no signal, no exception"
}

// name returns the name of the signal or exception.
func (c *Crash) name() string {
	switch {
	case c.Signal != "":
		return c.Signal
	case c.Exception != "":
		return c.Exception
	case c.SignalNumber != 0:
		return "signal " + strconv.Itoa(c.SignalNumber)
	}
	return "an unknown cause"
}

// why returns the reason, or the code and address if there is no reason.
func (c *Crash) why() string {
	if c.Reason != "" || c.Address == nil {
		if c.Reason == "" {
			return c.Code
		}
		return c.Reason
	}
	if c.Code == "" {
		return "at address " + c.Address.String()
	}
	return c.Code + " at address " + c.Address.String()
}

// maxFrom limits where in a file a dump was, in characters.
const maxFrom = 300

// system returns the architecture, the operating system, the time, and where in an archive the dump was.
func (d *Dump) system() string {
	s := brief(d.Arch, maxName)
	if d.OS != "" {
		if s != "" {
			s += " "
		}
		s += osName(d.OS)
	}
	if !d.Time.IsZero() {
		if s != "" {
			s += ", "
		}
		if d.TimeOfFile {
			s += "file dated " + d.Time.Format("2006-01-02 15:04")
		} else {
			s += d.Time.Format("2006-01-02 15:04:05")
		}
	}
	if d.From != "" {
		if s != "" {
			s += ", "
		}
		s += "from " + brief(d.From, maxFrom)
	}
	return s
}

func osName(os string) string {
	switch os {
	case "linux":
		return "Linux"
	case "windows":
		return "Windows"
	case "freebsd":
		return "FreeBSD"
	case "netbsd":
		return "NetBSD"
	case "openbsd":
		return "OpenBSD"
	case "android":
		return "Android"
	case "macos", "darwin":
		return "macOS"
	}
	return brief(os, maxName)
}
