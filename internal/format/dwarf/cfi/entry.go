package cfi

import (
	"fmt"
	"math"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// An entry is what CIEs and FDEs have in common: position and kind.
type entry struct {
	off    int // offset of the length field
	body   int // offset of what follows the CIE id or CIE pointer
	end    int // offset of the next entry
	cieOff int // offset of the FDE's CIE; -1 for a CIE
	zero   bool
}

// entryAt reads the entry at off. If there is an error but the entry's end is known, it is
// returned with the error, so that a scan can continue after it.
func (t *Table) entryAt(off int) (entry, error) {
	c := binbuf.New(t.data, off, t.cfg.Big)
	length := uint64(c.U32())
	e := entry{off: off, cieOff: -1}
	wide := length == math.MaxUint32
	if wide {
		length = c.U64()
	}
	switch {
	case c.Error != nil:
		return entry{}, fmt.Errorf("%w: %w", ErrMalformed, c.Error)
	case length == 0:
		return entry{off: off, end: c.Off, zero: true}, nil
	case length >= 0xfffffff0 && !wide, length > uint64(c.Len()):
		return entry{}, malformed(off, "entry has %#x bytes, but only %#x are left", length, c.Len())
	}
	e.end = c.Off + int(length)
	c.Data = t.data[:e.end]
	idOff := c.Off
	var id uint64
	var isCIE bool
	if t.source == SourceEHFrame {
		// The id is 4 bytes in the 64-bit format too.
		id = uint64(c.U32())
		isCIE = id == 0
		id = uint64(idOff) - id // an FDE's pointer counts backwards from itself
	} else if wide {
		id = c.U64()
		isCIE = id == math.MaxUint64
	} else {
		id = uint64(c.U32())
		isCIE = id == math.MaxUint32
	}
	if c.Error != nil {
		return e, fmt.Errorf("%w: %w", ErrMalformed, c.Error)
	}
	e.body = c.Off
	if !isCIE {
		if id >= uint64(len(t.data)) {
			return e, malformed(idOff, "CIE pointer outside the section")
		}
		e.cieOff = int(id)
	}
	return e, nil
}

// A cie is a parsed common information entry.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        uint64 // DWARF number of the return address column
	insns     int    // offset of the initial instructions
	end       int    // offset of their end
	addrSize  uint8
	segSize   uint8
	enc       encoding // encoding of the addresses in FDEs
	augmented bool     // FDEs have augmentation data
	signal    bool     // 'S'
	bKey      bool     // 'B'
}

// maxCIEHead limits what precedes a CIE's instructions, in bytes. Normal CIEs have some
// twenty; without a limit, malicious FDEs that share a few huge CIEs would make a scan
// quadratic.
const maxCIEHead = 1024

// cieAt parses the CIE at off.
func (t *Table) cieAt(off int) (cie, error) {
	e, err := t.entryAt(off)
	if err != nil {
		return cie{}, err
	}
	if e.zero || e.cieOff >= 0 {
		return cie{}, malformed(off, "not a CIE")
	}
	c := binbuf.Cursor{Data: t.data[:min(e.end, e.body+maxCIEHead)], Off: e.body, Big: t.cfg.Big}
	k := cie{end: e.end, addrSize: uint8(t.cfg.AddrSize)}
	version := c.U8()
	if version != 1 && version != 3 && version != 4 {
		return cie{}, fmt.Errorf("offset %#x: unsupported CIE version %d: %w", off, version, ErrUnsupported)
	}
	aug := c.CString()
	if version == 4 {
		k.addrSize, k.segSize = c.U8(), c.U8()
		switch {
		case k.addrSize != 2 && k.addrSize != 4 && k.addrSize != 8, k.segSize == 3 || k.segSize > 8:
			return cie{}, fmt.Errorf("offset %#x: unsupported address size %d or segment size %d: %w", off, k.addrSize, k.segSize, ErrUnsupported)
		}
	}
	if len(aug) == 2 && aug[0] == 'e' && aug[1] == 'h' { // GCC 2: the address of exception data
		c.Skip(int(k.addrSize))
		aug = nil
	}
	k.codeAlign = c.ULEB()
	k.dataAlign = c.SLEB()
	if version == 1 {
		k.ra = uint64(c.U8())
	} else {
		k.ra = c.ULEB()
	}
	if len(aug) > 0 {
		t.augmentation(&c, &k, aug)
	}
	if c.Error != nil {
		return cie{}, fmt.Errorf("CIE at offset %#x: %w: %w", off, ErrMalformed, c.Error)
	}
	k.insns = c.Off
	return k, nil
}

// augmentation reads the augmentation data. If the first letter is 'z', its length is known
// and data after an unknown letter is skipped; otherwise an unknown letter makes the CIE
// unreadable.
func (t *Table) augmentation(c *binbuf.Cursor, k *cie, aug []byte) {
	after := 0
	if aug[0] == 'z' {
		k.augmented = true
		n := c.ULEB()
		if n > uint64(c.Len()) {
			c.Skip64(n)
			return
		}
		after = c.Off + int(n)
		aug = aug[1:]
	}
	b := bases{addrSize: int(k.addrSize), section: t.addr}
letters:
	for i, letter := range aug {
		switch letter {
		case 'R':
			k.enc = encoding(c.U8())
		case 'L':
			c.U8()
		case 'P':
			encoding(c.U8()).skip(c, &b)
		case 'S':
			k.signal = true
		case 'B':
			k.bKey = true
		case 'G': // AArch64 memory tagging
		default:
			if string(aug[i:]) != "armcc+" && !k.augmented {
				c.Fail(fmt.Errorf("unknown augmentation %q: %w", aug, ErrUnsupported))
			}
			break letters
		}
	}
	if k.augmented && c.Error == nil {
		c.Seek(after)
	}
}

// An fde is a parsed frame description entry with its CIE.
type fde struct {
	off, cieOff int
	begin, end  uint64
	insns, stop int // the instructions' offsets
	cie         *cie
}

func (f *fde) public() FDE {
	return FDE{Start: f.begin, End: f.end, Off: uint64(f.off), CIEOff: uint64(f.cieOff)}
}

// fdeAt parses the FDE at off, and its CIE unless last has it.
func (t *Table) fdeAt(off int, last *lastCIE) (fde, error) {
	e, err := t.entryAt(off)
	if err != nil {
		return fde{}, err
	}
	if e.zero || e.cieOff < 0 {
		return fde{}, malformed(off, "not an FDE")
	}
	if last.t != t || last.off != e.cieOff {
		last.t, last.ran = nil, false
		if last.cie, err = t.cieAt(e.cieOff); err != nil {
			return fde{}, fmt.Errorf("FDE at offset %#x: %w", off, err)
		}
		last.t, last.off = t, e.cieOff
	}
	return t.parseFDE(e, &last.cie)
}

// parseFDE parses the FDE at e, whose CIE is k.
func (t *Table) parseFDE(e entry, k *cie) (fde, error) {
	c := binbuf.Cursor{Data: t.data[:e.end], Off: e.body, Big: t.cfg.Big}
	f := fde{off: e.off, cieOff: e.cieOff, stop: e.end, cie: k}
	b := t.bases(k, 0)
	c.Skip(int(k.segSize))
	f.begin = k.enc.read(&c, &b)
	size := (k.enc & encFormat).read(&c, &b)
	if k.augmented {
		c.Skip64(c.ULEB())
	}
	if c.Error != nil {
		return fde{}, fmt.Errorf("FDE at offset %#x: %w: %w", e.off, ErrMalformed, c.Error)
	}
	f.insns = c.Off
	if f.begin >= mask(b.addrSize)-1 {
		size = 0 // lld moves discarded functions here
	}
	f.end = f.begin + size
	if f.end < f.begin || f.end > mask(b.addrSize) {
		return fde{}, malformed(e.off, "invalid FDE range: %#x bytes at %#x", size, f.begin)
	}
	return f, nil
}

func (t *Table) bases(k *cie, function uint64) bases {
	return bases{section: t.addr, text: t.cfg.TextBase, data: t.cfg.DataBase, function: function, addrSize: int(k.addrSize)}
}
