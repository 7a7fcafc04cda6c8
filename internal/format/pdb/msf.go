package pdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
)

const (
	magic7    = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"
	magic2    = "Microsoft C/C++ program database 2.00"
	magicPort = "BSJB"

	superblockSize = 56
	noStream       = 0xffffffff // size of a stream that does not exist
)

var le = binary.LittleEndian

// A container is an MSF file: numbered streams, each a list of blocks. Readers do not need
// the free block map.
type container struct {
	data      []byte
	blockSize int
	blocks    int    // in the file
	dir       stream // the stream directory
	sizes     []uint32
	lists     []uint32 // offset in the directory of each stream's block list

	claims  sync.Mutex // guards claimed; no other lock is taken inside
	claimed []bool     // by block
	work    atomic.Int64

	touch func(block uint32) // called for every block read; used by tests
}

// A stream is read in place: only data that spans blocks which are not adjacent is copied.
type stream struct {
	c      *container
	size   int
	blocks []uint32
}

func open(data []byte) (*container, error) {
	switch {
	case bytes.HasPrefix(data, []byte(magic2)):
		return nil, fmt.Errorf("program database version 2: %w", ErrUnsupported)
	case bytes.HasPrefix(data, []byte(magicPort)):
		return nil, fmt.Errorf("portable PDB: %w", ErrUnsupported)
	case !bytes.HasPrefix(data, []byte(magic7)) || len(data) < superblockSize:
		return nil, fmt.Errorf("file does not begin with an MSF superblock: %w", ErrFormat)
	}
	c := &container{data: data, blockSize: int(le.Uint32(data[32:]))}
	if c.blockSize < 512 || c.blockSize > 1<<16 || c.blockSize&(c.blockSize-1) != 0 {
		return nil, fmt.Errorf("invalid block size %d: %w", c.blockSize, ErrFormat)
	}
	c.blocks = len(data) / c.blockSize
	size, mapBlock := le.Uint32(data[44:]), le.Uint32(data[52:])
	// In large files the list of the directory's blocks takes several adjacent blocks.
	n := c.count(size)
	at := uint64(mapBlock) * uint64(c.blockSize)
	if n > c.blocks || at+4*uint64(n) > uint64(len(data)) {
		return nil, fmt.Errorf("directory of %#x bytes, listed at %#x, is not in the file: %w", size, at, ErrFormat)
	}
	list, err := c.list(data[at:], n)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	c.dir = stream{c, int(size), list}
	return c, c.directory()
}

// count returns the number of blocks for a size in bytes.
func (c *container) count(size uint32) int {
	return int((uint64(size) + uint64(c.blockSize) - 1) / uint64(c.blockSize))
}

func (c *container) list(b []byte, n int) ([]uint32, error) {
	list := make([]uint32, n)
	for i := range list {
		list[i] = le.Uint32(b[4*i:])
		if int64(list[i]) >= int64(c.blocks) {
			return nil, fmt.Errorf("block %#x is not among the %#x blocks of the file: %w", list[i], c.blocks, ErrFormat)
		}
	}
	return list, nil
}

func (c *container) directory() error {
	n, ok := c.dir.u32(0)
	if !ok || uint64(n)*4+4 > uint64(c.dir.size) {
		return fmt.Errorf("directory has %d streams but only %#x bytes: %w", n, c.dir.size, ErrFormat)
	}
	c.sizes, c.lists = make([]uint32, n), make([]uint32, n)
	at := 4 + 4*uint64(n)
	for i := range c.sizes {
		c.sizes[i], _ = c.dir.u32(4 + 4*i)
		if c.sizes[i] == noStream {
			c.sizes[i] = 0
		}
		c.lists[i] = uint32(min(at, noStream))
		at += 4 * uint64(c.count(c.sizes[i]))
	}
	return nil
}

// stream opens a stream by its number. A missing stream is empty.
func (c *container) stream(n int) (*stream, error) {
	if n < 0 || n >= len(c.sizes) {
		return &stream{c: c}, nil
	}
	blocks := c.count(c.sizes[n])
	if blocks > c.blocks {
		return nil, fmt.Errorf("stream %d has %#x bytes in a file of %#x: %w", n, c.sizes[n], len(c.data), ErrFormat)
	}
	b, ok := c.dir.bytes(int(c.lists[n]), 4*blocks)
	if !ok {
		return nil, fmt.Errorf("blocks of stream %d are not in the directory: %w", n, ErrFormat)
	}
	list, err := c.list(b, blocks)
	if err != nil {
		return nil, fmt.Errorf("stream %d: %w", n, err)
	}
	return &stream{c, int(c.sizes[n]), list}, nil
}

// claim says that a stream is about to be read as a whole. A block belongs to one stream only, so that all of them together are not larger than
// the file; in a hostile one, many streams may be the same blocks.
func (s *stream) claim() error {
	c := s.c
	c.claims.Lock()
	defer c.claims.Unlock()
	if c.claimed == nil {
		c.claimed = make([]bool, c.blocks)
	}
	for _, b := range s.blocks {
		if c.claimed[b] {
			return fmt.Errorf("block %#x belongs to more than one stream: %w", b, ErrFormat)
		}
		c.claimed[b] = true
	}
	return nil
}

// bytes returns n bytes at an offset. They must not be written to.
func (s *stream) bytes(off, n int) ([]byte, bool) {
	if off < 0 || n < 0 || off > s.size || n > s.size-off {
		return nil, false
	}
	if n == 0 {
		return nil, true
	}
	bs := s.c.blockSize
	first, last := off/bs, (off+n-1)/bs
	neighbours := true
	for i := first; i <= last; i++ {
		if s.c.touch != nil {
			s.c.touch(s.blocks[i])
		}
		neighbours = neighbours && s.blocks[i] == s.blocks[first]+uint32(i-first)
	}
	if neighbours {
		at := int(s.blocks[first])*bs + off%bs
		return s.c.data[at : at+n : at+n], true
	}
	out := make([]byte, 0, n)
	for at := off; len(out) < n; at += bs - at%bs {
		begin := int(s.blocks[at/bs])*bs + at%bs
		out = append(out, s.c.data[begin:begin+min(bs-at%bs, n-len(out))]...)
	}
	return out, true
}

func (s *stream) u32(off int) (uint32, bool) {
	b, ok := s.bytes(off, 4)
	if !ok {
		return 0, false
	}
	return le.Uint32(b), true
}

// A view is a part of a stream.
type view struct {
	s         *stream
	off, size int
}

func (s *stream) view(off, size int) (view, bool) {
	if off < 0 || size < 0 || off > s.size || size > s.size-off {
		return view{}, false
	}
	return view{s, off, size}, true
}

func (v view) bytes(off, n int) ([]byte, bool) {
	if off < 0 || n < 0 || off > v.size || n > v.size-off {
		return nil, false
	}
	return v.s.bytes(v.off+off, n)
}

// record reads a symbol or type record: its length (without the length field), its kind and
// its contents. next is the offset of the following record.
func (v view) record(off int) (kind uint16, rec []byte, next int, ok bool) {
	head, ok := v.bytes(off, 4)
	if !ok {
		return 0, nil, 0, false
	}
	n := int(le.Uint16(head)) + 2
	if n < 4 {
		return 0, nil, 0, false
	}
	rec, ok = v.bytes(off, n)
	return le.Uint16(head[2:]), rec, off + n, ok
}

// cstring returns the text up to the first NUL, or all of it.
func cstring(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// text reads a NUL-terminated string at an offset of a stream.
func (s *stream) text(off int) string {
	var out []byte
	for n := 0; n < maxName; {
		chunk := min(64, s.size-off-n)
		b, ok := s.bytes(off+n, chunk)
		if !ok || chunk <= 0 {
			break
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(out, b[:i]...))
		}
		out = append(out, b...)
		n += chunk
	}
	return string(out)
}

const maxName = 1 << 16
