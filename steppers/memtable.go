package steppers

import (
	"sync"

	"github.com/corewalk/corewalk/internal/format/dwarf/cfi"
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// memoryTables are the unwind tables of libraries whose files are missing, as far as the process's memory has them: cores
// have the headers of libraries, small programs whole, and with other filters all code. They may be used concurrently.
type memoryTables struct {
	mu    sync.Mutex
	byLib map[*libstate.Library]memoryTable
}

// A memoryTable is a library's .eh_frame in memory, nil for none, and the library's load bias.
type memoryTable struct {
	table *cfi.Table
	bias  uint64
}

const (
	// maxHeaders is how many bytes of ELF headers are read, and maxIndex of .eh_frame_hdr; maxTable is how many of .eh_frame.
	maxHeaders, maxIndex, maxTable = 4096, 8 << 20, 32 << 20
	// maxMemoryTables is for how many libraries tables are kept, or known to be missing.
	maxMemoryTables = 1 << 10
	// tableCost is how many bytes that are read of a table cost the walk's budget one.
	tableCost = 64
)

// of returns the table of a library that frame f is in.
func (t *memoryTables) of(f *unwind.Frame, lib *libstate.Library) memoryTable {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.byLib[lib]
	if !ok && (lib.Kind == libstate.SharedLibrary || lib.Kind == libstate.Executable || lib.Kind == libstate.Interpreter) && !isPE(lib) {
		found = readTable(f, lib)
	}
	if !ok {
		if t.byLib == nil || len(t.byLib) >= maxMemoryTables {
			t.byLib = map[*libstate.Library]memoryTable{}
		}
		t.byLib[lib] = found
	}
	return found
}

// readTable reads the table that the program headers in memory lead to. Of a table that memory has in part, only the entries that
// are wholly there are in the result.
func readTable(f *unwind.Frame, lib *libstate.Library) (none memoryTable) {
	p := procmem.Of(f.Walker().ProcessState())
	elf, err := elffile.ParseMemory(p.Some(lib.HeaderAddr, maxHeaders), lib.HeaderAddr)
	if lib.HeaderAddr == 0 || err != nil {
		return none
	}
	bias, index := lib.HeaderAddr, (*elffile.Prog)(nil)
	for i := range elf.Progs {
		switch q := &elf.Progs[i]; {
		case q.Type == elffile.PT_LOAD && q.Off == 0:
			bias = lib.HeaderAddr - q.Vaddr
		case q.Type == elffile.PT_GNU_EH_FRAME:
			index = q
		}
	}
	if index == nil || index.Memsz > maxIndex || f.Spend(int(index.Memsz/tableCost)) != nil {
		return none
	}
	hdr := p.Bytes(bias+index.Vaddr, int(index.Memsz))
	if hdr == nil {
		return none
	}
	cfg := cfi.Config{Big: elf.Big(), AddrSize: elf.PtrSize(), AArch64: elf.Machine == elffile.EM_AARCH64}
	addr, ok := cfi.EHFramePtr(hdr, index.Vaddr, cfg)
	if !ok {
		return none
	}
	seg := elf.LoadAt(addr)
	if seg == nil {
		return none
	}
	size := min(seg.Vaddr+seg.Filesz-addr, maxTable)
	if addr-seg.Vaddr >= seg.Filesz || f.Spend(int(size/tableCost)) != nil {
		return none
	}
	data := p.Some(bias+addr, int(size))
	if len(data) == 0 {
		return none
	}
	return memoryTable{cfi.EHFrame(data, addr, hdr, index.Vaddr, cfg), bias}
}
