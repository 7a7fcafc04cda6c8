package modules

import (
	"context"

	"github.com/corewalk/corewalk/internal/files/find"
)

// Kinds of files that a Fetcher is asked for, as debuginfod servers call them.
const (
	KindDebugInfo  = find.KindDebugInfo  // separate debug information
	KindExecutable = find.KindExecutable // program or shared library
)

// A Fetcher gets files by build-id from somewhere other than this machine's
// directories: from debuginfod servers, or an archive of builds. It is asked last, for
// modules that a stack goes through. Package debuginfod makes one that asks servers.
//
// Fetch returns the path of a file with this build-id, which must not change until the
// program ends. An error that wraps fs.ErrNotExist says that there is no such file; any
// other error is shown to the user. Several goroutines may call Fetch at the same time.
type Fetcher interface {
	Fetch(ctx context.Context, buildID []byte, kind string) (path string, err error)
}

// A SourceFetcher is a Fetcher that also gets source files: what the module with a build-id
// was compiled from, by the absolute path in its debug information. Errors and paths are as
// a Fetcher's. Package debuginfod makes one.
type SourceFetcher interface {
	Fetcher
	FetchSource(ctx context.Context, buildID []byte, path string) (string, error)
}

// A SymbolFetcher gets PE images, PDBs and Breakpad symbol files from symbol servers.
// It is asked last, for modules that a stack goes through. Package debuginfod makes one.
//
// FetchSymbols returns the path of the first of the wanted files that is available. The
// file must match its key (StoreKey.Check) and not change until the program ends. Errors
// are as a Fetcher's. Several goroutines may call FetchSymbols at the same time.
type SymbolFetcher interface {
	FetchSymbols(ctx context.Context, wanted []StoreKey) (path string, err error)
}

// A SymbolKind is a kind of file that symbol stores have.
type SymbolKind uint8

// The kinds of files in symbol stores.
const (
	PDB            = SymbolKind(find.KindPDB)      // program database of Microsoft's tools
	BreakpadSymbol = SymbolKind(find.KindBreakpad) // symbol file of Breakpad's tools
	PEImage        = SymbolKind(find.KindPE)       // the module itself
)

// String returns a word for the kind.
func (k SymbolKind) String() string { return find.SymbolKind(k).String() }

// A StoreKey identifies a file in a symbol store, where it is at Name/ID/File. Its
// parts are safe as components of a path or URL.
type StoreKey struct {
	Name string // base name of the debug file, or of the module
	ID   string // hexadecimal, in the case that symbol servers use
	File string // base name of the file
	Kind SymbolKind
}

func (k StoreKey) key() find.StoreKey {
	return find.StoreKey{Name: k.Name, ID: k.ID, File: k.File, Kind: find.SymbolKind(k.Kind)}
}

// Paths lists the paths below a store where the file may be, with slashes, the likeliest
// first: stores differ in upper and lower case.
func (k StoreKey) Paths() []string { return k.key().Paths() }

// Check returns an error unless the file at path is the one that the key identifies.
func (k StoreKey) Check(path string) error { return k.key().Check(path) }

// symbolFetcher is a SymbolFetcher as package find asks it.
type symbolFetcher struct{ SymbolFetcher }

func (f symbolFetcher) FetchSymbols(ctx context.Context, wanted []find.StoreKey) (string, error) {
	keys := make([]StoreKey, len(wanted))
	for i, k := range wanted {
		keys[i] = StoreKey{Name: k.Name, ID: k.ID, File: k.File, Kind: SymbolKind(k.Kind)}
	}
	return f.SymbolFetcher.FetchSymbols(ctx, keys)
}
