// Package dyninst finds the origin of the relocated code in a binary rewritten by Dyninst.
//
// Such a binary has a section .dyninstInst with copies of the instrumented functions, with
// instrumentation between their instructions. The original text remains. At the start of
// some blocks it has jumps into the copies (springboards) or, if there was no room for a
// jump, breakpoints with an entry in a table in memory (the trap map). The copy of function
// X has a symbol X_dyninst, but no unwind tables and no lines. Its instructions are those
// of X, in the same order, so each one can be found in X, where tables and lines apply.
//
// This format is not documented outside Dyninst. The package supports what Dyninst 12 and
// 13 write on x86-64; other architectures need their own springboards and an instruction
// decoder.
//
// A Code is safe for concurrent use.
package dyninst

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	// sectionName is the section of relocated code. Dyninst itself uses it to recognise
	// binaries that must not be rewritten again.
	sectionName = ".dyninstInst"
	// dtDyninst is the dynamic tag that contains the trap map's address.
	dtDyninst = 0x6D191957
	// suffix is the suffix of symbols of relocated functions.
	suffix = "_dyninst"
)

// A Source gives access to a module. Addresses are the file's own.
type Source struct {
	File *elffile.File
	Arch *arch.Arch
	// SymbolAt and SymbolByName search all symbol tables of the module.
	SymbolAt     func(addr uint64) (elffile.Sym, bool)
	SymbolByName func(name string) (elffile.Sym, bool)
	// Mem is the process's memory; Bias is the module's load bias.
	Mem  arch.Memory
	Bias uint64
}

// Code is the relocated code of one module in a process.
type Code struct {
	src        Source
	start, end uint64 // of relocated code, in the file

	trapsOnce sync.Once
	traps     []Trap

	mu   sync.Mutex
	runs map[uint64]*run // by start

	work atomic.Int64 // units of work done so far; see spend
}

// maxWork limits the symbols, traps, bytes and states examined for one module: a malicious
// file may have many runs, each of which needs all of them.
const maxWork = 1 << 26

// spend reports whether n more units of work are allowed.
func (c *Code) spend(n int) bool { return c.work.Add(int64(n)) <= maxWork }

// A Place is the origin of relocated code. Addresses are the file's.
type Place struct {
	// Addr is the address of the original instruction, plus the offset of the relocated
	// address in the copy. In instrumentation it is the address of the instruction after
	// the instrumentation; 0 if unknown.
	Addr uint64
	// Tramp says that the address is in instrumentation, at [Start, End), and not in a copy
	// of the program's own code.
	Tramp      bool
	Start, End uint64
}

// Open returns the relocated code of a module, or nil if it was not rewritten.
func Open(src Source) *Code {
	if src.File == nil || src.Arch == nil {
		return nil
	}
	c := &Code{src: src, runs: map[uint64]*run{}}
	if s := src.File.Section(sectionName); s != nil {
		c.start, c.end = s.Addr, s.Addr+s.Size
	} else if !c.segmentOfTraps() {
		return nil
	}
	if c.end <= c.start {
		return nil
	}
	return c
}

// segmentOfTraps takes the segment to which the trap map leads as relocated code. It is for
// files without section headers, in which little else identifies it.
func (c *Code) segmentOfTraps() bool {
	if _, ok := c.src.File.DynValue(dtDyninst); !ok {
		return false
	}
	for _, t := range c.trapMap() {
		for i := range c.src.File.Progs {
			p := &c.src.File.Progs[i]
			if p.Type == elffile.PT_LOAD && p.Flags&elffile.PF_X != 0 && t.Target-p.Vaddr < p.Memsz && t.Source-p.Vaddr >= p.Memsz {
				c.start, c.end = p.Vaddr, p.Vaddr+p.Memsz
				return true
			}
		}
	}
	return false
}

// Contains reports whether an address in the file is in relocated code or instrumentation.
func (c *Code) Contains(addr uint64) bool { return c != nil && addr >= c.start && addr < c.end }

// trapMap reads the trap map once; its addresses are the file's.
func (c *Code) trapMap() []Trap {
	c.trapsOnce.Do(func() {
		if v, ok := c.src.File.DynValue(dtDyninst); ok && c.src.Mem != nil {
			c.traps, _ = ReadTrapMap(c.src.Mem, c.src.Arch, v, c.src.Bias)
		}
	})
	return c.traps
}

// Original returns the origin of the relocated code at addr, or false if it is not certain.
func (c *Code) Original(addr uint64) (Place, bool) {
	r := c.runAt(addr)
	if r == nil {
		return Place{}, false
	}
	return r.place(addr)
}

// Function returns the name of the function whose relocated code or instrumentation is at
// addr, or "" if no symbol tells.
func (c *Code) Function(addr uint64) string {
	_, name := c.symbol(addr)
	return name
}

// symbol returns the symbol X_dyninst that covers addr, and X.
func (c *Code) symbol(addr uint64) (elffile.Sym, string) {
	if !c.Contains(addr) {
		return elffile.Sym{}, ""
	}
	s, ok := c.src.SymbolAt(addr)
	if !ok || s.Size == 0 {
		return elffile.Sym{}, ""
	}
	name, ok := strings.CutSuffix(s.Name(), suffix)
	if !ok {
		return elffile.Sym{}, ""
	}
	return s, name
}
