package beam

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits of the list of processes: how many are listed, and how many places of the table are looked at.
const (
	maxListed = 1 << 14
	maxPlaces = 1 << 21
	tableStep = 512
)

var errMany = errors.New("there are more processes of Erlang")

// maxFrames is how many calls of each process are listed.
const maxFrames = 1 << 10

// Tasks implements tasks.Runtime: the processes.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		running := map[uint64]unwind.ThreadID{}
		for _, s := range r.schedulers() {
			if p := r.runs(&s); p != nil {
				running[p.at] = s.id
			}
		}
		listed := 0
		left := r.table.count // those after the last one need not be looked for
		for at := uint64(0); at < r.table.most && left > 0; at += tableStep {
			if ctx.Err() != nil {
				return
			}
			if at >= maxPlaces {
				yield(nil, errMany)
				return
			}
			n := int(min(tableStep, r.table.most-at))
			words, ok := r.Words(r.table.slots+8*at, n)
			if !ok {
				continue
			}
			for _, w := range words {
				if w == 0 {
					continue
				}
				p := r.processAt(w)
				if p == nil || r.is(p, "state.free") {
					continue
				}
				left--
				if listed++; listed > maxListed {
					yield(nil, errMany)
					return
				}
				if !yield(r.task(p, running), nil) {
					return
				}
			}
		}
	}
}

// numberBits is where the second part begins of the number that a task has.
const numberBits = 28

// key is the task that a process is. Its number has both parts of that of the process.
func (r *runtime) key(p *process) tasks.Key {
	bits := r.at("pid.bits")
	return tasks.Key{Kind: tasks.KindProcess, ID: p.number&(1<<bits-1) | p.number>>bits<<numberBits}
}

// task describes a process.
func (r *runtime) task(p *process, running map[uint64]unwind.ThreadID) *tasks.Task {
	status := r.status(p)
	t := &tasks.Task{Key: r.key(p), Name: p.name, Runtime: r.Name(), Thread: unwind.NullThread, Status: status, State: tasks.StateRunnable}
	if parent := r.processOf(p.parent); parent != nil {
		t.Created = &tasks.Creation{By: r.key(parent)}
	}
	n, more := r.queue(p)
	if n > 0 {
		count := strconv.Itoa(n)
		if more {
			count += " or more"
		}
		t.Labels = append(t.Labels, tasks.Label{Key: "messages", Value: count})
	}
	if status == "exiting" {
		if v := r.term(p.value); v.shape != shapeNone {
			t.Labels = append(t.Labels, tasks.Label{Key: "reason", Value: r.show(p.value, r.p.Limits)})
		}
	}
	if id, ok := running[p.at]; ok {
		t.Thread, t.State = id, tasks.StateRunning
		if status != "waiting" { // else the scheduler works for it
			return t
		}
		t.Thread, t.State = unwind.NullThread, tasks.StateRunnable
	}
	list, _ := r.calls(p, r.suspended(p))
	for i := range list[:min(len(list), maxFrames)] {
		c := &list[i]
		f := tasks.SuspendedFrame{Object: c.at, Language: language, Function: c.name(), File: c.file, Line: c.line}
		f.Args, f.Locals = r.variables(c, true, r.p.Limits)
		t.Suspended = append(t.Suspended, f)
	}
	if status == "waiting" || status == "suspended" {
		t.State = tasks.StateWaiting
		t.Wait = r.wait(p, list, status)
	}
	return t
}

// wait is what a process waits for: a message. If it waits for an answer, it is known whose.
func (r *runtime) wait(p *process, list []call, status string) *tasks.Wait {
	if status == "suspended" {
		return &tasks.Wait{Kind: tasks.WaitRuntime, Reason: "erlang:suspend_process"}
	}
	w := &tasks.Wait{Kind: tasks.WaitReceive, Reason: "receive", Timed: p.timer > 1, Open: true}
	if len(list) == 0 {
		return w
	}
	if q, ref := r.asked(p, &list[0]); q != nil {
		w.Kind, w.Proved = tasks.WaitFuture, true
		w.Object = tasks.Object{Address: ref, Type: "answer"}
		w.Reason, w.Open = "an answer", false
		w.Holders = []tasks.Holder{{Key: r.key(q), Certainty: tasks.Possible}}
	}
	return w
}

// maxQueue is how many messages are counted.
const maxQueue = 1 << 12

// queue counts the messages that a process has received, but not taken.
func (r *runtime) queue(p *process) (n int, more bool) {
	const tag = 16
	at := p.messages
	for looked := 0; at != 0; looked++ {
		if at < lowest || at%8 != 0 || r.p.Spend(1) != nil || n >= maxQueue || looked > 2*maxQueue {
			return n, true
		}
		if first := r.Word(at + tag); first&mask6 != r.at("tag.pid")<<2 { // else it is a mark
			n++
		}
		at = r.field(at, "message.next")
	}
	return n, false
}

// maxMonitors is how many monitors of a process are looked at.
const maxMonitors = 1 << 10

// asked finds the process whose answer, or whose end, a call waits for: it has the reference of a monitor.
func (r *runtime) asked(p *process, c *call) (found *process, at uint64) {
	var refs []term
	for _, v := range c.slots {
		if t := r.term(v); r.ref(t) != nil {
			refs = append(refs, t)
		}
	}
	if len(refs) == 0 || p.monitors == 0 {
		return nil, 0
	}
	nodes := []uint64{p.monitors}
	for n := 0; len(nodes) > 0 && n < maxMonitors && r.p.Spend(8) == nil; n++ {
		node := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		if node < lowest || node%8 != 0 {
			continue
		}
		nodes = append(nodes, r.field(node, "monitor.left"), r.field(node, "monitor.right"))
		flags, _ := r.U16(node + r.at("monitor.flags"))
		kind, _ := r.U16(node + r.at("monitor.type"))
		if uint64(flags)&r.at("monitor.target") != 0 || uint64(kind) != r.at("monitor.process") {
			continue
		}
		ref := r.ref(r.term(r.Word(node - r.at("data.origin") + r.at("data.ref"))))
		i := slices.IndexFunc(refs, func(t term) bool { return ref != nil && slices.Equal(r.ref(t), ref) })
		if i < 0 {
			continue
		}
		q := r.processOf(r.field(node, "monitor.other"))
		if q == nil || found != nil && found != q { // it has ended, or there are two
			return nil, 0
		}
		found, at = q, refs[i].at
	}
	return found, at
}
