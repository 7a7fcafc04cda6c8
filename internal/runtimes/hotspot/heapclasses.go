package hotspot

import (
	"encoding/binary"
	"strings"
)

// What the size of an object follows from.
type sizeKind uint8

const (
	instanceSize sizeKind = iota // its class alone
	arraySize                    // its length
	mirrorSize                   // what a java.lang.Class says of itself: the static fields of its class are in it
	chunkSize                    // what a StackChunk says of the stack in it
)

// An oopMap is references that lie one behind the other in each object of a class.
type oopMap struct {
	offset uint64
	count  uint64
}

// A heapClass is a class as far as its objects need it.
type heapClass struct {
	at         uint64
	name       string // as programs write it
	kind       sizeKind
	size       uint64 // of an instance without what varies
	header     uint64 // bytes before the elements of an array
	shift      uint8  // log2 of the size of an element
	references bool   // the elements are references
	maps       []oopMap
	fields     map[uint64]string // names of references, by their offsets; nil until they are asked for
}

const (
	maxHeapClasses = 1 << 20
	maxOopMaps     = 1 << 12 // of one class
	maxInstance    = 1 << 24 // bytes
	maxArrayHeader = 32
	mapBytes       = 8 // of an OopMapBlock
)

// Bits of Klass::_layout_helper of arrays.
const (
	helperReferences = -2 // in the highest two: the elements are references
	helperValues     = -1 // or not
	helperTagShift   = 30
	helperHeader     = 16
	helperShiftMask  = 0x3f
)

const (
	mirrorClass = "java/lang/Class"
	chunkClass  = "jdk/internal/vm/StackChunk"
	fillerClass = "[Ljdk/internal/vm/FillerElement;" // of JDK 19 on: what fills gaps is an array of numbers all the same
	// notLoaded is said of what lies in the archive of class data, of classes that the program has not come to yet.
	notLoaded = ", class not loaded"
)

// A classCache has classes that were just looked at.
type classCache [1 << 10]struct {
	at uint64
	c  *heapClass
}

// loadedClasses are all that the loaders list.
func (vm *VM) loadedClasses() map[uint64]bool {
	next, ok := vm.off("ClassLoaderData._next")
	first, ok2 := vm.off("ClassLoaderData._klasses")
	link, ok3 := vm.off("Klass._next_link")
	out := map[uint64]bool{}
	if !ok || !ok2 || !ok3 {
		return out
	}
	left := maxClasses
	for loader := vm.Word(vm.static("ClassLoaderDataGraph._head")); loader != 0 && left > 0; loader = vm.Word(loader + next) {
		left--
		for klass := vm.Word(loader + first); klass != 0 && !out[klass] && left > 0; klass = vm.Word(klass + link) {
			if left--; vm.spend(1) != nil {
				return out
			}
			out[klass] = true
		}
	}
	return out
}

// class is the class at an address; nil if there is none.
func (h *javaHeap) class(klass uint64) *heapClass {
	e := &h.cache[klass>>3%uint64(len(h.cache))]
	if e.at == klass && e.c != nil {
		return e.c
	}
	c, ok := h.classes[klass]
	if !ok {
		if klass == 0 || klass%8 != 0 || len(h.classes) >= maxHeapClasses || h.vm.spend(1) != nil {
			return nil
		}
		c = h.readClass(klass)
		h.classes[klass] = c // also that it is none
	}
	e.at, e.c = klass, c
	return c
}

// readClass reads a class, which the loaders list, or which its constants lead back to.
func (h *javaHeap) readClass(klass uint64) *heapClass {
	vm := h.vm
	helper32, ok := vm.U32(klass + h.offsets.helper)
	name := vm.className(klass)
	if !ok || name == "" || !vm.mayKeep(len(name)+64) {
		return nil
	}
	c := &heapClass{at: klass, name: dotted(name)}
	if helper := int32(helper32); helper < 0 {
		c.kind, c.header, c.shift = arraySize, uint64(helper32>>helperHeader&0xff), uint8(helper32&helperShiftMask)
		c.references = helper>>helperTagShift == helperReferences
		named := len(name) >= 2 && strings.ContainsRune("L[", rune(name[1])) && name != fillerClass // as an array of references
		if len(name) < 2 || name[0] != '[' || c.references != named || c.shift > 3 ||
			c.header < h.lengthAt+4 || c.header > maxArrayHeader || c.references && 1<<c.shift != h.refSize {
			return nil
		}
		if !h.loaded[klass] && (!c.references || h.class(vm.Word(klass+h.offsets.element)) == nil) {
			return nil
		}
		c.name = javaType(name)
	} else {
		pool := vm.Word(klass + h.offsets.pool)
		if c.size = uint64(helper) &^ 7; c.size < 8 || c.size > maxInstance || name[0] == '[' || pool == 0 || vm.Word(pool+vm.layout.holder) != klass {
			return nil
		}
		switch name {
		case mirrorClass:
			c.kind = mirrorSize
		case chunkClass:
			c.kind = chunkSize
			if h.chunkWords = h.offsetOf(klass, "size"); h.chunkWords == 0 {
				return nil
			}
		}
		h.readMaps(c)
	}
	if !h.loaded[klass] && vm.handle(vm.Word(klass+h.offsets.mirror)) == 0 {
		c.name += notLoaded
	}
	return c
}

// offsetOf is where a field of the objects of a class is; 0 if there is none.
func (h *javaHeap) offsetOf(klass uint64, field string) uint64 {
	for _, f := range h.vm.fieldsNamed(klass, field) {
		return uint64(f.offset)
	}
	return 0
}

// readMaps reads where the objects of a class have references: behind the class and its tables of methods. Those to which the collector gives no
// regard, a weak reference's, are not among them.
func (h *javaHeap) readMaps(c *heapClass) {
	vm := h.vm
	virtual, _ := vm.U32(c.at + h.offsets.vtable)
	interfaces, _ := vm.U32(c.at + h.offsets.itable)
	n, _ := vm.U32(c.at + h.offsets.mapWords)
	at := c.at + vm.sizes["InstanceKlass"] + 8*(uint64(virtual)+uint64(interfaces))
	if n > 0 && n <= maxOopMaps && vm.mayKeep(2*mapBytes*int(n)) {
		for b := vm.Bytes(at, mapBytes*int(n)); len(b) >= mapBytes; b = b[mapBytes:] {
			m := oopMap{uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))}
			if m.offset >= 8 && m.offset%h.refSize == 0 && m.offset+m.count*h.refSize <= c.size {
				c.maps = append(c.maps, m)
			}
		}
	}
	for k := range vm.supers(c.at) { // these are kept until memory is short, or until they are finalized
		switch vm.className(k) {
		case "java/lang/ref/SoftReference", "java/lang/ref/FinalReference":
			if off := h.offsetOf(c.at, "referent"); off >= 8 && off%h.refSize == 0 && off+h.refSize <= c.size {
				c.maps = append(c.maps, oopMap{off, 1})
			}
		}
	}
}

// fieldNames are the names of the references in the objects of a class.
func (h *javaHeap) fieldNames(c *heapClass) map[uint64]string {
	if c.fields == nil {
		c.fields = map[uint64]string{}
		for k := range h.vm.supers(c.at) {
			for _, f := range h.vm.fieldsOf(k) {
				if off := uint64(f.offset); !f.static && isReference(f.signature) && c.fields[off] == "" {
					c.fields[off] = f.name
				}
			}
		}
	}
	return c.fields
}

// isReference reports whether a type, as in signatures, is that of references.
func isReference(signature string) bool {
	return signature != "" && (signature[0] == 'L' || signature[0] == '[')
}
