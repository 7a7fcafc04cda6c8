package php

import (
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
)

// Heap implements heap.Owner. It is nil where nothing came of PHP's allocator, as with USE_ZEND_ALLOC=0.
func (r *runtime) Heap() heap.Allocator { return r.objects.Allocator() }

// Unknown implements heap.Objects.
func (r *runtime) Unknown() string { return r.objects.Unknown("PHP") }

// More types of what begins with a count of references.
const (
	typeAST     = 11
	maxRefs     = 1<<31 - 1
	arraySize   = 56 // bytes
	refSize     = 32
	objectHead  = 40
	hashMask    = 12 // of an array: minus the number of words before its elements
	partOfArray = "array's elements"
	maxListed   = 1 << 24 // objects of a thread
)

// ObjectIn implements heap.Objects: strings, arrays, references, and objects of classes, which PHP lists.
func (r *runtime) ObjectIn(start, size uint64, b []byte) (heap.Object, bool) {
	h := r.objects.Known()
	if h == nil || len(b) < 16 {
		return heap.Object{}, false
	}
	if own, ok := h.BlockAt(start); !ok || own.Own || own.Start != start || own.Size != size {
		return heap.Object{}, false
	}
	if at, ok := h.listed(start, size); ok {
		if name, ok := h.className(h.field(at, "object.class")); ok {
			// Its class and what C does with it are not kept alive by it.
			return heap.Object{Type: name, Links: 3 << ((at-start)/8 + h.at("object.class")/8)}, true
		}
	}
	order := r.Arch.ByteOrder
	if refs := order.Uint32(b); refs == 0 || refs > maxRefs {
		return heap.Object{}, false
	}
	switch order.Uint32(b[4:]) & 0xf {
	case typeString:
		if h.isString(start, size, b) {
			return heap.Object{Type: "string"}, true
		}
	case typeArray:
		if size == arraySize && len(b) >= arraySize {
			return h.arrayIn(b)
		}
	case typeReference:
		if size == refSize && len(b) >= 24 && b[16] <= typeReference {
			return heap.Object{Type: "reference"}, true
		}
	}
	return heap.Object{}, false
}

// isString: what it says of its length agrees with the block, and a zero ends it.
func (h *requestHeap) isString(start, size uint64, b []byte) bool {
	text := h.at("string.text")
	if uint64(len(b)) < text {
		return false
	}
	n := h.Arch.Word(b[h.at("string.length"):])
	if need := text + n + 1; n >= size || need > size || size > 4*max(need, 64) { // a buffer of text that grows is larger
		return false
	}
	if end := text + n; end < uint64(len(b)) {
		return b[end] == 0
	}
	last, ok := h.U8(start + text + n)
	return ok && last == 0
}

// arrayIn proves an array: its numbers agree with one another, and its elements are there.
func (h *requestHeap) arrayIn(b []byte) (heap.Object, bool) {
	order := h.Arch.ByteOrder
	number := func(field string) uint64 { return uint64(order.Uint32(b[h.at(field):])) }
	used, count, slots := number("array.used"), number("array.count"), uint64(order.Uint32(b[32:]))
	words := uint64(-order.Uint32(b[hashMask:]))
	data := order.Uint64(b[h.at("array.data"):])
	if count > used || used > slots || slots&(slots-1) != 0 && order.Uint32(b[h.at("array.flags"):])&packed == 0 || words < 2 || words > 1<<32 || data == 0 || data%8 != 0 {
		return heap.Object{}, false
	}
	return heap.Object{Type: "array", Owns: []heap.Owned{{At: data - 4*words, What: partOfArray}}}, true
}

// listed finds the object of a class in a block: some have what C needs before them.
func (h *requestHeap) listed(start, size uint64) (at uint64, ok bool) {
	i, _ := slices.BinarySearch(h.objects, start)
	if i == len(h.objects) || h.objects[i]-start >= size || size-(h.objects[i]-start) < objectHead {
		return 0, false
	}
	return h.objects[i], true
}

// list reads where all objects of a thread are.
func (h *requestHeap) list(store uint64) {
	table := h.Word(store)
	top, ok := h.U32(store + 8)
	if !ok || table == 0 || table%8 != 0 || top > maxListed {
		return
	}
	const step = 1 << 12
	for from := uint64(1); from < uint64(top); from += step { // 0 is none
		words, ok := h.Words(table+8*from, int(min(step, uint64(top)-from)))
		if !ok {
			return
		}
		for _, at := range words {
			if at != 0 && at%8 == 0 { // others were given back
				h.objects = append(h.objects, at)
			}
		}
	}
}

// Variables implements heap.Objects: global variables, and those of calls.
func (r *runtime) Variables(yield func(name string, value uint64) bool) {
	give := func(name string, v zval) bool {
		return v.kind < typeString || v.kind > typeReference || r.p.Spend(1) != nil || yield("$"+name, v.value)
	}
	for _, s := range r.states() {
		globals, _ := r.array(s.executor+r.at("globals.symbols"), maxNamed)
		for _, e := range globals {
			if e.text && !give(e.key, e.value) {
				return
			}
		}
		list, _ := r.calls(s)
		for i := range list[:min(len(list), maxNamed)] {
			c := &list[i]
			if c.f == nil || c.f.kind == funcInternal || c.at == 0 {
				continue
			}
			var caller *call
			if i+1 < len(list) {
				caller = &list[i+1]
			}
			function := r.called(c, caller)
			if function == "{main}" {
				continue // its variables are the global ones
			}
			for k := range min(c.f.variables, maxVariables) {
				v, ok := r.zvalAt(c.at + slots + 16*uint64(k))
				if name := r.variableName(c.f, k); ok && name != "" && !give(name+" of "+function+"()", v) {
					return
				}
			}
		}
	}
}

// maxNamed limits the global variables, and the calls, that name what they lead to.
const maxNamed = 1 << 12

// states are the globals of all threads that have some.
func (r *runtime) states() (list []state) {
	ids, _ := r.p.State.ThreadIDs()
	for _, id := range ids {
		s, ok := r.stateOf(id)
		if ok && !slices.ContainsFunc(list, func(x state) bool { return x.executor == s.executor }) {
			list = append(list, s)
		}
	}
	return list
}
