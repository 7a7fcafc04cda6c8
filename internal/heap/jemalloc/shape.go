package jemalloc

import "github.com/corewalk/corewalk/unwind/arch"

// A shape is what a build chose: how wide words, pages and addresses are, of which everything else follows.
type shape struct {
	word     uint64 // bytes
	pageBits uint
	vaddr    uint // bits of an address
	// old is for 32 bits: a leaf's elements are those of releases before 5.3, and not those since. With 64 bits both have the same size.
	old bool
	// quantum is the binary logarithm of what all but the smallest blocks are multiples of; 0 is 4, as nearly everywhere.
	quantum uint
	// apart says that numbers of 64 bits begin at multiples of 8 with words of 32 bits, too.
	apart bool
}

// on is the shape on a processor, as quantum.h and ABIs have it.
func (s shape) on(a *arch.Arch) shape {
	if s.quantum = 4; s.word == 4 && (a.Family == arch.FamilyARM || a.Family == arch.FamilyMIPS) {
		s.quantum = 3
	}
	s.apart = s.word == 4 && a.Family != arch.FamilyX86
	return s
}

// tiny is how many classes are of less than a quantum.
func (s *shape) tiny() int { return int(s.quantum) - 3 }

// sizeOf is the size of a class that there is.
func (s *shape) sizeOf(class int) uint64 {
	switch n := class - s.tiny(); {
	case n < 0:
		return 8 << class
	case n < 4:
		return uint64(n+1) << s.quantum
	default:
		group, k := (n-4)/4, uint64((n-4)%4+1)
		return (4 + k) << s.quantum << group
	}
}

// Shapes by the size of words. The first is what most builds have. Since configure asks the processor that it runs on, x86-64 has 57 bits too, which it
// also takes when it cannot ask; of other processors but aarch64 it knows nothing and takes 64. Distributions take pages of 64 KiB where a kernel may have them.
var (
	shapes64 = [...]shape{{word: 8, pageBits: 12, vaddr: 48}, {word: 8, pageBits: 12, vaddr: 57}, {word: 8, pageBits: 16, vaddr: 48}, {word: 8, pageBits: 16, vaddr: 64}, {word: 8, pageBits: 12, vaddr: 64}, {word: 8, pageBits: 14, vaddr: 48}}
	shapes32 = [...]shape{{word: 4, pageBits: 12, vaddr: 32}, {word: 4, pageBits: 12, vaddr: 32, old: true}, {word: 4, pageBits: 16, vaddr: 32}, {word: 4, pageBits: 16, vaddr: 32, old: true}, {word: 4, pageBits: 14, vaddr: 32}}
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

// classes is how many there are, which stands for none: those up to the largest that a signed number of a word's size has room for.
func (s *shape) classes() uint64 { return uint64(s.tiny()) + 4 + 4*(8*s.word-3-uint64(s.quantum)) - 1 }

func (s *shape) classBits() uint {
	if s.word == 4 {
		return 7
	}
	return 8
}

// small is how many classes slabs are made of: those of less than four pages.
func (s *shape) small() int { return s.tiny() + 3 + 4*int(s.pageBits-s.quantum) }

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
	at := uint64(36)
	switch {
	case s.word == 8:
		return 64
	case since == since53:
		at = 40
		if s.apart { // a number is before it, too
			at += 4
		}
	}
	return s.eights(at)
}

// eights is where a number of 64 bits is, of which there is room from an offset on.
func (s *shape) eights(at uint64) uint64 {
	if s.apart {
		return (at + 7) &^ 7
	}
	return at
}

// binBytes is the size of a thread's cache of one class.
func (s *shape) binBytes() uint64 { return s.eights(16 + s.word) }
