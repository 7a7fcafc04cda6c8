package decompress

import (
	"errors"
	"fmt"
	"io"
)

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
// It allocates no more than about twice what really comes out, and never more
// than size and a window. More than max bytes are ErrTooLarge; a size that is not
// the true one is ErrCorrupt.
func Section(method Method, src []byte, size, max uint64) ([]byte, error) {
	l, err := NewLazy(method, src, size, max)
	if err != nil {
		return nil, err
	}
	if err := l.Need(size); err != nil {
		return nil, err
	}
	return l.Data(), nil
}

// maxDeflate is deflate's highest ratio, 258 bytes for two bits, rounded up.
const maxDeflate = 1040

func sectionError(method Method, err error) error {
	name := "zlib"
	if method == MethodZstd {
		name = "zstd"
	}
	return fmt.Errorf("%s section: %w: %w", name, ErrCorrupt, err)
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
	if err := atEnd(r); err != nil {
		return nil, err
	}
	return data, nil
}

// atEnd reads the end of r, which checks the sums.
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
