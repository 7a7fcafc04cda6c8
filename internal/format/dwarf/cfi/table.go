package cfi

import (
	"fmt"
	"math"
	"sync"
)

// A Config gives properties of a section that its bytes do not contain.
type Config struct {
	Big      bool // big-endian
	AddrSize int  // size of an address in bytes, 4 or 8; a version 4 CIE has its own
	// TextBase and DataBase are the bases of DW_EH_PE_textrel and DW_EH_PE_datarel pointers
	// in .eh_frame, on platforms that use them (on i386 DataBase is the address of the
	// global offset table).
	TextBase, DataBase uint64
	// AArch64 says that opcode 0x2d is DW_CFA_AARCH64_negate_ra_state; otherwise it is
	// SPARC's DW_CFA_GNU_window_save.
	AArch64 bool
}

// A Source is the kind of section that a row comes from.
type Source uint8

// The sections that rows come from.
const (
	SourceEHFrame Source = iota
	SourceDebugFrame
	SourceGoTable // .gopclntab of Go programs, which gives the sizes of frames
)

// String returns the section's name.
func (s Source) String() string {
	switch s {
	case SourceDebugFrame:
		return ".debug_frame"
	case SourceGoTable:
		return ".gopclntab"
	}
	return ".eh_frame"
}

// A Table finds rows in one section. All addresses are link-time addresses: callers
// subtract the load bias. It refers to the bytes from which it was made.
type Table struct {
	data   []byte
	addr   uint64 // link-time address of data; 0 for .debug_frame
	cfg    Config
	source Source
	hdr    header

	once    sync.Once // guards the two fields below
	entries []indexEntry
	skipped int

	hdrOnce   sync.Once // guards hdrSorted
	hdrSorted bool
}

// EHFrame returns a Table for the bytes of an .eh_frame section at addr. hdr has the bytes
// of .eh_frame_hdr at hdrAddr, or is nil. It reads only the beginning of the header.
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
	// Offsets are stored in 32 bits; what is beyond is ignored. No linker makes such a
	// large section.
	if most := uint64(math.MaxUint32); uint64(len(data)) > most {
		data = data[:most:most]
	}
	return &Table{data: data, addr: addr, cfg: cfg, source: source}
}

// An FDE is the address range [Start, End) of a frame description entry: usually a function
// or a part of one.
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

// FDEForPC returns the range [start, end) that covers pc, or false if there is none. It
// does not allocate once the index, if needed, has been built.
func (t *Table) FDEForPC(pc uint64) (start, end uint64, ok bool) {
	var last lastCIE
	f, err := t.find(pc, &last)
	return f.begin, f.end, err == nil
}

// HeaderErr says why .eh_frame_hdr is not used; it is nil if it is used or does not exist.
func (t *Table) HeaderErr() error { return t.hdr.err }

// Skipped returns the number of unreadable entries of the section, which the index does not
// include. It builds the index.
func (t *Table) Skipped() int {
	t.buildIndex()
	return t.skipped
}

func malformed(off int, format string, args ...any) error {
	return fmt.Errorf("offset %#x: %s: %w", off, fmt.Sprintf(format, args...), ErrMalformed)
}
