package values

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/demangle"
	"github.com/corewalk/corewalk/unwind/arch"
)

// addressText is an address with the symbol it is in, if any: "0x401136 <main>".
func (p *Process) addressText(addr arch.Address) string {
	if s := p.SymbolText(addr); s != "" {
		return fmt.Sprintf("%#x <%s>", addr, s)
	}
	return fmt.Sprintf("%#x", addr)
}

// stringAddress is addressText before the string that is there. The name that
// Microsoft's compilers give to a literal says its text, and that once is enough.
func (p *Process) stringAddress(addr arch.Address) string {
	if s, ok := p.Symbols.SymbolAt(addr); ok && s.literal() {
		return fmt.Sprintf("%#x", addr)
	}
	return p.addressText(addr)
}

// A Symbol is the symbol around an address, by its linkage name, and how far in
// it the address is.
type Symbol struct {
	Linkage string
	Off     uint64
	Record  bool // of a PDB
}

func (s Symbol) literal() bool { return strings.HasPrefix(s.Linkage, "??_C@") }

// unnamed reports whether the name is of a constant that the compiler pooled: its
// digits repeat the value.
func (s Symbol) unnamed() bool {
	for _, prefix := range [...]string{"__real@", "__xmm@", "__ymm@", "__zmm@"} {
		if strings.HasPrefix(s.Linkage, prefix) {
			return true
		}
	}
	return false
}

// symbolText names an address of a library: "main", "table+8"; "" when there is
// no symbol around it.
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
