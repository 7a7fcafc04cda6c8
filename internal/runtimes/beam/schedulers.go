package beam

import (
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A scheduler is a thread that runs processes.
type scheduler struct {
	at     uint64
	id     unwind.ThreadID
	name   string
	x      uint64 // the registers of Erlang's code
	dirty  bool
	runs   uint64 // the process
	number uint64
}

// maxSchedulers is more than there may be of a kind.
const maxSchedulers = 1 << 11

// schedulers lists those threads of the process that are schedulers.
func (r *runtime) schedulers() []scheduler {
	r.once.Do(func() {
		threads := map[uint64]unwind.ThreadID{}
		ids, _ := r.p.State.ThreadIDs()
		for _, id := range ids {
			if regs, err := r.p.State.Registers(id); err == nil {
				if pointer, ok := regs.Get(arch.FSBase); ok && pointer != 0 {
					threads[pointer] = id
				}
			}
		}
		r.addSchedulers(threads, "erts_aligned_scheduler_data", "erts_no_schedulers", "scheduler.number", "scheduler")
		r.addSchedulers(threads, "erts_aligned_dirty_cpu_scheduler_data", "erts_no_dirty_cpu_schedulers", "scheduler.dirty", "dirty CPU scheduler")
		r.addSchedulers(threads, "erts_aligned_dirty_io_scheduler_data", "erts_no_dirty_io_schedulers", "scheduler.dirty", "dirty I/O scheduler")
	})
	return r.threads
}

// addSchedulers adds those of a kind: each has its number, from 1 on.
func (r *runtime) addSchedulers(threads map[uint64]unwind.ThreadID, list, count, number, kind string) {
	from, n := r.Word(r.symbol(list)), r.Word(r.symbol(count))
	if n > maxSchedulers || from < lowest || from%8 != 0 {
		r.failed = errors.New("the list of its schedulers is damaged")
		return
	}
	for i := range n {
		at := from + i*r.at("scheduler.size")
		if r.field(at, number) != i+1 {
			r.failed = errors.New("the list of its schedulers is damaged")
			return
		}
		id, ok := threads[r.field(at, "scheduler.thread")]
		if !ok {
			continue
		}
		r.threads = append(r.threads, scheduler{at: at, id: id, name: fmt.Sprintf("%s %d", kind, i+1), x: r.field(at, "scheduler.registers") + r.at("registers.x"),
			dirty: number == "scheduler.dirty", runs: r.field(at, "scheduler.process"), number: i + 1})
	}
}

// schedulerOf returns the scheduler that a thread is; nil for others.
func (r *runtime) schedulerOf(id unwind.ThreadID) *scheduler {
	list := r.schedulers()
	for i := range list {
		if list[i].id == id && id != unwind.NullThread && id != 0 {
			return &list[i]
		}
	}
	return nil
}

// runs finds the process that a scheduler runs: each knows the other; nil if it runs none.
func (r *runtime) runs(s *scheduler) *process {
	p := r.processAt(s.runs)
	if p == nil || p.scheduler != s.at && !s.dirty {
		return nil
	}
	return p
}

// ThreadName implements tasks.ThreadNamer.
func (r *runtime) ThreadName(id unwind.ThreadID) string {
	if s := r.schedulerOf(id); s != nil {
		return s.name
	}
	return ""
}

// ThreadNotes implements tasks.ThreadNoter: who collects garbage.
func (r *runtime) ThreadNotes(id unwind.ThreadID) []string {
	if s := r.schedulerOf(id); s != nil {
		if p := r.runs(s); p != nil && r.is(p, "state.gc") {
			return []string{"garbage of its process is being collected"}
		}
	}
	return nil
}
