package golang_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/budget"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/golang"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// damaged is a process some of whose bytes are others.
type damaged struct {
	unwind.ProcessState
	words map[uint64]uint64                 // by address
	flip  func(at unwind.Address, b []byte) // may be nil
}

func (d *damaged) ReadMem(at unwind.Address, b []byte) (int, error) {
	n, err := d.ProcessState.ReadMem(at, b)
	for w, v := range d.words {
		for i := range uint64(8) {
			if k := w + i - at; k < uint64(n) {
				b[k] = byte(v >> (8 * i))
			}
		}
	}
	if d.flip != nil {
		d.flip(at, b[:n])
	}
	return n, err
}

func (d *damaged) ReadWord(at unwind.Address) (unwind.Address, error) {
	var b [8]byte
	if n, err := d.ReadMem(at, b[:]); n < 8 {
		return 0, err
	}
	return d.Arch().Word(b[:]), nil
}

// open opens the core of a stripped Go program, and hands what a runtime is found in to do.
func open(tb testing.TB, do func(p *tasks.Process)) {
	c := fixture.Get(tb, "amd64-go-stripped")
	target, err := corewalk.Open(context.Background(), c.Core(tb), corewalk.WithExecutable(c.Binary(tb)))
	if err != nil {
		tb.Fatal(err)
	}
	defer target.Close()
	for range target.Tasks(context.Background(), func(p *tasks.Process) (tasks.Runtime, error) { do(p); return nil, nil }) {
		break
	}
}

// with is the process with another state.
func with(p *tasks.Process, s unwind.ProcessState) *tasks.Process {
	return &tasks.Process{State: s, Files: p.Files, Modules: p.Modules, Symbols: p.Symbols, Names: p.Names}
}

// list lists the goroutines of a process some of whose words are others.
func list(p *tasks.Process, words map[uint64]uint64) (r tasks.Runtime, found []*tasks.Task, errs []error) {
	r, err := golang.Find(with(p, &damaged{ProcessState: p.State, words: words}))
	if err != nil {
		return nil, nil, []error{err}
	}
	for t, err := range r.Tasks(context.Background()) {
		if err != nil {
			errs = append(errs, err)
		} else {
			t.Wait = r.(tasks.Waiter).Wait(context.Background(), t, nil)
			found = append(found, t)
		}
	}
	return r, found, errs
}

func TestWrongLayoutIsNoticed(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, _, _ := list(p, nil)
		if err := golang.ProveWith(r, "g", "goid", golang.Place(r, nil, "g", "goid", 1)-1); err != nil {
			t.Fatalf("the right layout: %v", err)
		}
		for _, c := range []struct {
			field  string
			offset uint64
		}{{"goid", 48}, {"goid", 160}, {"atomicstatus", 152}, {"stack.lo", 8}, {"stack.hi", 48}, {"sched.sp", 64}, {"sched.sp", 48}} {
			if golang.ProveWith(r, "g", c.field, c.offset) == nil {
				t.Errorf("nothing is wrong with %s at %d", c.field, c.offset)
			}
		}
	})
}

func TestDamagedLists(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, whole, errs := list(p, nil)
		if len(whole) < 4 || len(errs) > 0 {
			t.Fatalf("%d goroutines, %v", len(whole), errs)
		}
		var at *tasks.Task // waits at a channel
		for _, g := range whole {
			if g.Wait != nil && g.Wait.Kind == tasks.WaitReceive {
				at = g
			}
		}
		if at == nil || !at.Wait.Proved {
			t.Fatal("no goroutine surely waits at a channel")
		}
		channel := at.Wait.Object.Address
		wait := func(words map[uint64]uint64) *tasks.Wait {
			_, found, _ := list(p, words)
			for _, g := range found {
				if g.ID == at.ID {
					return g.Wait
				}
			}
			t.Fatal("the goroutine is gone")
			return nil
		}
		word := func(at uint64) uint64 { v, _ := p.State.ReadWord(at); return v }
		sudog := word(golang.Place(r, at, "g", "waiting", 0))

		if _, found, errs := list(p, map[uint64]uint64{golang.Place(r, at, "g", "atomicstatus", 0): 77}); len(found) != len(whole)-1 || len(errs) != 1 {
			t.Errorf("a torn goroutine: %d others, %v", len(found), errs)
		}
		_, found, _ := list(p, map[uint64]uint64{golang.Place(r, at, "g", "waitreason", 0): 200})
		if !slices.ContainsFunc(found, func(g *tasks.Task) bool { return g.ID == at.ID && g.Status == "unknown wait reason" }) {
			t.Error("a goroutine that waits for a reason without words is not listed as one, in the words of Go")
		}
		if _, found, errs := list(p, map[uint64]uint64{golang.Place(r, at, "g", "stack.hi", 0): 1}); len(found) != len(whole)-1 || len(errs) != 1 {
			t.Errorf("a goroutine without a stack: %d others, %v", len(found), errs)
		}
		if _, found, _ := list(p, map[uint64]uint64{golang.List(r) + 8: word(golang.List(r))}); len(found) != len(whole)-1 && len(found) != len(whole) {
			t.Errorf("one twice in the list: %d", len(found))
		}
		for i := range uint64(3) { // pointers that lead nowhere
			_, found, _ := list(p, map[uint64]uint64{golang.List(r) + 8*i: 0x10})
			if len(found) < len(whole)-1 {
				t.Errorf("one pointer of the list leads nowhere: %d of %d", len(found), len(whole))
			}
		}
		if w := wait(map[uint64]uint64{golang.Place(r, nil, "sudog", "waitlink", sudog): sudog, golang.Place(r, nil, "sudog", "next", sudog): sudog}); w.Object.Address != channel || w.Proved || w.Note == "" {
			t.Errorf("a circle of sudogs: %+v", w)
		}
		for _, c := range []struct {
			name  string
			words map[uint64]uint64
		}{
			{"a queue without it", map[uint64]uint64{golang.Place(r, nil, "hchan", "recvq.first", channel): 0}},
			{"another's queue entry", map[uint64]uint64{golang.Place(r, nil, "sudog", "g", sudog): channel}},
			{"more elements than fit", map[uint64]uint64{golang.Place(r, nil, "hchan", "qcount", channel): 99}},
			{"no entry", map[uint64]uint64{golang.Place(r, at, "g", "waiting", 0): 0}},
			{"an entry nowhere", map[uint64]uint64{golang.Place(r, at, "g", "waiting", 0): 0x10}},
		} {
			if w := wait(c.words); w.Proved || c.name == "an entry nowhere" && w.Note == "" {
				t.Errorf("%s: the wait is proved: %+v", c.name, w)
			}
		}
	})
}

// TestListNowhere: if no list is found, that is an error, and takes no time.
func TestListNowhere(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, _, _ := list(p, nil)
		nowhere := map[uint64]uint64{}
		for i := range uint64(64) {
			nowhere[golang.List(r)+8*i] = 0x10 + i
		}
		if _, found, errs := list(p, nowhere); len(found) > 0 || len(errs) == 0 {
			t.Errorf("%d goroutines, %v", len(found), errs)
		}
	})
}

// FuzzMemory changes bytes of the process: the goroutines, their waits and who could end them are listed in bounded time.
func FuzzMemory(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 8, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0})
	f.Fuzz(func(t *testing.T, flips []byte) {
		if len(flips) == 0 {
			return
		}
		open(t, func(p *tasks.Process) {
			q := with(p, &damaged{ProcessState: p.State, flip: func(at unwind.Address, b []byte) {
				for i := range b {
					b[i] ^= flips[(at+uint64(i))%uint64(len(flips))]
				}
			}})
			q.Budget = budget.Of(1 << 18)
			r, err := golang.Find(q)
			if err != nil || r == nil {
				return
			}
			links := r.(tasks.Linker).Links()
			for g, err := range r.Tasks(context.Background()) {
				if err == nil {
					g.Wait = r.(tasks.Waiter).Wait(context.Background(), g, nil)
					links.Saw(g, nil)
				}
			}
			links.Link(context.Background())
		})
	})
}

// TestUnusable: a runtime that is there and cannot be read is not passed over in silence.
func TestUnusable(t *testing.T) {
	c := fixture.Get(t, "amd64-go-stripped")
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithExecutable(c.Binary(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	said := false
	for _, err := range target.Tasks(context.Background(), func(*tasks.Process) (tasks.Runtime, error) { return nil, golang.ErrNoRoots }) {
		said = said || errors.Is(err, golang.ErrNoRoots)
	}
	if !said {
		t.Error("nothing is said")
	}
}

// TestWrongFieldsAreNoticed: what a near version's layout says of fields that listing goroutines does not need is proved, too.
func TestWrongFieldsAreNoticed(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, _, _ := list(p, nil)
		same := golang.Place(r, nil, "g", "gopc", 1) - 1
		if err := golang.ProveFieldsWith(r, "g", "gopc", same); err != nil {
			t.Fatalf("the right layout: %v", err)
		}
		for _, c := range []struct {
			record, field string
			offset        uint64
		}{{"g", "startpc", 0}, {"g", "gopc", 8}, {"g", "waitreason", 48}, {"g", "waiting", 288}, {"sudog", "g", 24}, {"m", "curg", 0}} {
			if golang.ProveFieldsWith(r, c.record, c.field, c.offset) == nil {
				t.Errorf("nothing is wrong with %s.%s at %d", c.record, c.field, c.offset)
			}
		}
	})
}

// TestEndOfList: after the end of the list of goroutines there are none, which tells its length from other numbers.
func TestEndOfList(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, _, _ := list(p, nil)
		n := golang.Count(r)
		for more, want := range map[uint64]bool{0: true, 1: false, 100: false, 5000: false} {
			if golang.Ends(r, n+more) != want {
				t.Errorf("%d goroutines, and %d more: %v", n, more, !want)
			}
		}
	})
}

// No other field passes for the status of goroutines, of a layout that another version has.
func TestWrongStatusIsNoticed(t *testing.T) {
	open(t, func(p *tasks.Process) {
		r, _, _ := list(p, nil)
		right := golang.Place(r, nil, "g", "atomicstatus", 1) - 1
		if err := golang.ProveFieldsWith(r, "g", "atomicstatus", right); err != nil {
			t.Fatalf("the right layout: %v", err)
		}
		passes := 0
		for off := uint64(0); off < 400; off += 4 {
			if off == right || golang.ProveWith(r, "g", "atomicstatus", off) != nil {
				continue
			}
			passes++
			if golang.ProveFieldsWith(r, "g", "atomicstatus", off) == nil {
				t.Errorf("nothing is wrong with the status at %d", off)
			}
		}
		if passes == 0 {
			t.Error("no other field makes any sense as a status")
		}
	})
}
