package python

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// memory reads objects of a process.
type memory struct {
	p *tasks.Process
	*layout
	absent atomic.Uint64 // where memory was wanted last that the process had and that the dump lacks; 0 for nowhere
}

// failed notes why memory could not be read, and reports whether the dump lacks it. Memory that the process did not have says that
// an address is wrong; memory that the dump lacks says nothing.
func (m *memory) failed(at uint64, err error) bool {
	if !errors.Is(err, arch.ErrNotInDump) && !errors.Is(err, arch.ErrTruncated) {
		return false
	}
	var e *arch.MemError
	if errors.As(err, &e) {
		at = e.Addr
	}
	m.absent.Store(at)
	return true
}

// lacks reports whether the dump lacks memory at an address that the process had.
func (m *memory) lacks(at uint64) bool {
	if at == 0 || at >= 1<<56 || m.p.Spend(1) != nil {
		return false
	}
	var b [1]byte
	_, err := m.p.State.ReadMem(at, b[:])
	return err != nil && m.failed(at, err)
}

// bytes reads n bytes; nil if not all of them are there, or if the work is at its limit.
func (m *memory) bytes(at, n uint64) []byte {
	if at == 0 || at >= 1<<56 || n == 0 || n > maxRead || m.p.Spend(int(1+n/64)) != nil {
		return nil
	}
	b := make([]byte, n)
	if got, err := m.p.State.ReadMem(at, b); err != nil || got < len(b) {
		m.failed(at, err)
		return nil
	}
	return b
}

// maxRead limits what is read at once.
const maxRead = 1 << 20

func (m *memory) word(at uint64) uint64 {
	if at == 0 || at >= 1<<56 || at&7 != 0 || m.p.Spend(1) != nil {
		return 0
	}
	v, err := m.p.State.ReadWord(at)
	if err != nil {
		m.failed(at, err)
		return 0
	}
	return v
}

func (m *memory) u32(at uint64) uint32 {
	b := m.bytes(at, 4)
	if b == nil {
		return 0
	}
	return m.p.State.Arch().ByteOrder.Uint32(b)
}

func (m *memory) u8(at uint64) uint8 {
	b := m.bytes(at, 1)
	if b == nil {
		return 0
	}
	return b[0]
}

// field reads a pointer in the object at an address.
func (m *memory) field(at uint64, name string) uint64 {
	if at == 0 {
		return 0
	}
	return m.word(at + m.at(name))
}

// cstring reads text that ends with a zero byte.
func (m *memory) cstring(at uint64, limit int) string {
	var s strings.Builder
	for s.Len() < limit {
		n := 64 - at%64 // never into another page needlessly
		b := m.bytes(at, n)
		if b == nil {
			break
		}
		if i := strings.IndexByte(string(b), 0); i >= 0 {
			s.Write(b[:i])
			return s.String()
		}
		s.Write(b)
		at += n
	}
	return ""
}
