package values

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/unknown"
)

// Maps of Go before 1.24 (runtime/map.go): an array of 1<<B buckets, each with eight slots, a
// byte per slot that says whether it is in use, and a list of overflow buckets. While a map
// grows, buckets of the old array that were not moved yet have the elements of their new buckets.

const (
	goBucketSlots  = 8
	goMinTopHash   = 5 // a slot with a smaller byte is free, or was moved
	goMovedFirst   = 2 // these bytes say that the bucket was moved
	goMovedLast    = 4
	goSameSizeGrow = 8       // hmap.flags: the old array is as large as the new one
	goIndirectSize = 128     // larger keys and values lie elsewhere
	maxGoBuckets   = 1 << 20 // looked at for one map
)

// A goBuckets iterates over the slots of a map.
type goBuckets struct {
	b         *builder
	bucket    *types.Type
	size      uint64
	array     uint64 // of buckets
	count     uint64 // of them
	old       uint64 // the array that is being moved; 0 for none
	oldCount  uint64
	next      uint64 // number of the next bucket
	at        uint64 // bucket
	slot      int
	tophash   [goBucketSlots]byte
	overflows types.Field
	seen      int
}

// goBucketMap prints the map with header m. named is the map's type.
func (b *builder) goBucketMap(o *Object, named *types.Type, m *Object, depth int) *Value {
	n, ok := b.num(m, "count")
	log, ok2 := b.num(m, "B")
	array, ok3 := b.num(m, "buckets")
	old, ok4 := b.num(m, "oldbuckets")
	flags, ok5 := b.num(m, "flags")
	bucket, size, ok6 := b.elem(m, "buckets")
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || size == 0 || log > 40 {
		return nil
	}
	if n > maxLength {
		return badLength(o.Type, n)
	}
	v := b.counted(b.text(o, fmt.Sprintf("%s (len %d)", named.BareName, n)), n)
	it := goBuckets{b: b, bucket: bucket.Strip(), size: size, array: array, count: 1 << log, old: old, slot: goBucketSlots}
	if it.oldCount = it.count / 2; flags&goSameSizeGrow != 0 || it.oldCount == 0 {
		it.oldCount = it.count
	}
	keys, ok := b.goSlots(it.bucket, "keys", named, dwarf.AttrGoKey)
	values, ok2 := b.goSlots(it.bucket, "values", named, dwarf.AttrGoElem)
	it.overflows, ok3 = fieldNamed(it.bucket, "overflow")
	if !ok || !ok2 || !ok3 {
		return v
	}
	v.Compound = true
	for i := range n {
		if i >= uint64(b.opts.MaxElements) || depth >= b.opts.MaxDepth || !b.take() {
			v.More = true
			break
		}
		if !it.advance() {
			v.Parts = append(v.Parts, Part{Value: Failed(nil, &unknown.Corrupt{Err: unknown.ErrLimit})})
			break
		}
		v.Parts = append(v.Parts, Part{Key: it.read(&keys, depth), Value: it.read(&values, depth)})
	}
	return v
}

// goSlots are the keys or the values of a bucket: from offset off, of type typ, size bytes apart.
type goSlots struct {
	off, size uint64
	typ       *types.Type
	elsewhere bool // a slot has the address of the key or value
}

// goSlots finds the keys or values by a member of the bucket, and their type by an attribute of
// the map's type.
func (b *builder) goSlots(bucket *types.Type, member string, named *types.Type, attr dwarf.Attr) (s goSlots, ok bool) {
	f, ok := fieldNamed(bucket, member)
	if !ok {
		return s, false
	}
	slot := b.p.Types.Of(f.Type).Strip().Target()
	s.off, s.typ = f.Off, slot
	if t := b.goTypeOf(named, attr); t != nil {
		s.typ = t
	}
	whole, err := b.sizeOf(s.typ)
	if err != nil {
		return s, false
	}
	s.size, err = b.sizeOf(slot)
	s.elsewhere = whole > goIndirectSize && s.size == b.word()
	return s, err == nil
}

// read reads the key or the value of the current slot.
func (it *goBuckets) read(s *goSlots, depth int) *Value {
	at := it.at + s.off + uint64(it.slot)*s.size
	if s.elsewhere {
		var err error
		if at, err = it.b.p.Memory.ReadWord(at); err != nil {
			return Failed(s.typ, unknown.Reason(err))
		}
	}
	return it.b.read(s.typ, at, depth+1)
}

// advance goes to the next slot in use.
func (it *goBuckets) advance() bool {
	it.slot++
	for {
		for ; it.slot < goBucketSlots; it.slot++ {
			if it.tophash[it.slot] >= goMinTopHash {
				return true
			}
		}
		if !it.nextBucket() {
			return false
		}
		it.slot = 0
	}
}

// nextBucket goes to the overflow bucket of the current one, or else to the next bucket of the
// array.
func (it *goBuckets) nextBucket() bool {
	if it.at != 0 {
		at, err := it.b.p.Memory.ReadWord(it.at + it.overflows.Off)
		if err != nil {
			return false
		}
		if at != 0 {
			return it.enter(at)
		}
	}
	for it.next < it.count {
		i := it.next
		it.next++
		if it.old != 0 && !it.moved(i%it.oldCount) {
			if i >= it.oldCount {
				continue // was seen with its lower half
			}
			return it.enter(it.old + i*it.size)
		}
		return it.enter(it.array + i*it.size)
	}
	return false
}

// moved reports whether a bucket of the old array has been moved.
func (it *goBuckets) moved(i uint64) bool {
	top, err := it.b.p.Int(it.old+i*it.size, 1, false)
	return err == nil && top >= goMovedFirst && top <= goMovedLast
}

func (it *goBuckets) enter(at uint64) bool {
	if it.seen++; it.seen > maxGoBuckets {
		return false
	}
	it.at = at
	return it.b.p.Read(at, it.tophash[:]) == nil
}
