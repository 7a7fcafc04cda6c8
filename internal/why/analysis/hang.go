package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// asleep takes the word of Go's runtime that no goroutine can ever go on: circles of goroutines are certain, and the goroutines that are
// in none are a deadlock, too. Not so if one of them could go on, as far as can be seen.
func (in *question) asleep(r *report.Report) {
	if r.Crash == nil || !r.Crash.Panic.Asleep() || in.opts.Tasks != nil {
		return
	}
	d := tasks.Deadlock{Certainty: tasks.Certain}
	of := map[tasks.Key]bool{}
	for _, t := range in.tasks.all {
		if t.Kind != tasks.KindGoroutine || t.System {
			continue
		}
		if t.State != tasks.StateWaiting || t.Wait == nil || t.Wait.Timed || t.Wait.Kind == tasks.WaitTimer {
			return
		}
		of[t.Key] = true
		d.Tasks = append(d.Tasks, t)
	}
	known := map[report.TaskRef]bool{}
	for i := range r.Deadlocks {
		c := &r.Deadlocks[i]
		if slices.ContainsFunc(c.Tasks, func(t report.TaskRef) bool { return !of[tasks.Key{Kind: tasks.Kind(t.Kind), ID: uint64(t.ID)}] }) {
			continue
		}
		c.Certainty = string(tasks.Certain)
		for _, t := range slices.Concat(c.Tasks, c.Behind) {
			known[t] = true
		}
	}
	d.Tasks = slices.DeleteFunc(d.Tasks, func(t *tasks.Task) bool {
		return known[report.TaskRef{Kind: string(t.Kind), ID: int(t.ID)}]
	})
	if len(d.Tasks) == 0 {
		return
	}
	all := in.deadlock(r, &d)
	all.Asleep = true
	at := slices.IndexFunc(r.Deadlocks, func(d report.Deadlock) bool { return d.Certainty != string(tasks.Certain) })
	if at < 0 {
		at = len(r.Deadlocks)
	}
	r.Deadlocks = slices.Insert(r.Deadlocks, at, all)
}

// noteCrashed says of what tasks wait for that the thread that crashed holds it.
func noteCrashed(c *report.Crash, all []*tasks.Task) {
	if c == nil || c.Thread == 0 || c.Kind != report.CrashAbort && c.MayBeHang() {
		return // a signal was for any thread
	}
	crashed := tasks.Key{Kind: tasks.KindThread, ID: uint64(c.Thread)}
	for _, t := range all {
		if w := t.Wait; w != nil && t.Key != crashed && w.Note == "" && slices.ContainsFunc(w.Holders, func(h tasks.Holder) bool { return h.Key == crashed }) {
			w.Note = "the thread that crashed"
		}
	}
}

// hang says that the process was ended because it hung, if that is so.
func (in *question) hang(r *report.Report) {
	c := r.Crash
	switch {
	case c == nil || !c.MayBeHang(), c.Kind == report.CrashAbort && in.caughtFault():
	case len(r.Deadlocks) > 0 && r.Deadlocks[0].Certainty == string(tasks.Certain):
		c.Kind = report.CrashDeadlock
	case c.Kind != report.CrashAbort && (len(r.Deadlocks) > 0 || in.waitsForLock(uint64(r.Awaited(c.Thread)))):
		c.Kind = report.CrashHang // ended from outside
	}
}

// waitsForLock reports whether a thread waits for a lock that memory proves to be held, by nobody who could give it back.
func (in *question) waitsForLock(tid uint64) bool {
	key := tasks.Key{Kind: tasks.KindThread, ID: tid}
	h := holding{listed: make(map[tasks.Key]*tasks.Task, len(in.tasks.all)), seen: map[tasks.Key]bool{}}
	for _, t := range in.tasks.all {
		if h.listed[t.Key] == nil {
			h.listed[t.Key] = t
		}
	}
	h.some = slices.ContainsFunc(in.tasks.ids, func(id uint64) bool { return h.runs(tasks.Key{Kind: tasks.KindThread, ID: id}) })
	t := h.listed[key]
	return t != nil && t.Wait != nil && ofLock(t.Wait) && t.Wait.Proved && !t.Wait.Timed && !h.atWork(t.Wait)
}

func ofLock(w *tasks.Wait) bool {
	return w.Kind == tasks.WaitLock || w.Kind == tasks.WaitReadLock || w.Kind == tasks.WaitOnce
}

// holding follows who holds what.
type holding struct {
	listed map[tasks.Key]*tasks.Task // threads only if they wait
	some   bool                      // some thread runs
	seen   map[tasks.Key]bool
}

// runs reports whether a task runs, or may: also a thread of another process.
func (h *holding) runs(k tasks.Key) bool {
	t := h.listed[k]
	return t == nil || t.Wait == nil && (t.State == tasks.StateRunning || t.State == tasks.StateRunnable)
}

// atWork reports whether one who holds what is waited for runs, or waits for one that does: the process does not hang. Of a lock of which it
// is not certain who holds it, that is so while any thread runs.
func (h *holding) atWork(w *tasks.Wait) bool {
	certain := w.Abandoned
	for _, by := range w.Holders {
		certain = certain || by.Certainty == tasks.Certain && !w.Open
		if h.seen[by.Key] {
			continue
		}
		h.seen[by.Key] = true
		if t := h.listed[by.Key]; h.runs(by.Key) || t.Wait != nil && h.atWork(t.Wait) {
			return true
		}
	}
	return !certain && h.some && ofLock(w)
}
