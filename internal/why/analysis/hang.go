package analysis

import (
	"slices"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
)

// asleep takes the word of Go's runtime that no goroutine can ever go on: circles of goroutines are certain, or likely if who is in them was
// only possible, and the goroutines that are in none are a deadlock, too. Not so if one of them could go on, as far as can be seen. It returns
// the deadlocks, the circles of goroutines first.
func (in *question) asleep(c *report.Crash, threads []report.Thread, deadlocks []report.Deadlock) []report.Deadlock {
	if c == nil || !c.Panic.Asleep() || in.opts.Tasks != nil {
		return deadlocks
	}
	d := tasks.Deadlock{Certainty: tasks.Certain}
	of := map[tasks.Key]bool{}
	for _, t := range in.tasks.all {
		if t.Kind != tasks.KindGoroutine || t.System {
			continue
		}
		if t.State != tasks.StateWaiting || t.Wait == nil || t.Wait.Timed || t.Wait.Kind == tasks.WaitTimer {
			return deadlocks
		}
		of[t.Key] = true
		d.Tasks = append(d.Tasks, t)
	}
	known := map[report.TaskRef]bool{}
	out := slices.Clone(deadlocks)
	for i := range out {
		c := &out[i]
		if slices.ContainsFunc(c.Tasks, func(t report.TaskRef) bool { return !of[taskKey(t)] }) {
			continue
		}
		if c.Certainty = string(tasks.Certain); in.perhapsNoCircle(c) {
			c.Certainty = string(tasks.Likely)
		}
		for _, t := range slices.Concat(c.Tasks, c.Behind) {
			known[t] = true
		}
	}
	d.Tasks = slices.DeleteFunc(d.Tasks, func(t *tasks.Task) bool {
		return known[report.TaskRef{Kind: string(t.Kind), ID: int(t.ID)}]
	})
	if len(d.Tasks) == 0 {
		return out
	}
	all := in.deadlock(threads, &d)
	all.Asleep = true
	at := slices.IndexFunc(out, func(d report.Deadlock) bool { return d.Certainty == string(tasks.Possible) })
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, all)
}

// perhapsNoCircle reports whether one of a circle may hold nothing that the one before it waits for.
func (in *question) perhapsNoCircle(d *report.Deadlock) bool {
	for i, t := range d.Tasks {
		next := d.Tasks[(i+1)%len(d.Tasks)]
		for _, w := range in.tasks.all {
			if w.Key != taskKey(t) || w.Wait == nil {
				continue
			}
			if slices.ContainsFunc(w.Wait.Holders, func(h tasks.Holder) bool { return h.Key == taskKey(next) && h.Certainty == tasks.Possible }) {
				return true
			}
		}
	}
	return false
}

func taskKey(t report.TaskRef) tasks.Key {
	return tasks.Key{Kind: tasks.Kind(t.Kind), ID: uint64(t.ID)}
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

// hang returns the kind of a crash: it says that the process was ended because it hung, if that is so. awaited tells for whose end a thread
// waits (report.Report.Awaited).
func (c *crash) hang(known *report.Crash, deadlocks []report.Deadlock, awaited func(thread int) int) string {
	switch {
	case !known.MayBeHang(), known.Kind == report.CrashAbort && c.handledAny():
	case len(deadlocks) > 0 && deadlocks[0].Certainty != string(tasks.Possible):
		return report.CrashDeadlock
	case known.Kind != report.CrashAbort && (len(deadlocks) > 0 || c.waitsForLock(uint64(awaited(known.Thread)))):
		return report.CrashHang // ended from outside
	}
	return known.Kind
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
