package pefile

import (
	"fmt"

	"github.com/corewalk/corewalk/internal/binbuf"
)

// A CodeView says which file has the image's debug information: a record "RSDS"
// (PDB 7.0) of the debug directory.
type CodeView struct {
	GUID [16]byte // as it lies in the record
	Age  uint32
	Path string // of the PDB where it was built; bytes in no certain encoding
}

// DebugID is the identifier in the form that symbol servers and Breakpad use: the
// GUID's three numbers and eight bytes as 32 digits, then the age, both in
// hexadecimal.
func (v *CodeView) DebugID() string {
	c := binbuf.New(v.GUID[:], 0, false)
	return fmt.Sprintf("%08X%04X%04X%X%x", c.U32(), c.U16(), c.U16(), v.GUID[8:], v.Age)
}

const (
	debugEntrySize = 28
	debugCodeView  = 2 // IMAGE_DEBUG_TYPE_CODEVIEW
	maxDebug       = 64
	signatureRSDS  = 'R' | 'S'<<8 | 'D'<<16 | 'S'<<24
)

// CodeView returns the first record of the debug directory that names a PDB of
// version 7.
func (f *File) CodeView() (CodeView, error) {
	dir := f.Directory(DirDebug)
	if dir.Size == 0 {
		return CodeView{}, fmt.Errorf("debug directory: %w", ErrNotFound)
	}
	b := f.At(dir.RVA)
	b = b[:min(uint64(len(b)), uint64(dir.Size), maxDebug*debugEntrySize)]
	if len(b) < debugEntrySize {
		return CodeView{}, fmt.Errorf("debug directory of %#x bytes at RVA %#x, only %#x are there: %w", dir.Size, dir.RVA, len(b), ErrTruncated)
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

// codeView reads a record of size bytes; off is where it is in the file.
func (f *File) codeView(size, rva, off uint32) (CodeView, error) {
	b, err := f.Bytes(Range{rva, size})
	if (rva == 0 || err != nil) && !f.memory && off != 0 { // it need not be loaded
		var ok bool
		if b, ok = binbuf.Slice(f.Data, uint64(off), uint64(size)); ok {
			err = nil
		}
	}
	if err != nil {
		return CodeView{}, fmt.Errorf("CodeView record: %w", err)
	}
	c := binbuf.New(b, 0, false)
	if sig := c.U32(); c.Error == nil && sig != signatureRSDS {
		return CodeView{}, fmt.Errorf("CodeView record with signature %#x, want RSDS: %w", sig, ErrNotFound)
	}
	var v CodeView
	copy(v.GUID[:], c.Bytes(16))
	v.Age = c.U32()
	if c.Error != nil {
		return CodeView{}, fmt.Errorf("CodeView record of %#x bytes at RVA %#x: %v: %w", size, rva, c.Error, ErrMalformed)
	}
	v.Path = string(name(b[c.Off:]))
	return v, nil
}
