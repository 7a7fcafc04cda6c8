package dwarfvars

import (
	"reflect"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A handMap is a map[int32]K of Go 1.23 in the memory of a process: the header, then
// buckets of bucketSize bytes at the addresses that tests choose.
type handMap struct {
	p *handProcess
}

// Layout: tophash, eight keys of 4 bytes, eight values of 4 bytes, overflow.
const (
	handKeys     = 8
	handValues   = handKeys + 32
	handOverflow = handValues + 32
	handBucket   = handOverflow + 8
	handSameSize = 8 // hmap.flags: the map grows to the size that it has
)

func (m *handMap) header(count, flags, log int, buckets, old uint64) {
	m.p.put(handBase+8, 8, handBase+16) // the variable
	at := uint64(handBase + 16)
	m.p.put(at, 8, uint64(count))
	m.p.put(at+8, 1, uint64(flags))
	m.p.put(at+9, 1, uint64(log))
	m.p.put(at+16, 8, buckets)
	m.p.put(at+24, 8, old)
}

func (m *handMap) slot(bucket uint64, i int, top byte, key, value uint64) {
	m.p.put(bucket+uint64(i), 1, uint64(top))
	m.p.put(bucket+handKeys+4*uint64(i), 4, key)
	m.p.put(bucket+handValues+4*uint64(i), 4, value)
}

// TestGoBucketMaps reads maps of Go before 1.24: with overflowing buckets, while
// they grow, and damaged.
func TestGoBucketMaps(t *testing.T) {
	const one, two, over = handBase + 0x100, handBase + 0x100 + handBucket, handBase + 0x400
	const old = handBase + 0x600
	for _, tc := range []struct {
		name string
		fill func(m *handMap)
		want string
	}{
		{"one bucket", func(m *handMap) {
			m.header(2, 0, 0, one, 0)
			m.slot(one, 1, 9, 1, 10)
			m.slot(one, 7, 5, 2, 20)
			m.slot(one, 3, 4, 99, 99) // not in use
		}, "map[int32]int32 (len 2) = {[1] = 10, [2] = 20}"},
		{"empty", func(m *handMap) { m.header(0, 0, 0, 0, 0) }, "map[int32]int32 (len 0)"},
		{"overflow", func(m *handMap) {
			m.header(3, 0, 1, one, 0)
			m.slot(one, 0, 9, 1, 10)
			m.p.put(one+handOverflow, 8, over)
			m.slot(over, 0, 9, 2, 20)
			m.slot(two, 0, 9, 3, 30)
		}, "map[int32]int32 (len 3) = {[1] = 10, [2] = 20, [3] = 30}"},
		{"growing, bucket not moved", func(m *handMap) {
			m.header(2, 0, 1, one, old)
			m.slot(old, 0, 9, 1, 10)
			m.slot(old, 1, 9, 2, 20)
		}, "map[int32]int32 (len 2) = {[1] = 10, [2] = 20}"},
		{"growing, bucket moved", func(m *handMap) {
			m.header(2, 0, 1, one, old)
			m.slot(old, 0, 2, 1, 99)
			m.slot(one, 0, 9, 1, 10)
			m.slot(two, 0, 9, 2, 20)
		}, "map[int32]int32 (len 2) = {[1] = 10, [2] = 20}"},
		{"growing to the same size", func(m *handMap) {
			m.header(2, handSameSize, 1, one, old)
			m.slot(old, 0, 3, 1, 99)
			m.slot(one, 0, 9, 1, 10)
			m.slot(old+handBucket, 0, 9, 2, 20)
		}, "map[int32]int32 (len 2) = {[1] = 10, [2] = 20}"},
		{"fewer than it says", func(m *handMap) {
			m.header(2, 0, 0, one, 0)
			m.slot(one, 0, 9, 1, 10)
		}, "map[int32]int32 (len 2) = {[1] = 10, <corrupt location: exceeds a limit>}"},
		{"buckets in a ring", func(m *handMap) {
			m.header(2, 0, 0, one, 0)
			m.p.put(one+handOverflow, 8, one)
		}, "map[int32]int32 (len 2) = {<corrupt location: exceeds a limit>}"},
	} {
		p := newHand(arch.AMD64, 0x1000)
		p.libs = noLibraries{}
		tc.fill(&handMap{p})
		word, small, i32 := base("uintptr", types.EncUnsigned, 8), base("uint8", types.EncUnsigned, 1), base("int32", types.EncSigned, 4)
		array := func(of *handDIE) *handDIE {
			return die(dwarf.TagArrayType, handAttr{dwarf.AttrType, of}).with(die(dwarf.TagSubrangeType, handAttr{dwarf.AttrCount, 8}))
		}
		member := func(name string, typ *handDIE, at int) *handDIE {
			return die(dwarf.TagMember, handAttr{dwarf.AttrName, name}, handAttr{dwarf.AttrType, typ}, handAttr{dwarf.AttrDataMemberLoc, at})
		}
		tops, slots := array(small), array(i32)
		bucket := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "bucket<int32,int32>"}, handAttr{dwarf.AttrByteSize, handBucket}).with(
			member("tophash", tops, 0), member("keys", slots, handKeys), member("values", slots, handValues), member("overflow", word, handOverflow))
		toBucket := die(dwarf.TagPointerType, handAttr{dwarf.AttrName, "*bucket<int32,int32>"}, handAttr{dwarf.AttrType, bucket})
		hash := die(dwarf.TagStructureType, handAttr{dwarf.AttrName, "hash<int32,int32>"}, handAttr{dwarf.AttrByteSize, 48}).with(
			member("count", word, 0), member("flags", small, 8), member("B", small, 9), member("buckets", toBucket, 16), member("oldbuckets", toBucket, 24))
		toHash := die(dwarf.TagPointerType, handAttr{dwarf.AttrName, "*hash<int32,int32>"}, handAttr{dwarf.AttrType, hash})
		named := die(dwarf.TagTypedef, handAttr{dwarf.AttrName, "map[int32]int32"}, handAttr{dwarf.AttrType, toHash},
			handAttr{dwarf.AttrGoKind, int(reflect.Map)}, handAttr{dwarf.AttrGoKey, i32}, handAttr{dwarf.AttrGoElem, i32})
		place := append([]byte{0x03}, bytesOf(p.arch.ByteOrder, handBase+8, 8)...)
		got := handValue(t, p, p.walk(t), 0, dwarf.LangGo, place, named, word, small, i32, tops, slots, bucket, toBucket, hash, toHash)
		if got != tc.want && !(tc.name == "empty" && strings.HasPrefix(got, tc.want)) {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
