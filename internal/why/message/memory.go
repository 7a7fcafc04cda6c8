package message

import (
	"bytes"
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

// word reads a word of the process's memory; 0 and false if it cannot be read.
func (p *Process) word(addr arch.Address) (uint64, bool) {
	v, err := p.Mem.ReadWord(p.Arch.Truncate(addr))
	return v, err == nil
}

// words reads n words from addr on; false if any of them cannot be read.
func (p *Process) words(addr arch.Address, n int) ([]uint64, bool) {
	out := make([]uint64, n)
	for i := range out {
		v, ok := p.word(addr + uint64(i*p.Arch.WordSize))
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// uint reads an unsigned integer of size bytes.
func (p *Process) uint(addr arch.Address, size int) (uint64, bool) {
	v, err := p.Arch.ReadUint(p.Mem, p.Arch.Truncate(addr), size)
	return v, err == nil
}

// bytes reads n bytes, or as many of them as can be read.
func (p *Process) bytes(addr arch.Address, n int) []byte {
	b := make([]byte, n)
	n, _ = p.Mem.ReadMem(addr, b)
	return b[:max(min(n, len(b)), 0)]
}

// cstring reads text that ends in a NUL and cuts it after limit bytes. It returns false if the memory ends
// before the text does.
func (p *Process) cstring(addr arch.Address, limit int) (string, bool) {
	if addr == 0 {
		return "", false
	}
	var out []byte
	for len(out) < limit {
		const piece = 256
		b := p.bytes(addr+uint64(len(out)), min(piece, limit-len(out)))
		if end := bytes.IndexByte(b, 0); end >= 0 {
			return clean(append(out, b[:end]...)), true
		}
		if len(b) == 0 {
			return "", false
		}
		out = append(out, b...)
	}
	return clean(out) + "...", true
}

// text reads n bytes of text. It returns false if they cannot all be read, or are too many for a message. Text
// longer than a message is cut.
func (p *Process) text(addr arch.Address, n uint64) (string, bool) {
	const most = 1 << 30
	if n > most || n > 0 && addr == 0 {
		return "", false
	}
	b := p.bytes(addr, int(min(n, maxMessage)))
	if uint64(len(b)) < min(n, maxMessage) {
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
