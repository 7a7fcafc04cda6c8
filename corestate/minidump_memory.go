package corestate

import (
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// bytesAt returns bytes from addr: the dump's, otherwise those of files.
func (d *Minidump) bytesAt(addr arch.Address, files *overlay) []byte {
	b := d.file.Memory.At(addr)
	if len(b) == 0 && files != nil {
		return d.fromFile(addr, files)
	}
	return b
}

// fromFile returns bytes of a matched file for addr, up to the next memory in the dump.
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

// lowest is the lowest address of processes on any system.
const lowest = 0x1000

// unreadable says why addr cannot be read. A dump that does not list the process's
// mappings cannot tell what was not mapped.
func (d *Minidump) unreadable(addr arch.Address) error {
	err := arch.ErrNotInDump
	if d.file.Memory.Lost(addr) {
		err = arch.ErrTruncated
	} else if _, ok := d.MappingAt(addr); !ok && (d.mapped || addr < lowest) {
		err = arch.ErrUnmapped
	}
	return err
}

// InDump returns how many of the bytes from start to end are in the dump.
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
