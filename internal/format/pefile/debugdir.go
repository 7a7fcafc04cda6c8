package pefile

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
	"github.com/corewalk/corewalk/internal/format/codeview"
)

// A CodeView names the file with the image's debug information.
type CodeView struct {
	codeview.Record
	Path string // of the PDB on the machine that built it; the encoding is unknown
}

const (
	debugEntrySize = 28
	debugCodeView  = 2 // IMAGE_DEBUG_TYPE_CODEVIEW
	maxDebug       = 64
)

// CodeView returns the first record in the debug directory that names a PDB.
func (f *File) CodeView() (CodeView, error) {
	dir := f.Directory(DirDebug)
	if dir.Size == 0 {
		return CodeView{}, fmt.Errorf("debug directory: %w", ErrNotFound)
	}
	b := f.At(dir.RVA)
	b = b[:min(uint64(len(b)), uint64(dir.Size), maxDebug*debugEntrySize)]
	if len(b) < debugEntrySize {
		return CodeView{}, fmt.Errorf("debug directory has %#x bytes at RVA %#x, but only %#x exist: %w", dir.Size, dir.RVA, len(b), ErrTruncated)
	}
	err := fmt.Errorf("CodeView record: %w", ErrNotFound)
	for ; len(b) >= debugEntrySize; b = b[debugEntrySize:] {
		c := binbuf.New(b, 12, false)
		if c.U32() != debugCodeView {
			continue
		}
		var v CodeView
		if v, err = f.codeView(c.U32(), c.U32(), c.U32()); err == nil {
			return v, nil
		}
	}
	return CodeView{}, err
}

// codeView reads a record of size bytes; off is its offset in the file.
func (f *File) codeView(size, rva, off uint32) (CodeView, error) {
	b, err := f.Bytes(Range{rva, size})
	if (rva == 0 || err != nil) && !f.memory && off != 0 { // the record need not be loaded
		var ok bool
		if b, ok = binbuf.Slice(f.Data, uint64(off), uint64(size)); ok {
			err = nil
		}
	}
	if err != nil {
		return CodeView{}, fmt.Errorf("CodeView record: %w", err)
	}
	r, err := codeview.Parse(b, binary.LittleEndian)
	switch {
	case errors.Is(err, codeview.ErrUnknown):
		return CodeView{}, fmt.Errorf("%v: %w", err, ErrNotFound)
	case err != nil:
		return CodeView{}, fmt.Errorf("at RVA %#x: %v: %w", rva, err, ErrMalformed)
	}
	return CodeView{r, string(name(r.Path))}, nil
}
