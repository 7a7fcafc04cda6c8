package dwarfvars

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/unwind/arch"
)

// charPrefix is what C writes before a literal of the type.
func charPrefix(t *Type) string {
	switch {
	case t.name == "wchar_t":
		return "L"
	case t.size == 2:
		return "u"
	case t.size == 4 && t.enc == encUTF && t.name != "char" && !strings.HasSuffix(t.name, "char8_t"):
		if t.name == "char32_t" {
			return "U"
		}
	}
	return ""
}

// charText is a character as a literal: 'a', '\n', '\000'.
func charText(t *Type, v uint64) string {
	var b strings.Builder
	b.WriteString(charPrefix(t))
	b.WriteByte('\'')
	if t.size == 1 {
		v &= 0xff
	}
	escape(&b, v, t.size, '\'')
	b.WriteByte('\'')
	return b.String()
}

// escape writes one character of a literal that stands in quotes.
func escape(b *strings.Builder, v, size uint64, quote byte) {
	switch v {
	case '\n':
		b.WriteString(`\n`)
	case '\t':
		b.WriteString(`\t`)
	case '\r':
		b.WriteString(`\r`)
	case '\a':
		b.WriteString(`\a`)
	case '\b':
		b.WriteString(`\b`)
	case '\f':
		b.WriteString(`\f`)
	case '\v':
		b.WriteString(`\v`)
	case 033:
		b.WriteString(`\033`)
	case '\\':
		b.WriteString(`\\`)
	case uint64(quote):
		b.WriteByte('\\')
		b.WriteByte(quote)
	default:
		switch {
		case v >= 0x20 && v < 0x7f:
			b.WriteByte(byte(v))
		case size > 1 && v <= unicode.MaxRune && unicode.IsPrint(rune(v)):
			b.WriteRune(rune(v))
		case size > 1 && v > 0xff:
			fmt.Fprintf(b, `\x%x`, v)
		default:
			fmt.Fprintf(b, `\%03o`, v&0xff)
		}
	}
}

// stringText is a literal of the bytes of a string; cut adds the dots of one that
// goes on.
func stringText(t *Type, raw []byte, big, cut bool) string {
	var b strings.Builder
	if t != nil {
		b.WriteString(charPrefix(t))
	}
	b.WriteByte('"')
	size := 1
	if t != nil && t.size > 1 {
		size = int(t.size)
	}
	if size == 1 {
		for i := 0; i < len(raw); {
			r, n := utf8.DecodeRune(raw[i:])
			if r >= utf8.RuneSelf && r != utf8.RuneError && unicode.IsPrint(r) {
				b.WriteRune(r)
			} else {
				n = 1
				escape(&b, uint64(raw[i]), 1, '"')
			}
			i += n
		}
	} else {
		for i := 0; i+size <= len(raw); i += size {
			v := decodeUint(raw[i:i+size], big)
			if size == 2 && v >= 0xd800 && v < 0xdc00 && i+4 <= len(raw) {
				if low := decodeUint(raw[i+2:i+4], big); low >= 0xdc00 && low < 0xe000 {
					v = 0x10000 + (v-0xd800)<<10 + low - 0xdc00
					i += 2
				}
			}
			escape(&b, v, uint64(size), '"')
		}
	}
	b.WriteByte('"')
	if cut {
		b.WriteString("...")
	}
	return b.String()
}

// cString reads a string that ends with a zero: as many characters as may be
// shown. cut says that it goes on.
func (b *builder) cString(addr arch.Address, size uint64) (raw []byte, cut bool, err error) {
	limit := uint64(b.opts.MaxString) * size
	const step = 64
	for uint64(len(raw)) < limit+size {
		chunk := make([]byte, step)
		at := addr + uint64(len(raw))
		n, rerr := b.r.proc.ReadMem(at, chunk)
		n -= n % int(size)
		for i := 0; i+int(size) <= n; i += int(size) {
			if decodeUint(chunk[i:i+int(size)], false) == 0 {
				raw = append(raw, chunk[:i]...)
				if uint64(len(raw)) > limit {
					return raw[:limit], true, nil
				}
				return raw, false, nil
			}
		}
		raw = append(raw, chunk[:n]...)
		if rerr != nil {
			if len(raw) == 0 {
				return nil, false, b.r.read(at, chunk[:size])
			}
			return raw[:min(uint64(len(raw)), limit)], true, nil
		}
	}
	return raw[:limit], true, nil
}
