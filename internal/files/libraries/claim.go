package libraries

import (
	"slices"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// indexes returns the range of indexes of the mappings that touch [lo, hi).
func (b *builder) indexes(lo, hi arch.Address) (from, to int) {
	from, _ = slices.BinarySearchFunc(b.src.Mappings, lo, func(m libstate.Mapping, a arch.Address) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	to = from
	for to < len(b.src.Mappings) && b.src.Mappings[to].Start < hi {
		to++
	}
	return from, to
}

// A claim is the set of mappings that one module takes.
type claim struct {
	idx  []int
	maps []libstate.Mapping
}

func (b *builder) newClaim() claim {
	b.epoch++
	return claim{}
}

// take adds mapping k for m, unless a module or this claim has it already.
func (b *builder) take(c *claim, k int, m libstate.Mapping) {
	if b.owner[k] != nil || b.mark[k] == b.epoch {
		return
	}
	b.mark[k] = b.epoch
	c.idx = append(c.idx, k)
	c.maps = append(c.maps, m)
}

// claimed finds the mappings of an image of f loaded with bias: those of the file
// (path) that are where its PT_LOADs put them, and the anonymous memory of a PT_LOAD,
// which is .bss; in a dump without file names, all memory there.
func (b *builder) claimed(f *elffile.File, bias arch.Address, path string) claim {
	c := b.newClaim()
	linkLo, linkHi, ok := loadSpan(f)
	if !ok {
		return c
	}
	start, end := b.segment(bias, linkLo, linkHi)
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type != elffile.PT_LOAD || p.Memsz == 0 || p.Vaddr+p.Memsz < p.Vaddr {
			continue
		}
		lo, hi := b.segment(bias, p.Vaddr, p.Vaddr+p.Memsz)
		from, to := b.indexes(lo, hi)
		if !b.spend((to - from + 1) * len(f.Progs)) {
			return c
		}
		for k := from; k < to; k++ {
			m := b.src.Mappings[k]
			if m.Path == "" {
				// A damaged file's segments can go round the end of the address space, each its own way.
				if m.Start, m.End = max(m.Start, start), min(m.End, end); m.Start < m.End {
					b.take(&c, k, m)
				}
			} else if m.Path == path && b.places(f, bias, m) {
				b.take(&c, k, m)
			}
		}
	}
	b.claimGuards(&c, path)
	return c
}

// segment returns the range of pages that contain the link-time addresses [lo, hi).
func (b *builder) segment(bias, lo, hi uint64) (start, end arch.Address) {
	start, end = b.pageDown(b.truncate(bias+lo)), b.pageUp(b.truncate(bias+hi))
	if end <= start {
		end = b.truncate(^uint64(0)) // up to the end of the address space
	}
	return start, end
}

// claimGuards takes the file's mappings between two others: the dynamic linker reserved
// the whole range with one mapping, and then made these parts inaccessible.
func (b *builder) claimGuards(c *claim, path string) {
	if path == "" || len(c.idx) == 0 {
		return
	}
	lo, hi := slices.Min(c.idx), slices.Max(c.idx)
	if !b.spend(hi - lo) {
		return
	}
	for k := lo + 1; k < hi; k++ {
		if m := b.src.Mappings[k]; m.Path == path && (m.Perm == 0 || m.Perm&libstate.Unknown != 0) {
			b.take(c, k, m)
		}
	}
}

// places reports whether some PT_LOAD of f puts the file's offset where m maps it.
func (b *builder) places(f *elffile.File, bias arch.Address, m libstate.Mapping) bool {
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type == elffile.PT_LOAD && b.truncate(bias+p.Vaddr-p.Off) == b.truncate(m.Start-m.Offset) {
			return true
		}
	}
	return false
}

// own gives a claim to a module.
func (b *builder) own(m *module, c claim) {
	for _, k := range c.idx {
		b.owner[k] = m
	}
	m.lib.SetMappings(c.maps)
}

// onlyRead reports whether an image's file was mapped only to be read, not to be run:
// it has code, and no mapping of it is executable.
func onlyRead(f *elffile.File, maps []libstate.Mapping) bool {
	code := false
	for i := range f.Progs {
		p := &f.Progs[i]
		code = code || p.Type == elffile.PT_LOAD && p.Flags&elffile.PF_X != 0
	}
	if !code {
		return false
	}
	for _, m := range maps {
		if m.Perm&(libstate.Exec|libstate.Unknown) != 0 {
			return false
		}
	}
	return true
}
