package hotspot

import "github.com/corewalk/corewalk/tasks"

// lockedName is the name under which a frame shows an object whose monitor it has.
const lockedName = "(locked)"

// Where an interpreted frame of x86-64 has its monitors, in bytes from its frame pointer: they end there, and what is
// stored there says where they begin.
const (
	interpretedMonitors = -72
	oldMonitors         = -64 // before JDK 9
)

// The bytes of a monitor of a frame, and where in them its object is.
const (
	lockSize   = 16
	lockObject = 8
)

// maxHeld is the most monitors of a frame.
const maxHeld = 64

// interpretedHeld are the objects whose monitors an interpreted frame has, or wants.
func (vm *VM) interpretedHeld(fp uint64) (out []uint64) {
	offset := int64(interpretedMonitors)
	if vm.isOld() {
		offset = oldMonitors
	}
	end := at(fp, offset)
	first := vm.Word(end)
	if n := int64(first); n < 0 && n > -maxFrame/8 { // words from the frame pointer
		first = fp + 8*first
	}
	if first > end || end-first > maxHeld*lockSize || (end-first)%lockSize != 0 {
		return nil
	}
	for ; first < end; first += lockSize {
		if obj := vm.Word(first + lockObject); obj != 0 {
			out = append(out, obj)
		}
	}
	return out
}

// compiledHeld are the objects whose monitors an activation in compiled code has, or wants.
func (vm *VM) compiledHeld(b *blob, a activation, f javaFrame) (out []uint64) {
	if a.monitors == 0 || uint64(a.monitors) >= b.scopesEnd-b.scopes {
		return nil
	}
	r := vm.scopeReader(b, a.monitors)
	n, ok := r.number()
	if !ok || n > maxHeld {
		return nil
	}
	for range n {
		if _, ok := r.number(); !ok { // where the frame keeps the lock
			return out
		}
		v, known := r.value()
		if !known {
			return out
		}
		eliminated, ok := r.byte()
		if !ok {
			return out
		}
		p := vm.placeOf(b, v, f)
		if eliminated != 0 || p.err != nil {
			continue
		}
		if obj := vm.reference(p); obj != 0 {
			out = append(out, obj)
		}
	}
	return out
}

// locked are the monitors of a frame as variables. One that the thread waits for, or gave up for a while, is not held.
func (vm *VM) locked(held []uint64, thread uint64) (out []tasks.SuspendedVariable) {
	pending, waiting := vm.monitorObject(vm.monitorIn(thread, "_current_pending_monitor")), vm.monitorObject(vm.monitorIn(thread, "_current_waiting_monitor"))
	for _, obj := range held {
		if obj != pending && obj != waiting && vm.isObject(obj) {
			class := vm.className(vm.klassOf(obj))
			if class[0] != '[' {
				class = "L" + class + ";"
			}
			out = append(out, vm.variable(local{name: lockedName, signature: class}, place{isConst: true, constant: obj}, tasks.Limits{}))
		}
	}
	return out
}
