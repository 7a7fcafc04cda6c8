// Package debuginfod gets debug files and executables by build-id from debuginfod
// servers, over HTTP/1.1 (debuginfod(8), "Webapi").
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
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

	httpOnce  sync.Once
	http      *http.Client
	cleanOnce sync.Once

	mu    sync.Mutex
	asked map[request]*answer
}

// A server is asked until it fails in a way that the next query would too.
type server struct {
	base *url.URL
	down atomic.Bool
}

type request struct{ id, kind string }

type answer struct {
	once sync.Once
	path string
	err  error
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
	c := &Client{cfg: cfg, cache: cache{dir: cfg.CacheDir}, asked: map[request]*answer{}}
	for _, u := range bases {
		c.servers = append(c.servers, &server{base: u})
	}
	return c, nil
}

// Build-ids have 20 bytes as a rule (SHA-1), 16 or 8 with other linker options.
const minBuildID, maxBuildID = 2, 64

// Fetch returns the path of the file of one of debugfind's kinds with a build-id,
// fetching it unless it is in the cache. The error wraps fs.ErrNotExist when no
// server has the file, or when those that may have it have failed before.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind string) (string, error) {
	if !slices.Contains([]string{debugfind.KindDebugInfo, debugfind.KindExecutable}, kind) {
		return "", fmt.Errorf("debuginfod servers have no files of kind %q", kind)
	}
	if len(buildID) < minBuildID || len(buildID) > maxBuildID {
		return "", fmt.Errorf("build-id of %d bytes, want %d to %d", len(buildID), minBuildID, maxBuildID)
	}
	r := request{hex.EncodeToString(buildID), kind}
	c.mu.Lock()
	a := c.asked[r]
	if a == nil {
		a = &answer{}
		c.asked[r] = a
	}
	c.mu.Unlock()
	a.once.Do(func() { a.path, a.err = c.fetch(ctx, r) })
	return a.path, a.err
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
	var failed, absent []string
	for _, s := range c.servers {
		if s.down.Load() {
			continue
		}
		path, err := c.from(ctx, s, r)
		switch {
		case err == nil:
			return path, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, s.base.Host)
		default:
			failed = append(failed, err.Error())
		}
	}
	switch {
	case len(failed) > 0:
		return "", errors.New(strings.Join(failed, "; "))
	case len(absent) == 0:
		return "", fmt.Errorf("%s of build-id %s: no server answers: %w", r.kind, r.id, fs.ErrNotExist)
	case len(absent) == len(c.servers):
		c.cache.miss(r)
	}
	return "", fmt.Errorf("%s of build-id %s: not on %s: %w", r.kind, r.id, strings.Join(absent, ", "), fs.ErrNotExist)
}

// pause is how long the first repetition of a query waits; each further one waits
// twice as long as the one before. longestPause bounds what a server may ask for
// with Retry-After.
const (
	pause        = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// from fetches a file from one server, in several attempts if need be.
func (c *Client) from(ctx context.Context, s *server, r request) (string, error) {
	for n := 0; ; n++ {
		path, err := c.attempt(ctx, s, r)
		if err == nil || ctx.Err() != nil {
			return path, err
		}
		var f *failure
		if !errors.As(err, &f) {
			return "", err
		}
		if !f.again || n >= c.cfg.Retries || f.after > longestPause {
			if f.down {
				s.down.Store(true)
			}
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(max(f.after, pause<<n)):
		}
	}
}

// attempt fetches a file into the cache, and checks it there before it gets its
// name.
func (c *Client) attempt(ctx context.Context, s *server, r request) (string, error) {
	tmp, err := c.cache.create(r)
	if err != nil {
		return "", fmt.Errorf("no place for a file from a debuginfod server: %w", err)
	}
	defer c.cache.discard(tmp) // nothing is left of it when it has been kept
	where := s.base.JoinPath("buildid", r.id, r.kind)
	if err := c.download(ctx, s, where, r, tmp); err != nil {
		return "", fmt.Errorf("%s: %w", where.Redacted(), err)
	}
	if err := tmp.Close(); err != nil {
		return "", fmt.Errorf("file from a debuginfod server: %w", err)
	}
	if err := verify(tmp.Name(), r); err != nil {
		return "", fmt.Errorf("%s: %w", where.Redacted(), err)
	}
	return c.cache.keep(tmp.Name(), r)
}
