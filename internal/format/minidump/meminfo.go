package minidump

import (
	"fmt"
	"strings"
)

// A Region is an entry of the MemoryInfoList: VirtualQuery's description of a range of
// pages.
type Region struct {
	Base, AllocBase uint64
	AllocProtect    uint32
	Size            uint64
	State           uint32
	Protect         uint32
	Type            uint32
}

// States, types and protections of a Region (memoryapi.h).
const (
	MemCommit  = 0x1000
	MemReserve = 0x2000
	MemFree    = 0x10000

	MemPrivate = 0x20000
	MemMapped  = 0x40000
	MemImage   = 0x1000000

	PageNoAccess         = 1
	PageReadOnly         = 2
	PageReadWrite        = 4
	PageWriteCopy        = 8
	PageExecute          = 0x10
	PageExecuteRead      = 0x20
	PageExecuteReadWrite = 0x40
	PageExecuteWriteCopy = 0x80
	PageGuard            = 0x100
	pageNoCache          = 0x200
	pageWriteCombine     = 0x400
)

// Readable, Writable and Executable report what the process could do there. A guard page
// allows nothing: the first access faults.
func (r *Region) Readable() bool {
	return r.allows(PageReadOnly | PageReadWrite | PageWriteCopy | PageExecuteRead | PageExecuteReadWrite | PageExecuteWriteCopy)
}

func (r *Region) Writable() bool {
	return r.allows(PageReadWrite | PageWriteCopy | PageExecuteReadWrite | PageExecuteWriteCopy)
}

func (r *Region) Executable() bool {
	return r.allows(PageExecute | PageExecuteRead | PageExecuteReadWrite | PageExecuteWriteCopy)
}

func (r *Region) allows(bits uint32) bool {
	return r.State == MemCommit && r.Protect&PageGuard == 0 && r.Protect&bits != 0
}

// Guard reports whether r is a guard page.
func (r *Region) Guard() bool { return r.State == MemCommit && r.Protect&PageGuard != 0 }

// Protection describes what the process could do: "r-x", followed by "guard", "write-copy"
// and so on.
func (r *Region) Protection() string {
	bit := func(may bool, c byte) byte {
		if may {
			return c
		}
		return '-'
	}
	bare := *r
	bare.Protect &^= PageGuard // describes both the protection after the first access and the guard
	words := []string{string([]byte{bit(bare.Readable(), 'r'), bit(bare.Writable(), 'w'), bit(bare.Executable(), 'x')})}
	for _, flag := range []struct {
		bits uint32
		word string
	}{{PageWriteCopy | PageExecuteWriteCopy, "write-copy"}, {PageGuard, "guard"}, {pageNoCache, "no-cache"}, {pageWriteCombine, "write-combine"}} {
		if r.Protect&flag.bits != 0 {
			words = append(words, flag.word)
		}
	}
	return strings.Join(words, " ")
}

// StateName and TypeName return the names of state and type, or a number if unknown.
func (r *Region) StateName() string {
	switch r.State {
	case MemCommit:
		return "commit"
	case MemReserve:
		return "reserve"
	case MemFree:
		return "free"
	}
	return fmt.Sprintf("%#x", r.State)
}

func (r *Region) TypeName() string {
	switch r.Type {
	case 0:
		return ""
	case MemPrivate:
		return "private"
	case MemMapped:
		return "mapped"
	case MemImage:
		return "image"
	}
	return fmt.Sprintf("%#x", r.Type)
}

// readMemoryInfo decodes MINIDUMP_MEMORY_INFO_LIST.
func (f *File) readMemoryInfo(s []byte) {
	body, n, stride := f.sizedList(MemoryInfoListStream, s, 8, 48)
	f.Regions = make([]Region, 0, n)
	for i := range n {
		c := f.cursor(body[i*stride : (i+1)*stride])
		r := Region{Base: c.U64(), AllocBase: c.U64(), AllocProtect: c.U32()}
		c.Skip(4)
		r.Size, r.State, r.Protect, r.Type = c.U64(), c.U32(), c.U32(), c.U32()
		if r.Size == 0 {
			continue
		}
		if r.Base+(r.Size-1) < r.Base {
			f.warnf("memory region at %#x: its %#x bytes extend past the end of the address space", r.Base, r.Size)
			r.Size = -r.Base
		}
		f.Regions = append(f.Regions, r)
	}
}
