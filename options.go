package corewalk

import (
	"context"

	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/modules"
)

// An Option says how to open a dump.
type Option func(*config)

type config struct {
	files []modules.Option
	core  []corestate.Option
	live  []livestate.Option
	hold  bool
	reads *corestate.Reads
}

func newConfig(opts []Option) *config {
	cfg := &config{}
	for _, o := range opts {
		o(cfg)
	}
	return cfg
}

func withFiles(o modules.Option) Option { return func(c *config) { c.files = append(c.files, o) } }

// WithExecutable gives the main program's file. It is used if it is the build that the
// process ran. It may be compressed; see modules.WithExecutable.
func WithExecutable(path string) Option { return withFiles(modules.WithExecutable(path)) }

// WithUnpackProgress sets a function that is called while the executable is unpacked, with
// the numbers of bytes read and written so far. For the dump see corestate.Progress.
func WithUnpackProgress(f func(in, out int64)) Option {
	return withFiles(modules.WithUnpackProgress(f))
}

// WithSysroot adds a directory that stands for the root directory of the machine that
// the dump is from.
func WithSysroot(dir string) Option { return withFiles(modules.WithSysroot(dir)) }

// WithDebugDir adds a directory of separate debug files. Without one it is
// /usr/lib/debug.
func WithDebugDir(dir string) Option { return withFiles(modules.WithDebugDir(dir)) }

// WithSearch adds a directory with binaries and debug files at any depth; see
// modules.WithSearch.
func WithSearch(dir string) Option { return withFiles(modules.WithSearch(dir)) }

// WithSourceMap says that source files recorded below from are below to on this machine;
// see modules.WithSourceMap.
func WithSourceMap(from, to string) Option { return withFiles(modules.WithSourceMap(from, to)) }

// WithFetcher asks f for binaries and debug files that no directory has, for the modules
// that stacks go through and no others. Package debuginfod makes a Fetcher that asks
// servers.
func WithFetcher(f modules.Fetcher) Option { return withFiles(modules.WithFetcher(f)) }

// WithSymbolPath looks for PE images, PDBs and Breakpad symbol files in the directories
// of a symbol path; see modules.WithSymbolPath.
func WithSymbolPath(path string) Option { return withFiles(modules.WithSymbolPath(path)) }

// WithSymbolFetcher asks f for PE images and symbol files that no directory has, for the
// modules that stacks go through and no others. Package debuginfod makes a SymbolFetcher
// that asks the servers of a symbol path.
func WithSymbolFetcher(f modules.SymbolFetcher) Option {
	return withFiles(modules.WithSymbolFetcher(f))
}

// WithFilesOf looks for files wherever t does, also beside its dump, or in its pack: for another dump of the same process, such as one that WriteSlim
// wrote. Other options about files are not needed then. t must stay open as long as the new Target.
func WithFilesOf(t *Target) Option {
	return func(c *config) { c.files = append(c.files, t.files...) }
}

// WithKept keeps what was decompressed of files in a directory from one run to the next; see
// modules.WithKept.
func WithKept(dir string, limit int64) Option { return withFiles(modules.WithKept(dir, limit)) }

// WithForceMismatched uses files from a different build where no right one is found. Every
// frame that depends on such a file says so.
func WithForceMismatched() Option { return withFiles(modules.WithForceMismatched()) }

// WithCache shares the files of a cache with other Targets; see modules.WithCache.
func WithCache(c *modules.Cache) Option { return withFiles(modules.WithCache(c)) }

// NewCache returns a cache of files that several Targets share. It uses only the options
// that say where files are; see modules.NewCache.
func NewCache(ctx context.Context, budget int64, opts ...Option) *modules.Cache {
	return modules.NewCache(ctx, budget, newConfig(opts).files...)
}

// WithCoreOptions passes options to corestate.
func WithCoreOptions(opts ...corestate.Option) Option {
	return func(c *config) { c.core = append(c.core, opts...) }
}

// WithLiveOptions passes options to livestate.
func WithLiveOptions(opts ...livestate.Option) Option {
	return func(c *config) { c.live = append(c.live, opts...) }
}

// WithHold keeps a running process stopped while Analyze or Moment works and as long as Facts are
// open, so that everything is from one moment. Without it, the process is stopped only while its
// registers and stacks are copied.
func WithHold() Option { return func(c *config) { c.hold = true } }

// ForSlim records what is read of a dump, so that WriteSlim can keep it.
func ForSlim() Option {
	return func(c *config) {
		c.reads = &corestate.Reads{}
		c.core = append(c.core, corestate.Record(c.reads))
	}
}
