package elffile

import (
	"encoding/binary"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

func progSize(class int) int {
	if class == 64 {
		return 56
	}
	return 32
}

// parseProgs reads the program headers that exist.
func (f *File) parseProgs(h header) {
	if h.phnum == 0 || h.phoff == 0 {
		return
	}
	size := progSize(f.Class)
	stride := int(h.phentsize)
	if stride < size {
		f.warnf("program headers have %d bytes, want %d: ignored", stride, size)
		return
	}
	if h.phoff >= uint64(len(f.Data)) {
		f.warnf("program headers at offset %#x are past the end of the file (%#x)", h.phoff, len(f.Data))
		return
	}
	n := f.progCount(h, stride)
	if room := (uint64(len(f.Data)) - h.phoff + uint64(stride-size)) / uint64(stride); uint64(n) > room {
		f.warnf("%d program headers at offset %#x, but the file has only %d", n, h.phoff, room)
		n = int(room)
	}
	f.Progs = make([]Prog, n)
	for i := range f.Progs {
		f.Progs[i] = f.prog(int(h.phoff) + i*stride)
	}
}

// prog decodes the program header at off, which Data contains completely.
func (f *File) prog(off int) Prog {
	if f.Class == 64 && !f.big {
		b, le := f.Data[off:][:56], binary.LittleEndian // cores have 100,000 of these
		return Prog{
			Type: le.Uint32(b), Flags: le.Uint32(b[4:]), Off: le.Uint64(b[8:]), Vaddr: le.Uint64(b[16:]),
			Paddr: le.Uint64(b[24:]), Filesz: le.Uint64(b[32:]), Memsz: le.Uint64(b[40:]), Align: le.Uint64(b[48:]),
		}
	}
	c := f.cursor(f.Data, off)
	if f.Class == 64 {
		return Prog{Type: c.U32(), Flags: c.U32(), Off: c.U64(), Vaddr: c.U64(), Paddr: c.U64(), Filesz: c.U64(), Memsz: c.U64(), Align: c.U64()}
	}
	p := Prog{Type: c.U32(), Off: uint64(c.U32()), Vaddr: uint64(c.U32()), Paddr: uint64(c.U32()), Filesz: uint64(c.U32()), Memsz: uint64(c.U32())}
	p.Flags, p.Align = c.U32(), uint64(c.U32())
	return p
}

// progCount returns the number of program headers. If there are 65,535 or more, section 0
// has the count. The kernel writes it at the very end of a core, so a truncated core lacks
// it. The table is then assumed to extend to the first segment's bytes, which the kernel
// writes right after it.
func (f *File) progCount(h header, stride int) int {
	if h.phnum != pnXNum {
		return int(h.phnum)
	}
	if s, ok := f.sectionHeader(0); ok && s.Info >= pnXNum {
		return int(s.Info)
	}
	end := uint64(len(f.Data))
	for i := 0; i < pnXNum; i++ {
		off := h.phoff + uint64(i*stride)
		if off+uint64(progSize(f.Class)) > end {
			break
		}
		if p := f.prog(int(off)); p.Filesz > 0 && p.Off > off {
			end = min(end, p.Off)
		}
	}
	n := max((end-h.phoff)/uint64(stride), pnXNum)
	f.warnf("the section header with the number of program headers is missing; assuming %d", n)
	return int(n)
}

// VaddrToOff returns the offset in Data of a link-time virtual address that is in a PT_LOAD
// segment and has bytes in the file. It returns false for other addresses, for the
// zero-filled end of a segment, and past the end of Data.
func (f *File) VaddrToOff(vaddr uint64) (off uint64, ok bool) {
	off, n := f.backing(vaddr)
	return off, n > 0
}

// backing returns the offset in Data of the byte at vaddr, and the number of bytes of the
// same segment from there on in Data; 0 if there are none.
func (f *File) backing(vaddr uint64) (off, n uint64) {
	p := f.LoadAt(vaddr)
	if p == nil {
		return 0, 0
	}
	off, n = p.Off+(vaddr-p.Vaddr), f.backed(p)-(vaddr-p.Vaddr)
	if f.memory {
		off = vaddr - f.base
	}
	if off >= uint64(len(f.Data)) {
		return 0, 0
	}
	return off, min(n, uint64(len(f.Data))-off)
}

// LoadAt returns the first PT_LOAD segment that has bytes in the file for a link-time
// virtual address, or nil. A truncated file may lack them.
func (f *File) LoadAt(vaddr uint64) *Prog {
	i, ok := f.loads.get(len(f.Progs), func(i int) (uint64, uint64, bool) { return f.Progs[i].span(f.backed(&f.Progs[i])) }).Find(vaddr)
	if !ok {
		return nil
	}
	return &f.Progs[i]
}

// backed returns how many bytes of a segment are in Data if that is complete.
func (f *File) backed(p *Prog) uint64 {
	if f.memory {
		return p.Memsz
	}
	return p.Filesz
}

// span returns the first and the last address of size bytes of a PT_LOAD segment, as far as
// they are in the address space.
func (p *Prog) span(size uint64) (first, last uint64, ok bool) {
	last = p.Vaddr + size - 1
	if last < p.Vaddr {
		last = math.MaxUint64
	}
	return p.Vaddr, last, p.Type == PT_LOAD && size > 0
}

// DataAt returns the n bytes at a link-time virtual address, without copying. All of them
// must be in one PT_LOAD segment and have bytes in the file. Relocations of the dynamic
// linker are not applied. The error is ErrNotFound for an address outside all segments,
// ErrNoBits for the zero-filled part of a segment, ErrTruncated past the end of the file.
func (f *File) DataAt(vaddr, n uint64) ([]byte, error) {
	off, have := f.backing(vaddr)
	if n <= have {
		return f.Data[off : off+n : off+n], nil
	}
	return nil, f.whyNot(vaddr, n)
}

// DataFrom returns the bytes from a link-time virtual address to the end of its segment's
// bytes in the file, or nil if there are none.
func (f *File) DataFrom(vaddr uint64) []byte {
	off, n := f.backing(vaddr)
	if n == 0 {
		return nil
	}
	return f.Data[off : off+n : off+n]
}

func (f *File) whyNot(vaddr, n uint64) error {
	size := func(p *Prog) uint64 { return max(p.Memsz, p.Filesz) }
	i, ok := f.loaded.get(len(f.Progs), func(i int) (uint64, uint64, bool) { return f.Progs[i].span(size(&f.Progs[i])) }).Find(vaddr)
	if !ok {
		return &AddrError{vaddr, n, ErrNotFound}
	}
	p := &f.Progs[i]
	switch rel := vaddr - p.Vaddr; {
	case n > size(p)-rel:
		return &AddrError{vaddr, n, ErrNotFound}
	case !f.memory && (rel >= p.Filesz || n > p.Filesz-rel):
		return &AddrError{vaddr, n, ErrNoBits}
	}
	return &AddrError{vaddr, n, ErrTruncated}
}

// segment returns the first program header of a type.
func (f *File) segment(typ uint32) *Prog {
	for i := range f.Progs {
		if f.Progs[i].Type == typ {
			return &f.Progs[i]
		}
	}
	return nil
}

// SegmentData returns the bytes of a segment that are in Data: fewer than p.Filesz if the
// file is truncated.
func (f *File) SegmentData(p *Prog) []byte {
	off, size := p.Off, p.Filesz
	if f.memory {
		off = p.Vaddr - f.base
	}
	if off > uint64(len(f.Data)) {
		return nil
	}
	size = min(size, uint64(len(f.Data))-off)
	b, _ := binbuf.Slice(f.Data, off, size)
	return b
}

// Interp returns the path of the program interpreter (PT_INTERP), or "" if there is none.
func (f *File) Interp() string {
	p := f.segment(PT_INTERP)
	if p == nil {
		return ""
	}
	d := f.SegmentData(p)
	if len(d) > maxName {
		d = d[:maxName]
	}
	s, ok := binbuf.CStringAt(d, 0)
	if !ok {
		s = d
	}
	return string(s)
}

// Relro returns the link-time address range [lo, hi) of PT_GNU_RELRO. The dynamic linker
// writes to it and then makes it read-only, so the bytes in the file are not those of the
// process. Only pages completely inside the range become read-only.
func (f *File) Relro() (lo, hi uint64, ok bool) {
	p := f.segment(PT_GNU_RELRO)
	if p == nil || p.Memsz == 0 || p.Vaddr+p.Memsz < p.Vaddr {
		return 0, 0, false
	}
	return p.Vaddr, p.Vaddr + p.Memsz, true
}
