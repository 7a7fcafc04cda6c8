// Package remotetest has what tests of the runtimes share that describe themselves in the memory of their process: memory of words, and kept dumps
// whose words are changed.
package remotetest

import (
	"encoding/binary"
	"errors"

	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Words is the memory of a process with little-endian words, by the addresses of the words that are there.
type Words map[uint64]uint64

// ReadMem implements arch.Memory.
func (m Words) ReadMem(at arch.Address, b []byte) (int, error) {
	for i := range b {
		a := at + uint64(i)
		w, ok := m[a&^7]
		if !ok {
			return i, errors.New("not there")
		}
		b[i] = byte(w >> (8 * (a & 7)))
	}
	return len(b), nil
}

// ReadWord implements arch.Memory.
func (m Words) ReadWord(at arch.Address) (uint64, error) { return readWord(m, at) }

func readWord(m interface {
	ReadMem(at arch.Address, b []byte) (int, error)
}, at arch.Address) (uint64, error) {
	var b [8]byte
	_, err := m.ReadMem(at, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// Put writes bytes. Words of which they are a part, and that are not there, have zeros beside them.
func (m Words) Put(at uint64, b ...byte) {
	for i, c := range b {
		a := at + uint64(i)
		shift := 8 * (a & 7)
		m[a&^7] = m[a&^7]&^(0xff<<shift) | uint64(c)<<shift
	}
}

// Put32 writes 32 bits.
func (m Words) Put32(at uint64, v uint32) { m.Put(at, binary.LittleEndian.AppendUint32(nil, v)...) }

// Zero writes words of zeros over n bytes.
func (m Words) Zero(at, n uint64) {
	for i := uint64(0); i < n; i += 8 {
		m[at+i] = 0
	}
}

// Full is a memory that has zeros where its Words have nothing.
type Full struct{ Words }

// ReadMem implements arch.Memory.
func (m Full) ReadMem(at arch.Address, b []byte) (int, error) {
	for i := range b {
		a := at + uint64(i)
		b[i] = byte(m.Words[a&^7] >> (8 * (a & 7)))
	}
	return len(b), nil
}

// ReadWord implements arch.Memory.
func (m Full) ReadWord(at arch.Address) (uint64, error) { return readWord(m, at) }

// words calls do with the address of each word that n bytes from at on touch. It ends at the last address of the memory, too.
func words(at, n uint64, do func(at uint64)) {
	if n == 0 {
		return
	}
	for w, count := at&^7, (at&7+n+7)/8; count > 0; w, count = w+8, count-1 {
		do(w)
	}
}

// changed is a process some of whose words are others.
type changed struct {
	unwind.ProcessState
	to Words
}

func (c *changed) ReadMem(at arch.Address, b []byte) (int, error) {
	n, err := c.ProcessState.ReadMem(at, b)
	words(at, uint64(max(n, 0)), func(w uint64) {
		v, ok := c.to[w]
		if !ok {
			return
		}
		for i := range uint64(8) {
			if k := w + i - at; k < uint64(n) {
				b[k] = byte(v >> (8 * i))
			}
		}
	})
	return n, err
}

func (c *changed) ReadWord(at arch.Address) (uint64, error) { return readWord(c, at) }

// Asked is a process that notes which of its words are read.
type Asked struct {
	unwind.ProcessState
	Most  int // bytes of each read that are noted; 0 for all
	Words []uint64
	seen  map[uint64]bool
}

func (a *Asked) note(at uint64, n int) {
	if a.Most > 0 {
		n = min(n, a.Most)
	}
	if a.seen == nil {
		a.seen = map[uint64]bool{}
	}
	words(at, uint64(n), func(w uint64) {
		if !a.seen[w] {
			a.seen[w] = true
			a.Words = append(a.Words, w)
		}
	})
}

// Has reports whether a word was read.
func (a *Asked) Has(at uint64) bool { return a.seen[at] }

// ReadMem implements arch.Memory.
func (a *Asked) ReadMem(at arch.Address, b []byte) (int, error) {
	a.note(at, len(b))
	return a.ProcessState.ReadMem(at, b)
}

// ReadWord implements arch.Memory.
func (a *Asked) ReadWord(at arch.Address) (uint64, error) {
	a.note(at, 8)
	return a.ProcessState.ReadWord(at)
}

// Where an endless process has memory that it does not have, and how much of each kind.
const (
	endlessAt   = 0x3f0000000000
	endlessSize = 1 << 36
)

// The kinds of it: words that lead to the next one, words that lead to the first, the largest numbers, letters, and ones.
const (
	endlessRamp = iota
	endlessRing
	endlessOnes
	endlessText
	endlessFew
	endlessKinds
)

// endless is a process that has memory in which lists, texts and sizes have no end. A dump has such memory if its segments share bytes.
type endless struct{ unwind.ProcessState }

// endlessPlace is an address in the memory of a kind.
func endlessPlace(kind uint64) uint64 { return endlessAt + kind*endlessSize }

func (e *endless) ReadMem(at arch.Address, b []byte) (int, error) {
	if at-endlessAt >= endlessKinds*endlessSize || uint64(len(b)) > endlessSize {
		return e.ProcessState.ReadMem(at, b)
	}
	kind := (at - endlessAt) / endlessSize
	word := uint64(1)
	switch kind {
	case endlessRing:
		word = endlessPlace(kind)
	case endlessOnes:
		word = ^uint64(0)
	case endlessText:
		word = 0x6867666564636261
	}
	for i := range b {
		a := at + uint64(i)
		if kind == endlessRamp {
			word = a&^7 + 8
		}
		b[i] = byte(word >> (8 * (a & 7)))
	}
	return len(b), nil
}

func (e *endless) ReadWord(at arch.Address) (uint64, error) {
	if at-endlessAt >= endlessKinds*endlessSize {
		return e.ProcessState.ReadWord(at)
	}
	return readWord(e, at)
}
