package hotspot

import (
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// Calls appends the method activations of a frame, innermost first; nothing if it is no Java method's.
func (vm *VM) Calls(f *unwind.Frame, buf []unwind.Call) []unwind.Call {
	all, _, exact := vm.running(f)
	for i, a := range all {
		buf = append(buf, unwind.Call{
			Name: a.method.display(), LinkageName: a.method.linkage(),
			File: a.method.file, Line: a.method.line(a.bci), Inlined: i < len(all)-1, Approximate: !exact,
		})
	}
	return buf
}

// running are the method activations of a frame, innermost first, and its code; none if it is no Java method's. exact is
// false if a place nearby is meant.
func (vm *VM) running(f *unwind.Frame) (all []activation, b *blob, exact bool) {
	b = vm.blobAt(f.LookupAddr())
	if b == nil {
		return nil, nil, false
	}
	switch b.kind {
	case kindInterpreter:
		if s, ok := vm.crossing(b, f); ok { // a method begins, or has ended
			if m := vm.methodAt(s.method); m != nil {
				return []activation{{method: m}}, b, false
			}
			return nil, b, false
		}
		m := vm.methodAt(vm.Word(at(f.FP(), interpretedMethod)))
		if m == nil {
			return nil, b, false
		}
		return []activation{{method: m, bci: vm.bytecode(f.FP(), m)}}, b, true
	case kindCompiled, kindNative:
		pc := f.RA()
		called := !interrupted(f)
		if !called && b.kind == kindCompiled && vm.inCallStub(pc) {
			return nil, b, false
		}
		if _, here, _ := b.describes(pc); called && here == 0 {
			pc = vm.deoptimised(b, f.SP(), pc)
		}
		all, exact = vm.activations(b, pc, called)
		return all, b, exact
	}
	return nil, b, false
}

// slotsOf finds where an activation of a frame has its variables; nil if nothing can be said of them.
func (vm *VM) slotsOf(f *unwind.Frame, b *blob, a activation, exact bool) func(n int, wide bool) place {
	j := frameOf(f)
	switch {
	case !vm.objects.ready || !exact:
	case b.kind == kindInterpreter:
		return vm.undone(a.method, a.bci, vm.interpretedSlots(j.fp))
	case b.kind == kindCompiled && a.bci >= 0:
		return vm.compiledSlots(b, a, j)
	}
	return nil
}

// variablesOf returns what reads the variables of an activation of a frame of a thread; nil if nothing can be said of them.
func (vm *VM) variablesOf(f *unwind.Frame, b *blob, a activation, exact bool, thread uint64) func(bool, tasks.Limits) (args, own []tasks.SuspendedVariable) {
	slot := vm.slotsOf(f, b, a, exact)
	if slot == nil {
		return nil
	}
	j := frameOf(f)
	held := func() []uint64 { return vm.interpretedHeld(j.fp) }
	if b.kind == kindCompiled {
		held = func() []uint64 { return vm.compiledHeld(b, a, j) }
	}
	return func(locals bool, limits tasks.Limits) (args, own []tasks.SuspendedVariable) {
		args, own = vm.variables(a.method, a.bci, slot, locals, limits)
		if locals {
			own = append(own, vm.locked(held(), thread)...)
		}
		return args, own
	}
}

// bytecode is the index of the bytecode that an interpreted frame runs; -1 if it is not known.
func (vm *VM) bytecode(fp uint64, m *method) int {
	for _, offset := range []int64{interpretedBCP, oldBCP} {
		if bcp := vm.Word(at(fp, offset)); bcp >= m.code && bcp < m.code+uint64(m.codeSize) {
			return int(bcp - m.code)
		}
	}
	return -1
}

// deoptimised is the address to which a frame returned before the virtual machine made it return to a handler that
// gives its method up; pc itself if there is none.
func (vm *VM) deoptimised(b *blob, sp, pc uint64) uint64 {
	off, ok := vm.off("nmethod._orig_pc_offset")
	if !ok {
		return pc
	}
	at, ok := vm.U32(b.at + off)
	if !ok || int32(at) <= 0 || uint64(at) >= b.frameSize {
		return pc
	}
	if orig := vm.Word(sp + uint64(at)); orig >= b.begin && orig < b.end {
		if _, here, _ := b.describes(orig); here != 0 {
			return orig
		}
	}
	return pc
}
