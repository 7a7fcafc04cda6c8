package message

import (
	"bytes"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
)

// A text that a program composed has parts that its author wrote and values that differ from run to run. The author's parts are
// constants of the program: strings that end in a NUL or, in a format, at the place of a value. They are read from the program's files: a core
// need not have them, and what reads all of them from the process would count as read by the report.

// Placeholder stands for each value in a template.
const Placeholder = "…"

// Limits on the search for constants, in bytes.
const (
	maxConstants = 8 << 20 // of constants that are searched
	maxTemplate  = 256     // of a text
	leastPart    = 3       // of a part
)

// template returns a text with a Placeholder in the place of what is in no constant of the libraries on the stack; "" if no constant is in it.
func (p *Process) template(text string) string {
	if text == "" || len(text) > maxTemplate || p.Constants == nil {
		return ""
	}
	parts := make(map[string]bool)
	left := maxConstants
	for _, lib := range p.libraries() {
		if runtimeLibrary(find.BaseName(lib.Path)) {
			continue
		}
		for _, data := range p.Constants(lib) {
			data = data[:min(len(data), left)]
			left -= len(data)
			for len(data) > 0 {
				s, rest, _ := bytes.Cut(data, []byte{0})
				addParts(s, text, parts)
				data = rest
			}
		}
	}
	return compose(text, parts)
}

// addParts adds the parts of a constant that are in the text: what stands between the places of values, if it is a format.
func addParts(s []byte, text string, parts map[string]bool) {
	if len(s) < leastPart || len(s) > 4*maxTemplate || bytes.IndexByte(s, ' ') < 0 {
		return
	}
	for {
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
		closing := "diouxXeEfFgGaAcspn%"
		if s[end] == '{' {
			closing = "}"
		}
		s = s[end+1:]
		to := bytes.IndexAny(s, closing)
		if to < 0 {
			return
		}
		s = s[to+1:]
	}
}

// written reports whether a part is an author's words, not a word that a value may be, too.
func written(part []byte) bool {
	return len(part) >= leastPart && bytes.IndexByte(part, ' ') >= 0 &&
		bytes.IndexFunc(part, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' || r > 0x7f }) >= 0
}

// compose puts a Placeholder in the place of what is in none of the parts, longer ones first; "" if none is in the text.
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
			from = at + len(part)
			if slices.Contains(known[at:from], true) {
				continue
			}
			for i := at; i < from; i++ {
				known[i] = true
			}
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
			b.WriteString(Placeholder)
		}
	}
	return b.String()
}
