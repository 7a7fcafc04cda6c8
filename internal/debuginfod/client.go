// Package debuginfod gets debug files and executables by build-id from debuginfod
// servers, over HTTP/1.1 (debuginfod(8), "Webapi"), and from directories laid out
// as such servers answer (file: URLs).
//
// What is fetched is kept in the directory that other clients use too (gdb,
// elfutils), laid out as they do, so that each file is fetched once. Files are
// used only when they carry the build-id that was asked for, those found in that
// directory as well. That guards against mistakes, not against a server that
// forges a file: ask only servers that you trust.
//
// It is the only package that links an HTTP client.
package debuginfod

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/debugfind"
)

// A Client asks servers for files; it is a debugfind.Fetcher. Several goroutines
// may use it, and several processes one cache directory. What was found, or not,
// is remembered as long as the Client is used.
type Client struct {
	cfg     Config
	cache   cache
	servers []*server
	slots   chan struct{} // one for each connection that may be open

	httpOnce  sync.Once
	http      *http.Client
	cleanOnce sync.Once

	mu    sync.Mutex
	asked map[request]*answer
}

// A server is asked until it fails in a way that the next query would too.
type server struct {
	base *url.URL
	name string                  // for people
	down atomic.Pointer[failure] // why it is asked no more; nil while it is
}

type request struct{ id, kind string }

// An answer is what a request came to. Whoever made it asks the servers; others
// wait until done is closed.
type answer struct {
	done   chan struct{}
	path   string
	err    error
	gaveUp bool // the one who asked had no more time: it says nothing of the file
}

// New checks the configuration and returns a client. No server is asked yet.
func New(cfg Config) (*Client, error) {
	bases, err := cfg.check()
	if err != nil {
		return nil, err
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "corewalk"
	}
	if cfg.Connections <= 0 {
		cfg.Connections = defaultConnections
	}
	c := &Client{cfg: cfg, cache: cache{dir: cfg.CacheDir}, asked: map[request]*answer{}, slots: make(chan struct{}, cfg.Connections)}
	for _, u := range bases {
		s := &server{base: u, name: u.Host}
		if u.Scheme == "file" {
			s.name = u.String()
		}
		c.servers = append(c.servers, s)
	}
	return c, nil
}

// Build-ids have 20 bytes as a rule (SHA-1), 16 or 8 with other linker options.
const minBuildID, maxBuildID = 2, 64

// Fetch returns the path of the file of one of debugfind's kinds with a build-id,
// fetching it unless it is in the cache. Goroutines that want the same file wait
// for one query. An error of the servers is a *debugfind.FetchError.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind string) (string, error) {
	if !slices.Contains([]string{debugfind.KindDebugInfo, debugfind.KindExecutable}, kind) {
		return "", fmt.Errorf("debuginfod servers have no files of kind %q", kind)
	}
	if len(buildID) < minBuildID || len(buildID) > maxBuildID {
		return "", fmt.Errorf("build-id of %d bytes, want %d to %d", len(buildID), minBuildID, maxBuildID)
	}
	r := request{hex.EncodeToString(buildID), kind}
	for {
		a, first := c.answer(r)
		if first {
			c.settle(ctx, r, a)
			return a.path, a.err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-a.done:
		}
		if !a.gaveUp {
			return a.path, a.err
		}
	}
}

// answer is that of a request; first says that the caller is to settle it.
func (c *Client) answer(r request) (a *answer, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a = c.asked[r]; a == nil {
		a, first = &answer{done: make(chan struct{})}, true
		c.asked[r] = a
	}
	return a, first
}

// settle finds the answer to a request. One that was given up is forgotten, so
// that the next who asks tries again.
func (c *Client) settle(ctx context.Context, r request, a *answer) {
	defer close(a.done)
	a.path, a.err = c.fetch(ctx, r)
	if a.gaveUp = a.err != nil && ctx.Err() != nil; a.gaveUp {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.asked, r)
	}
}

func (c *Client) fetch(ctx context.Context, r request) (string, error) {
	now := time.Now()
	c.cleanOnce.Do(func() { c.cache.clean(now) })
	path, missed := c.cache.lookup(r, now)
	switch {
	case path != "":
		return path, nil
	case missed:
		return "", fmt.Errorf("%s of build-id %s: not on the servers a short time ago (%s): %w", r.kind, r.id, c.cache.path(r), fs.ErrNotExist)
	}
	return c.query(ctx, r)
}
