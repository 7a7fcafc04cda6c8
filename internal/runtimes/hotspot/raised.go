package hotspot

import (
	"strings"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// maxCauses is the most exceptions of a chain of causes.
const maxCauses = 16

// Raised implements tasks.Raiser: the exception that waits in a thread for native code to return, and its causes.
func (j *Java) Raised(id unwind.ThreadID) []tasks.Exception {
	t, ok := j.thread(id)
	if !ok {
		return nil
	}
	return j.vm.pending(t.at)
}

// pending is the exception that waits in a Java thread, then those that caused it.
func (vm *VM) pending(thread uint64) (out []tasks.Exception) {
	off, ok := vm.off("ThreadShadow._pending_exception", "Thread._pending_exception")
	if !ok || !vm.objects.ready {
		return nil
	}
	seen := map[uint64]bool{}
	for obj := vm.Word(thread + off); len(out) < maxCauses && !seen[obj] && vm.isThrowable(obj); {
		seen[obj] = true
		e := tasks.Exception{Language: "java", Type: strings.ReplaceAll(vm.className(vm.klassOf(obj)), "/", ".")}
		if at, ok := vm.fieldOf(obj, "detailMessage", "Ljava/lang/String;"); ok {
			e.Message, _ = vm.stringAt(vm.oop(at))
		}
		if len(out) > 0 {
			e.Relation = "cause"
		}
		out = append(out, e)
		at, ok := vm.fieldOf(obj, "cause", "Ljava/lang/Throwable;")
		if !ok {
			break
		}
		obj = vm.oop(at) // the exception itself, if nobody said of a cause
	}
	return out
}

// isThrowable reports whether an object's class, or one above it, is Throwable.
func (vm *VM) isThrowable(obj uint64) bool { return vm.isA(obj, "java/lang/Throwable") }
