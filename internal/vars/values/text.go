package values

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/unwind/arch"
)

// charPrefix returns what C writes before a literal of the type.
func charPrefix(t *types.Type) string {
	switch t.CharName() {
	case "wchar_t":
		return "L"
	case "char16_t":
		return "u"
	case "char32_t":
		return "U"
	}
	return ""
}

// charText returns a character as a literal: 'a', '\n', '\000'.
func charText(t *types.Type, v uint64) string {
	var b strings.Builder
	b.WriteString(charPrefix(t))
	b.WriteByte('\'')
	size := t.Strip().ByteSize
	escape(&b, types.Resize(v, int(size), false), size, '\'')
	b.WriteByte('\'')
	return b.String()
}

// escape writes one character of a literal.
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

// A literal collects the characters of a string. It writes a long run of one character by itself:
// "ab", '\000' <repeats 12 times>, "c".
type literal struct {
	b      strings.Builder
	prefix string
	quoted bool // a quote is open
	some   bool
}

// minCharRun is the least length of such a run.
const minCharRun = 11

func (l *literal) char(v, size uint64) {
	l.open()
	escape(&l.b, v, size, '"')
}

func (l *literal) open() {
	if !l.quoted {
		l.sep()
		l.b.WriteString(l.prefix + `"`)
		l.quoted = true
	}
}

func (l *literal) close() {
	if l.quoted {
		l.b.WriteByte('"')
		l.quoted = false
	}
}

func (l *literal) sep() {
	if l.some {
		l.b.WriteString(", ")
	}
	l.some = true
}

func (l *literal) run(v, size uint64, n int) {
	l.close()
	l.sep()
	l.b.WriteString(l.prefix + "'")
	escape(&l.b, v, size, '\'')
	fmt.Fprintf(&l.b, "' <repeats %d times>", n)
}

// stringText returns the bytes of a string as a literal, with dots at the end if the string was
// cut. If t is nil, each character is a byte.
func stringText(t *types.Type, raw []byte, big, cut bool) string {
	var l literal
	size := 1
	if t != nil {
		l.prefix = charPrefix(t)
		size = max(int(t.Strip().ByteSize), 1)
	}
	for i := 0; i+size <= len(raw); {
		v := types.Uint(raw[i:i+size], big)
		n := 1
		for end := i + (n+1)*size; end <= len(raw) && types.Uint(raw[end-size:end], big) == v; end += size {
			n++
		}
		switch {
		case n >= minCharRun:
			l.run(v, uint64(size), n)
			i += n * size
		case size == 1 && v >= utf8.RuneSelf:
			i += l.rune(raw[i:])
		case size == 2 && v >= 0xd800 && v < 0xdc00 && i+4 <= len(raw):
			if low := types.Uint(raw[i+2:i+4], big); low >= 0xdc00 && low < 0xe000 {
				v = 0x10000 + (v-0xd800)<<10 + low - 0xdc00
				i += 2
			}
			l.char(v, 4)
			i += 2
		default:
			l.char(v, uint64(size))
			i += size
		}
	}
	if !l.some {
		l.open()
	}
	l.close()
	if cut {
		l.b.WriteString("...")
	}
	return l.b.String()
}

// stringValue returns the value of a string. cut says that the string goes on after raw.
func (b *builder) stringValue(o *Object, t *types.Type, raw []byte, cut bool) *Value {
	v := b.text(o, stringText(t, raw, b.p.Arch.Big(), cut))
	v.More = cut
	return b.spelled(v, t, raw, cut)
}

// rune writes the UTF-8 character at the start of raw, or the first byte if that is not UTF-8. It
// returns how many bytes it wrote.
func (l *literal) rune(raw []byte) int {
	r, n := utf8.DecodeRune(raw)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		l.char(uint64(raw[0]), 1)
		return 1
	}
	l.open()
	l.b.WriteRune(r)
	return n
}

// cString reads a string that ends with a zero, up to the largest number of characters to show.
// cut says that the string goes on.
func (b *builder) cString(addr arch.Address, size uint64) (raw []byte, cut bool, err error) {
	limit := uint64(b.opts.MaxString) * size
	const step = 64
	for uint64(len(raw)) < limit+size {
		chunk := make([]byte, step)
		at := addr + uint64(len(raw))
		n, rerr := b.p.Memory.ReadMem(at, chunk)
		n -= n % int(size)
		for i := 0; i+int(size) <= n; i += int(size) {
			if types.Uint(chunk[i:i+int(size)], false) == 0 {
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
				return nil, false, b.p.Read(at, chunk[:size])
			}
			return raw[:min(uint64(len(raw)), limit)], true, nil
		}
	}
	return raw[:limit], true, nil
}
