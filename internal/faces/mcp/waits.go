package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/report"
)

func (sv *server) waits(ctx context.Context, in pageIn) (*answer, error) {
	d, done, err := sv.use(in.Dump)
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := d.s.Summary(ctx)
	if err != nil {
		return nil, err
	}
	a := &answer{next: "from"}
	for i := range r.Deadlocks {
		a.lines = append(a.lines, deadlockText(&r.Deadlocks[i]))
	}
	for i := range r.Contended {
		c := &r.Contended[i]
		a.lines = append(a.lines, fmt.Sprintf("%s%s: %d wait for it: %s; %s", report.Clean(c.Kind), objectText(&c.Object), len(c.Waiters), refsText(c.Waiters), holdersText(c.Holders)))
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if w := t.Wait; w != nil {
			a.lines = append(a.lines, fmt.Sprintf("%s %d waits: %s", t.Kind, t.ID, waitText(w)))
		}
	}
	if len(a.lines) == 0 {
		a.head = "Nothing is known to wait for anything."
		return a, nil
	}
	a.head = fmt.Sprintf("%d deadlocks, %d things that others wait for, then each wait:", len(r.Deadlocks), len(r.Contended))
	a.from = min(max(in.From, 0), len(a.lines))
	a.lines = a.lines[a.from:]
	return a, nil
}

func deadlockText(d *report.Deadlock) string {
	var steps []string
	for i, t := range d.Tasks {
		s := fmt.Sprintf("%s %d", t.Kind, t.ID)
		if i < len(d.Objects) {
			s += " waits for" + objectText(&d.Objects[i])
		}
		if i < len(d.Places) && d.Places[i].Function != "" {
			s += " in " + report.Clean(d.Places[i].Function)
			if src := d.Places[i].Source; src.File != "" {
				s += fmt.Sprintf(" at %s:%d", report.Clean(report.Base(src.File)), src.Line)
			}
		}
		steps = append(steps, s)
	}
	s := "deadlock [" + d.Certainty + "]: " + strings.Join(steps, ", ")
	if len(d.Behind) > 0 {
		s += "; behind it wait " + refsText(d.Behind)
	}
	return s
}

func waitText(w *report.Wait) string {
	s := report.Clean(w.Kind)
	if w.Reason != "" && w.Reason != w.Kind {
		s += " (" + report.Clean(w.Reason) + ")"
	}
	if w.Object != nil {
		s += objectText(w.Object)
	}
	if len(w.Holders) > 0 {
		s += ", " + holdersText(w.Holders)
	}
	if w.Seconds > 0 {
		s += fmt.Sprintf(", for %.0f s", w.Seconds)
	}
	if w.Note != "" {
		s += ", " + report.Clean(w.Note)
	}
	return s + " [" + w.Certainty + "]"
}

func objectText(o *report.WaitObject) string {
	s := ""
	if o.Name != "" {
		s += " " + report.Clean(o.Name)
	}
	if o.Type != "" {
		s += " (" + report.Clean(o.Type) + ")"
	}
	if o.Address != 0 {
		s += " at " + o.Address.String()
	}
	if o.Detail != "" {
		s += ", " + report.Clean(o.Detail)
	}
	return s
}

// maxRefs is how many tasks are listed by number.
const maxRefs = 10

func refsText(list []report.TaskRef) string {
	var out []string
	for i, t := range list {
		if i == maxRefs {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s %d", t.Kind, t.ID))
	}
	return strings.Join(out, ", ")
}

func holdersText(list []report.Holder) string {
	if len(list) == 0 {
		return "nobody is known to hold it"
	}
	var out []string
	for i, h := range list {
		if i == maxRefs {
			out = append(out, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		s := fmt.Sprintf("%s %d [%s]", h.Kind, h.ID, h.Certainty)
		if t := h.AcquiredAt; t != nil && t.Function != "" {
			s += " since " + report.Clean(t.Function)
			if t.Source.File != "" {
				s += fmt.Sprintf(" at %s:%d", report.Clean(report.Base(t.Source.File)), t.Source.Line)
			}
		}
		out = append(out, s)
	}
	return "held by " + strings.Join(out, ", ")
}
