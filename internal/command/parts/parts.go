// Package parts says what one of the two programs made of package command has and the other lacks, because to link it
// makes each start slower: a database and an HTTP client.
package parts

import (
	"context"
	"io"

	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/modules"
)

// An Agent says what an agent may see.
type Agent struct {
	Open    faces.Opener
	Ledger  func(context.Context) (ledger.Store, error)
	Roots   []string // directories below which files are read
	Version string
}

// Parts are nil in corewalk, which starts corewalk-full where one is needed. Package full has them.
type Parts struct {
	// Ledger opens the ledger of triage; "" is one in memory.
	Ledger func(ctx context.Context, path, version string) (ledger.Store, error)
	// Files makes a client of debuginfod servers, and Symbols one of symbol servers. With an error they return nil.
	Files   func(settings.Config) (modules.Fetcher, error)
	Symbols func([]find.SymbolServer, settings.Config) (modules.SymbolFetcher, error)
	// DAP serves editors: see package dap.
	DAP func(ctx context.Context, in io.Reader, out io.Writer, open faces.Opener) error
	// MCP serves agents: see package mcp.
	MCP func(ctx context.Context, in io.ReadCloser, out io.WriteCloser, a Agent) error
}
