package ruby

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/procmem"
)

// An objectHeap has the pages of Ruby's objects. It implements heap.Allocator and heap.Ranged.
type objectHeap struct {
	r     *runtime
	names        // without what the analysis may spend: how many objects there are bounds the work
	pages []page // by address
	cut   bool   // there are more
}

// Heap implements heap.Owner.
func (r *runtime) Heap() heap.Allocator { return r.objects.Allocator() }

func (r *runtime) findHeap() (*objectHeap, error) {
	h := &objectHeap{r: r, names: names{memory: r.memory, symbols: r.symbols, shapes: r.shapes}}
	h.Reader = procmem.Of(r.p.State)
	h.cut = !r.pages(func(p page) bool {
		if p.slots > 0 && p.start%8 == 0 && r.p.Spend(1) == nil {
			h.pages = append(h.pages, p)
		}
		return true
	})
	slices.SortFunc(h.pages, func(a, b page) int { return cmp.Compare(a.start, b.start) })
	end := uint64(0)
	h.pages = slices.DeleteFunc(h.pages, func(p page) bool { // a page that lies in another is none
		within := p.start < end
		end = max(end, p.end())
		return within
	})
	if len(h.pages) == 0 {
		return nil, nil
	}
	return h, nil
}

// Name implements heap.Allocator.
func (h *objectHeap) Name() string { return "Ruby's objects" }

// block is the i-th of a page, of which flags are the first word.
func (p *page) block(i, flags uint64) heap.Block {
	b := heap.Block{Start: p.start + i*p.size, Size: p.size}
	if flags&typeMask == 0 {
		b.Free, b.List = true, "free slot"
	}
	return b
}

// Blocks implements heap.Allocator.
func (h *objectHeap) Blocks(yield func(heap.Block) bool) {
	for k := range h.pages {
		p := &h.pages[k]
		b := h.Some(p.start, int(p.slots*p.size))
		for i := range p.slots {
			flags := uint64(0) // what the dump does not have is not in use
			if off := i * p.size; off+8 <= uint64(len(b)) {
				flags = h.Arch.Word(b[off:])
			}
			if !yield(p.block(i, flags)) {
				return
			}
		}
	}
}

// page is the page that has an address; nil for none.
func (h *objectHeap) page(addr uint64) *page {
	k := heap.Within(h.pages, addr, func(p *page) (start, end uint64) { return p.start, p.end() })
	if k < 0 {
		return nil
	}
	return &h.pages[k]
}

// holds reports whether an object begins at an address.
func (h *objectHeap) holds(v uint64) bool {
	if h == nil {
		return false
	}
	p := h.page(v)
	return p != nil && (v-p.start)%p.size == 0 && h.flags(v)&typeMask != 0
}

// BlockAt implements heap.Allocator.
func (h *objectHeap) BlockAt(addr uint64) (heap.Block, bool) {
	p := h.page(addr)
	if p == nil {
		return heap.Block{}, false
	}
	i := (addr - p.start) / p.size
	return p.block(i, h.Word(p.start+i*p.size)), true
}

// Records implements heap.Allocator: what the collector knows of pages leads to no object that is not in use.
func (h *objectHeap) Records() [][2]uint64 { return nil }

// Ranges implements heap.Ranged.
func (h *objectHeap) Ranges() (list [][2]uint64) {
	for i := range h.pages {
		list = append(list, [2]uint64{h.pages[i].start, h.pages[i].end()})
	}
	return list
}

// Damages implements heap.Allocator.
func (h *objectHeap) Damages() (list []heap.Damage) {
	if h.cut && len(h.pages) > 0 {
		list = append(list, heap.Damage{At: h.pages[len(h.pages)-1].end(), Why: "Ruby's list of pages ends early, or is too long"})
	}
	return list
}

// Unknown implements heap.Objects.
func (r *runtime) Unknown() string { return r.objects.Unknown("Ruby") }

// Names of what is not of a class of the program.
var otherTypes = [...]string{typeInternal: "Ruby's internal object", typeInternal + 1: "Ruby's syntax tree", typeIncluded: "included module",
	typeIncluded + 1: "object to be finalized", typeIncluded + 2: "moved object"}

// internalTypes are the names of internal objects by their numbers.
var internalTypes = [...]string{"environment of a block", "cref", "svar", "throw data", "ifunc", "memo", "method entry", "instruction sequence", "tmpbuf", "ast", "parser's buffer",
	"call info", "call cache", "constant cache"}

// ObjectIn implements heap.Objects: what the flags of an object and its class say.
func (r *runtime) ObjectIn(start, size uint64, b []byte) (heap.Object, bool) {
	h := r.objects.Known()
	if h == nil || len(b) < 16 {
		return heap.Object{}, false
	}
	if p := h.page(start); p == nil || (start-p.start)%p.size != 0 || size != p.size {
		return heap.Object{}, false
	}
	f := h.Arch.Word(b)
	t := f & typeMask
	switch {
	case t == 0:
		return heap.Object{}, false
	case t == typeInternal:
		name := otherTypes[t]
		if n := f >> flagUser & 15; n < uint64(len(internalTypes)) {
			name = "Ruby's " + internalTypes[n]
		}
		return heap.Object{Type: name}, true
	case t < uint64(len(otherTypes)) && otherTypes[t] != "":
		return heap.Object{Type: otherTypes[t]}, true
	}
	if t > typeRational && t != typeSymbol {
		return heap.Object{}, false // values that are no objects
	}
	name := h.classOf(start)
	switch {
	case name == "" && !h.is(h.Arch.Word(b[8:]), typeClass):
		return heap.Object{}, false // it has no class
	case name == "":
		name = "object of a class without a name"
	}
	out := heap.Object{Type: name, Owns: h.parts(start, f)}
	if !h.classAt(h.Arch.Word(b[8:])).singleton {
		out.Links = 1 << 1 // classes are the program's: that an object is of one keeps alive only what is its own
	}
	return out, true
}

// parts are the blocks that belong to an object: what is in it, or where others are, is none.
func (h *objectHeap) parts(at, f uint64) (list []heap.Owned) {
	has := func(part uint64, what string) {
		if part != 0 && h.page(part) == nil {
			list = append(list, heap.Owned{At: part, What: what})
		}
	}
	switch f & typeMask {
	case typeString:
		if f&flagHere != 0 { // that it is not here
			has(h.field(at, "string.pointer"), partText)
		}
	case typeArray:
		if from, _, ok := h.list(at); ok {
			has(from, partElements)
		}
	case typeHash:
		h.tables(at, f, has)
	case typeObject:
		if f&flagHere == 0 {
			has(h.field(at, "object.heap"), partVariables)
		}
	case typeStruct:
		if from, _, ok := h.structure(at); ok {
			has(from, partMembers)
		}
	case typeBignum:
		if f&bignumHere == 0 {
			has(h.field(at, "bignum.heap"), partDigits)
		}
	case typeClass, typeModule:
		if h.has("class.ext") {
			has(h.field(at, "class.ext"), partClass)
		}
	case typeData:
		has(h.contents(at), partData)
	case typeRegexp:
		has(h.field(at, "regexp.pattern"), partPattern)
	}
	return list
}

// Names of blocks that belong to objects.
const (
	partText      = "String's text"
	partElements  = "Array's elements"
	partTable     = "Hash's table"
	partVariables = "object's variables"
	partMembers   = "Struct's members"
	partDigits    = "Integer's digits"
	partClass     = "class's own"
	partData      = "data of C"
	partPattern   = "Regexp's pattern"
)

// tables has those of a Hash.
func (h *objectHeap) tables(at, f uint64, has func(part uint64, what string)) {
	if f&hashTable == 0 {
		if h.has("hash.ar") {
			has(h.field(at, "hash.ar"), partTable)
		}
		return
	}
	table := at + h.at("hash.inside")
	if h.has("hash.st") {
		table = h.field(at, "hash.st")
		has(table, partTable)
	}
	has(h.field(table, "st.list"), partTable)
	has(h.field(table, "st.bins"), partTable)
}

// Variables implements heap.Objects: the global variables of the program, and those of calls.
func (r *runtime) Variables(yield func(name string, value uint64) bool) {
	more := true
	give := func(name string, value uint64) bool {
		if more && r.objects.Known().holds(value) {
			more = yield(name, value)
		}
		return more && r.p.Spend(1) == nil
	}
	if !r.globalVariables(give) {
		return
	}
	for i, t := range r.threadList() {
		if i >= maxNamedThreads {
			return
		}
		list, _ := r.calls(t.ec)
		for k := range list[:min(len(list), maxNamedCalls)] {
			c := &list[k]
			if c.f == nil {
				continue
			}
			args, own := r.variables(c, true, r.p.Limits)
			for _, v := range append(args, own...) {
				value, ok := r.LookupWord(v.Address)
				if ok && v.Name != "self" && !give(v.Name+" of "+c.function, value) {
					return
				}
			}
		}
	}
}

// Limits of the variables that name what leads to objects.
const (
	maxNamedThreads = 1 << 10
	maxNamedCalls   = 1 << 10
)
