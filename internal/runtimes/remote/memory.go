// Package remote reads the memory of a 64-bit little-endian process, for runtimes that describe themselves there, and has what the texts of
// their values share.
package remote

import (
	"encoding/binary"
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// MaxText is the most bytes of a name that are read.
const MaxText = 1024

// A Memory reads little-endian values of a 64-bit process.
type Memory struct {
	arch.Memory
}

// Bytes reads n bytes; nil if not all of them are there.
func (m Memory) Bytes(at uint64, n int) []byte {
	b := make([]byte, n)
	if got, err := m.ReadMem(at, b); err != nil || got < n {
		return nil
	}
	return b
}

// Word is a pointer; 0 if it cannot be read.
func (m Memory) Word(at uint64) uint64 {
	var b [8]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

// U32 reads 32 bits.
func (m Memory) U32(at uint64) (uint32, bool) {
	var b [4]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[:]), true
}

// U16 reads 16 bits.
func (m Memory) U16(at uint64) (uint16, bool) {
	var b [2]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 2 {
		return 0, false
	}
	return binary.LittleEndian.Uint16(b[:]), true
}

// U8 reads 8 bits.
func (m Memory) U8(at uint64) (byte, bool) {
	var b [1]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 1 {
		return 0, false
	}
	return b[0], true
}

// Text reads a string that a zero byte ends, of at most MaxText bytes; false if there is none.
func (m Memory) Text(at uint64) (string, bool) {
	if at == 0 {
		return "", false
	}
	var out []byte
	var b [64]byte
	for len(out) < MaxText {
		n, _ := m.ReadMem(at, b[:64-at%64]) // never across the end of a page
		if n == 0 {
			return "", false
		}
		for _, c := range b[:n] {
			if c == 0 {
				return string(out), true
			}
			out = append(out, c)
		}
		at += uint64(n)
	}
	return "", false
}

// A Kept is a map that several goroutines use, and that never grows beyond a number of entries.
type Kept[V any] struct {
	mu sync.Mutex
	m  map[uint64]V
}

// maxKept bounds what is kept of each kind of object.
const maxKept = 1 << 16

// Get returns the value of a key, and computes it if it is not kept.
func (k *Kept[V]) Get(at uint64, compute func() V) V {
	k.mu.Lock()
	v, ok := k.m[at]
	k.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil || len(k.m) >= maxKept {
		k.m = map[uint64]V{}
	}
	k.m[at] = v
	return v
}
