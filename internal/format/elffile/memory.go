package elffile

// ParseMemory reads an ELF image as it is in the memory of a process. data[0] is the byte
// at run-time address addr, where the ELF header is, and segments are at their addresses,
// not at their file offsets. It is used for the vDSO, and for libraries whose file is
// missing but whose memory is in the dump.
//
// Bytes that could not be read should be zero. Section headers are used only if they are
// inside a loaded segment and every segment's address corresponds to its file offset, as in
// a vDSO; otherwise there are none, and symbols come from PT_DYNAMIC. All addresses passed
// and returned are still link-time addresses.
func ParseMemory(data []byte, addr uint64) (*File, error) {
	f := &File{Data: data, memory: true}
	h, err := f.parseHeader()
	if err != nil {
		return nil, err
	}
	shoff := h.shoff
	h.shoff, h.shnum = 0, 0
	if h.phnum == pnXNum { // an image in memory has no section 0 with the count
		f.warnf("more than 65,534 program headers in a memory image: not read")
		return f, nil
	}
	f.parseProgs(h)
	f.base = f.imageBase()
	f.bias = addr - f.base
	if f.sameLayout(shoff) {
		if again, err := f.parseHeader(); err == nil {
			f.locateSections(again)
		}
	}
	return f, nil
}

// imageBase returns the link-time address of the ELF header: that of the segment with file
// offset 0, or the lowest one rounded down to a page.
func (f *File) imageBase() uint64 {
	lowest, found := uint64(0), false
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != PT_LOAD {
			continue
		}
		if p.Off == 0 {
			return p.Vaddr
		}
		if !found || p.Vaddr < lowest {
			lowest, found = p.Vaddr, true
		}
	}
	return lowest &^ 0xfff
}

// sameLayout reports whether file offsets are offsets in the image and the section headers
// at shoff are part of a loaded segment.
func (f *File) sameLayout(shoff uint64) bool {
	inside := false
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != PT_LOAD {
			continue
		}
		if p.Off != p.Vaddr-f.base {
			return false
		}
		inside = inside || shoff >= p.Off && shoff-p.Off < p.Filesz
	}
	return inside
}

// linkAddr converts a pointer from the dynamic section to a link-time address. Most dynamic
// linkers add the load bias to these pointers in memory; those of the vDSO, and of machines
// with a read-only dynamic section, are not changed.
func (f *File) linkAddr(ptr uint64) uint64 {
	if !f.memory || f.bias == 0 {
		return ptr
	}
	if _, n := f.backing(ptr); n > 0 {
		return ptr
	}
	ptr -= f.bias
	if f.Class == 32 {
		ptr &= 1<<32 - 1
	}
	return ptr
}
