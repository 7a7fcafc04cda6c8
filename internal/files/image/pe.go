package image

import (
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PE returns the image's PE file, or nil if it is an ELF file.
func (im *Image) PE() *pefile.File {
	if im == nil {
		return nil
	}
	return im.pe
}

// Bias is what to subtract from an address of the process to get an address of the file,
// for a library with the load bias that libstate reports. For ELF it is the load bias; a PE
// load bias is the image's base address, while addresses in a PE file are relative to its
// preferred base.
func (im *Image) Bias(loadBias uint64) uint64 {
	if im == nil {
		return loadBias
	}
	return loadBias - im.elf.LinkBase
}

// FromPEMemory makes an image of a PE image in the memory of a process. data is what the
// process has from the image's base on; m identifies the module when symbol files are
// searched for.
func (c *Cache) FromPEMemory(data []byte, m find.Module) (*Image, error) {
	pe, err := pefile.ParseMemory(data)
	if err != nil {
		return nil, err
	}
	if cv, err := pe.CodeView(); err == nil && m.DebugID == "" {
		m.DebugID, m.DebugFile = cv.DebugID(), cv.Path
	}
	im := &Image{elf: viewPE(pe), pe: pe, cache: c, finder: c.finder}
	im.symbols.who = m
	return im, nil
}

// PEUnwind returns the function table of a PE image, or nil if it is an ELF file or of an
// architecture without function tables. Some PDBs have a copy of the table, which serves for
// an image that is missing; then PEUnwind may fetch.
func (im *Image) PEUnwind() *winunwind.Table {
	if im == nil {
		return nil
	}
	im.unwindOnce.Do(func() {
		switch {
		case im.pe != nil:
			im.unwind = peUnwind(im.pe)
		case im.bare && im.unwind == nil:
			im.unwind = pdbUnwind(im.PDB())
		}
	})
	return im.unwind
}

// pdbUnwind returns the copy of the function table in a PDB, or nil if there is none.
func pdbUnwind(f *pdb.File) *winunwind.Table {
	if f == nil {
		return nil
	}
	a := peArch(f.Machine)
	pdata, xdata := f.UnwindTables()
	if a == nil || len(pdata) == 0 {
		return nil
	}
	t, err := winunwind.New(a, pdata, xdata)
	if err != nil {
		return nil // of an architecture without function tables
	}
	return t
}

func peUnwind(pe *pefile.File) *winunwind.Table {
	a := peArch(pe.Machine)
	pdata := pe.Pdata()
	if a == nil || len(pdata) == 0 {
		return nil
	}
	t, err := winunwind.New(a, pdata, pe)
	if err != nil {
		return nil // of an architecture without function tables
	}
	return t
}

func peArch(machine uint16) *arch.Arch {
	switch machine {
	case pefile.MachineAMD64:
		return arch.AMD64
	case pefile.MachineARM64:
		return arch.ARM64
	}
	return nil
}

func peMachine(machine uint16) uint16 {
	switch machine {
	case pefile.MachineAMD64:
		return elffile.EM_X86_64
	case pefile.MachineARM64, pefile.MachineARM64EC, pefile.MachineARM64X:
		return elffile.EM_AARCH64
	case pefile.MachineI386:
		return elffile.EM_386
	case pefile.MachineARM, pefile.MachineARMNT:
		return elffile.EM_ARM
	}
	return 0
}

// viewPE presents a PE image as an ELF file. Addresses are link-time addresses, as in its
// DWARF.
func viewPE(pe *pefile.File) *elffile.File {
	l := elffile.Layout{Data: pe.Data, Class: pe.Bits, Machine: peMachine(pe.Machine), LinkBase: pe.ImageBase}
	if pe.Entry != 0 {
		l.Entry = pe.ImageBase + uint64(pe.Entry)
	}
	for i := range pe.Sections {
		s := &pe.Sections[i]
		addr := pe.ImageBase + uint64(s.RVA)
		off, bytes, size := pe.Placed(s)
		if strings.HasPrefix(s.Name, ".debug_") || s.Characteristics&discardable != 0 {
			// Not loaded, and its size in memory is uncertain.
			l.Sections = append(l.Sections, elffile.LayoutSection{Name: sectionName(s.Name), Addr: addr, Off: off, Size: bytes})
			continue
		}
		sec := elffile.LayoutSection{Name: sectionName(s.Name), Flags: elffile.SHF_ALLOC, Addr: addr, Off: off, Size: size, NoBits: bytes == 0}
		flags := uint32(elffile.PF_R)
		if s.Characteristics&(pefile.SectionExecute|pefile.SectionCode) != 0 {
			sec.Flags |= elffile.SHF_EXECINSTR
			flags |= elffile.PF_X
		}
		if s.Characteristics&pefile.SectionWritable != 0 {
			sec.Flags |= elffile.SHF_WRITE
			flags |= elffile.PF_W
		}
		if bytes > 0 {
			sec.Size = bytes
		}
		l.Sections = append(l.Sections, sec)
		l.Progs = append(l.Progs, elffile.Prog{Type: elffile.PT_LOAD, Flags: flags, Off: off, Vaddr: addr, Filesz: bytes, Memsz: size})
	}
	l.Loaded = func(base uint64) func(uint64) []byte { return loadedPE(pe, base) }
	l.Symbols = func() []elffile.LayoutSymbol { return coffSymbols(pe) }
	l.Exports = func() []elffile.LayoutSymbol { return exportSymbols(pe) }
	return elffile.View(l)
}

// sectionName returns the ELF name of a PE section. Linkers truncate PE section names to
// eight bytes.
func sectionName(name string) string {
	if name == ".eh_fram" {
		return ".eh_frame"
	}
	return name
}

// discardable sections (IMAGE_SCN_MEM_DISCARDABLE) may be missing once the image has been
// loaded.
const discardable = 0x02000000

// loadedPE returns a function that reads the image as it looks when loaded at base.
func loadedPE(pe *pefile.File, base uint64) func(addr uint64) []byte {
	at := pe.LoadedAt(base)
	return func(addr uint64) []byte {
		if addr < base || addr-base >= 1<<32 {
			return nil
		}
		return at.At(uint32(addr - base))
	}
}

// coffSymbols returns the COFF symbols, which MinGW's linkers write.
func coffSymbols(pe *pefile.File) []elffile.LayoutSymbol {
	var list []elffile.LayoutSymbol
	sizes := newFuncSizes(pe)
	for s := range pe.Symbols() {
		if s.Section <= 0 || s.Name == "" || s.Name[0] == '.' || len(list) == maxPESymbols {
			continue // debugging and section symbols
		}
		if s.Class != pefile.ClassExternal && s.Class != pefile.ClassStatic {
			continue
		}
		list = append(list, sizes.symbol(s.Name, s.RVA, s.Function, s.Class == pefile.ClassStatic))
	}
	return list
}

// maxPESymbols limits the symbols of one image.
const maxPESymbols = 1 << 22

func exportSymbols(pe *pefile.File) []elffile.LayoutSymbol {
	var list []elffile.LayoutSymbol
	sizes := newFuncSizes(pe)
	for e, err := range pe.Exports() {
		if err != nil || len(list) == maxPESymbols {
			break // a damaged table is not a reason to give up: its symbols are omitted
		}
		if e.Name == "" || e.Forward != "" {
			continue
		}
		code := false
		if s := pe.SectionAt(e.RVA); s != nil {
			code = s.Characteristics&(pefile.SectionExecute|pefile.SectionCode) != 0
		}
		list = append(list, sizes.symbol(e.Name, e.RVA, code, false))
	}
	return list
}

// funcSizes determines the length of functions from the function table.
type funcSizes struct {
	pe    *pefile.File
	table *winunwind.Table
}

func newFuncSizes(pe *pefile.File) funcSizes { return funcSizes{pe, peUnwind(pe)} }

// symbol makes a symbol from a linker name. A function's size comes from the function
// table, so that what follows an export is not taken for part of it.
func (z funcSizes) symbol(name string, rva uint32, function, local bool) elffile.LayoutSymbol {
	if z.pe.Machine == pefile.MachineI386 {
		name = strings.TrimPrefix(name, "_") // i386 prefixes every C name with an underscore
	}
	s := elffile.LayoutSymbol{Name: name, Value: z.pe.ImageBase + uint64(rva), Func: function, Local: local}
	if z.table != nil {
		if f, ok := z.table.Find(rva); ok && f.Begin == rva {
			s.Size = uint64(f.End - f.Begin)
		}
	}
	return s
}
