package minidump

import (
	"bytes"
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
		f.warnf("strings overlap too much: strings after the first %d bytes are omitted", 1<<20+2*len(f.Data))
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
	s := f.utf16(b)
	return s, f.spend(hidden([]byte(s)))
}

// hidden returns how much more a text takes where it is shown than it has bytes, of which some are escaped: \u0001, or \\x80.
func hidden(b []byte) (n int) {
	const more = 5
	valid := utf8.Valid(b)
	for _, c := range b {
		if c < ' ' || c >= utf8.RuneSelf && !valid {
			n += more
		}
	}
	return n
}

// utf16 decodes text up to a NUL, or all of it. A surrogate without its other half, which Windows allows in names, has
// three bytes that are not UTF-8 (ED A0 80), so that whoever prints it can tell it from other text.
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
	text := make([]byte, 0, len(units))
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) {
			next := rune(0)
			if i+1 < len(units) {
				next = rune(units[i+1])
			}
			if both := utf16.DecodeRune(r, next); both != utf8.RuneError {
				r = both
				i++
			} else {
				text = append(text, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
				continue
			}
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text)
}

// utf8At reads a Crashpad string: its length in bytes, then what should be UTF-8; it stays what it is.
func (f *File) utf8At(off uint64) (string, bool) {
	b, ok := f.blobAt(off)
	if !ok {
		return "", false
	}
	return string(b), true
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
	return b, f.spend(len(b) + hidden(b))
}

// cstring returns the text up to the first NUL.
func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
