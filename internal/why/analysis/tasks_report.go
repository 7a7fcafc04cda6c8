package analysis

import (
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// task turns a task into its part of the report.
func (in *question) task(t *tasks.Task) report.Task {
	out := report.Task{Kind: string(t.Kind), ID: int(t.ID), Name: t.Name, Runtime: t.Runtime, State: string(t.State), Status: t.Status,
		Certainty: string(t.Certainty), Locked: t.Locked, System: t.System, Frames: []report.Frame{}}
	if t.Thread > 0 {
		out.Thread = int(t.Thread)
	}
	if s := in.tasks.frames[t.Key]; s != nil && s.reported == nil {
		out.Frames, out.Places, out.End, out.EndDetail = s.frames, s.places, s.end, s.more
	}
	for _, l := range t.Labels {
		out.Labels = append(out.Labels, report.Label(l))
	}
	if c := t.Created; c != nil {
		out.CreatedBy = in.creation(c)
	}
	if w := t.Wait; w != nil {
		out.Wait = in.reportWait(w)
		out.Wait.Seconds = t.Seconds
	}
	return out
}

// creation names where a task was created: the call before the address that the runtime recorded.
func (in *question) creation(c *tasks.Creation) *report.Creation {
	at, ok := in.tasks.created[c.PC]
	if !ok {
		at = in.createdAt(c.PC)
		if in.tasks.created == nil {
			in.tasks.created = map[unwind.Address]report.Creation{}
		}
		in.tasks.created[c.PC] = at
	}
	out := &at
	if c.By.ID != 0 {
		out.Task = &report.TaskRef{Kind: string(c.By.Kind), ID: int(c.By.ID)}
	}
	return out
}

func (in *Engine) createdAt(pc unwind.Address) (c report.Creation) {
	if lookup, ok := in.Walker.SymbolLookup().(unwind.CallLookup); ok {
		if calls, err := lookup.LookupCalls(pc-1, in.calls[:0]); err == nil && len(calls) > 0 {
			last := calls[len(calls)-1]
			c.Function, c.Source = last.Name, source(calls[0])
		}
	}
	return c
}

func (in *question) reportWait(w *tasks.Wait) *report.Wait {
	out := &report.Wait{Kind: string(w.Kind), Reason: w.Reason, Certainty: string(tasks.Possible), Holders: in.holders(w.Holders), All: w.All, Timed: w.Timed, Note: w.Note}
	if w.Proved {
		out.Certainty = string(tasks.Certain)
	}
	if w.Object != (tasks.Object{}) {
		o := object(&w.Object)
		out.Object = &o
	}
	for i := range w.Cases {
		out.Cases = append(out.Cases, report.WaitCase{Kind: string(w.Cases[i].Kind), Object: object(&w.Cases[i].Object)})
	}
	return out
}

func object(o *tasks.Object) report.WaitObject {
	return report.WaitObject{Address: report.Addr(o.Address), Name: o.Name, Type: o.Type, Detail: o.Detail}
}

// holders returns the holders of a wait. Those who wait for one object may share them.
func (in *question) holders(all []tasks.Holder) []report.Holder {
	if len(all) == 0 {
		return nil
	}
	l := &in.tasks
	key := sharedHolders{&all[0], len(all)}
	out, ok := l.held[key]
	if !ok {
		if l.held == nil {
			l.held = map[sharedHolders][]report.Holder{}
		}
		out = make([]report.Holder, len(all))
		for i, h := range all {
			out[i] = report.Holder{Kind: string(h.Kind), ID: int(h.ID), Certainty: string(h.Certainty), AcquiredAt: in.taken(h.AcquiredAt)}
		}
		l.held[key] = out
	}
	return out
}

// taken names the place where a lock was taken.
func (in *Engine) taken(t *tasks.AcquiredAt) *report.AcquiredAt {
	if t == nil {
		return nil
	}
	out := &report.AcquiredAt{Certainty: string(t.Certainty)}
	if libs := in.Proc.LibraryTracker(); libs != nil {
		if lib, ok := libs.LibraryAt(t.PC); ok {
			out.Module = lib.Path
		}
	}
	lookup, ok := in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return out
	}
	calls, err := lookup.LookupCalls(t.PC, in.calls[:0])
	if err != nil {
		return out
	}
	for i := range calls {
		if i == len(calls)-1 || !waitsForOthers(out.Module, calls[i].Name) {
			out.Function, out.Source = calls[i].Name, source(calls[i])
			break
		}
	}
	return out
}

// sharedHolders identifies a list of holders.
type sharedHolders struct {
	first *tasks.Holder
	n     int
}

func refs(all []*tasks.Task) []report.TaskRef {
	out := make([]report.TaskRef, 0, len(all))
	for _, t := range all {
		out = append(out, report.TaskRef{Kind: string(t.Kind), ID: int(t.ID)})
	}
	return out
}

func (in *question) deadlock(threads []report.Thread, d *tasks.Deadlock) report.Deadlock {
	out := report.Deadlock{Certainty: string(d.Certainty), Tasks: refs(d.Tasks), Behind: refs(d.Behind)}
	for _, t := range d.Tasks {
		out.Objects = append(out.Objects, object(&t.Wait.Object))
		var at report.WaitPlace
		if f := waitingFrame(in.framesOf(threads, t.Key), t.Wait.Object.Language); f != nil {
			at = report.WaitPlace{Function: f.Function, Module: f.Module, Source: f.Source}
		}
		out.Places = append(out.Places, at)
	}
	return out
}
