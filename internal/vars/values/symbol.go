package values

import (
	"fmt"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/unwind/arch"
)

// addressText returns an address with its symbol, if it has one: "0x401136 <main>".
func (p *Process) addressText(addr arch.Address) string {
	if s := p.SymbolText(addr); s != "" {
		return fmt.Sprintf("%#x <%s>", addr, s)
	}
	return fmt.Sprintf("%#x", addr)
}

// stringAddress is addressText for the address of a string. It leaves out the symbols that
// Microsoft's compilers give to string literals, which repeat the text.
func (p *Process) stringAddress(addr arch.Address) string {
	if s, ok := p.Symbols.SymbolAt(addr); ok && s.literal() {
		return fmt.Sprintf("%#x", addr)
	}
	return p.addressText(addr)
}

// A Symbol is the linkage name of the symbol around an address, and the address's offset in it.
type Symbol struct {
	Linkage string
	Off     uint64
	Record  bool // from a PDB
}

func (s Symbol) literal() bool { return strings.HasPrefix(s.Linkage, "??_C@") }

// unnamed reports whether the symbol is of a constant in the compiler's pool, whose name only
// repeats the value.
func (s Symbol) unnamed() bool {
	for _, prefix := range [...]string{"__real@", "__xmm@", "__ymm@", "__zmm@"} {
		if strings.HasPrefix(s.Linkage, prefix) {
			return true
		}
	}
	return false
}

// SymbolText returns an address as a symbol and an offset, "main" or "table+8"; "" if there is no
// symbol.
func (p *Process) SymbolText(addr arch.Address) string {
	s, ok := p.Symbols.SymbolAt(addr)
	if !ok || s.unnamed() {
		return ""
	}
	name := p.symbolName(s)
	if s.Off != 0 {
		return fmt.Sprintf("%s+%d", name, s.Off)
	}
	return name
}

// maxNames is how many names of symbols are kept. Objects of one class all point to the same table.
const maxNames = 1 << 10

// symbolName returns the name of a symbol as the source has it.
func (p *Process) symbolName(s Symbol) string {
	s.Off = 0
	p.names.mu.Lock()
	name, ok := p.names.of[s]
	p.names.mu.Unlock()
	if ok {
		return name
	}
	name = demangle.Name(s.Linkage)
	if s.Record {
		name = demangle.Func(s.Linkage)
	}
	p.names.mu.Lock()
	defer p.names.mu.Unlock()
	if p.names.of == nil {
		p.names.of = map[Symbol]string{}
	}
	if len(p.names.of) < maxNames {
		p.names.of[s] = name
	}
	return name
}

// symbolNames are names of symbols that were asked for.
type symbolNames struct {
	mu sync.Mutex // guards of; no other lock is taken inside
	of map[Symbol]string
}
