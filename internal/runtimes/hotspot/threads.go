package hotspot

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
)

// A Thread is a Java thread.
type Thread struct {
	LWP   uint64 // the kernel's id, as the process knows it
	Name  string // "" if it is not known
	State string // what the virtual machine says of it: "in Java", "in native code", "blocked"; "" if unknown
	at    uint64
	id    unwind.ThreadID // of the process
}

// maxThreads is the most Java threads that are listed, and threadCost what reading one and its name costs: a list may have one thread many times.
const (
	maxThreads = 1 << 16
	threadCost = 64
)

// Threads lists the Java threads.
func (vm *VM) Threads() ([]Thread, error) {
	osthread, ok := vm.off("JavaThread._osthread", "Thread._osthread")
	id, ok2 := vm.off("OSThread._thread_id")
	if !ok || !ok2 {
		return nil, fmt.Errorf("%w: no threads of the system", ErrNoTables)
	}
	list, err := vm.threadList()
	state, hasState := vm.off("JavaThread._thread_state")
	var out []Thread
	for _, at := range list {
		if spent := vm.spend(threadCost); spent != nil {
			return out, fmt.Errorf("not all Java threads are listed: %w", spent)
		}
		lwp, ok := vm.U32(vm.Word(at+osthread) + id)
		if !ok || lwp == 0 {
			continue
		}
		t := Thread{at: at, LWP: uint64(lwp), Name: vm.threadName(at)}
		if hasState {
			s, _ := vm.U32(at + state)
			t.State = states[min(s, uint32(len(states)-1))]
		}
		out = append(out, t)
	}
	return out, err
}

// threadList are the addresses of the threads: an array, or until JDK 9 a list.
func (vm *VM) threadList() (out []uint64, err error) {
	if at := vm.static("ThreadsSMRSupport._java_thread_list"); at != 0 {
		length, ok := vm.off("ThreadsList._length")
		threads, ok2 := vm.off("ThreadsList._threads")
		list := vm.Word(at)
		n, ok3 := vm.U32(list + length)
		if !ok || !ok2 || !ok3 || n > maxThreads {
			return nil, fmt.Errorf("the list of Java threads at %#x is damaged", list)
		}
		first := vm.Word(list + threads)
		for i := range uint64(n) {
			if t := vm.Word(first + 8*i); t != 0 {
				out = append(out, t)
			}
		}
		return out, nil
	}
	next, ok := vm.off("JavaThread._next")
	head := vm.static("Threads._thread_list")
	if !ok || head == 0 {
		return nil, fmt.Errorf("%w: no list of threads", ErrNoTables)
	}
	for t := vm.Word(head); t != 0; t = vm.Word(t + next) {
		if len(out) == maxThreads || vm.spend(1) != nil {
			return out, fmt.Errorf("the list of Java threads at %#x has no end", vm.Word(head))
		}
		out = append(out, t)
	}
	return out, nil
}

var states = [...]string{2: "new", 3: "new", 4: "in native code", 5: "in native code", 6: "in the virtual machine", 7: "in the virtual machine", 8: "in Java", 9: "in Java",
	10: "blocked", 11: "blocked", 12: ""}

// threadName is the name of a Java thread.
func (vm *VM) threadName(at uint64) string { return vm.nameOf(vm.threadObject(at)) }

// threadObject is the java.lang.Thread of a thread; 0 if it is not known.
func (vm *VM) threadObject(at uint64) uint64 {
	off, ok := vm.off("JavaThread._threadObj")
	if !ok || !vm.objects.ready {
		return 0
	}
	obj := vm.Word(at + off)
	if typ, _ := vm.Text(vm.fields["JavaThread._threadObj"].typ); typ == "OopHandle" {
		obj = vm.handle(obj)
	}
	return obj
}

// nameOf is the name of a java.lang.Thread, an array of characters until JDK 8.
func (vm *VM) nameOf(obj uint64) string {
	if s, ok := vm.stringAt(vm.ref(obj, "name", "Ljava/lang/String;")); ok {
		return s
	}
	a, ok := vm.arrayAt(vm.ref(obj, "name", "[C"))
	if !ok || a.element != 'C' || a.length > maxString {
		return ""
	}
	return utf16Text(vm.Bytes(a.data, 2*a.length))
}
