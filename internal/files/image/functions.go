package image

import (
	"iter"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// A Function is a function that a module's tables name.
type Function struct {
	Name string // as the linker or the compiler has it
	Addr uint64 // in the file, or after the module's base
	Size uint64 // in bytes; 0 if not known
	// FromBase says that Addr counts from where the module begins: symbol files do.
	FromBase bool
}

// Functions iterates over the functions of the most complete table of the module that has any: its symbols, Go's table, its PDB, its
// Breakpad symbol file; of a PE image its exports last. They are in no order, and there may be several at one address. It may fetch.
func (im *Image) Functions() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		if im == nil {
			return
		}
		lists := []iter.Seq[Function]{im.symbolFunctions, im.goFunctions, im.pdbFunctions, im.breakpadFunctions}
		if im.served() { // its own symbols are what it exports
			lists = []iter.Seq[Function]{im.pdbFunctions, im.breakpadFunctions, im.symbolFunctions, im.exportedFunctions}
		}
		for _, list := range lists {
			found := false
			for f := range list {
				found = true
				if !yield(f) {
					return
				}
			}
			if found {
				return
			}
		}
	}
}

// Variables iterates over the variables of the most complete symbol table of the module, in no order.
func (im *Image) Variables() iter.Seq[Function] {
	return func(yield func(Function) bool) {
		if im != nil {
			im.named(yield, elffile.STT_OBJECT, elffile.STT_TLS)
		}
	}
}

func (im *Image) symbolFunctions(yield func(Function) bool) {
	im.named(yield, elffile.STT_FUNC, elffile.STT_GNU_IFUNC)
}

// named iterates over the symbols of two types of the first table that has any.
func (im *Image) named(yield func(Function) bool, a, b uint8) {
	for _, t := range im.symTabs() {
		found := false
		for s := range t.All() {
			if s.Type != a && s.Type != b || s.Shndx == elffile.SHN_UNDEF || s.Name() == "" {
				continue
			}
			found = true
			if !yield(Function{Name: s.KeptName(), Addr: s.Value, Size: s.Size}) {
				return
			}
		}
		if found {
			return
		}
	}
}

func (im *Image) goFunctions(yield func(Function) bool) {
	t := im.GoTable()
	if t == nil {
		return
	}
	for f := range t.All() {
		if name := f.Name(); name != "" && !yield(Function{Name: name, Addr: f.Entry, Size: f.End - f.Entry}) {
			return
		}
	}
}

func (im *Image) pdbFunctions(yield func(Function) bool) {
	p := im.PDB()
	if p == nil {
		return
	}
	for s, err := range p.Functions() {
		if err != nil {
			im.DamagedSymbols(err)
			continue
		}
		if !yield(Function{s.Name, uint64(s.Start), uint64(s.Size), true}) {
			return
		}
	}
}

func (im *Image) breakpadFunctions(yield func(Function) bool) {
	b := im.Breakpad()
	if b == nil {
		return
	}
	for s := range b.Functions() {
		if !yield(Function{s.Name, s.Start, s.Size, true}) {
			return
		}
	}
}

func (im *Image) exportedFunctions(yield func(Function) bool) {
	if im.pe == nil {
		return
	}
	for e, err := range im.pe.Exports() {
		if err == nil && e.RVA != 0 && e.Name != "" && !yield(Function{e.Name, uint64(e.RVA), 0, true}) {
			return
		}
	}
}
