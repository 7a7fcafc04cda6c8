package hotspot

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

var littleEndian = binary.LittleEndian

// A javaFrame is what the variables of a frame are read from.
type javaFrame struct {
	sp, fp uint64
	rbp    uint64 // in the frame; calls keep no other register
	hasRBP bool
}

func frameOf(f *unwind.Frame) javaFrame {
	j := javaFrame{sp: f.SP(), fp: f.FP()}
	j.rbp, _, j.hasRBP = f.Reg(arch.RBP)
	return j
}

// A place is where a frame has the value of a slot: in memory, as a constant, or nowhere.
type place struct {
	at       uint64 // of memory; 0 for a constant
	constant uint64
	narrow   bool // a reference of 32 bits
	isConst  bool
	isInt    bool        // a constant of 32 bits
	unsure   bool        // C2 says 0 and null of what it does not keep, too
	undone   *undoneSlot // so may the interpreter, of what compiled code did not keep
	removed  *removal
	err      error
}

// variables reads the variables of an activation; slot finds where the frame has one.
func (vm *VM) variables(m *method, bci int, slot func(n int, wide bool) place, locals bool, asked tasks.Limits) (args, own []tasks.SuspendedVariable) {
	args, own = []tasks.SuspendedVariable{}, []tasks.SuspendedVariable{}
	for _, l := range m.variablesAt(bci) {
		if vm.spend(1) != nil {
			break
		}
		if !l.argument && !locals {
			continue
		}
		v := vm.variable(l, slot(l.slot, slots(l.signature) == 2), asked)
		if l.argument {
			args = append(args, v)
		} else {
			own = append(own, v)
		}
	}
	return args, own
}

// variable reads the value of a variable.
func (vm *VM) variable(l local, p place, asked tasks.Limits) tasks.SuspendedVariable {
	v := tasks.SuspendedVariable{Name: l.name, Type: javaType(l.signature), Err: p.err}
	inText, inTree := textLimits.limited(asked), treeLimits.limited(asked)
	if p.err != nil {
		return v
	}
	reference := l.signature[0] == 'L' || l.signature[0] == '['
	if p.removed != nil {
		if !reference {
			v.Err = errDropped
			return v
		}
		grow := func(of limits) report.Data { return (&treeBuilder{VM: vm, limits: of}).removed(*p.removed) }
		v.Value = lineUpTo(grow(inText), inText.width())
		v.Tree = func() report.Data { return grow(inTree) }
		return v
	}
	switch {
	case p.isInt && strings.IndexByte("L[JD", l.signature[0]) >= 0:
		v.Err = errDropped
		return v
	case p.unsure && p.isConst && p.constant == 0:
		v.Err = errZero
		if reference {
			v.Err = errNull
		}
		return v
	}
	word, ok := vm.wordAt(p)
	if !ok {
		v.Err = errMemory
		return v
	}
	if p.undone != nil && zeroOf(l.signature[0], word) && p.undone.dead() {
		v.Err = errZero
		if reference {
			v.Err = errNull
		}
		return v
	}
	if !reference {
		var b [8]byte
		littleEndian.PutUint64(b[:], word)
		v.Value = primitive(l.signature[0], b[:]).Text
		v.Tree = func() report.Data { return primitive(l.signature[0], b[:]) }
		return v
	}
	obj := word
	if p.narrow {
		obj = vm.widened(uint32(word))
	}
	if obj != 0 && !vm.isObject(obj) {
		v.Err = errObject
		return v
	}
	v.Address = obj
	text := treeBuilder{VM: vm, limits: inText}
	v.Value = lineUpTo(text.object(obj), inText.width())
	v.Tree = func() report.Data { p := treeBuilder{VM: vm, limits: inTree}; return p.object(obj) }
	return v
}

// wordAt is what a place has.
func (vm *VM) wordAt(p place) (uint64, bool) {
	if p.isConst {
		return p.constant, true
	}
	b := vm.Bytes(p.at, 8)
	if b == nil {
		return 0, false
	}
	return littleEndian.Uint64(b), true
}

// reference is the object to which a place refers; 0 if there is none.
func (vm *VM) reference(p place) uint64 {
	w, _ := vm.wordAt(p)
	if p.narrow {
		return vm.widened(uint32(w))
	}
	return w
}

// Where an interpreted frame of x86-64 has what leads to its variables, in bytes from its frame pointer.
const (
	interpretedLocals = -56 // pointer to the first variable, or how many words it is from the frame pointer
	oldLocals         = -48 // the same before JDK 9
)

// interpretedSlots finds the slots of an interpreted frame: they grow down.
func (vm *VM) interpretedSlots(fp uint64) func(n int, wide bool) place {
	offset := int64(interpretedLocals)
	if vm.isOld() {
		offset = oldLocals
	}
	first := vm.Word(at(fp, offset))
	if int64(first) > 0 && first < maxFrame/8 {
		first = fp + 8*first
	}
	return func(n int, wide bool) place {
		if wide { // the second of two has the value
			n++
		}
		if first < fp || first-fp > maxFrame || n > maxSlots {
			return place{err: errMemory}
		}
		return place{at: first - 8*uint64(n)}
	}
}

// An undoneSlot is a slot of an interpreted frame. If the frame was one of compiled code, which is undone when an assumption of the compiler fails
// (deoptimisation), slots that nothing reads any more are 0 and null: compilers do not keep them. Nothing in the frame tells whether it was.
type undoneSlot struct {
	vm     *VM
	method *method
	bci, n int
}

// dead reports whether nothing reads what the slot has. If the bytecode cannot be read, that may be so.
func (s *undoneSlot) dead() bool {
	if s.vm.spend(s.method.codeSize/64+1) != nil {
		return true
	}
	b := bytecodes{code: s.vm.Bytes(s.method.code, s.method.codeSize), handlers: s.method.handlers, steps: maxBytecodeSteps}
	live, known := b.live(s.bci, s.n)
	return s.vm.spend(b.taken()) != nil || !live || !known
}

// undone finds the slots of a frame that may have been compiled code.
func (vm *VM) undone(m *method, bci int, slot func(n int, wide bool) place) func(n int, wide bool) place {
	return func(n int, wide bool) place {
		p := slot(n, wide)
		p.undone = &undoneSlot{vm, m, bci, n}
		return p
	}
}

// zeroOf reports whether a slot of the interpreter has 0 or null of a type.
func zeroOf(signature byte, word uint64) bool {
	switch signature {
	case 'J', 'D', 'L', '[':
		return word == 0
	}
	return uint32(word) == 0
}

// maxSlots is the most slots of a frame.
const maxSlots = 1 << 16

// What debug information has for a value.
const (
	scopeLocation = iota
	scopeInt
	scopeObject
	scopeLong
	scopeDouble
	scopeRemoved   // an object that the compiler does without
	scopeRemovedID // one that was described before
	scopeBox       // like scopeRemoved
	scopeMarker
	scopeMerge // one of several objects
)

// compiledSlots finds the slots of a method in compiled code, by the values that its scope describes.
func (vm *VM) compiledSlots(b *blob, a activation, f javaFrame) func(n int, wide bool) place {
	values := vm.scopeValues(b, a.values)
	objects := sync.OnceValue(func() removedObjects { return vm.removedAt(b, a.objects) })
	return func(n int, wide bool) place {
		if wide {
			n++
		}
		if n >= len(values) {
			return place{err: errDropped}
		}
		if v := values[n]; v.kind == scopeRemovedID {
			id := uint32(v.number)
			if objects()[id] == nil {
				return place{err: errDropped}
			}
			return place{removed: &removal{b, f, objects(), id}}
		}
		p := vm.placeOf(b, values[n], f)
		p.unsure = b.level < levelC1Least || b.level > levelC1Most
		return p
	}
}

// A scopeValue is an undecoded value of debug information.
type scopeValue struct {
	kind   uint32
	number uint64
}

// scopeValues decodes a list of values; nil if it is damaged.
func (vm *VM) scopeValues(b *blob, at uint32) (out []scopeValue) {
	if at == 0 || uint64(at) >= b.scopesEnd-b.scopes {
		return nil
	}
	r := vm.scopeReader(b, at)
	n, _ := r.number()
	if n > maxSlots {
		return nil
	}
	for range n {
		v, ok := r.value()
		if !ok {
			return out
		}
		out = append(out, v)
	}
	return out
}

// value decodes a value; false if that is not possible: what follows it is not known then.
func (r *scopeReader) value() (v scopeValue, ok bool) {
	if r.left--; r.left < 0 || r.vm.spend(1) != nil {
		return v, false
	}
	ok = true
	number := func() uint32 { n, good := r.number(); ok = ok && good; return n }
	switch v.kind = number(); v.kind {
	case scopeLocation, scopeObject, scopeRemovedID:
		v.number = uint64(number())
	case scopeInt:
		v.number = uint64(uint32(zigzag(number())))
	case scopeLong:
		low, high := uint32(zigzag(number())), uint32(zigzag(number()))
		v.number = uint64(high)<<32 | uint64(low)
	case scopeDouble:
		high, low := bits.Reverse32(number()), bits.Reverse32(number())
		v.number = uint64(high)<<32 | uint64(low)
	case scopeMarker:
	case scopeRemoved, scopeBox, scopeMerge:
		return r.object(v.kind)
	default:
		return v, false
	}
	return v, ok
}

// Bits of a location.
const (
	locationType     = 0xf
	locationRegister = 1 << 4
	locationShift    = 5
	locationInvalid  = 0
)

// The levels of compilation that are C1's.
const (
	levelC1Least = 1
	levelC1Most  = 3
)

// vmRegisterRBP is the number of rbp among the registers of debug information, which have two each.
const vmRegisterRBP = 5

// placeOf is where a value of debug information is.
func (vm *VM) placeOf(b *blob, v scopeValue, f javaFrame) place {
	switch v.kind {
	case scopeInt:
		return place{isConst: true, isInt: true, constant: v.number}
	case scopeLong, scopeDouble:
		return place{isConst: true, constant: v.number}
	case scopeObject:
		if v.number == 0 {
			return place{isConst: true}
		}
		if b.oops == 0 || v.number > maxOops {
			return place{err: errDropped}
		}
		return place{at: b.oops + 8*(v.number-1)}
	case scopeLocation:
	default:
		return place{err: errDropped}
	}
	typ, number := v.number&locationType, v.number>>locationShift
	narrow := typ == vm.narrowLocation
	switch {
	case typ == locationInvalid:
		return place{err: errDropped}
	case v.number&locationRegister == 0:
		if 4*number >= b.frameSize+maxFrame {
			return place{err: errMemory}
		}
		return place{at: f.sp + 4*number, narrow: narrow}
	case number/2 == vmRegisterRBP && f.hasRBP:
		return place{isConst: true, constant: f.rbp, narrow: narrow}
	}
	return place{err: errRegister}
}

// maxOops is the most objects that the code of a method names.
const maxOops = 1 << 16
