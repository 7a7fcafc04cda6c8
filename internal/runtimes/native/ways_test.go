package native

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// TestLeadsTo: a chain of certain waits leads to a thread; every doubt ends it.
func TestLeadsTo(t *testing.T) {
	wait := func(by uint64, change func(*tasks.Wait)) *tasks.Wait {
		w := &tasks.Wait{Proved: true, Holders: []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: by}, Certainty: tasks.Certain}}}
		if change != nil {
			change(w)
		}
		return w
	}
	for _, c := range []struct {
		name   string
		change func(*tasks.Wait)
		want   bool
	}{
		{"certain", nil, true},
		{"not proved", func(w *tasks.Wait) { w.Proved = false }, false},
		{"timed", func(w *tasks.Wait) { w.Timed = true }, false},
		{"nobody", func(w *tasks.Wait) { w.Holders = nil }, false},
		{"one of two", func(w *tasks.Wait) { w.Holders = append(w.Holders, w.Holders[0]) }, false},
		{"a possible holder", func(w *tasks.Wait) { w.Holders[0].Certainty = tasks.Possible }, false},
		{"refused, too", func(w *tasks.Wait) { w.Proved, w.Note = false, refusedNote }, true},
	} {
		waits := map[uint64]*tasks.Wait{1: wait(2, nil), 2: wait(3, c.change), 3: nil}
		if got := leadsTo(waits, 1, 3); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	waits := map[uint64]*tasks.Wait{1: wait(2, nil), 2: wait(1, nil), 3: nil}
	if leadsTo(waits, 1, 3) || leadsTo(waits, 9, 3) {
		t.Error("a circle, or a thread that is not there, leads elsewhere")
	}
	if !leadsTo(waits, 3, 3) {
		t.Error("a thread does not lead to itself")
	}
}

// TestEvidence: which of several places is said to be the one where a lock was taken.
func TestEvidence(t *testing.T) {
	at := func(pcs ...uint64) (list []lockPlace) {
		for _, pc := range pcs {
			list = append(list, lockPlace{pc: pc})
		}
		return list
	}
	for _, c := range []struct {
		name  string
		e     evidence
		named bool
		pc    uint64
		want  tasks.Certainty // "" for nothing
	}{
		{"nothing", evidence{}, true, 0, ""},
		{"a guard", evidence{guarded: at(1), matching: at(2)}, true, 1, tasks.Certain},
		{"the innermost of guards", evidence{guarded: at(1, 2)}, true, 1, tasks.Certain},
		{"a guard of a lock without an owner", evidence{guarded: at(1)}, false, 1, tasks.Possible},
		{"a call", evidence{matching: at(1), unknown: at(2)}, true, 1, tasks.Likely},
		{"the outermost of calls", evidence{matching: at(1, 2)}, true, 2, tasks.Possible},
		{"a call, no owner", evidence{matching: at(1)}, false, 1, tasks.Possible},
		{"a loop", evidence{loops: at(1), unknown: at(2)}, true, 1, tasks.Possible},
		{"two loops", evidence{loops: at(1, 2), unknown: at(3)}, true, 0, ""},
		{"a loop, no owner", evidence{loops: at(1)}, false, 0, ""},
		{"not known", evidence{unknown: at(1)}, true, 1, tasks.Possible},
		{"two that are not known", evidence{unknown: at(1, 2)}, true, 0, ""},
		{"not known, no owner", evidence{unknown: at(1)}, false, 0, ""},
	} {
		got, _ := c.e.taken(c.named)
		if got == nil != (c.want == "") || got != nil && (*got != tasks.AcquiredAt{PC: c.pc, Certainty: c.want}) {
			t.Errorf("%s: %+v, want %#x %s", c.name, got, c.pc, c.want)
		}
	}
}

// TestTell: who holds a lock without an owner is one of those whose code surely called for it, if there are any.
func TestTell(t *testing.T) {
	holder := func(id uint64, always bool) candidate {
		return candidate{tasks.Holder{Key: tasks.Key{Kind: tasks.KindThread, ID: id}, Certainty: tasks.Possible, AcquiredAt: &tasks.AcquiredAt{PC: id}}, always}
	}
	for _, c := range []struct {
		name        string
		lock        wantedLock
		wait        tasks.Wait
		threads     bool // more than were asked
		want        []uint64
		open, whole bool
	}{
		{"one", wantedLock{found: []candidate{holder(1, false)}}, tasks.Wait{Proved: true}, false, []uint64{1}, false, false},
		{"the sure one", wantedLock{found: []candidate{holder(1, false), holder(2, true)}}, tasks.Wait{Proved: true}, false, []uint64{2}, false, false},
		{"not all threads asked", wantedLock{found: []candidate{holder(1, true)}}, tasks.Wait{Proved: true}, true, []uint64{1}, true, false},
		{"more than are kept", wantedLock{more: true, found: []candidate{holder(1, true)}}, tasks.Wait{Proved: true}, false, []uint64{1}, true, false},
		{"readers", wantedLock{found: []candidate{holder(1, true), holder(2, true)}}, tasks.Wait{Proved: true, Note: readersNote}, false, []uint64{1, 2}, false, true},
		{"not proved", wantedLock{found: []candidate{holder(1, true)}}, tasks.Wait{}, false, nil, false, false},
		{"its owner has ended", wantedLock{named: true, found: []candidate{holder(1, true)}}, tasks.Wait{Proved: true}, false, nil, false, false},
	} {
		w := c.wait
		c.lock.waits = []*tasks.Wait{&w}
		c.lock.tell(c.threads)
		var got []uint64
		for _, h := range w.Holders {
			got = append(got, h.ID)
		}
		if len(got) != len(c.want) || len(got) > 0 && (got[0] != c.want[0] || got[len(got)-1] != c.want[len(got)-1]) || w.Open != c.open || w.All != c.whole {
			t.Errorf("%s: %v, open %v, all %v", c.name, got, w.Open, w.All)
		}
	}
	named := tasks.Wait{Proved: true, Holders: []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: 1}, Certainty: tasks.Certain}}}
	l := wantedLock{named: true, waits: []*tasks.Wait{&named}, found: []candidate{holder(2, true), holder(1, false)}}
	l.tell(false)
	if h := named.Holders; len(h) != 1 || h[0].Certainty != tasks.Certain || h[0].AcquiredAt == nil || h[0].AcquiredAt.PC != 1 {
		t.Errorf("%+v", named.Holders)
	}
}
