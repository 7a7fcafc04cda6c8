package steppers

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/unwind/arch"
)

// maxCode is the most bytes of code that readCode reads.
const maxCode = 24

// readCode reads n bytes of code from addr; n is at least a word. It reads words, so
// that nothing escapes to the heap, and only words wholly in [addr, addr+n).
func readCode(mem arch.Memory, a *arch.Arch, addr arch.Address, n int) (code [maxCode]byte, err error) {
	word := a.WordSize
	for i := 0; i < n; i += word {
		at := min(i, n-word)
		v, err := mem.ReadWord(addr + uint64(at))
		if err != nil {
			return code, err
		}
		putWord(a, code[at:], v)
	}
	return code, nil
}

// putWord stores a word as it is in memory. The byte orders are named, because a call
// through the interface in arch.Arch would make b escape to the heap.
func putWord(a *arch.Arch, b []byte, v uint64) {
	switch {
	case a.WordSize == 4 && a.Big():
		binary.BigEndian.PutUint32(b, uint32(v))
	case a.WordSize == 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	case a.Big():
		binary.BigEndian.PutUint64(b, v)
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}

// A codePattern is a sequence of code bytes to recognise.
type codePattern []byte

// codeWords returns the pattern of instructions of four bytes each.
func codeWords(a *arch.Arch, words ...uint32) codePattern {
	var p codePattern
	for _, w := range words {
		if a.Big() {
			p = binary.BigEndian.AppendUint32(p, w)
		} else {
			p = binary.LittleEndian.AppendUint32(p, w)
		}
	}
	return p
}

// at reports whether the code at addr is p. The first word read nearly always decides.
// A pattern shorter than a word is read with the bytes after it, or with those before
// it if there are none after.
func (p codePattern) at(mem arch.Memory, a *arch.Arch, addr arch.Address) (bool, error) {
	word := a.WordSize
	var buf [8]byte
	for i := 0; i < len(p); i += word {
		at := max(min(i, len(p)-word), 0)
		v, err := mem.ReadWord(addr + uint64(at))
		if err != nil && len(p) < word {
			back := uint64(word - len(p))
			if v, err = mem.ReadWord(addr - back); err == nil {
				putWord(a, buf[:], v)
				return string(buf[back:word]) == string(p), nil
			}
		}
		if err != nil {
			return false, err
		}
		putWord(a, buf[:], v)
		if want := p[at:min(at+word, len(p))]; string(buf[:len(want)]) != string(want) {
			return false, nil
		}
	}
	return true, nil
}

// A glance is the first word of some code, read once. It rules out nearly every
// pattern.
type glance struct {
	code [8]byte
	n    int
}

// glanceAt reads the code at addr; false if it cannot be read.
func glanceAt(mem arch.Memory, a *arch.Arch, addr arch.Address) (g glance, ok bool) {
	v, err := mem.ReadWord(addr)
	if err != nil {
		return g, false
	}
	putWord(a, g.code[:], v)
	g.n = a.WordSize
	return g, true
}

// mayBe reports whether p can begin skip bytes into the code glanced at.
func (g *glance) mayBe(p codePattern, skip int) bool {
	n := min(len(p), g.n-skip)
	return string(g.code[skip:skip+n]) == string(p[:n])
}
