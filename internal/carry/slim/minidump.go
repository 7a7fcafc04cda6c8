package slim

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpwrite"
	"github.com/corewalk/corewalk/libstate"
)

// ErrMicrodump means that a microdump cannot be made smaller.
var ErrMicrodump = errors.New("a microdump has no slim form: it is text, with one stack")

// Minidump writes a minidump with the streams of m, and of its memory what want has. Each stream whose layout is known is
// written anew with what it refers to. Others are copied; with o.Redact they are left out.
func Minidump(w io.Writer, m *corestate.Minidump, want *Wanted, o Options) (*Written, error) {
	f := minidump.Of(m)
	if f.Microdump {
		return nil, ErrMicrodump
	}
	out := &Written{Was: uint64(len(f.Data))}
	runs := want.within(f)
	c := &copier{f: f, d: dumpwrite.New(f.ByteOrder(), len(f.Streams)), left: 2*len(f.Data) + 1<<20, copied: map[dumpwrite.Loc]dumpwrite.Loc{}}
	c.d.Time, c.d.Flags = f.Time, f.Flags
	keep := spots(nil)
	if o.Redact {
		c.red = minidumpRedactor(m, o)
		keep = shown(m)
	}
	wide, err := c.streams()
	if err != nil {
		return nil, err
	}
	var ranges []dumpwrite.Range
	total := uint64(0)
	for _, r := range runs {
		ranges = append(ranges, dumpwrite.Range{Start: r.lo, Size: r.hi - r.lo})
		total += r.hi - r.lo
	}
	c.stacks(m, ranges, c.d.Place(ranges))
	head, err := c.d.Head(ranges, wide || total >= 1<<31)
	if err != nil {
		return nil, err
	}
	out.Notes = uint64(len(head))
	if out.Size, err = write(w, 0, head); err != nil {
		return nil, err
	}
	for _, r := range runs {
		for a := r.lo; a < r.hi; {
			b := f.Memory.At(a)
			if len(b) == 0 {
				return nil, fmt.Errorf("memory at %#x is gone", a)
			}
			b = slices.Clone(b[:min(uint64(len(b)), r.hi-a, 1<<20)])
			b = b[:c.red.blankMemory(m, keep, a, b)]
			if out.Size, err = write(w, out.Size, b); err != nil {
				return nil, err
			}
			a += uint64(len(b))
		}
	}
	out.Kept, out.Dropped = want.sums(runs), c.dropped
	out.Blanked = c.red.sum()
	if c.red != nil {
		out.Stays = "the base names of modules, paths in directories of the system, names of threads and of annotations, thread ids, exceptions and times"
	}
	return out, nil
}

// stacks says in the lists of threads where their stacks are now. at is where the ranges' bytes will be.
func (c *copier) stacks(m *corestate.Minidump, ranges []dumpwrite.Range, at uint64) {
	offs := make([]uint64, len(ranges))
	for i, r := range ranges {
		offs[i] = at
		at += r.Size
	}
	in := func(a uint64) (dumpwrite.Range, uint64, bool) {
		i, ok := slices.BinarySearchFunc(ranges, a, func(r dumpwrite.Range, a uint64) int {
			switch {
			case r.Start+r.Size-1 < a:
				return -1
			case r.Start > a:
				return 1
			}
			return 0
		})
		if !ok {
			return dumpwrite.Range{}, 0, false
		}
		return ranges[i], offs[i], true
	}
	for _, p := range c.patches {
		start, size, off := p.start, uint64(0), uint64(0)
		r, base, ok := in(p.start)
		if !ok && p.sp >= p.start && p.sp-p.start < p.size {
			if r, base, ok = in(p.sp); ok {
				start = max(start, r.Start)
			}
		}
		if ok {
			size = min(p.start+p.size-1, r.Start+r.Size-1) - start + 1
			off = base + start - r.Start
		}
		if off >= 1<<32 {
			size, off = 0, 0
		}
		c.d.Put32(p.at, uint32(start))
		c.d.Put32(p.at+4, uint32(start>>32))
		if c.f.Big {
			c.d.Put32(p.at, uint32(start>>32))
			c.d.Put32(p.at+4, uint32(start))
		}
		c.d.Put32(p.at+8, uint32(size))
		c.d.Put32(p.at+12, uint32(off))
	}
}

// within returns the wanted memory that the minidump has, ascending.
func (w *Wanted) within(f *minidump.File) []run {
	var list []run
	for _, s := range f.Memory.Spans() {
		for _, r := range w.cut(s.Start, s.Start+uint64(len(s.Data))) {
			// Spans of several ranges follow each other without gaps.
			if n := len(list); n > 0 && list[n-1].hi == r.lo {
				list[n-1].hi = r.hi
			} else {
				list = append(list, r)
			}
		}
	}
	return list
}

// cut returns the wanted parts of [lo, hi).
func (w *Wanted) cut(lo, hi uint64) []run {
	const size = corestate.ReadPage
	if w.sorted == nil {
		w.sort()
	}
	var list []run
	for i, _ := slices.BinarySearch(w.sorted, lo/size); i < len(w.sorted) && w.sorted[i]*size < hi; i++ {
		a, b := max(lo, w.sorted[i]*size), min(hi, w.sorted[i]*size+size)
		if n := len(list); n > 0 && list[n-1].hi == a {
			list[n-1].hi = b
		} else {
			list = append(list, run{a, b})
		}
	}
	return list
}

// minidumpRedactor makes the redactor of a minidump.
func minidumpRedactor(m *corestate.Minidump, o Options) *redactor {
	r := &redactor{arch: m.Arch(), found: o.Walked, walked: o.Walked, module: o.Module, narrow: minidump.Of(m).WOW64()}
	for _, x := range m.Mappings() {
		r.whole = append(r.whole, run{x.Start, x.End})
	}
	for _, l := range o.Libraries {
		if l.Path == "" {
			continue
		}
		r.paths = append(r.paths, keptPath{l.Path, len(l.Path) - len(keptPart(l.Path))})
	}
	r.step(o.Steps)
	return r
}

const (
	// aroundPC is how much code is kept on both sides of a thread's program counter, in bytes.
	aroundPC = 256
)

// shown returns what is kept of modules of which the dump does not say what can be written: their headers, and
// the code at the threads' program counters.
func shown(m *corestate.Minidump) spots {
	var list spots
	ids, _ := m.ThreadIDs()
	for _, id := range ids {
		regs, err := m.Registers(id)
		if err != nil {
			continue
		}
		if pc, ok := regs.Get(m.Arch().PC); ok {
			list = append(list, run{pc - min(pc, aroundPC), pc + min(^pc, aroundPC)})
		}
	}
	for _, mod := range minidump.Of(m).Modules {
		if mod.Size > 0 {
			list = append(list, run{mod.Base, mod.Base + min(mod.Size, page)})
		}
	}
	return joined(list)
}

// blankMemory blanks values in memory of a minidump, up to the end of the mapping at addr. It returns how many bytes that
// were. keep are places to be left alone in modules of which it is not known what could be written.
func (r *redactor) blankMemory(m *corestate.Minidump, keep spots, addr uint64, b []byte) int {
	if r == nil {
		return len(b)
	}
	perm := libstate.Read | libstate.Write
	x, ok := m.MappingAt(addr)
	if ok {
		b = b[:min(uint64(len(b)), x.End-addr)]
		perm = x.Perm
	}
	if !ok || perm&libstate.Unknown == 0 {
		r.memory(addr, b, perm)
		return len(b)
	}
	i, _ := slices.BinarySearchFunc(keep, addr, func(k run, a uint64) int {
		if k.hi <= a {
			return -1
		}
		return 1
	})
	if i < len(keep) && r.module(addr) {
		if k := keep[i]; k.lo <= addr {
			return int(min(uint64(len(b)), k.hi-addr))
		} else if k.lo-addr < uint64(len(b)) {
			b = b[:k.lo-addr]
		}
	}
	r.memory(addr, b, libstate.Read|libstate.Write)
	return len(b)
}

// context returns a CONTEXT record with values blanked.
func (r *redactor) context(f *minidump.File, rec []byte) []byte {
	b := slices.Clone(rec)
	fields, _ := f.ContextFields(b)
	slices.SortStableFunc(fields, func(x, y minidump.ContextField) int { return x.Off - y.Off })
	at := 0
	words := func(to int) {
		for at < to {
			n := min(r.arch.WordSize-at%r.arch.WordSize, to-at)
			r.inside = 0
			r.word(uint64(at), b[at:at+n])
			at += n
		}
	}
	for _, fd := range fields {
		words(fd.Off)
		if fd.Shape {
			at = max(at, fd.Off+fd.Size)
		}
		words(fd.Off + fd.Size)
	}
	words(len(b))
	return b
}
