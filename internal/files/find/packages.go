package find

import (
	"path/filepath"
	"slices"
)

// PackagePaths lists the directories in which package managers install programs, libraries,
// debug files and sources. All users may read them, and only an administrator writes there.
func PackagePaths() []string {
	return []string{"/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/opt", "/snap", "/nix/store", "/gnu/store"}
}

// LoaderFiles lists what says where the dynamic loader looks.
func LoaderFiles() []string {
	return []string{"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.cache"}
}

// InPackages reports whether a file is in one of the PackagePaths. path has no links and is
// absolute.
func InPackages(path string) bool {
	return slices.ContainsFunc(PackagePaths(), func(dir string) bool { return under(filepath.Clean(path), dir) })
}
