package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"runtime/coverage"
)

// A trail remembers which parts of the program ran, and roughly how often in one input. It needs
// a program built with -cover -covermode=atomic.
type trail struct {
	seen []uint64 // a bit for a hash of function, part and magnitude
	bits int
	buf  bytes.Buffer
}

const trailBits = 22

func newTrail() *trail {
	if coverage.ClearCounters() != nil {
		return nil
	}
	return &trail{seen: make([]uint64, 1<<trailBits/64)}
}

func (t *trail) start() { coverage.ClearCounters() }

// fresh returns how many parts ran for the first time, or more often than before.
func (t *trail) fresh() (int, error) {
	t.buf.Reset()
	if err := coverage.WriteCounters(&t.buf); err != nil {
		return 0, err
	}
	n := 0
	err := counters(t.buf.Bytes(), func(pkg, fn, part int, count uint64) {
		h := uint64(pkg)*0x9e3779b97f4a7c15 ^ uint64(fn)*0xc2b2ae3d27d4eb4f ^ uint64(part)*0x165667b19e3779f9 ^ uint64(magnitude(count))*0x27d4eb2f165667c5
		h ^= h >> 29
		h *= 0xbf58476d1ce4e5b9
		h >>= 64 - trailBits
		if t.seen[h/64]>>(h%64)&1 == 0 {
			t.seen[h/64] |= 1 << (h % 64)
			n++
		}
	})
	t.bits += n
	return n, err
}

// magnitude is 1, 2, 3, and the power of four above.
func magnitude(n uint64) int {
	if n < 4 {
		return int(n)
	}
	return 4 + (bits.Len64(n)-3)/2
}

var errCounters = errors.New("the runtime writes its counters in another format")

// counters reads what coverage.WriteCounters writes: a header of 32 bytes; one of the segment, with
// the number of functions and the sizes of two tables; these; for each function three LEB128 numbers,
// how many counters it has, its package and itself, and the counters.
func counters(b []byte, visit func(pkg, fn, part int, count uint64)) error {
	const head, segment, foot = 32, 16, 16
	if len(b) < head+segment+foot || !bytes.HasPrefix(b, []byte("\x00cwm")) || b[24] != 2 {
		return errCounters
	}
	functions := binary.LittleEndian.Uint64(b[head:])
	skip := int(binary.LittleEndian.Uint32(b[head+8:])) + int(binary.LittleEndian.Uint32(b[head+12:]))
	at := (head + segment + skip + 3) &^ 3
	next := func() uint64 {
		v, n := binary.Uvarint(b[min(at, len(b)):])
		if n <= 0 {
			at = len(b) + 1
			return 0
		}
		at += n
		return v
	}
	for range functions {
		parts, pkg, fn := next(), next(), next()
		for i := range parts {
			if c := next(); c != 0 {
				visit(int(pkg), int(fn), int(i), c)
			}
			if at > len(b) {
				return errCounters
			}
		}
	}
	if at > len(b)-foot {
		return errCounters
	}
	return nil
}
