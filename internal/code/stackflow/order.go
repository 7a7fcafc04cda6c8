package stackflow

// A blockOrder sorts blocks by address. They come in mostly sorted pieces, in the order in
// which code was reached, which are merged.
type blockOrder struct {
	list, spare []int32
	ends        []int
}

// of lists the indexes of blocks by ascending address of their first instructions, then by
// index. The list is valid until the next call.
func (o *blockOrder) of(blocks []block, ops []op) []int32 {
	o.list, o.ends = o.list[:0], o.ends[:0]
	addr := func(n int32) uint64 { return ops[blocks[n].first].addr }
	for n := range int32(len(blocks)) {
		if n > 0 && addr(n) < addr(n-1) {
			o.ends = append(o.ends, int(n))
		}
		o.list = append(o.list, n)
	}
	o.ends = append(o.ends, len(blocks))
	for len(o.ends) > 1 {
		o.spare = o.spare[:0]
		from, kept := 0, o.ends[:0]
		for i := 0; i < len(o.ends); i += 2 {
			mid, end := o.ends[i], o.ends[min(i+1, len(o.ends)-1)]
			x, y := o.list[from:mid], o.list[mid:end]
			for len(x) > 0 && len(y) > 0 {
				if addr(y[0]) < addr(x[0]) {
					o.spare, y = append(o.spare, y[0]), y[1:]
				} else {
					o.spare, x = append(o.spare, x[0]), x[1:]
				}
			}
			o.spare = append(append(o.spare, x...), y...)
			from, kept = end, append(kept, end)
		}
		o.list, o.spare, o.ends = o.spare, o.list, kept
	}
	return o.list
}
