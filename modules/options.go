package modules

import (
	"path/filepath"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/kept"
)

// An Option says where the files of modules are.
type Option func(*config)

type config struct {
	find  find.Options
	root  string
	force bool
	cache *Cache
	kept  *kept.Room
	said  *said
	// progress is told how far unpacking the executable is.
	progress func(in, out int64)
}

func newConfig(opts []Option) *config {
	c := &config{}
	for _, o := range opts {
		o(c)
	}
	if c.find.Executable != "" {
		c.find.Beside = append(c.find.Beside, filepath.Dir(c.find.Executable))
	}
	if c.root != "" && len(c.find.Sysroots) == 0 {
		c.find.Sysroots = []string{c.root}
	}
	return c
}

// places reports whether options say where to look for files, apart from those for one
// dump.
func (c *config) places() bool {
	f := &c.find
	return len(f.Sysroots)+len(f.DebugDirs)+len(f.Search)+len(f.SymbolDirs)+len(f.SourceMaps) > 0 || f.Fetcher != nil || f.SymbolFetcher != nil || f.Held != nil
}

// WithExecutable gives the main program's file. It is used if it is the build that the
// process ran. Files of other modules are looked for beside it. It may be compressed (zstd,
// lz4, xz, gzip, bzip2); it is then unpacked into a temporary file.
func WithExecutable(path string) Option { return func(c *config) { c.find.Executable = path } }

// WithUnpackProgress sets a function that is called while the executable is unpacked, with
// the numbers of bytes read and written so far.
func WithUnpackProgress(f func(in, out int64)) Option { return func(c *config) { c.progress = f } }

// WithBeside adds a directory where a file with a module's base name is tried, such as
// the dump's own.
func WithBeside(dir string) Option {
	return func(c *config) { c.find.Beside = append(c.find.Beside, dir) }
}

// WithSysroot adds a directory that stands for the root directory of the machine that
// the dump is from, or an image of it: a tar archive, an OCI image layout (a directory or a tar
// archive of it) or an archive of docker save, also compressed. Of an image only the files
// that are needed are unpacked, into temporary files.
func WithSysroot(dir string) Option {
	return func(c *config) { c.find.Sysroots = append(c.find.Sysroots, dir) }
}

// WithMachine says which architecture the process has: the name of an arch.Arch. It chooses
// among the images that a sysroot has for several.
func WithMachine(name string) Option { return func(c *config) { c.find.Machine = name } }

// WithProcessRoot gives the root directory that a running process sees. It is the
// sysroot unless WithSysroot gives one.
func WithProcessRoot(dir string) Option { return func(c *config) { c.root = dir } }

// WithHeldFiles gives a function that returns paths through which a running process
// holds a module's own file open, even if another file is at the module's path by now.
// path is the module's, main says that it is the program.
func WithHeldFiles(held func(path string, main bool) []string) Option {
	return func(c *config) { c.find.Held = func(m find.Module) []string { return held(m.Path, m.Main) } }
}

// WithDebugDir adds a directory of separate debug files. Without one it is
// /usr/lib/debug.
func WithDebugDir(dir string) Option {
	return func(c *config) { c.find.DebugDirs = append(c.find.DebugDirs, dir) }
}

// WithSearch adds a directory with binaries and debug files at any depth. They are
// matched by build-id, and those of Windows by their identifiers: PE images, PDBs and
// Breakpad symbol files. The directory may be a symbol store, too.
func WithSearch(dir string) Option {
	return func(c *config) { c.find.Search = append(c.find.Search, dir) }
}

// WithSourceMap says that the source files recorded below the directory from are below the
// directory to on this machine. If several apply, the one with the longest from comes first.
// Source files are also looked for at their recorded paths (below the sysroots, if there are
// any), and below the search directories by the end of their paths.
func WithSourceMap(from, to string) Option {
	return func(c *config) { c.find.SourceMaps = append(c.find.SourceMaps, find.SourceMap{From: from, To: to}) }
}

// WithSymbolPath looks for PE images, PDBs and Breakpad symbol files in the directories
// of a symbol path, in the syntax of Microsoft's debuggers (_NT_SYMBOL_PATH):
// "dir;srv*cache*url". Only the fetcher of WithSymbolFetcher asks its servers. A later
// path replaces an earlier one.
func WithSymbolPath(path string) Option {
	p := find.ParseSymbolPath(path)
	return func(c *config) { c.find.SymbolDirs, c.find.SymbolCache = p.Dirs, p.Cache }
}

// WithFetcher asks f for binaries and debug files that no directory has. What it
// returns is used if the build-id is right.
func WithFetcher(f Fetcher) Option { return func(c *config) { c.find.Fetcher = f } }

// WithSymbolFetcher asks f for PE images and symbol files that no directory has.
func WithSymbolFetcher(f SymbolFetcher) Option {
	return func(c *config) {
		if c.find.SymbolFetcher = nil; f != nil {
			c.find.SymbolFetcher = symbolFetcher{f}
		}
	}
}

// WithKept keeps what was decompressed of files in dir, an absolute path, and takes it from there the next time. It
// is made if it is missing, and used only if it belongs to this user and nobody else may write to it. limit bounds
// what is kept in bytes; with 0 it is read and nothing is written. Set.Close and Cache.Close write last of all.
func WithKept(dir string, limit int64) Option {
	return func(c *config) {
		c.kept = kept.New(dir, limit)
		c.find.Kept = c.kept
	}
}

// WithForceMismatched uses files from a different build where no right one is found. The
// Resolution says so (Forced).
func WithForceMismatched() Option { return func(c *config) { c.force = true } }

// WithCache shares the files of a cache. The options that say where files are then go to
// NewCache; together with WithCache, only WithExecutable and WithBeside are allowed.
func WithCache(cache *Cache) Option { return func(c *config) { c.cache = cache } }
