package hotspot

import (
	"encoding/binary"
	"sync"

	"github.com/corewalk/corewalk/unwind/arch"
)

// maxText is the most bytes of a name that are read.
const maxText = 1024

// memory reads little-endian values of a 64-bit process.
type memory struct {
	arch.Memory
}

func (m memory) bytes(at uint64, n int) []byte {
	b := make([]byte, n)
	if got, err := m.ReadMem(at, b); err != nil || got < n {
		return nil
	}
	return b
}

// word is a pointer; 0 if it cannot be read.
func (m memory) word(at uint64) uint64 {
	var b [8]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (m memory) u32(at uint64) (uint32, bool) {
	var b [4]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[:]), true
}

func (m memory) u16(at uint64) (uint16, bool) {
	var b [2]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 2 {
		return 0, false
	}
	return binary.LittleEndian.Uint16(b[:]), true
}

func (m memory) u8(at uint64) (byte, bool) {
	var b [1]byte
	if n, err := m.ReadMem(at, b[:]); err != nil || n < 1 {
		return 0, false
	}
	return b[0], true
}

// text reads a string that a zero byte ends, of at most maxText bytes; false if there is none.
func (m memory) text(at uint64) (string, bool) {
	if at == 0 {
		return "", false
	}
	var out []byte
	var b [64]byte
	for len(out) < maxText {
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

// bounded is a map that several goroutines use, and that never grows beyond a number of entries.
type bounded[V any] struct {
	mu sync.Mutex
	m  map[uint64]V
}

// maxKept bounds what is kept of each kind of object.
const maxKept = 1 << 16

func (k *bounded[V]) get(at uint64, compute func() V) V {
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
