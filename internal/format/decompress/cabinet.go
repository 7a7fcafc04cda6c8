package decompress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/flate"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// A CabinetFile is the first file in a Microsoft cabinet. Symbol stores compress each file
// in a cabinet of its own. The format is specified in "Microsoft Cabinet Format", the
// compression in "MSZIP Compression and Decompression Data Structure" ([MS-MCI]).
type CabinetFile struct {
	Name string // as in the cabinet
	Size uint64 // expanded size in bytes, as claimed by the cabinet

	blocks  []byte // from the first block of the file's folder on
	count   int    // number of blocks in the folder
	reserve int    // reserved bytes after the header of each block
	method  uint16
	skip    uint64 // bytes of the folder before the file's
}

// IsCabinet reports whether a file with this beginning is a cabinet.
func IsCabinet(head []byte) bool { return bytes.HasPrefix(head, []byte("MSCF")) }

// Compression method of a folder (typeCompress), in its low bits.
const (
	cabMethod  = 0xf
	cabStored  = 0
	cabMSZIP   = 1
	cabQuantum = 2
	cabLZX     = 3
)

const (
	cabHasPrev, cabHasNext, cabHasReserve = 1, 2, 4

	cabOtherVolume = 0xfffd // the first folder number that refers to another cabinet
	maxCabName     = 256
	maxCabBlock    = 32 << 10 // maximum expanded size of a block in bytes
)

// OpenCabinet reads the headers of a cabinet.
func OpenCabinet(data []byte) (*CabinetFile, error) {
	f, err := openCabinet(data)
	if err != nil {
		return nil, fmt.Errorf("cabinet: %w", err)
	}
	return f, nil
}

func openCabinet(data []byte) (*CabinetFile, error) {
	if !IsCabinet(data) {
		return nil, fmt.Errorf("no MSCF at offset 0: %w", ErrCorrupt)
	}
	c := binbuf.New(data, 16, false)
	fileOff := c.U32()
	c.Skip(5)
	major := c.U8()
	folders, files, flags := c.U16(), c.U16(), c.U16()
	c.Skip(4)
	var reserve [3]int // reserved bytes in the header, in a folder and in a block
	if flags&cabHasReserve != 0 {
		reserve = [3]int{int(c.U16()), int(c.U8()), int(c.U8())}
		c.Skip(reserve[0])
	}
	switch {
	case c.Error != nil:
		return nil, ErrTruncatedStream
	case major != 1:
		return nil, fmt.Errorf("cabinet version %d: %w", major, ErrUnsupported)
	case flags&(cabHasPrev|cabHasNext) != 0:
		return nil, fmt.Errorf("part of a set of several cabinets: %w", ErrUnsupported)
	case files == 0 || folders == 0:
		return nil, fmt.Errorf("cabinet has no files: %w", ErrCorrupt)
	}
	folderAt := c.Off
	f := &CabinetFile{reserve: reserve[2]}
	c = binbuf.New(data, int(min(uint64(fileOff), uint64(len(data)))), false)
	f.Size, f.skip = uint64(c.U32()), uint64(c.U32())
	folder := c.U16()
	c.Skip(6)
	name, _, ok := bytes.Cut(data[c.Off:min(len(data), c.Off+maxCabName)], []byte{0})
	switch {
	case c.Error != nil || !ok:
		return nil, fmt.Errorf("entry of the first file: %w", ErrTruncatedStream)
	case folder >= cabOtherVolume:
		return nil, fmt.Errorf("file continues in another cabinet: %w", ErrUnsupported)
	case folder >= folders:
		return nil, fmt.Errorf("file in folder %d of %d: %w", folder, folders, ErrCorrupt)
	}
	f.Name = string(name)
	c = binbuf.New(data, min(len(data), folderAt+int(folder)*(8+reserve[1])), false)
	start := c.U32()
	f.count, f.method = int(c.U16()), c.U16()&cabMethod
	if c.Error != nil || uint64(start) > uint64(len(data)) {
		return nil, fmt.Errorf("folder %d: %w", folder, ErrTruncatedStream)
	}
	f.blocks = data[start:]
	return f, f.supported()
}

func (f *CabinetFile) supported() error {
	switch f.method {
	case cabStored, cabMSZIP:
		return nil
	case cabQuantum:
		return fmt.Errorf("compressed with Quantum: %w", ErrUnsupported)
	case cabLZX:
		return fmt.Errorf("compressed with LZX: %w", ErrUnsupported)
	}
	return fmt.Errorf("compression method %d: %w", f.method, ErrUnsupported)
}

// Expand writes the file if it has at most limit bytes. It holds one block at a time.
func (f *CabinetFile) Expand(w io.Writer, limit uint64) error {
	if f.Size > limit {
		return fmt.Errorf("cabinet: file has %d bytes, limit is %d: %w", f.Size, limit, ErrTooLarge)
	}
	if most := uint64(f.count) * maxCabBlock; f.skip+f.Size > most {
		return fmt.Errorf("cabinet: %d blocks cannot hold %d bytes: %w", f.count, f.skip+f.Size, ErrCorrupt)
	}
	x := expander{rest: f.blocks, reserve: f.reserve, method: f.method}
	skip, left := f.skip, f.Size
	for i := 0; left > 0; i++ {
		if i == f.count {
			return fmt.Errorf("cabinet: blocks end %d bytes before the end of the file: %w", left, ErrTruncatedStream)
		}
		out, err := x.next()
		if err != nil {
			return fmt.Errorf("cabinet: block %d of %d: %w", i, f.count, err)
		}
		n := min(skip, uint64(len(out)))
		skip, out = skip-n, out[n:]
		out = out[:min(left, uint64(len(out)))]
		left -= uint64(len(out))
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// Head returns the first n bytes of the file, or all if it has fewer. It expands no more
// blocks than that takes.
func (f *CabinetFile) Head(n int) ([]byte, error) {
	if f.skip > maxBefore {
		return nil, fmt.Errorf("cabinet: %d bytes before the file, limit is %d: %w", f.skip, maxBefore, ErrTooLarge)
	}
	h := head{want: n}
	if err := f.Expand(&h, math.MaxUint64); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return h.b, nil
}

// maxBefore limits how much of other files Head expands.
const maxBefore = 1 << 20

// errEnough ends Expand.
var errEnough = errors.New("enough")

// A head keeps the first bytes that are written to it.
type head struct {
	b    []byte
	want int
}

func (h *head) Write(p []byte) (int, error) {
	h.b = append(h.b, p[:min(len(p), h.want-len(h.b))]...)
	if len(h.b) == h.want {
		return 0, errEnough
	}
	return len(p), nil
}

// An expander iterates over the blocks of a folder.
type expander struct {
	rest    []byte // from the next block on
	reserve int
	method  uint16

	out     []byte // of the last block
	window  []byte // data before the next block, to which that may refer
	inflate io.ReadCloser
}

// next expands one block. The bytes are valid until the next call.
func (x *expander) next() ([]byte, error) {
	c := binbuf.New(x.rest, 0, false)
	sum, packed, size := c.U32(), c.U16(), c.U16()
	c.Skip(x.reserve)
	data := c.Bytes(int(packed))
	switch {
	case c.Error != nil:
		return nil, ErrTruncatedStream
	case sum != 0 && sum != cabSum(x.rest[4:8+x.reserve], cabSum(data, 0)):
		return nil, fmt.Errorf("wrong checksum: %w", ErrCorrupt)
	case size > maxCabBlock:
		return nil, fmt.Errorf("block expands to %d bytes, limit is %d: %w", size, maxCabBlock, ErrCorrupt)
	}
	x.rest = x.rest[c.Off:]
	if x.method == cabStored {
		if packed != size {
			return nil, fmt.Errorf("stored block has %d bytes, want %d: %w", packed, size, ErrCorrupt)
		}
		return data, nil
	}
	return x.mszip(data, int(size))
}

// mszip expands a block: a signature and a complete deflate stream, which may refer to the
// data of earlier blocks.
func (x *expander) mszip(data []byte, size int) ([]byte, error) {
	stream, ok := bytes.CutPrefix(data, []byte("CK"))
	if !ok {
		return nil, fmt.Errorf("MSZIP block does not begin with CK: %w", ErrCorrupt)
	}
	in := bytes.NewReader(stream)
	if x.inflate == nil {
		x.inflate = flate.NewReader(in)
	} else if err := x.inflate.(flate.Resetter).Reset(in, x.window); err != nil {
		return nil, err
	}
	if x.out == nil {
		x.out = make([]byte, maxCabBlock)
	}
	out := x.out[:size]
	switch n, err := io.ReadFull(x.inflate, out); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("MSZIP block expands to %d bytes, want %d: %w", n, size, ErrCorrupt)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	x.window = append(x.window, out...)
	x.window = append(x.window[:0], x.window[max(0, len(x.window)-maxCabBlock):]...)
	return out, nil
}

// cabSum continues a block's checksum from seed: the exclusive or of its words, with the
// remaining bytes in the opposite order.
func cabSum(b []byte, seed uint32) uint32 {
	for ; len(b) >= 4; b = b[4:] {
		seed ^= uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	}
	var last uint32
	for _, v := range b {
		last = last<<8 | uint32(v)
	}
	return seed ^ last
}
