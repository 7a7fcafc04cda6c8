package cfi

import (
	"encoding/binary"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A header is the binary search table in .eh_frame_hdr, read in place.
type header struct {
	table  []byte // entries of two pointers: the function's start, the FDE
	n      int
	enc    encoding
	each   int // bytes in a pointer
	bases  bases
	big    bool
	common bool   // datarel sdata4, little-endian
	cut    uint64 // mask of an address
	err    error  // why there is no usable table
}

func (h *header) usable() bool { return h.n > 0 }

// parseHeader reads the beginning of .eh_frame_hdr (LSB Core, section 10.6.2). If there is
// no table that can be searched in place, the header is not used, and its err says why.
func parseHeader(hdr []byte, addr uint64, cfg Config) header {
	h := header{big: cfg.Big, bases: bases{section: addr, data: addr, text: cfg.TextBase, addrSize: cfg.AddrSize}}
	c := binbuf.Cursor{Data: hdr, Big: cfg.Big}
	version := c.U8()
	frameEnc, countEnc, enc := encoding(c.U8()), encoding(c.U8()), encoding(c.U8())
	if c.Error == nil && version != 1 {
		h.err = fmt.Errorf("unsupported .eh_frame_hdr version %d: %w", version, ErrUnsupported)
		return h
	}
	frameEnc.skip(&c, &h.bases)
	if c.Error == nil && (countEnc == encOmit || enc == encOmit) {
		h.err = fmt.Errorf(".eh_frame_hdr has no table: %w", ErrUnsupported)
		return h
	}
	n := countEnc.read(&c, &h.bases)
	each := enc.size(cfg.AddrSize)
	switch {
	case c.Error != nil:
		h.err = fmt.Errorf(".eh_frame_hdr: %w: %w", ErrMalformed, c.Error)
	case each == 0, enc&encIndirect != 0, enc&encBase > encDataRel:
		h.err = fmt.Errorf("unsupported .eh_frame_hdr table encoding %#02x: %w", uint8(enc), ErrUnsupported)
	case n == 0: // written by linkers that could not build the table
		h.err = fmt.Errorf(".eh_frame_hdr has an empty table: %w", ErrUnsupported)
	case n > uint64(c.Len()/(2*each)):
		h.err = malformed(c.Off, ".eh_frame_hdr table has %d entries but only %#x bytes", n, c.Len())
	default:
		h.enc, h.each, h.n = enc, each, int(n)
		h.common = enc == encDataRel|encSData4 && !cfg.Big
		h.cut = mask(cfg.AddrSize)
		// The base of pcrel pointers is the section's start: it moves along with the table.
		h.bases.section = addr + uint64(c.Off)
		h.table = c.Bytes(h.n * 2 * each)
	}
	return h
}

// start and fde return entry i's two addresses: of the function and of its FDE.
func (h *header) start(i int) uint64 { return h.pointer(2 * i) }
func (h *header) fde(i int) uint64   { return h.pointer(2*i + 1) }

// pointer reads the table's i-th pointer.
func (h *header) pointer(i int) uint64 {
	if h.common {
		return h.rel32(i)
	}
	c := binbuf.Cursor{Data: h.table, Off: i * h.each, Big: h.big}
	return h.enc.read(&c, &h.bases)
}

// rel32 is pointer for the encoding that all linkers use.
func (h *header) rel32(i int) uint64 {
	rel := int32(binary.LittleEndian.Uint32(h.table[4*i:]))
	return (h.bases.data + uint64(int64(rel))) & h.cut
}

// search returns the last entry that starts at or below pc, or -1 if none does.
func (h *header) search(pc uint64) int {
	lo, hi := 0, h.n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if h.start(mid) <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// A verdict is the result of a search in .eh_frame_hdr.
type verdict uint8

const (
	miss verdict = iota // its table has no entry for the address, provided it is sorted
	hit                 // an FDE that covers the address
	lie                 // its table is inconsistent with the section
)

// maxBack is how many entries before the nearest one are tried. FDEs may overlap or be
// empty: assembly code can describe a range inside a function separately.
const maxBack = 8

// searchHeader searches the header's table for pc. It accepts an FDE that starts where the
// table says and covers pc, and it accepts a miss if the entries around the gap are
// correct.
func (t *Table) searchHeader(pc uint64, last *lastCIE) (fde, verdict) {
	nearest := t.hdr.search(pc)
	for i := nearest; i >= 0 && i > nearest-maxBack; i-- {
		f, ok := t.headerFDE(i, last)
		if !ok || f.begin > pc {
			return fde{}, lie
		}
		if pc < f.end {
			return f, hit
		}
	}
	if next := nearest + 1; next < t.hdr.n {
		if f, ok := t.headerFDE(next, last); !ok || f.begin <= pc {
			return fde{}, lie
		}
	}
	return fde{}, miss
}

// headerFDE parses the FDE of entry i. It returns false if the FDE does not match the
// entry.
func (t *Table) headerFDE(i int, last *lastCIE) (fde, bool) {
	off := t.hdr.fde(i) - t.addr
	if off >= uint64(len(t.data)) {
		return fde{}, false
	}
	f, err := t.fdeAt(int(off), last)
	return f, err == nil && f.begin == t.hdr.start(i)
}

// headerSorted checks the table's order once, when the first address is not found in it: a
// hit is checked by itself. A sorted table is assumed to be complete, as run-time unwinders
// assume, too: linkers write a table of all FDEs or none.
func (t *Table) headerSorted() bool {
	t.hdrOnce.Do(func() {
		prev := uint64(0)
		for i := range t.hdr.n {
			start := t.hdr.start(i)
			if start < prev {
				return
			}
			prev = start
		}
		t.hdrSorted = true
	})
	return t.hdrSorted
}
