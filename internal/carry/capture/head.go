package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxHead limits the headers and the notes of a core, in bytes: those of ten thousand threads are 20 MB.
const MaxHead = 128 << 20

// ErrNoHead means that what the kernel writes does not begin as a core does.
var ErrNoHead = errors.New("no core comes through the pipe")

// readHead reads the ELF header, the program headers and the notes, which kernels write first, and nothing behind
// them. What was read is returned even with an error.
func readHead(r io.Reader) ([]byte, error) {
	head := &growing{from: r}
	if err := head.to(64); err != nil {
		return head.b, err
	}
	b := head.b
	if string(b[:4]) != "\x7fELF" || b[4] != 1 && b[4] != 2 {
		return b, fmt.Errorf("it begins with % x: %w", b[:4], ErrNoHead)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if b[5] == 2 {
		order = binary.BigEndian
	}
	phoff, size, count, first := order.Uint64(b[32:]), uint64(order.Uint16(b[54:])), uint64(order.Uint16(b[56:])), uint64(56)
	if b[4] == 1 {
		phoff, size, count, first = uint64(order.Uint32(b[28:])), uint64(order.Uint16(b[42:])), uint64(order.Uint16(b[44:])), 32
	}
	if phoff < 52 || phoff > MaxHead || size < first || count == 0 {
		return b, fmt.Errorf("it has no program headers: %w", ErrNoHead)
	}
	if err := head.to(phoff + count*size); err != nil {
		return head.b, err
	}
	end := uint64(0)
	for i := range count {
		p := head.b[phoff+i*size:]
		const note = 4
		if order.Uint32(p) != note {
			continue
		}
		off, n := order.Uint64(p[8:min(len(p), 16)]), uint64(0)
		if b[4] == 1 {
			off, n = uint64(order.Uint32(p[4:])), uint64(order.Uint32(p[16:]))
		} else {
			n = order.Uint64(p[32:])
		}
		if off > MaxHead || n > MaxHead {
			return head.b, fmt.Errorf("%d bytes of notes at %d are too much: %w", n, off, ErrNoHead)
		}
		end = max(end, off+n)
	}
	return head.b, head.to(end)
}

// growing is what was read so far. It grows as bytes come, not as headers say.
type growing struct {
	from io.Reader
	b    []byte
}

// to reads until there are n bytes.
func (g *growing) to(n uint64) error {
	if n > MaxHead {
		return fmt.Errorf("the notes end after %d bytes, more than %d: %w", n, MaxHead, ErrNoHead)
	}
	for uint64(len(g.b)) < n {
		at := len(g.b)
		g.b = append(g.b, make([]byte, min(n-uint64(at), 1<<20))...)
		got, err := io.ReadFull(g.from, g.b[at:])
		g.b = g.b[:at+got]
		if err != nil {
			return fmt.Errorf("the core ends after %d of %d bytes of headers and notes: %w", len(g.b), n, io.ErrUnexpectedEOF)
		}
	}
	return nil
}
