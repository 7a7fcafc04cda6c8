package python

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Limits on what memory can ask for.
const (
	maxModules = 1 << 14
	maxTasks   = 1 << 16
	maxAwaits  = 1 << 10
)

// Tasks yields greenlets, and asyncio's tasks with what each awaits. Python's threads are the kernel's.
func (r *runtime) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		if !r.greenlets(ctx, yield) || !r.has("task.coro") {
			return // the tasks of versions before 3.11 are not understood
		}
		seen := map[uint64]bool{}
		for i := range r.states {
			interp := r.states[i].interp
			if seen[interp] {
				continue
			}
			seen[interp] = true
			list, more := r.scheduled(interp)
			if more && !yield(nil, fmt.Errorf("asyncio: %d tasks are listed, there are more", len(list))) {
				return
			}
			for _, at := range list {
				if ctx.Err() != nil || r.p.Spend(16) != nil {
					return
				}
				if t := r.task(at); t != nil && !yield(t, nil) {
					return
				}
			}
		}
	}
}

// entries yields the keys in the table of a set, of so many entries: each is a key and its hash.
func (r *runtime) entries(table, n uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		const chunk, most = 1 << 12, 1 << 22 // entries
		for from := uint64(0); from < min(n, most); from += chunk {
			words := r.words(table+from*16, min(n-from, chunk)*2)
			if words == nil || r.p.Spend(chunk/8) != nil {
				return
			}
			for i := 0; i < len(words); i += 2 {
				if words[i] != 0 && !yield(words[i]) {
					return
				}
			}
		}
	}
}

// scheduled returns the addresses of the tasks of an interpreter, and whether there are more: asyncio keeps weak references to them in a
// set of a variable of its module.
func (r *runtime) scheduled(interp uint64) (list []uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = r.linked(interp)
	have := map[uint64]bool{}
	for _, at := range list {
		have[at] = true
	}
	module := r.get(r.field(interp, "interp.modules"), "asyncio.tasks", maxModules)
	dict := r.field(module, "module.dict")
	for _, name := range []string{"_scheduled_tasks", "_eager_tasks", "_all_tasks"} {
		set := r.get(dict, name, 1<<10)
		if set == 0 {
			continue
		}
		if t := r.typeAt(r.field(set, "object.type")); t != nil && t.name == "WeakSet" {
			attributes, _, _ := r.attributes(set, t, maxElements)
			set = 0
			for _, p := range attributes {
				if s, _ := r.str(p.key, maxName); s == "data" {
					set = p.value
				}
			}
		}
		if t := r.typeAt(r.field(set, "object.type")); t == nil || t.name != "set" {
			continue
		}
		for v := range r.entries(r.field(set, "set.table"), r.field(set, "set.mask")+1) {
			if !r.isTask(v) {
				v = r.field(v, "weakref.object")
			}
			if r.isTask(v) && !have[v] {
				if len(list) >= maxTasks {
					return list, true
				}
				have[v] = true
				list = append(list, v)
			}
		}
	}
	return list, len(list) >= maxTasks
}

// linked returns the tasks in the lists of 3.14 and later: each thread has one, and the interpreter one of those whose threads have
// ended. The head of a list is a node, too.
func (r *runtime) linked(interp uint64) []uint64 {
	if !r.has("task.node") {
		return nil
	}
	var list []uint64
	heads := []uint64{interp + r.at("interp.tasks")}
	for i := range r.states {
		if r.states[i].interp == interp {
			heads = append(heads, r.states[i].at+r.at("thread.tasks"))
		}
	}
	for _, head := range heads {
		before := head
		for node := r.word(head); node != head && len(list) < maxTasks; node = r.word(node) {
			// The word after is the way back.
			if at := node - r.at("task.node"); r.word(node+8) == before && r.isTask(at) {
				list = append(list, at)
				before = node
				continue
			}
			break
		}
	}
	return list
}

// get returns the value of a str key in a dict; 0 if there is none.
func (r *runtime) get(dict uint64, key string, limit int) uint64 {
	if t := r.typeAt(r.field(dict, "object.type")); t == nil || t.flags&flagDict == 0 {
		return 0
	}
	list, _, _ := r.pairs(dict, limit)
	for _, p := range list {
		if r.field(p.key, "str.length") != uint64(len(key)) {
			continue
		}
		if s, ok := r.str(p.key, len(key)); ok && s == key {
			return p.value
		}
	}
	return 0
}

// isTask reports whether an object is a task of asyncio's C code, or of a class derived from it.
func (r *runtime) isTask(at uint64) bool {
	t := r.typeAt(r.field(at, "object.type"))
	for range 8 {
		if t == nil {
			return false
		}
		if t.name == "_asyncio.Task" {
			return true
		}
		t = r.typeAt(r.field(t.at, "type.base"))
	}
	return false
}

// task describes a task.
func (r *runtime) task(at uint64) *tasks.Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	coro := r.field(at, "task.coro")
	if coro == 0 {
		return nil
	}
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindAsync, ID: at}, Runtime: "python", Thread: unwind.NullThread, State: tasks.StateRunnable,
		Certainty: tasks.Certain}
	if name := r.field(at, "task.name"); name != 0 {
		w := newPrinter(r, tasks.Limits{})
		if s, ok := r.str(name, maxText); ok {
			w.WriteString(s)
		} else {
			w.WriteString("Task-")
			w.value(name, 0)
		}
		t.Name = w.String()
	}
	var running bool
	t.Suspended, running = r.awaits(coro)
	if running {
		t.State, t.Suspended = tasks.StateRunning, nil // its calls are on a thread's stack
		return t
	}
	if len(t.Suspended) == 0 {
		return nil // done
	}
	waiter := r.field(at, "task.waiter")
	kind := r.typeAt(r.field(waiter, "object.type"))
	if waiter == 0 || kind == nil || kind.name == "NoneType" {
		return t
	}
	t.State = tasks.StateWaiting
	t.Wait = &tasks.Wait{Kind: tasks.WaitFuture, Reason: "await", Object: tasks.Object{Address: waiter, Type: short(kind.name)}, Proved: true, Open: true}
	if r.isTask(waiter) {
		hold(t.Wait, waiter)
		t.Wait.Open, t.Wait.Cancellable = false, true // nothing but that task's end ends the wait, or whoever cancels one of the two
	}
	if kind.name == "_GatheringFuture" {
		t.Wait.All = true
		for _, child := range r.gathered(waiter, kind) {
			hold(t.Wait, child)
		}
	}
	return t
}

// hold says that a wait ends when a task ends.
func hold(w *tasks.Wait, task uint64) {
	h := tasks.Holder{Key: tasks.Key{Kind: tasks.KindAsync, ID: task}, Certainty: tasks.Certain}
	if len(w.Holders) < maxHolders && !slices.ContainsFunc(w.Holders, func(o tasks.Holder) bool { return o.Key == h.Key }) {
		w.Holders = append(w.Holders, h)
	}
}

// maxHolders limits the tasks that one waits for.
const maxHolders = 1 << 8

// gathered returns the tasks of asyncio.gather that have not ended.
func (r *runtime) gathered(at uint64, t *typ) (list []uint64) {
	attributes, _, _ := r.attributes(at, t, maxElements)
	for _, p := range attributes {
		if s, _ := r.str(p.key, maxName); s != "_children" {
			continue
		}
		of := r.typeAt(r.field(p.value, "object.type"))
		if of == nil || of.flags&flagList == 0 {
			continue
		}
		items, _ := r.items(p.value, of, maxHolders)
		for _, child := range items {
			if r.isTask(child) && r.pending(child) {
				list = append(list, child)
			}
		}
	}
	return list
}

// pending reports whether a task has not ended.
func (r *runtime) pending(task uint64) bool {
	list, running := r.awaits(r.field(task, "task.coro"))
	return running || len(list) > 0
}

// awaited says of tasks which others they wait for, as those keep it from 3.14 on: a task, or the future of a group of them.
func (r *runtime) awaited(all []*tasks.Task) {
	if !r.has("task.awaited_by") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	by := map[uint64][]uint64{}
	for _, t := range all {
		if t.Kind != tasks.KindAsync || t.Runtime != "python" || !r.isTask(t.ID) {
			continue
		}
		at := r.field(t.ID, "task.awaited_by")
		waiters := []uint64{at}
		if r.u8(t.ID+r.at("task.awaited_by_is_set")) != 0 {
			waiters = nil
			if of := r.typeAt(r.field(at, "object.type")); of != nil && of.name == "set" {
				waiters, _ = r.items(at, of, maxHolders)
			}
		}
		for _, w := range waiters {
			by[w] = append(by[w], t.ID)
		}
	}
	for _, t := range all {
		if t.Kind != tasks.KindAsync || t.Runtime != "python" || t.Wait == nil {
			continue
		}
		before := len(t.Wait.Holders)
		for _, at := range []uint64{t.ID, t.Wait.Object.Address} {
			for _, other := range by[at] {
				hold(t.Wait, other)
			}
		}
		t.Wait.All = t.Wait.All || len(t.Wait.Holders) > max(before, 1)
	}
}

// awaits lists the coroutines of a task, first the one that awaits something else. running says that the task runs.
func (r *runtime) awaits(coro uint64) (list []tasks.SuspendedFrame, running bool) {
	seen := map[uint64]bool{}
	for range maxAwaits {
		t := r.typeAt(r.field(coro, "object.type"))
		if t == nil || seen[coro] || r.p.Spend(8) != nil {
			break
		}
		seen[coro] = true
		switch t.name {
		case "async_generator_asend", "async_generator_athrow", "coroutine_wrapper":
			coro = r.word(coro + r.at("object.size")) // the generator or the coroutine that it is of
			continue
		case "coroutine", "generator", "async_generator":
		default:
			return reversed(list), false
		}
		state := r.generatorState(coro)
		if state == generatorDone {
			break
		}
		frame := coro + r.at("generator.frame")
		c := r.codeIn(r.field(frame, "frame.code") &^ r.tag())
		if c == nil {
			break
		}
		f := tasks.SuspendedFrame{Function: c.function, File: c.file, Language: language, Object: coro, Awaits: tasks.Certain}
		f.Line, _ = r.placeIn(c, r.instruction(c.at, r.field(frame, "frame.instr"), frame))
		list = append(list, f)
		if state == generatorRuns {
			running = true
			break
		}
		coro = r.operand(frame)
	}
	return reversed(list), running
}

func reversed(list []tasks.SuspendedFrame) []tasks.SuspendedFrame {
	slices.Reverse(list)
	return list
}

// What a generator or a coroutine does.
const (
	generatorWaits = iota
	generatorRuns
	generatorDone
)

func (r *runtime) generatorState(at uint64) int {
	state, runs := int8(r.u8(at+r.at("generator.state"))), int8(0)
	if r.minor >= 15 {
		runs = 4
	}
	switch {
	case state == runs:
		return generatorRuns
	case state > runs:
		return generatorDone
	}
	return generatorWaits
}

// operands is where the operands of a call that is suspended end.
func (r *runtime) operands(frame uint64) uint64 {
	top := frame + r.at("frame.localsplus") + uint64(r.u32(frame+r.at("frame.stacktop")))*8
	if r.has("frame.stackpointer") {
		top = r.field(frame, "frame.stackpointer")
	}
	if r.minor >= 15 {
		top -= 8 // the place of an iterator's index is above
	}
	return top
}

// operand returns the object on top of the operands of a call that is suspended; 0 if there is none.
func (r *runtime) operand(frame uint64) uint64 {
	first, top := frame+r.at("frame.localsplus"), r.operands(frame)
	if top <= first || top > first+1<<19 {
		return 0
	}
	return r.word(top-8) &^ r.tag()
}
