package values

import (
	"fmt"
	"strings"

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
	name := demangle.Name(s.Linkage)
	if s.Record {
		name = demangle.Func(s.Linkage)
	}
	if s.Off != 0 {
		return fmt.Sprintf("%s+%d", name, s.Off)
	}
	return name
}
