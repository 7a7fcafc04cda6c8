package main

import (
	"encoding/binary"
	"os"
	"slices"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/elffile"
)

const (
	pageSize = 4096
	// maxStack and maxPointed bound what is read, in pages.
	maxStack   = 64
	maxPointed = 32
)

// pages is the memory for the core.
type pages struct {
	stub  *stub
	order binary.ByteOrder
	have  map[uint64][]byte
	text  [][2]uint64 // the program's segments that are not writable: its file has them
}

func newPages(s *stub, order binary.ByteOrder) *pages {
	return &pages{stub: s, order: order, have: map[uint64][]byte{}}
}

// add reads the page at addr; false where it cannot be read.
func (p *pages) add(addr uint64) bool {
	if p.have[addr] != nil {
		return true
	}
	page, ok := p.stub.memory(addr)
	if ok {
		p.have[addr] = page
	}
	return ok
}

// upwards reads the stack from addr on; false where nothing is there.
func (p *pages) upwards(addr uint64) bool {
	for i := range uint64(maxStack) {
		if !p.add(addr + i*pageSize) {
			return i > 0
		}
	}
	return true
}

// downwards reads a stack that grows up, from addr on.
func (p *pages) downwards(addr uint64) bool {
	for i := range uint64(maxStack) {
		if !p.add(addr - i*pageSize) {
			return i > 0
		}
	}
	return true
}

// word reads a register.
func (p *pages) word(b []byte) uint64 {
	if p.stub.size == 4 {
		return uint64(p.order.Uint32(b))
	}
	return p.order.Uint64(b)
}

// segments reads the program's writable segments.
func (p *pages) segments(program string) {
	data, err := os.ReadFile(program)
	if err != nil {
		return
	}
	f, err := elffile.Parse(data)
	if err != nil {
		return
	}
	for _, prog := range f.Progs {
		if prog.Type != elffile.PT_LOAD {
			continue
		}
		first, end := prog.Vaddr&^(pageSize-1), prog.Vaddr+prog.Memsz
		if prog.Flags&elffile.PF_W == 0 {
			p.text = append(p.text, [2]uint64{first, end})
			continue
		}
		for addr := first; addr < end; addr += pageSize {
			p.add(addr)
		}
	}
}

// pointedAt reads pages that the registers, and the words of the stack, point
// into: stacks of signal handlers, the code that returns from them.
func (p *pages) pointedAt(regs []byte) {
	words := [][]byte{regs}
	for _, addr := range p.addresses() {
		words = append(words, p.have[addr])
	}
	n := 0
	for _, b := range words {
		for i := 0; i+p.stub.size <= len(b) && n < maxPointed; i += p.stub.size {
			addr := p.word(b[i:]) &^ (pageSize - 1)
			if addr == 0 || p.have[addr] != nil || p.inText(addr) {
				continue
			}
			if p.add(addr) {
				n++
			}
		}
	}
}

func (p *pages) inText(addr uint64) bool {
	return slices.ContainsFunc(p.text, func(r [2]uint64) bool { return addr >= r[0] && addr < r[1] })
}

func (p *pages) addresses() []uint64 {
	list := make([]uint64, 0, len(p.have))
	for addr := range p.have {
		list = append(list, addr)
	}
	slices.Sort(list)
	return list
}

// load puts the program's text without its bytes, and all pages, into the core.
func (p *pages) load(c *corebuild.Core) {
	for _, r := range p.text {
		c.Load(r[0], elffile.PF_R|elffile.PF_X, (r[1]-r[0]+pageSize-1)&^(pageSize-1), nil)
	}
	list := p.addresses()
	for i := 0; i < len(list); {
		end, data := i, []byte(nil)
		for end < len(list) && list[end] == list[i]+uint64(end-i)*pageSize {
			data = append(data, p.have[list[end]]...)
			end++
		}
		c.Load(list[i], elffile.PF_R|elffile.PF_W|elffile.PF_X, uint64(len(data)), data)
		i = end
	}
}
