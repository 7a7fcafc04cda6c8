package hotspot

import "strconv"

// A localEntry is a row of a method's table of local variables: where in its bytecode a variable is in which slot.
type localEntry struct {
	start, length   int
	name, signature string
	slot            int
}

const localBytes = 64 // of a localEntry, about

// Flags of a ConstMethod: what lies between its lines and its end. Each is a list of 16-bit numbers with its length
// behind it, the first ones nearest to the end.
const (
	hasCheckedExceptions = 1 << 1
	hasLocals            = 1 << 2
	hasExceptionTable    = 1 << 3
	hasGenericSignature  = 1 << 4
	hasParameters        = 1 << 5
	hasAnnotations       = 1<<7 | 1<<8 | 1<<9 | 1<<10 // a pointer for each
)

// Numbers of an entry of each list.
const (
	parameterNumbers = 2
	exceptionNumbers = 1
	handlerNumbers   = 4
	localNumbers     = 6
)

// maxLocals bounds a method's variables.
const maxLocals = 1 << 10

// A numberList is where one of these lists is.
type numberList struct {
	first uint64
	n     int
}

// methodLists finds the lists of a method that has their flags: its exception table and its variables.
func (vm *VM) methodLists(cm, flags uint64) (handlers, locals numberList) {
	size, ok := vm.off("ConstMethod._constMethod_size")
	if !ok || flags&(hasExceptionTable|hasLocals) == 0 {
		return handlers, locals
	}
	words, ok := vm.U32(cm + size)
	if !ok || words > 1<<20 {
		return handlers, locals
	}
	at := cm + 8*uint64(words)
	for bit := uint64(hasAnnotations) &^ (hasAnnotations - 1); bit <= hasAnnotations; bit <<= 1 {
		if flags&hasAnnotations&bit != 0 {
			at -= 8
		}
	}
	if flags&hasGenericSignature != 0 {
		at -= 2
	}
	for _, l := range []struct {
		flag    uint64
		numbers int
		to      *numberList
	}{{hasParameters, parameterNumbers, nil}, {hasCheckedExceptions, exceptionNumbers, nil}, {hasExceptionTable, handlerNumbers, &handlers}, {hasLocals, localNumbers, &locals}} {
		if flags&l.flag == 0 {
			continue
		}
		n, _ := vm.U16(at - 2)
		if at -= 2 + 2*uint64(n)*uint64(l.numbers); at < cm+vm.layout.constMethodSize {
			return numberList{}, numberList{}
		}
		if l.to != nil {
			*l.to = numberList{at, int(n)}
		}
	}
	return handlers, locals
}

// localTable reads the variables of a method; none if it was compiled without them.
func (vm *VM) localTable(list numberList, text func(index uint16) string) (out []localEntry) {
	if list.n > maxLocals {
		return nil
	}
	for data := vm.Bytes(list.first, list.n*localNumbers*2); len(data) >= localNumbers*2; data = data[localNumbers*2:] {
		u2 := func(i int) int { return int(data[2*i]) | int(data[2*i+1])<<8 }
		e := localEntry{u2(0), u2(1), text(uint16(u2(2))), text(uint16(u2(3))), u2(5)}
		if e.name == "" || e.signature == "" {
			return nil // not the table
		}
		if !vm.mayKeep(localBytes + len(e.name) + len(e.signature)) {
			return nil
		}
		out = append(out, e)
	}
	return out
}

// exceptionTable reads the handlers of a method.
func (vm *VM) exceptionTable(list numberList, codeSize int) (out []handlerEntry) {
	if list.n > maxHandlers {
		return nil
	}
	for data := vm.Bytes(list.first, list.n*handlerNumbers*2); len(data) >= handlerNumbers*2; data = data[handlerNumbers*2:] {
		u2 := func(i int) int { return int(data[2*i]) | int(data[2*i+1])<<8 }
		h := handlerEntry{u2(0), u2(1), u2(2)}
		if h.start >= h.end || h.end > codeSize || h.pc >= codeSize {
			return nil // not the table
		}
		out = append(out, h)
	}
	return out
}

// A local is a variable of a method.
type local struct {
	name, signature string
	slot            int
	argument        bool
}

// variablesAt are the variables that are in scope at a bytecode, arguments first. Without a table they are the arguments,
// named by their places.
func (m *method) variablesAt(bci int) (out []local) {
	if len(m.locals) == 0 {
		return m.parameterSlots()
	}
	bci = max(bci, 0)
	for _, e := range m.locals {
		if bci < e.start || bci >= e.start+e.length {
			continue
		}
		out = append(out, local{e.name, e.signature, e.slot, e.start == 0 && e.slot < m.parameters})
	}
	return out
}

// parameterSlots are the parameters of a method by its signature.
func (m *method) parameterSlots() (out []local) {
	types := signatureTypes(m.signature)
	slot := 0
	for _, t := range types {
		slot += slots(t)
	}
	if m.parameters == slot+1 {
		out = append(out, local{"this", "L" + m.internal + ";", 0, true})
	} else if m.parameters != slot {
		return nil
	}
	slot = m.parameters - slot
	for i, t := range types {
		out = append(out, local{"arg" + strconv.Itoa(i), t, slot, true})
		slot += slots(t)
	}
	return out
}

// slots is how many slots a variable of a type has.
func slots(signature string) int {
	if signature == "J" || signature == "D" {
		return 2
	}
	return 1
}
