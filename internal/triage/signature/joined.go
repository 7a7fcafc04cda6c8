package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// maxJoins is how many threads that wait for each other's ends are followed.
const maxJoins = 16

// awaited returns the thread for whose end a thread waits, or for the end of that one, and so on: what it does is what the first waits for, and says more
// than the function that waits. It returns th if that waits for no other thread, or in a ring.
func awaited(r *report.Report, th *report.Thread) *report.Thread {
	at := th
	for range maxJoins {
		next := joins(r, at)
		if next == nil {
			return at
		}
		at = next
	}
	return th
}

// Joined returns the thread that the signature of a report is of, if that is not the thread that the report is about: that waits for its end.
func Joined(r *report.Report) (id int, ok bool) {
	th := crashed(r)
	if th == nil || r.Hang() != nil {
		return 0, false
	}
	at := awaited(r, th)
	return at.ID, at != th
}

// joins returns the thread for whose end a thread waits; nil if it waits for none.
func joins(r *report.Report, th *report.Thread) *report.Thread {
	var w *report.Wait
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.Kind == "thread" && t.ID == th.ID {
			w = t.Wait
		}
	}
	if w == nil || w.Kind != "join" || len(w.Holders) != 1 || w.Holders[0].Kind != "thread" {
		return nil
	}
	for i := range r.Threads {
		if next := &r.Threads[i]; next.ID == w.Holders[0].ID && len(next.Frames) > 0 {
			return next
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
	b := builder{report: r, thread: awaited(r, th)}
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
