// Package debuginfod makes fetchers that ask debuginfod servers for binaries and
// debug files by build-id:
//
//	fetcher, err := debuginfod.New("https://debuginfod.elfutils.org")
//	target, err := corewalk.Open(path, corewalk.WithFetcher(ctx, fetcher))
//
// It links an HTTP client, which programs that do not import it need not.
package debuginfod

import (
	"os"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/debuginfod"
)

// New returns a fetcher that asks the servers in the order given; without any,
// those of the environment variable DEBUGINFOD_URLS. Where files are kept, and
// the bounds of time and size, are those of the other variables that
// debuginfod-client-config(7) describes. Several targets may share the fetcher.
func New(urls ...string) (corewalk.Fetcher, error) {
	cfg := debuginfod.FromEnv(os.Getenv)
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
