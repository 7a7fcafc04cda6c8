package jemalloc

// A shape is what a build chose: how wide words, pages and addresses are, of which everything else follows.
type shape struct {
	word     uint64 // bytes
	pageBits uint
	vaddr    uint // bits of an address
	// old is for 32 bits: a leaf's elements are those of releases before 5.3, and not those since. With 64 bits both have the same size.
	old bool
}

// Shapes by the size of words. The first is what most builds have. Since configure asks the processor that it runs on, x86-64 has 57 bits too, which it
// also takes when it cannot ask; of other processors but aarch64 it knows nothing and takes 64. Distributions take pages of 64 KiB where a kernel may have them.
var (
	shapes64 = [...]shape{{8, 12, 48, false}, {8, 12, 57, false}, {8, 16, 48, false}, {8, 16, 64, false}, {8, 12, 64, false}, {8, 14, 48, false}}
	shapes32 = [...]shape{{4, 12, 32, false}, {4, 12, 32, true}}
)

func (s *shape) page() uint64 { return 1 << s.pageBits }

// levels are the bits of a page's number for each level of the tree, as rtree.h divides them; the first is 0 where there are two.
func (s *shape) levels() (root, node, leaf uint) {
	n := s.vaddr - s.pageBits
	if n <= 36 {
		return 0, n / 2, n/2 + n%2
	}
	return n / 3, n/3 + n%3/2, n/3 + n%3 - n%3/2
}

// compact reports whether a leaf's elements are words: addresses leave room for classes.
func (s *shape) compact() bool { return 8*uint(s.word)-s.vaddr >= s.classBits() }

// element is how many bytes an element of a leaf has: one word, or a pointer with what is in the word's other bits, in a word or two.
func (s *shape) element() uint64 {
	switch {
	case s.compact():
		return s.word
	case s.word == 4 && s.old:
		return 12
	}
	return 8 + s.word/8*8
}

func (s *shape) leafBytes() uint64 {
	_, _, n := s.levels()
	return s.element() << n
}

// reach is how much memory a leaf is about.
func (s *shape) reach() uint64 {
	_, _, n := s.levels()
	return s.page() << n
}

// nodeBytes and rootBytes are the sizes of the upper levels: of two, the node is the root.
func (s *shape) nodeBytes() uint64 {
	_, n, _ := s.levels()
	return s.word << n
}

func (s *shape) rootBytes() uint64 {
	if n, _, _ := s.levels(); n != 0 {
		return s.word << n
	}
	return s.nodeBytes()
}

// classes is how many there are, which stands for none.
func (s *shape) classes() uint64 {
	if s.word == 4 {
		return 104
	}
	return 232
}

func (s *shape) classBits() uint {
	if s.word == 4 {
		return 7
	}
	return 8
}

// small is how many classes slabs are made of: those of less than four pages.
func (s *shape) small() int { return 36 + 4*int(s.pageBits-12) }

// maxRegs is how many blocks a slab may have.
func (s *shape) maxRegs() int { return 1 << (s.pageBits - 3) }

// most is the largest address.
func (s *shape) most() uint64 {
	if s.word == 4 {
		return 1<<32 - 1
	}
	return addrMask
}

// bitmapAt is where a slab's bits are in a record. since says which record it is.
func (s *shape) bitmapAt(since uint) uint64 {
	switch {
	case s.word == 8:
		return 64
	case since == since53:
		return 40
	}
	return 36
}

// binBytes is the size of a thread's cache of one class.
func (s *shape) binBytes() uint64 {
	if s.word == 4 {
		return 20
	}
	return 24
}
