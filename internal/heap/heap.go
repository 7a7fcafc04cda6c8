// Package heap has what the allocators of programs have in common: blocks of memory that a program was given, or that are free, as the
// allocator's own records in the process's memory say. Each allocator is a package of its own below this one.
//
// Everything comes from the process's memory, which may be damaged or hostile: walks are bounded, and end with a Damage that says where and
// why.
package heap

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Process is where allocators are looked for.
type Process interface {
	arch.Memory
	Arch() *arch.Arch
	LibraryTracker() libstate.LibraryState
	// Mappings are all that are known, by address.
	Mappings() []libstate.Mapping
}

// A Block is memory that an allocator handed out, or could.
type Block struct {
	Start uint64 // what the program has of it begins here
	Size  uint64 // bytes that the program may use
	// Free says that the program has given it back, or never had it; List is then where the allocator has it: "tcache", "fastbin",
	// "unsorted bin", "small bin", "large bin", "top" of the GNU C library's, "thread cache", "slab", "span", "free slot" of others; "" if it is
	// on no list that is known.
	Free bool
	List string
	// Own says that the allocator itself uses the block: for its records, or as a mark of the end.
	Own bool
	// Mapped says that the block has a mapping of its own.
	Mapped bool
}

// End is the first address past what the program has of the block.
func (b *Block) End() uint64 { return b.Start + b.Size }

// Contains reports whether an address is in the block.
func (b *Block) Contains(addr uint64) bool { return addr-b.Start < b.Size }

// A Damage is a place where the allocator's records contradict themselves.
type Damage struct {
	At   uint64 // the wrong record
	Size int    // its bytes
	Why  string // what is wrong with it: "size 0x4141414141414141 is past the end of the heap"
	// Of is the block whose record it is, as far as it is known; its Size is 0 if that is what is wrong.
	Of Block
	// Before is the block that ends where the record begins: who writes past its end damages the record. Its Size is 0 if there is none.
	Before Block
	// Written says that what is wrong was written to a block that was free.
	Written bool
	// Twice says that a block is on two lists, or twice on one: it was freed twice, if the lists were not written to.
	Twice bool
	// Popped is the size of the blocks on a list whose first pointer is what is wrong: it was written to one of them while that was free, and came
	// to the list's beginning when the block was handed out again. 0 for other damages.
	Popped uint64
}

// Begins is the damage of a list of free blocks of a size whose first pointer, at an address, leads to no block.
func Begins(list string, at uint64, word int, value, size uint64) Damage {
	return Damage{At: at, Size: word, Why: fmt.Sprintf("the %s of free blocks of %d bytes begins with %#x, where none is", list, size, value), Popped: size}
}

// Within is the number of the range that has an address, among some that are in order and apart; -1 if none has. bounds says where one begins, and
// the first address past it.
func Within[T any](list []T, addr uint64, bounds func(*T) (start, end uint64)) int {
	low, high := 0, len(list)
	for low < high {
		m := int(uint(low+high) >> 1)
		start, end := bounds(&list[m])
		switch {
		case end <= addr:
			low = m + 1
		case start > addr:
			high = m
		default:
			return m
		}
	}
	return -1
}

// An Allocator answers for one allocator of a process. It may be used by one goroutine.
type Allocator interface {
	// Name is that of the allocator: "glibc malloc".
	Name() string
	// BlockAt is the block that holds an address, or whose record does; false where there is none, or where the records before it are damaged.
	BlockAt(addr uint64) (Block, bool)
	// Blocks calls yield for each block, by address within each region, until it returns false.
	Blocks(yield func(Block) bool)
	// Records are ranges of memory outside of the blocks in which the allocator keeps what it knows, as far as pointers to blocks may be there.
	Records() [][2]uint64
	// Damages lists the contradictions that a walk of everything finds, at most some dozens.
	Damages() []Damage
}

// Spanned is an Allocator that has much memory of which it handed out only parts.
type Spanned interface {
	// Spans are ranges of memory that it has, and parts of them: nothing that the program has is elsewhere in the former. Both are by address, and apart.
	Spans() (all, used [][2]uint64)
}

// MarksLast is an Allocator that marks what it is given back as free when it finds nothing wrong any more: if it ends the program over a block that is free,
// that was given back before.
type MarksLast interface{ MarksLast() }

// An Owner is a runtime with a heap of its own.
type Owner interface {
	// Heap is nil where it is not found.
	Heap() Allocator
}

// Stacked is an Allocator of a runtime, which zeroes what it hands out, with stacks beside its blocks: pointers there count.
type Stacked interface {
	// Stacks are ranges of memory.
	Stacks() [][2]uint64
}

// Ranged is an Allocator whose blocks lie among other memory of the same mappings.
type Ranged interface {
	// Ranges are where its blocks are, and nothing of the program's besides.
	Ranges() [][2]uint64
}

// Pointing is a Ranged Allocator of a runtime that knows which words of its blocks are references, and how they are written: nothing else in them
// leads anywhere, and what leads into one of them from elsewhere leads to its beginning.
type Pointing interface {
	Ranged
	// References adds to out the references in a part b of the block at start that begins at an offset in it.
	References(start, off uint64, b []byte, out []graph.Ref) []graph.Ref
	// Widened is where a reference of 32 bits leads, as stacks and registers may have it; 0 where there are none.
	Widened(v uint32) uint64
}

// Tagged is a Pointing whose references are no addresses: something is added to them.
type Tagged interface {
	Tag() uint64
}

// ObjectBytes is how much of a block Objects is shown.
const ObjectBytes = 160

// Objects is a runtime whose objects say themselves of which type they are, in blocks of whichever allocator.
type Objects interface {
	// ObjectIn is what a block in use holds, by the first bytes of it; false where that is no object. It is good until the next call.
	ObjectIn(start, size uint64, b []byte) (Object, bool)
	// Variables calls yield for the program's variables in its own language, as it names them, with what they refer to, until it returns false. It
	// may know them by the objects that it was shown.
	Variables(yield func(name string, value uint64) bool)
	// Unknown says why no object is known; "" where some may be.
	Unknown() string
}

// Fielded is an Objects that names the references in its objects.
type Fielded interface {
	// FieldAt is the name of the reference at an offset of the object at start: "next", "[3]"; "" if it is not known.
	FieldAt(start, off uint64) string
}

// An Object is what a runtime knows of one of its objects.
type Object struct {
	Type string
	// Head is how many bytes of the block come before the object. Only the runtime's own lists lead there: they keep nothing alive.
	Head uint64
	// Links are bits, by number, of words of eight bytes at the beginning of the block, in which the runtime has lists of its own: these keep nothing alive.
	Links uint64
	// Freed says that the program gave it back, and that the runtime keeps it to hand it out again: what it points at is old.
	Freed bool
	// Owns are addresses in the other blocks that are the object's alone.
	Owns []Owned
}

// Owned is a block that is part of an object.
type Owned struct {
	At   uint64
	What string // "list items"
	Weak bool   // what it leads to is not kept alive by it
	Idle uint64 // bytes of it for elements that the object does not hold yet
}

// Traced is an Allocator that keeps which code asked for its blocks, and gave them back.
type Traced interface {
	// History is false where there is none of a block.
	History(b Block) (History, bool)
	// Beside is the block that an address is in, or just before or after: of two the one in use, else the nearer.
	Beside(addr uint64) (Block, bool)
}

// A History is who allocated a block, and who freed it.
type History struct {
	How       string // "malloc", "operator new", "operator new[]"; "" if it is not known
	Allocated Event
	Freed     *Event // nil of a block in use
}

// An Event is a call of an allocator.
type Event struct {
	Thread int // as the allocator counts them: 0 is the first
	// Stack has addresses of code, return addresses but for the first, which is in the allocator's own function; empty if it is not known.
	Stack []uint64
}
