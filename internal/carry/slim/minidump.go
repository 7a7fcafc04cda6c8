package slim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
)

// ErrLayout means that a minidump cannot be made smaller without moving what it refers to.
var ErrLayout = errors.New("only a minidump with the whole memory at its end (Memory64List) has a slim form; others have little more than the stacks")

// Sizes and places in a minidump's header and lists, in bytes (Microsoft, minidumpapiset.h).
const (
	dirEntry    = 12
	streamCount = 8
	streamDir   = 12
	memory64    = 9
)

// Minidump writes a minidump with all streams of f, and of its memory what want has. Everything before the
// memory stays where it is; the list of the memory is written anew behind it.
func Minidump(w io.Writer, f *minidump.File, want *Wanted, o Options) (*Written, error) {
	if o.Redact {
		return nil, ErrRedact
	}
	d := f.Data
	var order binary.ByteOrder = binary.LittleEndian
	if f.Big {
		order = binary.BigEndian
	}
	base, entry, err := memoryAt(d, order)
	if err != nil {
		return nil, err
	}
	out := &Written{Was: uint64(len(d)), Notes: base}
	runs := want.within(f)
	head := slices.Clone(d[:base])
	for len(head)%8 != 0 {
		head = append(head, 0)
	}
	at := uint64(len(head)) // of the new list
	list := make([]byte, 16+16*len(runs))
	if at+uint64(len(list)) > 1<<32 {
		return nil, ErrLayout
	}
	order.PutUint32(head[entry+4:], uint32(len(list)))
	order.PutUint32(head[entry+8:], uint32(at))
	order.PutUint64(list, uint64(len(runs)))
	order.PutUint64(list[8:], at+uint64(len(list)))
	for i, r := range runs {
		order.PutUint64(list[16+16*i:], r.lo)
		order.PutUint64(list[24+16*i:], r.hi-r.lo)
	}
	if out.Size, err = write(w, 0, head); err == nil {
		out.Size, err = write(w, out.Size, list)
	}
	for _, r := range runs {
		for a := r.lo; a < r.hi && err == nil; {
			b := f.Memory.At(a)
			if len(b) == 0 {
				return nil, fmt.Errorf("memory at %#x is gone", a)
			}
			b = b[:min(uint64(len(b)), r.hi-a)]
			out.Size, err = write(w, out.Size, b)
			a += uint64(len(b))
		}
	}
	out.Kept = want.sums(runs)
	return out, err
}

// memoryAt returns where the memory begins, and where in the directory the entry of its list is. Nothing that
// the directory refers to may lie behind the memory's beginning.
func memoryAt(d []byte, order binary.ByteOrder) (base, entry uint64, err error) {
	if len(d) < 32 {
		return 0, 0, ErrLayout
	}
	n, dir := uint64(order.Uint32(d[streamCount:])), uint64(order.Uint32(d[streamDir:]))
	if dir+n*dirEntry > uint64(len(d)) {
		return 0, 0, ErrLayout
	}
	found := false
	for i := range n {
		e := d[dir+i*dirEntry:]
		if order.Uint32(e) != memory64 {
			continue
		}
		list := uint64(order.Uint32(e[8:]))
		if found || list+16 > uint64(len(d)) {
			return 0, 0, ErrLayout
		}
		found, base, entry = true, order.Uint64(d[list+8:]), dir+i*dirEntry
	}
	if !found || base > uint64(len(d)) || base < dir+n*dirEntry {
		return 0, 0, ErrLayout
	}
	for i := range n {
		e := d[dir+i*dirEntry:]
		if at, size := uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[4:])); order.Uint32(e) != 0 && at+size > base {
			return 0, 0, ErrLayout
		}
	}
	return base, entry, nil
}

// within returns the wanted memory that the minidump has, ascending.
func (w *Wanted) within(f *minidump.File) []run {
	var list []run
	for _, s := range f.Memory.Spans() {
		list = append(list, w.cut(s.Start, s.Start+uint64(len(s.Data)))...)
	}
	return list
}

// cut returns the wanted parts of [lo, hi).
func (w *Wanted) cut(lo, hi uint64) []run {
	const size = corestate.ReadPage
	if w.sorted == nil {
		w.sort()
	}
	var list []run
	for i, _ := slices.BinarySearch(w.sorted, lo/size); i < len(w.sorted) && w.sorted[i]*size < hi; i++ {
		a, b := max(lo, w.sorted[i]*size), min(hi, w.sorted[i]*size+size)
		if n := len(list); n > 0 && list[n-1].hi == a {
			list[n-1].hi = b
		} else {
			list = append(list, run{a, b})
		}
	}
	return list
}
