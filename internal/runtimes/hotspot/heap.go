package hotspot

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
)

// The heap of Java objects: spaces, in which objects lie one behind the other up to where the next is made. Each begins with a mark and its class,
// from which its size follows. What a thread has for itself of a space, to make objects in (its TLAB), has none at its end.

const (
	maxSpaces      = 1 << 20
	maxHeapDamages = 32
	perCheckpoint  = 64 << 10 // bytes between objects from which one is looked for
	maxHeapBytes   = 1 << 46
)

// A space is a part of the heap, or a region of G1's.
type space struct {
	start, top, end uint64 // objects are up to top
	name            string
	single          bool // one object has all of it; what fills the rest is none
}

// A gap is the end of what a thread has for itself: from start on there are no objects.
type gap struct{ first, start, end uint64 }

// A javaHeap is the heap of Java objects. It implements heap.Allocator.
type javaHeap struct {
	vm       *VM
	mem      procmem.Reader // not charged: objects are
	reserved [2]uint64
	spaces   []space // by address
	gaps     []gap   // by address
	align    uint64  // of objects
	refSize  uint64
	lengthAt uint64 // of arrays
	offsets  struct {
		helper, pool, element, mirror, vtable, itable, mapWords uint64
		mirrorSize, staticCount                                 uint64 // in a java.lang.Class
	}
	chunkWords uint64 // where a StackChunk has how many words its stack has

	loaded  map[uint64]bool
	classes map[uint64]*heapClass
	cache   classCache
	w       heapWindow

	surveyed bool
	starts   []uint64 // of some objects, by address
	damages  []heap.Damage
	threads  int             // of Java
	took     map[uint64]bool // where they took memory that they have not written to
}

// Heap implements heap.Owner.
func (j *Java) Heap() heap.Allocator { return j.objects.Allocator() }

// Unknown implements heap.Objects.
func (j *Java) Unknown() string { return j.objects.Unknown("Java") }

// objectHeap is the heap of objects; nil if it cannot be read.
func (j *Java) objectHeap() *javaHeap { return j.objects.Known() }

func (j *Java) findObjectHeap() (*javaHeap, error) {
	vm := j.machine()
	if vm == nil {
		return nil, nil
	}
	return vm.findObjectHeap(procmem.Of(j.process().State))
}

// findObjectHeap finds where objects are.
func (vm *VM) findObjectHeap(mem procmem.Reader) (*javaHeap, error) {
	o := &vm.objects
	if !o.ready {
		return nil, fmt.Errorf("%w: how references are stored is not known", ErrNoTables)
	}
	h := &javaHeap{vm: vm, mem: mem, align: 8, refSize: 8, classes: map[uint64]*heapClass{}}
	h.w.mem = mem
	if o.narrowOops {
		h.refSize = 4
		h.align = max(8, uint64(1)<<o.shift)
	}
	switch {
	case o.inMark:
		h.lengthAt = 8
	case o.compressed:
		h.lengthAt = 12
	default:
		h.lengthAt = 16
	}
	if err := h.findOffsets(); err != nil {
		return nil, err
	}
	heapAt := vm.Word(vm.static("Universe._collectedHeap"))
	if err := h.findSpaces(heapAt); err != nil {
		return nil, err
	}
	if off, ok := vm.off("CollectedHeap._is_gc_active", "CollectedHeap._is_stw_gc_active"); ok {
		if active, _ := vm.U8(heapAt + off); active != 0 {
			return nil, fmt.Errorf("the garbage collector was at work, and moves objects meanwhile")
		}
	}
	h.loaded = vm.loadedClasses()
	if len(h.loaded) == 0 {
		return nil, fmt.Errorf("%w: no classes", ErrNoTables)
	}
	if len(h.spaces) == 0 {
		return nil, fmt.Errorf("no space has objects")
	}
	h.findGaps()
	return h, nil
}

func (h *javaHeap) findOffsets() error {
	missing := ""
	for name, to := range map[string]*uint64{
		"Klass._layout_helper": &h.offsets.helper, "InstanceKlass._constants": &h.offsets.pool, "ObjArrayKlass._element_klass": &h.offsets.element,
		"Klass._java_mirror": &h.offsets.mirror, "Klass._vtable_len": &h.offsets.vtable, "InstanceKlass._itable_len": &h.offsets.itable,
		"InstanceKlass._nonstatic_oop_map_size": &h.offsets.mapWords,
	} {
		v, ok := h.vm.off(name)
		if *to = v; !ok {
			missing = max(missing, name)
		}
	}
	const most = 1 << 12 // bytes of a java.lang.Class that are its own
	for name, to := range map[string]*uint64{
		"java_lang_Class._oop_size_offset": &h.offsets.mirrorSize, "java_lang_Class._static_oop_field_count_offset": &h.offsets.staticCount,
	} {
		v, ok := h.vm.U32(h.vm.static(name))
		if *to = uint64(v); !ok || v == 0 || v > most {
			missing = max(missing, name)
		}
	}
	if size := h.vm.sizes["InstanceKlass"]; size == 0 || size > 1<<12 {
		missing = "size of InstanceKlass"
	}
	if missing != "" {
		return fmt.Errorf("%w: no %s", ErrNoTables, missing)
	}
	return nil
}

// Name implements heap.Allocator.
func (h *javaHeap) Name() string { return "Java heap" }

// Records implements heap.Allocator: the virtual machine's own memory is that of other allocators.
func (h *javaHeap) Records() [][2]uint64 { return nil }

// Ranges implements heap.Ranged.
func (h *javaHeap) Ranges() [][2]uint64 { return [][2]uint64{h.reserved} }

// Damages implements heap.Allocator.
func (h *javaHeap) Damages() []heap.Damage {
	h.survey()
	return h.damages
}

// Blocks implements heap.Allocator.
func (h *javaHeap) Blocks(yield func(heap.Block) bool) {
	for i := range h.spaces {
		if !h.walk(&h.spaces[i], h.spaces[i].start, yield) {
			return
		}
	}
	h.surveyed = true
}

// survey goes through the heap once, to know the places from which objects are found, and what is wrong.
func (h *javaHeap) survey() {
	if !h.surveyed {
		h.starts, h.damages = nil, nil
		h.Blocks(func(heap.Block) bool { return true })
	}
}

// BlockAt implements heap.Allocator.
func (h *javaHeap) BlockAt(addr uint64) (out heap.Block, ok bool) {
	i := heap.Within(h.spaces, addr, func(s *space) (start, end uint64) { return s.start, s.end })
	if i < 0 {
		return out, false
	}
	h.survey()
	s := &h.spaces[i]
	from := s.start
	if k, exact := slices.BinarySearch(h.starts, addr); exact || k > 0 {
		if !exact {
			k--
		}
		from = max(from, h.starts[k])
	}
	h.walk(s, from, func(b heap.Block) bool {
		if b.Contains(addr) {
			out, ok = b, true
		}
		return b.End() <= addr
	})
	return out, ok
}

// passed takes note of a place at which an object begins.
func (h *javaHeap) passed(at uint64) {
	if h.surveyed {
		return
	}
	if n := len(h.starts); n == 0 || at-h.starts[n-1] >= perCheckpoint {
		h.starts = append(h.starts, at)
	}
}

// wrong takes note of memory in which no objects are found.
func (h *javaHeap) wrong(at, end uint64, why string) {
	if !h.surveyed && len(h.damages) < maxHeapDamages {
		h.damages = append(h.damages, heap.Damage{At: at, Size: int(min(end-at, 1<<30)), Why: fmt.Sprintf("%s; up to %#x no objects are known", why, end)})
	}
}

// walk calls yield for what is in a space from an object on, until it returns false.
func (h *javaHeap) walk(s *space, from uint64, yield func(heap.Block) bool) bool {
	g, _ := slices.BinarySearchFunc(h.gaps, from, func(g gap, at uint64) int { return cmp.Compare(g.end, at+1) })
	rest := s.top
	for at, n := from, 0; at < s.top; n++ {
		if n%64 == 0 && h.vm.spend(64) != nil {
			h.wrong(at, s.top, "more objects than may be looked at")
			break
		}
		limit, next := s.top, s.top // no object goes on past limit, and at next one begins, or none
		if g < len(h.gaps) && h.gaps[g].start < s.top {
			x := &h.gaps[g]
			if at >= x.start {
				if x.start < x.end && !yield(heap.Block{Start: x.start, Size: x.end - x.start, Free: true, List: "TLAB"}) {
					return false
				}
				at = max(at, x.end)
				g++
				continue
			}
			limit, next = x.start, x.start
			if at < x.first {
				next = x.first
			}
		}
		size, why := h.sizeAt(at, limit)
		if why != "" {
			to := h.nextObject(at, next)
			if !h.taken(at, to) {
				h.wrong(at, to, why)
			} else if !yield(heap.Block{Start: at, Size: to - at, Own: true}) {
				return false
			}
			at = to
			continue
		}
		h.passed(at)
		if !yield(heap.Block{Start: at, Size: size}) {
			return false
		}
		if at += size; s.single {
			rest = at
			break
		}
	}
	return rest >= s.end || yield(heap.Block{Start: rest, Size: s.end - rest, Free: true, List: s.name})
}

// maxTaken is the size of an object that a thread may be about to write: larger ones are not allocated behind others.
const maxTaken = 1 << 16

// taken reports whether memory between two objects is what a thread took for an object and has not written to yet: all of it is zero, and there are
// no more such places than threads.
func (h *javaHeap) taken(at, end uint64) bool {
	if h.took[at] {
		return true
	}
	if end-at > maxTaken || h.surveyed || len(h.took) >= h.threads {
		return false
	}
	for w := at; w < end; w += 8 {
		if b := h.w.read(w, 8); len(b) < 8 || binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
	}
	if h.took == nil {
		h.took = map[uint64]bool{}
	}
	h.took[at] = true
	return true
}

// nextObject is the next place before next at which objects begin, so many that they are no chance; next if there is none.
func (h *javaHeap) nextObject(at, next uint64) uint64 {
	const enough = 8 // objects, one behind the other
	for c, n := at+h.align, 0; c < next; c, n = c+h.align, n+1 {
		if n%64 == 0 && h.vm.spend(64) != nil {
			break
		}
		for o, k := c, 0; ; k++ {
			if o == next || k == enough {
				return c
			}
			if klass := h.klassIn(h.w.read(o, headBytes)); !h.loaded[klass] {
				break
			}
			size, why := h.sizeAt(o, next)
			if why != "" {
				break
			}
			o += size
		}
	}
	return next
}

// klassIn is where the class of an object is that begins with some bytes; 0 if they are too few.
func (h *javaHeap) klassIn(b []byte) uint64 {
	o := &h.vm.objects
	switch {
	case uint64(len(b)) < h.lengthAt:
		return 0
	case o.inMark:
		if v := binary.LittleEndian.Uint64(b) >> klassInMark; v != 0 {
			return o.base + v<<o.narrowKlass.shift
		}
	case !o.compressed:
		return binary.LittleEndian.Uint64(b[klassOffset:])
	default:
		if v := binary.LittleEndian.Uint32(b[klassOffset:]); v != 0 {
			return o.base + uint64(v)<<o.narrowKlass.shift
		}
	}
	return 0
}

// sizeAt is how many bytes the object at an address has, none of which are past limit; why says what is wrong with it.
func (h *javaHeap) sizeAt(at, limit uint64) (size uint64, why string) {
	b := h.w.read(at, headBytes)
	if uint64(len(b)) < h.lengthAt {
		return 0, "it is not in the dump"
	}
	klass := h.klassIn(b)
	c := h.class(klass)
	if c == nil {
		return 0, fmt.Sprintf("no class is at %#x", klass)
	}
	if size, why = h.sizeOf(c, at, b); why == "" && (size > limit-at || size == 0) {
		why = fmt.Sprintf("%s of %d bytes is past the end of what has objects", c.name, size)
	}
	return size, why
}

func (h *javaHeap) sizeOf(c *heapClass, at uint64, b []byte) (size uint64, why string) {
	switch c.kind {
	case arraySize:
		n := int32(-1)
		if h.lengthAt+4 <= uint64(len(b)) {
			n = int32(binary.LittleEndian.Uint32(b[h.lengthAt:]))
		}
		if n < 0 {
			return 0, fmt.Sprintf("%s has %d elements", c.name, n)
		}
		size = c.header + uint64(n)<<c.shift
	case mirrorSize, chunkSize:
		off := h.offsets.mirrorSize
		if c.kind == chunkSize {
			off = h.chunkWords
		}
		b := h.w.read(at+off, 4)
		if len(b) < 4 {
			return 0, "it is not in the dump"
		}
		n := uint64(binary.LittleEndian.Uint32(b))
		if size = 8 * n; c.kind == chunkSize {
			bits := n * 8 / h.refSize // one for each reference that may be there
			size = c.size + 8*n + (bits+63)/64*8
		}
		if size < c.size { // whether it is too large, its space tells
			return 0, fmt.Sprintf("%s has %d words", c.name, n)
		}
	default:
		size = c.size
	}
	return (size + h.align - 1) &^ (h.align - 1), ""
}

// A heapWindow reads memory in pieces, by rising addresses.
type heapWindow struct {
	mem  procmem.Reader
	at   uint64
	data []byte
	buf  []byte
}

// read is memory, as much as is there of it, until the next read.
func (w *heapWindow) read(at uint64, n int) []byte {
	const piece = 64 << 10
	if off := at - w.at; off < uint64(len(w.data)) && uint64(len(w.data))-off >= uint64(n) {
		return w.data[off:][:n]
	}
	if w.buf == nil {
		w.buf = make([]byte, piece)
	}
	w.at, w.data = at, w.buf[:w.mem.Fill(at, w.buf)]
	return w.data[:min(n, len(w.data))]
}
