package pefile

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// The data directories that tell where the loader writes.
const (
	dirImport      Directory = 1
	dirReloc       Directory = 5
	dirTLS         Directory = 9
	dirLoadConfig  Directory = 10
	dirIAT         Directory = 12
	dirDelayImport Directory = 13
)

// maxWritten limits the ranges recorded as written, maxThunks the imports of one image.
const (
	maxWritten = 1 << 16
	maxThunks  = 1 << 20
)

// A writtenList records where the loader writes in sections that are not writable: import
// addresses, the places that the load configuration names (security cookie, pointers of
// Control Flow Guard), and pages with dynamic relocations. Base relocations are not
// included: their result is known.
type writtenList struct {
	ranges []Range // by address, not overlapping
	all    bool    // there are writes of an unknown kind
	thunks int     // imports so far
}

func (f *File) loaderWrites() *writtenList {
	f.writtenOnce.Do(func() {
		w := &f.written
		w.add(f.Directory(dirIAT))
		f.importWrites(w)
		f.delayImportWrites(w)
		f.loadConfigWrites(w)
		if b := f.directoryBytes(dirTLS); b != nil {
			c := binbuf.New(b, 2*f.Bits/8, false)
			f.writtenAt(w, c.Uint(f.Bits/8), 4) // AddressOfIndex
		}
		w.sort()
	})
	return &f.written
}

func (w *writtenList) add(r Range) {
	if r.Size == 0 {
		return
	}
	if len(w.ranges) == maxWritten {
		w.all = true
		return
	}
	w.ranges = append(w.ranges, r)
}

func (w *writtenList) sort() {
	slices.SortFunc(w.ranges, func(a, b Range) int { return cmp.Compare(a.RVA, b.RVA) })
	out := w.ranges[:0]
	for _, r := range w.ranges {
		if n := len(out); n > 0 && r.RVA <= end(out[n-1]) {
			out[n-1].Size = max(end(out[n-1]), end(r)) - out[n-1].RVA
			continue
		}
		out = append(out, r)
	}
	w.ranges = out
}

// end returns where a range ends, limited to the end of the address space.
func end(r Range) uint32 { return r.RVA + min(r.Size, ^uint32(0)-r.RVA) }

// before returns how many bytes from rva on are not written; 0 if the first one is.
func (w *writtenList) before(rva uint32) uint32 {
	if w.all {
		return 0
	}
	i, _ := slices.BinarySearchFunc(w.ranges, rva, func(r Range, rva uint32) int {
		if end(r) <= rva {
			return -1
		}
		return 1
	})
	if i == len(w.ranges) {
		return ^uint32(0) - rva
	}
	if w.ranges[i].RVA <= rva {
		return 0
	}
	return w.ranges[i].RVA - rva
}

// writtenAt adds size bytes at a link-time address; 0 means none.
func (f *File) writtenAt(w *writtenList, addr uint64, size uint32) {
	if rva := addr - f.ImageBase; addr != 0 && rva <= uint64(^uint32(0)) {
		w.add(Range{uint32(rva), size})
	}
}

// directoryBytes returns the bytes of a data directory that exist.
func (f *File) directoryBytes(d Directory) []byte {
	r := f.Directory(d)
	b := f.At(r.RVA)
	if r.Size == 0 || len(b) == 0 {
		return nil
	}
	return b[:min(uint64(len(b)), uint64(r.Size))]
}

// importWrites adds the address tables that the import directory names. Not every linker
// sets the directory entry that covers all of them.
func (f *File) importWrites(w *writtenList) {
	r := f.Directory(dirImport)
	if r.Size == 0 {
		return
	}
	for b := f.At(r.RVA); ; b = b[20:] {
		c := binbuf.New(b, 0, false)
		names := c.U32()
		c.Skip(12)
		table := c.U32()
		if c.Error != nil || table == 0 {
			return
		}
		if names == 0 {
			names = table
		}
		w.add(Range{table, f.thunks(w, names)})
		if w.all {
			return
		}
	}
}

// delayImportWrites adds the tables of imports resolved on first call, and the module
// handles.
func (f *File) delayImportWrites(w *writtenList) {
	r := f.Directory(dirDelayImport)
	if r.Size == 0 {
		return
	}
	for b := f.At(r.RVA); ; b = b[32:] {
		c := binbuf.New(b, 0, false)
		attributes, name, handle, table, names := c.U32(), c.U32(), c.U32(), c.U32(), c.U32()
		c.Skip(12)
		if c.Error != nil || name == 0 {
			return
		}
		if attributes&1 == 0 { // addresses instead of RVAs, as Visual C++ 6 wrote them
			base := uint32(f.ImageBase)
			handle, table, names = handle-base, table-base, names-base
		}
		w.add(Range{handle, uint32(f.Bits / 8)})
		w.add(Range{table, f.thunks(w, names)})
		if w.all {
			return
		}
	}
}

// thunks returns the size of the zero-terminated import table at rva.
func (f *File) thunks(w *writtenList, rva uint32) uint32 {
	word := f.Bits / 8
	c := binbuf.New(f.At(rva), 0, false)
	for n := uint32(1); ; n++ {
		if c.Uint(word) == 0 {
			return n * uint32(word)
		}
		if w.thunks++; w.thunks > maxThunks {
			w.all = true
			return 0
		}
	}
}

// Fields of IMAGE_LOAD_CONFIG_DIRECTORY32 and 64 that contain the address of a word that
// the loader sets.
var (
	configWords32 = [...]int{0x3c, 0x48, 0x4c, 0x84, 0x90, 0xac, 0xb0, 0xb4, 0xb8, 0xbc}
	configWords64 = [...]int{0x58, 0x70, 0x78, 0xd8, 0xe8, 0x118, 0x120, 0x128, 0x130, 0x138}
)

func (f *File) loadConfigWrites(w *writtenList) {
	r := f.Directory(dirLoadConfig)
	b := f.At(r.RVA)
	c := binbuf.New(b, 0, false)
	size := uint64(c.U32()) // the directory entry says 64 in old images, whatever the actual size
	if r.Size == 0 || c.Error != nil {
		return
	}
	b = b[:min(uint64(len(b)), size)]
	words, word, dynamic := configWords64[:], 8, 0xe0
	if f.Bits == 32 {
		words, word, dynamic = configWords32[:], 4, 0x88
	}
	for _, off := range words {
		if off+word <= len(b) {
			c := binbuf.New(b, off, false)
			f.writtenAt(w, c.Uint(word), uint32(word))
		}
	}
	if dynamic+6 <= len(b) {
		c := binbuf.New(b, dynamic, false)
		f.dynamicWrites(w, c.U32(), c.U16())
	}
}

// Kinds of dynamic relocations (IMAGE_DYNAMIC_RELOCATION_...).
const (
	dynamicImportCall = 3 // to 5: retpolines
	dynamicARM64X     = 6
	dynamicOverride   = 7 // functions that the system replaces by better ones
)

// dynamicWrites adds the pages with dynamic relocations, whose result depends on the
// system. The table is at offset off in the section with the given number.
func (f *File) dynamicWrites(w *writtenList, off uint32, section uint16) {
	if section == 0 || int(section) > len(f.Sections) {
		return
	}
	b := f.sectionBytes(&f.Sections[section-1])
	b = b[min(uint64(off), uint64(len(b))):]
	c := binbuf.New(b, 0, false)
	version, size := c.U32(), c.U32()
	if c.Error != nil || size == 0 {
		return
	}
	if version != 1 {
		w.all = true
		return
	}
	c = binbuf.New(b[:8+min(uint64(size), uint64(len(b)-8))], 8, false)
	for c.More() && !w.all {
		kind, n := c.Uint(f.Bits/8), c.U32()
		list := c.Bytes64(uint64(n))
		switch {
		case c.Error != nil:
			w.all = true
		case kind >= dynamicImportCall && kind <= dynamicARM64X:
			w.pages(list)
		case kind == dynamicOverride:
			w.overrides(list)
		default:
			w.all = true
		}
	}
}

// pages adds the pages of blocks that have the layout of base relocation blocks.
func (w *writtenList) pages(b []byte) {
	for page := range relocBlocks(b) {
		w.add(Range{page.page, pageSize + 8}) // a word that begins in the page may end after it
	}
}

// overrides adds the pages of IMAGE_DYNAMIC_RELOCATION_FUNCTION_OVERRIDE.
func (w *writtenList) overrides(b []byte) {
	c := binbuf.New(b, 0, false)
	size := c.U32()
	list := c.Bytes64(uint64(size))
	if c.Error != nil {
		w.all = true
		return
	}
	c = binbuf.New(list, 0, false)
	for c.More() {
		c.Skip(8)
		rvas, relocs := c.U32(), c.U32()
		c.Skip64(uint64(rvas))
		w.pages(c.Bytes64(uint64(relocs)))
	}
	if c.Error != nil {
		w.all = true
	}
}
