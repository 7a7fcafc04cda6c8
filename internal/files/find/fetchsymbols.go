package find

import (
	"context"
	"errors"
)

// A SymbolFetcher gets PE images, PDBs and Breakpad symbol files from servers. It is used
// last, when no directory has the file.
//
// FetchSymbols returns the path of the first of the requested files that is available. The
// file matches its key (StoreKey.Check) and does not change until the program ends. Errors
// are those of Fetcher. It may be called by several goroutines at once.
type SymbolFetcher interface {
	FetchSymbols(ctx context.Context, wanted []StoreKey) (path string, err error)
}

// FetchesSymbols reports whether a server for PE images and symbol files is configured.
func (f *Finder) FetchesSymbols() bool { return f != nil && f.opts.SymbolFetcher != nil }

// FetchSymbolFile fetches a file of a module from the servers: its PDB or Breakpad symbol
// file, which needs DebugID, or with KindPE the module itself, which needs CodeID. It can
// take as long as a download. An error that wraps fs.ErrNotExist means that there is no
// such file.
func (f *Finder) FetchSymbolFile(m Module, kind SymbolKind) (string, error) {
	keys := symbolKeys(m, kind)
	if kind == KindBreakpad && len(keys) > 1 && breakpadID(m) != "" {
		keys = keys[:1] // servers use the code id only for modules without a debug id
	}
	if !f.FetchesSymbols() || len(keys) == 0 {
		return "", errNoFetcher
	}
	ctx := f.ctx
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path, err := f.opts.SymbolFetcher.FetchSymbols(ctx, keys)
	var fe *FetchError
	if errors.As(err, &fe) {
		f.unreachable.add(fe.Unreachable)
	}
	return path, err
}
