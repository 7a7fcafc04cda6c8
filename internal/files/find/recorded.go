package find

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// MayAsk reports whether this machine may be asked for the file at a path that a dump or
// a file records. The caller proves what the file is before it uses its contents.
func MayAsk(recorded string) bool { return mayAskOn(runtime.GOOS, recorded) }

// mayAskOn is MayAsk for an operating system. To ask for some paths is itself a message to
// a machine that the path names: for \\server\share on Windows, and for what is below /net,
// where file systems are mounted when they are asked for. Paths in /proc are those of this
// process, and lead to the files that it has open.
func mayAskOn(goos, recorded string) bool {
	if strings.ContainsRune(recorded, 0) {
		return false
	}
	if goos != "windows" {
		clean := path.Clean(recorded)
		return path.IsAbs(clean) && !under(clean, "/proc") && !under(clean, "/net")
	}
	if len(recorded) < 4 || recorded[1] != ':' || recorded[2] != '\\' && recorded[2] != '/' {
		return false
	}
	for _, c := range strings.FieldsFunc(recorded[3:], func(r rune) bool { return r == '\\' || r == '/' }) {
		if c != ".." && c != "." && !component(c) {
			return false // a device, or a stream of a file
		}
	}
	return true
}

// under reports whether a clean path is dir or below it.
func under(clean, dir string) bool {
	return clean == dir || strings.HasPrefix(clean, strings.TrimSuffix(dir, "/")+"/")
}

// fileName reports whether a base name from a dump names a file in a directory.
func fileName(base string) bool {
	return base != "" && base != "." && base != ".." && (runtime.GOOS != "windows" || component(base))
}

// beside returns the path of a file named relative to the file from, or "".
func (f *Finder) beside(from, name string) string {
	if from == "" || name == "" || name == "." || name == ".." || runtime.GOOS == "windows" && !mayAskOn("windows", `C:\`+name) {
		return ""
	}
	p := f.inSysroot(filepath.Dir(from) + "/" + name)
	if leadsAway(from, p) {
		return ""
	}
	return p
}

// leadsAway reports whether the name of another file in the file from leads to a path that
// this machine may not be asked for.
func leadsAway(from, to string) bool {
	return filepath.IsAbs(to) && !MayAsk(to) && MayAsk(from)
}

// inSysroot returns where a path leads. If it is below a sysroot, it leads nowhere else,
// wherever its links and .. point.
func (f *Finder) inSysroot(path string) string {
	for _, root := range f.sysroots() {
		if rest, ok := cutRoot(path, root); ok {
			return f.within(root, rest)
		}
	}
	return filepath.Clean(path)
}

// cutRoot returns what follows root in a path that is below it.
func cutRoot(path, root string) (string, bool) {
	root = filepath.Clean(root)
	if root == "." {
		return path, !filepath.IsAbs(path)
	}
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), strings.TrimSuffix(filepath.ToSlash(root), "/")+"/")
	return rest, ok
}

// Program is the file that the user named as the program, or "".
func (f *Finder) Program() string { return f.opts.Executable }

// Given reports whether the file at a path is below a directory that the user named as
// having other machines' files: with Sysroots or Search.
func (f *Finder) Given(path string) bool {
	for _, dirs := range [][]string{f.sysroots(), f.opts.Search} {
		for _, dir := range dirs {
			if _, ok := cutRoot(path, dir); ok {
				return true
			}
		}
	}
	return false
}
