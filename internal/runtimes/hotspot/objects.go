package hotspot

import (
	"iter"
	"unicode/utf16"
)

// objects says how references are stored, and where objects have their classes.
type objects struct {
	ready      bool
	narrowOops bool // references are of 32 bits
	narrowBase uint64
	shift      uint32
	colored    bool // the collector keeps bits of its own below references
	narrowKlass
}

type narrowKlass struct {
	compressed bool
	inMark     bool // the class is in the object's mark
	base       uint64
	shift      uint32
}

// maxFlags is the most flags of a virtual machine.
const maxFlags = 1 << 13

// flags reads boolean options of the virtual machine; false are those that it does not have.
func (vm *VM) flags(wanted ...string) map[string]bool {
	out := map[string]bool{}
	list, count := vm.Word(vm.static("JVMFlag.flags", "Flag.flags")), vm.Word(vm.static("JVMFlag.numFlags", "Flag.numFlags"))
	size := vm.sizes["JVMFlag"]
	if size == 0 {
		size = vm.sizes["Flag"]
	}
	name, ok := vm.off("JVMFlag._name", "Flag._name")
	addr, ok2 := vm.off("JVMFlag._addr", "Flag._addr")
	if !ok || !ok2 || list == 0 || size < 16 || size > 256 {
		return out
	}
	for i := range min(count, maxFlags) {
		s, ok := vm.Text(vm.Word(list + i*size + name))
		if !ok {
			continue
		}
		for _, w := range wanted {
			if s == w {
				v, ok := vm.U8(vm.Word(list + i*size + addr))
				out[s] = ok && v != 0
			}
		}
		if len(out) == len(wanted) {
			break
		}
	}
	return out
}

// findObjects finds out how references are stored.
func (vm *VM) findObjects() {
	o := &vm.objects
	f := vm.flags("UseCompressedOops", "UseCompressedClassPointers", "UseCompactObjectHeaders", "UseZGC", "ZGenerational")
	o.narrowOops, o.compressed, o.inMark = f["UseCompressedOops"], f["UseCompressedClassPointers"], f["UseCompactObjectHeaders"]
	o.colored = f["UseZGC"] && (f["ZGenerational"] || vm.version >= 24)
	o.narrowBase = vm.Word(vm.static("CompressedOops._base", "CompressedOops._narrow_oop._base", "Universe._narrow_oop._base"))
	o.shift, _ = vm.U32(vm.static("CompressedOops._shift", "CompressedOops._narrow_oop._shift", "Universe._narrow_oop._shift"))
	o.base = vm.Word(vm.static("CompressedKlassPointers._base", "CompressedKlassPointers._narrow_klass._base", "Universe._narrow_klass._base"))
	o.narrowKlass.shift, _ = vm.U32(vm.static("CompressedKlassPointers._shift", "CompressedKlassPointers._narrow_klass._shift", "Universe._narrow_klass._shift"))
	o.ready = (o.shift < 32 || !o.narrowOops) && (o.narrowKlass.shift < 32 || !o.compressed && !o.inMark)
}

// oop reads a reference that is stored in an object.
func (vm *VM) oop(at uint64) uint64 {
	o := &vm.objects
	if !o.narrowOops {
		return vm.uncolored(vm.Word(at))
	}
	v, _ := vm.U32(at)
	return vm.widened(v)
}

// widened is a reference of 32 bits as an address.
func (vm *VM) widened(v uint32) uint64 {
	if v == 0 {
		return 0
	}
	return vm.objects.narrowBase + uint64(v)<<vm.objects.shift
}

// The generational ZGC has 16 bits of its own below a reference. One of the highest four is set, and the reference lies
// above it: its own lowest bits are the zeros of an aligned address.
const (
	colorShift = 12
	colorMask  = 0xf
)

// uncolored is a reference without the collector's bits.
func (vm *VM) uncolored(v uint64) uint64 {
	if !vm.objects.colored || v == 0 {
		return v
	}
	switch v >> colorShift & colorMask {
	case 1:
		return v >> 13
	case 2:
		return v >> 14
	case 4:
		return v >> 15
	case 8:
		return v >> 16
	}
	return 0
}

// handle reads a reference outside the heap, which is never narrow.
func (vm *VM) handle(at uint64) uint64 { return vm.uncolored(vm.Word(at)) }

// Where the class of an object is: behind its mark, or in its highest bits.
const (
	klassOffset = 8
	klassInMark = 42
)

// klassOf is the class of an object; 0 if it is none.
func (vm *VM) klassOf(obj uint64) uint64 {
	if obj == 0 || obj%8 != 0 {
		return 0
	}
	o := &vm.objects
	if o.inMark {
		if nk := vm.Word(obj) >> klassInMark; nk != 0 {
			return o.base + nk<<o.narrowKlass.shift
		}
		return 0
	}
	if !o.compressed {
		return vm.Word(obj + klassOffset)
	}
	v, ok := vm.U32(obj + klassOffset)
	if !ok || v == 0 {
		return 0
	}
	return o.base + uint64(v)<<o.narrowKlass.shift
}

// className is the name of a class as the virtual machine has it: "java/lang/String"; "" if it is none.
func (vm *VM) className(klass uint64) string {
	if klass == 0 || klass%8 != 0 {
		return ""
	}
	return vm.classNames.Get(klass, func() string {
		s, _ := vm.symbol(vm.Word(klass + vm.layout.klassName))
		return s
	})
}

// maxSupers is the most classes between a class and Object.
const maxSupers = 256

// maxFields is the most fields of a class.
const maxFields = 1 << 12

// A classField is a field that a class declares.
type classField struct {
	name, signature string
	offset          uint32 // in the object; of a static field in the class's mirror
	static          bool
}

// fieldsNamed are the fields of a name that objects of a class have, those of the class itself before those of the classes
// above it.
func (vm *VM) fieldsNamed(klass uint64, name string) []classField {
	if klass == 0 {
		return nil
	}
	return vm.fieldMaps.Get(klass, func() map[string][]classField {
		out := map[string][]classField{}
		for k := range vm.supers(klass) {
			for _, f := range vm.fieldsOf(k) {
				if !f.static {
					out[f.name] = append(out[f.name], f)
				}
			}
		}
		return out
	})[name]
}

// fieldOf is where a field of an object is; false if its class and those above have none of that name and type.
func (vm *VM) fieldOf(obj uint64, name, signature string) (uint64, bool) {
	for _, f := range vm.fieldsNamed(vm.klassOf(obj), name) {
		if f.signature == signature {
			return obj + uint64(f.offset), true
		}
	}
	return 0, false
}

// ref reads the reference in a field of an object; 0 if it has no such field.
func (vm *VM) ref(obj uint64, name, signature string) uint64 {
	at, ok := vm.fieldOf(obj, name, signature)
	if !ok {
		return 0
	}
	return vm.oop(at)
}

// supers yields a class and those that it extends, up to Object.
func (vm *VM) supers(klass uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		super, ok := vm.off("Klass._super")
		if !ok {
			return
		}
		for range maxSupers {
			if vm.spend(1) != nil || vm.className(klass) == "" || !yield(klass) {
				return
			}
			klass = vm.Word(klass + super)
		}
	}
}

// isA reports whether an object's class is one of a name, or extends it.
func (vm *VM) isA(obj uint64, class string) bool {
	for klass := range vm.supers(vm.klassOf(obj)) {
		if vm.className(klass) == class {
			return true
		}
	}
	return false
}

// fieldsOf are the fields that a class itself declares, in its own order.
func (vm *VM) fieldsOf(klass uint64) []classField {
	return vm.fieldLists.Get(klass, func() []classField {
		pool := uint64(0)
		if off, ok := vm.off("InstanceKlass._constants"); ok {
			pool = vm.Word(klass + off)
		}
		if pool == 0 {
			return nil
		}
		text := func(index uint32) string {
			if index == 0 || index > 0xffff || vm.spend(1) != nil {
				return ""
			}
			s, _ := vm.symbol(vm.Word(pool+vm.layout.poolSize+8*uint64(index)) &^ 1)
			if !vm.mayKeep(len(s)) {
				return ""
			}
			return s
		}
		if off, ok := vm.off("InstanceKlass._fieldinfo_stream"); ok {
			return vm.streamedFields(vm.Word(klass+off), text)
		}
		off, ok := vm.off("InstanceKlass._fields")
		if !ok {
			return nil
		}
		count := uint16(maxFields)
		if off, ok := vm.off("InstanceKlass._java_fields_count"); ok {
			count, _ = vm.U16(klass + off)
		}
		return vm.packedFields(vm.Word(klass+off), int(count), text)
	})
}

// accessStatic is the access flag of static fields.
const accessStatic = 8

// packedFields reads an array of u2: six for each field, among them the access flags, the indices of name and signature,
// and the offset in two halves.
func (vm *VM) packedFields(array uint64, count int, text func(uint32) string) (out []classField) {
	n, ok := vm.U32(array)
	if !ok || n > 6*maxFields {
		return nil
	}
	data := vm.Bytes(array+4, int(n)*2)
	for ; len(data) >= 12 && len(out) < count; data = data[12:] {
		u2 := func(i int) uint32 { return uint32(data[2*i]) | uint32(data[2*i+1])<<8 }
		packed := u2(4) | u2(5)<<16
		if packed&3 != 1 { // no offset
			return out
		}
		out = append(out, classField{text(u2(1)), text(u2(2)), packed >> 2, u2(0)&accessStatic != 0})
	}
	return out
}

// Flags of a field of the compressed description.
const (
	fieldInitialised = 1 << iota
	fieldInjected
	fieldGeneric
	_
	fieldContended
)

// streamedFields reads the compressed description of JDK 21 and later.
func (vm *VM) streamedFields(array uint64, text func(uint32) string) (out []classField) {
	r := reader{m: vm.memory, at: array + 4}
	next := func() uint32 { v, _ := r.unsigned5(vm); return v }
	count := next()
	next() // of injected fields
	for range min(count, maxFields) {
		name, signature, offset, access, flags := next(), next(), next(), next(), next()
		for _, bit := range []uint32{fieldInitialised, fieldGeneric, fieldContended} { // an initial value, a generic signature, a group
			if flags&bit != 0 {
				next()
			}
		}
		if flags&fieldInjected == 0 {
			out = append(out, classField{text(name), text(signature), offset, access&accessStatic != 0})
		}
	}
	return out
}

// maxString is the most bytes of a string that are read.
const maxString = 4096

// stringAt reads a java.lang.String, or its beginning; false if the object is none.
func (vm *VM) stringAt(obj uint64) (s string, ok bool) {
	s, _, ok = vm.beginning(obj, maxString)
	return s, ok
}

// beginning reads at most so many bytes of a java.lang.String.
func (vm *VM) beginning(obj uint64, most int) (s string, whole, ok bool) {
	if vm.className(vm.klassOf(obj)) != "java/lang/String" {
		return "", false, false
	}
	wide := byte(1)
	value, chars := vm.fieldOf(obj, "value", "[C") // until JDK 8
	if !chars {
		if value, ok = vm.fieldOf(obj, "value", "[B"); !ok {
			return "", false, false
		}
		c, has := vm.fieldOf(obj, "coder", "B")
		if wide, ok = vm.U8(c); !has || !ok {
			return "", false, false
		}
	}
	a, ok := vm.arrayAt(vm.oop(value))
	if !ok || a.element != 'B' && a.element != 'C' {
		return "", false, false
	}
	size := a.length * int(a.size)
	whole = size <= most
	b := vm.Bytes(a.data, min(size, most))
	if b == nil && size > 0 {
		return "", false, false
	}
	if wide == 0 {
		out := make([]rune, len(b))
		for i, c := range b {
			out[i] = rune(c)
		}
		return string(out), whole, true
	}
	return utf16Text(b), whole, true
}

func utf16Text(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return string(utf16.Decode(units))
}

// An array is a Java array.
type array struct {
	length  int
	data    uint64 // of the first element
	element byte   // as in signatures: 'I', 'L' for references
	size    uint64 // bytes of an element
}

// arrayAt reads the description of an array; false if the object is none. The length is behind the class, and the
// class says where the elements begin.
func (vm *VM) arrayAt(obj uint64) (a array, ok bool) {
	klass := vm.klassOf(obj)
	name := vm.className(klass)
	if len(name) < 2 || name[0] != '[' {
		return a, false
	}
	off, ok := vm.off("Klass._layout_helper")
	helper, ok2 := vm.U32(klass + off)
	if !ok || !ok2 || int32(helper) >= 0 { // arrays have the highest bit
		return a, false
	}
	at := uint64(klassOffset)
	switch {
	case vm.objects.inMark:
	case vm.objects.compressed:
		at += 4
	default:
		at += 8
	}
	n, ok := vm.U32(obj + at)
	if !ok || int32(n) < 0 {
		return a, false
	}
	a = array{length: int(n), data: obj + uint64(helper>>16&0xff), element: name[1], size: 1 << (helper & 7)}
	if a.element == '[' {
		a.element = 'L'
	}
	return a, true
}
