package beam

import (
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/tasks"
)

// memory reads records of a process.
type memory struct {
	procmem.Reader
	layout
	p *tasks.Process
}

// lowest is below all addresses of a process.
const lowest = 1 << 12

// field reads a word in the record at an address; 0 if it is not there.
func (m *memory) field(at uint64, name string) uint64 {
	if at < lowest || at%8 != 0 {
		return 0
	}
	return m.Word(at + m.at(name))
}

// number reads 4 bytes in the record at an address.
func (m *memory) number(at uint64, name string) uint32 {
	if at < lowest || at%8 != 0 {
		return 0
	}
	v, _ := m.U32(at + m.at(name))
	return v
}

// A record is the bytes of a record of which several fields are read.
type record struct {
	m *memory
	b []byte
}

// record reads a record; nil bytes if it is not there.
func (m *memory) record(at uint64, size string) record {
	if at < lowest || at%8 != 0 {
		return record{m: m}
	}
	return record{m, m.Bytes(at, int(min(m.at(size), maxRecord)))}
}

// maxRecord limits the size of records, in bytes.
const maxRecord = 1 << 16

func (r record) word(name string) uint64 {
	at := r.m.at(name)
	if at+8 > uint64(len(r.b)) {
		return 0
	}
	return r.m.Arch.Word(r.b[at:])
}

func (r record) number(name string) uint32 {
	at := r.m.at(name)
	if at+4 > uint64(len(r.b)) {
		return 0
	}
	return r.m.Arch.ByteOrder.Uint32(r.b[at:])
}
