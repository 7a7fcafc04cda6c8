package decompress

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zlib"
)

// lazyStep is how much more than requested a Lazy decompresses, in bytes: each request
// costs a lock.
const lazyStep = 8 << 10

// A Lazy is an ELF section that is decompressed from its start only as far as needed.
// Usually only a small part of debug information is read: a distribution's libc has 6 MB of
// it, of which a stack needs the first 10 kB.
//
// It is safe for concurrent use.
type Lazy struct {
	data   []byte // the whole section; bytes from filled on are still zero
	filled atomic.Uint64

	mu     sync.Mutex
	z      *inflater // of MethodZlib; the others have r
	r      io.Reader
	close  func()
	method Method
	err    error // sticky
}

// NewLazy prepares a section whose header gives size as its decompressed size in bytes. The
// error is ErrTooLarge if that is more than limit. If the size is implausible for the
// amount of compressed data, it is checked immediately by decompressing everything, into
// memory that grows as it fills.
func NewLazy(method Method, src []byte, size, limit uint64) (*Lazy, error) {
	if size > limit || int64(size) < 0 || uint64(int(size)) != size {
		return nil, fmt.Errorf("section has %d bytes, limit is %d: %w", size, limit, ErrTooLarge)
	}
	l := &Lazy{method: method}
	switch method {
	case MethodZlib:
		if size/maxDeflate > uint64(len(src)) {
			return nil, fmt.Errorf("zlib: %d bytes cannot hold %d: %w", len(src), size, ErrCorrupt)
		}
		if size > 0 && size <= plausible(src) {
			l.data = make([]byte, size)
			var err error
			if l.z, err = newInflater(src, l.data); err != nil {
				return nil, sectionError(method, err)
			}
			return l, nil
		}
		r, err := zlib.NewReader(bytes.NewReader(src))
		if err != nil {
			return nil, sectionError(method, err)
		}
		l.r, l.close = r, func() { r.Close() }
	case MethodZstd:
		d, err := newZstd(bytes.NewReader(src))
		if err != nil {
			return nil, sectionError(method, err)
		}
		l.r, l.close = d, d.Close
	default:
		return nil, fmt.Errorf("compression type %d: %w", method, ErrUnsupported)
	}
	if size > 0 && size <= plausible(src) {
		l.data = make([]byte, size)
		return l, nil
	}
	data, err := readExactly(l.r, size, uint64(len(src)))
	l.finish()
	if err != nil {
		return nil, sectionError(method, err)
	}
	l.data = data
	l.filled.Store(size)
	return l, nil
}

// plausible returns the size up to which memory is allocated before anything is decompressed.
func plausible(src []byte) uint64 { return uint64(len(src))*generous + 4096 }

// Data is the section with its full length. Only the bytes below an end that Need has
// accepted may be read.
func (l *Lazy) Data() []byte { return l.data }

// Filled is how much may be read from the start, in bytes.
func (l *Lazy) Filled() uint64 { return l.filled.Load() }

// Need makes the bytes below end readable; an end past the section's end means all of it.
// It verifies the checksum once everything is decompressed. An error is final: the bytes
// below the last accepted end remain readable.
func (l *Lazy) Need(end uint64) error {
	whole := uint64(len(l.data))
	end = min(end, whole)
	if end <= l.filled.Load() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.filled.Load()
	if end <= have {
		return nil
	}
	if l.err != nil {
		return l.err
	}
	have, err := l.decompress(have, min(whole, max(end, have+lazyStep)))
	if err != nil {
		l.err = sectionError(l.method, err)
	}
	if err != nil || have == whole {
		l.finish()
	}
	l.filled.Store(have)
	if end > have {
		return l.err
	}
	return nil
}

// decompress decompresses from have on as far as end, or a little further, and returns how far.
func (l *Lazy) decompress(have, end uint64) (uint64, error) {
	whole := uint64(len(l.data))
	var err error
	if l.z != nil {
		if err = l.z.fill(int(end)); err == nil && l.z.w == len(l.data) {
			err = l.z.fill(l.z.w) // a match went past end: the checksum comes next
		}
		have = uint64(l.z.w)
		if err != nil && have == whole {
			have-- // as below
		}
		return have, err
	}
	n, err := io.ReadFull(l.r, l.data[have:end])
	have += uint64(n)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = errSize
	case err == nil && have == whole:
		if err = atEnd(l.r); err != nil {
			have-- // wrong checksum: the whole section must not be accepted
		}
	}
	return have, err
}

func (l *Lazy) finish() {
	if l.close != nil {
		l.close()
	}
	l.r, l.z = nil, nil
}
