package modules

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/image"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/unwind"
)

// A Cache keeps the files of modules, and what was read from them, from one Set to the
// next. It makes the analysis of many dumps of few programs many times faster. It may be
// used by several goroutines.
//
// A cache has a budget: when the files that it has open exceed it, the next Set starts
// without files, and the old files are closed with the last Set that uses them. A Set
// keeps what it uses in any case.
type Cache struct {
	finder *find.Finder
	kept   *kept.Room
	budget int64

	// mu guards the two below, and generations. image.Cache.mu and the locks of its images may be taken inside, to list what is
	// not kept; nothing is opened, closed or waited for.
	mu      sync.Mutex
	current *generation
	unkept  []Unkept // of generations that are closed
	sets    int      // that are open
	ended   bool
}

// A generation is a set of files that several Sets share.
type generation struct {
	images *image.Cache
	users  int  // Sets
	old    bool // no further Set will use it
}

// NewCache returns a cache of the files that opts find: WithSysroot, WithDebugDir,
// WithSearch, WithFetcher and the like. Nothing is fetched once ctx is done. budget is the
// size of the files kept open, in bytes; 0 for no bound.
func NewCache(ctx context.Context, budget int64, opts ...Option) *Cache {
	c := newConfig(opts)
	return &Cache{finder: find.New(ctx, c.find), kept: c.kept, budget: budget}
}

// acquire returns the generation for another Set.
func (c *Cache) acquire() *generation {
	g, unused := c.next()
	_ = unused.close()
	return g
}

// next returns the generation for another Set, and the one before it if that is to be closed now.
func (c *Cache) next() (g, unused *generation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.current; g != nil && c.budget > 0 && g.images.Mapped() > c.budget {
		unused = c.retire()
	}
	if c.current == nil {
		c.current = &generation{images: newImages(c.finder, c.kept)}
	}
	c.current.users++
	c.sets++
	return c.current, unused
}

// retire ends the current generation, and returns it if it is to be closed now. The caller holds c.mu, and closes it without.
func (c *Cache) retire() *generation {
	g := c.current
	if g == nil {
		return nil
	}
	c.current = nil
	g.old = true
	c.unkept = g.unkept(c.unkept)
	if g.users > 0 {
		return nil
	}
	return g
}

// close releases the files of a generation that nobody uses; it may be nil.
func (g *generation) close() error {
	if g == nil {
		return nil
	}
	return g.images.Close()
}

func (c *Cache) release(g *generation) error {
	c.mu.Lock()
	g.users--
	c.sets--
	unused, last := g.users <= 0 && g.old, c.ended && c.sets == 0
	c.mu.Unlock()
	var failed error
	if unused {
		failed = g.close()
	}
	return errors.Join(failed, c.end(last))
}

// end closes what all generations share, if the cache is closed and no Set is open any more.
func (c *Cache) end(last bool) error {
	if !last {
		return nil
	}
	return c.finder.Close()
}

// Close releases the files. Sets that are open keep theirs. No Set may be made of the cache afterwards.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.ended = true
	unused, last := c.retire(), c.sets == 0
	c.mu.Unlock()
	return errors.Join(unused.close(), c.end(last))
}

func newImages(finder *find.Finder, room *kept.Room) *image.Cache {
	c := image.NewCache(finder)
	c.Kept = room
	return c
}

// open returns the finder and the file cache for a Set, and a function to release them.
func (c *config) open(ctx context.Context) (finder *find.Finder, images *image.Cache, release func() error, err error) {
	if c.cache == nil {
		finder = find.New(ctx, c.find)
		images = newImages(finder, c.kept)
		return finder, images, func() error { return errors.Join(images.Close(), finder.Close()) }, nil
	}
	if c.places() {
		return nil, nil, nil, fmt.Errorf("a shared cache works for dumps only; give directories and servers to NewCache: %w", unwind.ErrBadParam)
	}
	g := c.cache.acquire()
	return c.cache.finder.For(c.find.Executable, c.find.Beside, c.find.Machine), g.images, func() error { return c.cache.release(g) }, nil
}
