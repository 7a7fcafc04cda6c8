package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteMissing lists the files to fetch, one a line: an identifier, two spaces, and the path that the process
// had. It lists modules without a file, and modules whose file was found but has no debug information. The
// identifier is the build-id of an ELF file and the debug identifier of a Mach-O file. For a PE file it is the
// path below a symbol server, of the file itself (NAME/CODE-ID/NAME) and of its debug file, with characters
// that are special in URLs and shells written as %XX. Modules without an identifier are left out; each
// identifier is listed once. Use it as
//
//	corewalk info --missing core | while read -r id path; do debuginfod-find debuginfo "$id"; done
//	corewalk info --missing x.dmp | while read -r key path; do curl -fL --create-dirs -o "$key" "$SERVER/$key"; done
//
// The error is w's.
func WriteMissing(w io.Writer, modules []Module) error {
	out := bufio.NewWriter(w)
	seen := make(map[string]bool)
	for i := range modules {
		m := &modules[i]
		for _, id := range m.Wanted() {
			if !seen[id] {
				seen[id] = true
				out.WriteString(id + "  " + clean(m.Path) + "\n")
			}
		}
	}
	return out.Flush()
}

// Wanted returns the identifiers of the files to fetch for a module, as WriteMissing lists them; nil if it lacks nothing.
func (m *Module) Wanted() []string {
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

// StorePaths are the paths of Wanted in a store of symbols that is a debuginfod server and a symbol server: characters that are the same in URLs and
// shells. Of an ELF file that is only stripped the program itself is there.
func (m *Module) StorePaths() (paths []string) {
	for _, id := range m.Wanted() {
		switch name := base(m.Path); {
		case strings.Contains(id, "/"):
			paths = append(paths, id)
		case m.BuildID != "" && m.Status == ModuleMatched && m.File != "":
			paths = append(paths, "buildid/"+id+"/debuginfo")
		case m.BuildID != "":
			paths = append(paths, "buildid/"+id+"/executable", "buildid/"+id+"/debuginfo")
		case name != "" && name[0] != '.' && strings.Trim(name, plainName) == "": // a Mach-O file has its symbols in Breakpad's form only
			paths = append(paths, name+"/"+strings.ToUpper(id)+"/"+name+".sym")
		}
	}
	return paths
}

// plainName are the characters of a name that are the same in a URL and a shell.
const plainName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+"

// pe reports whether m is identified like a PE file: by time stamp and size.
func (m *Module) pe() bool { return m.CodeID != "" && len(m.CodeID) < 32 }

// addStoreKey adds the path of a file below a symbol server.
func addStoreKey(keys []string, name, id string) []string {
	if name == "" || name == "." || name == ".." || !isID(id) {
		return keys
	}
	name = escapeName(name)
	return append(keys, name+"/"+id+"/"+name)
}

// escapeName writes characters that are special in URLs and shells as %XX.
func escapeName(name string) string {
	var b strings.Builder
	b.Grow(len(name))
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

// lacks reports whether fetching would help: the file or its debug information is missing.
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

// kernels reports whether the kernel provides the module: no disk and no server has the vDSO.
func (m *Module) kernels() bool {
	return strings.HasPrefix(m.Path, "[") || strings.HasPrefix(base(m.Path), "linux-vdso")
}

// isID reports whether s consists of hexadecimal digits, and so is safe on a command line.
func isID(s string) bool {
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("0123456789abcdefABCDEF", s[i]) < 0 {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 128
}
