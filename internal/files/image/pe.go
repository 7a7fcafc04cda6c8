package image

import (
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pefile"
	"github.com/corewalk/corewalk/internal/format/winunwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// PE is the image as a PE file; nil for others.
func (im *Image) PE() *pefile.File {
	if im == nil {
		return nil
	}
	return im.pe
}

// Bias is what to add to an address of the file to get the process's, for a library
// whose load bias is as libstate has it: PE's counts from the image's base, and the
// addresses in its file from the one that it is linked for.
func (im *Image) Bias(loadBias uint64) uint64 {
	if im == nil {
		return loadBias
	}
	return loadBias - im.elf.LinkBase
}

// FromPEMemory makes an image of a PE image that a process has in its memory: data is
// what lies at its base on. m tells by what its symbol files are found.
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

// PEUnwind is the function table of a PE image; nil for others, and for
// architectures that have none.
func (im *Image) PEUnwind() *winunwind.Table {
	if im == nil || im.pe == nil {
		return nil
	}
	im.unwindOnce.Do(func() { im.unwind = peUnwind(im.pe) })
	return im.unwind
}

func peUnwind(pe *pefile.File) *winunwind.Table {
	a := peArch(pe.Machine)
	pdata := pe.Pdata()
	if a == nil || len(pdata) == 0 {
		return nil
	}
	t, err := winunwind.New(a, pdata, pe)
	if err != nil {
		return nil // of an architecture without such tables
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

// viewPE describes a PE image in ELF's terms. Addresses are those that it is linked
// for, as in its DWARF.
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
			// Not loaded, and of no certain size in memory.
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

// sectionName is the name that ELF has for a section: linkers cut names of PE to eight
// bytes.
func sectionName(name string) string {
	if name == ".eh_fram" {
		return ".eh_frame"
	}
	return name
}

// discardable sections (IMAGE_SCN_MEM_DISCARDABLE) are not there once the image
// has been loaded.
const discardable = 0x02000000

// loadedPE reads the image as it lies at base.
func loadedPE(pe *pefile.File, base uint64) func(addr uint64) []byte {
	at := pe.LoadedAt(base)
	return func(addr uint64) []byte {
		if addr < base || addr-base >= 1<<32 {
			return nil
		}
		return at.At(uint32(addr - base))
	}
}

// coffSymbols are the symbols that MinGW's linkers write.
func coffSymbols(pe *pefile.File) []elffile.LayoutSymbol {
	var list []elffile.LayoutSymbol
	sizes := newFuncSizes(pe)
	for s := range pe.Symbols() {
		if s.Section <= 0 || s.Name == "" || s.Name[0] == '.' || len(list) == maxPESymbols {
			continue // of the debugger, of sections
		}
		if s.Class != pefile.ClassExternal && s.Class != pefile.ClassStatic {
			continue
		}
		list = append(list, sizes.symbol(s.Name, s.RVA, s.Function, s.Class == pefile.ClassStatic))
	}
	return list
}

// maxPESymbols bounds the symbols of one image.
const maxPESymbols = 1 << 22

func exportSymbols(pe *pefile.File) []elffile.LayoutSymbol {
	var list []elffile.LayoutSymbol
	sizes := newFuncSizes(pe)
	for e, err := range pe.Exports() {
		if err != nil || len(list) == maxPESymbols {
			break // a damaged table has no names; that is no reason not to go on
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

// funcSizes tells how long functions are, from the function table.
type funcSizes struct {
	pe    *pefile.File
	table *winunwind.Table
}

func newFuncSizes(pe *pefile.File) funcSizes { return funcSizes{pe, peUnwind(pe)} }

// symbol makes a symbol of a name as the linker has it. A function's size is that
// which the function table gives, so that what lies behind an export is not taken
// for a part of it.
func (z funcSizes) symbol(name string, rva uint32, function, local bool) elffile.LayoutSymbol {
	if z.pe.Machine == pefile.MachineI386 {
		name = strings.TrimPrefix(name, "_") // which i386 puts before every name of C
	}
	s := elffile.LayoutSymbol{Name: name, Value: z.pe.ImageBase + uint64(rva), Func: function, Local: local}
	if z.table != nil {
		if f, ok := z.table.Find(rva); ok && f.Begin == rva {
			s.Size = uint64(f.End - f.Begin)
		}
	}
	return s
}
