package hotspot

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// States of a java.lang.VirtualThread.
const (
	virtualNew         = 0
	virtualStarted     = 1
	virtualUnparked    = 9
	virtualYielded     = 11
	virtualBlocking    = 12
	virtualBlocked     = 13
	virtualUnblocked   = 14
	virtualWaiting     = 15
	virtualTimedWait   = 18
	virtualTerminated  = 99
	virtualSuspended   = 1 << 8
	virtualTimedPark   = 6
	virtualTimedPinned = 8
)

// words are the states as Java's source names them.
var words = [...]string{"new", "started", "running", "parking", "parked", "pinned", "parking, timed", "parked, timed", "pinned, timed", "unparked", "yielding", "yielded",
	"blocking", "blocked", "unblocked", "waiting", "wait", "waiting, timed", "wait, timed"}

// Tasks implements tasks.Runtime: the virtual threads of JDK 21 and later. Java's other threads are the system's.
func (j *Java) Tasks(ctx context.Context) iter.Seq2[*tasks.Task, error] {
	return func(yield func(*tasks.Task, error) bool) {
		vm := j.machine()
		if vm == nil || !vm.objects.ready {
			return
		}
		if _, ok := vm.off("JavaThread._vthread"); !ok {
			return
		}
		j.thread(0) // reads the threads
		for obj, err := range vm.virtualThreads() {
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				if !yield(nil, err) {
					return
				}
			default:
				if t := j.virtualTask(obj); t != nil && !yield(t, nil) {
					return
				}
			}
		}
	}
}

// virtualTask is the task of a virtual thread; nil if it has ended.
func (j *Java) virtualTask(obj uint64) *tasks.Task {
	vm := j.vm
	state := vm.intIn(obj, "state") &^ virtualSuspended
	if state == virtualTerminated || state == virtualNew {
		return nil
	}
	t := &tasks.Task{Key: tasks.Key{Kind: tasks.KindFiber, ID: obj}, Runtime: j.Name(), Name: vm.nameOf(obj), State: tasks.StateWaiting}
	if at, ok := vm.fieldOf(obj, "tid", "J"); ok {
		id := strconv.FormatUint(vm.Word(at), 10)
		if t.Labels = []tasks.Label{{Key: "tid", Value: id}}; t.Name == "" {
			t.Name = "#" + id
		}
	}
	if state >= 0 && state < len(words) {
		t.Status = words[state]
	}
	if carrier := vm.refIn(obj, "carrierThread"); carrier != 0 {
		if id, ok := j.javaThread(carrier); ok {
			t.Thread, t.State = id, tasks.StateRunning
		}
	}
	switch state {
	case virtualStarted, virtualUnparked, virtualYielded, virtualUnblocked:
		t.State = tasks.StateRunnable
	}
	if t.State != tasks.StateRunnable {
		t.Wait = j.virtualWait(obj, state)
		if t.Wait != nil {
			t.State = tasks.StateWaiting
		}
	}
	if t.Thread == 0 {
		if c, ok := vm.kept(obj, 0); ok {
			regs := arch.RegSet{}
			regs.Set(arch.RIP, c.pc)
			regs.Set(arch.RSP, c.sp)
			regs.Set(arch.RBP, vm.framePointer(c.sp-16))
			t.Start = &tasks.Start{Regs: regs, AfterCall: true}
			t.Stack = [2]uint64{c.begin, c.end}
		}
	}
	return t
}

// virtualWait is what a virtual thread waits for; nil if it does not wait.
func (j *Java) virtualWait(obj uint64, state int) *tasks.Wait {
	vm := j.vm
	w := &tasks.Wait{Timed: state >= virtualTimedPark && state <= virtualTimedPinned || state > virtualWaiting+1 && state <= virtualTimedWait}
	switch {
	case state == virtualBlocking, state == virtualBlocked:
		w.Kind, w.Reason = tasks.WaitLock, "monitor enter"
	case state >= virtualWaiting && state <= virtualTimedWait:
		w.Kind, w.Reason = tasks.WaitCondition, "Object.wait"
	case state >= 3 && state <= virtualTimedPinned:
		blocker := vm.refIn(obj, "parkBlocker")
		if w.Timed && blocker == 0 {
			w.Kind, w.Reason = tasks.WaitTimer, "Thread.sleep"
			break
		}
		j.parked(w, tasks.Key{Kind: tasks.KindFiber, ID: obj}, blocker)
	default:
		return nil
	}
	return w
}

// maxClasses is the most classes of a process.
const maxClasses = 1 << 20

// classNamed looks for a class that is loaded; 0 if there is none.
func (vm *VM) classNamed(name string) uint64 {
	next, ok := vm.off("ClassLoaderData._next")
	first, ok2 := vm.off("ClassLoaderData._klasses")
	link, ok3 := vm.off("Klass._next_link")
	if !ok || !ok2 || !ok3 {
		return 0
	}
	left := maxClasses
	for loader := vm.Word(vm.static("ClassLoaderDataGraph._head")); loader != 0 && left > 0; loader = vm.Word(loader + next) {
		left--
		for klass := vm.Word(loader + first); klass != 0 && left > 0; klass = vm.Word(klass + link) {
			if left--; vm.spend(1) != nil {
				return 0
			}
			if vm.className(klass) == name {
				return klass
			}
		}
	}
	return 0
}

// staticOf is the object in a static field of a class; 0 if there is none.
func (vm *VM) staticOf(klass uint64, name string) uint64 {
	off, ok := vm.off("Klass._java_mirror")
	if !ok || klass == 0 {
		return 0
	}
	mirror := vm.handle(vm.Word(klass + off))
	for _, f := range vm.fieldsOf(klass) {
		if f.static && f.name == name && f.signature != "" && (f.signature[0] == 'L' || f.signature[0] == '[') {
			return vm.oop(mirror + uint64(f.offset))
		}
	}
	return 0
}

// maxVirtual is the most virtual threads that are listed.
const maxVirtual = 1 << 20

// Java's lists of threads.
const (
	containers = "jdk/internal/vm/ThreadContainers"
	root       = containers + "$RootContainer$TrackingRootContainer"
)

var errManyThreads = errors.New("the list of virtual threads has no end")

// virtualThreads yields the virtual threads: those that the program started itself, and those of executors, which are
// registered by weak references.
func (vm *VM) virtualThreads() iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		seen := map[uint64]bool{}
		set := func(set uint64, do func(uint64) bool) bool {
			m := set
			if inner := vm.refIn(set, "map"); inner != 0 {
				m = inner
			}
			return vm.eachKey(vm.refIn(m, "table"), do)
		}
		thread := func(t uint64) bool {
			if seen[t] || !vm.isA(t, "java/lang/VirtualThread") {
				return true
			}
			if len(seen) == maxVirtual {
				yield(0, errManyThreads)
				return false
			}
			seen[t] = true
			return yield(t, nil)
		}
		if !set(vm.staticOf(vm.classNamed(root), "VTHREADS"), thread) {
			return
		}
		set(vm.staticOf(vm.classNamed(containers), "CONTAINER_REGISTRY"), func(weak uint64) bool {
			return set(vm.refIn(vm.refIn(weak, "referent"), "threads"), thread)
		})
	}
}

// eachKey calls do with the keys of a table of a ConcurrentHashMap, until it returns false.
func (vm *VM) eachKey(table uint64, do func(uint64) bool) bool {
	a, ok := vm.arrayAt(table)
	if !ok || a.element != 'L' {
		return true
	}
	for i := range min(a.length, 1<<22) {
		node := vm.oop(a.data + a.size*uint64(i))
		if node == 0 {
			continue
		}
		if first := vm.refIn(node, "first"); first != 0 {
			node = first
		}
		for range maxChain {
			if node == 0 {
				break
			}
			if vm.spend(1) != nil {
				return false
			}
			if key := vm.refIn(node, "key"); key != 0 && !do(key) {
				return false
			}
			node = vm.refIn(node, "next")
		}
	}
	return true
}
