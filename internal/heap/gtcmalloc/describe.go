package gtcmalloc

import (
	"math/bits"
	"strings"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/runtimes/layouts"
	"github.com/corewalk/corewalk/internal/vars/types"
)

// addressBits is how many bits addresses have for the allocator, on x86-64 and arm64.
const addressBits = 48

// A wanted line has the name of an entry, how it is to be read, and where it may be: members, of which "*" follows a pointer and "[]" an element of a table. The
// first member is a static one of the class Static. Of several ways the first that is there counts.
//
//	@ bytes from the last pointer or element, or from the variable
//	# bits, as a number
//	= size in bytes
//	n length of a table
//	s value of a static member
const wanted = `
map.root @ pagemap_.map_.root_
map.roots n pagemap_.map_.root_
map.mids n pagemap_.map_.root_.[].*.leafs
map.mid @ pagemap_.map_.root_.[].*.leafs
leaf.pages n pagemap_.map_.root_.[].*.sizeclass pagemap_.map_.root_.[].*.leafs.[].*.sizeclass
leaf.class @ pagemap_.map_.root_.[].*.sizeclass pagemap_.map_.root_.[].*.leafs.[].*.sizeclass
leaf.class.size = pagemap_.map_.root_.[].*.sizeclass.[] pagemap_.map_.root_.[].*.leafs.[].*.sizeclass.[]
leaf.span @ pagemap_.map_.root_.[].*.span pagemap_.map_.root_.[].*.span_and_sizeclass pagemap_.map_.root_.[].*.leafs.[].*.span pagemap_.map_.root_.[].*.leafs.[].*.span_and_sizeclass
sizes @ sizemap_.class_to_size_
sizes.count n sizemap_.class_to_size_
sizes.fine s sizemap_.kMultiPageSize
spans.free @ span_allocator_.free_list_
span.size = span_allocator_.free_list_.*
span.first # span_allocator_.free_list_.*.first_page_
span.pages # span_allocator_.free_list_.*.num_pages_
span.pages.small # span_allocator_.free_list_.*.small_span_state_.num_pages span_allocator_.free_list_.*.small_num_pages_
span.pages.large # span_allocator_.free_list_.*.large_or_sampled_state_.num_pages
span.large # span_allocator_.free_list_.*.is_large_span_
span.sampled # span_allocator_.free_list_.*.sampled_
span.location # span_allocator_.free_list_.*.location_
span.allocated # span_allocator_.free_list_.*.allocated_
span.embedded # span_allocator_.free_list_.*.embed_count_
span.freelist # span_allocator_.free_list_.*.freelist_
span.cached # span_allocator_.free_list_.*.cache_size_
span.cache @ span_allocator_.free_list_.*.cache_ span_allocator_.free_list_.*.small_span_state_.cache span_allocator_.free_list_.*.list_.cache
span.bitmap @ span_allocator_.free_list_.*.bitmap_ span_allocator_.free_list_.*.small_span_state_.bitmap
span.bitmap.size = span_allocator_.free_list_.*.bitmap_ span_allocator_.free_list_.*.small_span_state_.bitmap
span.sample @ span_allocator_.free_list_.*.sampled_stack_ span_allocator_.free_list_.*.sampled_allocation_ span_allocator_.free_list_.*.large_or_sampled_state_.sampled_allocation
sample.proxy @ span_allocator_.free_list_.*.sampled_stack_.*.proxy span_allocator_.free_list_.*.sampled_allocation_.*.sampled_stack.proxy span_allocator_.free_list_.*.large_or_sampled_state_.sampled_allocation.*.sampled_stack.proxy
sample.size @ span_allocator_.free_list_.*.sampled_stack_.*.allocated_size span_allocator_.free_list_.*.sampled_allocation_.*.sampled_stack.allocated_size span_allocator_.free_list_.*.large_or_sampled_state_.sampled_allocation.*.sampled_stack.allocated_size
cpu.slabs @ cpu_cache_.freelist_.slabs_
cpu.slab.size = cpu_cache_.freelist_.slabs_.*
cpu.packed @ cpu_cache_.freelist_.slabs_and_shift_
cpu.begins @ cpu_cache_.freelist_.begins_
cpu.resize @ cpu_cache_.resize_
resize.size = cpu_cache_.resize_.*
resize.populated @ cpu_cache_.resize_.*.populated
transfer.cache @ transfer_cache_.cache_
transfer.size = transfer_cache_.cache_.[]
transfer.slots @ transfer_cache_.cache_.[].tc.slots_ transfer_cache_.cache_.[].legacy.slots_
transfer.used @ transfer_cache_.cache_.[].tc.slot_info_ transfer_cache_.cache_.[].legacy.slot_info_
ring.slots @ transfer_cache_.cache_.[].rbtc.slots_
ring.used @ transfer_cache_.cache_.[].rbtc.slot_info_
ring.mask @ transfer_cache_.cache_.[].rbtc.slots_bitmask_
shards @ sharded_transfer_cache_.shards_
shards.count @ sharded_transfer_cache_.num_shards_
shard.size = sharded_transfer_cache_.shards_.*
shard.caches @ sharded_transfer_cache_.shards_.*.transfer_caches
sharded.size = sharded_transfer_cache_.shards_.*.transfer_caches.*
sharded.slots @ sharded_transfer_cache_.shards_.*.transfer_caches.*.slots_
sharded.used @ sharded_transfer_cache_.shards_.*.transfer_caches.*.slot_info_
sharded.mask @ sharded_transfer_cache_.shards_.*.transfer_caches.*.slots_bitmask_
thread.next @ threadcache_allocator_.free_list_.*.next_
thread.lists @ threadcache_allocator_.free_list_.*.list_
thread.list.size = threadcache_allocator_.free_list_.*.list_.[]
list.first @ threadcache_allocator_.free_list_.*.list_.[].list_
list.length @ threadcache_allocator_.free_list_.*.list_.[].length_
guard.slots @ guardedpage_allocator_.data_
guard.first @ guardedpage_allocator_.first_page_addr_
guard.end @ guardedpage_allocator_.pages_end_addr_
guard.page @ guardedpage_allocator_.page_size_
slot.size = guardedpage_allocator_.data_.*
slot.requested @ guardedpage_allocator_.data_.*.requested_size
slot.start @ guardedpage_allocator_.data_.*.allocation_start
`

// needed are the entries without which no block is found.
var needed = [...]string{"map.root", "map.roots", "leaf.pages", "leaf.class", "leaf.class.size", "leaf.span", "sizes", "sizes.count", "spans.free", "span.size", "span.first", "span.allocated", "span.freelist", "span.embedded", "span.cached", "span.cache"}

// described is the layout that debugging information has, by the class Static.
func described(static *types.Type) layout {
	l := layouts.Layout{}
	for line := range strings.Lines(wanted) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		for _, path := range f[2:] {
			p, ok := follow(static, path)
			if ok {
				ok = p.entry(f[1], f[0], l)
			}
			if ok {
				break
			}
		}
	}
	for _, name := range variables {
		if f := fieldNamed(static, name, true); f != nil {
			l[name] = static.MemberType(f).Defined().Size()
		}
	}
	return layout{l}
}

// A place is where a way of members leads to.
type place struct {
	number
	typ   *types.Type // not of bits
	value uint64      // of a static member
}

// entry makes an entry of the place, as its kind says; false if it cannot be one.
func (p place) entry(kind, name string, l layouts.Layout) bool {
	var v uint64
	ok := true
	switch kind {
	case "@":
		v, ok = p.bit/8, p.bit%8 == 0
	case "#":
		v, ok = p.packed(), p.bits > 0 && p.bits <= 64
	case "=":
		v = p.typ.Size()
		ok = v > 0
	case "s":
		v = p.value
		ok = v > 0
	default:
		v, ok = length(p.typ)
	}
	if ok {
		l[name] = v
	}
	return ok
}

// length is how many elements an array has.
func length(t *types.Type) (uint64, bool) {
	t = t.Strip()
	d := t.Dims()
	if len(d) != 1 {
		return 0, false
	}
	_, n, ok := d[0].Constant()
	return n, ok && n > 0
}

// follow goes a way from the class Static.
func follow(static *types.Type, path string) (p place, ok bool) {
	first, rest, _ := strings.Cut(path, ".")
	f := fieldNamed(static, first, true)
	if f == nil {
		return p, false
	}
	p.typ = static.MemberType(f).Defined()
	for step := range strings.SplitSeq(rest, ".") {
		switch step {
		case "*":
			if !p.typ.Pointer() {
				return p, false
			}
			p = place{typ: p.typ.Target().Defined()}
		case "[]":
			if _, ok := length(p.typ); !ok {
				return p, false
			}
			p = place{typ: p.typ.Target().Defined()}
		default:
			if p, ok = p.member(step, 0); !ok {
				return p, false
			}
		}
	}
	if p.bits == 0 {
		p.bits = p.typ.Size() * 8
	}
	return p, true
}

const maxNesting = 6

// member is a member of the place's type, also of its bases and of members without names.
func (p place) member(name string, depth int) (place, bool) {
	if depth > maxNesting || !p.typ.Aggregate() {
		return p, false
	}
	if f := fieldNamed(p.typ, name, true); f != nil {
		return place{typ: p.typ.MemberType(f).Defined(), value: f.Constant.U}, f.Constant.Form.Class() == dwarf.ClassConstant
	}
	if f := fieldNamed(p.typ, name, false); f != nil {
		q := place{number: number{p.bit + 8*f.Off, 0}, typ: p.typ.MemberType(f).Defined()}
		if f.Bits != 0 {
			q.number = number{p.bit + f.BitOff, f.Bits}
		}
		return q, true
	}
	fields := p.typ.Members().Fields
	for i := range 2 * len(fields) {
		f := &fields[i%len(fields)]
		if f.Base == (i >= len(fields)) && (f.Name == "" || f.Base) && !f.Virtual && !f.Static && f.Bits == 0 && !f.Expr.Present() { // bases have what members hide
			q := place{number: number{p.bit + 8*f.Off, 0}, typ: p.typ.MemberType(f).Defined()}
			if q, ok := q.member(name, depth+1); ok {
				return q, true
			}
		}
	}
	return p, false
}

func fieldNamed(t *types.Type, name string, static bool) *types.Field {
	fields := t.Members().Fields
	for i := range fields {
		if f := &fields[i]; f.Name == name && !f.Base && f.Static == static && !f.Expr.Present() {
			return f
		}
	}
	return nil
}

// proper reports whether a layout has all that is needed, and nothing that cannot be, so that reading by it is bounded. It says what it lacks.
func (l layout) proper() (lacks string, ok bool) {
	for _, name := range needed {
		if !l.Has(name) {
			return name, false
		}
	}
	for _, name := range [...]string{"map.roots", "map.mids", "leaf.pages"} {
		if n, has := l.Layout[name]; has && (n == 0 || n&(n-1) != 0 || n > 1<<30) {
			return name, false
		}
	}
	for name, most := range map[string]uint64{"span.size": maxSpan, "sizes.count": maxClasses, "leaf.class.size": 2, "span.bitmap.size": maxSpan, "transfer.size": 1 << 16, "sharded.size": 1 << 16, "shard.size": 1 << 16,
		"thread.list.size": 1 << 12, "slot.size": 1 << 16, "resize.size": 1 << 20} {
		if n, has := l.Layout[name]; has && (n == 0 || n > most) {
			return name, false
		}
	}
	if n := l.At("leaf.pages"); n < 1<<10 || n > 1<<20 {
		return "leaf.pages", false
	}
	if s := l.pageShift(); s < 12 || s > 20 {
		return "page size", false
	}
	return "", true
}

// mids is how many leaves a node between the root and them leads to; 1 if there are none.
func (l layout) mids() uint64 { return max(l.Layout["map.mids"], 1) }

// pageShift says how large pages are: the tree is for all addresses.
func (l layout) pageShift() uint {
	of := l.At("map.roots") * l.mids() * l.At("leaf.pages")
	return addressBits - uint(bits.Len64(of)-1)
}
