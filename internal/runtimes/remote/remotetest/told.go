package remotetest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Told is all that a runtime tells of a process: in lines, without what differs from one run to the next.
func Told(tb testing.TB, rt tasks.Runtime, p *tasks.Process, died unwind.ThreadID, stack []*unwind.Frame) (list []string) {
	tb.Helper()
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	variables := func(all []tasks.SuspendedVariable) {
		for _, v := range all {
			parts := 0
			if v.Tree != nil {
				parts = len(v.Tree().Children)
			}
			text := fmt.Sprintf("  %s %s = %s (%d)", v.Type, v.Name, v.Value, parts)
			if v.Err != nil {
				text += " " + v.Err.Error()
			}
			list = append(list, text)
		}
	}
	if d, ok := rt.(tasks.Describer); ok {
		say("%s", d.Describe())
	}
	if f, ok := rt.(tasks.Framer); ok {
		stretches, err := f.Stretches(tb.Context(), died, stack)
		say("error %v", err)
		for _, s := range stretches {
			say("frames %d to %d, ended %t", s.From, s.To, s.Ended)
			for _, c := range s.Calls {
				say(" %s %s:%d %t", c.Function, filepath.Base(c.File), c.Line, c.Approximate)
				if c.Variables != nil {
					args, own := c.Variables(true, tasks.Limits{})
					variables(args)
					variables(own)
				}
			}
		}
	}
	if r, ok := rt.(tasks.Raiser); ok {
		for _, e := range r.Raised(died) {
			say("raised %s %s %q in %s at %s:%d, handled %t", e.Relation, e.Type, e.Message, e.Function, filepath.Base(e.File), e.Line, e.Handled)
		}
	}
	if s, ok := rt.(tasks.Server); ok {
		if q, ok := s.Request(died); ok {
			say("%+v", q)
		}
	}
	threads(tb, rt, p, say)
	for task, err := range rt.Tasks(tb.Context()) {
		if err != nil {
			say("%v", err)
			continue
		}
		reason := ""
		if task.Wait != nil {
			reason = task.Wait.Reason
		}
		say("%s %s %q", task.Kind, task.Status, reason)
		for _, f := range task.Suspended {
			say(" %s %s:%d %t", f.Function, filepath.Base(f.File), f.Line, f.Approximate)
			variables(f.Args)
			variables(f.Locals)
		}
	}
	return list
}

// threads tells what is known of threads, and for what they wait.
func threads(tb testing.TB, rt tasks.Runtime, p *tasks.Process, say func(string, ...any)) {
	tb.Helper()
	ids, _ := p.State.ThreadIDs()
	namer, names := rt.(tasks.ThreadNamer)
	noter, notes := rt.(tasks.ThreadNoter)
	var all []*tasks.Task
	for i, id := range ids {
		if names {
			say("thread %d is called %q", i, namer.ThreadName(id))
		}
		if notes {
			say("thread %d %q", i, noter.ThreadNotes(id))
		}
		all = append(all, &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, State: tasks.StateWaiting})
	}
	r, ok := rt.(tasks.Resolver)
	if !ok {
		return
	}
	r.Resolve(tb.Context(), all, nil)
	for i, t := range all {
		if t.Wait == nil {
			continue
		}
		say("thread %d waits: %s %s %+v %t", i, t.Wait.Kind, t.Wait.Reason, t.Wait.Object, t.Wait.Proved)
		for _, h := range t.Wait.Holders {
			say(" thread %d ends it: %s", slices.Index(ids, unwind.ThreadID(h.ID)), h.Certainty)
		}
	}
}
