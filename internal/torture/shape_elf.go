package main

import (
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// words lists the whole numbers of a range as fields.
func words(off, n, size int, r role, choices []uint64) []field {
	var list []field
	for at := off; at+size <= off+n; at += size {
		list = append(list, field{at, size, r, choices})
	}
	return list
}

// wordSize is the size of an address.
func wordSize(f *elffile.File) int {
	if f.Class == 64 {
		return 8
	}
	return 4
}

// elfHeaders are the fields of the ELF header, program headers and section headers.
func elfHeaders(f *elffile.File, data []byte) []field {
	var list []field
	rd := mutator{data: data, shape: &shape{big: f.Order.Uint16([]byte{1, 0}) != 1}}
	head := func(off int, sizes ...int) {
		for _, n := range sizes {
			if off+n <= len(data) {
				list = append(list, field{off: off, size: n})
			}
			off += n
		}
	}
	w := wordSize(f)
	head(16, 2, 2, 4, w, w, w, 4, 2, 2, 2, 2, 2, 2)
	at := 16 + 8 + w
	phoff, shoff := int(rd.read(at, w)), int(rd.read(at+w, w))
	phnum, shnum := int(rd.read(at+2*w+8, 2)), int(rd.read(at+2*w+12, 2))
	for i := range phnum {
		if w == 8 {
			head(phoff+56*i, 4, 4, 8, 8, 8, 8, 8, 8)
		} else {
			head(phoff+32*i, 4, 4, 4, 4, 4, 4, 4, 4)
		}
	}
	for i := range shnum {
		if w == 8 {
			head(shoff+64*i, 4, 4, 8, 8, 8, 8, 4, 4, 8, 8)
		} else {
			head(shoff+40*i, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4)
		}
	}
	return list
}

// coreShape is that of a core's headers and notes.
func coreShape(data []byte) *shape {
	f, err := elffile.Parse(data)
	if err != nil {
		return &shape{}
	}
	s := &shape{big: f.Order.Uint16([]byte{1, 0}) != 1, word: wordSize(f), fields: elfHeaders(f, data)}
	for i := range f.Progs {
		p := &f.Progs[i]
		switch {
		case p.Type == elffile.PT_NOTE:
			off := int(p.Off)
			end := min(len(data), off+int(p.Filesz))
			s.regions = append(s.regions, region{off, end - off}, region{off, min(2048, end-off)})
			s.fields = append(s.fields, words(off, end-off, 4, roleNumber, nil)...)
			if s.word == 8 {
				s.fields = append(s.fields, words(off, end-off, 8, roleAddr, nil)...)
			}
		case p.Type == elffile.PT_LOAD:
			s.addrs = append(s.addrs, p.Vaddr, p.Vaddr+p.Memsz)
		}
	}
	s.regions = append(s.regions, region{0, 64}, region{0, min(len(data), 4096)})
	return s
}

// memoryShape is that of the memory in a core: addresses that lead to other memory in it.
func memoryShape(data []byte) *shape {
	f, err := elffile.Parse(data)
	if err != nil {
		return &shape{}
	}
	s := &shape{big: f.Order.Uint16([]byte{1, 0}) != 1, word: wordSize(f)}
	rd := mutator{data: data, shape: s}
	var loads []*elffile.Prog
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_LOAD && p.Filesz > 0 {
			loads = append(loads, p)
			s.addrs = append(s.addrs, p.Vaddr, p.Vaddr+p.Filesz-8)
		}
	}
	mapped := func(v uint64) bool {
		for _, p := range loads {
			if v-p.Vaddr < p.Memsz {
				return true
			}
		}
		return false
	}
	const page = 4096
	for _, p := range loads {
		end := min(uint64(len(data)), p.Off+p.Filesz)
		for off := p.Off; off+page <= end; off += page {
			used := 0
			for at := int(off); at < int(off)+page; at += s.word {
				v := rd.read(at, s.word)
				if v != 0 {
					used++
				}
				if v != 0 && len(s.fields) < 1<<18 && mapped(v) {
					s.fields = append(s.fields, field{at, s.word, roleAddr, nil})
					if len(s.addrs) < 1<<16 {
						s.addrs = append(s.addrs, v, p.Vaddr+uint64(at)-p.Off)
					}
				}
			}
			if used > 0 {
				s.regions = append(s.regions, region{int(off), page})
			}
		}
	}
	return s
}

// readSections are the sections that a walk or a look-up reads.
var readSections = []string{".eh_frame", ".debug_", ".zdebug_", ".symtab", ".strtab", ".dyn", ".gnu", ".note", ".text", ".shstrtab",
	".ARM.ex", ".plt", ".rela", ".rel.", ".gopclntab", ".go.", ".data.rel", ".dynin", ".hash", ".interp", ".opd", ".got", ".rodata"}

// elfShape is that of a program or a debug file.
func elfShape(data []byte) *shape {
	f, err := elffile.Parse(data)
	if err != nil {
		return &shape{}
	}
	s := &shape{big: f.Order.Uint16([]byte{1, 0}) != 1, word: wordSize(f), fields: elfHeaders(f, data)}
	s.regions = append(s.regions, region{0, 64})
	for _, sec := range f.Sections() {
		name := sec.Name()
		for _, prefix := range readSections {
			if !strings.HasPrefix(name, prefix) || sec.Size == 0 || sec.Type == elffile.SHT_NOBITS || int(sec.Off) >= len(data) {
				continue
			}
			r := region{int(sec.Off), min(int(sec.Size), len(data)-int(sec.Off))}
			s.regions = append(s.regions, r)
			if r.size > 512 {
				s.regions = append(s.regions, region{r.off, 256})
			}
			switch {
			case name == ".dynamic", name == ".symtab", name == ".dynsym", strings.HasPrefix(name, ".gnu"), strings.HasPrefix(name, ".note"):
				s.fields = append(s.fields, words(r.off, min(r.size, 4096), s.word, roleNumber, nil)...)
			case name == ".eh_frame", name == ".debug_frame", name == ".eh_frame_hdr", strings.HasPrefix(name, ".ARM.ex"), name == ".gopclntab":
				s.fields = append(s.fields, words(r.off, min(r.size, 4096), 4, roleNumber, nil)...)
			}
			break
		}
	}
	return s
}

// foreignShape is that of a dump of any kind.
func foreignShape(data []byte) *shape {
	if s := coreShape(data); len(s.fields) > 0 {
		return s
	}
	return minidumpShape(data)
}
