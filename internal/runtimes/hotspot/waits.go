package hotspot

import (
	"context"
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Bits of the status that a java.lang.Thread keeps: those of the tool interface of Java (JVM TI).
const (
	statusTimed    = 0x20
	statusSleeping = 0x40
	statusInWait   = 0x100
	statusParked   = 0x200
	statusBlocked  = 0x400
)

// Resolve implements tasks.Resolver: what Java's threads wait for, and who has it. What the native code below them waits
// for is how the virtual machine waits.
func (j *Java) Resolve(_ context.Context, all []*tasks.Task, _ func(context.Context, unwind.ThreadID) []*unwind.Frame) {
	if vm := j.machine(); vm == nil || !vm.objects.ready {
		return
	}
	for _, t := range all {
		if t.Kind != tasks.KindThread || t.State == tasks.StateRunning && t.Wait == nil {
			continue
		}
		if th, ok := j.thread(unwind.ThreadID(t.ID)); ok {
			if w := j.waitOf(th); w != nil {
				t.Wait = w
			}
		}
	}
}

// waitOf is what a Java thread waits for; nil if it does not wait in Java, or if that is not known.
func (j *Java) waitOf(t Thread) *tasks.Wait {
	vm := j.vm
	thread := vm.threadObject(t.at)
	status := vm.statusOf(thread)
	w := &tasks.Wait{Timed: status&statusTimed != 0}
	switch {
	case vm.spend(16) != nil:
		return nil
	case status&statusBlocked != 0:
		m := vm.monitorIn(t.at, "_current_pending_monitor")
		if m == 0 {
			return nil
		}
		w.Kind, w.Reason, w.Proved, w.Timed = tasks.WaitLock, "monitor enter", true, false
		obj := vm.monitorObject(m)
		w.Object = vm.waitObject(obj)
		if owner, ok := j.monitorOwner(m, obj); ok && owner != t.id {
			w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(owner)}, Certainty: tasks.Certain}}
		}
	case status&statusInWait != 0:
		w.Kind, w.Reason = tasks.WaitCondition, "Object.wait"
		obj := vm.monitorObject(vm.monitorIn(t.at, "_current_waiting_monitor"))
		w.Object = vm.waitObject(obj)
		if vm.isA(obj, "java/lang/Thread") { // its end notifies those who wait, so that join is made of it
			w.Kind = tasks.WaitJoin
			w.Object.Detail = vm.nameOf(obj)
			if owner, ok := j.javaThread(obj); ok && owner != t.id {
				w.Holders = []tasks.Holder{{Key: tasks.Key{Kind: tasks.KindThread, ID: uint64(owner)}, Certainty: tasks.Possible}}
			}
		}
	case status&statusParked != 0:
		j.parked(w, tasks.Key{Kind: tasks.KindThread, ID: uint64(t.id)}, vm.refIn(thread, "parkBlocker"))
	case status&statusSleeping != 0:
		w.Kind, w.Reason = tasks.WaitTimer, "Thread.sleep"
	default:
		return nil
	}
	return w
}

// parked fills in the wait of a thread that java.util.concurrent parked for an object.
func (j *Java) parked(w *tasks.Wait, own tasks.Key, blocker uint64) {
	vm := j.vm
	w.Kind, w.Reason = tasks.WaitSemaphore, "LockSupport.park"
	if blocker == 0 || !vm.isObject(blocker) {
		return
	}
	w.Object = vm.waitObject(blocker)
	class := vm.className(vm.klassOf(blocker))
	switch name := strings.TrimPrefix(class, "java/util/concurrent/"); {
	case strings.HasPrefix(name, "CountDownLatch"), strings.HasPrefix(name, "Phaser"), strings.HasPrefix(name, "CyclicBarrier"):
		w.Kind = tasks.WaitBarrier
	case strings.HasPrefix(name, "Semaphore"):
	case strings.HasPrefix(name, "FutureTask"), strings.HasPrefix(name, "CompletableFuture"), strings.HasPrefix(name, "ForkJoinTask"):
		w.Kind = tasks.WaitFuture
	case vm.isA(blocker, "java/util/concurrent/locks/AbstractOwnableSynchronizer"):
		w.Kind = tasks.WaitLock
		owner := vm.refIn(blocker, "exclusiveOwnerThread")
		if owner == 0 { // readers have it, or it was about to be taken
			return
		}
		if key, ok := j.keyOf(owner); ok && key != own {
			w.Proved = true
			w.Holders = []tasks.Holder{{Key: key, Certainty: tasks.Certain}}
		} else if !ok {
			w.Object.Detail = "held by " + line((&treeBuilder{VM: vm, limits: textLimits}).object(owner))
		}
	default:
		w.Kind = tasks.WaitCondition
	}
}

// waitObject describes an object that is waited for.
func (vm *VM) waitObject(obj uint64) tasks.Object {
	if !vm.isObject(obj) {
		return tasks.Object{}
	}
	o := tasks.Object{Address: obj, Type: dotted(vm.className(vm.klassOf(obj))), Language: "java"}
	if o.Type == "java.lang.Class" {
		o.Name = vm.mirrored(obj) + ".class"
	}
	return o
}

// statusOf is the status of a java.lang.Thread; from JDK 19 on an object of its own has it.
func (vm *VM) statusOf(thread uint64) uint32 {
	if holder := vm.refIn(thread, "holder"); holder != 0 {
		thread = holder
	}
	at, ok := vm.fieldOf(thread, "threadStatus", "I")
	if !ok {
		return 0
	}
	v, _ := vm.U32(at)
	return v
}

// monitorIn is the monitor to which a field of a thread leads; 0 if there is none.
func (vm *VM) monitorIn(thread uint64, field string) uint64 {
	off, ok := vm.off("JavaThread."+field, "Thread."+field)
	if !ok {
		return 0
	}
	return vm.Word(thread + off)
}

// monitorObject is the object whose monitor it is; from JDK 16 on the monitor has a handle of it.
func (vm *VM) monitorObject(monitor uint64) uint64 {
	off, ok := vm.off("ObjectMonitor._object")
	if !ok || monitor == 0 {
		return 0
	}
	obj := vm.Word(monitor + off)
	if vm.version >= 16 && !vm.isOld() {
		obj = vm.handle(obj)
	}
	return obj
}

// Owners of a monitor that are no thread.
const (
	ownerNone      = 0
	ownerAnonymous = 1 // the thread that has the object in its list of locks
)

// monitorOwner is the thread that has a monitor: its structure, a place on its stack, or its number.
func (j *Java) monitorOwner(monitor, obj uint64) (unwind.ThreadID, bool) {
	vm := j.vm
	off, ok := vm.off("ObjectMonitor._owner")
	owner := vm.Word(monitor + off)
	if !ok || owner == ownerNone {
		return 0, false
	}
	typ, _ := vm.Text(vm.fields["ObjectMonitor._owner"].typ)
	numbered := typ == "int64_t"
	number, hasNumber := vm.off("JavaThread._monitor_owner_id")
	base, ok2 := vm.off("JavaThread._stack_base", "Thread._stack_base")
	size, ok3 := vm.off("JavaThread._stack_size", "Thread._stack_size")
	anonymous := owner == ownerAnonymous
	if locker, ok := vm.off("ObjectMonitor._stack_locker"); ok && anonymous && vm.Word(monitor+locker) != 0 {
		owner, numbered, anonymous = vm.Word(monitor+locker), false, false // a place on its stack, in JDK 22 and later
	}
	for id, t := range j.threads {
		switch {
		case anonymous:
			if vm.inLockStack(t.at, obj) {
				return id, true
			}
		case numbered:
			if hasNumber && vm.Word(t.at+number) == owner {
				return id, true
			}
		case owner == t.at:
			return id, true
		case ok2 && ok3:
			if high := vm.Word(t.at + base); owner < high && owner >= high-vm.Word(t.at+size) {
				return id, true
			}
		}
	}
	return 0, false
}

// maxLockStack is the most objects of a thread's list of locks.
const maxLockStack = 64

// inLockStack reports whether a thread has the monitor of an object, by its list of the objects that it locked.
func (vm *VM) inLockStack(thread, obj uint64) bool {
	list, ok := vm.off("JavaThread._lock_stack")
	base, ok2 := vm.off("LockStack._base[0]")
	top, ok3 := vm.off("LockStack._top")
	if !ok || !ok2 || !ok3 {
		return false
	}
	end, ok := vm.U32(thread + list + top) // from the thread
	if !ok {
		return false
	}
	at := thread + list + base
	for range maxLockStack {
		if at >= thread+uint64(end) {
			return false
		}
		if vm.Word(at) == obj {
			return true
		}
		at += 8
	}
	return false
}

// keyOf is the task that a java.lang.Thread stands for; false if it has ended.
func (j *Java) keyOf(obj uint64) (tasks.Key, bool) {
	if id, ok := j.javaThread(obj); ok {
		return tasks.Key{Kind: tasks.KindThread, ID: uint64(id)}, true
	}
	if j.vm.isA(obj, "java/lang/VirtualThread") && j.vm.intIn(obj, "state")&^virtualSuspended != virtualTerminated {
		return tasks.Key{Kind: tasks.KindFiber, ID: obj}, true
	}
	return tasks.Key{}, false
}

// javaThread is the thread that a java.lang.Thread stands for; false if it has ended, or is a virtual one.
func (j *Java) javaThread(obj uint64) (unwind.ThreadID, bool) {
	at, ok := j.vm.fieldOf(obj, "eetop", "J")
	if !ok {
		return 0, false
	}
	native := j.vm.Word(at)
	if j.vm.spend(len(j.threads)/4) != nil {
		return 0, false
	}
	for id, t := range j.threads {
		if native != 0 && t.at == native {
			return id, true
		}
	}
	return 0, false
}
