package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMissing lists what to fetch, a line each: an identifier, two spaces, and the
// path the process had. That are modules without their file, and those whose file was
// found but has no debug information. The identifier is the build-id of an ELF file, the
// debug identifier of a Mach-O file; of a PE file it is the path below a symbol server,
// of the file itself (NAME/CODE-ID/NAME) and of its debug file, with %XX for characters
// that are special in URLs and shells. Modules without an id cannot be asked for and are
// left out; an id comes once. For use as
//
//	corewalk info --missing core | while read -r id path; do debuginfod-find debuginfo "$id"; done
//	corewalk info --missing x.dmp | while read -r key path; do curl -fL --create-dirs -o "$key" "$SERVER/$key"; done
//
// An error is the writer's.
func WriteMissing(w io.Writer, modules []Module) error {
	out := bufio.NewWriter(w)
	seen := make(map[string]bool)
	for i := range modules {
		m := &modules[i]
		for _, id := range m.wanted() {
			if !seen[id] {
				seen[id] = true
				out.WriteString(id + "  " + clean(m.Path) + "\n")
			}
		}
	}
	return out.Flush()
}

// wanted are the identifiers of what to fetch for a module.
func (m *Module) wanted() []string {
	if !m.lacks() {
		return nil
	}
	if !m.pe() {
		if id := m.id(); isID(id) {
			return []string{id}
		}
		return nil
	}
	var keys []string
	if m.Status != ModuleMatched || m.File == "" {
		keys = addStoreKey(keys, base(m.Path), m.CodeID)
	}
	switch m.Symbols {
	case SymbolsDWARF, SymbolsPDB, SymbolsBreakpad:
	default:
		keys = addStoreKey(keys, m.DebugName, strings.ToUpper(m.DebugID))
	}
	return keys
}

// pe reports whether m is identified as PE files are: by time stamp and size.
func (m *Module) pe() bool { return m.CodeID != "" && len(m.CodeID) < 32 }

// addStoreKey adds the path of a file below a symbol server.
func addStoreKey(keys []string, name, id string) []string {
	if name == "" || name == "." || name == ".." || !isID(id) {
		return keys
	}
	name = escapeName(name)
	return append(keys, name+"/"+id+"/"+name)
}

// escapeName writes what is special in a URL, or to a shell, as %XX.
func escapeName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._-+~@", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// lacks reports whether fetching would help: the file or its debug information is
// missing.
func (m *Module) lacks() bool {
	if m.kernels() {
		return false
	}
	switch m.Symbols {
	case SymbolsDWARF, SymbolsPDB, SymbolsBreakpad:
		return m.Status == ModuleMissing || m.Status == ModuleMismatched
	}
	return true
}

// kernels reports whether the kernel made the module: the vDSO is on no disk and
// on no server.
func (m *Module) kernels() bool {
	return strings.HasPrefix(m.Path, "[") || strings.HasPrefix(base(m.Path), "linux-vdso")
}

// isID reports whether s is made of hexadecimal digits and is safe on a command
// line.
func isID(s string) bool {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("0123456789abcdefABCDEF", s[i]) < 0 {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 128
}
