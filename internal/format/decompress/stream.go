package decompress

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// NewReader decompresses a stream. Its Read returns this package's errors, after all bytes
// that could be decompressed. It decodes in the caller's goroutine and holds at most
// MaxWindow plus some buffers. Closing it frees them, but does not close r.
func NewReader(r io.Reader, kind Kind) (io.ReadCloser, error) {
	in := &countedReader{r: r}
	s := &stream{kind: kind, in: in}
	r = in
	var err error
	switch kind {
	case None:
		s.r = r
	case Zstd:
		var d *zstd.Decoder
		if d, err = newZstd(r); err == nil {
			s.r, s.close = d, d.Close
		}
	case LZ4:
		z := lz4.NewReader(r)
		err = z.Apply(lz4.ConcurrencyOption(1))
		s.r = z
	case XZFile:
		s.r = newXZ(r)
	case Gzip:
		s.r, err = gzip.NewReader(bufio.NewReaderSize(r, 64<<10))
	case Zlib:
		s.r, err = zlib.NewReader(bufio.NewReaderSize(r, 64<<10))
	case BZip2:
		s.r = bzip2.NewReader(bufio.NewReaderSize(r, 64<<10))
	default:
		return nil, fmt.Errorf("%v: %w", kind, ErrUnsupported)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return s, nil
}

// newZstd decodes in the calling goroutine: starting more goroutines to read ahead takes
// longer than decoding most dumps.
func newZstd(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(MaxWindow), zstd.WithDecoderMaxMemory(MaxWindow))
}

// What unpacks at a hundred megabytes a second, however little is in it, may expand to slowSize bytes, and slowRatio times its size. Sparse dumps
// of real processes have something in them besides zeros.
const (
	slowSize  = 1 << 30
	slowRatio = 4096
)

// NewBounded is NewReader for a stranger's stream: one of a kind that unpacks slowly ends with ErrTooLarge when it has become much more than its
// size explains. A context with a deadline has bounded its time already.
func NewBounded(ctx context.Context, r io.Reader, kind Kind) (io.ReadCloser, error) {
	z, err := NewReader(r, kind)
	if s, ok := z.(*stream); ok && (kind == XZFile || kind == BZip2) {
		if _, limited := ctx.Deadline(); !limited {
			s.slow = slowSize
		}
	}
	return z, err
}

type stream struct {
	kind  Kind
	in    *countedReader
	r     io.Reader
	out   int64
	slow  int64 // slowSize, or 0 for no bound
	close func()
}

func (s *stream) Read(p []byte) (int, error) {
	if s.slow > 0 && s.out > s.slow && (s.out-s.slow)/slowRatio > s.in.n {
		return 0, fmt.Errorf("%v: %d bytes expand to more than %d, which takes long: if you trust them, give a time limit (--deadline 10m): %w", s.kind, s.in.n, s.out, ErrTooLarge)
	}
	n, err := s.r.Read(p)
	s.out += int64(n)
	if err == nil || err == io.EOF || s.kind == None {
		return n, err
	}
	return n, s.explain(err)
}

// explain classifies an error. An error while reading compressed data is that reader's, not
// corruption.
func (s *stream) explain(err error) error {
	if s.in.err != nil && s.in.err != io.EOF {
		return fmt.Errorf("%v: reading compressed data: %w", s.kind, s.in.err)
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("window larger than %d MiB (zstd --long=29 or more): %w", MaxWindow>>20, ErrMemory)
	}
	return streamError(s.kind, err)
}

func (s *stream) Close() error {
	if s.close != nil {
		s.close()
		s.close = nil
	}
	return nil
}

// A countedReader counts the bytes read and remembers the reader's error.
type countedReader struct {
	r   io.Reader
	n   int64
	err error // the last error of r
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil {
		c.err = err
	}
	return n, err
}

// ReadByte is used by the xz number decoder and the LZMA decoder.
func (c *countedReader) ReadByte() (byte, error) {
	if b, ok := c.r.(io.ByteReader); ok {
		v, err := b.ReadByte()
		if err == nil {
			c.n++
		}
		return v, err
	}
	var one [1]byte
	_, err := io.ReadFull(c, one[:])
	return one[0], err
}
