// Package find locates candidates for the files of a module: its binary, its separate debug
// information, and the debug information that several modules share. It proposes paths; the
// caller opens them and checks whether a file is the right one.
//
// The conventions are those of gdb's manual ("Debugging Information in Separate Files"): a
// sysroot replaces the root directory, .build-id directories, the name in .gnu_debuglink.
// Search directories are read at most once, and only if no other place has the file.
package find

import (
	"bytes"
	"context"
	"encoding/hex"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/corewalk/corewalk/internal/files/kept"
)

// DefaultDebugDir is where distributions install separate debug files.
const DefaultDebugDir = "/usr/lib/debug"

// Options say where to look. The zero Options means the paths in the dump, and
// DefaultDebugDir.
type Options struct {
	// Sysroots are directories that replace the root directory of the machine where the
	// dump was made, or images of them (internal/files/rootfs). If there are any, paths in a dump are not looked up under this
	// machine's own root, unless the build-id of the module is known.
	Sysroots []string
	// Machine is the name of the dump's architecture (arch.Arch); "" if unknown. It chooses among the
	// images that a sysroot has for several.
	Machine string
	// DebugDirs are searched for separate debug files; nil means DefaultDebugDir.
	DebugDirs []string
	// Search lists directories that contain binaries and debug files at any depth.
	Search []string
	// SourceMaps say where source files are that are not at their recorded paths.
	SourceMaps []SourceMap
	// Executable is the file given as the main program, or "".
	Executable string
	// Beside lists directories in which a file with a module's base name is tried: the
	// dump's directory and the executable's.
	Beside []string
	// Held returns paths through which a running process holds the module's own file open,
	// even if another file is at the module's path by now. It may be nil.
	Held func(Module) []string
	// Fetcher is asked for files that no directory has. It may be nil.
	Fetcher Fetcher
	// SymbolFetcher is asked for PE images and symbol files that no directory has. It may
	// be nil.
	SymbolFetcher SymbolFetcher
	// SymbolDirs are the directories of a symbol path: symbol stores, or directories that
	// contain the files themselves. They are not searched recursively.
	SymbolDirs []string
	// SymbolCache is where compressed files of symbol stores are expanded; the zero
	// SymbolCache means DefaultSymbolCache.
	SymbolCache SymbolCache
	// Kept is where what was found out of images is kept; nil for nowhere.
	Kept *kept.Room
}

// A Finder proposes files. It is safe for concurrent use.
type Finder struct {
	opts Options
	*shared
}

// shared is what Finders with the same directories share.
type shared struct {
	ctx context.Context // nothing is fetched once it is done

	once  sync.Once
	index searchIndex

	unreachable notes // messages about servers
	unusable    notes // messages about files of symbol stores

	images images
	zips   zips

	loaderOnce sync.Once
	loader     []string   // where the dynamic loader looks
	loadMu     sync.Mutex // guards loadPath; no other lock is taken inside
	loadPath   []string   // directories of modules that were found

	expandMu   sync.Mutex        // held while a file is expanded, and guards expandedTo; the locks of notes and of the file are taken inside
	expandedTo map[string]string // compressed file -> expanded file in the cache, or "" if that failed
}

// New returns a finder.
func New(ctx context.Context, opts Options) *Finder {
	if opts.DebugDirs == nil {
		opts.DebugDirs = []string{DefaultDebugDir}
	}
	return &Finder{opts: opts, shared: &shared{ctx: ctx, images: openImages(ctx, opts.Sysroots, opts.Kept)}}
}

// For returns a finder for one of several dumps. It also considers executable ("" for none)
// and the directories beside. machine is the dump's. The index of the search directories is shared with f.
func (f *Finder) For(executable string, beside []string, machine string) *Finder {
	opts := f.opts
	opts.Executable, opts.Machine = executable, machine
	opts.Beside = append(slices.Clone(f.opts.Beside), beside...)
	return &Finder{opts: opts, shared: f.shared}
}

// A Module is what a dump says about a module whose file is needed.
type Module struct {
	Path   string // as the process named it
	Linked string // another path by which it was opened, or ""
	// Deleted says that the system's name of the file had " (deleted)" after Path: the file was removed, or is called so.
	Deleted bool
	BuildID []byte // nil if unknown
	// PartialID says that BuildID may be truncated or padded with zeros.
	PartialID bool
	Main      bool // the main program
	// Archive is the path of the zip archive in which the module was mapped, from Offset on; "" if it was a file.
	// Path is then Archive, "!" and the module's name, or nothing.
	Archive string
	Offset  uint64

	// Known from minidumps only; "" if unknown.
	CodeID    string // PE: time stamp (eight hexadecimal digits) and size in memory
	DebugID   string // id of the debug file in Breakpad's form: 32 hexadecimal digits and the age
	DebugFile string // path of the debug file on the machine that built it
	File      string // the module's own file, if it has been found
}

// calledDeleted returns the path of a file whose own name ends like those of files that were removed; "" if there is none such.
func (m *Module) calledDeleted() string {
	if !m.Deleted {
		return ""
	}
	return m.Path + " (deleted)"
}

// Binaries proposes files that may be the module, best candidates first. It may repeat a
// path, and does not check whether the files exist.
func (f *Finder) Binaries(m Module) iter.Seq[string] {
	if m.Archive != "" {
		return f.archived(m)
	}
	return func(yield func(string) bool) {
		if m.Main && f.opts.Executable != "" && !yield(f.opts.Executable) {
			return
		}
		for _, path := range []string{m.calledDeleted(), m.Path, m.Linked} {
			if !filepath.IsAbs(path) {
				continue
			}
			for _, root := range f.sysroots() {
				for _, p := range merged(path) {
					if !yield(f.within(root, p)) {
						return
					}
				}
			}
			if (len(f.opts.Sysroots) == 0 || m.BuildID != nil) && MayAsk(path) && !yield(path) {
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
		if base := BaseName(m.Path); fileName(base) {
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

// inWindowsRoots returns where a Windows path can be below the sysroots, for example on a
// mounted Windows disk or in a Wine directory (drive_c). It also tries the path in lower
// case, since file systems may be case-sensitive.
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
	for _, root := range f.sysroots() {
		paths = append(paths, f.within(root, rel), f.within(root, strings.ToLower(rel)))
	}
	return paths
}

// A DebugQuery describes the module whose separate debug file is needed.
type DebugQuery struct {
	File      string // the module's binary if it was found, otherwise ""
	BuildID   []byte
	PartialID bool   // as in Module
	Link      string // the name in .gnu_debuglink, or ""
}

// DebugFiles proposes separate debug files, best candidates first.
func (f *Finder) DebugFiles(q DebugQuery) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range f.byBuildID(q.BuildID, ".debug", q.PartialID) {
			if !yield(p) {
				return
			}
		}
		if fileName(q.Link) && q.Link == filepath.Base(q.Link) && q.File != "" {
			dir := filepath.Dir(q.File)
			for _, p := range []string{filepath.Join(dir, q.Link), filepath.Join(dir, ".debug", q.Link)} {
				if !yield(f.inSysroot(p)) {
					return
				}
			}
			for _, d := range f.debugDirs() {
				for _, under := range f.withoutSysroot(dir) {
					if !yield(f.inSysroot(filepath.Join(d, under, q.Link))) {
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

// AltFiles proposes files for a .gnu_debugaltlink. name is as written there, relative to
// the file from that contains it.
func (f *Finder) AltFiles(name string, buildID []byte, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range f.byBuildID(buildID, ".debug", false) {
			if !yield(p) {
				return
			}
		}
		if name != "" {
			if !filepath.IsAbs(name) {
				if p := f.beside(from, name); p != "" && !yield(p) {
					return
				}
			} else {
				if MayAsk(name) && !yield(name) {
					return
				}
				for _, root := range f.sysroots() {
					if !yield(f.within(root, name)) {
						return
					}
				}
			}
			if p := f.beside(from, BaseName(name)); p != "" && !yield(p) {
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

// SplitFiles proposes .dwo files. name is as the compiler wrote it, relative to compDir;
// from is the file that names it.
func (f *Finder) SplitFiles(name, compDir, from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if name == "" {
			return
		}
		full := name
		if !filepath.IsAbs(name) {
			full = filepath.Join(compDir, name)
		}
		var paths []string
		for _, n := range []string{name, BaseName(name)} {
			if p := f.beside(from, n); p != "" {
				paths = append(paths, p)
			}
		}
		for _, root := range f.sysroots() {
			paths = append(paths, f.within(root, full))
		}
		if MayAsk(full) {
			paths = append(paths, full)
		}
		for _, p := range paths {
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

// PackageFiles proposes .dwp files for the file from, which names split units.
func (f *Finder) PackageFiles(from string) iter.Seq[string] {
	return func(yield func(string) bool) {
		program := strings.TrimSuffix(from, ".debug")
		paths := []string{program + ".dwp", from + ".dwp"}
		for _, d := range f.debugDirs() {
			for _, under := range f.withoutSysroot(program) {
				paths = append(paths, f.inSysroot(filepath.Join(d, under+".dwp")))
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

// byBuildID proposes the .build-id links in all debug directories. A partial id can match
// several.
func (f *Finder) byBuildID(id []byte, suffix string, partial bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(id) < 2 {
			return
		}
		h := hex.EncodeToString(id)
		for _, d := range f.debugDirs() {
			if partial {
				for _, p := range f.linksLike(f.inSysroot(filepath.Join(d, ".build-id", h[:2])), strings.TrimPrefix(beginning(id), h[:2]), suffix) {
					if !yield(f.inSysroot(p)) {
						return
					}
				}
				continue
			}
			if !yield(f.inSysroot(filepath.Join(d, ".build-id", h[:2], h[2:]+suffix))) {
				return
			}
		}
	}
}

// linksLike lists the files in a directory whose names begin with prefix and continue with
// hexadecimal digits up to suffix.
func (f *Finder) linksLike(dir, prefix, suffix string) []string {
	var list []string
	for _, entry := range f.names(dir) {
		name, ok := strings.CutSuffix(entry, suffix)
		if _, err := hex.DecodeString(name); ok && err == nil && strings.HasPrefix(name, prefix) {
			list = append(list, filepath.Join(dir, entry))
		}
	}
	return list
}

// beginning returns the certain part of a partial id in hexadecimal: zeros at its end may
// be padding.
func beginning(id []byte) string { return hex.EncodeToString(bytes.TrimRight(id, "\x00")) }

// debugDirs are the debug directories, those inside the sysroots first.
func (f *Finder) debugDirs() []string {
	var dirs []string
	for _, root := range f.sysroots() {
		dirs = append(dirs, filepath.Join(root, DefaultDebugDir))
	}
	return append(dirs, f.opts.DebugDirs...)
}

// withoutSysroot returns the path of a directory as seen on the dump's machine.
func (f *Finder) withoutSysroot(dir string) []string {
	out := []string{dir}
	for _, root := range f.sysroots() {
		if rel, err := filepath.Rel(root, dir); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			out = append(out, "/"+rel)
		}
	}
	return out
}

// merged returns the path, and its other form on systems where /lib, /lib64, /bin and /sbin
// are links into /usr.
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
