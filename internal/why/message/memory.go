package message

import (
	"path"
	"strings"
	"unicode/utf8"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on what is read from a dump, in bytes.
const (
	maxMessage = 4096
	maxName    = 4096 // of a type's name
)

// cstring reads text that ends in a NUL and cuts it after limit bytes. It returns false if the memory ends
// before the text does.
func (p *Process) cstring(addr arch.Address, limit int) (string, bool) {
	text, ended := p.CString(addr, limit)
	switch {
	case ended:
		return clean(text), true
	case addr == 0 || len(text) < limit:
		return "", false
	}
	return clean(text) + "...", true
}

// text reads n bytes of text. It returns false if they cannot all be read, or are too many for a message. Text
// longer than a message is cut.
func (p *Process) text(addr arch.Address, n uint64) (string, bool) {
	const most = 1 << 30
	if n > most || n > 0 && addr == 0 {
		return "", false
	}
	b := p.Bytes(addr, int(min(n, maxMessage)))
	if b == nil {
		return "", false
	}
	s := clean(b)
	if n > maxMessage {
		s += "..."
	}
	return s, true
}

// strictText is text that must be valid UTF-8 without control characters other than tabs and newlines.
func (p *Process) strictText(addr arch.Address, n uint64) (string, bool) {
	s, ok := p.text(addr, n)
	if !ok || strings.ContainsRune(s, utf8.RuneError) || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return "", false
	}
	return s, true
}

// clean replaces invalid UTF-8, and drops a character that was cut at the end.
func clean(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// in names a library as the source of a message: "name in libc.so.6".
func in(what string, lib *libstate.Library) string {
	if lib == nil || lib.Path == "" {
		return what
	}
	return what + " in " + path.Base(strings.ReplaceAll(lib.Path, `\`, "/"))
}
