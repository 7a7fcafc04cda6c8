package hotspot

import (
	"fmt"
	"unicode/utf16"
)

// heap objects: how references are stored, where classes have their fields.
type objects struct {
	ready      bool
	narrowOops bool // references are of 32 bits
	narrowBase uint64
	shift      uint32
	narrowKlass
}

type narrowKlass struct {
	compressed bool
	base       uint64
	shift      uint32
}

// maxFlags is the most flags of a virtual machine.
const maxFlags = 1 << 13

// flag reads a boolean option of the virtual machine; false if it has none of that name.
func (vm *VM) flags(wanted ...string) map[string]bool {
	out := map[string]bool{}
	list, count := vm.Word(vm.static("JVMFlag.flags")), vm.Word(vm.static("JVMFlag.numFlags"))
	size := vm.sizes["JVMFlag"]
	name, ok := vm.off("JVMFlag._name")
	addr, ok2 := vm.off("JVMFlag._addr")
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
	f := vm.flags("UseCompressedOops", "UseCompressedClassPointers", "UseCompactObjectHeaders")
	if f["UseCompactObjectHeaders"] { // the class is in the mark
		return
	}
	o.narrowOops, o.compressed = f["UseCompressedOops"], f["UseCompressedClassPointers"]
	o.narrowBase = vm.Word(vm.static("CompressedOops._base", "CompressedOops._narrow_oop._base", "Universe._narrow_oop._base"))
	o.shift, _ = vm.U32(vm.static("CompressedOops._shift", "CompressedOops._narrow_oop._shift", "Universe._narrow_oop._shift"))
	o.base = vm.Word(vm.static("CompressedKlassPointers._base", "CompressedKlassPointers._narrow_klass._base", "Universe._narrow_klass._base"))
	o.narrowKlass.shift, _ = vm.U32(vm.static("CompressedKlassPointers._shift", "CompressedKlassPointers._narrow_klass._shift", "Universe._narrow_klass._shift"))
	o.ready = o.shift < 32 && o.narrowKlass.shift < 32
}

// oop reads a reference that is stored in an object.
func (vm *VM) oop(at uint64) uint64 {
	o := &vm.objects
	if !o.narrowOops {
		return vm.Word(at)
	}
	v, ok := vm.U32(at)
	if !ok || v == 0 {
		return 0
	}
	return o.narrowBase + uint64(v)<<o.shift
}

// Where the class of an object is: behind its mark.
const klassOffset = 8

// klassOf is the class of an object; 0 if it is none.
func (vm *VM) klassOf(obj uint64) uint64 {
	if obj == 0 || obj%8 != 0 {
		return 0
	}
	o := &vm.objects
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
	s, _ := vm.symbol(vm.Word(klass + vm.layout.klassName))
	return s
}

// maxSupers is the most classes between a class and Object.
const maxSupers = 256

// maxFields is the most fields of a class.
const maxFields = 1 << 12

// fieldOf is where a field of an object is; false if its class and those above have none of that name and type.
func (vm *VM) fieldOf(obj uint64, name, signature string) (uint64, bool) {
	super, ok := vm.off("Klass._super")
	if !ok {
		return 0, false
	}
	klass := vm.klassOf(obj)
	for range maxSupers {
		if vm.className(klass) == "" {
			return 0, false
		}
		if off, ok := vm.fieldIn(klass, name, signature); ok {
			return obj + uint64(off), true
		}
		klass = vm.Word(klass + super)
	}
	return 0, false
}

// fieldIn is the offset of a field that a class itself declares.
func (vm *VM) fieldIn(klass uint64, name, signature string) (uint32, bool) {
	pool := uint64(0)
	if off, ok := vm.off("InstanceKlass._constants"); ok {
		pool = vm.Word(klass + off)
	}
	if pool == 0 {
		return 0, false
	}
	is := func(index uint32, s string) bool {
		if index == 0 || index > 0xffff || vm.spend(1) != nil {
			return false
		}
		got, ok := vm.symbol(vm.Word(pool+vm.layout.poolSize+8*uint64(index)) &^ 1)
		return ok && got == s
	}
	if off, ok := vm.off("InstanceKlass._fieldinfo_stream"); ok {
		return vm.streamedField(vm.Word(klass+off), func(n, s uint32) bool { return is(n, name) && is(s, signature) })
	}
	off, ok := vm.off("InstanceKlass._fields")
	if !ok {
		return 0, false
	}
	// An array of u2: six for each field, among them the indices of name and signature, and the offset in two halves.
	array := vm.Word(klass + off)
	n, ok := vm.U32(array)
	if !ok || n > 6*maxFields {
		return 0, false
	}
	data := vm.Bytes(array+4, int(n)*2)
	for ; len(data) >= 12; data = data[12:] {
		u2 := func(i int) uint32 { return uint32(data[2*i]) | uint32(data[2*i+1])<<8 }
		if is(u2(1), name) && is(u2(2), signature) {
			packed := u2(4) | u2(5)<<16
			return packed >> 2, packed&3 == 1
		}
	}
	return 0, false
}

// streamedField looks for a field in the compressed description of JDK 21 and later.
func (vm *VM) streamedField(array uint64, is func(name, signature uint32) bool) (uint32, bool) {
	r := reader{m: vm.memory, at: array + 4}
	next := func() uint32 { v, _ := r.unsigned5(vm); return v }
	count := next()
	next() // of injected fields
	for range min(count, maxFields) {
		name, signature, offset := next(), next(), next()
		next() // access
		flags := next()
		if is(name, signature) {
			return offset, true
		}
		for _, bit := range []uint32{0, 2, 4} { // an initial value, a generic signature, a group of contended fields
			if flags>>bit&1 != 0 {
				next()
			}
		}
	}
	return 0, false
}

// maxString is the most bytes of a string that are read.
const maxString = 4096

// stringAt reads a java.lang.String; false if the object is none.
func (vm *VM) stringAt(obj uint64) (string, bool) {
	if vm.className(vm.klassOf(obj)) != "java/lang/String" {
		return "", false
	}
	at, ok := vm.fieldOf(obj, "value", "[B")
	if !ok {
		return "", false
	}
	wide := byte(0)
	if c, ok := vm.fieldOf(obj, "coder", "B"); ok {
		wide, _ = vm.U8(c)
	}
	array := vm.oop(at)
	length, data := vm.arrayAt(array)
	if length > maxString {
		length = maxString
	}
	b := vm.Bytes(data, length)
	if b == nil {
		return "", length == 0 && array != 0
	}
	if wide == 0 {
		out := make([]rune, len(b))
		for i, c := range b {
			out[i] = rune(c)
		}
		return string(out), true
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return string(utf16.Decode(units)), true
}

// arrayAt is the length of an array of bytes, and where they begin.
func (vm *VM) arrayAt(obj uint64) (length int, data uint64) {
	if vm.className(vm.klassOf(obj)) != "[B" {
		return 0, 0
	}
	header := uint64(16)
	if vm.objects.compressed {
		header = 12
	}
	n, ok := vm.U32(obj + header)
	if !ok || int32(n) < 0 {
		return 0, 0
	}
	return int(n), obj + header + 4
}

// A Thread is a Java thread.
type Thread struct {
	LWP   uint64 // the kernel's id, as the process knows it
	Name  string // "" if it is not known
	State string // what the virtual machine says of it: "in Java", "in native code", "blocked"; "" if unknown
	at    uint64
}

// maxThreads is the most Java threads that are listed.
const maxThreads = 1 << 16

// Threads lists the Java threads.
func (vm *VM) Threads() ([]Thread, error) {
	length, ok := vm.off("ThreadsList._length")
	threads, ok2 := vm.off("ThreadsList._threads")
	osthread, ok3 := vm.off("JavaThread._osthread", "Thread._osthread")
	id, ok4 := vm.off("OSThread._thread_id")
	if !ok || !ok2 || !ok3 || !ok4 {
		return nil, fmt.Errorf("%w: no list of threads", ErrNoTables)
	}
	list := vm.Word(vm.static("ThreadsSMRSupport._java_thread_list"))
	n, ok := vm.U32(list + length)
	if !ok || n > maxThreads {
		return nil, fmt.Errorf("the list of Java threads at %#x is damaged", list)
	}
	first := vm.Word(list + threads)
	state, hasState := vm.off("JavaThread._thread_state")
	var out []Thread
	for i := range uint64(n) {
		t := Thread{at: vm.Word(first + 8*i)}
		lwp, ok := vm.U32(vm.Word(t.at+osthread) + id)
		if t.at == 0 || !ok || lwp == 0 {
			continue
		}
		t.LWP, t.Name = uint64(lwp), vm.threadName(t.at)
		if hasState {
			s, _ := vm.U32(t.at + state)
			t.State = states[min(s, uint32(len(states)-1))]
		}
		out = append(out, t)
	}
	return out, nil
}

var states = [...]string{2: "new", 3: "new", 4: "in native code", 5: "in native code", 6: "in the virtual machine", 7: "in the virtual machine", 8: "in Java", 9: "in Java",
	10: "blocked", 11: "blocked", 12: ""}

// threadName is the name of a Java thread.
func (vm *VM) threadName(at uint64) string {
	if !vm.objects.ready {
		return ""
	}
	off, ok := vm.off("JavaThread._threadObj")
	if !ok {
		return ""
	}
	obj := vm.Word(at + off)
	if typ, _ := vm.Text(vm.fields["JavaThread._threadObj"].typ); typ == "OopHandle" {
		obj = vm.Word(obj)
	}
	f, ok := vm.fieldOf(obj, "name", "Ljava/lang/String;")
	if !ok {
		return ""
	}
	s, _ := vm.stringAt(vm.oop(f))
	return s
}
