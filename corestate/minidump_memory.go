package corestate

import (
	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// ReadMem fills buf with the process's memory from addr on, across ranges: the dump's
// bytes, else those of a matched file where they cannot differ (see SetBacking).
func (d *Minidump) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return d.readMem(addr, buf, d.backing.Load())
}

func (d *Minidump) readMem(addr arch.Address, buf []byte, files *overlay) (int, error) {
	for n := 0; n < len(buf); {
		a := addr + uint64(n)
		if a < addr {
			return n, &arch.MemError{Addr: a, Err: arch.ErrUnmapped}
		}
		b := d.file.Memory.At(a)
		if len(b) == 0 && files != nil {
			b = d.fromFile(a, files)
		}
		if len(b) == 0 {
			return n, d.unreadable(a)
		}
		n += copy(buf[n:], b)
	}
	return len(buf), nil
}

// fromFile returns bytes of a matched file for addr, up to where the dump has its own
// again.
func (d *Minidump) fromFile(addr arch.Address, files *overlay) []byte {
	if m, ok := d.MappingAt(addr); ok && m.Perm&libstate.Unknown == 0 && m.Perm&libstate.Write != 0 {
		return nil
	}
	b := files.bytesAt(addr, nil)
	if next, ok := d.file.Memory.Next(addr); ok && next-addr < uint64(len(b)) {
		b = b[:next-addr]
	}
	return b
}

// lowest is where the address space of processes begins on all systems.
const lowest = 0x1000

// unreadable says why addr cannot be read. A dump that does not list what the process
// had mapped cannot tell what was not.
func (d *Minidump) unreadable(addr arch.Address) error {
	err := arch.ErrNotInDump
	if d.file.Memory.Lost(addr) {
		err = arch.ErrTruncated
	} else if _, ok := d.MappingAt(addr); !ok && (d.mapped || addr < lowest) {
		err = arch.ErrUnmapped
	}
	return &arch.MemError{Addr: addr, Err: err}
}

// ReadWord reads one pointer-sized integer. Success allocates nothing.
func (d *Minidump) ReadWord(addr arch.Address) (uint64, error) {
	size := d.wordSize()
	if b := d.file.Memory.At(addr); len(b) >= size {
		return d.word(b), nil
	}
	return d.slowWord(addr, d.backing.Load())
}

func (d *Minidump) slowWord(addr arch.Address, files *overlay) (uint64, error) {
	var buf [8]byte
	if _, err := d.readMem(addr, buf[:d.wordSize()], files); err != nil {
		return 0, err
	}
	return d.word(buf[:]), nil
}

func (d *Minidump) word(b []byte) uint64 {
	if d.wordSize() == 8 {
		return d.order().Uint64(b)
	}
	return uint64(d.order().Uint32(b))
}

// minidumpMemory is what the dump itself holds.
type minidumpMemory struct{ d *Minidump }

func (m minidumpMemory) ReadMem(addr arch.Address, buf []byte) (int, error) {
	return m.d.readMem(addr, buf, nil)
}

func (m minidumpMemory) ReadWord(addr arch.Address) (uint64, error) { return m.d.slowWord(addr, nil) }

// DumpMemory is the memory that the dump itself holds: no file stands in for what it
// left out.
func (d *Minidump) DumpMemory() arch.Memory { return minidumpMemory{d} }

// SetBacking lets files stand in for memory that the dump left out (see
// ELFCore.SetBacking).
func (d *Minidump) SetBacking(file func(*libstate.Library) *elffile.File) {
	if file == nil {
		d.backing.Store(nil)
		return
	}
	d.backing.Store(&overlay{libraryAt: d.libraryAt, file: file})
}

func (d *Minidump) libraryAt(addr arch.Address) (*libstate.Library, bool) {
	t := d.libs.Load()
	if t == nil {
		return nil, false
	}
	return t.Known(addr)
}

// InDump is how many of the bytes from start to end the dump has.
func (d *Minidump) InDump(start, end arch.Address) uint64 {
	n := uint64(0)
	for addr := start; addr < end; {
		b := d.file.Memory.At(addr)
		if len(b) == 0 {
			next, ok := d.file.Memory.Next(addr)
			if !ok || next >= end {
				break
			}
			addr = next
			continue
		}
		k := min(uint64(len(b)), end-addr)
		n += k
		if addr += k; addr == 0 {
			break
		}
	}
	return n
}
