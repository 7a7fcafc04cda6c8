package image

import (
	"github.com/corewalk/corewalk/internal/format/breakpad"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/pdb"
	"github.com/corewalk/corewalk/internal/format/winunwind"
)

// Parts are what an image can be put together from. Tests make images of them.
type Parts struct {
	ELF      *elffile.File // nil for a module whose own file is missing
	PEUnwind *winunwind.Table
	Breakpad *breakpad.File
	PDB      *pdb.File
	Frames   WinFrames  // used instead of those of PDB and Breakpad
	Sizes    FrameSizes // used instead of those of the PDB
}

// FromParts makes an image of what has been read already.
func FromParts(p Parts) *Image {
	im := &Image{elf: p.ELF, unwind: p.PEUnwind, frames: p.Frames, sizes: p.Sizes}
	if im.elf == nil {
		im.elf, im.bare = nothing(), true
	}
	if p.Breakpad != nil {
		im.symbols.sym = &symbolFile{sym: p.Breakpad}
	}
	if p.PDB != nil {
		im.symbols.pdb = &symbolFile{pdb: p.PDB}
	}
	return im
}
