package decompress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/corewalk/corewalk/internal/holes"
)

// Defaults for limits in Options that are 0.
const (
	DefaultMaxSize = 64 << 30
	DefaultMaxDisk = 16 << 30
)

// Compression of nothing but zeros has no limit worth the name. Beyond freeSize bytes, a stream may expand to
// maxRatio times its size: more than any but zstd reaches.
const (
	freeSize = 16 << 30
	maxRatio = 8192
)

// Options has limits and a progress function for ToSparse.
type Options struct {
	// Dir is the directory of the temporary file; "" means os.TempDir.
	Dir string
	// MaxSize limits the decompressed size, MaxDisk the part of it that is not zeros, both
	// in bytes.
	MaxSize, MaxDisk int64
	// Wanted, if not nil, is called with the beginning of the decompressed data (up to 1 MiB), and returns how
	// many bytes to decompress: the rest is of no use, and not read. 0 means all.
	Wanted func(head []byte) int64
	// Progress, if not nil, is called with the number of bytes read and decompressed, about
	// once per MiB, on the calling goroutine.
	Progress func(in, out int64)
}

const (
	chunkSize = 1 << 20
)

// ToSparse decompresses r into an unlinked temporary file, in which aligned blocks of zeros
// are holes, so that a dump's untouched memory takes no disk space. It returns the file and
// its size in bytes. The file's offset is undefined. If the system cannot remove an open
// file, it remains under its Name.
//
// If r ends too early, is corrupt, or exceeds a limit, ToSparse returns both the error
// (ErrTruncatedStream, ErrCorrupt, ErrTooLarge, ErrMemory, or r's own) and the file with
// the data before that, provided there is at least one byte: most of a dump can still be
// analysed. A truncated block is lost completely: 4 MiB of lz4, 128 KiB of zstd. If the
// context ends or writing fails, it returns only the error.
func ToSparse(ctx context.Context, r io.Reader, kind Kind, opts Options) (*os.File, int64, error) {
	in := &countedReader{r: stopping{ctx, r}} // compressed bytes need not come to anything
	z, err := NewBounded(ctx, in, kind)
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
	if readErr != nil && writeErr == nil {
		writeErr = ctx.Err()
	}
	if writeErr == nil {
		writeErr = w.to.Settle()
	}
	if writeErr != nil {
		f.Close()
		return nil, 0, fmt.Errorf("cannot decompress to a temporary file: %w", writeErr)
	}
	if readErr != nil && w.to.Size() == 0 {
		f.Close()
		return nil, 0, readErr
	}
	return f, w.to.Size(), readErr
}

// A stopping reader ends with its context.
type stopping struct {
	ctx context.Context
	io.Reader
}

func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(b)
}

// A sparse writes a file in order, omitting blocks of zeros.
type sparse struct {
	to    holes.Writer
	free  int64 // freeSize
	opts  Options
	chunk []byte
}

func newSparse(f *os.File, opts Options) *sparse {
	if opts.MaxSize <= 0 {
		opts.MaxSize = DefaultMaxSize
	}
	if opts.MaxDisk <= 0 {
		opts.MaxDisk = DefaultMaxDisk
	}
	return &sparse{to: holes.Writer{File: f, Most: opts.MaxDisk}, free: freeSize, opts: opts, chunk: make([]byte, chunkSize)}
}

// copy copies all of r to the file. After an error of r the file is still usable; after an
// error of the file or context it is not.
func (w *sparse) copy(ctx context.Context, r io.Reader, in *countedReader) (readErr, writeErr error) {
	wanted := int64(math.MaxInt64)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		want := min(int64(len(w.chunk)), w.opts.MaxSize-w.to.Size(), wanted-w.to.Size())
		if want <= 0 {
			if w.to.Size() >= wanted {
				return nil, nil
			}
			return w.atEnd(r), nil
		}
		if w.to.Size() > w.free && w.to.Size()/maxRatio > in.n {
			return fmt.Errorf("%d bytes expand to more than %d bytes: %w", in.n, w.to.Size(), ErrTooLarge), nil
		}
		n, err := fill(r, w.chunk[:want])
		if w.to.Size() == 0 && w.opts.Wanted != nil {
			if k := w.opts.Wanted(w.chunk[:n]); k > 0 {
				wanted = k
			}
		}
		if _, werr := w.to.Write(w.chunk[:n]); errors.Is(werr, holes.ErrMost) {
			return fmt.Errorf("decompressed to more than %d bytes that are not zeros: %w", w.opts.MaxDisk, ErrTooLarge), nil
		} else if werr != nil {
			return nil, werr
		}
		if w.opts.Progress != nil {
			w.opts.Progress(in.n, w.to.Size())
		}
		if err == io.EOF {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
	}
}

// maxIdle is how many times in a row a reader may return nothing.
const maxIdle = 100

// fill is io.ReadFull, but returns r's errors unchanged.
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

// atEnd checks that no data follows once the limit is reached.
func (w *sparse) atEnd(r io.Reader) error {
	switch n, err := fill(r, w.chunk[:1]); {
	case n > 0:
		return fmt.Errorf("decompressed to more than %d bytes: %w", w.opts.MaxSize, ErrTooLarge)
	case err != io.EOF:
		return err
	}
	return nil
}
