package find

import (
	"context"
	"errors"
)

// A SymbolFetcher gets PE images, PDBs and Breakpad symbol files from servers. It
// is asked last, when nothing else had the file.
//
// FetchSymbols returns the path of the first of the files wanted that is to be had,
// which stays as it is until the program ends: one that is what its key says
// (StoreKey.Check). Errors are as Fetcher's. Several goroutines may call it at a
// time.
type SymbolFetcher interface {
	FetchSymbols(ctx context.Context, wanted []StoreKey) (path string, err error)
}

// FetchesSymbols reports whether there is a server that PE images and symbol files
// can be asked of.
func (f *Finder) FetchesSymbols() bool { return f != nil && f.opts.SymbolFetcher != nil }

// FetchSymbolFile asks the servers for a file of a module: its PDB or Breakpad
// symbol file, which needs DebugID, or with KindPE the module itself, which needs
// CodeID. It may take as long as a download does. An error that wraps
// fs.ErrNotExist says that there is no such file.
func (f *Finder) FetchSymbolFile(m Module, kind SymbolKind) (string, error) {
	keys := symbolKeys(m, kind)
	if kind == KindBreakpad && len(keys) > 1 && breakpadID(m) != "" {
		keys = keys[:1] // servers have files by code id for modules without the other
	}
	if !f.FetchesSymbols() || len(keys) == 0 {
		return "", errNoFetcher
	}
	ctx := f.opts.SymbolContext
	if ctx == nil {
		ctx = context.Background()
	}
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
