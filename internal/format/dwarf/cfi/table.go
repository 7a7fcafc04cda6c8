package cfi

import (
	"fmt"
	"math"
	"sync"
)

// A Config says what the bytes of a section do not.
type Config struct {
	Big      bool // byte order
	AddrSize int  // bytes in an address: 4 or 8; a version 4 CIE has its own
	// TextBase and DataBase are what DW_EH_PE_textrel and DW_EH_PE_datarel
	// pointers of .eh_frame are relative to, where the platform uses them
	// (i386: the address of the global offset table as DataBase).
	TextBase, DataBase uint64
	// AArch64 makes opcode 0x2d DW_CFA_AARCH64_negate_ra_state; elsewhere it is
	// SPARC's DW_CFA_GNU_window_save.
	AArch64 bool
}

// A Source is the kind of section that a row comes from.
type Source uint8

// The sections that hold call frame information.
const (
	SourceEHFrame Source = iota
	SourceDebugFrame
)

// String returns the section's name.
func (s Source) String() string {
	if s == SourceDebugFrame {
		return ".debug_frame"
	}
	return ".eh_frame"
}

// A Table finds rows in one section. All addresses are the file's own: callers
// take the load bias off. It refers to the bytes it was made from.
type Table struct {
	data   []byte
	addr   uint64 // of data, in the file's address space; 0 for .debug_frame
	cfg    Config
	source Source
	hdr    header

	once    sync.Once // guards the two below
	entries []indexEntry
	skipped int

	hdrOnce   sync.Once // guards hdrSorted
	hdrSorted bool
}

// EHFrame returns a Table for the bytes of an .eh_frame section whose first byte
// has address addr. hdr holds the bytes of .eh_frame_hdr at hdrAddr, or is nil.
// It reads the header's first bytes only.
func EHFrame(data []byte, addr uint64, hdr []byte, hdrAddr uint64, cfg Config) *Table {
	t := newTable(data, addr, cfg, SourceEHFrame)
	if hdr != nil {
		t.hdr = parseHeader(hdr, hdrAddr, t.cfg)
	}
	return t
}

// DebugFrame returns a Table for the bytes of a .debug_frame section.
func DebugFrame(data []byte, cfg Config) *Table {
	return newTable(data, 0, cfg, SourceDebugFrame)
}

func newTable(data []byte, addr uint64, cfg Config, source Source) *Table {
	if cfg.AddrSize != 4 {
		cfg.AddrSize = 8
	}
	// Offsets are kept in 32 bits; what lies beyond is not reached. No linker
	// makes such a section.
	if most := uint64(math.MaxUint32); uint64(len(data)) > most {
		data = data[:most:most]
	}
	return &Table{data: data, addr: addr, cfg: cfg, source: source}
}

// An FDE is the range of addresses [Start, End) that one frame description
// entry covers, mostly a function or a part of one.
type FDE struct {
	Start, End uint64
	Off        uint64 // of the FDE in its section
	CIEOff     uint64 // of its CIE in the same section
}

// find parses the FDE that covers pc.
func (t *Table) find(pc uint64, last *lastCIE) (fde, error) {
	if t.hdr.usable() {
		f, found := t.searchHeader(pc, last)
		switch {
		case found == hit:
			return f, nil
		case found == miss && t.headerSorted():
			return fde{}, ErrNoFDE
		}
	}
	return t.searchIndex(pc, last)
}

// FDEForPC returns the range that covers pc, half open, and false when none
// does. It allocates nothing once the index, if one is needed, is built.
func (t *Table) FDEForPC(pc uint64) (start, end uint64, ok bool) {
	var last lastCIE
	f, err := t.find(pc, &last)
	return f.begin, f.end, err == nil
}

// HeaderErr says why .eh_frame_hdr is not used, and is nil where it is used or
// there is none.
func (t *Table) HeaderErr() error { return t.hdr.err }

// Skipped is the number of entries of the section that could not be read and
// are left out of the index. It builds the index.
func (t *Table) Skipped() int {
	t.buildIndex()
	return t.skipped
}

func malformed(off int, format string, args ...any) error {
	return fmt.Errorf("offset %#x: %s: %w", off, fmt.Sprintf(format, args...), ErrMalformed)
}
