package pefile

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An Export is one entry of the export table.
type Export struct {
	Name    string // "" if exported by ordinal only
	Ordinal uint32
	RVA     uint32 // of the export; 0 for a forwarder
	// Forward is the export of another module that this entry stands for, such as
	// "ntdll.RtlFree" or "other.#7", or "".
	Forward string
}

// exportTable is the export directory with an index by address.
type exportTable struct {
	dir   Range
	name  string
	base  uint32
	funcs []byte      // u32 each
	byRVA []exportRef // without forwarders
	named []uint32    // where the name of each function is; 0 for none
}

// An exportRef is an entry of the table of functions.
type exportRef struct{ rva, index uint32 }

// maxExports limits exported functions: ordinals have 16 bits.
const maxExports = 1 << 16

// exportDirectorySize is the size of the export directory's header in bytes.
const exportDirectorySize = 40

func (f *File) exportTable() (*exportTable, error) {
	f.exportOnce.Do(func() { f.exports, f.exportErr = f.readExports() })
	return f.exports, f.exportErr
}

func (f *File) readExports() (*exportTable, error) {
	dir := f.Directory(DirExport)
	if dir.Size == 0 {
		return nil, fmt.Errorf("export directory: %w", ErrNotFound)
	}
	b, err := f.Bytes(Range{dir.RVA, exportDirectorySize})
	if err != nil {
		return nil, fmt.Errorf("export directory: %w", err)
	}
	c := binbuf.New(b, 12, false)
	t := &exportTable{dir: dir, name: string(name(f.At(c.U32()))), base: c.U32()}
	nfuncs, nnames := c.U32(), c.U32()
	if t.funcs, err = f.table(c.U32(), nfuncs, 4); err != nil {
		return nil, fmt.Errorf("table of exported functions: %w", err)
	}
	t.funcs = t.funcs[:min(len(t.funcs), 4*maxExports)]
	names, err := f.table(c.U32(), nnames, 4)
	if err != nil {
		return nil, fmt.Errorf("table of exported names: %w", err)
	}
	ordinals, err := f.table(c.U32(), nnames, 2)
	if err != nil {
		return nil, fmt.Errorf("table of exported ordinals: %w", err)
	}
	t.index(names, ordinals)
	return t, nil
}

// table returns n entries of size bytes at rva.
func (f *File) table(rva, n, size uint32) ([]byte, error) {
	b := f.At(rva)
	if want := uint64(n) * uint64(size); want <= uint64(len(b)) {
		return b[:want], nil
	}
	return nil, fmt.Errorf("%d entries at RVA %#x, but only %d exist: %w", n, rva, len(b)/int(size), ErrTruncated)
}

// index sorts the functions by address and records their names.
func (t *exportTable) index(names, ordinals []byte) {
	t.named = make([]uint32, len(t.funcs)/4)
	for i := range len(ordinals) / 2 {
		c, o := binbuf.New(names, 4*i, false), binbuf.New(ordinals, 2*i, false)
		if fn := int(o.U16()); fn < len(t.named) && t.named[fn] == 0 { // the first of several sorted names
			t.named[fn] = c.U32()
		}
	}
	for i := range uint32(len(t.funcs) / 4) {
		if rva := t.rva(i); rva != 0 && !t.forwards(rva) {
			t.byRVA = append(t.byRVA, exportRef{rva, i})
		}
	}
	slices.SortFunc(t.byRVA, func(a, b exportRef) int {
		an, bn := t.named[a.index] != 0, t.named[b.index] != 0
		if an != bn && a.rva == b.rva { // named exports first
			if an {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.rva, b.rva), cmp.Compare(a.index, b.index))
	})
}

func (t *exportTable) rva(i uint32) uint32 {
	c := binbuf.New(t.funcs, int(4*i), false)
	return c.U32()
}

// forwards reports whether rva is the name of another module's export: these names are in
// the export directory.
func (t *exportTable) forwards(rva uint32) bool { return rva-t.dir.RVA < t.dir.Size }

func (f *File) export(t *exportTable, i uint32) Export {
	e := Export{Ordinal: t.base + i, RVA: t.rva(i)}
	if at := t.named[i]; at != 0 {
		e.Name = string(name(f.At(at)))
	}
	if t.forwards(e.RVA) {
		e.Forward, e.RVA = string(name(f.At(e.RVA))), 0
	}
	return e
}

// ExportName returns the image's own name in its export table, or "" if there is none.
func (f *File) ExportName() string {
	t, err := f.exportTable()
	if err != nil {
		return ""
	}
	return t.name
}

// Exports iterates over the export table in the order of ordinals, without unused entries.
// It ends with an error if there is no readable table.
func (f *File) Exports() iter.Seq2[Export, error] {
	return func(yield func(Export, error) bool) {
		t, err := f.exportTable()
		if err != nil {
			yield(Export{}, err)
			return
		}
		left := f.nameBytes()
		for i := range uint32(len(t.funcs) / 4) {
			if t.rva(i) == 0 {
				continue
			}
			e := f.export(t, i)
			if left -= len(e.Name) + len(e.Forward); left < 0 {
				yield(Export{}, fmt.Errorf("names of exports: longer than the file: %w", ErrMalformed))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ExportAt returns the last export that begins at or before rva in the same section. The
// address may belong to an unexported function after it; the function table can tell.
func (f *File) ExportAt(rva uint32) (Export, bool) {
	t, err := f.exportTable()
	if err != nil {
		return Export{}, false
	}
	i, _ := slices.BinarySearchFunc(t.byRVA, rva, func(e exportRef, at uint32) int {
		if e.rva <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return Export{}, false
	}
	at := t.byRVA[i-1].rva
	for i > 1 && t.byRVA[i-2].rva == at {
		i--
	}
	if s := f.SectionAt(rva); s == nil || !s.Contains(at) {
		return Export{}, false
	}
	return f.export(t, t.byRVA[i-1].index), true
}
