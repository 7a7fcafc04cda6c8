package find

import (
	"context"
	"errors"
	"io/fs"
)

// Kinds of files that a Fetcher is asked for, as debuginfod servers call them.
const (
	KindDebugInfo  = "debuginfo"  // separate debug information
	KindExecutable = "executable" // the program or shared library
)

// A Fetcher gets files from elsewhere than this machine's directories, by
// build-id. It is asked last, when nothing else had the file.
//
// Fetch returns the path of a file that has the build-id and stays as it is until
// the program ends. An error that wraps fs.ErrNotExist says that there is no such
// file; others are shown to the user, and a *FetchError tells which servers could
// not be asked. Several goroutines may call it at a time.
type Fetcher interface {
	Fetch(ctx context.Context, buildID []byte, kind string) (path string, err error)
}

// errNoFetcher says that there is nobody to ask.
var errNoFetcher = errors.Join(errors.New("no servers are asked"), fs.ErrNotExist)

// Fetches reports whether a file with this build-id can be asked for.
func (f *Finder) Fetches(buildID []byte) bool {
	return f != nil && f.opts.Fetcher != nil && len(buildID) >= 2
}

// Fetch asks the Fetcher of the Options. It may take as long as a download does.
func (f *Finder) Fetch(buildID []byte, kind string) (string, error) {
	if !f.Fetches(buildID) {
		return "", errNoFetcher
	}
	ctx := f.opts.FetchContext
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path, err := f.opts.Fetcher.Fetch(ctx, buildID, kind)
	var fe *FetchError
	if errors.As(err, &fe) {
		f.unreachable.add(fe.Unreachable)
	}
	return path, err
}

// Unreachable lists the servers that could not be asked so far, each with the
// reason, in alphabetical order.
func (f *Finder) Unreachable() []string { return f.unreachable.list() }
