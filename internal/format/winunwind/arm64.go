package winunwind

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind/arch"
)

// Formats of the last word of an arm64 entry: its two lowest bits.
const (
	flagXdata    = 0
	flagPacked   = 1
	flagFragment = 2 // packed, without prologue and epilogue
)

// Function lengths are in units of instructions (four bytes).
const (
	packedLength = 1<<11 - 1
	xdataLength  = 1<<18 - 1
)

func (t *Table) entryARM64(begin, data uint32) (Function, error) {
	n := data >> 2 & packedLength
	if data&3 == flagXdata {
		b := t.image.At(data)
		if len(b) < 4 {
			return Function{}, fmt.Errorf("unwind information at RVA %#x: %w", data, ErrTruncated)
		}
		n = le.Uint32(b) & xdataLength
	}
	end := begin + 4*n
	if end < begin {
		end = 0xffffffff
	}
	return Function{begin, end, data}, nil
}

func (s *stepper) stepARM64(fn Function, found bool) error {
	if found {
		var err error
		switch fn.Data & 3 {
		case flagXdata:
			err = s.full(fn)
		case flagPacked, flagFragment:
			err = s.packed(fn)
		default:
			err = fmt.Errorf("entry %#x has an unknown format: %w", fn.Data, ErrUnsupported)
		}
		if err != nil || s.done {
			return err
		}
	}
	lr, err := s.reg(arch.ARM64LR)
	if err != nil {
		return err
	}
	s.f.Regs.Set(arch.ARM64PC, s.arch.CodeAddress(lr))
	if s.f.Saved.Has(arch.ARM64LR) {
		s.f.Saved = s.f.Saved&^arch.Mask(arch.ARM64LR) | arch.Mask(arch.ARM64PC)
		s.f.At[arch.ARM64PC] = s.f.At[arch.ARM64LR]
	}
	return nil
}

// An xdataHeader begins an .xdata record.
type xdataHeader struct {
	head          int  // its size in bytes
	single        bool // one epilogue, at the end: scopes is the index of its codes
	scopes, words int  // epilogues, and words of codes
}

// readXdata reads the header at the start of b; false if it is not there.
func readXdata(b []byte) (x xdataHeader, ok bool) {
	if len(b) < 4 {
		return x, false
	}
	w := le.Uint32(b)
	x = xdataHeader{4, w>>21&1 != 0, int(w >> 22 & 31), int(w >> 27)}
	if x.scopes == 0 && x.words == 0 {
		if len(b) < 8 {
			return x, false
		}
		w = le.Uint32(b[4:])
		x.head, x.scopes, x.words = 8, int(w&0xffff), int(w>>16&0xff)
	}
	return x, true
}

// size returns the size in bytes of the record without its handler.
func (x xdataHeader) size() int {
	if x.single {
		return x.head + 4*x.words
	}
	return x.head + 4*(x.scopes+x.words)
}

// full undoes what an .xdata record describes.
func (s *stepper) full(fn Function) error {
	b := s.image.At(fn.Data)
	if len(b) < 4 {
		return fmt.Errorf("unwind information at RVA %#x: %w", fn.Data, ErrTruncated)
	}
	x, ok := readXdata(b)
	if v := le.Uint32(b) >> 18 & 3; v != 0 {
		return fmt.Errorf("unwind information at RVA %#x has version %d, want 0: %w", fn.Data, v, ErrUnsupported)
	}
	if !ok {
		return fmt.Errorf("extension of RVA %#x: %w", fn.Data, ErrTruncated)
	}
	single, scopes, words := x.single, x.scopes, x.words
	b = b[x.head:]
	index := uint32(0)
	if single { // the count is the index of its codes
		index, scopes = uint32(scopes), 0
	}
	if len(b) < 4*(scopes+words) {
		return fmt.Errorf("%d epilogues and %d words of codes at RVA %#x: %w", scopes, words, fn.Data, ErrTruncated)
	}
	table, codes := b[:4*scopes], b[4*scopes:4*(scopes+words)]
	off := s.rva - fn.Begin
	if n := instructions(codes); off/4 < n {
		return s.run(codes, n-off/4)
	}
	if !s.exact {
		return s.run(codes, 0)
	}
	if single {
		if c := tail(codes, index); off/4 >= (fn.End-fn.Begin)/4-min((fn.End-fn.Begin)/4, instructions(c)+1) {
			return s.run(c, instructions(c)+1-((fn.End-fn.Begin)-off)/4)
		}
		return s.run(codes, 0)
	}
	if c, skip, ok := inScope(table, codes, off); ok {
		return s.run(c, skip)
	}
	return s.run(codes, 0)
}

// inScope returns the codes of the epilogue that contains offset off of the function, and
// how many of its instructions have been executed. Scopes are sorted by start.
func inScope(table, codes []byte, off uint32) (c []byte, skip uint32, ok bool) {
	lo, hi := 0, len(table)/4
	for lo < hi {
		mid := (lo + hi) / 2
		if le.Uint32(table[4*mid:])&xdataLength <= off/4 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return nil, 0, false
	}
	w := le.Uint32(table[4*(lo-1):])
	c, skip = tail(codes, w>>22), off/4-(w&xdataLength)
	return c, skip, skip <= instructions(c)
}

func tail(codes []byte, index uint32) []byte { return codes[min(uint32(len(codes)), index):] }

// instructions returns how many instructions the codes up to the first end represent,
// without the return.
func instructions(codes []byte) uint32 {
	n := uint32(0)
	for len(codes) > 0 && codes[0] != codeEnd && codes[0] != codeEndC {
		if codes[0]&0xf8 != codeTrapFrame { // codes of special frames represent none
			n++
		}
		size := codeSize(codes[0])
		codes = codes[min(size, len(codes)):]
	}
	return n
}

// run executes the codes except those of the first skip instructions.
func (s *stepper) run(codes []byte, skip uint32) error {
	next := uint64(0) // pairs saved after the next one
	for len(codes) > 0 && codes[0] != codeEnd {
		size := codeSize(codes[0])
		if size > len(codes) {
			return fmt.Errorf("unwind code %#x has %d bytes, but only %d are left: %w", codes[0], size, len(codes), ErrMalformed)
		}
		c := codes[:size]
		codes = codes[size:]
		switch {
		case skip > 0 && c[0] != codeEndC && c[0]&0xf8 != codeTrapFrame:
			skip--
		case c[0] == codeSaveNext:
			next++
		default:
			if err := s.code(c, next); err != nil || s.done {
				return err
			}
			next = 0
		}
	}
	return nil
}
