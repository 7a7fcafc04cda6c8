package corestate

import (
	"slices"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A memory is how a kind of dump holds the memory of its process.
type memory interface {
	// bytesAt returns contiguous bytes from addr on: the dump's own, or else those of
	// files, which may be nil. It returns none if addr cannot be read.
	bytesAt(addr arch.Address, files *overlay) []byte
	// unreadable returns why addr cannot be read: arch.ErrNotInDump, ErrTruncated or
	// ErrUnmapped.
	unreadable(addr arch.Address) error
}

// ReadMem fills buf with the process's memory from addr on: the dump's bytes, or else
// those of a matched file where they cannot differ (see SetBacking). It returns how many
// bytes it could read; if that is less than len(buf), the error is a *arch.MemError.
// Addresses may have tags, where the processor ignored them: on every arm64 (arch.Arch.DataAddress), on RISC-V if the
// dump says so.
func (d *anyDump) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return d.readMem(addr, buf, d.backing.Load())
}

// dataAddress returns an address without its tag.
func (d *anyDump) dataAddress(addr arch.Address) arch.Address {
	return uint64(int64(d.arch.DataAddress(addr)<<d.tagBits) >> d.tagBits)
}

func (d *anyDump) readMem(addr arch.Address, buf []byte, files *overlay) (int, error) {
	addr = d.dataAddress(addr)
	for n := 0; n < len(buf); {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		b := d.memory.bytesAt(a, files)
		if len(b) == 0 {
			return n, &arch.MemError{Addr: a, Err: d.memory.unreadable(a)}
		}
		k := copy(buf[n:], b)
		if d.reads != nil {
			d.reads.add(a, k)
		}
		n += k
	}
	return len(buf), nil
}

// ViewMem returns at most n bytes of the process's memory from addr on, those that ReadMem would read, as far as they lie in one piece; none if addr
// cannot be read. They are the dump's or the file's own: do not write to them, nor keep them when the dump is closed.
func (d *anyDump) ViewMem(addr arch.Address, n int) []byte {
	addr = d.dataAddress(addr)
	b := d.memory.bytesAt(addr, d.backing.Load())
	b = b[:min(max(n, 0), len(b))]
	if d.reads != nil && len(b) > 0 {
		d.reads.add(addr, len(b))
	}
	return b
}

// ReadWord reads one pointer-sized integer. Success allocates nothing.
func (d *anyDump) ReadWord(addr arch.Address) (uint64, error) {
	return d.readWord(addr, d.backing.Load())
}

func (d *anyDump) readWord(addr arch.Address, files *overlay) (uint64, error) {
	addr = d.dataAddress(addr)
	if b := d.memory.bytesAt(addr, files); len(b) >= d.wordSize {
		if d.reads != nil {
			d.reads.add(addr, d.wordSize)
		}
		return d.word(b), nil
	}
	var buf [8]byte
	if _, err := d.readMem(addr, buf[:d.wordSize], files); err != nil {
		return 0, err
	}
	return d.word(buf[:]), nil
}

// DumpMemory returns the memory in the dump itself, without what files supply.
func (d *anyDump) DumpMemory() arch.Memory { return ownMemory{d} }

// ownMemory is the memory in the dump itself.
type ownMemory struct{ d *anyDump }

func (m ownMemory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return m.d.readMem(addr, buf, nil)
}

func (m ownMemory) ReadWord(addr arch.Address) (uint64, error) { return m.d.readWord(addr, nil) }

// SetBacking lets files supply memory that the dump left out, if they are from the same
// build as the process's. files is asked once per library, when memory of the library is
// first read; a modules.MatchedSource for its MatchedImage. nil ends it. The libraries
// must have been built (BuildLibraries).
//
// A file's bytes are used only where the process cannot have changed them: in a mapping
// that was not writable, in a segment that the file does not make writable, outside
// PT_GNU_RELRO, which the dynamic linker writes before it makes it read-only, and not at
// all for a library with text relocations or with a guessed load bias. Images of other
// systems know which bytes their loader writes.
func (d *anyDump) SetBacking(files modules.Source) {
	if files == nil {
		d.backing.Store(nil)
		return
	}
	d.backing.Store(&overlay{libraryAt: d.libraryAt, from: files})
}

// Mappings lists the process's mappings that the dump names, ascending and disjoint,
// including those whose memory is not in the dump. Permissions are libstate.Unknown if the
// dump does not have them: for mappings that only NT_FILE or a list of modules names.
func (d *anyDump) Mappings() []libstate.Mapping { return slices.Clone(d.maps) }

// MappingAt returns the mapping that contains addr, even if its bytes are not in the dump;
// false if the process had nothing there. Permissions that the dump does not have are
// taken from the library's headers, once BuildLibraries was called. If those do not say
// them either, they are Unknown, and in a core Read and Exec, too: the mapping may be code.
func (d *anyDump) MappingAt(addr arch.Address) (libstate.Mapping, bool) {
	addr = d.dataAddress(addr)
	i := mappingIndex(d.maps, addr)
	if i < 0 {
		if lib, ok := d.libraryAt(addr); ok { // code that the dump does not list
			return lib.MappingAt(addr)
		}
		return libstate.Mapping{}, false
	}
	m := d.maps[i]
	if m.Perm&libstate.Unknown != 0 {
		m.Perm |= d.unknown
		if lib, ok := d.libraryAt(addr); ok {
			if of, ok := lib.MappingAt(addr); ok {
				m.Perm = of.Perm
			}
		}
	}
	return m, true
}

// mappingIndex returns the index of the mapping that contains addr, or -1.
func mappingIndex(maps []libstate.Mapping, addr arch.Address) int {
	lo, hi := 0, len(maps) // not slices.BinarySearchFunc, which copies each: a hostile dump has 65,535 of them, and a scan asks for each word
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); maps[mid].End <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo >= len(maps) || maps[lo].Start > addr {
		return -1
	}
	return lo
}
