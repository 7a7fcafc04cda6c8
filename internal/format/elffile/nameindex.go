package elffile

import (
	"hash/maphash"
	"math/bits"
)

// namesAfter is the number of lookups of names that read the table before an index is
// built, which takes about as long as this many of them (see BenchmarkByName).
const namesAfter = 8

// maxHashed limits the bytes of a name that count for its hash. In a malicious table every
// name may be as long as the table.
const maxHashed = 256

// A nameIndex finds symbols by their names without versions: those whose hash is h are in
// syms[starts[h]:starts[h+1]], in the table's order, perhaps among others. It takes 5 to 6
// bytes per symbol with a name.
type nameIndex struct {
	seed   maphash.Seed
	shift  int // of the hash, so that starts has an entry for it
	starts []uint32
	syms   []uint32
}

// indexNames makes the index. Symbols that ByName never returns are left out if that can be
// told without decoding them.
func (t *SymTab) indexNames() nameIndex {
	n := t.Len()
	x := nameIndex{seed: maphash.MakeSeed(), shift: 64 - max(bits.Len(uint(n))-2, 1)}
	x.starts = make([]uint32, 1<<(64-x.shift)+1)
	hashes := make([]uint32, n)
	const none = 1<<32 - 1
	for i := range hashes {
		hashes[i] = none
		if off := uint64(t.nameOff(i)); i > 0 && off > 0 && off < uint64(len(t.strs)) && t.defined(i) {
			h := x.hash(cutName(t.strs[off:]))
			hashes[i] = h
			x.starts[h+1]++
		}
	}
	for h := 1; h < len(x.starts); h++ {
		x.starts[h] += x.starts[h-1]
	}
	x.syms = make([]uint32, x.starts[len(x.starts)-1])
	next := make([]uint32, len(x.starts))
	copy(next, x.starts)
	for i, h := range hashes {
		if h != none {
			x.syms[next[h]] = uint32(i)
			next[h]++
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

// of lists the symbols that may have a name.
func (x *nameIndex) of(name string) []uint32 {
	h := x.hash(cutName([]byte(name[:min(len(name), maxHashed)])))
	return x.syms[x.starts[h]:x.starts[h+1]]
}

func (x *nameIndex) hash(name []byte) uint32 { return uint32(maphash.Bytes(x.seed, name) >> x.shift) }

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
