package image

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// What is kept for the next run is written when the answer of this one is printed, or given to who asked. So nobody waits
// for it longer than for the answer of another run: a full disk fails at once, but one that hangs would take forever.
const (
	// closing is how long all that is kept of a cache's files may take to be made and written. Of a gigabyte of debug
	// information that is decompressed for the first time it is about a second.
	closing = 1500 * time.Millisecond
	// cutting is how long a writer has after that to see that its time is over, and to remove what it began.
	cutting = 200 * time.Millisecond
)

// Keep writes what is to be kept to disk, and returns when that is done, or after two seconds at the latest. Nothing
// obtained from the cache's images may be used afterwards.
func (c *Cache) Keep() {
	if c.Kept != nil {
		c.keep()
	}
}

// Close writes what is to be kept to disk as Keep does, and unmaps all files; those that are still read after Keep's time are unmapped
// when they no longer are. Nothing obtained from the cache's images may be used afterwards.
func (c *Cache) Close() error {
	if ended := c.keep(); ended != nil {
		go func() {
			<-ended
			_ = c.unmap()
		}()
		return nil
	}
	return c.unmap()
}

// keep makes and writes what is to be kept. If that takes too long, it goes on without its caller; ended is then closed when
// it ends. While it does, further calls do nothing.
func (c *Cache) keep() (ended <-chan struct{}) {
	c.mu.Lock()
	if c.keeping != nil {
		defer c.mu.Unlock()
		return c.keeping
	}
	images := slices.Collect(maps.Values(c.byFile))
	done := make(chan struct{})
	c.keeping = done
	c.mu.Unlock()
	// The goroutine has the time that is left of closing when it gets to run.
	ctx, cancel := context.WithTimeout(context.Background(), c.closing)
	go func() {
		defer cancel()
		c.keepAll(ctx, images)
		c.mu.Lock()
		c.keeping = nil
		c.mu.Unlock()
		close(done)
	}()
	late := time.NewTimer(c.closing + cutting)
	defer late.Stop()
	select {
	case <-done:
		return nil
	case <-late.C:
		return done
	}
}

// keepAll makes and writes what is to be kept of images, as long as there is time.
func (c *Cache) keepAll(ctx context.Context, images []*Image) {
	if c.Kept != nil && c.finder != nil {
		_ = mmapfile.Guard(func() { c.finder.Keep(ctx) })
	}
	for _, im := range images {
		im.side.Wait()
		if c.Kept == nil || ctx.Err() != nil {
			continue // the others' sections are no longer read, either
		}
		_ = mmapfile.Guard(func() { // of a file that has changed, nothing is kept
			im.keep(ctx)
			im.keepAnswers(ctx)
		})
	}
}

// unmap closes all files.
func (c *Cache) unmap() error {
	c.mu.Lock()
	images, symbols := c.byFile, c.symbols
	c.byFile, c.byPath, c.symbols = map[mmapfile.ID]*Image{}, map[string]*entry{}, map[string]*symbolEntry{}
	c.mu.Unlock()
	var first error
	for _, im := range images {
		if im.disk.entry != nil {
			im.disk.entry.Close()
		}
		if im.answers.entry != nil {
			im.answers.entry.Close()
		}
		if err := im.file.Close(); err != nil && first == nil {
			first = err
		}
	}
	for _, e := range symbols {
		if e.file != nil {
			if err := e.file.file.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}
