// Package dyninst finds out where the relocated code of a binary that Dyninst
// rewrote came from.
//
// Such a binary has a section .dyninstInst with copies of the functions that were
// instrumented, the instrumentation between their instructions. The original text
// stays, with jumps into the copies over the first bytes of some blocks
// (springboards), or breakpoints where there was no room, which a table in memory
// leads on from (the trap map). A copy of function X has a symbol X_dyninst; it
// has no unwind tables and no lines. But its instructions are those of X, in the
// order of X, and so each one can be found again there, where tables and lines
// hold.
//
// Nothing of this format is documented outside Dyninst. What is recognised here is
// what Dyninst 12 and 13 write on x86-64; other architectures need springboards
// and an instruction decoder of their own.
//
// A Code may be used by several goroutines.
package dyninst

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/format/elffile"
	"github.com/corewalk/corewalk/unwind/arch"
)

const (
	// sectionName is the section of relocated code; finding it is how Dyninst
	// itself knows a binary that it must not rewrite again.
	sectionName = ".dyninstInst"
	// dtDyninst is the dynamic tag whose value is the trap map's address.
	dtDyninst = 0x6D191957
	// suffix marks the symbols of relocated functions.
	suffix = "_dyninst"
)

// A Source is what is known of a module. Addresses are the file's own.
type Source struct {
	File *elffile.File
	Arch *arch.Arch
	// SymbolAt and SymbolByName look into all symbol tables of the module.
	SymbolAt     func(addr uint64) (elffile.Sym, bool)
	SymbolByName func(name string) (elffile.Sym, bool)
	// Mem is the process's memory, where the module lies Bias away from its file's
	// addresses.
	Mem  arch.Memory
	Bias uint64
}

// Code is the relocated code of one module of a process.
type Code struct {
	src        Source
	start, end uint64 // of relocated code, in the file

	trapsOnce sync.Once
	traps     []Trap

	mu   sync.Mutex
	runs map[uint64]*run // by start

	work atomic.Int64 // done so far; see spend
}

// maxWork bounds the symbols, traps, bytes and states looked at for one module: a
// hostile file may have many runs, each of which asks for all of them.
const maxWork = 1 << 26

// spend reports whether n more may be looked at.
func (c *Code) spend(n int) bool { return c.work.Add(int64(n)) <= maxWork }

// A Place is what relocated code stands for. Addresses are the file's.
type Place struct {
	// Addr is the original instruction's address, plus as many bytes as the
	// relocated address is into its copy. In instrumentation it is the address of
	// the instruction that the instrumentation precedes; 0 when it is not known.
	Addr uint64
	// Tramp says that the address is in instrumentation, not in a copy of the
	// program's own code; that is from Start to End.
	Tramp      bool
	Start, End uint64
}

// Open returns the relocated code of a module; nil when it was not rewritten.
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

// segmentOfTraps takes for relocated code the segment that the trap map leads to:
// of a file without section headers, little else tells.
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

// Contains reports whether an address of the file is one of relocated code or
// instrumentation.
func (c *Code) Contains(addr uint64) bool { return c != nil && addr >= c.start && addr < c.end }

// trapMap reads the trap map once, with the file's addresses.
func (c *Code) trapMap() []Trap {
	c.trapsOnce.Do(func() {
		if v, ok := c.src.File.DynValue(dtDyninst); ok && c.src.Mem != nil {
			c.traps, _ = ReadTrapMap(c.src.Mem, c.src.Arch, v, c.src.Bias)
		}
	})
	return c.traps
}

// Original tells what the relocated code at addr stands for; false when it cannot
// be told for certain.
func (c *Code) Original(addr uint64) (Place, bool) {
	r := c.runAt(addr)
	if r == nil {
		return Place{}, false
	}
	return r.place(addr)
}

// Function names the function whose relocated code or instrumentation is at addr;
// "" when no symbol tells.
func (c *Code) Function(addr uint64) string {
	_, name := c.symbol(addr)
	return name
}

// symbol is the X_dyninst over addr and X.
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
