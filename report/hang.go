package report

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// MayBeHang reports whether the process may have been ended because it hung: it was ended on purpose, and nothing is
// known to be wrong besides.
func (c *Crash) MayBeHang() bool {
	switch c.Kind {
	case CrashAbort, CrashSignal, CrashWatchdog, CrashDeadlock, CrashHang, "":
		return true
	}
	return c.Panic.Asleep()
}

// sentBy reports whether Reason says which process sent the signal.
func (c *Crash) sentBy() bool { return strings.HasPrefix(c.Reason, "sent by ") }

// Hang returns the deadlock that explains why a process was dumped; nil if none does. A process that
// did not crash, or ended itself, has a certain one; one that was ended from outside may have one that is possible.
func (r *Report) Hang() *Deadlock {
	if len(r.Deadlocks) == 0 || len(r.Deadlocks[0].Tasks) == 0 {
		return nil
	}
	d := &r.Deadlocks[0]
	if c := r.Crash; c != nil && (c.Kind == CrashDeadlock || c.Kind == CrashHang) || c == nil && d.Certainty == "certain" {
		return d
	}
	return nil
}

// HangText says in words who waits for whom, and where, if the process hangs:
// "2 threads wait for each other: a at bank.c:15, b at bank.c:22"; else it is "".
func (r *Report) HangText() string {
	if d := r.Hang(); d != nil {
		return d.text()
	}
	if r.Crash == nil || r.Crash.Kind != CrashHang {
		return ""
	}
	thread := r.Awaited(r.Crash.Thread)
	if w := r.waitOf(thread); w != nil {
		return "thread " + strconv.Itoa(thread) + " " + waitText(w, nil)
	}
	return ""
}

// maxJoins is how many threads that wait for each other's ends are followed.
const maxJoins = 16

// Awaited returns the thread for whose end a thread waits, or for the end of that one, and so on: what it does is what the first waits for.
// It is the thread itself if that waits for the end of no other thread, for a limited time, or in a ring, and if memory does not prove for whose end.
func (r *Report) Awaited(thread int) int {
	at := thread
	for range maxJoins {
		w := r.waitOf(at)
		if w == nil || w.Kind != "join" || w.Timed || len(w.Holders) != 1 || w.Holders[0].Kind != "thread" || w.Holders[0].Certainty != "certain" {
			return at
		}
		at = w.Holders[0].ID
	}
	return thread
}

// waitOf returns what a thread waits for; nil if that is not known.
func (r *Report) waitOf(thread int) *Wait {
	for i := range r.Tasks {
		if t := &r.Tasks[i]; t.Kind == "thread" && t.ID == thread {
			return t.Wait
		}
	}
	return nil
}

// eachOther says in words who waits for each other; how is an adverb, with a space after it.
func (d *Deadlock) eachOther(how string) string {
	if d.Asleep {
		if len(d.Tasks) == 1 {
			return "a goroutine sleeps for ever"
		}
		return fmt.Sprintf("%d goroutines sleep for ever", len(d.Tasks))
	}
	kind, n := "", 0
	for i := range d.Tasks {
		switch k := d.Tasks[i].Kind; {
		case d.carries(i):
			continue
		case n > 0 && k != kind:
			kind = "task"
		default:
			kind = k
		}
		n++
	}
	if n == 1 {
		article := "a "
		if kind == "async-task" {
			article = "an "
		}
		return article + kind + " " + how + "waits for itself"
	}
	return fmt.Sprintf("%d %s %swait for each other", n, kinds(kind), how)
}

// carries reports whether one of the tasks is a thread that only runs the next one, and wants nothing itself.
func (d *Deadlock) carries(i int) bool {
	next := &d.Tasks[(i+1)%len(d.Tasks)]
	return !d.Asleep && d.Tasks[i].Kind == "thread" && next.Kind != "thread" && !d.wants(i)
}

// wants reports whether it is known what one of the tasks waits for.
func (d *Deadlock) wants(i int) bool {
	return i < len(d.Objects) && (d.Objects[i].Address != 0 || d.Objects[i].Name != "")
}

// maxWanted is how many of what the tasks of a deadlock want are named in a headline.
const maxWanted = 3

// text says who waits for each other, and for what.
func (d *Deadlock) text() string {
	how := ""
	if d.Certainty != "certain" {
		how = "possibly "
	}
	var wanted []string
	for i := range d.Tasks {
		if d.carries(i) {
			continue
		}
		if len(wanted) == maxWanted {
			wanted = append(wanted, fmt.Sprintf("and %d more", len(d.Tasks)-i))
			break
		}
		s := "the end of " + d.Tasks[(i+1)%len(d.Tasks)].text()
		if d.Asleep {
			s = d.Tasks[i].text()
		}
		if d.wants(i) {
			if s = brief(d.Objects[i].Name, maxName); s == "" {
				s = d.Objects[i].text()
			}
		}
		if i < len(d.Places) && d.Places[i].Source.File != "" {
			s += fmt.Sprintf(" at %s:%d", brief(path.Base(strings.ReplaceAll(d.Places[i].Source.File, "\\", "/")), maxName), d.Places[i].Source.Line)
		}
		wanted = append(wanted, s)
	}
	return d.eachOther(how) + ": " + strings.Join(wanted, ", ")
}
