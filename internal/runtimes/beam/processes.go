package beam

import (
	"errors"

	"github.com/corewalk/corewalk/internal/runtimes/remote"
)

// A table is that of processes. The numbers of processes are spread over it so that neighbours are not in one line of the cache.
type table struct {
	slots                  uint64
	most                   uint64
	count                  uint32
	mask, lineMask, inMask uint64
	lineShift, inShift     uint32
	invalid                uint64
	kept                   *remote.Kept[*process]
}

// maxProcesses is the largest table that Erlang makes.
const maxProcesses = 1 << 27

// openTable reads where processes are.
func (r *runtime) openTable() error {
	at := r.symbol("erts_proc")
	t := table{slots: r.field(at, "table.slots"), most: uint64(r.number(at, "table.max")), count: r.number(at, "table.count"), mask: uint64(r.number(at, "table.mask")),
		lineMask: uint64(r.number(at, "table.linemask")), inMask: uint64(r.number(at, "table.inmask")), lineShift: r.number(at, "table.lineshift"),
		inShift: r.number(at, "table.inshift"), invalid: r.field(at, "table.invalid"), kept: &remote.Kept[*process]{}}
	if t.slots < lowest || t.slots%8 != 0 || t.most == 0 || t.most&(t.most-1) != 0 || t.most > maxProcesses || t.mask != t.most-1 || t.lineShift > 27 || t.inShift > 27 ||
		t.lineMask<<t.lineShift|t.inMask != t.mask {
		return errors.New("memory does not agree with the table of its version: it has no table of processes")
	}
	r.table = t
	return nil
}

// numberOf is the number of the process that a term identifies, and slotOf its place in the table. Until 25 the term has both, else the number is made of
// the place.
func (r *runtime) numberOf(pid uint64) uint64 {
	const bits = 28
	t, pix := &r.table, pid>>4
	if r.has("pid.slot") {
		return pix & (1<<bits - 1)
	}
	return pix&^t.mask | pix>>t.lineShift&t.lineMask | pix&t.inMask<<t.inShift
}

func (r *runtime) slotOf(pid uint64) uint64 {
	slot := pid >> 4 & r.table.mask
	if r.has("pid.slot") {
		slot = pid >> r.at("pid.slot")
	}
	return r.table.slots + 8*min(slot, r.table.most-1)
}

// A process is one of Erlang's.
type process struct {
	at                   uint64
	id                   uint64 // the term
	number               uint64
	name                 string // under which it is registered
	state                uint64
	i                    uint64 // the code that goes on when it runs
	current              uint64 // the function of C that it runs, or the one that it was in
	stop, end, heap, top uint64 // the stack goes from stop to end
	arity                int    // of its arguments, while it does not run
	arguments            uint64
	parent               uint64
	timer                uint64
	reason, value        uint64
	scheduler            uint64
	messages             uint64
	monitors             uint64
	initial              uint64
}

// processAt reads a process; nil if there is none at an address: it is in the table where its identifier says.
func (r *runtime) processAt(at uint64) *process {
	if at < lowest || at%8 != 0 || at == r.table.invalid {
		return nil
	}
	return r.table.kept.Get(at, func() *process {
		f := r.record(at, "process.size")
		if f.b == nil {
			return nil
		}
		p := &process{at: at, id: f.word("process.id"), i: f.word("process.i"), current: f.word("process.current"), stop: f.word("process.stop"), end: f.word("process.end"),
			heap: f.word("process.heap"), top: f.word("process.top"), arguments: f.word("process.arguments"),
			parent: f.word("process.parent"), timer: f.word("process.timer"), reason: f.word("process.reason"), value: f.word("process.value"),
			scheduler: f.word("process.scheduler"), messages: f.word("process.messages"), monitors: f.word("process.monitors"), state: uint64(f.number("process.state")),
			initial: at + r.at("process.initial")}
		if p.id&mask4 != tagPid || r.Word(r.slotOf(p.id)) != at || p.end < p.stop || p.end%8 != 0 || p.end < lowest {
			return nil
		}
		p.number = r.numberOf(p.id)
		if k := r.at("process.arity"); k < uint64(len(f.b)) {
			p.arity = int(f.b[k])
		}
		if name := f.word("process.name"); name != 0 && r.field(name, "name.process") == at {
			p.name = r.atomOf(r.field(name, "name.name"))
		}
		return p
	})
}

// processOf finds the process that a term identifies; nil if it is not there any more.
func (r *runtime) processOf(term uint64) *process {
	if term&mask4 != tagPid {
		return nil
	}
	p := r.processAt(r.Word(r.slotOf(term)))
	if p == nil || p.id != term {
		return nil
	}
	return p
}

// is reports whether a process is in a state.
func (r *runtime) is(p *process, states ...string) bool {
	for _, s := range states {
		if p.state&r.at(s) != 0 {
			return true
		}
	}
	return false
}

// status is the state of a process as process_info says it.
func (r *runtime) status(p *process) string {
	switch {
	case r.is(p, "state.free"):
		return "free"
	case r.is(p, "state.exiting"):
		return "exiting"
	case r.is(p, "state.gc"):
		return "garbage_collecting"
	case r.is(p, "state.suspended"):
		return "suspended"
	case r.is(p, "state.running", "state.runningsystem", "state.dirty", "state.dirtysystem"):
		return "running"
	case r.is(p, "state.active", "state.system", "state.dirtyactive"):
		return "runnable"
	}
	return "waiting"
}
