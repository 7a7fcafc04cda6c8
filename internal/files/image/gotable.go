package image

import (
	"bytes"
	"strings"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/gopclntab"
)

// A goTable is the pc-line table of a Go program, which stripping does not remove, and what runtime.moduledata
// says of it.
type goTable struct {
	*gopclntab.Table
	module gopclntab.Module
}

// GoTable returns the pc-line table of a Go program; nil if the image has none, or one that is not its own.
func (im *Image) GoTable() *gopclntab.Table {
	if im == nil {
		return nil
	}
	im.goTableOnce.Do(func() { im.goTable = im.openGoTable() })
	return im.goTable.Table
}

// GoFuncAt returns the function of a Go program that covers an address of the file.
func (im *Image) GoFuncAt(addr uint64) (gopclntab.Func, bool) {
	t := im.GoTable()
	if t == nil {
		return gopclntab.Func{}, false
	}
	return t.Find(addr)
}

// goSections are the names of the section of the table: the second one in position independent programs.
var goSections = []string{".gopclntab", ".data.rel.ro.gopclntab"}

func (im *Image) openGoTable() goTable {
	if im.elf.DebugOnly() {
		return goTable{}
	}
	for _, name := range goSections {
		s := im.elf.Section(name)
		if s == nil || s.Type == elffile.SHT_NOBITS {
			continue
		}
		if data, err := im.elf.SectionData(s); err == nil {
			return im.ownGoTable(data, s.Addr)
		}
	}
	if im.pe == nil && len(im.elf.Sections()) > 0 || im.pe != nil && !im.goBuildInfo() {
		return goTable{}
	}
	return im.searchGoTable()
}

// goBuildInfo reports whether a PE image has the mark of Go programs at the start of its data, where
// debug/buildinfo expects it.
func (im *Image) goBuildInfo() bool {
	const most = 64 << 10
	for i := range im.elf.Progs {
		p := &im.elf.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Flags&elffile.PF_W == 0 {
			continue
		}
		data := im.elf.SegmentData(p)
		if bytes.Contains(data[:min(len(data), most)], []byte("\xff Go buildinf:")) {
			return true
		}
	}
	return false
}

// Limits on what is tried to find a table, and what describes it. Programs have one of each.
const (
	maxGoTables  = 16
	maxGoModules = 1024
)

// searchGoTable finds a table in a file without section headers, and in a PE file, by the header.
func (im *Image) searchGoTable() goTable {
	left := maxGoTables
	for i := range im.elf.Progs {
		p := &im.elf.Progs[i]
		if p.Type != elffile.PT_LOAD {
			continue
		}
		data := im.elf.SegmentData(p)
		for _, magic := range gopclntab.Magics(im.elf.Big()) {
			for from := 0; ; {
				n := bytes.Index(data[from:], magic)
				if n < 0 {
					break
				}
				from += n
				if _, err := gopclntab.Parse(data[from:]); err == nil {
					if t := im.ownGoTable(data[from:], p.Vaddr+uint64(from)); t.Table != nil {
						return t
					}
					if left--; left == 0 {
						return goTable{}
					}
				}
				from++
			}
		}
	}
	return goTable{}
}

// ownGoTable reads a table at an address and makes sure that it is of this program: runtime.moduledata describes
// it, or the program's entry point is a function that it names so.
func (im *Image) ownGoTable(data []byte, addr uint64) goTable {
	t, err := gopclntab.Parse(data)
	if err != nil || t.Big != im.elf.Big() || t.PtrSize != im.elf.PtrSize() {
		return goTable{}
	}
	if m, ok := im.goModule(t, addr); ok {
		u := t.Loaded(m.Text, func(off uint64) []byte { return im.elf.DataFrom(m.FuncData + off) })
		if im.isGoCode(u) {
			return goTable{u, m}
		}
	}
	text := []uint64{t.HeaderText}
	if s := im.elf.Section(".text"); s != nil {
		text = append(text, s.Addr)
	}
	for _, at := range text {
		u := t.Loaded(at, nil)
		if f, ok := u.Find(im.elf.Entry); ok && f.Entry == im.elf.Entry && strings.HasPrefix(f.Name(), "_rt0_") && im.isGoCode(u) {
			return goTable{u, gopclntab.Module{}}
		}
	}
	return goTable{}
}

// isGoCode reports whether the functions of a table are in code of the file.
func (im *Image) isGoCode(t *gopclntab.Table) bool {
	start, end := t.Text()
	for i := range im.elf.Progs {
		p := &im.elf.Progs[i]
		if p.Type == elffile.PT_LOAD && p.Flags&elffile.PF_X != 0 && start >= p.Vaddr && start < end && end-p.Vaddr <= p.Memsz {
			return true
		}
	}
	return false
}

// goModule finds the runtime.moduledata that describes a table: it begins with the table's address. In position
// independent programs the words are relocated.
func (im *Image) goModule(t *gopclntab.Table, addr uint64) (gopclntab.Module, bool) {
	want, left := make([]byte, t.PtrSize), maxGoModules
	im.putPointer(want, addr)
	// It is in data, which is small; types and the table itself may be hundreds of megabytes.
	progs := make([]*elffile.Prog, 0, len(im.elf.Progs))
	for _, flags := range []uint32{elffile.PF_W, 0} {
		for i := range im.elf.Progs {
			if p := &im.elf.Progs[i]; p.Type == elffile.PT_LOAD && p.Flags&(elffile.PF_X|elffile.PF_W) == flags {
				progs = append(progs, p)
			}
		}
	}
	for _, p := range progs {
		data := im.elf.SegmentData(p)
		for from := 0; ; from++ {
			n := bytes.Index(data[from:], want)
			if n < 0 {
				break
			}
			if from += n; (p.Vaddr+uint64(from))%uint64(t.PtrSize) != 0 {
				continue
			}
			if m, ok := t.Module(im.pointers(data[from:], t.PtrSize), addr); ok {
				return m, true
			}
			if left--; left == 0 {
				return gopclntab.Module{}, false
			}
		}
	}
	return im.relocatedModule(t, addr)
}

// relocatedModule is goModule for a file whose words are in the relocations.
func (im *Image) relocatedModule(t *gopclntab.Table, addr uint64) (gopclntab.Module, bool) {
	var at []uint64
	for r := range im.elf.Relocs() {
		if r.Sym == 0 && r.Addend == addr && len(at) < maxGoTables {
			at = append(at, r.Offset)
		}
	}
	if len(at) == 0 {
		return gopclntab.Module{}, false
	}
	size := uint64(gopclntab.ModuleWords * t.PtrSize)
	words := make(map[uint64][]uint64, len(at))
	for _, a := range at {
		if data, err := im.elf.DataAt(a, size); err == nil {
			words[a] = im.pointers(data, t.PtrSize)
		}
	}
	for r := range im.elf.Relocs() {
		for _, a := range at {
			if off := r.Offset - a; r.Sym == 0 && r.Addend != 0 && off < size && words[a] != nil {
				words[a][off/uint64(t.PtrSize)] = r.Addend
			}
		}
	}
	for _, a := range at {
		if m, ok := t.Module(words[a], addr); ok {
			return m, true
		}
	}
	return gopclntab.Module{}, false
}

func (im *Image) putPointer(b []byte, v uint64) {
	order := im.elf.Order
	if len(b) == 4 {
		order.PutUint32(b, uint32(v))
		return
	}
	order.PutUint64(b, v)
}

// pointers decodes as many words of data as a Module needs.
func (im *Image) pointers(data []byte, size int) []uint64 {
	order := im.elf.Order
	var out []uint64
	for ; len(data) >= size && len(out) < gopclntab.ModuleWords; data = data[size:] {
		if size == 4 {
			out = append(out, uint64(order.Uint32(data)))
		} else {
			out = append(out, order.Uint64(data))
		}
	}
	return out
}

// goSymbolAt returns the Go function at an address as a symbol.
func (im *Image) goSymbolAt(addr uint64) (elffile.Sym, bool) {
	f, ok := im.GoFuncAt(addr)
	if !ok {
		return elffile.Sym{}, false
	}
	name := f.Name()
	return elffile.NamedFunc(name, f.Entry, f.End-f.Entry), name != ""
}

// goSymbolByName returns a Go function as a symbol, or a bound of the data that the runtime has symbols for.
func (im *Image) goSymbolByName(name string) (elffile.Sym, bool) {
	t := im.GoTable()
	if t == nil {
		return elffile.Sym{}, false
	}
	m := &im.goTable.module
	for _, b := range [...]struct {
		name string
		at   uint64
	}{{"runtime.text", m.Text}, {"runtime.types", m.Types}, {"runtime.etypes", m.EndTypes}} {
		if b.name == name {
			return elffile.NamedFunc(name, b.at, 0), b.at != 0
		}
	}
	f, ok := t.ByName(name)
	if !ok {
		return elffile.Sym{}, false
	}
	return elffile.NamedFunc(name, f.Entry, f.End-f.Entry), true
}
