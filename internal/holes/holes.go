// Package holes writes files in which blocks of zeros take no place on the disk. Dumps are full of them: what a thread's stack or a heap never touched.
package holes

import (
	"bytes"
	"errors"
	"os"
)

// blockSize is that of file systems, in bytes: shorter runs of zeros save nothing.
const blockSize = 4096

// zeros is what a block is compared with.
var zeros [blockSize]byte

// ErrMost is the error of Write when more than Most bytes would be written.
var ErrMost = errors.New("too many bytes that are not zeros")

// A Writer writes a file in order. It is not safe for concurrent use.
type Writer struct {
	File *os.File // empty at first
	Most int64    // how many bytes that are no holes may be written; 0 for any number

	size    int64 // bytes given to Write
	written int64 // bytes of them that are no holes
	end     int64 // where the file ends: before size if it ends with a hole
}

// Size returns how many bytes were given to Write.
func (w *Writer) Size() int64 { return w.size }

// Write implements io.Writer. Before the file is read, Settle must be called.
func (w *Writer) Write(b []byte) (n int, err error) {
	for n < len(b) {
		k := w.run(b[n:], true)
		n, w.size = n+k, w.size+int64(k)
		if k = w.run(b[n:], false); k == 0 {
			continue
		}
		if w.Most > 0 && w.written+int64(k) > w.Most {
			return n, ErrMost
		}
		k, err = w.File.WriteAt(b[n:n+k], w.size)
		n, w.size, w.written = n+k, w.size+int64(k), w.written+int64(k)
		w.end = w.size
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// run returns how many bytes at the start of b are blocks, or parts of blocks, that are all zeros or, if zero is false, are not.
func (w *Writer) run(b []byte, zero bool) int {
	n := 0
	for n < len(b) {
		part := b[n:min(n+blockSize-int((w.size+int64(n))%blockSize), len(b))]
		if bytes.Equal(part, zeros[:len(part)]) != zero {
			break
		}
		n += len(part)
	}
	return n
}

// Settle has the file be as long as what was written.
func (w *Writer) Settle() error {
	if w.end == w.size {
		return nil
	}
	w.end = w.size
	return w.File.Truncate(w.size)
}
