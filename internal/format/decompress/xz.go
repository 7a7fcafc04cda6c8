package decompress

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// This file reads the .xz container (The .xz File Format, version 1.2.1,
// https://tukaani.org/xz/xz-file-format.txt) and leaves the LZMA2 data in it to the
// library. The library's own container reader allocates whatever dictionary a block header
// claims, up to 4 GiB, and block headers can be anywhere in the stream.
//
// CRC32 and CRC64 checks are verified; the rare SHA-256 is not. The index at the end
// repeats known information and is skipped.

var xzMagic = []byte{0xfd, '7', 'z', 'X', 'Z', 0}

// XZ decompresses a whole .xz file in memory (.gnu_debugdata). The error is ErrTooLarge if
// there are more than limit bytes. Memory grows with the data.
func XZ(src []byte, limit int64) ([]byte, error) {
	r := newXZ(bytes.NewReader(src))
	if r.dictLimit = MaxWindow; limit < MaxWindow-1 {
		r.outLimit = limit + 1 // no dictionary needs to be larger than the data
	}
	data, err := grow(r, uint64(limit)+1, uint64(len(src))*4+4096)
	if err != nil {
		return nil, streamError(XZFile, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("xz: decompressed to more than %d bytes: %w", limit, ErrTooLarge)
	}
	return data, nil
}

// An xzReader decompresses the concatenated streams of an .xz file.
type xzReader struct {
	in        *countedReader
	dictLimit int64
	outLimit  int64 // if not 0, maximum size of dictionaries

	started bool
	check   byte // check method of the current stream's blocks
	block   *lzma.Reader2
	begin   int64 // offset in the input of the block's header
	sum     hash.Hash
	err     error
	dicts   int64 // bytes allocated for dictionaries so far
	out     int64 // bytes decompressed so far
}

func newXZ(r io.Reader) *xzReader {
	return &xzReader{in: &countedReader{r: bufio.NewReaderSize(r, 64<<10)}, dictLimit: MaxWindow}
}

// Read reads decompressed bytes. It returns io.EOF after the last stream.
func (x *xzReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, x.err
	}
	for x.err == nil {
		if x.block == nil {
			x.err = x.next()
			continue
		}
		n, err := x.block.Read(p)
		x.out += int64(n)
		if x.sum != nil {
			x.sum.Write(p[:n])
		}
		if errors.Is(err, io.EOF) {
			x.block = nil
			err = x.endBlock()
		}
		x.err = err
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// next advances to the next block and skips stream headers, indexes and padding.
func (x *xzReader) next() error {
	if !x.started {
		return x.streamHeader()
	}
	x.begin = x.in.n
	size, err := x.in.ReadByte()
	if err != nil {
		return unexpected(err)
	}
	if size == 0 {
		x.started = false
		return x.index()
	}
	return x.blockHeader(size)
}

// streamHeader reads section 2.1.1, or the end of the file. Padding between
// streams is zeros, four at a time.
func (x *xzReader) streamHeader() error {
	var h [12]byte
	for {
		n, err := io.ReadFull(x.in, h[:4])
		if n == 0 && err == io.EOF && x.in.n > 0 {
			return io.EOF
		}
		if err != nil {
			return unexpected(err)
		}
		if h[0]|h[1]|h[2]|h[3] != 0 || x.in.n == 4 {
			break
		}
	}
	if _, err := io.ReadFull(x.in, h[4:]); err != nil {
		return unexpected(err)
	}
	if !bytes.HasPrefix(h[:], xzMagic) || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return fmt.Errorf("stream header at offset %d: %w", x.in.n-12, ErrCorrupt)
	}
	if h[6] != 0 || h[7]&0xf0 != 0 {
		return fmt.Errorf("stream flags % x: %w", h[6:8], ErrUnsupported)
	}
	x.check, x.started = h[7], true
	return nil
}

// blockHeader reads section 3.1 and prepares the LZMA2 data after it.
func (x *xzReader) blockHeader(size byte) error {
	h := make([]byte, 4*(int(size)+1))
	h[0] = size
	if _, err := io.ReadFull(x.in, h[1:]); err != nil {
		return unexpected(err)
	}
	body := h[:len(h)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(h[len(body):]) {
		return fmt.Errorf("block header at offset %d: %w", x.begin, ErrCorrupt)
	}
	dict, plain, err := blockFilters(body[1:])
	if err != nil {
		return fmt.Errorf("block header at offset %d: %w", x.begin, err)
	}
	if dict > x.dictLimit {
		return fmt.Errorf("dictionary of %d MiB, at most %d: %w", dict>>20, x.dictLimit>>20, ErrMemory)
	}
	for _, limit := range []int64{plain, x.outLimit} {
		if limit > 0 {
			dict = min(dict, limit)
		}
	}
	// Every block gets a dictionary of its own: tiny blocks with large ones would
	// take minutes to clear.
	if x.dicts += dict; x.dicts > 4*MaxWindow+256*x.out {
		return fmt.Errorf("dictionaries of %d MiB for %d bytes of data: %w", x.dicts>>20, x.out, ErrMemory)
	}
	x.sum = newCheck(x.check)
	x.block, err = lzma.Reader2Config{DictCap: int(max(dict, lzma.MinDictCap))}.NewReader2(x.in)
	return unexpected(err)
}

// blockFilters returns the dictionary size and, when the header has it, the
// uncompressed size of a block whose only filter is LZMA2 (section 5.3.1).
func blockFilters(b []byte) (dict, plain int64, err error) {
	flags := b[0]
	r := bytes.NewReader(b[1:])
	if flags&0x3c != 0 {
		return 0, 0, fmt.Errorf("flags %#x: %w", flags, ErrUnsupported)
	}
	if flags&3 != 0 {
		return 0, 0, fmt.Errorf("%d filters before LZMA2: %w", flags&3, ErrUnsupported)
	}
	if flags&0x40 != 0 {
		binary.ReadUvarint(r) // compressed size
	}
	if flags&0x80 != 0 {
		v, _ := binary.ReadUvarint(r)
		plain = int64(min(v, 1<<62))
	}
	id, _ := binary.ReadUvarint(r)
	props, _ := binary.ReadUvarint(r)
	code, err := r.ReadByte()
	if err != nil {
		return 0, 0, ErrCorrupt
	}
	if id != 0x21 || props != 1 {
		return 0, 0, fmt.Errorf("filter %#x: %w", id, ErrUnsupported)
	}
	if dict, err = lzma.DecodeDictCap(code); err != nil {
		return 0, 0, fmt.Errorf("dictionary size %#x: %w", code, ErrCorrupt)
	}
	return dict, plain, nil
}

// endBlock reads padding and check (sections 3.3 and 3.4).
func (x *xzReader) endBlock() error {
	var pad [4]byte
	if n := (x.begin - x.in.n) & 3; n > 0 {
		if _, err := io.ReadFull(x.in, pad[:n]); err != nil {
			return unexpected(err)
		}
	}
	stored := make([]byte, checkSize(x.check))
	if _, err := io.ReadFull(x.in, stored); err != nil {
		return unexpected(err)
	}
	if x.sum == nil {
		return nil
	}
	sum := x.sum.Sum(nil) // big-endian, where the file has little-endian
	for i := range sum {
		if sum[i] != stored[len(stored)-1-i] {
			return fmt.Errorf("checksum of the block at offset %d: %w", x.begin, ErrCorrupt)
		}
	}
	return nil
}

// index passes over sections 4 and 2.1.2, whose first byte is read.
func (x *xzReader) index() error {
	begin := x.in.n - 1
	records, err := binary.ReadUvarint(x.in)
	for i := uint64(0); i < 2*records && err == nil; i++ {
		_, err = binary.ReadUvarint(x.in)
	}
	if err != nil {
		return unexpected(err)
	}
	rest := (begin-x.in.n)&3 + 4 + 12 // padding, CRC32, stream footer
	if _, err := io.CopyN(io.Discard, x.in, rest); err != nil {
		return unexpected(err)
	}
	return nil
}

// checkSize is section 2.1.1.2's table.
func checkSize(check byte) int {
	if check == 0 {
		return 0
	}
	return 4 << ((check - 1) / 3)
}

func newCheck(check byte) hash.Hash {
	switch check {
	case 1:
		return crc32.NewIEEE()
	case 4:
		return crc64.New(crc64.MakeTable(crc64.ECMA))
	}
	return nil
}

// unexpected turns an end that comes inside something into ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
