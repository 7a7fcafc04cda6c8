package elffile

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"math/rand/v2"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// namesAfter is the number of lookups of names that read the table before an index is
// built, which takes about as long as this many of them (see BenchmarkByName).
const namesAfter = 8

// maxHashed limits the bytes of a name that count for its hash. In a malicious table every
// name may be as long as the table.
const maxHashed = 256

// A nameIndex finds symbols by their names without versions: those whose hash is h are in
// syms[starts[h]:starts[h+1]], in the table's order, perhaps among others. It takes 5 to 6
// bytes per symbol with a name. Both lists are as they are kept on disk: numbers of 4 bytes, little-endian.
type nameIndex struct {
	seed   uint64 // nobody who makes a table knows it
	shift  int    // of the hash, so that starts has an entry for it
	starts []byte
	syms   []byte
}

// nameShift is the shift for a table of n symbols.
func nameShift(n int) int { return 64 - max(bits.Len(uint(n))-2, 1) }

// indexNames makes the index. Symbols that ByName never returns are left out if that can be
// told without decoding them.
func (t *SymTab) indexNames() nameIndex {
	n := t.Len()
	x := nameIndex{seed: rand.Uint64(), shift: nameShift(n)}
	starts := make([]uint32, 1<<(64-x.shift)+1)
	hashes := make([]uint32, n)
	const none = 1<<32 - 1
	for i := range hashes {
		hashes[i] = none
		if off := uint64(t.nameOff(i)); i > 0 && off > 0 && off < uint64(len(t.strs)) && t.defined(i) {
			h := x.hash(cutName(t.strs[off:]))
			hashes[i] = h
			starts[h+1]++
		}
	}
	le := binary.LittleEndian
	x.starts = make([]byte, 4, 4*len(starts))
	for h := 1; h < len(starts); h++ {
		starts[h] += starts[h-1]
		x.starts = le.AppendUint32(x.starts, starts[h])
	}
	x.syms = make([]byte, 4*starts[len(starts)-1])
	for i, h := range hashes {
		if h != none {
			le.PutUint32(x.syms[4*starts[h]:], uint32(i))
			starts[h]++
		}
	}
	t.passed(true)
	return x
}

// defined reports whether symbol i may be defined.
func (t *SymTab) defined(i int) bool {
	if t.file.Class == 64 {
		return t.file.Order.Uint16(t.data[i*t.ent+6:]) != SHN_UNDEF
	}
	return t.file.Order.Uint16(t.data[i*t.ent+14:]) != SHN_UNDEF
}

// of iterates over the symbols that may have a name.
func (x *nameIndex) of(name string) iter.Seq[int] {
	h := x.hash(cutName([]byte(name[:min(len(name), maxHashed)])))
	le := binary.LittleEndian
	first, end := uint64(le.Uint32(x.starts[4*h:])), uint64(le.Uint32(x.starts[4*h+4:]))
	list, _ := binbuf.Slice(x.syms, 4*first, 4*(max(end, first)-first))
	return func(yield func(int) bool) {
		for ; len(list) > 0 && yield(int(le.Uint32(list))); list = list[4:] {
		}
	}
}

// hash multiplies the words of a name, mixed with the seed. It is not hash/maphash, whose seeds cannot be kept.
func (x *nameIndex) hash(name []byte) uint32 {
	h := mix(x.seed ^ uint64(len(name)))
	for ; len(name) >= 8; name = name[8:] {
		h = mix(h ^ binary.LittleEndian.Uint64(name))
	}
	var last [8]byte
	copy(last[:], name)
	return uint32(mix(h^binary.LittleEndian.Uint64(last[:])) >> x.shift)
}

func mix(h uint64) uint64 {
	high, low := bits.Mul64(h^0xa0761d6478bd642f, 0xe7037ed1a0b428db)
	return high ^ low
}

// cutName returns the name at the start of b without its version, as far as it counts.
func cutName(b []byte) []byte {
	b = b[:min(len(b), maxHashed)]
	for i, c := range b {
		if c == 0 || c == '@' && i > 0 {
			return b[:i]
		}
	}
	return b
}
