// Package parts says what one of the two programs made of package command has and the other lacks, because to link it
// makes each start slower: a database and an HTTP client.
package parts

import (
	"context"
	"io"
	"time"

	"github.com/corewalk/corewalk/internal/faces"
	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/triage"
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

// Symbols say where the symbols of a project are: below a directory, or on a server that has them as debuginfod and symbol servers do.
type Symbols struct {
	Dir, URL string
	Cache    string // with URL, the directory for what was fetched: what one project sent is not for others
}

// A Server says how a crash service works.
type Server struct {
	Dir       string // where it keeps everything, or with DB what is on its way
	DB        string // connection string of a database that many machines share; "" for none
	Objects   string // with DB, where dumps and symbols are: a directory, or s3://BUCKET/PREFIX
	Jobs      int    // dumps of a project that are analysed at a time; 0 for twice the number of processors
	Deadline  time.Duration
	Listen    string // address and port
	Cert, Key string // files of TLS; "" for none
	MaxUpload int64  // bytes
	Rate      float64
	Keep      time.Duration // 0 for ever
	JSONLog   bool
	Verbose   bool
	Version   string
	Log       io.Writer
	// Signatures is the version of signatures of groups.
	Signatures string
	// Run is triage.Run for dumps below a directory.
	Run func(ctx context.Context, symbols Symbols, dumps string, src triage.Source, to ledger.Store, sink triage.Sink) error
	// Report writes the report of a dump.
	Report func(ctx context.Context, symbols Symbols, path, format string, w io.Writer) error
	// Ask opens a dump in another process for questions: see package question. Close ends the process, and says why it ended if it did so itself.
	Ask func(ctx context.Context, symbols Symbols, path string) (io.ReadWriteCloser, error)
}

// A Token is what a token is known by besides its secret.
type Token struct {
	ID, Project, Note string
	Scopes            []string
	Created           time.Time
}

// Tokens are those of a crash service.
type Tokens interface {
	// Add makes a token and returns its secret, which is stored nowhere.
	Add(ctx context.Context, project string, scopes []string, note string) (string, error)
	List(ctx context.Context) ([]Token, error)
	Revoke(ctx context.Context, id string) error
	Close() error
}

// Parts are nil in corewalk, which starts corewalk-full or corewalkd where one is needed. Packages full and fleet have them.
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
	// Serve runs a crash service: see package service. Tokens opens the tokens of the one in a directory, or in a database if
	// that is not "".
	Serve  func(ctx context.Context, s Server) error
	Tokens func(ctx context.Context, dir, db string, log io.Writer) (Tokens, error)
	// Work analyses the dumps of a service on many machines. Only corewalkd has it, and a database for Serve and Tokens.
	Work func(ctx context.Context, s Server) error
}
