package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// meant returns the thread that the signature is of: that which waits for itself, or for whose end th waits in the end, which says more than the function
// that waits. It is th if that has no frames. In a deadlock of several there is none.
func meant(r *report.Report, th *report.Thread) *report.Thread {
	if d := r.Hang(); d != nil {
		return itself(r, d)
	}
	if by := killer(r, th); by != nil {
		return by
	}
	id := r.Awaited(th.ID)
	for i := range r.Threads {
		if next := &r.Threads[i]; next.ID == id && len(next.Frames) > 0 {
			return next
		}
	}
	return th
}

// killer returns the thread that sent the signal of which th died, if th waits for what that has: until it can go on. It is nil if that is not known. Of a watchdog's
// signal th is the thread that counts, whoever sent it.
func killer(r *report.Report, th *report.Thread) *report.Thread {
	if r.Crash == nil || !strings.HasPrefix(r.Crash.Reason, sentByItself) {
		return nil
	}
	var by *report.Thread
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if t.Kind != "thread" || t.ID != th.ID || t.Wait == nil || len(t.Wait.Holders) != 1 || t.Wait.Holders[0].Kind != "thread" || t.Wait.Holders[0].Certainty != "certain" {
			continue
		}
		for k := range r.Threads {
			if r.Threads[k].ID == t.Wait.Holders[0].ID {
				by = &r.Threads[k]
			}
		}
	}
	if by == nil || len(by.Frames) == 0 {
		return nil
	}
	switch machine(Normalize(by.Frames[0].Function)) {
	case "kill", "__kill", "tgkill", "tkill":
		return by
	}
	return nil
}

// Joined returns the thread that the signature of a report is of, if that is not the thread that the report is about: that waits for its end.
func Joined(r *report.Report) (id int, ok bool) {
	th := crashed(r)
	d := r.Hang()
	if th == nil || d != nil && itself(r, d) == nil {
		return 0, false
	}
	at := meant(r, th)
	return at.ID, at != th
}

// waits reports whether a thread that was told to end from outside waits for a lock, or for the end of another thread.
func waits(r *report.Report, th *report.Thread) bool {
	if th == nil || !r.Crash.MayBeHang() {
		return false
	}
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.Kind == "thread" && t.ID == th.ID && t.Wait != nil {
			return !t.Wait.Timed && (t.Wait.Kind == "lock" || t.Wait.Kind == "join")
		}
	}
	return false
}

// itself returns the thread of a deadlock that is in it alone; nil if there are others, or it is no thread.
func itself(r *report.Report, d *report.Deadlock) *report.Thread {
	if len(d.Tasks) != 1 || d.Asleep || d.Tasks[0].Kind != "thread" {
		return nil
	}
	for i := range r.Threads {
		if th := &r.Threads[i]; th.ID == d.Tasks[0].ID && len(th.Frames) > 0 {
			return th
		}
	}
	return nil
}

// mainGoroutine returns what goroutine 1 does, of a process of Go that was told to end while the builder's thread ran no goroutine: which thread gets a
// signal is chance. It is nil if there is no such goroutine, or the thread says something.
func (b *builder) mainGoroutine() *report.Thread {
	if b.report.Crash == nil || b.report.Crash.Panic != nil || !b.report.Crash.MayBeHang() {
		return nil
	}
	runtime := false
	for i := range b.thread.Frames {
		f := &b.thread.Frames[i]
		runtime = runtime || strings.HasPrefix(f.Function, "runtime.")
		rule := b.rule(i)
		if b.name(i) != "" && rule == nil {
			return nil
		}
		if rule != nil && rule.action == actStart {
			break
		}
	}
	for i := range b.report.Tasks {
		if t := &b.report.Tasks[i]; runtime && t.Kind == "goroutine" && t.ID == 1 && len(t.Frames) > 0 {
			return &report.Thread{Frames: t.Frames, End: t.End}
		}
	}
	return nil
}

// OfGoroutine reports whether the signature of a report is of its main goroutine, since the thread that the report is about ran none.
func OfGoroutine(r *report.Report) bool {
	th := crashed(r)
	if th == nil || r.Hang() != nil {
		return false
	}
	b := builder{report: r, thread: meant(r, th)}
	b.known = new(Cache).meanings(b.thread.Frames)
	return b.mainGoroutine() != nil
}

// waits marks the frames of the thread that the dump is about, if another one's are the signature, and says why.
func (b *builder) waits(th *report.Thread, c *Cache, why string) {
	b.sig.Decisions = make([]Decision, len(th.Frames))
	b.known, b.thread = c.meanings(th.Frames), th
	for i := range th.Frames {
		b.decide(i, Dropped, why)
	}
}
