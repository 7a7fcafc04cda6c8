package report

import (
	"bufio"
	"io"
	"strings"
)

// WriteMissing lists what to fetch, a line each: the build-id or debug-id, two
// spaces, and the path the process had. That are modules without their file, and
// those whose file was found but has no debug information. Modules without an id
// cannot be asked for and are left out; an id comes once. For use as
//
//	corewalk info --missing core | while read -r id path; do debuginfod-find debuginfo "$id"; done
//
// An error is the writer's.
func WriteMissing(w io.Writer, modules []Module) error {
	out := bufio.NewWriter(w)
	seen := make(map[string]bool)
	for i := range modules {
		m := &modules[i]
		id := m.id()
		if !m.lacks() || !isID(id) || seen[id] {
			continue
		}
		seen[id] = true
		out.WriteString(id + "  " + clean(m.Path) + "\n")
	}
	return out.Flush()
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
