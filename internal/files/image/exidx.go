package image

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/exidx"
)

// Exidx returns the exception index of a 32-bit ARM module, or nil if there is none. It is
// found by its program header, which stripping cannot remove.
func (im *Image) Exidx() *exidx.Table {
	if im == nil {
		return nil
	}
	im.exidxOnce.Do(func() { im.exidx = im.openExidx() })
	return im.exidx
}

func (im *Image) openExidx() *exidx.Table {
	if im.elf.DebugOnly() || im.elf.Machine != elffile.EM_ARM {
		return nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if im.elf.Big() {
		order = binary.BigEndian
	}
	for i := range im.elf.Progs {
		if p := &im.elf.Progs[i]; p.Type == elffile.PT_ARM_EXIDX {
			return exidx.New(im.elf.SegmentData(p), p.Vaddr, order, im.elf.DataFrom)
		}
	}
	return nil
}
