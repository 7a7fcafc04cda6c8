package image

import (
	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// EHFrame returns the call frame information in .eh_frame, or nil if the module has none.
func (im *Image) EHFrame() *cfi.Table {
	if im == nil {
		return nil
	}
	im.ehOnce.Do(func() { im.eh = im.openEHFrame() })
	return im.eh
}

func (im *Image) cfiConfig() cfi.Config {
	cfg := cfi.Config{Big: im.elf.Big(), AddrSize: im.elf.PtrSize(), AArch64: im.elf.Machine == elffile.EM_AARCH64}
	if s := im.elf.Section(".text"); s != nil {
		cfg.TextBase = s.Addr
	}
	if got, ok := im.elf.DynValue(elffile.DT_PLTGOT); ok {
		cfg.DataBase = got
	}
	return cfg
}

// openEHFrame finds .eh_frame by the program header of its index, which stripping cannot
// remove, or by its section if there is no index. A debug file does not contain the bytes
// of either.
func (im *Image) openEHFrame() *cfi.Table {
	if im.elf.DebugOnly() {
		return nil
	}
	var hdr []byte
	var hdrAddr uint64
	for i := range im.elf.Progs {
		if p := &im.elf.Progs[i]; p.Type == elffile.PT_GNU_EH_FRAME {
			hdr, hdrAddr = im.elf.SegmentData(p), p.Vaddr
			break
		}
	}
	if s := im.elf.Section(".eh_frame"); s != nil && s.Type != elffile.SHT_NOBITS {
		if data, err := im.elf.SectionData(s); err == nil && len(data) > 0 {
			return cfi.EHFrame(data, s.Addr, hdr, hdrAddr, im.cfiConfig())
		}
	}
	if len(hdr) == 0 {
		return nil
	}
	addr, ok := cfi.EHFramePtr(hdr, hdrAddr, im.cfiConfig())
	if !ok {
		return nil
	}
	data := im.elf.DataFrom(addr)
	if len(data) == 0 {
		return nil
	}
	return cfi.EHFrame(data, addr, hdr, hdrAddr, im.cfiConfig())
}

// DebugFrame returns the call frame information in .debug_frame of the binary or of its
// debug file, or nil if there is none.
func (im *Image) DebugFrame() *cfi.Table {
	if im == nil {
		return nil
	}
	im.dfOnce.Do(func() {
		if data, err := im.debugSection(".debug_frame"); err == nil && len(data) > 0 {
			im.df = cfi.DebugFrame(data, im.cfiConfig())
		}
	})
	return im.df
}
