package elffile

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// dynamicTab finds the dynamic symbols through PT_DYNAMIC alone, as the dynamic linker
// does. It is for files without section headers and for images in memory.
func (f *File) dynamicTab() (*SymTab, error) {
	ptr, ok := f.DynValue(DT_SYMTAB)
	if !ok {
		return nil, fmt.Errorf("DT_SYMTAB: %w", ErrNotFound)
	}
	addr := f.linkAddr(ptr)
	data := f.DataFrom(addr)
	if data == nil {
		return nil, fmt.Errorf("DT_SYMTAB %#x: %w", ptr, ErrTruncated)
	}
	strs := f.dynStrings()
	if strs == nil {
		return nil, fmt.Errorf("DT_STRTAB: %w", ErrNotFound)
	}
	ent, _ := f.DynValue(DT_SYMENT)
	t, err := f.newTab(data, strs, ent)
	if err != nil {
		return nil, err
	}
	n := f.dynCount(addr, uint64(t.ent))
	if size := n * uint64(t.ent); n < uint64(t.Len()) {
		t.data = t.data[:size]
	}
	return t, nil
}

// dynCount returns the number of dynamic symbols, which no tag gives. The System V hash
// table has one chain entry for each; the GNU hash table ends with the last symbol; without
// either, the strings usually follow the symbols.
func (f *File) dynCount(symtab, ent uint64) uint64 {
	if n, ok := f.DynValue(DT_MIPS_SYMTABNO); ok && f.Machine == EM_MIPS {
		return n
	}
	if ptr, ok := f.DynValue(DT_HASH); ok {
		if n, ok := f.sysvHashCount(f.DataFrom(f.linkAddr(ptr))); ok {
			return n
		}
	}
	if ptr, ok := f.DynValue(DT_GNU_HASH); ok {
		if n, ok := f.gnuHashCount(f.DataFrom(f.linkAddr(ptr))); ok {
			return n
		}
	}
	if ptr, ok := f.DynValue(DT_STRTAB); ok {
		if strs := f.linkAddr(ptr); strs > symtab {
			return (strs - symtab) / ent
		}
	}
	return 0
}

// sysvHashCount reads nchain (gABI, "Hash Table"). Entries are 32 bits wide, except on
// 64-bit s390, where they are 64.
func (f *File) sysvHashCount(d []byte) (uint64, bool) {
	c := f.cursor(d, 0)
	if f.Machine == EM_S390 && f.Class == 64 {
		c.U64()
		n := c.U64()
		return n, c.Error == nil
	}
	c.U32()
	n := c.U32()
	return uint64(n), c.Error == nil
}

// gnuHashCount finds the highest bucket and follows its chain to the entry whose low bit
// ends it. The chains begin with symbol symoffset.
func (f *File) gnuHashCount(d []byte) (uint64, bool) {
	c := f.cursor(d, 0)
	nbuckets, symoffset, bloom := c.U32(), c.U32(), c.U32()
	c.U32() // bloom shift
	c.Skip64(uint64(bloom) * uint64(f.PtrSize()))
	buckets := c.Bytes64(uint64(nbuckets) * 4)
	if c.Error != nil {
		return 0, false
	}
	var highest uint32
	for b := buckets; len(b) >= 4; b = b[4:] {
		highest = max(highest, f.Order.Uint32(b))
	}
	if highest < symoffset { // all buckets are empty
		return uint64(symoffset), true
	}
	for i := uint64(highest - symoffset); ; i++ {
		b, ok := binbuf.Slice(d, uint64(c.Off)+4*i, 4)
		if !ok {
			return 0, false
		}
		if f.Order.Uint32(b)&1 != 0 {
			return uint64(symoffset) + i + 1, true
		}
	}
}
