package hotspot

import (
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxCauses is the most exceptions of a chain of causes.
const maxCauses = 16

// Raised implements tasks.Raiser: the exception that waits in a thread for native code to return, or is on its way to who
// catches it, or that nobody caught; else the one that a catch or a finally handles. Then those that it came of.
func (j *Java) Raised(id unwind.ThreadID) []tasks.Exception {
	if t, ok := j.thread(id); ok {
		if out := j.vm.pending(t.at); len(out) > 0 {
			return out
		}
	}
	if j.vm == nil {
		return nil
	}
	j.mu.Lock()
	thrown, uncaught := j.thrown[id], j.uncaught[id]
	j.mu.Unlock()
	for _, obj := range []uint64{thrown, uncaught} {
		if out := j.vm.exceptions(obj); len(out) > 0 {
			return out
		}
	}
	out := j.vm.exceptions(j.handled(id))
	if len(out) > 0 {
		out[0].Handled = true
	}
	return out
}

// uncaughtBy is what the virtual machine calls when a thread did not catch an exception: its first argument.
const uncaughtBy = "java/lang/Thread.dispatchUncaughtException(Ljava/lang/Throwable;)V"

// noteUncaught keeps the exception that a thread did not catch, if an activation on its stack deals with one.
func (j *Java) noteUncaught(id unwind.ThreadID, a activation, f *unwind.Frame, b *blob) {
	if a.method.internal+"."+a.method.name+a.method.signature != uncaughtBy || b.kind != kindInterpreter {
		return
	}
	if p := j.vm.interpretedSlots(f.FP())(1, false); p.err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.uncaught == nil {
			j.uncaught = map[unwind.ThreadID]uint64{}
		}
		j.uncaught[id] = j.vm.Word(p.at)
	}
}

// pending is the exception that waits in a Java thread, then those that caused it.
func (vm *VM) pending(thread uint64) []tasks.Exception {
	off, ok := vm.off("ThreadShadow._pending_exception", "Thread._pending_exception")
	if !ok {
		return nil
	}
	return vm.exceptions(vm.Word(thread + off))
}

// exceptions is an exception, then those that caused it.
func (vm *VM) exceptions(obj uint64) (out []tasks.Exception) {
	if !vm.objects.ready {
		return nil
	}
	for seen := map[uint64]bool{}; len(out) < maxCauses && !seen[obj] && vm.isThrowable(obj); {
		seen[obj] = true
		e := tasks.Exception{Language: "java", Type: dotted(vm.className(vm.klassOf(obj)))}
		e.Message, _ = vm.stringAt(vm.ref(obj, "detailMessage", "Ljava/lang/String;"))
		if !vm.thrownAt(obj, &e) {
			vm.tracedAt(obj, &e)
		}
		if len(out) > 0 {
			e.Relation = "cause"
		}
		out = append(out, e)
		obj = vm.ref(obj, "cause", "Ljava/lang/Throwable;") // the exception itself, if nobody said of a cause
	}
	return out
}

// Elements of the array that an exception has of the stack on which it was made: the numbers of methods in their
// classes, bytecode indices in the upper half of a number, and classes.
const (
	traceMethods = iota
	traceIndices
	traceClasses
)

// thrownAt says where an exception was made, as the virtual machine noted it.
func (vm *VM) thrownAt(obj uint64, e *tasks.Exception) bool {
	a, ok := vm.arrayAt(vm.refIn(obj, "backtrace"))
	if !ok || a.element != 'L' || a.length <= traceClasses {
		return false
	}
	part := func(i uint64) array { p, _ := vm.arrayAt(vm.oop(a.data + i*a.size)); return p }
	methods, indices, classes := part(traceMethods), part(traceIndices), part(traceClasses)
	if methods.element != 'S' || indices.element != 'I' || classes.element != 'L' || methods.length == 0 || indices.length == 0 || classes.length == 0 {
		return false
	}
	number, _ := vm.U16(methods.data)
	index, _ := vm.U32(indices.data)
	m := vm.methodNumbered(vm.classOfMirror(vm.oop(classes.data)), number)
	if m == nil {
		return false
	}
	e.Function, e.File, e.Line = m.display(), m.file, m.line(int(index>>16))
	return true
}

// maxMethods is the most methods of a class.
const maxMethods = 1 << 16

// methodNumbered is the method of a class that has a number there; nil if it has none.
func (vm *VM) methodNumbered(klass uint64, number uint16) *method {
	off, ok := vm.off("InstanceKlass._methods")
	id, ok2 := vm.off("ConstMethod._method_idnum")
	if !ok || !ok2 || klass == 0 {
		return nil
	}
	list := vm.Word(klass + off)
	n, ok := vm.U32(list)
	if !ok || n > maxMethods {
		return nil
	}
	for i := range uint64(n) {
		at := vm.Word(list + 8 + 8*i)
		if vm.spend(1) != nil {
			return nil
		}
		if got, ok := vm.U16(vm.Word(at+vm.layout.constMethod) + id); ok && got == number {
			return vm.methodAt(at)
		}
	}
	return nil
}

// tracedAt says where an exception was made by the list that Java made of its stack.
func (vm *VM) tracedAt(obj uint64, e *tasks.Exception) {
	a, ok := vm.arrayAt(vm.refIn(obj, "stackTrace"))
	if !ok || a.element != 'L' || a.length == 0 {
		return
	}
	first := vm.oop(a.data)
	class, ok := vm.stringAt(vm.refIn(first, "declaringClass"))
	name, ok2 := vm.stringAt(vm.refIn(first, "methodName"))
	if ok && ok2 {
		e.Function = class + "." + name
		e.File, _ = vm.stringAt(vm.refIn(first, "fileName"))
		e.Line = max(vm.intIn(first, "lineNumber"), 0)
	}
}

// isThrowable reports whether an object's class, or one above it, is Throwable.
func (vm *VM) isThrowable(obj uint64) bool { return vm.isA(obj, "java/lang/Throwable") }
