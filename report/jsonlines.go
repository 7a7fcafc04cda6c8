package report

import "io"

// The lines of WriteJSON's other form, one JSON document each: those of tasks, then one of the report.

// A TaskLine is the line of a task. It is printed as soon as the task's stack is known: who holds what it waits for takes all
// stacks, and follows in the line of the report.
type TaskLine struct {
	Type   string `json:"type"`   // tells lines apart
	Schema string `json:"schema"` // the constant Schema
	Task   Task   `json:"task"`   // without the holders of its wait
}

// A ReportLine is the last line: the report. Its tasks are those of which more is known than their own lines say, without
// frames, and those of threads; holders are only here. Kind and ID tell which task it is.
type ReportLine struct {
	Type   string `json:"type"`   // tells lines apart
	Schema string `json:"schema"` // the constant Schema
	Report Report `json:"report"` // the rest
}

// A LineWriter writes a report as JSON lines. Each is written at once, in one call of Write if it is shorter than 64 KiB.
// One goroutine may use it.
type LineWriter struct {
	// Rounds says that variables of the middle rounds of a recursion are wanted, too.
	Rounds bool
	j      jsonWriter
}

// NewLineWriter returns a LineWriter that writes to w, which needs no buffer.
func NewLineWriter(w io.Writer) *LineWriter { return &LineWriter{j: jsonWriter{w: w}} }

// Task writes the line of a task, for Projection. Finish returns the writer's error.
func (l *LineWriter) Task(t *Task) { l.line("task", func(j *jsonWriter) { j.putTask(t) }) }

// Finish writes the last line.
func (l *LineWriter) Finish(r *Report) error {
	l.line("report", func(j *jsonWriter) { j.report(r) })
	return l.j.err
}

func (l *LineWriter) line(kind string, write func(*jsonWriter)) {
	j := &l.j
	j.comma = false
	j.open('{', true)
	j.str("type", kind)
	j.str("schema", Schema)
	j.key(kind)
	write(j)
	j.close('}')
	j.buf = append(j.buf, '\n')
	j.flush()
}
