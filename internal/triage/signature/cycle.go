package signature

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/report"
)

// A waiting is one of the tasks of a deadlock: what it waits for, and where.
type waiting struct {
	name, kind    string
	module, place string
	bare          string // the name in the first level
}

// cycle makes the signature of a deadlock: of the functions that wait in it, and for what kind of thing, each once.
// Which of the tasks is found first does not matter, nor how many of them wait in one function. th is
// the thread that the dump is about, whose frames do not count.
func (b *builder) cycle(d *report.Deadlock, th *report.Thread, c *Cache) {
	if b.report.Crash == nil {
		b.sig.Kind = report.CrashDeadlock
	}
	b.sig.Class = report.CrashDeadlock // whether memory proves all of it is chance
	if len(d.Tasks) == 1 && !d.Asleep {
		b.sig.Class += " with itself"
	}
	var all []waiting
	for _, ref := range d.Tasks {
		all = append(all, b.waiting(ref, c))
	}
	if d.Asleep {
		all = without(all, func(w waiting) bool { return w.kind == "barrier" || w.kind == "join" })
		for i := range all {
			all[i].kind = "" // a channel may be nil in one run and have no other end in the next
		}
	}
	slices.SortFunc(all, func(x, y waiting) int { return slices.Compare(x.parts(), y.parts()) })
	for _, w := range all {
		b.strict = append(b.strict, w.parts()...)
	}
	for _, w := range slices.CompactFunc(all, func(x, y waiting) bool { return x.bare == y.bare && x.kind == y.kind && x.module == y.module }) {
		b.first = append(b.first, w.kind, w.module, w.bare)
		if !slices.Contains(b.sig.Frames, w.name) {
			b.sig.Frames = append(b.sig.Frames, w.name)
		}
	}
	b.sig.Module, b.sig.Cycle, b.sig.Top = all[0].module, true, len(b.sig.Frames)
	if th == nil {
		return
	}
	b.sig.Decisions = make([]Decision, len(th.Frames))
	b.known = c.meanings(th.Frames)
	b.thread = th
	for i := range th.Frames {
		b.decide(i, Dropped, "a deadlock is known by the functions that wait in it")
	}
}

// without leaves out the tasks that only wait until others are done: how many there are is chance, and the others say why they are not. If all
// tasks wait so, none is left out.
func without(all []waiting, bystander func(waiting) bool) []waiting {
	if rest := slices.DeleteFunc(slices.Clone(all), bystander); len(rest) > 0 {
		return rest
	}
	return all
}

func (w waiting) parts() []string { return []string{w.bare, w.kind, w.module, w.place} }

// waiting finds where a task of a deadlock waits, by the rules for the thread of a crash.
func (b *builder) waiting(ref report.TaskRef, c *Cache) waiting {
	th, kind := taskOf(b.report, ref)
	w := waiting{kind: kind}
	if th == nil {
		b.sig.Weak = true
		return w
	}
	sub := Signature{Class: b.sig.Class}
	one := builder{report: b.report, thread: th, known: c.meanings(th.Frames), sig: &sub}
	one.build()
	w.bare, w.place = head(one.first), head(one.strict)
	w.name = cmp.Or(head(sub.Frames), w.bare)
	w.module = sub.Module
	b.sig.Weak = b.sig.Weak || sub.Weak
	return w
}

// head returns the first of a list; "" if it is empty.
func head(list []string) string {
	for _, first := range list {
		return first
	}
	return ""
}

// taskOf returns the stack of a task, and the kind of its wait.
func taskOf(r *report.Report, ref report.TaskRef) (th *report.Thread, kind string) {
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.Kind == ref.Kind && t.ID == ref.ID {
			if t.Wait != nil {
				kind = t.Wait.Kind
			}
			th = &report.Thread{Frames: t.Frames, End: t.End}
			break
		}
	}
	for i := range r.Threads {
		if ref.Kind == "thread" && r.Threads[i].ID == ref.ID {
			th = &r.Threads[i]
		}
	}
	return th, kind
}
