package corestate

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// FileMappings lists the mappings of files that NT_FILE names, ascending and disjoint.
// The note does not have their permissions: see Mappings. Paths of removed files end in
// " (deleted)".
func (c *ELFCore) FileMappings() []libstate.Mapping { return slices.Clone(c.files) }

// Auxv returns the process's auxiliary vector; nil if the core has none.
func (c *ELFCore) Auxv() libstate.Auxv {
	all := libstate.ParseAuxv(c.auxv, c.wordSize, c.elf.Order)
	if c.os != osLinux && c.os != "" {
		return c.bsdAuxv(all)
	}
	return all
}

// parseFiles decodes NT_FILE (kernel, fs/binfmt_elf.c, fill_files_note): the number of
// mappings and the unit of their offsets; start, end and offset of each; then their
// paths, each with a NUL.
func (c *ELFCore) parseFiles() []libstate.Mapping {
	switch {
	case len(c.fileNote) == 0:
		return nil
	case c.os == osFreeBSD:
		return c.freeBSDFiles()
	}
	w := c.wordSize
	cur := binbuf.New(c.fileNote, 0, c.big)
	count, unit := cur.Uint(w), cur.Uint(w)
	if room := uint64(cur.Len()) / uint64(3*w+1); count > room {
		c.warnf("NT_FILE claims %d mappings, but has room for only %d", count, room)
		count = room
	}
	if unit == 0 {
		unit = 1
	}
	list := make([]libstate.Mapping, 0, count)
	names := cur
	names.Skip64(count * uint64(3*w))
	for range count {
		m := libstate.Mapping{Start: cur.Uint(w), End: cur.Uint(w), Offset: cur.Uint(w) * unit}
		path := names.CString()
		if cur.Error != nil || names.Error != nil {
			c.warnf("NT_FILE is cut off after %d of %d mappings", len(list), count)
			break
		}
		if m.End > m.Start {
			m.Path = c.intern(list, path)
			list = append(list, m)
		}
	}
	return orderFiles(list)
}

// intern avoids a copy of the path if it is the previous mapping's, as most are.
func (c *ELFCore) intern(list []libstate.Mapping, path []byte) string {
	if n := len(list); n > 0 && list[n-1].Path == string(path) {
		return list[n-1].Path
	}
	return string(path)
}

// orderFiles sorts mappings that are out of order in a damaged note, and cuts those
// that overlap the one before.
func orderFiles(list []libstate.Mapping) []libstate.Mapping {
	slices.SortStableFunc(list, func(a, b libstate.Mapping) int { return cmp.Compare(a.Start, b.Start) })
	out := list[:0]
	var end arch.Address
	for _, m := range list {
		if m.Start < end {
			if m.End <= end {
				continue
			}
			m.Offset += end - m.Start
			m.Start = end
		}
		end = m.End
		out = append(out, m)
	}
	return out
}

// mergeMappings combines the core's memory with the mappings of files.
func mergeMappings(segs []segment, files []libstate.Mapping) []libstate.Mapping {
	out := make([]libstate.Mapping, 0, len(segs)+len(files)/4)
	var pos arch.Address
	for {
		for len(segs) > 0 && segs[0].end <= pos {
			segs = segs[1:]
		}
		for len(files) > 0 && files[0].End <= pos {
			files = files[1:]
		}
		m := libstate.Mapping{Start: ^arch.Address(0), End: ^arch.Address(0), Perm: libstate.Unknown}
		if len(segs) > 0 {
			m.Start = max(pos, segs[0].start)
		}
		if len(files) > 0 {
			m.Start = min(m.Start, max(pos, files[0].Start))
		}
		if len(segs) == 0 && len(files) == 0 {
			return out
		}
		if len(segs) > 0 {
			if s := &segs[0]; s.start <= m.Start {
				m.End, m.Perm = min(m.End, s.end), s.perm
			} else {
				m.End = min(m.End, s.start)
			}
		}
		if len(files) > 0 {
			if f := &files[0]; f.Start <= m.Start {
				m.End, m.Path, m.Offset = min(m.End, f.End), f.Path, f.Offset+(m.Start-f.Start)
			} else {
				m.End = min(m.End, f.Start)
			}
		}
		if m.End <= m.Start {
			return out
		}
		out = append(out, m)
		pos = m.End
	}
}

// mapped reports whether the process had something at addr, in the dump or not.
func (c *ELFCore) mapped(addr arch.Address) bool {
	_, ok := c.MappingAt(addr)
	return ok
}
