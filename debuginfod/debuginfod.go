// Package debuginfod makes fetchers for use with package corewalk. Some get binaries and
// debug files by build-id from debuginfod servers:
//
//	fetcher, err := debuginfod.New("https://debuginfod.elfutils.org")
//	target, err := corewalk.Open(ctx, path, corewalk.WithFetcher(fetcher))
//
// Others get PE images, PDBs and Breakpad symbol files from symbol servers:
//
//	path := "srv*/var/cache/symbols*https://symbols.example.com"
//	symbols, err := debuginfod.NewSymbols(path)
//	target, err := corewalk.Open(ctx, dump, corewalk.WithSymbolPath(path), corewalk.WithSymbolFetcher(symbols))
//
// This package links an HTTP client; programs that do not import it do not need one.
package debuginfod

import (
	"os"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/modules"
)

// New returns a fetcher for the given servers, or for those of the environment variable
// DEBUGINFOD_URLS if none are given. The cache directory, the headers sent, and the limits
// on time and size come from the other variables described in debuginfod-client-config(7).
// All servers are queried at once, and the first correct file is used. The fetcher is safe
// for concurrent use, and several targets may share it.
//
// A URL has the scheme http, https or file. A file URL names a directory on this machine
// with the paths of the web API (buildid/BUILDID/debuginfo).
func New(urls ...string) (modules.Fetcher, error) {
	cfg := settings.FromEnv(os.Getenv, len(urls) == 0)
	if len(urls) > 0 {
		cfg.URLs = urls
	}
	cfg.UserAgent = "corewalk/" + corewalk.Version
	c, err := debuginfod.New(cfg)
	if err != nil {
		return nil, err // avoids a nil *Client in a non-nil interface
	}
	return c, nil
}

// Warnings lists, one sentence each, the settings in the environment that New ignores, and
// why: servers whose files' signatures would have to be checked (ima:enforcing in
// DEBUGINFOD_URLS), or a headers file that cannot be read.
func Warnings() []string {
	cfg := settings.FromEnv(os.Getenv, true)
	return append(cfg.Warnings, cfg.LeftOut...)
}

// NewSymbols returns a fetcher for the servers of a symbol path (see
// corewalk.WithSymbolPath), which it asks one after another, in the path's order. Servers
// must use https unless they are on this machine. Fetched files are kept in the store that
// precedes the server in the path, or in corewalk/symbols in the user's cache directory.
// The limits on time and size are the same as for New. A path without a server is an error.
// The fetcher is safe for concurrent use, and several targets may share it.
func NewSymbols(path string) (modules.SymbolFetcher, error) {
	cfg := settings.FromEnv(os.Getenv, false)
	cfg.UserAgent = "corewalk/" + corewalk.Version
	c, err := debuginfod.NewSymbols(find.ParseSymbolPath(path).Servers, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}
