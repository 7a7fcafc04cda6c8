package tasks_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// parse makes tasks of "1>2 2>1": task 1 waits for 2. A holder after "?" is possible, "1>2,3"
// waits for either, "1>2&3" for both, "1~2" with a time limit; "4" does not wait, "5>!" waits
// for ever, "6>9" for a task that may not be there, and "*" after the waiter makes its wait unproved, and "^" open.
func parse(t *testing.T, text string) *tasks.Graph {
	t.Helper()
	var all []*tasks.Task
	for word := range strings.FieldsSeq(text) {
		at := strings.IndexAny(word, ">~")
		name := word
		if at >= 0 {
			name = word[:at]
		}
		unproved, open := strings.HasSuffix(name, "*"), strings.HasSuffix(name, "^")
		task := &tasks.Task{Key: key(t, strings.TrimRight(name, "*^")), State: tasks.StateRunning}
		if at >= 0 {
			task.State = tasks.StateWaiting
			task.Wait = &tasks.Wait{Kind: tasks.WaitLock, Timed: word[at] == '~', Proved: !unproved, Open: open, All: strings.Contains(word, "&")}
			if to := word[at+1:]; to == "!" {
				task.Wait.Kind = tasks.WaitForever
			} else {
				for h := range strings.FieldsFuncSeq(to, func(r rune) bool { return r == ',' || r == '&' }) {
					certainty := tasks.Certain
					if strings.HasPrefix(h, "?") {
						certainty = tasks.Possible
					}
					task.Wait.Holders = append(task.Wait.Holders, tasks.Holder{Key: key(t, strings.TrimPrefix(h, "?")), Certainty: certainty})
				}
			}
		}
		all = append(all, task)
	}
	return tasks.NewGraph(all)
}

func key(t *testing.T, s string) tasks.Key {
	t.Helper()
	id, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return tasks.Key{Kind: tasks.KindThread, ID: id}
}

func ids(all []*tasks.Task) string {
	var s []string
	for _, t := range all {
		s = append(s, strconv.FormatUint(t.ID, 10))
	}
	return strings.Join(s, " ")
}

func TestDeadlocks(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"nobody waits", "1 2", ""},
		{"a holder that runs", "1>2 2", ""},
		{"two", "1>2 2>1", "certain 1 2"},
		{"two cycles", "5>6 6>5 1>2 2>1", "certain 1 2; certain 5 6"},
		{"five, in their order", "3>5 1>3 5>2 2>4 4>1", "certain 1 3 5 2 4"},
		{"itself", "1>1", "certain 1"},
		{"one that ends by itself", "1>2 2~1", ""},
		{"one possible holder", "1>?2 2>1", "possible 1 2"},
		{"a wait that is not proved", "1*>2 2>1", "possible 1 2"},
		{"another holder runs", "1>2,3 2>1 3", ""},
		{"another holder is stuck, too", "1>2,3 2>1 3>1", "certain 1 2 3"},
		{"another holder is only possible", "1>2,?3 2>1 3>1", "possible 1 2 3"},
		{"all must act, one runs", "1>2&3 2>1 3", "certain 1 2"},
		{"all must act, none is stuck", "1>2&3 2 3", ""},
		{"a holder outside the process", "1>2,99 2>1", ""},
		{"only a holder outside", "1>99", ""},
		{"behind the cycle, nearest first", "4>3 3>1 1>2 2>1", "certain 1 2 behind 3 4"},
		{"a holder that waits for ever is no cycle", "1>2 2>!", ""},
		{"who waits for it may go on another way", "3>1,4 1>2 2>1 4", "certain 1 2"},
		{"others may end the wait, too", "1^>2 2>1", ""},
		{"certain ones first", "1>?2 2>1 5>6 6>5", "certain 5 6; possible 1 2"},
		{"all must act, one is outside", "1>2&99 2>1", "certain 1 2"},
		{"all must act, and all are possible", "1>?2&?3 2>1 3>1", "possible 1 2 3"},
		{"behind the cycle on two ways", "5>1&2 1>2 2>1", "certain 1 2 behind 5"},
		{"ways that were gone are not gone again", "1>4&2 2>1 3>1 4>1&3", "certain 1 4 3 2"},
		{"two cycles through one task", "1>2&3 2>1 3>1", "certain 1 2 3"},
	} {
		var got []string
		for _, d := range parse(t, c.graph).Deadlocks() {
			s := string(d.Certainty) + " " + ids(d.Tasks)
			if len(d.Behind) > 0 {
				s += " behind " + ids(d.Behind)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s: %q gives %q, want %q", c.name, c.graph, s, c.want)
		}
	}
}

func TestStuck(t *testing.T) {
	g := parse(t, "1>2 2>! 3>4 4 5>1,4 6> 7>3&4 8>2&4")
	for id, want := range map[uint64]bool{1: true, 2: true, 3: false, 4: false, 5: false, 6: false, 7: false, 8: true, 9: false} {
		if got := g.Stuck(tasks.Key{Kind: tasks.KindThread, ID: id}); got != want {
			t.Errorf("task %d is stuck: %v, want %v", id, got, want)
		}
	}
}

// TestLongChain makes sure that the work is in proportion to the edges, without recursion.
func TestLongChain(t *testing.T) {
	const n = 200_000
	all := make([]*tasks.Task, n)
	for i := range all {
		all[i] = &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(i)}, State: tasks.StateWaiting,
			Wait: &tasks.Wait{Proved: true, Holders: []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(i+1) % n}, Certainty: tasks.Certain}}}}
	}
	g := tasks.NewGraph(all)
	d := g.Deadlocks()
	if len(d) != 1 || len(d[0].Tasks) != n {
		t.Fatalf("%d deadlocks", len(d))
	}
	if c := g.LongestChain(); len(c) != n {
		t.Errorf("the longest chain has %d tasks", len(c))
	}
}

func TestLongestChain(t *testing.T) {
	for _, c := range []struct{ graph, want string }{
		{"1 2", ""}, {"1>2 2", "1 2"}, {"1>2 2>3 3 4>3", "1 2 3"}, {"1>?2 2", ""}, {"1>2 2>1 3>1", "3 1 2"}, {"1>1", ""}, {"3 1>3", "1 3"},
	} {
		if got := ids(parse(t, c.graph).LongestChain()); got != c.want {
			t.Errorf("%q: %q, want %q", c.graph, got, c.want)
		}
	}
}

// TestSharedHolders: tasks that wait for one object have one list of holders; what is proved of one's wait is not of another's.
func TestSharedHolders(t *testing.T) {
	holders := []tasks.Holder{{Key: key(t, "1"), Certainty: tasks.Certain}}
	waits := func(id string, proved bool, h []tasks.Holder) *tasks.Task {
		return &tasks.Task{Key: key(t, id), State: tasks.StateWaiting, Wait: &tasks.Wait{Kind: tasks.WaitLock, Proved: proved, Holders: h}}
	}
	for _, c := range []struct {
		first, second bool
		want          tasks.Certainty
	}{{true, true, tasks.Certain}, {false, true, tasks.Certain}, {true, false, tasks.Possible}} {
		back := []tasks.Holder{{Key: key(t, "3"), Certainty: tasks.Certain}, {Key: key(t, "5"), Certainty: tasks.Certain}}
		g := tasks.NewGraph([]*tasks.Task{waits("1", true, back[:1]), waits("2", c.first, holders), waits("3", c.second, holders), waits("4", true, back), {Key: key(t, "5"), State: tasks.StateRunning}})
		found := g.Deadlocks()
		if len(found) != 1 || ids(found[0].Tasks) != "1 3" || ids(found[0].Behind) != "2" || found[0].Certainty != c.want {
			t.Errorf("proved %t and %t: %+v, want 1 and 3, %s", c.first, c.second, found, c.want)
		}
	}
}

func TestContended(t *testing.T) {
	wait := func(id uint64, addresses ...uint64) *tasks.Task {
		w := &tasks.Wait{Kind: tasks.WaitLock, Object: tasks.Object{Address: addresses[0]}}
		for _, a := range addresses[1:] {
			w.Cases = append(w.Cases, tasks.Case{Kind: tasks.WaitReceive, Object: tasks.Object{Address: a}})
		}
		return &tasks.Task{Key: tasks.Key{ID: id}, Wait: w}
	}
	g := tasks.NewGraph([]*tasks.Task{wait(1, 0x10), wait(2, 0x20), wait(3, 0x20), wait(4, 0x10), wait(5, 0, 0x10, 0x10, 0x30), wait(6, 0), wait(7, 0), wait(8, 0x40, 0x40)})
	var got []string
	for _, c := range g.Contended() {
		got = append(got, fmt.Sprintf("%#x: %s", c.Object.Address, ids(c.Waiters)))
	}
	if s, want := strings.Join(got, "; "), "0x10: 1 4 5; 0x20: 2 3"; s != want {
		t.Errorf("got %q, want %q", s, want)
	}
}

// TestCancelled: a thread that goes on may cancel one that joins another: such a circle is certain only if none goes on.
func TestCancelled(t *testing.T) {
	waits := func(id, holder uint64, cancellable bool) *tasks.Task {
		return &tasks.Task{Key: tasks.Key{tasks.KindThread, id}, State: tasks.StateWaiting, Wait: &tasks.Wait{Kind: tasks.WaitJoin, Proved: true, Cancellable: cancellable,
			Holders: []tasks.Holder{{Key: tasks.Key{tasks.KindThread, holder}, Certainty: tasks.Certain}}}}
	}
	for _, c := range []struct {
		name        string
		cancellable bool
		threads     []uint64
		want        tasks.Certainty
	}{
		{"all wait", true, []uint64{1, 2, 3}, tasks.Certain},
		{"one goes on", true, []uint64{1, 2, 3, 4}, tasks.Possible},
		{"not known", true, nil, tasks.Possible},
		{"no cancellation point", false, []uint64{1, 2, 3, 4}, tasks.Certain},
	} {
		g := tasks.NewGraph([]*tasks.Task{waits(1, 2, c.cancellable), waits(2, 1, false), waits(3, 1, true)})
		if c.threads != nil {
			g.Threads(c.threads)
		}
		if d := g.Deadlocks(); len(d) != 1 || d[0].Certainty != c.want {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}
