package jitmap

// maxTable is how large the unwind table of a function may be, in bytes. V8's have less than 200.
const maxTable = 1 << 16

// unwindInfo reads the unwind table of the code that comes next: the size of what follows, that of its .eh_frame_hdr, and how much perf has to
// map of it, u64; then .eh_frame and .eh_frame_hdr, in this order, which is not the one of the specification. A writer that has none for the code says so
// by a table that nothing is to be mapped of.
func (d *dump) unwindInfo(at uint64, b []byte) bool {
	const fixed = 24
	d.next = piece{}
	if len(b) < fixed {
		return false
	}
	size, head, mapped := d.order.Uint64(b), d.order.Uint64(b[8:]), d.order.Uint64(b[16:])
	if size > uint64(len(b)-fixed) || head > size {
		return false
	}
	if table := b[fixed:][:size-head]; mapped != 0 && len(table) <= maxTable && d.isCIE(table) {
		d.next = piece{uint32(at) + fixed, uint32(len(table))}
	}
	return true
}

// isCIE reports whether a table begins with a CIE, as .eh_frame does: its length and 0, u32.
func (d *dump) isCIE(table []byte) bool {
	return len(table) >= 8 && d.order.Uint32(table) != 0 && d.order.Uint32(table[4:]) == 0
}

// TableAddr is the address that a function's unwind table has for the addresses in it, which are relative: perf puts it behind the code, to a multiple of
// 8 bytes from its beginning.
func (f *Function) TableAddr() uint64 { return TableAddr(f.Start, f.Size) }

// TableAddr is Function.TableAddr of a function that begins at start and has size bytes.
func TableAddr(start, size uint64) uint64 { return start + (size+7)&^7 }
