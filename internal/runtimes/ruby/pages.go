package ruby

// Limits of the pages that objects are in.
const (
	maxPages = 1 << 18
	maxPage  = 1 << 16 // bytes
	oldSlot  = 40      // the size of an object until 3.0
)

// A page has objects of one size.
type page struct {
	start uint64 // of the first
	slots uint64
	size  uint64 // of an object, in bytes
}

func (p *page) end() uint64 { return p.start + p.slots*p.size }

// pages calls yield for each page in the order of Ruby's list, which is that of addresses, until it returns false. It returns false if it was not
// the end of the list.
func (r *runtime) pages(yield func(page) bool) bool {
	space := r.field(r.vm, "vm.space")
	at := r.field(space, "space.pages")
	if at == 0 {
		return false
	}
	var count uint64
	if r.has("sorted.count") { // the list has its length before it
		count, at = r.field(at, "sorted.count"), at+r.at("sorted.size")
	} else {
		count = r.field(space, "space.count")
	}
	if count > maxPages {
		return false
	}
	list, ok := r.Words(at, int(count))
	for _, record := range list {
		if record == 0 || record%8 != 0 {
			return false
		}
		slots, _ := r.U16(record + r.at("page.slots"))
		p := page{start: r.field(record, "page.start"), slots: uint64(slots), size: oldSlot}
		if r.has("page.slot") {
			n, _ := r.U16(record + r.at("page.slot"))
			p.size = uint64(n)
		}
		if p.size < oldSlot || p.slots*p.size > maxPage {
			continue
		}
		if !yield(p) {
			return false
		}
	}
	return ok
}
