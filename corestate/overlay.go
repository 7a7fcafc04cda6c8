package corestate

import (
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/spans"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An overlay finds bytes of files for memory that the dump left out.
type overlay struct {
	libraryAt func(arch.Address) (*libstate.Library, bool)
	from      modules.Source
	files     sync.Map // *libstate.Library to *backingFile
	recent    [1 << recentBits]atomic.Pointer[overlayBytes]
}

// recentBits is the binary logarithm of how many answers are remembered: steppers look at the code of every frame, and
// hundreds of threads wait in the same functions.
const recentBits = 7

// An overlayBytes is what bytesAt answered for an address.
type overlayBytes struct {
	addr arch.Address
	data []byte
}

// A backingFile is the file of one library; nil if no file may be used.
type backingFile struct {
	once             sync.Once
	elf              *elffile.File
	relroLo, relroHi uint64                   // link-time addresses, whole pages
	loaded           func(addr uint64) []byte // of other formats than ELF
	order, pageOrder segmentOrder
}

// A segmentOrder is the order of a file's segments by address, made when it is needed.
type segmentOrder struct {
	once  sync.Once
	table spans.Table
}

// Page sizes differ; memory in a page with relocated bytes is not taken from the file.
const overlayPage = 4096

func (o *overlay) backing(lib *libstate.Library) *backingFile {
	v, ok := o.files.Load(lib)
	if !ok {
		v, _ = o.files.LoadOrStore(lib, new(backingFile))
	}
	b := v.(*backingFile)
	b.once.Do(func() { b.open(o, lib) })
	return b
}

func (b *backingFile) open(o *overlay, lib *libstate.Library) {
	if lib.BiasGuessed || lib.Kind == libstate.VDSO || lib.Kind == libstate.JIT {
		return
	}
	f := (*image.Image)(modules.MatchedImage(o.from, lib)).ELF()
	if f == nil || f.DebugOnly() || hasTextRel(f) {
		return
	}
	b.elf = f
	b.loaded = f.Loaded(lib.LoadBias)
	if lo, hi, ok := f.Relro(); ok {
		b.relroLo, b.relroHi = lo&^(overlayPage-1), pageEnd(hi)
	}
}

// hasTextRel reports whether the dynamic linker relocates the file's code (DT_TEXTREL,
// DF_TEXTREL of DT_FLAGS).
func hasTextRel(f *elffile.File) bool {
	const dtTextRel, dtFlags, dfTextRel = 22, 30, 4
	for tag, val := range f.Dynamic() {
		if tag == dtTextRel || tag == dtFlags && val&dfTextRel != 0 {
			return true
		}
	}
	return false
}

// bytesAt returns bytes of a file for the memory from addr; none if no file may be
// used. s is the core's segment that contains addr, or nil.
func (o *overlay) bytesAt(addr arch.Address, s *segment) []byte {
	slot := &o.recent[addr*0x9e3779b97f4a7c15>>(64-recentBits)]
	if r := slot.Load(); r != nil && r.addr == addr {
		return r.data
	}
	data := o.find(addr, s)
	slot.Store(&overlayBytes{addr, data})
	return data
}

func (o *overlay) find(addr arch.Address, s *segment) []byte {
	if s != nil && s.perm&libstate.Write != 0 {
		return nil
	}
	lib, ok := o.libraryAt(addr)
	if !ok {
		return nil
	}
	b := o.backing(lib)
	if b.elf == nil {
		return nil
	}
	m, ok := lib.MappingAt(addr)
	if !ok || m.Perm&libstate.Write != 0 {
		return nil
	}
	end := m.End
	if s != nil {
		end = min(end, s.end)
	}
	return b.slice(lib, &m, addr, end)
}

// slice returns the file's bytes for [addr, end) of mapping m, as far as one read-only
// segment of the file has them.
func (b *backingFile) slice(lib *libstate.Library, m *libstate.Mapping, addr, end arch.Address) []byte {
	if b.loaded != nil {
		data := b.loaded(addr)
		return data[:min(uint64(len(data)), end-addr)]
	}
	vaddr := addr - lib.LoadBias + b.elf.LinkBase
	if b.elf.Class == 32 {
		vaddr &= 1<<32 - 1
	}
	limit := vaddr + (end - addr)
	if b.relroHi > b.relroLo {
		if vaddr >= b.relroLo && vaddr < b.relroHi {
			return nil
		}
		if vaddr < b.relroLo {
			limit = min(limit, b.relroLo)
		}
	}
	p := b.segment(vaddr, m.Path != "")
	if p == nil {
		return nil
	}
	off := p.Off + (vaddr - p.Vaddr)
	if m.Path != "" {
		// Whole pages are mapped, including what the file has around the segment.
		if off != m.Offset+(addr-m.Start) {
			return nil
		}
		limit = min(limit, pageEnd(p.Vaddr+p.Filesz))
	} else {
		limit = min(limit, p.Vaddr+p.Filesz)
	}
	size := uint64(len(b.elf.Data))
	if off >= size || limit <= vaddr {
		return nil
	}
	return b.elf.Data[off : off+min(size-off, limit-vaddr)]
}

// segment finds the PT_LOAD with vaddr, or with its page if pages is set; nil if there
// is none, or if a writable one shares the address.
func (b *backingFile) segment(vaddr uint64, pages bool) *elffile.Prog {
	order := &b.order
	if pages {
		order = &b.pageOrder
	}
	// Writable segments come first, the others after them with the last one first.
	progs := b.elf.Progs
	at := func(i int) *elffile.Prog {
		if i < len(progs) {
			return &progs[i]
		}
		return &progs[2*len(progs)-1-i]
	}
	order.once.Do(func() {
		order.table = spans.New(2*len(progs), func(i int) (first, last uint64, ok bool) {
			p := at(i)
			lo, hi := p.Vaddr, p.Vaddr+p.Memsz
			if pages {
				lo, hi = lo&^(overlayPage-1), pageEnd(hi)
			}
			writable := p.Flags&elffile.PF_W != 0
			return lo, hi - 1, p.Type == elffile.PT_LOAD && lo < hi && p.Memsz != 0 && writable == (i < len(progs))
		})
	})
	i, ok := order.table.Find(vaddr)
	if !ok || i < len(progs) {
		return nil
	}
	return at(i)
}

func pageEnd(a uint64) uint64 {
	if end := (a + overlayPage - 1) &^ (overlayPage - 1); end >= a {
		return end
	}
	return ^uint64(0)
}
