package hotspot

import "github.com/corewalk/corewalk/unwind"

// A handler is an activation that may be handling an exception.
type handler struct {
	b *blob
	a activation
	f javaFrame
}

// maxHandlers bounds the rows of an exception table, and the activations of a thread that are kept to be asked.
const maxHandlers = 1 << 10

// noteHandler keeps an activation that may be handling an exception: one whose method has handlers, and code of them before
// what runs.
func (j *Java) noteHandler(id unwind.ThreadID, a activation, f *unwind.Frame, b *blob, exact bool) {
	if !exact || a.bci < 0 {
		return
	}
	for _, h := range a.method.handlers {
		if h.pc < a.bci || h.pc < h.start { // a handler before its code is in a loop
			j.mu.Lock()
			defer j.mu.Unlock()
			if j.handlers == nil {
				j.handlers = map[unwind.ThreadID][]handler{}
			}
			if len(j.handlers[id]) < maxHandlers {
				j.handlers[id] = append(j.handlers[id], handler{b, a, frameOf(f)})
			}
			return
		}
	}
}

// handled is the exception that a thread handles: that of the youngest activation that does so; 0 if there is none.
func (j *Java) handled(id unwind.ThreadID) uint64 {
	j.mu.Lock()
	list := j.handlers[id]
	j.mu.Unlock()
	for _, h := range list {
		if obj := j.vm.handledBy(h); obj != 0 {
			return obj
		}
	}
	return 0
}

// handledBy is the exception that an activation handles; 0 if it handles none, or if it is not known.
func (vm *VM) handledBy(h handler) uint64 {
	m := h.a.method
	if vm.spend(m.codeSize/64+1) != nil {
		return 0
	}
	code := bytecodes{code: vm.Bytes(m.code, m.codeSize), handlers: m.handlers, steps: maxBytecodeSteps}
	slot, ok := code.handling(h.a.bci)
	if vm.spend(code.taken()) != nil || !ok {
		return 0
	}
	find := vm.interpretedSlots(h.f.fp)
	if h.b.kind == kindCompiled {
		find = vm.compiledSlots(h.b, h.a, h.f)
	}
	p := find(slot, false)
	if p.err != nil {
		return 0
	}
	if obj := vm.reference(p); vm.isThrowable(obj) {
		return obj
	}
	return 0
}
