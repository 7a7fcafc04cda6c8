package cfitest

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Common pointer encodings; tests may use any DW_EH_PE_ value.
const (
	Absptr       = 0x00
	PCRelSData4  = 0x1b
	DataRelSData = 0x3b
	Omit         = 0xff
)

// A Section builds .eh_frame, or .debug_frame if Debug is set. Set its fields before adding
// entries.
type Section struct {
	Addr     uint64 // address of the section's first byte
	Debug    bool
	Big      bool
	Wide     bool // use the 64-bit format
	AddrSize int  // 0 means 8
	DataBase uint64

	data []byte
	fdes []fde
}

type fde struct{ start, off uint64 }

// A CIE describes a common information entry. The zero CIE is the one that GCC writes for
// AMD64, without initial instructions.
type CIE struct {
	Version   uint8  // 0 means 1
	Aug       string // "" means "zR" in .eh_frame
	NoAug     bool   // no augmentation string
	AugData   []byte // nil: derived from Aug's letters, Enc and zeros
	CodeAlign uint64 // 0 means 1
	DataAlign int64  // 0 means -8
	RA        uint64 // 0 means 16
	Enc       uint8  // encoding of FDE addresses; 0 means PCRelSData4 in .eh_frame; use Abs for absptr
	Abs       bool
	SegSize   uint8
	Insns     *Program
}

// A CIERef refers to a CIE that was added, for use by FDEs.
type CIERef struct {
	Off uint64
	cie CIE
}

// Bytes returns the section's bytes so far.
func (s *Section) Bytes() []byte { return s.data }

// Len returns the offset of the next entry.
func (s *Section) Len() uint64 { return uint64(len(s.data)) }

// Raw adds bytes unchanged.
func (s *Section) Raw(b ...byte) { s.data = append(s.data, b...) }

// Terminator adds an entry of length 0.
func (s *Section) Terminator() { s.Raw(0, 0, 0, 0) }

func (s *Section) addrSize() int {
	if s.AddrSize == 0 {
		return 8
	}
	return s.AddrSize
}

// begin starts an entry; its length is filled in by end.
func (s *Section) begin() (idOff int) {
	if s.Wide {
		s.data = Uint(s.data, 0xffffffff, 4, s.Big)
		s.data = Uint(s.data, 0, 8, s.Big)
	} else {
		s.data = Uint(s.data, 0, 4, s.Big)
	}
	return len(s.data)
}

func (s *Section) end(idOff int) {
	for (len(s.data)-idOff)%4 != 0 {
		s.data = append(s.data, 0)
	}
	n := uint64(len(s.data) - idOff)
	if s.Wide {
		copy(s.data[idOff-8:], Uint(nil, n, 8, s.Big))
	} else {
		copy(s.data[idOff-4:], Uint(nil, n, 4, s.Big))
	}
}

// AddCIE adds a CIE.
func (s *Section) AddCIE(c CIE) CIERef {
	if c.Version == 0 {
		c.Version = 1
	}
	if c.Aug == "" && !c.NoAug && !s.Debug {
		c.Aug = "zR"
	}
	if c.Enc == 0 && !c.Abs && !s.Debug && !c.NoAug {
		c.Enc = PCRelSData4
	}
	c.CodeAlign, c.DataAlign, c.RA = cmp.Or(c.CodeAlign, 1), cmp.Or(c.DataAlign, -8), cmp.Or(c.RA, 16)
	ref := CIERef{Off: s.Len(), cie: c}
	at := s.begin()
	switch {
	case !s.Debug:
		s.data = Uint(s.data, 0, 4, s.Big)
	case s.Wide:
		s.data = Uint(s.data, 1<<64-1, 8, s.Big)
	default:
		s.data = Uint(s.data, 1<<32-1, 4, s.Big)
	}
	s.data = append(s.data, c.Version)
	s.data = append(append(s.data, c.Aug...), 0)
	if c.Version >= 4 {
		s.data = append(s.data, byte(s.addrSize()), c.SegSize)
	}
	if c.Aug == "eh" {
		s.data = Uint(s.data, 0, s.addrSize(), s.Big)
	}
	s.data = SLEB(ULEB(s.data, c.CodeAlign), c.DataAlign)
	if c.Version == 1 {
		s.data = append(s.data, byte(c.RA))
	} else {
		s.data = ULEB(s.data, c.RA)
	}
	s.augmentation(c)
	if c.Insns != nil {
		s.data = append(s.data, c.Insns.B...)
	}
	s.end(at)
	return ref
}

func (s *Section) augmentation(c CIE) {
	if c.AugData == nil {
		for _, letter := range c.Aug {
			switch letter {
			case 'R':
				c.AugData = append(c.AugData, c.Enc)
			case 'L':
				c.AugData = append(c.AugData, Omit)
			case 'P': // an indirect pointer, as compilers write it
				c.AugData = append(c.AugData, 0x9b, 0, 0, 0, 0)
			}
		}
	}
	if len(c.Aug) > 0 && c.Aug[0] == 'z' {
		s.data = ULEB(s.data, uint64(len(c.AugData)))
	}
	s.data = append(s.data, c.AugData...)
}

// AddFDE adds an FDE for size bytes from start, and returns its offset.
func (s *Section) AddFDE(c CIERef, start, size uint64, insns *Program) uint64 {
	off := s.Len()
	at := s.begin()
	switch {
	case !s.Debug:
		s.data = Uint(s.data, uint64(at)-c.Off, 4, s.Big)
	case s.Wide:
		s.data = Uint(s.data, c.Off, 8, s.Big)
	default:
		s.data = Uint(s.data, c.Off, 4, s.Big)
	}
	s.data = append(s.data, make([]byte, c.cie.SegSize)...)
	rel := start
	switch c.cie.Enc & 0x70 {
	case 0x10:
		rel -= s.Addr + uint64(len(s.data))
	case 0x30:
		rel -= s.DataBase
	}
	s.pointer(rel, c.cie.Enc)
	s.pointer(size, c.cie.Enc)
	if len(c.cie.Aug) > 0 && c.cie.Aug[0] == 'z' {
		s.data = ULEB(s.data, 0)
	}
	if insns != nil {
		s.data = append(s.data, insns.B...)
	}
	s.end(at)
	s.fdes = append(s.fdes, fde{start, off})
	return off
}

func (s *Section) pointer(v uint64, enc uint8) {
	switch enc & 0x0f {
	case 0x01:
		s.data = ULEB(s.data, v)
	case 0x09:
		s.data = SLEB(s.data, int64(v))
	case 0x02, 0x0a:
		s.data = Uint(s.data, v, 2, s.Big)
	case 0x03, 0x0b:
		s.data = Uint(s.data, v, 4, s.Big)
	case 0x04, 0x0c:
		s.data = Uint(s.data, v, 8, s.Big)
	default:
		s.data = Uint(s.data, v, s.addrSize(), s.Big)
	}
}

// Header returns an .eh_frame_hdr for address addr with all FDEs so far, in the encoding
// that linkers use.
func (s *Section) Header(addr uint64) []byte {
	return s.HeaderEnc(addr, DataRelSData)
}

// HeaderEnc is Header with the table in encoding enc: absolute or datarel, with a fixed
// size.
func (s *Section) HeaderEnc(addr uint64, enc uint8) []byte {
	fdes := slices.SortedFunc(slices.Values(s.fdes), func(a, b fde) int { return cmp.Compare(a.start, b.start) })
	h := Section{Big: s.Big, AddrSize: s.AddrSize}
	h.Raw(1, PCRelSData4, 0x03, enc)
	h.data = Uint(h.data, s.Addr-(addr+4), 4, s.Big)
	h.data = Uint(h.data, uint64(len(fdes)), 4, s.Big)
	base := uint64(0)
	if enc&0x70 == 0x30 {
		base = addr
	}
	for _, f := range fdes {
		h.pointer(f.start-base, enc)
		h.pointer(s.Addr+f.off-base, enc)
	}
	return h.data
}

// PutU32 overwrites four bytes at off of b, little-endian.
func PutU32(b []byte, off int, v uint32) { binary.LittleEndian.PutUint32(b[off:], v) }
