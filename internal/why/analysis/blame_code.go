package analysis

import (
	"strings"

	"github.com/corewalk/corewalk/internal/code/disasm"
	"github.com/corewalk/corewalk/internal/code/stackflow"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind"
)

// A codeReader reads the process's code for stackflow: the dump's bytes first, as everywhere.
type codeReader struct {
	in     *question
	pieces []codePiece
}

type codePiece struct {
	addr uint64
	data []byte
	code bool
}

// How much is read at once, and how often.
const (
	codePieceSize = 4096
	maxCodePieces = 64
)

// CodeAt implements stackflow.Code.
func (c *codeReader) CodeAt(addr uint64) []byte { return c.piece(addr, true, disasm.MaxLen) }

// DataAt implements stackflow.Code.
func (c *codeReader) DataAt(addr uint64) []byte { return c.piece(addr, false, codePieceSize) }

func (c *codeReader) piece(addr uint64, code bool, least int) []byte {
	for i := range c.pieces {
		p := &c.pieces[i]
		if off := addr - p.addr; p.code == code && off < uint64(len(p.data)) && len(p.data)-int(off) >= least {
			return p.data[off:]
		}
	}
	if len(c.pieces) >= maxCodePieces || !c.allowed(addr, code) {
		return nil
	}
	buf := c.in.mem.Some(addr, codePieceSize+disasm.MaxLen)
	if len(buf) == 0 {
		return nil
	}
	c.pieces = append(c.pieces, codePiece{addr, buf, code})
	return buf
}

// allowed reports whether there is code at addr or, without code, read-only data.
func (c *codeReader) allowed(addr uint64, code bool) bool {
	m, ok := c.in.Proc.MappingAt(addr)
	switch {
	case !ok:
		return code && c.in.PartialMaps
	case code:
		return m.Perm&libstate.Exec != 0
	}
	return m.Perm&libstate.Write == 0
}

// function returns the function at addr: that of the innermost call with code of its own.
func (c *codeReader) function(addr uint64) (unwind.Call, bool) {
	lookup, ok := c.in.Walker.SymbolLookup().(unwind.CallLookup)
	if !ok {
		return unwind.Call{}, false
	}
	calls, err := lookup.LookupCalls(addr, nil)
	c.in.chargeLookUps()
	if err != nil || len(calls) == 0 {
		return unwind.Call{}, false
	}
	return calls[len(calls)-1], true
}

// symbol returns the name of the symbol that begins at addr: debugging information costs far more to ask.
func (c *codeReader) symbol(addr uint64) (string, bool) {
	syms, libs := c.in.Walker.SymbolReader(), c.in.Proc.LibraryTracker()
	if syms == nil || libs == nil {
		return "", false
	}
	lib, ok := libs.LibraryAt(addr)
	if !ok {
		return "", false
	}
	s, ok := syms.SymbolAt(lib, addr)
	return s.Name, ok && s.Addr == addr && s.Size > 0
}

// FuncAt implements stackflow.Code.
func (c *codeReader) FuncAt(addr uint64) bool {
	if name, ok := c.symbol(addr); ok && !strings.Contains(name, ".cold") { // which is a part of a function
		return true
	}
	f, ok := c.function(addr)
	return ok && f.Entry == addr
}

// NoReturn implements stackflow.Code.
func (c *codeReader) NoReturn(addr uint64) bool {
	if name, ok := c.symbol(addr); ok {
		return stackflow.NoReturnName(name)
	}
	f, ok := c.function(addr)
	if !ok || f.Entry != addr {
		return false
	}
	if f.LinkageName != "" {
		return stackflow.NoReturnName(f.LinkageName)
	}
	return stackflow.NoReturnName(f.Name)
}
