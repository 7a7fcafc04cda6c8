package hotspot

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/unwind"
)

// headBytes is how much of an object tells its class and its length.
const headBytes = 24

// has reports whether an address is in the heap.
func (h *javaHeap) has(at uint64) bool { return at >= h.reserved[0] && at < h.reserved[1] }

// ObjectIn implements heap.Objects.
func (j *Java) ObjectIn(start, _ uint64, b []byte) (heap.Object, bool) {
	h := j.objectHeap()
	if h == nil || !h.has(start) {
		return heap.Object{}, false
	}
	c := h.class(h.klassIn(b))
	if c == nil {
		return heap.Object{}, false
	}
	return heap.Object{Type: c.name}, true
}

// classAt is the class of an object, of which perhaps the first bytes are known.
func (h *javaHeap) classAt(start, off uint64, b []byte) (c *heapClass, head []byte) {
	if head = b; off > 0 || len(b) < headBytes {
		var buf [headBytes]byte
		head = buf[:h.mem.Fill(start, buf[:])]
	}
	return h.class(h.klassIn(head)), head
}

// References implements heap.Pointing.
func (h *javaHeap) References(start, off uint64, b []byte, out []graph.Ref) []graph.Ref {
	c, head := h.classAt(start, off, b)
	if c == nil {
		return out
	}
	if c.kind == arraySize {
		if !c.references || uint64(len(head)) < h.lengthAt+4 {
			return out
		}
		n := uint64(binary.LittleEndian.Uint32(head[h.lengthAt:]))
		return h.run(oopMap{c.header, n}, off, b, out)
	}
	for _, m := range c.maps {
		out = h.run(m, off, b, out)
	}
	switch c.kind {
	case mirrorSize: // its class's static fields are behind its own, references first
		n, _ := h.vm.U32(start + h.offsets.staticCount)
		out = h.run(oopMap{c.size, uint64(n)}, off, b, out)
	case chunkSize: // frames: what may be a reference is one
		out = h.run(oopMap{c.size, uint64(len(b))}, off, b, out)
		if h.refSize == 4 {
			for i := int(-off & 7); i+8 <= len(b); i += 8 {
				if v := binary.LittleEndian.Uint64(b[i:]); off+uint64(i) >= c.size && h.has(v) {
					out = append(out, graph.Ref{Off: off + uint64(i), To: v})
				}
			}
		}
	}
	return out
}

// run adds the references of a map that are in a part of an object, which begins at an offset.
func (h *javaHeap) run(m oopMap, off uint64, b []byte, out []graph.Ref) []graph.Ref {
	from, end := max(m.offset, off), min(m.offset+m.count*h.refSize, off+uint64(len(b)))
	for at := from; at+h.refSize <= end; at += h.refSize {
		v := uint64(0)
		if h.refSize == 4 {
			v = h.vm.widened(binary.LittleEndian.Uint32(b[at-off:]))
		} else {
			v = binary.LittleEndian.Uint64(b[at-off:])
		}
		if v != 0 {
			out = append(out, graph.Ref{Off: at, To: v})
		}
	}
	return out
}

// Widened implements heap.Narrow.
func (h *javaHeap) Widened(v uint32) uint64 {
	if h.refSize != 4 {
		return 0
	}
	return h.vm.widened(v)
}

// FieldAt implements heap.Fielded.
func (j *Java) FieldAt(start, off uint64) string {
	h := j.objectHeap()
	if h == nil || !h.has(start) {
		return ""
	}
	c, _ := h.classAt(start, 0, nil)
	switch {
	case c == nil:
		return ""
	case c.kind == arraySize && c.references && off >= c.header:
		return "[" + strconv.FormatUint((off-c.header)>>c.shift, 10) + "]"
	case c.kind == mirrorSize && off >= c.size:
		for _, f := range h.vm.fieldsOf(h.vm.classOfMirror(start)) {
			if f.static && uint64(f.offset) == off {
				return f.name
			}
		}
	}
	return h.fieldNames(c)[off]
}

// maxRootNames is the most variables that name what leads to objects.
const maxRootNames = 1 << 20

// ownPackages are those of Java itself.
var ownPackages = [...]string{"java.", "javax.", "jdk.", "sun.", "com.sun."}

// Variables implements heap.Objects: the static fields of classes, those of the program's own classes first, the threads, and the classes themselves.
func (j *Java) Variables(yield func(name string, value uint64) bool) {
	h := j.objectHeap()
	if h == nil {
		return
	}
	vm := h.vm
	type class struct {
		name   string
		at     uint64
		mirror uint64
		own    bool // of Java's own
	}
	var list []class
	for klass := range h.loaded {
		if vm.spend(4) != nil {
			return
		}
		name := vm.className(klass)
		if name == "" || name[0] == '[' {
			continue
		}
		c := class{name: dotted(name), at: klass, mirror: vm.handle(vm.Word(klass + h.offsets.mirror))}
		c.own = slices.ContainsFunc(ownPackages[:], func(p string) bool { return strings.HasPrefix(c.name, p) })
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b class) int {
		if a.own != b.own {
			if b.own {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.at, b.at))
	})
	left := maxRootNames
	give := func(name string, value uint64) bool {
		left--
		return left >= 0 && vm.spend(1) == nil && yield(name, value)
	}
	for _, c := range list {
		for _, f := range vm.fieldsOf(c.at) {
			if f.static && isReference(f.signature) && c.mirror != 0 {
				if v := vm.oop(c.mirror + uint64(f.offset)); v != 0 && !give(c.name+"."+f.name, v) {
					return
				}
			}
		}
	}
	threads, _ := vm.threadList()
	for _, t := range threads {
		if obj := vm.threadObject(t); obj != 0 && !give("thread "+strconv.Quote(vm.nameOf(obj)), obj) {
			return
		}
	}
	for _, c := range list {
		if !give("class "+c.name, c.mirror) {
			return
		}
	}
}

// Locals calls yield for the variables of the calls on a stack that refer to objects, until it returns false.
func (j *Java) Locals(frames []*unwind.Frame, yield func(name string, value uint64) bool) {
	h := j.objectHeap()
	if h == nil {
		return
	}
	vm := h.vm
	for _, f := range frames {
		all, b, exact := vm.running(f)
		for _, a := range all {
			slot := vm.slotsOf(f, b, a, exact)
			if slot == nil {
				continue
			}
			for _, l := range a.method.variablesAt(a.bci) {
				if vm.spend(1) != nil {
					return
				}
				if !isReference(l.signature) {
					continue
				}
				if p := slot(l.slot, false); p.err == nil && p.removed == nil && !p.isInt {
					if v := vm.reference(p); v != 0 && !yield(l.name+" of "+simpleName(a.method.class)+"."+a.method.name+"()", v) {
						return
					}
				}
			}
		}
	}
}
