package modules

import (
	"io/fs"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/libstate"
)

// mayName reports whether the source file st, at a path that the debug information of lib
// records, may be shown. Whoever made a binary chose the paths in it. So it must be a file
// of packages, which all can read; or lie below the directory of the module's own file; or
// the module's file must be this machine's own: of a package, or the one at the path where
// the process had it. In both of the latter cases the source file must be one that the owner of
// the module's file can read: a core of another user shows nothing that he could not see.
func (s *Set) mayName(lib *libstate.Library, path string, st fs.FileInfo) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil || !find.IsSource(path) {
		return false
	}
	if find.InPackages(path) {
		return true
	}
	r := s.Resolve(lib)
	if r.Image == nil || r.Path == "" || r.Match == Mismatched || r.Forced {
		return false
	}
	file, err := os.Stat(r.Path)
	if err != nil || st.Mode()&0o004 == 0 && !sameOwner(file, st) {
		return false
	}
	where, err := filepath.EvalSymlinks(r.Path)
	if err == nil {
		where, err = filepath.Abs(where)
	}
	if err == nil && (find.InPackages(where) || isNear(filepath.Dir(where), path)) {
		return true
	}
	if !find.MayAsk(lib.Path) {
		return false
	}
	own, err := os.Stat(lib.Path)
	return err == nil && os.SameFile(own, file)
}

// isNear reports whether a file is below the directory of a program. A home directory and
// the root have everything below them.
func isNear(dir, path string) bool {
	if home, err := os.UserHomeDir(); err == nil && dir == filepath.Clean(home) || dir == filepath.Dir(dir) {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
