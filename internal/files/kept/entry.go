package kept

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// The format of an entry, all numbers little-endian:
//
//	magic      16 bytes
//	length     u32, of the header in bytes, from the magic to the checksums of blocks
//	checksum   u32, CRC-32 of the rest of the header
//	source     u64 device, inode, size, mtime and ctime in nanoseconds; u8 length and bytes of the
//	           build-id; u16 length and bytes of the path
//	parts      u32 their number; for each u32 kind, u32 section, u64 offset, u64 length, u32 ends,
//	           u64 size, u64 bytes kept, u64 where in the entry; u32 checksum of each block kept
//
// The parts follow, each at a multiple of the block size and as long as the whole part is: what is
// not kept is a hole in the file.
const (
	magic      = "corewalk kept 2\n"
	headerTop  = len(magic) + 8
	blockSize  = 4096
	maxBuildID = 64
	maxPath    = 4096
	maxParts   = 256
	maxHeader  = 64 << 20
)

// Checksum is the checksum of parts and of Key.Ends. Go computes CRC-32 in half the time of CRC-32C.
func Checksum(data ...[]byte) uint32 {
	sum := uint32(0)
	for _, d := range data {
		sum = crc32.Update(sum, crc32.IEEETable, d)
	}
	return sum
}

var errFormat = errors.New("not an entry of this version, or damaged")

// An Entry is what is kept of one file, and takes more.
type Entry struct {
	room   *Room
	source Source
	opened time.Time
	file   *mmapfile.File // nil if there is none
	parts  []*Part
}

// A Part is the beginning of something that was made of the file.
type Part struct {
	Key  Key
	data []byte // the whole part; only what is kept has contents, or what its user wrote
	have uint64
	sums []byte
	// mu is held while a block is checked or made; that of the section that is decompressed for it is taken inside.
	mu    sync.Mutex
	ready []atomic.Uint32 // a bit for each block of data
}

// Entry opens what is kept of a file. It never fails: if there is nothing, the Entry has no
// parts. The caller closes it after the last use of its parts.
func (r *Room) Entry(s Source) *Entry {
	e := &Entry{room: r, source: s, opened: r.now()}
	if !s.usable() {
		return e
	}
	d, err := r.open(s.wing())
	if err != nil {
		return e
	}
	defer d.Close()
	f, err := d.openFile(s.name())
	if err != nil {
		return e
	}
	defer f.Close()
	m, err := mmapfile.Private(f)
	if err != nil {
		return e
	}
	err = errFormat
	fault := mmapfile.Guard(func() { e.parts, err = parse(m.Data(), &s) })
	if err != nil || fault != nil {
		e.parts = nil
		m.Close()
		return e
	}
	e.file = m
	d.used(f, r.now())
	return e
}

// parse reads the header of an entry of the source s.
func parse(data []byte, s *Source) ([]*Part, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	if h.file != s.File || !bytes.Equal(h.buildID, s.BuildID) {
		return nil, errors.New("made of another file")
	}
	return h.parts, nil
}

type header struct {
	file    mmapfile.ID
	buildID []byte
	path    []byte
	parts   []*Part
}

func readHeader(data []byte) (*header, error) {
	c := binbuf.New(data, 0, false)
	top := c.Bytes(len(magic))
	length, sum := c.U32(), c.U32()
	if c.Error != nil || string(top) != magic || length < uint32(headerTop) || length > maxHeader || uint64(length) > uint64(len(data)) ||
		Checksum(data[headerTop:length]) != sum {
		return nil, errFormat
	}
	c.Data = data[:length]
	h := new(header)
	h.file.Dev, h.file.Ino, h.file.Size = c.U64(), c.U64(), int64(c.U64())
	h.file.MtimeNs, h.file.CtimeNs = int64(c.U64()), int64(c.U64())
	h.buildID = c.Bytes(int(c.U8()))
	h.path = c.Bytes(int(c.U16()))
	n := c.U32()
	if c.Error != nil || n > maxParts {
		return nil, errFormat
	}
	next := RoundUp(uint64(length)) // parts do not overlap each other or the header
	for range n {
		p := &Part{Key: Key{Kind: c.U32(), Section: c.U32(), Offset: c.U64(), Length: c.U64(), Ends: c.U32()}}
		var size, at uint64
		size, p.have, at = c.U64(), c.U64(), c.U64()
		var ok bool
		p.data, ok = binbuf.Slice(data, at, size)
		if c.Error != nil || !ok || p.have > size || at < next || at%blockSize != 0 {
			return nil, errFormat
		}
		next = RoundUp(at + size)
		p.sums = c.Bytes64(4 * blocks(p.have))
		if c.Error != nil {
			return nil, errFormat
		}
		p.ready = make([]atomic.Uint32, (blocks(size)+31)/32)
		h.parts = append(h.parts, p)
	}
	return h, nil
}

// RoundUp returns the end of the block that ends at n bytes or contains it. Only whole blocks of a
// part are kept.
func RoundUp(n uint64) uint64 { return (n + blockSize - 1) / blockSize * blockSize }

func blocks(size uint64) uint64 { return (size + blockSize - 1) / blockSize }

// Part returns the part with a key and a size in bytes, or nil.
func (e *Entry) Part(k Key, size uint64) *Part {
	for _, p := range e.parts {
		if p.Key == k && uint64(len(p.data)) == size {
			return p
		}
	}
	return nil
}

// Keeps reports whether Keep may write something.
func (e *Entry) Keeps() bool { return e.room.limit > 0 && e.source.usable() }

// Whole returns a part that is kept whole and not damaged, of whatever size, or nil. Like Need, it may fault.
func (e *Entry) Whole(k Key) []byte {
	if p := e.WholePart(k); p != nil && p.Need(0, p.have, func([]byte, uint64) error { return errFormat }) == nil {
		return p.data
	}
	return nil
}

// WholePart returns a part that is kept whole, of whatever size, or nil. Its blocks may be damaged.
func (e *Entry) WholePart(k Key) *Part {
	for _, p := range e.parts {
		if p.Key == k && p.have == uint64(len(p.data)) {
			return p
		}
	}
	return nil
}

// Close unmaps the parts.
func (e *Entry) Close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// Data is the whole part. Only what Need has accepted may be read.
func (p *Part) Data() []byte { return p.data }

// Have is the length of what is kept of the part, in bytes.
func (p *Part) Have() uint64 { return p.have }

// Need makes the bytes from from to end of the part readable. For a block that is not kept, or is
// damaged, it calls fill, which copies the bytes from off on to dst. Only those blocks are
// changed, so what was accepted before never changes. An error is that of fill.
//
// If another process truncates the file, reading is a memory fault: the caller must be inside
// mmapfile.Guard.
func (p *Part) Need(from, end uint64, fill func(dst []byte, off uint64) error) error {
	end = min(end, uint64(len(p.data)))
	if from >= end {
		return nil
	}
	last := (end - 1) / blockSize
	for b := from / blockSize; b <= last; b++ {
		if p.isReady(b) {
			continue
		}
		if err := p.makeReady(b, fill); err != nil {
			return err
		}
	}
	return nil
}

func (p *Part) isReady(b uint64) bool { return p.ready[b/32].Load()>>(b%32)&1 != 0 }

func (p *Part) makeReady(b uint64, fill func(dst []byte, off uint64) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isReady(b) {
		return nil
	}
	if !p.sound(b) {
		block := p.block(b)
		if err := fill(block, b*blockSize); err != nil {
			return err
		}
	}
	p.ready[b/32].Or(1 << (b % 32))
	return nil
}

// block returns block b; the last one of a part may be shorter.
func (p *Part) block(b uint64) []byte {
	return p.data[b*blockSize : min((b+1)*blockSize, uint64(len(p.data)))]
}

// sound reports whether block b is kept and has its checksum. A block of which only the
// beginning is kept does not count.
func (p *Part) sound(b uint64) bool {
	block := p.block(b)
	return b*blockSize+uint64(len(block)) <= p.have && Checksum(block) == binary.LittleEndian.Uint32(p.sums[4*b:])
}

// prefix returns the beginning of the part that is kept and sound. It may fault as Need does.
func (p *Part) prefix() []byte {
	for b := range blocks(p.have) {
		if !p.sound(b) {
			return p.data[:b*blockSize]
		}
	}
	return p.data[:p.have]
}

// String identifies the entry in errors.
func (e *Entry) String() string { return fmt.Sprintf("%s of %s", e.source.name(), e.source.Path) }
