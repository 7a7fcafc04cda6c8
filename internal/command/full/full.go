// Package full has the parts of corewalk-full.
package full

import (
	"context"
	"io"

	"github.com/corewalk/corewalk/internal/command/parts"
	"github.com/corewalk/corewalk/internal/faces/dap"
	"github.com/corewalk/corewalk/internal/faces/mcp"
	"github.com/corewalk/corewalk/internal/files/debuginfod"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
	"github.com/corewalk/corewalk/modules"
)

// Parts returns all parts.
func Parts() parts.Parts {
	return parts.Parts{
		DAP:    dap.Serve,
		Serve:  serve,
		Tokens: openTokens,
		MCP: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser, a parts.Agent) error {
			return mcp.Serve(ctx, in, out, mcp.Config(a))
		},
		Ledger: func(ctx context.Context, path, version string) (ledger.Store, error) {
			db, err := sqlite.Open(ctx, path, version)
			if err != nil {
				return nil, err // avoids a nil *DB in a non-nil interface; so do the others
			}
			return db, nil
		},
		Files: func(cfg settings.Config) (modules.Fetcher, error) {
			c, err := debuginfod.New(cfg)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
		Symbols: func(servers []find.SymbolServer, cfg settings.Config) (modules.SymbolFetcher, error) {
			c, err := debuginfod.NewSymbols(servers, cfg)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}
}
