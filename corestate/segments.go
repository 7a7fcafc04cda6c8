package corestate

import (
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/spans"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A Segment is a range [Start, End) of the process's memory, with how much of it is in the
// dump.
type Segment struct {
	Start, End arch.Address
	Perm       libstate.Perm
	Offset     uint64 // in the core file, of the byte at Start
	InFile     uint64 // bytes from Start on that the core was to hold
	InDump     uint64 // bytes from Start on that it holds: fewer when it is cut off
}

// segment is a Segment in the form that look-ups need. Segments are disjoint and
// ascending.
type segment struct {
	start, end arch.Address
	have       arch.Address // addresses below have their bytes in data
	claim      arch.Address // addresses below were to have them
	off        uint64       // offset in data of the byte at start
	perm       libstate.Perm
}

// segments makes the table of the core's memory.
func segments(f *elffile.File) []segment {
	n := 0
	for i := range f.Progs {
		if f.Progs[i].Type == elffile.PT_LOAD {
			n++
		}
	}
	segs := make([]segment, 0, n)
	for i := range f.Progs {
		if s, ok := newSegment(f, &f.Progs[i]); ok {
			segs = append(segs, s)
		}
	}
	for i := 1; i < len(segs); i++ {
		if segs[i].start < segs[i-1].end {
			return untangle(segs)
		}
	}
	return segs
}

func newSegment(f *elffile.File, p *elffile.Prog) (segment, bool) {
	size := max(p.Memsz, p.Filesz) // bytes in the file are memory, whatever the header says
	if p.Type != elffile.PT_LOAD || size == 0 {
		return segment{}, false
	}
	s := segment{start: p.Vaddr, end: p.Vaddr + size, off: p.Off, perm: permOf(p.Flags)}
	if s.end < s.start {
		s.end = ^arch.Address(0)
	}
	if f.Class == 32 {
		s.end = min(s.end, 1<<32)
	}
	if s.end <= s.start {
		return segment{}, false
	}
	size = min(p.Filesz, s.end-s.start)
	s.claim = s.start + size
	if total := uint64(len(f.Data)); p.Off < total {
		s.have = s.start + min(size, total-p.Off)
	} else {
		s.have, s.off = s.start, 0
	}
	return s, true
}

func permOf(flags uint32) libstate.Perm {
	var p libstate.Perm
	if flags&elffile.PF_R != 0 {
		p |= libstate.Read
	}
	if flags&elffile.PF_W != 0 {
		p |= libstate.Write
	}
	if flags&elffile.PF_X != 0 {
		p |= libstate.Exec
	}
	return p
}

// cut returns the part of s in [lo, hi), which must touch it.
func (s segment) cut(lo, hi arch.Address) segment {
	lo, hi = max(lo, s.start), min(hi, s.end)
	s.off += lo - s.start
	s.start, s.end = lo, hi
	s.have = min(max(s.have, lo), hi)
	s.claim = min(max(s.claim, lo), hi)
	if s.have == lo {
		s.off = 0
	}
	return s
}

// untangle sorts segments that are out of order in the file, and splits those that
// overlap: an address in two of them belongs to the one whose header came first.
func untangle(segs []segment) []segment {
	pieces := spans.New(len(segs), func(i int) (first, last uint64, ok bool) { return segs[i].start, segs[i].end - 1, true })
	out := make([]segment, len(pieces))
	for i, p := range pieces {
		out[i] = segs[p.Index].cut(p.First, p.Last+1)
	}
	return out
}
