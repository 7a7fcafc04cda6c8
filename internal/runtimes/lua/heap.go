package lua

import (
	"github.com/corewalk/corewalk/internal/heap"
)

// Objects lie in blocks of whichever allocator the program gave to lua_newstate: in that of the C library's malloc, if it took Lua's own. Each begins
// with the next of the collector's list, or of a chain of equal hashes, and with its type. What it says of its size has to agree with the block.
const (
	objectType = 8
	grayList   = 6  // the word of a table that leads to the next one which the collector looks at, in all versions
	objectHead = 16 // where fields begin, at the earliest

	nativeValue = 16 // bytes of a value of a function of C, in all versions
	maxMetaName = 80 // bytes of the name of a metatable
	slack       = 40 // bytes that an allocator may give besides: what is left is too small for another block
)

// Names of blocks that belong to objects.
const (
	partArray   = "table's array"
	partFields  = "table's fields"
	partCode    = "function's code"
	partStack   = "thread's stack"
	partStrings = "table of all strings"
)

// Unknown implements heap.Objects.
func (r *runtime) Unknown() string {
	if r.jit {
		return "LuaJIT has an allocator of its own, whose objects are not read"
	}
	return ""
}

// ObjectIn implements heap.Objects.
func (r *runtime) ObjectIn(start, size uint64, b []byte) (heap.Object, bool) {
	o, ok := r.objectIn(start, size, b)
	o.Links |= 1 << (o.Head / 8) // the next object
	return o, ok
}

func (r *runtime) objectIn(start, size uint64, b []byte) (heap.Object, bool) {
	head := r.threadHead()
	if uint64(len(b)) >= head+objectHead {
		if o, ok := r.threadIn(start+head, b[head:]); ok {
			o.Head = head
			return o, true
		}
	}
	if len(b) < objectHead || r.Arch.Word(b)%8 != 0 {
		return heap.Object{}, false
	}
	o := object{r: r, at: start, size: size, b: b}
	switch tag := b[objectType]; {
	case tag&15 == tagString && r.isString(&o):
		return heap.Object{Type: "string"}, true
	case tag == tagTable && r.isTable(&o):
		return heap.Object{Type: "table", Links: 1 << grayList, Owns: []heap.Owned{{At: o.field("table.array"), What: partArray}, {At: o.field("table.nodes"), What: partFields}}}, true
	case tag&15 == tagFunction && r.isFunction(&o):
		return heap.Object{Type: "function"}, true
	case tag == tagData && r.isData(&o):
		name := "userdata"
		if s := r.metaName(o.field("data.meta")); s != "" {
			name += " " + s
		}
		return heap.Object{Type: name}, true
	case tag == r.tagPrototype() && r.isPrototype(&o):
		out := heap.Object{Type: "function prototype"}
		for _, f := range [...]string{"code", "constants", "functions", "lines", "abslines", "upvalues", "variables"} {
			if at := o.field("function." + f); at != 0 {
				out.Owns = append(out.Owns, heap.Owned{At: at, What: partCode})
			}
		}
		return out, true
	case tag == r.tagUpvalue() && r.isUpvalue(&o):
		return heap.Object{Type: "upvalue"}, true
	}
	return heap.Object{}, false
}

// An object is what may be one: a block of so many bytes, and its first ones.
type object struct {
	r        *runtime
	at, size uint64
	b        []byte
}

// field is a pointer in the object; 0 past what was read.
func (o *object) field(name string) uint64 {
	if off := o.r.at(name); off <= uint64(len(o.b)) && uint64(len(o.b))-off >= 8 {
		return o.r.Arch.Word(o.b[off:])
	}
	return 0
}

// fits reports whether an object of so many bytes may have got the block.
func (o *object) fits(need uint64) bool {
	return need <= o.size && o.size-need < max(slack, need/4)
}

// threadHead is how much the program has for itself before each thread.
func (r *runtime) threadHead() uint64 {
	if r.minor >= 3 {
		return 8
	}
	return 0
}

// tagUpvalue is the tag of what functions share; of 5.3 the collector does not know them.
func (r *runtime) tagUpvalue() byte {
	switch r.minor {
	case 3:
		return 0xff
	case 4:
		return 9
	}
	return 10
}

// threadIn proves a thread by its global state, whose main thread has that state, too.
func (r *runtime) threadIn(at uint64, b []byte) (heap.Object, bool) {
	o := object{r: r, at: at, b: b}
	g := o.field("state.global")
	if b[objectType] != tagThread || g == 0 || g%8 != 0 || r.Arch.Word(b)%8 != 0 || !r.is(at, tagThread) {
		return heap.Object{}, false
	}
	main := r.field(g, "global.main")
	if !r.is(main, tagThread) || r.field(main, "state.global") != g {
		return heap.Object{}, false
	}
	out := heap.Object{Type: "thread", Owns: []heap.Owned{{At: o.field("state.stack"), What: partStack}}}
	if at == main {
		out.Type = "main thread, with what all threads share"
		out.Owns = append(out.Owns, heap.Owned{At: r.Word(g + r.stringTable()), What: partStrings, Weak: true})
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.states[g] {
			r.states[g] = true
			r.order = append(r.order, g)
		}
	}
	return out, true
}

// stringTable is where the global state has the table of strings: first in 5.1, and later just before the registry, with two numbers.
func (r *runtime) stringTable() uint64 {
	if r.minor == 1 {
		return 0
	}
	return r.at("global.registry") - 16
}

// isString: its length agrees with the block, and a zero ends it.
func (r *runtime) isString(o *object) bool {
	off := r.at("string.text")
	n := o.field("string.length")
	if at := r.at("string.short"); r.minor > 2 && o.b[objectType]>>4 == 0 && at < uint64(len(o.b)) {
		n = uint64(o.b[at])
	}
	if n >= o.size || !o.fits(off+n+1) {
		return false
	}
	if end := off + n; end < uint64(len(o.b)) {
		return o.b[end] == 0
	}
	last, ok := r.U8(o.at + off + n)
	return ok && last == 0
}

// isTable: it has the size of one, a part for fields (one that all empty tables share, at least) in which the last free field is, and if any, a metatable,
// which is a table.
func (r *runtime) isTable(o *object) bool {
	size := max(56, (r.at("table.arraysize")+4+7)&^7)
	if !o.fits(size) || uint64(len(o.b)) < size {
		return false
	}
	meta, nodes, array := o.field("table.meta"), o.field("table.nodes"), o.field("table.array")
	log, free := o.b[r.at("table.sizelog")], r.Arch.Word(o.b[r.at("table.nodes")+8:])
	if log > maxNodes || nodes%8 != 0 || array%8 != 0 || meta != 0 && !r.is(meta, tagTable) || free != 0 && free-nodes > r.at("node.size")<<log {
		return false
	}
	_, ok := r.LookupWord(nodes)
	return ok
}

// isFunction: one of Lua has its prototype, one of C an address of code.
func (r *runtime) isFunction(o *object) bool {
	count := r.at("closure.count")
	if count >= uint64(len(o.b)) {
		return false
	}
	n := uint64(o.b[count])
	native := o.b[objectType]>>4 != 0
	if r.minor == 1 {
		native = o.b[r.at("closure.isc")] != 0
	}
	if !native {
		return o.fits(r.at("closure.upvalues")+8*n) && r.is(o.field("closure.function"), r.tagPrototype())
	}
	if r.p.State == nil || !o.fits(r.at("closure.values")+nativeValue*n) {
		return false
	}
	libs := r.p.State.LibraryTracker()
	if libs == nil {
		return false
	}
	_, ok := libs.LibraryAt(o.field("closure.native"))
	return ok
}

// isData: its length agrees with the block, and what it has for a metatable is one.
func (r *runtime) isData(o *object) bool {
	length, head := uint64(32), uint64(40)
	switch r.minor {
	case 3:
		length = 24
	case 4:
		length = 16
		if n := uint64(o.b[10]) | uint64(o.b[11])<<8; n > 0 {
			head += 16 * n
		} else {
			head = 32
		}
	}
	if uint64(len(o.b)) < length+8 {
		return false
	}
	n := r.Arch.Word(o.b[length:])
	meta := o.field("data.meta")
	return n < o.size && o.fits(head+n) && (meta == 0 || r.is(meta, tagTable))
}

// isPrototype: it has code, and the text that says where it comes from, if anything.
func (r *runtime) isPrototype(o *object) bool {
	source, code := o.field("function.source"), o.field("function.code")
	if code == 0 || code%4 != 0 || source != 0 && !r.is(source, tagString) || o.size < r.at("function.source")+8 {
		return false
	}
	_, ok := r.U32(code)
	return ok
}

// isUpvalue: it has its own value, or it is in the list of those that lead to values on a stack.
func (r *runtime) isUpvalue(o *object) bool {
	const own, next = 24, 32 // where its value is, or its place in the list
	at := o.field("upvalue.at")
	if !o.fits(40) || len(o.b) < 40 || at%8 != 0 {
		return false
	}
	if at != o.at+own { // an open one
		from := r.Arch.Word(o.b[next:])
		if r.minor <= 2 {
			from += own // the next one leads back
		}
		if from%8 != 0 || r.Word(from) != o.at {
			return false
		}
	}
	_, ok := r.valueAt(at)
	return ok
}

// metaName is the name that luaL_newmetatable gave to a metatable; "" for none.
func (r *runtime) metaName(meta uint64) string {
	if meta == 0 {
		return ""
	}
	return r.metas.Get(meta, func() string {
		if v := r.lookup(meta, "__name"); v.kind == kindString {
			if s, n, ok := r.text(v.bits, maxMetaName); ok && n <= maxMetaName {
				return s
			}
		}
		return ""
	})
}

// Variables implements heap.Objects: global variables, but for what Lua has by itself, and then the registry and the loaded modules.
func (r *runtime) Variables(yield func(name string, value uint64) bool) {
	r.mu.Lock()
	all := append([]uint64(nil), r.order...)
	r.mu.Unlock()
	for _, g := range all {
		registry, ok := r.valueAt(g + r.at("global.registry"))
		if !ok || registry.kind != kindTable {
			continue
		}
		loaded := r.lookup(registry.bits, "_LOADED")
		globals := r.lookup(loaded.bits, "_G")
		more := true
		r.each(globals.bits, func(e entry) bool {
			if e.key.kind != kindString || e.value.kind < kindString || r.p.Spend(1) != nil {
				return true
			}
			name := r.name(e.key.bits)
			if name == "" || name == "_G" || e.value.kind == kindNative || e.value.kind == kindPlain || r.lookup(loaded.bits, name) == e.value {
				return true
			}
			more = yield(name, e.value.bits)
			return more
		})
		if !more || globals.kind == kindTable && !yield("_G", globals.bits) || loaded.kind == kindTable && !yield("loaded modules", loaded.bits) || !yield("registry", registry.bits) {
			return
		}
	}
}
