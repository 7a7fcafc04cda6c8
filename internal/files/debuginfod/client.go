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
// PE images, PDBs and Breakpad symbol files come from symbol servers in the same
// way (SymbolClient).
//
// It is the only package that links an HTTP client.
package debuginfod

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
)

// A Client asks servers for files; it is a debugfind.Fetcher. Several goroutines
// may use it, and several processes one cache directory. What was found, or not,
// is remembered as long as the Client is used.
type Client struct {
	link
	cache   cache
	servers []*server
	asked   answers[request]

	cleanOnce sync.Once
}

type request struct{ id, kind string }

// New checks the configuration and returns a client. No server is asked yet.
func New(cfg Config) (*Client, error) {
	bases, err := cfg.check()
	if err != nil {
		return nil, err
	}
	c := &Client{cache: cache{dir: cfg.CacheDir}}
	c.link.init(cfg)
	for _, u := range bases {
		c.servers = append(c.servers, newServer(u))
	}
	return c, nil
}

// Build-ids have 20 bytes as a rule (SHA-1), 16 or 8 with other linker options.
const minBuildID, maxBuildID = 2, 64

// Fetch returns the path of the file of one of debugfind's kinds with a build-id,
// fetching it unless it is in the cache. Goroutines that want the same file wait
// for one query. An error of the servers is a *debugfind.FetchError.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind string) (string, error) {
	if !slices.Contains([]string{find.KindDebugInfo, find.KindExecutable}, kind) {
		return "", fmt.Errorf("debuginfod servers have no files of kind %q", kind)
	}
	if len(buildID) < minBuildID || len(buildID) > maxBuildID {
		return "", fmt.Errorf("build-id of %d bytes, want %d to %d", len(buildID), minBuildID, maxBuildID)
	}
	r := request{hex.EncodeToString(buildID), kind}
	return c.asked.get(ctx, r, func() (string, error) { return c.fetch(ctx, r) })
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
