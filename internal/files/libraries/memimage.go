package libraries

import (
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

// header reads the ELF header and the program headers in memory at addr; nil if there
// are none that fit this process.
func (b *builder) header(addr arch.Address) *elffile.File {
	if string(b.Some(addr, 4)) != "\x7fELF" {
		return nil
	}
	f, err := elffile.Parse(b.Some(addr, int(min(b.headerSize(addr), maxHeader))))
	if err != nil || !b.fits(f) || f.Type != elffile.ET_EXEC && f.Type != elffile.ET_DYN || !hasLoad(f) {
		return nil
	}
	return f
}

// headerSize returns the size of the ELF header at addr plus that of its program
// headers, which directly follow it in the output of all linkers (gABI, "ELF Header":
// e_phoff, e_phentsize, e_phnum).
func (b *builder) headerSize(addr arch.Address) uint64 {
	var h [64]byte
	n, _ := b.ReadMem(addr, h[:])
	order := b.Arch.ByteOrder
	phoff, sizes := uint64(order.Uint32(h[28:])), h[42:]
	if b.Arch.WordSize == 8 {
		phoff, sizes = order.Uint64(h[32:]), h[54:]
	}
	table := uint64(order.Uint16(sizes)) * uint64(order.Uint16(sizes[2:]))
	if phoff > maxHeader {
		return uint64(n)
	}
	return max(uint64(n), phoff+table)
}

func hasLoad(f *elffile.File) bool {
	_, _, ok := loadSpan(f)
	return ok
}

// loadSpan returns the range of link-time addresses [lo, hi) of f's PT_LOADs.
func loadSpan(f *elffile.File) (lo, hi uint64, ok bool) {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Memsz == 0 || p.Vaddr+p.Memsz < p.Vaddr {
			continue
		}
		if !ok || p.Vaddr < lo {
			lo = p.Vaddr
		}
		hi = max(hi, p.Vaddr+p.Memsz)
		ok = true
	}
	return lo, hi, ok
}

// headerBias returns the load bias of an image whose ELF header is at addr. The header
// is at file offset 0, which the first page of a PT_LOAD maps, or which the lowest
// PT_LOAD would map if it began earlier.
func (b *builder) headerBias(f *elffile.File, addr arch.Address) arch.Address {
	return b.headerBiases(f, addr)[0]
}

// headerBiases returns all load biases that a header at addr allows, the likeliest
// first. In a small program, code and data may share the first page of the file, which
// is then in memory twice.
func (b *builder) headerBiases(f *elffile.File, addr arch.Address) []arch.Address {
	var biases []arch.Address
	var lowest *elffile.Prog
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Memsz == 0 {
			continue
		}
		if p.Off < b.page && len(biases) < 4 {
			biases = append(biases, b.truncate(addr-(p.Vaddr-p.Off)))
		}
		if lowest == nil || p.Vaddr < lowest.Vaddr {
			lowest = p
		}
	}
	if len(biases) == 0 {
		biases = append(biases, b.truncate(addr-(lowest.Vaddr-lowest.Off)))
	}
	return biases
}

// fileStart returns the address that the first byte of the file would have if the
// segment that maps it were extended down to it.
func (b *builder) fileStart(f *elffile.File, bias arch.Address) arch.Address {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_LOAD && p.Memsz != 0 {
			return b.truncate(bias + p.Vaddr - p.Off)
		}
	}
	return bias
}

func prog(f *elffile.File, typ uint32) *elffile.Prog {
	for i := range f.Progs {
		if f.Progs[i].Type == typ {
			return &f.Progs[i]
		}
	}
	return nil
}

// cstring reads a NUL-terminated string of a reasonable length; otherwise "".
func (b *builder) cstring(addr arch.Address) string {
	text, ended := b.CString(addr, maxString)
	if !ended {
		return ""
	}
	return string(text)
}

// buildID reads the GNU build-id from the notes in memory, nil if there is none, and Go's.
func (b *builder) buildID(m *module) (id []byte, inGo string) {
	for i := range m.elf.Progs {
		p := &m.elf.Progs[i]
		if p.Type != elffile.PT_NOTE || p.Memsz == 0 {
			continue
		}
		data := b.Some(m.lib.LoadBias+p.Vaddr, int(min(p.Filesz, maxNotes)))
		for n := range elffile.Notes(data, b.Arch.ByteOrder, int(min(p.Align, 8))) {
			if n.Type == elffile.NT_GNU_BUILD_ID && string(n.Name) == "GNU" && !n.Truncated && len(n.Desc) > 0 {
				return n.Desc, ""
			}
			if n.Type == elffile.NT_GO_BUILD_ID && string(n.Name) == "Go" && !n.Truncated && len(n.Desc) <= maxGoBuildID {
				inGo = string(n.Desc)
			}
		}
	}
	return nil, inGo
}

// maxGoBuildID limits Go's build ids; what cmd/go makes has 83 bytes.
const maxGoBuildID = 256

// A dynamic is the dynamic section of a module, as it is in memory.
type dynamic struct {
	b    *builder
	addr arch.Address
	data []byte
}

func (b *builder) dynamic(m *module) dynamic {
	d := dynamic{b: b}
	if m.elf == nil {
		return d
	}
	if p := prog(m.elf, elffile.PT_DYNAMIC); p != nil {
		d.addr = b.truncate(m.lib.LoadBias + p.Vaddr)
		d.data = b.Some(d.addr, int(min(p.Memsz, maxHeader)))
	}
	return d
}

// find returns the value of the first entry with a tag, and the entry's address.
func (d dynamic) find(tag uint64) (val uint64, at arch.Address, ok bool) {
	a := d.b.Arch
	size := 2 * a.WordSize
	for off := 0; off+size <= len(d.data); off += size {
		t := a.Word(d.data[off:])
		if t == elffile.DT_NULL {
			break
		}
		if t == tag {
			return a.Word(d.data[off+a.WordSize:]), d.addr + uint64(off), true
		}
	}
	return 0, 0, false
}

// soname reads DT_SONAME. Its string is often in pages that a dump leaves out.
func (b *builder) soname(m *module) string {
	if !m.fromMem {
		return m.elf.SONAME()
	}
	d := b.dynamic(m)
	name, _, ok := d.find(elffile.DT_SONAME)
	table, _, ok2 := d.find(elffile.DT_STRTAB)
	if !ok || !ok2 {
		return ""
	}
	// Most dynamic linkers add the load bias to the pointer in place. The vDSO's
	// pointer, and those of a few machines, stay as linked.
	if b.moduleAt(b.truncate(table)) != m {
		table += m.lib.LoadBias
	}
	return b.cstring(b.truncate(table + name))
}
