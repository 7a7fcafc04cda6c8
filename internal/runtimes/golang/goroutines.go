package golang

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Values of g.atomicstatus (runtime2.go). scanBit is added while the garbage collector has the stack.
const (
	statusIdle      = 0
	statusRunnable  = 1
	statusRunning   = 2
	statusSyscall   = 3
	statusWaiting   = 4
	statusDead      = 6
	statusCopyStack = 8
	statusPreempted = 9
	statusLeaked    = 10 // from 1.26 on
	statusDeadExtra = 11 // from 1.26 on
	scanBit         = 0x1000
)

// statusWords are runtime.gStatusStrings.
var statusWords = [...]string{
	statusIdle: "idle", statusRunnable: "runnable", statusRunning: "running", statusSyscall: "syscall", statusWaiting: "waiting",
	statusDead: "dead", statusCopyStack: "copystack", statusPreempted: "preempted", statusLeaked: "leaked", statusDeadExtra: "dead",
}

// Tasks yields the goroutines in the order in which a Go program prints them: those that
// threads run, then all others as they were made. Dead ones are left out, g0s are no goroutines.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		if r.derived && !yield(nil, fmt.Errorf("what is said of goroutines may be wrong: the layout of the runtime's structures is %s", r.source)) {
			return
		}
		seen := make(map[uint64]bool, min(r.count, manyGoroutines))
		torn := 0
		for g := range r.all(ctx) {
			if seen[g] {
				continue
			}
			seen[g] = true
			if err := r.p.Spend(goroutineCost); err != nil {
				yield(nil, fmt.Errorf("not all goroutines are listed: %w", err))
				return
			}
			t, err := r.goroutine(g)
			switch {
			case errors.Is(err, errTorn):
				torn++
			case err != nil:
				if !yield(nil, err) {
					return
				}
			case t != nil && !yield(t, nil):
				return
			}
		}
		if torn > 0 {
			yield(nil, fmt.Errorf("%d goroutines could not be read", torn))
		}
	}
}

// mainGoroutine is the id of the goroutine that runs main, which no code of the program created.
const mainGoroutine = 1

// goroutineCost is what a goroutine costs of the budget, above all in memory: two kilobytes while it is looked at. One that exists has as
// much of stack, which justifies fifteen times this, but a dump may lie.
const goroutineCost = 4096

// manyGoroutines is for how many there is room from the start, however many a dump says that it has.
const manyGoroutines = 1 << 17

var errTorn = errors.New("the goroutine's structure does not make sense")

// m reads what the runtime knows of a thread. Few goroutines have one, but a dump may say that of all.
func (r *runtime) m(at uint64) (object, bool) {
	rec := r.of("m")
	if at == 0 || rec == nil || r.p.Spend(int(rec.size)) != nil {
		return object{}, false
	}
	return r.beginning(rec, at)
}

// thread returns the thread that runs a goroutine: the one of its m, if that says so too.
func (r *runtime) thread(g *object) unwind.ThreadID {
	m, ok := r.m(g.word("m"))
	if !ok || m.word("curg") != g.at {
		return unwind.NullThread
	}
	id, ok := r.p.ThreadKnownAs(m.u64("procid"))
	if !ok {
		return unwind.NullThread
	}
	return id
}

// lockedTo returns the thread that a goroutine is locked to: only that one runs it, and it runs nothing else.
func (r *runtime) lockedTo(g *object) unwind.ThreadID {
	m, ok := r.m(g.word("lockedm"))
	if !ok {
		return unwind.NullThread
	}
	return unwind.ThreadID(m.u64("procid"))
}

// goroutine reads one goroutine; nil if it is dead.
func (r *runtime) goroutine(g uint64) (*tasks.Task, error) {
	o, ok := r.object(r.of("g"), g)
	if !ok {
		return nil, errTorn
	}
	raw := o.u32("atomicstatus")
	status := raw &^ scanBit
	word := ""
	if status < uint32(len(statusWords)) {
		word = statusWords[status]
	}
	if word == "" || status == statusLeaked && r.minor < 26 {
		return nil, errTorn
	}
	if status == statusDead || status == statusIdle || status == statusDeadExtra {
		return nil, nil
	}
	t := &tasks.Task{
		Key: tasks.Key{Kind: tasks.KindGoroutine, ID: o.u64("goid")}, Runtime: r.Name(), Thread: unwind.NullThread,
		Stack: [2]unwind.Address{o.word("stack.lo"), o.word("stack.hi")}, Locked: o.word("lockedm") != 0, Handle: o,
	}
	if t.Stack[0] >= t.Stack[1] {
		return nil, errTorn
	}
	t.Thread = r.thread(&o)
	if pc := o.word("gopc"); pc != 0 && t.ID != mainGoroutine {
		t.Created = &tasks.Creation{PC: pc}
		if parent := o.u64("parentgoid"); parent != 0 {
			t.Created.By = tasks.Key{Kind: tasks.KindGoroutine, ID: parent}
		}
	}
	t.Name = r.function(o.word("startpc"), false)
	t.State, t.Status = stateOf(status), word
	if status == statusWaiting || status == statusLeaked {
		switch reason := int(o.u8("waitreason")); {
		case reason > 0 && reason < len(r.reasons):
			t.Status = r.reasons[reason]
		case reason > 0:
			t.Status = "unknown wait reason"
		}
	}
	t.System = r.isSystem(&o, t.Status)
	if r.minor >= 25 && o.word("bubble") != 0 && t.State == tasks.StateWaiting && slices.Contains(durable, t.Status) {
		t.Status += " (durable)"
	}
	t.Labels = r.labels(o.word("labels"))
	t.LockedTo = r.lockedTo(&o)
	if raw&scanBit != 0 {
		t.Status += " (scan)"
	}
	t.Start = r.start(&o, status)
	return t, nil
}

// durable are the words for waits of which Go adds for goroutines in a bubble of testing/synctest that only another in it can end them. The
// words of other such waits have it already.
var durable = []string{"chan receive (nil chan)", "chan send (nil chan)", "select (no cases)", "sleep", "sync.Cond.Wait", "coroutine", "synctest.Run", "synctest.Wait"}

func stateOf(status uint32) tasks.State {
	switch status {
	case statusRunning, statusCopyStack:
		return tasks.StateRunning
	case statusSyscall:
		return tasks.StateSyscall
	case statusRunnable, statusPreempted:
		return tasks.StateRunnable
	}
	return tasks.StateWaiting
}

// isSystem says what the runtime's isSystemGoroutine does: goroutines that the runtime itself
// started, with exceptions.
func (r *runtime) isSystem(o *object, status string) bool {
	name := r.function(o.word("startpc"), false)
	switch {
	case !strings.HasPrefix(name, "runtime."):
		return false
	case name == "runtime.main", name == "runtime.handleAsyncEvent", name == "runtime.corostart" && r.minor >= 22:
		return false
	case name == "runtime.runfinq", name == "runtime.runFinalizers":
		// Else it runs the program's code.
		return status == "finalizer wait" || o.word("sched.pc") == o.word("startpc")
	case name == "runtime.runCleanups":
		return o.u8("runningcleanups") == 0
	}
	return true
}

// start returns where the walk of a goroutine begins that is not running: at what its gobuf
// saved, or in a system call at what was saved on entering it. It is nil for one that
// runs: its thread's registers are its own, or its thread's stack leads to it.
func (r *runtime) start(o *object, status uint32) *tasks.Start {
	var pc, sp, bp uint64
	switch status {
	case statusRunning, statusCopyStack:
		return nil
	case statusSyscall:
		pc, sp, bp = o.word("syscallpc"), o.word("syscallsp"), o.word("syscallbp")
	default:
		pc, sp, bp = o.word("sched.pc"), o.word("sched.sp"), o.word("sched.bp")
	}
	if pc == 0 || sp < o.word("stack.lo") || sp >= o.word("stack.hi") {
		return nil
	}
	s := &tasks.Start{AfterCall: true}
	s.Regs.Set(r.Arch.PC, pc)
	s.Regs.Set(r.Arch.SP, sp)
	if bp != 0 {
		s.Regs.Set(r.Arch.FP, bp)
	}
	if pc == o.word("startpc") { // it has not begun
		s.AfterCall = false
		if lr := o.word("sched.lr"); lr != 0 && r.Arch == arch.ARM64 {
			s.Regs.Set(r.Arch.RA, lr)
		}
	}
	return s
}
