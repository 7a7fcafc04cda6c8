package decomp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// believable reports whether size bytes may be allocated at once for src.
func believable(size uint64, src []byte) bool {
	return size <= 16<<20 || size/generous <= uint64(len(src))
}

// A Method is how an ELF section is compressed, in the numbers of the gABI's
// ch_type.
type Method uint32

// The methods of the gABI.
const (
	MethodZlib Method = 1
	MethodZstd Method = 2
)

// generous is how many times its compressed size a large section may claim before
// its memory is allocated as it fills instead of at once.
const generous = 64

// Section decompresses an ELF section that says it has size bytes decompressed.
// It allocates no more than size and a window; for large claims that the
// compressed bytes do not make likely, as the bytes come. More than max bytes are ErrTooLarge; a size that is not
// the true one is ErrCorrupt.
func Section(method Method, src []byte, size, max uint64) ([]byte, error) {
	if size > max || int64(size) < 0 || uint64(int(size)) != size {
		return nil, fmt.Errorf("section of %d bytes, at most %d allowed: %w", size, max, ErrTooLarge)
	}
	switch method {
	case MethodZlib:
		return zlibSection(src, size)
	case MethodZstd:
		return zstdSection(src, size)
	}
	return nil, fmt.Errorf("compression type %d: %w", method, ErrUnsupported)
}

// maxDeflate is deflate's highest ratio, 258 bytes for two bits, rounded up.
const maxDeflate = 1040

func zlibSection(src []byte, size uint64) ([]byte, error) {
	if size/maxDeflate > uint64(len(src)) {
		return nil, fmt.Errorf("zlib: %d bytes cannot hold %d: %w", len(src), size, ErrCorrupt)
	}
	r, err := zlib.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, sectionError("zlib", err)
	}
	defer r.Close()
	data, err := readExactly(r, size, uint64(len(src)))
	if err != nil {
		return nil, sectionError("zlib", err)
	}
	return data, nil
}

func zstdSection(src []byte, size uint64) ([]byte, error) {
	var h zstd.Header
	if h.Decode(src) == nil && h.HasFCS && h.FrameContentSize == size && believable(size, src) {
		// The decoder holds itself to the frame's content size, and allocates that
		// with the slack that its fast copies want.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(max(size, MaxWindow)), zstd.WithDecoderMaxMemory(max(size, MaxWindow)))
		if err != nil {
			return nil, sectionError("zstd", err)
		}
		defer d.Close()
		data, err := d.DecodeAll(src, nil)
		if err == nil && uint64(len(data)) != size {
			err = errSize
		}
		if err != nil {
			return nil, sectionError("zstd", err)
		}
		return data, nil
	}
	d, err := newZstd(bytes.NewReader(src))
	if err != nil {
		return nil, sectionError("zstd", err)
	}
	defer d.Close()
	data, err := readExactly(d, size, uint64(len(src)))
	if err != nil {
		return nil, sectionError("zstd", err)
	}
	return data, nil
}

func sectionError(what string, err error) error {
	return fmt.Errorf("%s section: %w: %w", what, ErrCorrupt, err)
}

// errSize: the decompressed size is not what a header says.
var errSize = errors.New("size differs from the header's")

// readExactly reads size bytes and then the end of r, which checks the sums.
func readExactly(r io.Reader, size, compressed uint64) ([]byte, error) {
	data, err := grow(r, size, min(size, compressed*generous+4096))
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) < size {
		return nil, errSize
	}
	var one [1]byte
	switch n, err := io.ReadFull(r, one[:]); {
	case n > 0:
		return nil, errSize
	case err != io.EOF:
		return nil, err
	}
	return data, nil
}

// grow reads up to limit bytes into memory that begins with first bytes and
// doubles, so that a wrong limit costs nothing. On an error it answers what came.
func grow(r io.Reader, limit, first uint64) ([]byte, error) {
	data := make([]byte, 0, min(first, limit))
	for uint64(len(data)) < limit {
		if len(data) == cap(data) {
			bigger := make([]byte, len(data), min(limit, max(2*uint64(cap(data)), 64<<10)))
			copy(bigger, data)
			data = bigger
		}
		n, err := fill(r, data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return data, err
		}
	}
	return data, nil
}
