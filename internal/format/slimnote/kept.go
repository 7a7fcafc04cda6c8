package slimnote

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// TypeKept is the type of the note with what was known of modules from their files, for readers that do not have these; "kept".
const TypeKept = 0x6b657074

// The descriptor of TypeKept, in the byte order of the core. All addresses are the process's:
//
//	version u32, count u32
//	modules: start u64; DWARF number of the return address, numbers of symbols and of rows u32, 0 u32
//	symbols: address, size u64; 1 for functions, length of the name u32; the name, without padding
//	rows: pc, offset of the CFA from a register u64; that register's DWARF number, number of rules u32
//	rules: a register's DWARF number, flags u32; offset from the CFA u64
const (
	keptModuleHead = 24
	symbolHead     = 24
	rowHead        = 24
	ruleSize       = 16

	ruleUndefined = 1
)

// Kept is what was known of a module from its file.
type Kept struct {
	Start   uint64 // of the module
	RA      uint32 // DWARF number of the return address
	Symbols []KeptSymbol
	Rows    []KeptRow
}

// A KeptSymbol is a symbol that was asked for.
type KeptSymbol struct {
	Addr, Size uint64 // Size is in bytes
	Func       bool
	Name       string
}

// A KeptRow says how a frame at a program counter is unwound: the CFA is a register and an offset.
type KeptRow struct {
	PC     uint64
	Reg    uint32 // DWARF number
	Offset int64  // bytes
	Rules  []KeptRule
}

// A KeptRule says where a register of the caller is saved. Undefined: nowhere; of the return address, there is no caller.
type KeptRule struct {
	Reg       uint32
	Undefined bool
	Offset    int64 // from the CFA, in bytes
}

// KeptBytes returns the descriptor.
func KeptBytes(list []Kept, o binary.ByteOrder) []byte {
	b := words(nil, o, version, uint32(len(list)))
	for _, m := range list {
		b = words(long(b, o, m.Start), o, m.RA, uint32(len(m.Symbols)), uint32(len(m.Rows)), 0)
		for _, s := range m.Symbols {
			b = append(words(long(b, o, s.Addr, s.Size), o, bit(s.Func, 1), uint32(len(s.Name))), s.Name...)
		}
		for _, r := range m.Rows {
			b = words(long(b, o, r.PC, uint64(r.Offset)), o, r.Reg, uint32(len(r.Rules)))
			for _, x := range r.Rules {
				b = long(words(b, o, x.Reg, bit(x.Undefined, ruleUndefined)), o, uint64(x.Offset))
			}
		}
	}
	return b
}

var errCount = errors.New("more than there is room for")

// room reports whether there may be so many of something of which each has at least size bytes.
func room(c *binbuf.Cursor, n uint32, size int) bool {
	if c.Error == nil && uint64(n) > uint64(c.Len())/uint64(size) {
		c.Error = errCount
	}
	return c.Error == nil
}

// ParseKept reads a descriptor.
func ParseKept(desc []byte, big bool) ([]Kept, error) {
	c := binbuf.New(desc, 0, big)
	if v := c.U32(); c.Error == nil && v != version {
		return nil, fmt.Errorf("version %d, want %d: %w", v, version, errVersion)
	}
	n := c.U32()
	if !room(&c, n, keptModuleHead) {
		return nil, fmt.Errorf("%d modules: %w", n, c.Error)
	}
	list := make([]Kept, n)
	for i := range list {
		m := &list[i]
		m.Start, m.RA = c.U64(), c.U32()
		symbols, rows := c.U32(), c.U32()
		c.Skip(4)
		if !room(&c, symbols, symbolHead) {
			break
		}
		m.Symbols = make([]KeptSymbol, symbols)
		for k := range m.Symbols {
			s := &m.Symbols[k]
			s.Addr, s.Size = c.U64(), c.U64()
			s.Func = c.U32() == 1
			s.Name = string(c.Bytes64(uint64(c.U32())))
		}
		if !room(&c, rows, rowHead) {
			break
		}
		m.Rows = make([]KeptRow, rows)
		for k := range m.Rows {
			r := &m.Rows[k]
			r.PC, r.Offset, r.Reg = c.U64(), int64(c.U64()), c.U32()
			rules := c.U32()
			if !room(&c, rules, ruleSize) {
				break
			}
			r.Rules = make([]KeptRule, rules)
			for j := range r.Rules {
				r.Rules[j] = KeptRule{Reg: c.U32(), Undefined: c.U32()&ruleUndefined != 0, Offset: int64(c.U64())}
			}
		}
	}
	if c.Error != nil {
		return nil, fmt.Errorf("what was kept of modules: %w", c.Error)
	}
	return list, nil
}
