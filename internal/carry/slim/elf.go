package slim

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/format/slimnote"
	"github.com/corewalk/corewalk/internal/live/corewrite"
	"github.com/corewalk/corewalk/libstate"
)

// ELF writes a core with all notes of c, and of its memory what want has. A reader that does not know the
// added note sees a core with less memory: ranges of files that were not written to are there without
// their bytes, as kernels write them, and other memory that was left out is not mentioned, since debuggers
// read what a program header mentions without its bytes as zeros.
func ELF(w io.Writer, c *corestate.ELFCore, want *Wanted, o Options) (*Written, error) {
	out := &Written{Was: uint64(len(c.Bytes()))}
	f, err := elffile.Parse(c.Bytes())
	if err != nil {
		return nil, fmt.Errorf("core: %w", err)
	}
	core := &corewrite.Core{Class: f.Class, Order: f.Order, Type: f.Type, Machine: f.Machine, OSABI: c.Bytes()[7],
		Flags: f.Flags, NoteAlign: noteAlign(f), LoadAlign: corestate.ReadPage}
	red, err := newRedactor(c, o)
	if err != nil {
		return nil, err
	}
	for n := range c.Notes() {
		if n.Owner == slimnote.Owner && (n.Type == slimnote.Type || n.Type == slimnote.TypeKept || n.Type == slimnote.TypeMade) {
			continue
		}
		core.Note(n.Owner, n.Type, red.note(n))
	}
	core.Note(slimnote.Owner, slimnote.Type, noteOf(c, o).Bytes(f.Order))
	if len(o.Kept) > 0 {
		core.Note(slimnote.Owner, slimnote.TypeKept, slimnote.KeptBytes(o.Kept, f.Order))
	}
	if len(o.Made) > 0 {
		core.Note(slimnote.Owner, slimnote.TypeMade, slimnote.MadeBytes(o.Made, f.Order))
	}

	runs := append(want.runs(c), want.ofFiles(c, o.Steps)...)
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.lo, b.lo) })
	parts := headersOf(c, runs)
	for _, p := range parts {
		core.Segment(p.lo, flags(p.perm), p.hi-p.lo, p.bytes())
	}
	head, tail, offsets, size := core.Layout()
	out.Size = size
	out.Notes = uint64(len(core.Notes()))
	at, err := write(w, 0, head)
	for i, p := range parts {
		if err != nil {
			break
		}
		if !p.kept {
			continue
		}
		if at != offsets[i] {
			return nil, fmt.Errorf("memory at %#x belongs at %#x of the file, not at %#x", p.lo, offsets[i], at)
		}
		at, err = copyMemory(w, at, c, p, red)
	}
	if err == nil {
		_, err = write(w, at, tail)
	}
	if err != nil {
		return nil, err
	}
	out.Kept = want.sums(runs)
	out.Blanked = red.sum()
	if red != nil {
		out.Stays = "the paths of mapped files (to find them), the threads' program counters and stack pointers (to walk from), the program's name, thread ids, signals and times"
		if len(red.jit) > 0 {
			out.Stays += ", and the symbols and code that a JIT compiler wrote for debuggers (to walk through that code)"
		}
		if len(o.Made) > 0 {
			out.Stays += ", and the names, lines and code of functions that a compiler recorded for profilers (to walk through that code)"
		}
	}
	return out, nil
}

func write(w io.Writer, at uint64, b []byte) (uint64, error) {
	n, err := w.Write(b)
	return at + uint64(n), err
}

// noteAlign returns the alignment of the core's first notes, in bytes.
func noteAlign(f *elffile.File) int {
	for i := range f.Progs {
		if p := &f.Progs[i]; p.Type == elffile.PT_NOTE && p.Align == 8 {
			return 8
		} else if p.Type == elffile.PT_NOTE {
			return 4
		}
	}
	return 4
}

func noteOf(c *corestate.ELFCore, o Options) *slimnote.Note {
	n := &slimnote.Note{Kind: uint32(c.Kind()), Redacted: o.Redact}
	if _, was := c.Slim(); was {
		n.Redacted = true
	}
	if cut, have, want := c.Truncated(); cut {
		n.Have, n.Want = uint64(have), uint64(want)
	}
	for _, s := range c.Whole() {
		n.Ranges = append(n.Ranges, slimnote.Range{Start: s.Start, End: s.End, Claim: s.Start + s.InFile, Have: s.Start + s.InDump, Flags: noteFlags(s.Perm)})
	}
	return n
}

// noteFlags are flags for the note.
func noteFlags(p libstate.Perm) uint32 {
	if p&libstate.Unknown != 0 {
		return flags(p) | slimnote.UnknownPerm
	}
	return flags(p)
}

func flags(p libstate.Perm) uint32 {
	f := uint32(0)
	for _, b := range []struct {
		perm libstate.Perm
		flag uint32
	}{{libstate.Read, elffile.PF_R}, {libstate.Write, elffile.PF_W}, {libstate.Exec, elffile.PF_X}} {
		if p&b.perm != 0 {
			f |= b.flag
		}
	}
	return f
}

// A part is memory that gets a program header.
type part struct {
	lo, hi uint64
	perm   libstate.Perm
	kept   bool // with its bytes
}

func (p part) bytes() uint64 {
	if p.kept {
		return p.hi - p.lo
	}
	return 0
}

// headersOf returns the runs, and between them the ranges of files that were not writable.
func headersOf(c *corestate.ELFCore, runs []run) []part {
	var parts []part
	files := c.FileMappings()
	for _, s := range c.Whole() {
		at := s.Start
		for len(runs) > 0 && runs[0].lo < s.End {
			r := runs[0]
			parts = gaps(parts, at, r.lo, s.Perm, &files)
			parts = append(parts, part{r.lo, r.hi, s.Perm, true})
			at, runs = r.hi, runs[1:]
		}
		parts = gaps(parts, at, s.End, s.Perm, &files)
	}
	return parts
}

// gaps appends what files have of [lo, hi). files loses what lies before.
func gaps(parts []part, lo, hi uint64, perm libstate.Perm, files *[]libstate.Mapping) []part {
	for len(*files) > 0 && (*files)[0].End <= lo {
		*files = (*files)[1:]
	}
	if perm&libstate.Write != 0 {
		return parts
	}
	for _, m := range *files {
		if m.Start >= hi {
			break
		}
		if a, b := max(lo, m.Start), min(hi, m.End); a < b {
			parts = append(parts, part{a, b, perm, false})
		}
	}
	return parts
}

// copyMemory writes the bytes of a part, a megabyte at a time.
func copyMemory(w io.Writer, at uint64, c *corestate.ELFCore, p part, red *redactor) (uint64, error) {
	buf := make([]byte, min(p.hi-p.lo, 1<<20))
	for a := p.lo; a < p.hi; a += uint64(len(buf)) {
		b := buf[:min(uint64(len(buf)), p.hi-a)]
		if _, err := c.ReadMem(a, b); err != nil {
			return at, err
		}
		red.memory(a, b, p.perm)
		var err error
		if at, err = write(w, at, b); err != nil {
			return at, err
		}
	}
	return at, nil
}
