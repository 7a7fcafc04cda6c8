package message

import (
	"bytes"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// A text that a program composed has parts that its author wrote and values that differ from run to run. The author's parts are
// constants of the program: strings that end in a NUL, or in the place of a value if they are formats. A text is known to be composed of those that it has.

// Value stands for each value in a template.
const Value = "…"

// Limits on the search for constants, in bytes.
const (
	maxConstants = 8 << 20 // of read-only memory that is searched
	maxTemplate  = 256     // of a text
	leastPart    = 3       // of a part
	stretch      = 64 << 10
)

// template returns a text with a Value in the place of what is in no constant of the libraries on the stack; "" if no constant is in it.
func (p *Process) template(text string) string {
	if text == "" || len(text) > maxTemplate || p.LibraryAt == nil {
		return ""
	}
	parts := make(map[string]bool)
	left := uint64(maxConstants)
	for _, lib := range p.libraries() {
		if name := find.BaseName(lib.Path); cLibrary(name) || strings.HasPrefix(name, "libstdc++") || strings.HasPrefix(name, "libc++") || strings.HasPrefix(name, "libgcc_s") {
			continue
		}
		for i := range lib.Mappings {
			if m := &lib.Mappings[i]; m.Perm&(libstate.Write|libstate.Exec|libstate.Unknown) == 0 {
				n := min(m.End-m.Start, left)
				p.constants(m.Start, m.Start+n, text, parts)
				left -= n
			}
		}
	}
	return compose(text, parts)
}

// constants adds the parts of a text that are constants in [from, to).
func (p *Process) constants(from, to arch.Address, text string, parts map[string]bool) {
	longest := len(text) + stretch/2
	var rest []byte // of a string whose end was not read yet
	for at := from; at < to; at += stretch {
		b := p.bytes(at, int(min(stretch, to-at)))
		for len(b) > 0 {
			end := bytes.IndexByte(b, 0)
			if end < 0 {
				if rest = append(rest, b...); len(rest) > longest {
					rest = rest[:0]
				}
				break
			}
			s := b[:end]
			if len(rest) > 0 {
				s = append(rest, s...)
				rest = rest[:0]
			}
			addParts(s, text, parts)
			b = b[end+1:]
		}
	}
}

// addParts adds the parts of a constant that are in the text: what stands between the places of values, if it is a format.
func addParts(s []byte, text string, parts map[string]bool) {
	if len(s) < leastPart || bytes.IndexByte(s, ' ') < 0 || len(s) > 4*maxTemplate {
		return
	}
	for len(s) > 0 {
		end := bytes.IndexAny(s, "%{")
		part := s
		if end >= 0 {
			part = s[:end]
		}
		if written(part) && strings.Contains(text, string(part)) {
			parts[string(part)] = true
		}
		if end < 0 {
			return
		}
		closing, ends := "diouxXeEfFgGaAcspn%", s[end+1:]
		if s[end] == '{' {
			closing = "}"
		}
		to := bytes.IndexAny(ends, closing)
		if to < 0 {
			return
		}
		s = ends[to+1:]
	}
}

// written reports whether a part is an author's words, not a word that a value may be, too.
func written(part []byte) bool {
	return len(part) >= leastPart && bytes.IndexByte(part, ' ') >= 0 &&
		bytes.IndexFunc(part, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r > 0x7f }) >= 0
}

// compose puts a Value in the place of what is in none of the parts, longer ones first; "" if none is in the text.
func compose(text string, parts map[string]bool) string {
	list := make([]string, 0, len(parts))
	for s := range parts {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	known := make([]bool, len(text))
	for _, part := range list {
		for from := 0; ; {
			at := strings.Index(text[from:], part)
			if at < 0 {
				break
			}
			at += from
			if !slices.Contains(known[at:at+len(part)], true) {
				for i := range part {
					known[at+i] = true
				}
			}
			from = at + len(part)
		}
	}
	if !slices.Contains(known, true) {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && known[i] == known[from] {
			i++
		}
		if known[from] {
			b.WriteString(text[from:i])
		} else {
			b.WriteString(Value)
		}
	}
	return b.String()
}
