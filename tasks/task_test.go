package tasks_test

import (
	"errors"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

func TestKeys(t *testing.T) {
	for k, want := range map[tasks.Key]string{
		{Kind: tasks.KindThread, ID: 31}: "thread 31", {Kind: tasks.KindGoroutine, ID: 31}: "goroutine 31", {Kind: tasks.KindCoroutine, ID: 31}: "coroutine 0x1f",
		{Kind: tasks.KindFiber, ID: 31}: "fiber 0x1f", {Kind: tasks.KindAsync, ID: 31}: "async-task 0x1f",
	} {
		if k.String() != want {
			t.Errorf("%s, want %s", k, want)
		}
	}
}

// A process has the threads 1, 2 and 3.
type process struct{ unwind.ProcessState }

func (process) Arch() *arch.Arch                      { return arch.AMD64 }
func (process) ThreadIDs() ([]unwind.ThreadID, error) { return []unwind.ThreadID{1, 2, 3}, nil }
func (process) LibraryTracker() libstate.LibraryState { return nil }
func (process) Registers(unwind.ThreadID) (arch.RegSet, error) {
	return arch.RegSet{}, errors.New("no registers")
}
func (process) DefaultThread() (unwind.ThreadID, error) { return 1, nil }

// Inside another namespace, thread 1 knows itself as 101; 2 has ended.
type inside struct{ process }

func (inside) OwnThreadID(id unwind.ThreadID) uint64 {
	if id == 2 {
		return 0
	}
	return uint64(id) + 100
}

func TestThreadKnownAs(t *testing.T) {
	for _, c := range []struct {
		state unwind.ProcessState
		own   uint64
		want  unwind.ThreadID
	}{{process{}, 1, 1}, {process{}, 3, 3}, {process{}, 4, 0}, {process{}, 0, 0}, {inside{}, 101, 1}, {inside{}, 103, 3}, {inside{}, 1, 0}, {inside{}, 102, 0}, {inside{}, 0, 0}} {
		p := &tasks.Process{State: c.state}
		for range 2 { // also when it is known
			if got, ok := p.ThreadKnownAs(c.own); got != c.want || ok != (c.want != 0) {
				t.Errorf("%T: %d is thread %d, %v; want %d", c.state, c.own, got, ok, c.want)
			}
		}
	}
}

type spent int

var errSpent = errors.New("spent")

func (s *spent) Spend(n int) error {
	if *s -= spent(n); *s < 0 {
		return errSpent
	}
	return nil
}
func (s *spent) Err() error { return nil }

func TestSpend(t *testing.T) {
	if err := (&tasks.Process{}).Spend(1 << 30); err != nil {
		t.Error(err)
	}
	left := spent(10)
	p := &tasks.Process{Budget: &left}
	if err := p.Spend(10); err != nil {
		t.Error(err)
	}
	if err := p.Spend(1); !errors.Is(err, errSpent) {
		t.Error("it goes on without a budget:", err)
	}
}

func TestFirstFrame(t *testing.T) {
	w, err := unwind.NewWalker(process{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	start := func(after bool, without ...arch.Reg) *tasks.Task {
		s := &tasks.Start{AfterCall: after}
		for r, v := range map[arch.Reg]uint64{arch.RIP: 0x1234, arch.RSP: 0x7000, arch.RBP: 0x7100, arch.RBX: 5} {
			s.Regs.Set(r, v)
		}
		for _, r := range without {
			s.Regs.Clear(r)
		}
		return &tasks.Task{Start: s}
	}
	for name, task := range map[string]*tasks.Task{"no start": {}, "no pc": start(false, arch.RIP), "no sp": start(false, arch.RSP)} {
		if f, err := tasks.FirstFrame(w, task); err == nil || f != nil {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	for _, after := range []bool{false, true} {
		f, err := tasks.FirstFrame(w, start(after))
		if err != nil {
			t.Fatal(err)
		}
		if f.RA() != 0x1234 || f.SP() != 0x7000 || f.FP() != 0x7100 || f.NonCall() == after || f.Trust() != unwind.TrustContext {
			t.Errorf("%v, call %v, trust %v", f, !f.NonCall(), f.Trust())
		}
		if v, _, ok := f.Reg(arch.RBX); !ok || v != 5 {
			t.Errorf("rbx %d, %v", v, ok)
		}
		if _, _, ok := f.Reg(arch.RCX); ok {
			t.Error("rcx is known")
		}
		if v, _, ok := f.Reg(arch.RBP); !ok || v != 0x7100 {
			t.Errorf("rbp %#x, %v", v, ok)
		}
	}
	f, err := tasks.FirstFrame(w, start(false, arch.RBP))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok := f.Reg(arch.RBP); ok {
		t.Error("rbp is known")
	}
}

// TestGraphParts: of two tasks with one key the first counts, of two edges between two tasks the surer one, and tasks that run wait for nobody.
func TestGraphParts(t *testing.T) {
	thread := func(id uint64) tasks.Key { return tasks.Key{Kind: tasks.KindThread, ID: id} }
	wait := func(holders ...tasks.Holder) *tasks.Wait {
		return &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Holders: holders}
	}
	sure, maybe := tasks.Holder{Key: thread(2), Certainty: tasks.Certain}, tasks.Holder{Key: thread(2), Certainty: tasks.Possible}
	back := &tasks.Task{Key: thread(2), State: tasks.StateWaiting, Wait: wait(tasks.Holder{Key: thread(1), Certainty: tasks.Certain})}
	for name, c := range map[string]struct {
		holders []tasks.Holder
		want    tasks.Certainty
	}{
		"possible, then certain": {[]tasks.Holder{maybe, sure}, tasks.Certain}, "certain, then possible": {[]tasks.Holder{sure, maybe}, tasks.Certain},
		"possible twice": {[]tasks.Holder{maybe, maybe}, tasks.Possible},
	} {
		first := &tasks.Task{Key: thread(1), State: tasks.StateWaiting, Wait: wait(c.holders...)}
		g := tasks.NewGraph([]*tasks.Task{first, back, {Key: thread(1), Name: "again", State: tasks.StateRunning}})
		if d := g.Deadlocks(); len(d) != 1 || d[0].Certainty != c.want {
			t.Errorf("%s: %+v", name, d)
		}
		if g.Task(thread(1)) != first || g.Task(thread(2)) != back || g.Task(thread(3)) != nil {
			t.Errorf("%s: the wrong tasks", name)
		}
	}
	for state, want := range map[tasks.State]int{tasks.StateRunning: 0, tasks.StateRunnable: 0, tasks.StateDead: 0, tasks.StateWaiting: 1, tasks.StateSyscall: 1} {
		g := tasks.NewGraph([]*tasks.Task{{Key: thread(1), State: state, Wait: wait(sure)}, back})
		if d := g.Deadlocks(); len(d) != want {
			t.Errorf("%s: %d deadlocks", state, len(d))
		}
	}
}

// TestContendedParts: an object has the first name and the first holders that a wait for it has; the most wanted is first.
func TestContendedParts(t *testing.T) {
	holder := func(id uint64) []tasks.Holder { return []tasks.Holder{{Key: tasks.Key{ID: id}}} }
	wait := func(id, at uint64, name string, h []tasks.Holder) *tasks.Task {
		return &tasks.Task{Key: tasks.Key{ID: id}, Wait: &tasks.Wait{Kind: tasks.WaitLock, Object: tasks.Object{Address: at, Name: name}, Holders: h}}
	}
	found := tasks.NewGraph([]*tasks.Task{wait(1, 0x20, "", nil), wait(2, 0x20, "m", holder(8)), wait(3, 0x20, "n", holder(9)), {Key: tasks.Key{ID: 4}},
		wait(5, 0x10, "", nil), wait(6, 0x10, "", nil), wait(7, 0x30, "", nil)}).Contended()
	if len(found) != 2 || found[0].Object.Address != 0x20 || found[0].Object.Name != "m" || len(found[0].Holders) != 1 || found[0].Holders[0].ID != 8 ||
		ids(found[0].Waiters) != "1 2 3" || found[0].Kind != tasks.WaitLock || found[1].Object.Address != 0x10 {
		t.Errorf("%+v", found)
	}
}
