package hotspot

import (
	"strings"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// noteFlying keeps the exception that is on its way from the code that threw it to the code that catches it, if a thread was
// stopped there. frames is its stack, youngest first; a stretch of it begins with the frame at first, whose code is b.
func (j *Java) noteFlying(id unwind.ThreadID, thread uint64, frames []*unwind.Frame, first int, b *blob) {
	obj := j.vm.flying(thread, frames[first], b)
	if obj == 0 && first == 0 && interrupted(frames[0]) {
		obj = j.vm.carried(frames[0], b)
	}
	if obj == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.thrown == nil {
		j.thrown = map[unwind.ThreadID]uint64{}
	}
	j.thrown[id] = obj
}

// flying is the exception that compiled code gave to the virtual machine, which looks for who catches it; 0 if there is none.
// What the thread has of an exception before belongs to another frame.
func (vm *VM) flying(thread uint64, f *unwind.Frame, b *blob) uint64 {
	obj, ok := vm.off("JavaThread._exception_oop")
	pc, ok2 := vm.off("JavaThread._exception_pc")
	if thread == 0 || b.kind != kindCompiled || !ok || !ok2 {
		return 0
	}
	if at := vm.Word(thread + pc); at < b.begin || at >= b.end || at != f.RA() && at != vm.deoptimised(b, f.SP(), f.RA()) {
		return 0
	}
	if e := vm.Word(thread + obj); vm.isThrowable(e) {
		return e
	}
	return 0
}

// carried is the exception in the register in which code of the virtual machine hands it on; 0 if a frame does not.
func (vm *VM) carried(f *unwind.Frame, b *blob) uint64 {
	switch b.kind {
	case kindInterpreter:
		m := vm.methodAt(vm.Word(at(f.FP(), interpretedMethod)))
		if m == nil {
			return 0
		}
		bci := vm.bytecode(f.FP(), m)
		if op, ok := vm.U8(m.code + uint64(bci)); bci < 0 || !ok || op != opAthrow {
			return 0
		}
	case kindStub:
		if !strings.Contains(b.name, "xception") && !strings.Contains(b.name, "ethrow") {
			return 0
		}
	default:
		return 0
	}
	if rax, _, ok := f.Reg(arch.RAX); ok && vm.isThrowable(rax) {
		return rax
	}
	return 0
}
