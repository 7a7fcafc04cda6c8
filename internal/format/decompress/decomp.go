// Package decompress undoes compression: of ELF sections, of .gnu_debugdata, and of
// whole dumps that arrive as streams. It is the only room that knows compression
// libraries, and it bounds what they may allocate: the sizes in a compressed
// file's headers are claims.
//
// All functions may be called by several goroutines; they share nothing.
package decompress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Why something could not be decompressed. Every error of this package wraps
// one of these, or what a reader, the file system or a context answered.
var (
	// ErrCorrupt: the bytes are not what the compressor wrote.
	ErrCorrupt = errors.New("corrupt compressed data")
	// ErrTruncatedStream: the compressed bytes end too early. What came before
	// is good.
	ErrTruncatedStream = errors.New("compressed data is truncated")
	// ErrTooLarge: a bound on the decompressed size was reached.
	ErrTooLarge = errors.New("decompressed data too large")
	// ErrMemory: decompressing would need a window larger than MaxWindow.
	ErrMemory = errors.New("decompressing needs too much memory")
	// ErrUnsupported: the format or one of its options is not known here.
	ErrUnsupported = errors.New("unsupported compression")
)

// MaxWindow is the largest window (zstd) or dictionary (xz) in bytes that is
// allocated for a stream: that of zstd --long=28. The default levels of both
// need 8 MiB or less, xz -9 and zstd --ultra -22 need 64 and 128 MiB.
const MaxWindow = 256 << 20

// A Kind is the compression of a whole file.
type Kind int

// The kinds that Sniff knows. None is everything else.
const (
	None Kind = iota
	Zstd
	LZ4
	XZFile
	Gzip
)

// String returns the name of the format.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Zstd:
		return "zstd"
	case LZ4:
		return "lz4"
	case XZFile:
		return "xz"
	case Gzip:
		return "gzip"
	}
	return fmt.Sprintf("compression kind %d", int(k))
}

// SniffLen is how many first bytes Sniff wants to see.
const SniffLen = 18

// Sniff tells the compression of a file by its first bytes.
func Sniff(head []byte) Kind {
	switch {
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	case bytes.HasPrefix(head, []byte{0x04, 0x22, 0x4d, 0x18}), bytes.HasPrefix(head, lz4Legacy):
		return LZ4
	case bytes.HasPrefix(head, xzMagic):
		return XZFile
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
		return Gzip
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return Zstd // a skippable frame, as pzstd begins its files with
	}
	return None
}

// lz4Legacy is the magic of `lz4 -l`.
var lz4Legacy = []byte{0x02, 0x21, 0x4c, 0x18}

// streamError gives a library's error one of this package's kinds.
func streamError(what Kind, err error) error {
	for _, known := range []error{ErrCorrupt, ErrTruncatedStream, ErrTooLarge, ErrMemory, ErrUnsupported} {
		if errors.Is(err, known) {
			return fmt.Errorf("%v: %w", what, err)
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%v: %w", what, ErrTruncatedStream)
	}
	return fmt.Errorf("%v: %w: %w", what, ErrCorrupt, err)
}
