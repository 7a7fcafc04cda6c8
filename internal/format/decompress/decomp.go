// Package decompress decompresses ELF sections, .gnu_debugdata, files of symbol stores, and
// whole dumps that arrive as streams. It is the only package that uses compression
// libraries, and it limits what they allocate, because the sizes in a compressed file's
// headers cannot be trusted.
//
// All functions are safe for concurrent use; they share no state.
package decompress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Reasons why something cannot be decompressed. Every error of this package wraps one of
// these, or an error of a reader, the file system or a context.
var (
	// ErrCorrupt: the compressed bytes are damaged.
	ErrCorrupt = errors.New("corrupt compressed data")
	// ErrTruncatedStream: the compressed bytes end too early. What was decompressed before
	// is valid.
	ErrTruncatedStream = errors.New("compressed data is truncated")
	// ErrTooLarge: the decompressed size exceeds a limit.
	ErrTooLarge = errors.New("decompressed data too large")
	// ErrMemory: decompressing would need a window larger than MaxWindow.
	ErrMemory = errors.New("decompressing needs too much memory")
	// ErrUnsupported: the format or one of its options is not supported.
	ErrUnsupported = errors.New("unsupported compression")
)

// MaxWindow is the maximum window (zstd) or dictionary (xz) in bytes that is allocated for
// a stream: that of zstd --long=28. The default levels of both need at most 8 MiB; xz -9
// and zstd --ultra -22 need 64 and 128 MiB.
const MaxWindow = 256 << 20

// A Kind is the compression of a whole file.
type Kind int

// The kinds that Sniff recognises, and Zlib. None is anything else.
const (
	None Kind = iota
	Zstd
	LZ4
	XZFile
	Gzip
	Zlib // SniffZlib recognises it
	BZip2
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
	case Zlib:
		return "zlib"
	case BZip2:
		return "bzip2"
	}
	return fmt.Sprintf("compression kind %d", int(k))
}

// SniffLen is how many bytes Sniff needs.
const SniffLen = 18

// Sniff determines the compression of a file from its first bytes.
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
	case len(head) >= 10 && string(head[:3]) == "BZh" && head[3] >= '1' && head[3] <= '9' && (string(head[4:10]) == bzip2Block || string(head[4:10]) == bzip2End):
		return BZip2
	case len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return Zstd // a skippable frame, with which pzstd begins its files
	}
	return None
}

// SniffZlib reports whether a file may be a zlib stream (RFC 1950). Two bytes say so, therefore it is only for files that
// are known to be compressed or a dump: neither a core nor a minidump begins like this.
func SniffZlib(head []byte) bool {
	const deflate, preset = 8, 1 << 5 // a preset dictionary would have to be known
	return len(head) >= 2 && head[0]&0xf == deflate && head[0]>>4 <= 7 && head[1]&preset == 0 && (int(head[0])<<8|int(head[1]))%31 == 0
}

// How bzip2's blocks and its end begin.
const (
	bzip2Block = "1AY&SY"
	bzip2End   = "\x17rE8P\x90"
)

// lz4Legacy is the magic number of lz4 -l.
var lz4Legacy = []byte{0x02, 0x21, 0x4c, 0x18}

// streamError wraps a library's error in one of this package's.
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
