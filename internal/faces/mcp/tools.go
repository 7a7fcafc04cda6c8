package mcp

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/session"
)

// tools are what can be asked.
func (sv *server) tools() []tool {
	return []tool{
		question("open_dump", "Opens a core file, minidump or pack. Returns its number and in a line why the process died.", sv.open),
		question("summary", "Why the process died: reason, cause with certainty, the stack that matters with its variables, a line for each other stack, deadlocks, what is missing.", sv.summary),
		question("threads", "Lists threads, goroutines and other tasks with the numbers of their stacks.", sv.threads),
		question("frame", "Lists the frames of a stack with their numbers, or describes one frame: where it is, its source and code.", sv.frame),
		question("variables", "Lists the arguments and local variables of a frame, or the parts of a variable.", sv.variables),
		question("print", "Evaluates an expression in a frame, in the language of the frame: q->head->next[3].name, *p, arr[2:5], (T*)0x7f10, $rip. Nothing is called or changed.", sv.print),
		question("memory_at", "Says what is at an address and shows the memory there.", sv.memoryAt),
		question("memory", "What fills the memory: mappings, the allocators' blocks by type with counts and bytes, largest blocks, who keeps them alive, what nothing leads to.", sv.memory),
		question("waits", "Who waits for whom: deadlocks, contended locks, and what each thread or task waits for.", sv.waits),
		question("triage_groups", "Lists groups of crashes that the ledger of corewalk triage has, largest first.", sv.groups),
		question("similar", "Finds the group of a dump in the ledger, and groups that are probably the same bug as a dump or a group.", sv.similar),
	}
}

type openIn struct {
	Path    string   `json:"path" doc:"path of the core file, minidump or pack"`
	Binary  string   `json:"binary,omitempty" doc:"path of the program, if it is not where the dump names it"`
	Search  []string `json:"search,omitempty" doc:"directories with binaries and debug files"`
	Sysroot []string `json:"sysroot,omitempty" doc:"directories, archives or images with the system's files"`
}

func (sv *server) open(ctx context.Context, in openIn) (*answer, error) {
	r := faces.Request{}
	var err error
	if r.Core, err = sv.inside(in.Path); err == nil && r.Core == "" {
		err = fmt.Errorf("path is missing: a core file, a minidump or a pack below %s", strings.Join(sv.Roots, ", "))
	}
	if err == nil {
		r.Binary, err = sv.inside(in.Binary)
	}
	if err == nil {
		r.Search, err = sv.insideAll(in.Search)
	}
	if err == nil {
		r.Sysroot, err = sv.insideAll(in.Sysroot)
	}
	if err != nil {
		return nil, err
	}
	s, end, err := sv.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	d := &dump{s: s, end: end, path: r.Core}
	threads, err := s.Threads(ctx)
	var c *report.Crash
	if err == nil {
		c, err = s.Crash(ctx)
	}
	if err != nil {
		end()
		return nil, err
	}
	n := sv.add(d)
	why := "no signal, no exception: it was running"
	if c != nil {
		why = strings.TrimSpace(cmp.Or(c.Signal, c.Exception) + ": " + cmp.Or(c.Reason, c.Kind))
		if c.Message != "" {
			why += ": " + c.Message
		}
	}
	return &answer{head: fmt.Sprintf("dump %d is open: %d threads.", n, len(threads)), lines: []string{report.Clean(filepath.Base(r.Core) + ": " + why)},
		tail: fmt.Sprintf("next: summary with dump = %d", n)}, nil
}

type dumpIn struct {
	Dump int `json:"dump" doc:"number of the dump, from open_dump"`
}

func (sv *server) summary(ctx context.Context, in dumpIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := d.s.Summary(ctx)
	if err != nil {
		return nil, err
	}
	tail := ""
	if f, err := d.s.Focus(ctx); err == nil {
		st, _, _ := d.s.Position(f.ID)
		tail = fmt.Sprintf("The frame to look at first is frame %d (#%d of stack %d).", f.ID, f.Index, st.ID)
	}
	// In JSON the text is longer.
	var text string
	for limit := maxText - 512; ; limit -= max(limit/8, 64) {
		var b bytes.Buffer
		if err := report.WriteBrief(&b, r, report.TextOptions{}, limit); err != nil {
			return nil, err
		}
		text = strings.TrimSuffix(b.String(), "\n")
		if size(text)+512 <= maxText || limit < 512 {
			break
		}
	}
	return &answer{lines: strings.Split(text, "\n"), tail: tail}, nil
}

func (sv *server) memory(ctx context.Context, in pageIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := d.s.Memory(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := report.WriteMemoryText(&b, m, report.TextOptions{}); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	from := min(max(in.From, 0), len(lines))
	return &answer{lines: lines[from:], from: from, next: "from"}, nil
}

type pageIn struct {
	dumpIn
	From int `json:"from,omitempty" doc:"number of the first line to list, as the answer before says"`
}

// page is how many entries are asked for at once: more than an answer has room for.
const page = 200

func (sv *server) threads(ctx context.Context, in pageIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	from := max(in.From, 0)
	threads, err := d.s.Threads(ctx)
	if err != nil {
		return nil, err
	}
	a := &answer{head: fmt.Sprintf("Stacks of %d threads, then of tasks that no thread runs:", len(threads)), from: from, next: "from"}
	list := threads[min(from, len(threads)):]
	if len(list) < page {
		var tasks []session.Stack
		tasks, a.more, err = d.s.Tasks(ctx, max(from-len(threads), 0), page)
		if err != nil {
			return nil, err
		}
		list = append(list[:len(list):len(list)], tasks...)
	}
	for _, st := range list {
		a.lines = append(a.lines, stackLine(st))
	}
	return a, nil
}

func stackLine(st session.Stack) string {
	s := fmt.Sprintf("stack %d: %s", st.ID, st.Title())
	if st.Name != "" {
		s += " " + quoted(st.Name)
	}
	if st.Crashed {
		s += ", crashed"
	}
	if status := cmp.Or(st.Status, st.State); status != "" {
		s += ", " + report.Clean(status)
	}
	return s
}

// quoted is a text in quotes, on one line.
func quoted(s string) string { return `"` + report.Clean(s) + `"` }

type frameIn struct {
	dumpIn
	Stack int `json:"stack,omitempty" doc:"number of the stack whose frames to list, from threads; 0 for the one that crashed"`
	Frame int `json:"frame,omitempty" doc:"number of one frame to describe"`
	From  int `json:"from,omitempty" doc:"number of the first frame to list, as the answer before says"`
}

func (sv *server) frame(ctx context.Context, in frameIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	if in.Frame != 0 {
		return sv.oneFrame(ctx, d, session.FrameID(in.Frame))
	}
	id := session.StackID(in.Stack)
	if id == 0 {
		id = 1
	}
	from := max(in.From, 0)
	list, more, err := d.s.Frames(ctx, id, from, page)
	if err != nil {
		return nil, err
	}
	a := &answer{head: fmt.Sprintf("Frames of stack %d, the youngest first:", id), from: from, more: more, next: "from"}
	if from > 0 && len(list) == 0 {
		a.head = fmt.Sprintf("Stack %d has no frame #%d.", id, from)
	}
	for i := range list {
		a.lines = append(a.lines, fmt.Sprintf("frame %d: ", list[i].ID)+frameText(&list[i].Frame))
	}
	if end := d.s.End(id); end != "" && !more {
		a.tail = "The stack ends here: " + report.Clean(end)
	}
	return a, nil
}

// frameText says what a frame is in one line.
func frameText(f *report.Frame) string {
	s := fmt.Sprintf("#%d ", f.Index)
	if f.Function != "" {
		s += report.Clean(f.Function)
	} else {
		s += f.PC.String()
	}
	if f.Source.File != "" {
		s += fmt.Sprintf(" at %s:%d", report.Clean(report.Base(f.Source.File)), f.Source.Line)
	}
	if f.Module != "" {
		s += " in " + report.Clean(report.Base(f.Module))
	}
	switch {
	case f.Inlined:
		s += " [inlined]"
	case f.Tail:
		s += " [tail]"
	case f.Trust == report.TrustScan, f.Trust == report.TrustWildPC, f.Trust == report.TrustAnalysis, f.Trust == report.TrustFramePointer:
		s += " [found by " + f.Trust + "]"
	}
	return s
}

func (sv *server) oneFrame(ctx context.Context, d *dump, id session.FrameID) (*answer, error) {
	st, index, err := d.s.Position(id)
	if err != nil {
		return nil, err
	}
	list, _, err := d.s.Frames(ctx, st.ID, index, 1)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	f := &list[0]
	a := &answer{head: fmt.Sprintf("Frame %d, of stack %d:", id, st.ID), lines: []string{frameText(&f.Frame)}}
	if f.Source.File != "" {
		a.lines = append(a.lines, fmt.Sprintf("file %s, line %d", report.Clean(f.Source.File), f.Source.Line))
	}
	a.lines = append(a.lines, fmt.Sprintf("pc %s, sp %s", f.PC, f.SP))
	switch file, err := d.s.Source(ctx, id); {
	case err != nil:
	case !sv.below(resolved(file.Path)):
		a.tail = "Its source is not below a directory that may be read."
	default:
		if l, err := d.s.Listing(ctx, id, sourceLines); err == nil && l != nil {
			for i, text := range l.Lines {
				at := "  "
				if l.First+i == f.Source.Line {
					at = "->"
				}
				a.lines = append(a.lines, fmt.Sprintf("%s %d  %s", at, l.First+i, report.Clean(strings.ReplaceAll(text, "\t", "    "))))
			}
		}
	}
	if !f.Inlined && !f.Tail {
		// From where a call returns to: nobody knows where the call itself begins, if not where its function does.
		if code, err := d.s.Disassemble(ctx, uint64(f.PC), codeBefore, codeBefore+codeAfter); err == nil {
			for _, in := range code {
				at := "  "
				if in.Address <= f.Lookup && uint64(f.Lookup-in.Address) < uint64(len(in.Bytes)/2) {
					at = "->"
				}
				a.lines = append(a.lines, fmt.Sprintf("%s %s  %s", at, in.Address, report.Clean(in.Text)))
			}
		}
	}
	return a, nil
}

// resolved is a path without links; "" if it leads nowhere.
func resolved(path string) string {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	return to
}

// How much is shown around a frame.
const (
	sourceLines = 6
	codeBefore  = 4
	codeAfter   = 3
)
