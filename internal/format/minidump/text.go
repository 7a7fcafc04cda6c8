package minidump

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxString limits one string, in bytes of UTF-16, to twice the maximum length of a Windows
// path.
const maxString = 128 << 10

// spend takes n bytes from the total that may be decoded of strings: many entries may refer
// to the same long string.
func (f *File) spend(n int) bool {
	if f.strMax < 0 {
		return false
	}
	const each = 16 // empty strings cost something, too
	if f.strMax -= n + each; f.strMax < 0 {
		f.warnf("strings overlap too much: strings after the first %d bytes are omitted", 1<<20+4*len(f.Data))
		return false
	}
	return true
}

// stringAt decodes a MINIDUMP_STRING: its length in bytes, then UTF-16. Invalid UTF-16
// becomes U+FFFD. It returns false if off is not in the file.
func (f *File) stringAt(off uint64) (string, bool) {
	head := f.clip(off, 4)
	if off == 0 || len(head) < 4 {
		return "", false
	}
	c := f.cursor(head)
	size := uint64(c.U32())
	b := f.clip(off+4, min(size, maxString))
	if uint64(len(b)) < size {
		f.warnf("string at offset %#x has %d bytes: only %d read", off, size, len(b))
	}
	if !f.spend(len(b)) {
		return "", false
	}
	return f.utf16(b), true
}

// utf16 decodes text up to a NUL, or all of it.
func (f *File) utf16(b []byte) string {
	units := make([]uint16, 0, len(b)/2)
	c := f.cursor(b)
	for c.Len() >= 2 {
		u := c.U16()
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}

// utf8At decodes a Crashpad string: its length in bytes, then UTF-8.
func (f *File) utf8At(off uint64) (string, bool) {
	b, ok := f.blobAt(off)
	if !ok {
		return "", false
	}
	return cleanUTF8(b), true
}

// blobAt returns a Crashpad byte array, which follows its length.
func (f *File) blobAt(off uint64) ([]byte, bool) {
	head := f.clip(off, 4)
	if off == 0 || len(head) < 4 {
		return nil, false
	}
	c := f.cursor(head)
	size := uint64(c.U32())
	b := f.clip(off+4, min(size, maxString))
	if uint64(len(b)) < size {
		f.warnf("bytes at offset %#x: only %d of %d read", off, len(b), size)
	}
	return b, f.spend(len(b))
}

func cleanUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

// cstring returns the text up to the first NUL.
func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return cleanUTF8(b)
}
