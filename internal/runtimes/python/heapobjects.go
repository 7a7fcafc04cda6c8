package python

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/libstate"
)

// More flags of types.
const (
	flagPreheader = 3 << 3  // words for a dict and for weak references come before the objects, or one of them; of 3.11 there is the dict's flag only
	flagReady     = 1 << 12 // the type can be used
	flagGC        = 1 << 14 // the collector's head comes before the objects
)

const (
	maxHeapTypes   = 1 << 16
	maxDequeBlocks = 1 << 22 // of all deques
	maxMetas       = 4       // types of types, each of which is the next one's
	maxRefs        = 1<<32 - 1
	manyRefs       = 1 << 16 // no memory is below
	debugHead      = 16      // what PYTHONMALLOC=debug and debug builds put before a block
)

// A heapType is a type as far as objects in blocks need it.
type heapType struct {
	*typ
	name string // with its module, as Python writes it
	kept string // of objects that were freed, and that the interpreter keeps to use them again
	head uint64 // bytes before the objects
	owns func(o *object)
}

// An object is one whose blocks are looked for.
type object struct {
	r    *runtime
	at   uint64
	b    []byte // its first bytes
	owns []heap.Owned
}

// word is a word of the object; 0 past what is there.
func (o *object) word(off uint64) uint64 {
	if off > uint64(len(o.b)) || uint64(len(o.b))-off < 8 {
		return 0
	}
	return o.r.p.State.Arch().ByteOrder.Uint64(o.b[off:])
}

// has says that a block is the object's.
func (o *object) has(at uint64, what string) {
	if at != 0 {
		o.owns = append(o.owns, heap.Owned{At: at, What: what})
	}
}

// ObjectIn implements heap.Objects. Free-threaded builds have other heads, which are not known.
func (r *runtime) ObjectIn(start, size uint64, b []byte) (heap.Object, bool) {
	if r.free {
		return heap.Object{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	debug := debugHeadOf(b)
	gc := r.at("gc.head")
	heads := [...]uint64{0, gc, gc + 16}
	var freed heap.Object
	// Types that are known are looked for first: what an object begins with may look like the address of one that is not. And those whose objects have no head
	// come first: the collector's links lead to no type, while a number may be the address of one.
	for _, metas := range [...]int{0, maxMetas} {
		for i, head := range heads {
			if i == 2 && r.minor < 11 {
				continue
			}
			t := r.heapTypeAt(r.wordOf(b, debug+head+r.at("object.type")), metas)
			if t == nil || t.head != head {
				continue
			}
			o, ok := r.objectOf(t, start, size, b, debug+head)
			if ok && !o.Freed {
				return o, true
			}
			if ok && freed.Type == "" { // or what was there before, where the head has not been written yet
				freed = o
			}
		}
	}
	return freed, freed.Type != ""
}

// Unknown implements heap.Objects.
func (r *runtime) Unknown() string {
	if r.free {
		return "free-threaded builds of Python have objects of another form, in mimalloc's heap"
	}
	return ""
}

// wordOf is a word of memory that was read; 0 past its end.
func (r *runtime) wordOf(b []byte, off uint64) uint64 {
	if off+8 > uint64(len(b)) {
		return 0
	}
	return r.p.State.Arch().ByteOrder.Uint64(b[off:])
}

// debugHeadOf is how many bytes the hooks for debugging put before a block: its size, a letter, bytes that nobody may write. What is too large for pools has
// two such heads, as the C library's malloc has hooks, too.
func debugHeadOf(b []byte) (head uint64) {
	for range 2 {
		h := b[min(head, uint64(len(b))):]
		if len(h) < debugHead || h[8] != 'o' && h[8] != 'm' && h[8] != 'r' {
			return head
		}
		for _, c := range h[9:debugHead] {
			if c != 0xfd && c != 0xfb {
				return head
			}
		}
		head += debugHead
	}
	return head
}

// objectOf proves an object of a type at an offset of a block.
func (r *runtime) objectOf(t *heapType, start, size uint64, b []byte, off uint64) (heap.Object, bool) {
	refs := r.wordOf(b, off+r.at("object.type")-8)
	switch {
	case r.minor >= 14 && refs>>32&0xffff != 0:
		return heap.Object{}, false
	case r.minor >= 14:
		refs &= maxRefs
	}
	least := uint64(t.basic)
	if t.flags&flagStr != 0 { // most are shorter than what the type says
		least = min(least, r.at("str.ascii")+1)
	}
	if refs > maxRefs || off > size || least > size-off {
		return heap.Object{}, false
	}
	if refs >= manyRefs && refs%8 == 0 && r.inLowData(refs) {
		return heap.Object{}, false // no count, but an address, as programs at low ones have them
	}
	if t.flags&(flagTuple|flagBytes) != 0 {
		if n := r.wordOf(b, off+r.at("var.size")); n > (size-off-least)/uint64(max(t.item, 1)) {
			return heap.Object{}, false
		}
	}
	if refs == 0 {
		return heap.Object{Type: t.kept, Head: off, Freed: true}, true
	}
	out := heap.Object{Type: t.name, Head: off}
	if t.owns != nil {
		o := &r.asked
		o.r, o.at, o.b, o.owns = r, start+off, b[off:], o.owns[:0]
		t.owns(o)
		if t.flags&flagManagedDict != 0 && off >= 32 && r.minor < 13 {
			o.has(r.managedValues(b[off-32:]), partAttributes)
		}
		out.Owns = o.owns
	}
	return out, true
}

// inLowData reports whether an address is in memory that may be written to, and is as small as a count of references. r.mu is held.
func (r *runtime) inLowData(at uint64) bool {
	if r.lowData == nil {
		r.lowData = [][2]uint64{{}}
		if p, ok := r.p.State.(heap.Process); ok {
			for _, m := range p.Mappings() {
				if m.Perm&libstate.Write != 0 && m.Start <= maxRefs {
					r.lowData = append(r.lowData, [2]uint64{m.Start, m.End})
				}
			}
		}
	}
	return slices.ContainsFunc(r.lowData, func(m [2]uint64) bool { return at-m[0] < m[1]-m[0] })
}

// managedValues are the attributes of an object of 3.11 or 3.12 that has no dict, by the words before it.
func (r *runtime) managedValues(b []byte) uint64 {
	if r.minor == 11 {
		return r.wordOf(b, 0)
	}
	if v := r.wordOf(b, 8); v&1 != 0 {
		return v + 1
	}
	return 0
}

// heapTypeAt is the type at an address; nil if there is none. What is not known yet is looked at where metas, how many types of types there may be, is
// not 0.
func (r *runtime) heapTypeAt(at uint64, metas int) *heapType {
	t, ok := r.heapTypes[at]
	if ok || metas == 0 || at == 0 || at&7 != 0 || at >= 1<<56 || len(r.heapTypes) >= maxHeapTypes {
		return t
	}
	// What most words that are no type lead to is not a type's: its own type is type, or derived from that.
	meta := r.quickWord(at + r.at("object.type"))
	if r.typeType == 0 {
		r.typeType = r.field(r.codeT, "object.type")
	}
	if meta == 0 || meta != r.typeType {
		if up := r.heapTypeAt(meta, metas-1); up == nil || up.flags&flagType == 0 {
			return nil
		}
	}
	if t = r.readHeapType(at); r.heapTypes == nil {
		r.heapTypes = map[uint64]*heapType{}
	}
	r.heapTypes[at] = t // also that it is none
	return t
}

// quickWord reads a word that most often is there.
func (r *runtime) quickWord(at uint64) uint64 {
	v, err := r.p.State.ReadWord(at)
	if err != nil {
		return 0
	}
	return v
}

func (r *runtime) readHeapType(at uint64) *heapType {
	t := r.readType(at)
	if t == nil || t.flags&flagReady == 0 || t.basic < int64(r.at("object.size")) || t.basic > 1<<20 || t.item < 0 || t.item > 1<<20 {
		return nil
	}
	h := &heapType{typ: t, name: r.fullName(t)}
	h.kept = h.name + ", kept for reuse"
	if t.flags&flagGC != 0 {
		h.head = r.at("gc.head")
	}
	pre := uint64(flagPreheader)
	if r.minor == 11 {
		pre = flagManagedDict
	}
	if r.minor >= 11 && t.flags&pre != 0 {
		h.head += 16
	}
	h.owns = r.ownsOf(t)
	return h
}

// fullName is the name of a type with its module: of those that the program made the name alone is in the type.
func (r *runtime) fullName(t *typ) string {
	if t.flags&flagHeap == 0 {
		return t.name
	}
	name := t.name
	if s, ok := r.str(r.word(t.at+r.at("heaptype.cached_keys")-8), maxName); ok && s != "" {
		name = s
	}
	module, ok := r.str(r.get(r.word(t.at+r.at("type.dict")), "__module__", maxMembers), maxName)
	if !ok || module == "" || module == "builtins" {
		return name
	}
	return module + "." + name
}

// Names of blocks that belong to objects.
const (
	partAttributes = "attribute values"
	partKeys       = "dict keys"
)

// builtBy is the type in C whose part of an object a class of the program has: its base, or that of its base.
func (r *runtime) builtBy(t *typ) *typ {
	for range maxBases {
		if t.flags&flagHeap == 0 || strings.Contains(t.name, ".") { // types that C makes have the name of their module
			break
		}
		base := r.typeAt(r.word(t.at + r.at("type.base")))
		if base == nil {
			break
		}
		t = base
	}
	return t
}

// ownsOf says which blocks besides their own the objects of a type have; nil for none.
func (r *runtime) ownsOf(t *typ) func(o *object) {
	of := r.builtBy(t)
	size := r.at("object.size")
	switch {
	case t.flags&flagList != 0:
		return func(o *object) {
			o.has(o.word(r.at("list.items")), "list items")
			// PyListObject: how many it holds, the items, for how many there is room
			const word = 8
			held, room := o.word(r.at("list.items")-word), o.word(r.at("list.items")+word)
			if n := len(o.owns); n > 0 && held <= room && room <= 1<<40 {
				o.owns[n-1].Idle = (room - held) * word
			}
		}
	case t.flags&flagDict != 0:
		return func(o *object) {
			o.has(o.word(r.at("dict.keys")), partKeys)
			o.has(o.word(r.at("dict.values")), partAttributes)
		}
	case t.name == "module" && t.flags&flagHeap == 0:
		return func(o *object) { // the variables of modules name what they lead to
			if len(r.modules) < maxModuleObjects {
				r.modules = append(r.modules, o.at)
			}
		}
	case t.flags&flagType != 0:
		return func(o *object) { o.has(r.quickWord(o.at+r.at("heaptype.cached_keys")), partKeys) }
	case t.flags&flagStr != 0:
		return func(o *object) {
			_, compact, ascii := r.textState(uint32(o.word(r.at("str.state"))))
			if compact && ascii {
				return // all is in the object
			}
			o.has(o.word(r.at("str.ascii")+8), "str's text") // a copy in UTF-8
			if !compact {
				o.has(o.word(r.at("str.compact")), "str's text")
			}
		}
	case isSet(of):
		return func(o *object) { o.has(o.word(r.at("set.table")), "set table") }
	case of.name == "bytearray":
		return func(o *object) { o.has(o.word(size+16), "bytearray's bytes") }
	case of.name == "array.array":
		return func(o *object) { o.has(o.word(size+8), "array items") }
	case of.name == "numpy.ndarray":
		return func(o *object) { o.has(o.word(size), "numpy.ndarray's data") }
	case isDeque(of):
		return func(o *object) { o.dequeBlocks(size) }
	}
	if t.flags&flagManagedDict != 0 {
		return func(*object) {}
	}
	return nil
}

// dequeBlocks are the blocks of a deque: each has a link, 64 elements, and a link to the next.
func (o *object) dequeBlocks(size uint64) {
	const next = 8 + 64*8
	n := o.word(size)/64 + 2
	last := o.word(size + 16)
	for block := o.word(size + 8); block != 0 && n > 0; n-- {
		o.has(block, "deque block")
		if o.r.dequeBlocks++; block == last || o.r.dequeBlocks > maxDequeBlocks || o.r.p.Spend(1) != nil {
			return
		}
		block = o.r.quickWord(block + next)
	}
}
