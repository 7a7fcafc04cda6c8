package corewalk

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/unwind"
)

// A Cache keeps the files of modules, and what was read of them, from one Target to the
// next. Many dumps of few programs are analysed many times faster with one. It may be
// used by several goroutines.
//
// What it keeps is bounded: when the files that it has open exceed its budget, the next
// Target begins anew with none, and the old ones are closed with the last Target that
// uses them. A Target holds what it uses in any case.
type Cache struct {
	finder *find.Finder
	budget int64

	mu      sync.Mutex
	current *generation
}

// A generation is the files that a number of Targets have together.
type generation struct {
	images *image.Cache
	users  int  // Targets
	old    bool // no further Target will use it
}

// NewCache returns a cache whose files are those that opts tell of: WithSysroot,
// WithDebugDir, WithSearch, WithFetcher and the like. budget is the size of the files
// kept open, in bytes; 0 for no bound.
func NewCache(budget int64, opts ...Option) *Cache {
	return &Cache{finder: find.New(newConfig(opts).find), budget: budget}
}

// WithCache lets a Target share the files of c. Where files are is then said to
// NewCache; of the options that tell where, only WithExecutable may be given with it.
func WithCache(c *Cache) Option { return func(cfg *config) { cfg.cache = c } }

// acquire returns the generation for one more Target.
func (c *Cache) acquire() *generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.current; g != nil && c.budget > 0 && g.images.Mapped() > c.budget {
		c.retire()
	}
	if c.current == nil {
		c.current = &generation{images: image.NewCache(c.finder)}
	}
	c.current.users++
	return c.current
}

// retire gives the current generation up. c.mu is held.
func (c *Cache) retire() error {
	g := c.current
	c.current = nil
	g.old = true
	if g.users > 0 {
		return nil
	}
	return g.images.Close()
}

func (c *Cache) release(g *generation) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g.users--; g.users > 0 || !g.old {
		return nil
	}
	return g.images.Close()
}

// Close releases the files. Targets that are open keep theirs.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	return c.retire()
}

// finds returns what finds and what keeps the files of a Target, and what gives them
// back.
func (cfg *config) finds() (finder *find.Finder, images *image.Cache, release func() error, err error) {
	if exe := cfg.find.Executable; exe != "" {
		cfg.find.Beside = append(cfg.find.Beside, filepath.Dir(exe))
	}
	if cfg.cache == nil {
		finder = find.New(cfg.find)
		images = image.NewCache(finder)
		return finder, images, images.Close, nil
	}
	f := cfg.find
	if len(f.Sysroots)+len(f.DebugDirs)+len(f.Search)+len(f.SymbolDirs) > 0 || f.Fetcher != nil || f.SymbolFetcher != nil || f.Held != nil {
		return nil, nil, nil, fmt.Errorf("a shared cache is for dumps, and directories and servers are given to NewCache: %w", unwind.ErrBadParam)
	}
	g := cfg.cache.acquire()
	return cfg.cache.finder.For(f.Executable, f.Beside), g.images, func() error { return cfg.cache.release(g) }, nil
}
