package golang

import (
	"errors"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// memory reads the structures of a process.
type memory struct {
	procmem.Reader
	p     *tasks.Process
	names *names
}

// maxRead limits what is read at once, in bytes.
const maxRead = 1 << 20

func (m memory) word(at uint64) (uint64, bool) {
	if at == 0 {
		return 0, false
	}
	return m.LookupWord(at)
}

// bytes reads n bytes; nil if not all of them are there.
func (m memory) bytes(at, n uint64) []byte {
	if at == 0 || n == 0 || n > maxRead {
		return nil
	}
	return m.Bytes(at, int(n))
}

// text reads at most 4 KiB of a string.
func (m memory) text(at, n uint64) (string, bool) {
	if n == 0 {
		return "", true
	}
	if n > 4096 {
		return "", false
	}
	b := m.bytes(at, n)
	return string(b), b != nil
}

// An object is the bytes of a structure, and where its fields are.
type object struct {
	m    memory
	at   uint64
	rec  *record
	data []byte
}

// object reads the structure of a kind at an address; false if not all of it can be read.
func (m memory) object(rec *record, at uint64) (object, bool) {
	if rec == nil {
		return object{}, false
	}
	b := m.bytes(at, rec.size)
	return object{m, at, rec, b}, b != nil
}

// beginning is object for as much of a structure as can be read: a small core may end within it. Fields behind that are 0.
func (m memory) beginning(rec *record, at uint64) (object, bool) {
	if rec == nil || at == 0 || rec.size > maxRead {
		return object{}, false
	}
	b := m.Some(at, int(rec.size))
	return object{m, at, rec, b}, len(b) > 0
}

// lacks reports whether a dump lacks memory of a structure that the process had.
func (m memory) lacks(rec *record, at uint64) bool {
	if rec == nil || at == 0 || rec.size > maxRead {
		return false
	}
	_, err := m.ReadMem(at, make([]byte, rec.size))
	return errors.Is(err, arch.ErrNotInDump) || errors.Is(err, arch.ErrTruncated)
}

// word is a pointer-sized field; 0 if this version does not have it.
func (o *object) word(field string) uint64 {
	off, ok := o.rec.off(field)
	if !ok || off+uint64(o.m.Arch.WordSize) > uint64(len(o.data)) {
		return 0
	}
	return o.m.Arch.Word(o.data[off:])
}

func (o *object) u64(field string) uint64 {
	off, ok := o.rec.off(field)
	if !ok || off+8 > uint64(len(o.data)) {
		return 0
	}
	return o.m.Arch.ByteOrder.Uint64(o.data[off:])
}

func (o *object) u32(field string) uint32 {
	off, ok := o.rec.off(field)
	if !ok || off+4 > uint64(len(o.data)) {
		return 0
	}
	return o.m.Arch.ByteOrder.Uint32(o.data[off:])
}

func (o *object) u16(field string) uint16 {
	off, ok := o.rec.off(field)
	if !ok || off+2 > uint64(len(o.data)) {
		return 0
	}
	return o.m.Arch.ByteOrder.Uint16(o.data[off:])
}

func (o *object) u8(field string) uint8 {
	off, ok := o.rec.off(field)
	if !ok || off >= uint64(len(o.data)) {
		return 0
	}
	return o.data[off]
}

func (o *object) has(field string) bool { _, ok := o.rec.off(field); return ok }
