package find

import (
	"context"
	"errors"
	"io/fs"
)

// Kinds of files that a Fetcher can be asked for, named as in debuginfod's web API.
const (
	KindDebugInfo  = "debuginfo"  // separate debug information
	KindExecutable = "executable" // the program or shared library
)

// A Fetcher gets files by build-id from a source other than this machine's directories. It
// is used last, when no directory has the file.
//
// Fetch returns the path of a file that has the build-id and does not change until the
// program ends. An error that wraps fs.ErrNotExist means that there is no such file. Other
// errors are shown to the user; a *FetchError also lists the servers that could not be
// reached. Fetch may be called by several goroutines at once.
type Fetcher interface {
	Fetch(ctx context.Context, buildID []byte, kind string) (path string, err error)
}

// errNoFetcher says that no fetcher is configured.
var errNoFetcher = errors.Join(errors.New("no servers configured"), fs.ErrNotExist)

// Fetches reports whether a fetcher is configured and can be asked for a file with this
// build-id.
func (f *Finder) Fetches(buildID []byte) bool {
	return f != nil && f.opts.Fetcher != nil && len(buildID) >= 2
}

// Fetch gets a file from the Fetcher in the Options. It can take as long as a download.
func (f *Finder) Fetch(buildID []byte, kind string) (string, error) {
	if !f.Fetches(buildID) {
		return "", errNoFetcher
	}
	ctx := f.ctx
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path, err := f.opts.Fetcher.Fetch(ctx, buildID, kind)
	return path, f.noted(err)
}

// noted returns an error of a Fetcher, and keeps the servers that it could not reach.
func (f *Finder) noted(err error) error {
	var fe *FetchError
	if errors.As(err, &fe) {
		f.unreachable.add(fe.Unreachable)
	}
	return err
}

// Unreachable lists the servers that could not be reached so far, each with the reason, in
// alphabetical order.
func (f *Finder) Unreachable() []string { return f.unreachable.list() }
