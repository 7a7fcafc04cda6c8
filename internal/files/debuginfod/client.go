// Package debuginfod gets debug files and executables by build-id from debuginfod servers,
// over HTTP/1.1 (debuginfod(8), "Webapi"), and from directories with the layout of such a
// server (file: URLs).
//
// Fetched files are kept in the cache directory that gdb and elfutils use, in the same
// layout, so that each file is fetched once. A file is used only if it has the requested
// build-id, also if it was already in the cache. That detects mistakes but not a server
// that forges files: use only servers that you trust.
//
// PE images, PDBs and Breakpad symbol files come from symbol servers in the same way
// (SymbolClient).
//
// This is the only package that links an HTTP client.
package debuginfod

import (
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	pathpkg "path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
)

// A Client gets files from servers; it is a find.Fetcher. It is safe for concurrent use,
// and several processes may share a cache directory. Results, including missing files, are
// remembered as long as the Client is in use.
type Client struct {
	link
	cache   cache
	servers []*server
	asked   answers[request]

	cleanOnce sync.Once
}

// A request names a file: a build-id, a kind, and of source files the path.
type request struct{ id, kind, path string }

// kindSource is the kind of source files, as the web API calls it.
const kindSource = "source"

// what describes the requested file in words.
func (r request) what() string {
	if r.kind == kindSource {
		return fmt.Sprintf("source file %s of build-id %s", r.path, r.id)
	}
	return fmt.Sprintf("%s of build-id %s", r.kind, r.id)
}

// New checks the configuration and returns a client. It does not contact a server.
func New(cfg settings.Config) (*Client, error) {
	bases, err := check(&cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{cache: cache{dir: cfg.CacheDir}}
	c.link.init(cfg)
	for _, u := range bases {
		c.servers = append(c.servers, newServer(u))
		c.reach.Name(u)
	}
	return c, nil
}

// Bounds on the length of build-ids in bytes. They normally have 20 (SHA-1), with some
// linker options 16 or 8.
const minBuildID, maxBuildID = 2, 64

// Fetch returns the path of the file with a build-id, of kind find.KindDebugInfo or
// find.KindExecutable. It fetches the file unless it is in the cache. Goroutines that
// request the same file share one query. If the servers fail, the error is a
// *find.FetchError.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind string) (string, error) {
	if !slices.Contains([]string{find.KindDebugInfo, find.KindExecutable}, kind) {
		return "", fmt.Errorf("debuginfod servers have no files of kind %q", kind)
	}
	return c.ask(ctx, buildID, request{kind: kind})
}

// maxSource is the size limit of source files in bytes, and maxPath that of their paths.
const maxSource, maxPath = 16 << 20, 1024

// FetchSource returns the path of a source file of the module with a build-id. path is the
// absolute one in the module's debug information. The file cannot be verified: servers keep
// it by that path. Errors are those of Fetch.
func (c *Client) FetchSource(ctx context.Context, buildID []byte, path string) (string, error) {
	if !strings.HasPrefix(path, "/") || len(path) > maxPath {
		return "", fmt.Errorf("source file %.80q: want an absolute path of at most %d bytes", path, maxPath)
	}
	return c.ask(ctx, buildID, request{kind: kindSource, path: pathpkg.Clean(path)})
}

func (c *Client) ask(ctx context.Context, buildID []byte, r request) (string, error) {
	if len(buildID) < minBuildID || len(buildID) > maxBuildID {
		return "", fmt.Errorf("build-id has %d bytes, want %d to %d", len(buildID), minBuildID, maxBuildID)
	}
	r.id = hex.EncodeToString(buildID)
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
		return "", fmt.Errorf("%s: recently not found on the servers (%s): %w", r.what(), c.cache.path(r), fs.ErrNotExist)
	}
	return c.query(ctx, r)
}
