package decompress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Bounds that Options has when they are 0.
const (
	DefaultMaxSize = 64 << 30
	DefaultMaxDisk = 16 << 30
)

// Options bounds and watches ToSparse.
type Options struct {
	// Dir is where the temporary file is made, "" for os.TempDir.
	Dir string
	// MaxSize bounds the decompressed size, MaxDisk what of it is not zeros, both
	// in bytes.
	MaxSize, MaxDisk int64
	// Progress, when not nil, is told how many bytes were read and how many came
	// out, about once a MiB, on the calling goroutine.
	Progress func(in, out int64)
}

const (
	chunkSize = 1 << 20
	holeSize  = 4096 // file systems' block size: shorter runs of zeros save nothing
)

// ToSparse decompresses r into an unlinked temporary file, in which aligned
// blocks of zeros are holes, and answers the file and its size in bytes. A
// dump's untouched memory takes no room so. The file's offset is undefined. Where
// the system cannot remove an open file, it stays under its Name.
//
// When r ends too early, is corrupt, or exceeds a bound, the file with what came
// before is returned together with the error (ErrTruncatedStream, ErrCorrupt,
// ErrTooLarge, ErrMemory, or r's own), as long as there is at least one byte:
// most of a dump can still be analysed. A block that is cut is lost as a whole,
// 4 MiB of lz4 and 128 KiB of zstd. When the context ends or the disk fails,
// there is only the error.
func ToSparse(ctx context.Context, r io.Reader, kind Kind, opts Options) (*os.File, int64, error) {
	in := &countedReader{r: r}
	z, err := NewReader(in, kind)
	if err != nil {
		return nil, 0, err
	}
	defer z.Close()
	f, err := os.CreateTemp(opts.Dir, "corewalk-*")
	if err != nil {
		return nil, 0, err
	}
	os.Remove(f.Name())
	w := newSparse(f, opts)
	readErr, writeErr := w.copy(ctx, z, in)
	if writeErr == nil {
		writeErr = f.Truncate(w.size)
	}
	if writeErr != nil {
		f.Close()
		return nil, 0, fmt.Errorf("decompressing to a temporary file: %w", writeErr)
	}
	if readErr != nil && w.size == 0 {
		f.Close()
		return nil, 0, readErr
	}
	return f, w.size, readErr
}

// A sparse writes a file in order, leaving out blocks of zeros.
type sparse struct {
	f            *os.File
	size         int64 // bytes handed in
	disk         int64 // bytes written
	opts         Options
	zeros, chunk []byte
}

func newSparse(f *os.File, opts Options) *sparse {
	if opts.MaxSize <= 0 {
		opts.MaxSize = DefaultMaxSize
	}
	if opts.MaxDisk <= 0 {
		opts.MaxDisk = DefaultMaxDisk
	}
	return &sparse{f: f, opts: opts, zeros: make([]byte, holeSize), chunk: make([]byte, chunkSize)}
}

// copy moves everything from r into the file. Errors of r still leave a file to
// look at, those of the file and the context do not.
func (w *sparse) copy(ctx context.Context, r io.Reader, in *countedReader) (readErr, writeErr error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		want := min(int64(len(w.chunk)), w.opts.MaxSize-w.size)
		if want == 0 {
			return w.atEnd(r), nil
		}
		n, err := fill(r, w.chunk[:want])
		if werr := w.write(w.chunk[:n]); werr != nil {
			if errors.Is(werr, ErrTooLarge) {
				return werr, nil
			}
			return nil, werr
		}
		if w.opts.Progress != nil {
			w.opts.Progress(in.n, w.size)
		}
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
	}
}

// maxIdle is how many times in a row a reader may answer nothing.
const maxIdle = 100

// fill is io.ReadFull, but keeps r's errors as they are.
func fill(r io.Reader, b []byte) (n int, err error) {
	for idle := 0; n < len(b) && err == nil && idle < maxIdle; idle++ {
		var k int
		if k, err = r.Read(b[n:]); k > 0 {
			n, idle = n+k, 0
		}
	}
	if n < len(b) && err == nil {
		err = io.ErrNoProgress
	}
	if n == len(b) {
		err = nil
	}
	return n, err
}

// atEnd checks that nothing follows once the bound is reached.
func (w *sparse) atEnd(r io.Reader) error {
	switch n, err := fill(r, w.chunk[:1]); {
	case n > 0:
		return fmt.Errorf("more than %d bytes: %w", w.opts.MaxSize, ErrTooLarge)
	case err != io.EOF:
		return err
	}
	return nil
}

// write writes the blocks of b that are not all zeros, neighbours at once. b
// begins at a multiple of holeSize of the file.
func (w *sparse) write(b []byte) error {
	for len(b) > 0 {
		n := w.run(b, true)
		w.size += int64(n)
		b = b[n:]
		if n = w.run(b, false); n == 0 {
			continue
		}
		if w.disk+int64(n) > w.opts.MaxDisk {
			return fmt.Errorf("more than %d bytes that are not zeros: %w", w.opts.MaxDisk, ErrTooLarge)
		}
		if _, err := w.f.WriteAt(b[:n], w.size); err != nil {
			return err
		}
		w.size, w.disk, b = w.size+int64(n), w.disk+int64(n), b[n:]
	}
	return nil
}

// run is the length of the leading blocks of b that are zeros, or that are not.
func (w *sparse) run(b []byte, zero bool) int {
	n := 0
	for n < len(b) {
		block := b[n:min(n+holeSize, len(b))]
		if bytes.Equal(block, w.zeros[:len(block)]) != zero {
			break
		}
		n += len(block)
	}
	return n
}
