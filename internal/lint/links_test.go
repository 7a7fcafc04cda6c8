package lint

import (
	"slices"
	"strings"
	"testing"
)

// heavy are packages that a program gets only if it asks for what needs them.
var heavy = []string{"net/http", "crypto/tls", "database/sql", "modernc.org/sqlite", "modernc.org/libc"}

// TestLibraryLinks: who uses the library gets neither the HTTP client nor the database linked, unless debuginfod is imported, which has the client.
func TestLibraryLinks(t *testing.T) {
	links := map[string]map[string]bool{} // what a package imports, and what that imports
	public := 0
	for _, p := range goList(t) { // each after what it imports
		all := map[string]bool{}
		for _, imp := range p.imports {
			all[imp] = true
			for further := range links[imp] {
				all[further] = true
			}
		}
		links[p.path] = all
		rel, ours := strings.CutPrefix(p.path, module)
		if !ours || strings.Contains(rel, "internal/") || strings.HasPrefix(rel, "/cmd/") {
			continue
		}
		public++
		for _, h := range heavy {
			client := rel == "/debuginfod" && slices.Contains([]string{"net/http", "crypto/tls"}, h)
			if all[h] != client {
				t.Errorf("%s links %s: %v, want %v", p.path, h, all[h], client)
			}
		}
	}
	if public < 10 {
		t.Errorf("%d public packages", public)
	}
	if all := links[module+"/cmd/corewalk"]; !all["net/http"] || !all["modernc.org/sqlite"] || all["github.com/jackc/pgx/v5"] || all["github.com/riverqueue/river"] {
		t.Error("corewalk does everything on one machine: it has an HTTP client and SQLite, and nothing of corewalkd's")
	}
}
