package image

import (
	"hash/fnv"
	"slices"

	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

// maxMiniDebug limits the decompressed size of .gnu_debugdata, in bytes.
const maxMiniDebug = 256 << 20

// symTabs are the module's symbol tables, the most complete one first.
func (im *Image) symTabs() []*elffile.SymTab {
	im.symsOnce.Do(func() {
		add := func(f *elffile.File) bool {
			t, err := f.SymTab()
			if err == nil && t != nil {
				t.FollowDescriptors(im.elf)
				im.syms = append(im.syms, t)
			}
			return err == nil
		}
		full := add(im.elf)
		if !full {
			if d := im.debugFile(); d != nil {
				full = add(d.elf)
			}
		}
		if !full {
			if mini := im.miniDebug(); mini != nil {
				add(mini)
			}
		}
		if t, err := im.elf.DynSym(); err == nil && t != nil {
			im.syms = append(im.syms, t)
		}
	})
	return im.syms
}

// miniDebug reads .gnu_debugdata: an xz-compressed ELF file with a symbol table
// (gdb manual, "Debugging information in a special section").
func (im *Image) miniDebug() *elffile.File {
	s := im.elf.Section(".gnu_debugdata")
	if s == nil {
		return nil
	}
	data, err := im.elf.SectionData(s)
	if err == nil {
		data, err = decompress.XZ(data, int64(elffile.Plausible(len(data), maxMiniDebug)))
	}
	if err == nil {
		var f *elffile.File
		if f, err = elffile.Parse(data); err == nil {
			f.Decompress = inflate
			return f
		}
	}
	im.warn(im.path + ": cannot read .gnu_debugdata: " + err.Error())
	return nil
}

// maxExportReach is how far a symbol without a size names code, in bytes, where only the
// exported symbols are known: functions that nobody knows may follow it. Handwritten
// functions without sizes are short.
const maxExportReach = 256

// exportsOnly reports whether the dynamic symbol table is the only one.
func (im *Image) exportsOnly() bool {
	tabs := im.symTabs()
	dyn, _ := im.elf.DynSym()
	return len(tabs) == 1 && tabs[0] == dyn
}

// SymbolAt returns the symbol that covers an address of the file. Among the module's tables
// the symbol that starts nearest wins, and the more complete table if two start at the same
// address. The last one is the pc-line table of Go programs, which stripping leaves.
func (im *Image) SymbolAt(addr uint64) (elffile.Sym, bool) {
	s, ok := im.nearest(addr)
	if ok && s.Value != addr && s.Size == 0 && im.endsBefore(&s, addr) {
		return elffile.Sym{}, false
	}
	return s, ok
}

// nearest is SymbolAt, but functions without a size end where others begin.
func (im *Image) nearest(addr uint64) (elffile.Sym, bool) {
	var best elffile.Sym
	found := false
	if im == nil {
		return best, false
	}
	exports := im.exportsOnly()
	for _, t := range im.symTabs() {
		s, ok := t.Lookup(addr)
		if exports && s.Size == 0 && addr-s.Value >= maxExportReach {
			continue
		}
		if ok && (!found || s.Value > best.Value && (s.Size != 0 || best.Size == 0)) {
			best, found = s, true
		}
	}
	if s, ok := im.goSymbolAt(addr); ok && (!found || s.Value > best.Value) {
		return s, true
	}
	return best, found
}

// SymbolByName returns the defined symbol with the given name.
func (im *Image) SymbolByName(name string) (elffile.Sym, bool) {
	if im == nil {
		return elffile.Sym{}, false
	}
	for _, t := range im.symTabs() {
		if s, ok := t.ByName(name); ok {
			return s, true
		}
	}
	return im.goSymbolByName(name)
}

// HasSymTab reports whether the module has a full symbol table, in the binary or in a
// companion. It fetches nothing.
func (im *Image) HasSymTab() bool {
	if im == nil {
		return false
	}
	if im.Unfetched() { // symTabs caches its result, which must include what is fetched later
		_, err := im.elf.SymTab()
		return err == nil || im.elf.Section(".gnu_debugdata") != nil
	}
	return len(im.symTabs()) > 0 && !im.exportsOnly()
}

// HasDynSym reports whether the module has dynamic symbols.
func (im *Image) HasDynSym() bool {
	if im == nil {
		return false
	}
	t, err := im.elf.DynSym()
	return err == nil && t != nil && t.Len() > 1
}

// manyNames is the size in bytes of names in which a text is searched once, and not in each run.
const manyNames = 64 << 10

// MentionsSymbol reports whether a text occurs in the names of the module's symbols; one that ends
// in a zero byte ends a name. It looks for the text in the whole table of names, which takes less
// than a millisecond for a few megabytes; a later run knows the answer.
func (im *Image) MentionsSymbol(text string) bool {
	if im == nil {
		return false
	}
	tabs := im.symTabs()
	mentions := func() bool {
		return slices.ContainsFunc(tabs, func(t *elffile.SymTab) bool { return t.Mentions(text) })
	}
	size := 0
	for _, t := range tabs {
		size += t.NamesSize()
	}
	if size < manyNames {
		return mentions()
	}
	h := fnv.New64a()
	h.Write([]byte(text))
	answer := im.Answer(Question{Kind: askedMentions, A: h.Sum64(), B: uint64(len(text))}, func() []byte {
		if mentions() {
			return []byte{1}
		}
		return []byte{0}
	})
	return len(answer) == 1 && answer[0] == 1
}
