// Package find knows where the files of a module may be: its binary, its
// separate debug information, and the file that several modules' debug
// information shares. It proposes paths; whether a file is the right one is for
// the caller to check, who opens it.
//
// The conventions are those of gdb ("Debugging Information in Separate Files" of
// its manual): a sysroot that stands for the root directory, .build-id
// directories, the name in .gnu_debuglink. Directories given to search are read
// at most once, and only when nothing else had the file.
package find

import (
	"bytes"
	"context"
	"encoding/hex"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// DefaultDebugDir is where distributions install separate debug files.
const DefaultDebugDir = "/usr/lib/debug"

// Options say where to look. The zero Options looks where the dump says and in
// DefaultDebugDir.
type Options struct {
	// Sysroots stand for the root directory of the machine that the dump is
	// from. When there is one, paths in a dump are not looked up on this
	// machine's own root, except by build-id.
	Sysroots []string
	// DebugDirs are searched for separate debug files; nil is DefaultDebugDir.
	DebugDirs []string
	// Search are directories with binaries and debug files anywhere below.
	Search []string
	// Executable is the file given as the main program, or "".
	Executable string
	// Beside are directories in which a module's base name is tried: the dump's
	// own, and the executable's.
	Beside []string
	// Held lists files that a running process has the module's own file open by,
	// whatever is at its path now; nil for none.
	Held func(Module) []string
	// Fetcher is asked for what no directory has; nil for nobody. It is used
	// until FetchContext is done; nil for no end.
	Fetcher      Fetcher
	FetchContext context.Context
	// SymbolFetcher is asked for PE images and symbol files that no directory has;
	// nil for nobody. It is used until SymbolContext is done; nil for no end.
	SymbolFetcher SymbolFetcher
	SymbolContext context.Context
	// SymbolDirs are the directories of a symbol path: stores, or with the files
	// themselves. They are not read as a whole.
	SymbolDirs []string
	// SymbolCache is where compressed files of stores are expanded to; the zero
	// SymbolCache is DefaultSymbolCache.
	SymbolCache SymbolCache
}

// A Finder proposes files. It may be used by several goroutines.
type Finder struct {
	opts Options
	*shared
}

// shared is what Finders of the same directories have together.
type shared struct {
	once  sync.Once
	index searchIndex

	unreachable notes // servers
	unusable    notes // files of stores

	expandMu   sync.Mutex
	expandedTo map[string]string // compressed file -> the file in the cache, or ""
}

// New returns a finder.
func New(opts Options) *Finder {
	if opts.DebugDirs == nil {
		opts.DebugDirs = []string{DefaultDebugDir}
	}
	return &Finder{opts: opts, shared: &shared{}}
}

// For returns a finder for one of several dumps: it looks where f does, and besides for
// executable, "" for none, and in the directories beside. What is read of the search
// directories is read once for all.
func (f *Finder) For(executable string, beside []string) *Finder {
	opts := f.opts
	opts.Executable = executable
	opts.Beside = append(slices.Clone(f.opts.Beside), beside...)
	return &Finder{opts: opts, shared: f.shared}
}

// A Module is what a dump tells of a module that a file is wanted for.
type Module struct {
	Path    string // as the process named it
	BuildID []byte // nil when not known
	// PartialID says that BuildID is the beginning of the file's, or the file's with
	// zeros behind it.
	PartialID bool
	Main      bool // the main program

	// What dumps of Windows and of Breakpad tell besides; "" when not known.
	CodeID    string // of PE: time stamp, eight digits in hexadecimal, and size in memory
	DebugID   string // of the debug file, in Breakpad's form: 32 digits in hexadecimal and the age
	DebugFile string // path of the debug file where it was made
	File      string // the module's own file, where it has been found
}

// Binaries proposes files that may be the module, the likeliest first. A path may
// come more than once. Files that exist are not told apart from ones that do not.
func (f *Finder) Binaries(m Module) iter.Seq[string] {
	return func(yield func(string) bool) {
		if m.Main && f.opts.Executable != "" && !yield(f.opts.Executable) {
			return
		}
		if filepath.IsAbs(m.Path) {
			for _, root := range f.opts.Sysroots {
				for _, p := range merged(m.Path) {
					if !yield(filepath.Join(root, p)) {
						return
					}
				}
			}
			if (len(f.opts.Sysroots) == 0 || m.BuildID != nil) && !yield(m.Path) {
				return
			}
		}
		for _, p := range f.inWindowsRoots(m.Path) {
			if !yield(p) {
				return
			}
		}
		if f.opts.Held != nil {
			for _, p := range f.opts.Held(m) {
				if !yield(p) {
					return
				}
			}
		}
		if base := BaseName(m.Path); base != "" && base != "." && base != ".." {
			for _, dir := range f.opts.Beside {
				if !yield(filepath.Join(dir, base)) {
					return
				}
			}
			for _, p := range f.inSymbolDirs(m, base) {
				if !yield(p) {
					return
				}
			}
		}
		for p := range f.byBuildID(m.BuildID, "", m.PartialID) {
			if !yield(p) {
				return
			}
		}
		for p := range f.stored(m, KindPE, f.roots()) {
			if !yield(p) {
				return
			}
		}
		for _, p := range append(f.searched(m, false), f.searchedPE(m)...) {
			if !yield(p) {
				return
			}
		}
		for p := range f.stored(m, KindPE, f.foundStores()) {
			if !yield(p) {
				return
			}
		}
	}
}

// inWindowsRoots are the places of a path of Windows below the sysroots: such as one
// that is mounted from its disk, or a directory of Wine (drive_c). Not every system
// tells cases apart, so the path in lower case is another.
func (f *Finder) inWindowsRoots(path string) []string {
	if len(path) < 4 || path[1] != ':' || path[2] != '\\' {
		return nil
	}
	parts := strings.Split(path[3:], `\`)
	for _, p := range parts {
		if !component(p) {
			return nil
		}
	}
	rel := filepath.Join(parts...)
	var paths []string
	for _, root := range f.opts.Sysroots {
		paths = append(paths, filepath.Join(root, rel), filepath.Join(root, strings.ToLower(rel)))
	}
	return paths
}

// A DebugQuery describes the module whose separate debug file is wanted.
type DebugQuery struct {
	File      string // the module's binary, as it was found; "" when it was not
	BuildID   []byte
	PartialID bool   // as of a Module
	Link      string // the name in .gnu_debuglink, or ""
}

// DebugFiles proposes separate debug files, the likeliest first.
func (f *Finder) DebugFiles(q DebugQuery) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range f.byBuildID(q.BuildID, ".debug", q.PartialID) {
			if !yield(p) {
				return
			}
		}
		if q.Link != "" && q.Link == filepath.Base(q.Link) && q.File != "" {
			dir := filepath.Dir(q.File)
			for _, p := range []string{filepath.Join(dir, q.Link), filepath.Join(dir, ".debug", q.Link)} {
				if !yield(p) {
					return
				}
			}
			for _, d := range f.debugDirs() {
				for _, under := range f.withoutSysroot(dir) {
					if !yield(filepath.Join(d, under, q.Link)) {
						return
					}
				}
			}
		}
		for _, p := range f.searched(Module{Path: q.Link, BuildID: q.BuildID, PartialID: q.PartialID}, true) {
			if !yield(p) {
				return
			}
		}
	}
}

// AltFiles proposes files for a .gnu_debugaltlink: name as written there,
// relative to the file that holds it.
func (f *Finder) AltFiles(name string, buildID []byte, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range f.byBuildID(buildID, ".debug", false) {
			if !yield(p) {
				return
			}
		}
		if name != "" {
			if !filepath.IsAbs(name) {
				if !yield(filepath.Join(filepath.Dir(from), name)) {
					return
				}
			} else {
				for _, root := range append([]string{""}, f.opts.Sysroots...) {
					if !yield(filepath.Join(root, name)) {
						return
					}
				}
			}
			if from != "" && !yield(filepath.Join(filepath.Dir(from), filepath.Base(name))) {
				return
			}
		}
		for _, p := range f.searched(Module{Path: name, BuildID: buildID}, true) {
			if !yield(p) {
				return
			}
		}
	}
}

// SplitFiles proposes .dwo files: name as the compiler wrote it, relative to
// compDir; from is the file that names it.
func (f *Finder) SplitFiles(name, compDir, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name == "" {
			return
		}
		full := name
		if !filepath.IsAbs(name) {
			full = filepath.Join(compDir, name)
		}
		paths := []string{filepath.Join(filepath.Dir(from), name), filepath.Join(filepath.Dir(from), filepath.Base(name))}
		for _, root := range f.opts.Sysroots {
			paths = append(paths, filepath.Join(root, full))
		}
		for _, p := range append(paths, full) {
			if !yield(p) {
				return
			}
		}
		for _, p := range f.searched(Module{Path: name}, false) {
			if !yield(p) {
				return
			}
		}
	}
}

// PackageFiles proposes .dwp files for the file that names split units.
func (f *Finder) PackageFiles(from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		program := strings.TrimSuffix(from, ".debug")
		paths := []string{program + ".dwp", from + ".dwp"}
		for _, d := range f.debugDirs() {
			for _, under := range f.withoutSysroot(program) {
				paths = append(paths, filepath.Join(d, under+".dwp"))
			}
		}
		paths = append(paths, f.searched(Module{Path: program + ".dwp"}, false)...)
		for _, p := range paths {
			if !yield(p) {
				return
			}
		}
	}
}

// byBuildID proposes the .build-id links of all debug directories. Of a partial id
// these are several, perhaps.
func (f *Finder) byBuildID(id []byte, suffix string, partial bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(id) < 2 {
			return
		}
		h := hex.EncodeToString(id)
		for _, d := range f.debugDirs() {
			if partial {
				for _, p := range linksLike(filepath.Join(d, ".build-id", h[:2]), strings.TrimPrefix(beginning(id), h[:2]), suffix) {
					if !yield(p) {
						return
					}
				}
				continue
			}
			if !yield(filepath.Join(d, ".build-id", h[:2], h[2:]+suffix)) {
				return
			}
		}
	}
}

// linksLike lists the files of a directory whose names begin with prefix, and are
// hexadecimal up to suffix.
func linksLike(dir, prefix, suffix string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // what is not there has no links
	}
	var list []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if _, err := hex.DecodeString(name); ok && err == nil && strings.HasPrefix(name, prefix) {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// beginning is what a partial id has of the file's for certain, in hex: zeros at its
// end may stand for nothing.
func beginning(id []byte) string { return hex.EncodeToString(bytes.TrimRight(id, "\x00")) }

// debugDirs are the debug directories, those inside the sysroots first.
func (f *Finder) debugDirs() []string {
	var dirs []string
	for _, root := range f.opts.Sysroots {
		dirs = append(dirs, filepath.Join(root, DefaultDebugDir))
	}
	return append(dirs, f.opts.DebugDirs...)
}

// withoutSysroot gives a directory as the machine of the dump names it.
func (f *Finder) withoutSysroot(dir string) []string {
	out := []string{dir}
	for _, root := range f.opts.Sysroots {
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			out = append(out, "/"+rel)
		}
	}
	return out
}

// merged gives the path, and its other form on systems where /lib, /lib64, /bin
// and /sbin are links into /usr.
func merged(path string) []string {
	if rest, ok := strings.CutPrefix(path, "/usr"); ok && topMerged(rest) {
		return []string{path, rest}
	}
	if topMerged(path) {
		return []string{path, "/usr" + path}
	}
	return []string{path}
}

func topMerged(path string) bool {
	for _, d := range []string{"/lib/", "/lib64/", "/lib32/", "/libx32/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(path, d) {
			return true
		}
	}
	return false
}
