package native

import (
	"context"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// TestWalksWhoHolds: to say where locks were taken, the threads are walked that hold some which others wait for; no thread if nobody
// waits for a lock, and every thread only if a lock does not say who holds it.
func TestWalksWhoHolds(t *testing.T) {
	const threads = 5000
	libc := &libstate.Library{Path: "/lib/libc.so.6", Start: 0x1000, End: 0x2000}
	m := &crowd{machine: machine{libs: libstate.NewTable([]*libstate.Library{libc}, 0)}, n: threads}
	found, err := Find(&tasks.Process{State: m, Names: names("work")})
	if err != nil {
		t.Fatal(err)
	}
	lock := func(kind tasks.WaitKind, proved bool, by ...uint64) *tasks.Wait {
		w := &tasks.Wait{Kind: kind, Proved: proved, Object: tasks.Object{Address: lockAt}}
		for _, id := range by {
			w.Holders = append(w.Holders, tasks.Holder{Key: tasks.Key{Kind: tasks.KindThread, ID: id}, Certainty: tasks.Certain})
		}
		return w
	}
	for _, c := range []struct {
		name string
		wait *tasks.Wait
		want int
	}{
		{"nobody waits", nil, 0},
		{"conditions", lock(tasks.WaitCondition, true), 0},
		{"joined", lock(tasks.WaitJoin, true, 7), 0},
		{"one holds", lock(tasks.WaitLock, true, 7), 1},
		{"one reads", lock(tasks.WaitReadLock, true, 7), 1},
		{"it is not proved that anybody does", lock(tasks.WaitLock, false), 0},
		{"an address that is not known", &tasks.Wait{Kind: tasks.WaitLock, Proved: true}, 0},
		{"its owner has ended", &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Object: tasks.Object{Address: lockAt}, Abandoned: true}, 0},
		{"its owner is the parent's", &tasks.Wait{Kind: tasks.WaitLock, Proved: true, Object: tasks.Object{Address: lockAt}, Abandoned: true}, 0},
		{"who is not recorded", lock(tasks.WaitLock, true), maxAsked},
	} {
		var all []*tasks.Task
		for i := range uint64(threads) {
			all = append(all, &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: i + 1}, Thread: unwind.ThreadID(i + 1), Runtime: "native", Wait: c.wait})
		}
		walked := 0
		found.(tasks.Resolver).Resolve(context.Background(), all, func(context.Context, unwind.ThreadID) []*unwind.Frame {
			walked++
			return nil
		})
		if walked != c.want {
			t.Errorf("%s: %d threads walked, want %d", c.name, walked, c.want)
		}
	}
}

// A crowd is a machine with many threads.
type crowd struct {
	machine
	n int
}

func (c *crowd) ThreadIDs() ([]unwind.ThreadID, error) {
	ids := make([]unwind.ThreadID, c.n)
	for i := range ids {
		ids[i] = unwind.ThreadID(i + 1)
	}
	return ids, nil
}
