package decompress

import (
	"errors"
	"fmt"
	"io"
)

// A Method is the compression method of an ELF section, numbered as in the gABI's ch_type.
type Method uint32

// The gABI's methods.
const (
	MethodZlib Method = 1
	MethodZstd Method = 2
)

// generous is the ratio of claimed to compressed size above which a large section's memory
// is allocated as it fills instead of at once.
const generous = 64

// Section decompresses an ELF section whose header gives size as its decompressed size in
// bytes. It allocates at most about twice the real decompressed size, and never more than
// size plus a window. The error is ErrTooLarge if size is more than limit, and ErrCorrupt
// if size is wrong.
func Section(method Method, src []byte, size, limit uint64) ([]byte, error) {
	l, err := NewLazy(method, src, size, limit)
	if err != nil {
		return nil, err
	}
	if err := l.Need(size); err != nil {
		return nil, err
	}
	return l.Data(), nil
}

// maxDeflate is deflate's maximum compression ratio, 258 bytes for two bits, rounded up.
const maxDeflate = 1040

func sectionError(method Method, err error) error {
	name := "zlib"
	if method == MethodZstd {
		name = "zstd"
	}
	return fmt.Errorf("%s section: %w: %w", name, ErrCorrupt, err)
}

// errSize: the decompressed size differs from the header's.
var errSize = errors.New("size differs from the header's")

// readExactly reads size bytes and then the end of r, which verifies the checksum.
func readExactly(r io.Reader, size, compressed uint64) ([]byte, error) {
	data, err := grow(r, size, min(size, compressed*generous+4096))
	if err != nil {
		return nil, err
	}
	if uint64(len(data)) < size {
		return nil, errSize
	}
	if err := atEnd(r); err != nil {
		return nil, err
	}
	return data, nil
}

// atEnd reads the end of r, which verifies the checksum.
func atEnd(r io.Reader) error {
	var one [1]byte
	switch n, err := io.ReadFull(r, one[:]); {
	case n > 0:
		return errSize
	case err != io.EOF:
		return err
	}
	return nil
}

// grow reads up to limit bytes into memory that begins with first bytes and doubles, so
// that a limit that is too high costs nothing. If there is an error, it also returns the
// data read before.
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
