// Package corewrite lays out ELF core files as the Linux kernel does (fs/binfmt_elf.c,
// include/linux/elfcore.h): headers, notes and memory, in both classes and byte orders. It does not check its
// input.
//
// A caller that has the memory adds it with Load and calls Bytes. For large processes, Segment declares how
// much memory there will be, and Layout says where in the file it belongs.
package corewrite

import (
	"encoding/binary"

	"github.com/corewalk/corewalk/internal/format/elffile"
)

// Note types with the owner "CORE", except XState, whose owner is "LINUX" (include/uapi/linux/elf.h).
const (
	PRStatus = 1
	FPRegSet = 2
	PRPSInfo = 3
	Auxv     = 6
	XState   = 0x202
	File     = 0x46494c45
	SigInfo  = 0x53494749
)

// A Core is a core file being built. Its fields may be changed until it is laid out.
type Core struct {
	Class     int // 32 or 64
	Order     binary.ByteOrder
	Type      uint16
	Machine   uint16
	OSABI     byte
	Flags     uint32 // e_flags
	NoteAlign int    // alignment of names and descriptors, in bytes
	LoadAlign uint64 // alignment of memory in the file, in bytes; 0 for none
	Sections  int    // number of section headers to write, all null

	notes []byte
	loads []load
}

type load struct {
	vaddr, memsz, filesz uint64
	flags                uint32
	data                 []byte
}

// Word appends words of the core's word size to b.
func (c *Core) Word(b []byte, words ...uint64) []byte {
	for _, w := range words {
		if c.Class == 64 {
			b = c.append64(b, w)
		} else {
			b = c.append32(b, uint32(w))
		}
	}
	return b
}

func (c *Core) append16(b []byte, vs ...uint16) []byte {
	for _, v := range vs {
		b = append(b, 0, 0)
		c.Order.PutUint16(b[len(b)-2:], v)
	}
	return b
}

func (c *Core) append32(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = append(b, 0, 0, 0, 0)
		c.Order.PutUint32(b[len(b)-4:], v)
	}
	return b
}

func (c *Core) append64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
		c.Order.PutUint64(b[len(b)-8:], v)
	}
	return b
}

func pad(b []byte, to int) []byte {
	for len(b)%to != 0 {
		b = append(b, 0)
	}
	return b
}

// fixed appends s to b in a field of n bytes, cut or padded with zeros.
func fixed(b []byte, s string, n int) []byte {
	field := make([]byte, n)
	copy(field, s)
	return append(b, field...)
}

// Load adds memsz bytes of memory at vaddr; the file has data for the first of them. flags are PF_R and so on.
func (c *Core) Load(vaddr uint64, flags uint32, memsz uint64, data []byte) {
	c.loads = append(c.loads, load{vaddr, memsz, uint64(len(data)), flags, data})
}

// Segment adds memory whose bytes the caller writes: the first filesz of the memsz bytes at vaddr, at the
// offset in the file that Layout returns.
func (c *Core) Segment(vaddr uint64, flags uint32, memsz, filesz uint64) {
	c.loads = append(c.loads, load{vaddr: vaddr, memsz: memsz, filesz: filesz, flags: flags})
}

// Layout returns the core without its memory: head belongs at the start of the file, offsets are where each
// piece of memory begins, in the order in which they were added, and tail (section headers, if any) belongs at
// size-len(tail).
func (c *Core) Layout() (head, tail []byte, offsets []uint64, size uint64) {
	progs := []elffile.Prog{{Type: elffile.PT_NOTE, Filesz: uint64(len(c.notes)), Align: uint64(c.NoteAlign)}}
	for _, l := range c.loads {
		progs = append(progs, elffile.Prog{
			Type: elffile.PT_LOAD, Flags: l.flags, Vaddr: l.vaddr, Memsz: l.memsz, Filesz: l.filesz, Align: 4096,
		})
	}
	h := Header{Class: c.Class, Order: c.Order, Type: c.Type, Machine: c.Machine, OSABI: c.OSABI, Flags: c.Flags, Progs: progs, Sections: c.Sections}
	at := uint64(len(h.Bytes()))
	progs[0].Off = at
	at += uint64(len(c.notes))
	if a := c.LoadAlign; a > 0 && len(c.loads) > 0 {
		at = (at + a - 1) / a * a
	}
	start := at
	for i, l := range c.loads {
		progs[i+1].Off = at
		offsets = append(offsets, at)
		at += l.filesz
	}
	h.SectionOffset = at
	head = append(h.Bytes(), c.notes...)
	head = append(head, make([]byte, start-uint64(len(head)))...)
	tail = h.sections()
	return head, tail, offsets, at + uint64(len(tail))
}

// Bytes returns the core file; memory without data is zeros.
func (c *Core) Bytes() []byte {
	head, tail, offsets, size := c.Layout()
	out := make([]byte, size)
	copy(out, head)
	for i, l := range c.loads {
		copy(out[offsets[i]:], l.data)
	}
	copy(out[size-uint64(len(tail)):], tail)
	return out
}
