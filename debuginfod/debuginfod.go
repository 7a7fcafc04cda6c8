// Package debuginfod makes fetchers that ask debuginfod servers for binaries and
// debug files by build-id:
//
//	fetcher, err := debuginfod.New("https://debuginfod.elfutils.org")
//	target, err := corewalk.Open(path, corewalk.WithFetcher(ctx, fetcher))
//
// and others that ask symbol servers for PE images, PDBs and Breakpad symbol files:
//
//	path := "srv*/var/cache/symbols*https://symbols.example.com"
//	symbols, err := debuginfod.NewSymbols(path)
//	target, err := corewalk.Open(dump, corewalk.WithSymbolPath(path), corewalk.WithSymbolFetcher(ctx, symbols))
//
// It links an HTTP client, which programs that do not import it need not.
package debuginfod

import (
	"os"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/find"
)

// New returns a fetcher that asks the servers given; without any, those of the
// environment variable DEBUGINFOD_URLS. Where files are kept, the headers that are
// sent, and the bounds of time and size, are those of the other variables that
// debuginfod-client-config(7) describes. All servers are asked at a time, and the
// first right answer is used. Several targets may share the fetcher.
//
// A URL is one of http, https, or file: a directory of this machine that has files
// by the paths of the web API (buildid/BUILDID/debuginfo).
func New(urls ...string) (corewalk.Fetcher, error) {
	cfg := debuginfod.FromEnv(os.Getenv, len(urls) == 0)
	if len(urls) > 0 {
		cfg.URLs = urls
	}
	cfg.UserAgent = "corewalk/" + corewalk.Version
	c, err := debuginfod.New(cfg)
	if err != nil {
		return nil, err // not a nil *Client in an interface
	}
	return c, nil
}

// Warnings tells what of the environment New does not heed, and why, a sentence
// each: servers that are not asked because the signatures of their files would have
// to be checked (ima:enforcing in DEBUGINFOD_URLS), a headers file that cannot be
// read.
func Warnings() []string {
	cfg := debuginfod.FromEnv(os.Getenv, true)
	return append(cfg.Warnings, cfg.LeftOut...)
}

// NewSymbols returns a fetcher that asks the servers of a symbol path (see
// corewalk.WithSymbolPath), one after the other in its order. They are asked by https,
// but on this machine. What they answer is kept in the store that the path names
// before the server, or in corewalk/symbols of the user's directory for caches. The
// bounds of time and size are those of New. It is an error when the path names no
// server. Several targets may share the fetcher.
func NewSymbols(path string) (corewalk.SymbolFetcher, error) {
	cfg := debuginfod.FromEnv(os.Getenv, false)
	cfg.UserAgent = "corewalk/" + corewalk.Version
	c, err := debuginfod.NewSymbols(find.ParseSymbolPath(path).Servers, cfg)
	if err != nil {
		return nil, err
	}
	return c, nil
}
