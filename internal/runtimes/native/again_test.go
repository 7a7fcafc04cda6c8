package native

import (
	"testing"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A changing process has a mutex whose owner is 1 at first and now owner; its threads sleep as sleeps says, in turn.
type changing struct {
	unwind.ProcessState
	owner  byte
	sleeps []livestate.Sleep
}

func (p *changing) Arch() *arch.Arch                          { return arch.AMD64 }
func (p *changing) ProcessID() int                            { return 1 }
func (p *changing) ThreadIDs() ([]unwind.ThreadID, error)     { return []unwind.ThreadID{1, 2, 3}, nil }
func (p *changing) LibraryTracker() libstate.LibraryState     { return nil }
func (p *changing) ReadMem(arch.Address, []byte) (int, error) { return 0, arch.ErrUnmapped }

func (p *changing) ReadNow(_ arch.Address, buf []byte) (int, error) {
	clear(buf)
	buf[0] = p.owner
	return len(buf), nil
}

func (p *changing) Asleep(unwind.ThreadID) (livestate.Sleep, bool) {
	s := p.sleeps[0]
	p.sleeps = p.sleeps[1:]
	return s, s.PC != 0
}

// TestReadAgain: who holds a lock of a process that goes on counts only if the thread that waits for it slept on while it was
// read again, and until the last.
func TestReadAgain(t *testing.T) {
	const lock, sp = 0x5000, 0x9000
	in := livestate.Sleep{Args: [6]uint64{lock}, SP: sp, PC: 1, Switches: 7}
	later, elsewhere, deeper, awake := in, in, in, livestate.Sleep{}
	later.Switches, elsewhere.Args[0], deeper.SP = 8, lock+8, sp-64
	fn := &waitFunction{wait: func(r *runtime, c *futexCall, _ *unwind.Frame, w *tasks.Wait) {
		if own, ok := r.U32(c.addr); ok {
			r.held(w, unwind.ThreadID(own))
		}
	}}
	for _, c := range []struct {
		name   string
		owner  byte
		sleeps []livestate.Sleep
		want   uint64 // 0 for nobody
	}{
		{"sleeps on", 3, []livestate.Sleep{in, in, in}, 3},
		{"had it itself before", 2, []livestate.Sleep{in, in, in}, 2},
		{"went on", 3, []livestate.Sleep{in, later}, 0},
		{"went on after that", 3, []livestate.Sleep{in, in, later}, 0},
		{"woken after that", 3, []livestate.Sleep{in, in, awake}, 0},
		{"runs", 3, []livestate.Sleep{awake}, 0},
		{"waits for another", 3, []livestate.Sleep{elsewhere}, 0},
		{"waits in another call", 3, []livestate.Sleep{deeper}, 0},
	} {
		state := &changing{owner: c.owner, sleeps: c.sleeps}
		r := &runtime{Reader: procmem.Of(state), p: &tasks.Process{State: state}}
		task := &tasks.Task{Key: tasks.Key{Kind: tasks.KindThread, ID: 2}, Thread: 2, Wait: &tasks.Wait{Kind: tasks.WaitLock}}
		r.held(task.Wait, 2) // as it was read at first
		r.again(2, &futexCall{addr: lock}, fn, nil, sp, task.Wait)
		r.stillAsleep([]*tasks.Task{task})
		holders := task.Wait.Holders
		if (len(holders) != 0) != (c.want != 0) || c.want != 0 && holders[0].ID != c.want {
			t.Errorf("%s: %+v", c.name, holders)
		}
	}
}
