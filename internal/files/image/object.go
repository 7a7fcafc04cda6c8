package image

import "github.com/corewalk/corewalk/internal/format/elffile"

// FromObject makes an image of an ELF file that a JIT compiler left in its process's
// memory. data is the whole file.
func FromObject(data []byte) (*Image, error) {
	elf, err := elffile.ParsePlaced(data)
	if err != nil {
		return nil, err
	}
	elf.Decompress = inflate
	im := &Image{elf: elf}
	for _, w := range elf.Warnings {
		im.warn(w)
	}
	return im, nil
}

// OwnSymbol is SymbolByName limited to the symbol tables of the binary and of a debug file
// found on disk. It fetches nothing.
func (im *Image) OwnSymbol(name string) (elffile.Sym, bool) {
	if im == nil {
		return elffile.Sym{}, false
	}
	if s, ok := im.elf.SymByName(name); ok {
		return s, true
	}
	if d := im.knownDebug(); d != nil {
		return d.elf.SymByName(name)
	}
	return elffile.Sym{}, false
}
