// Package serving has what a crash service is made of: as corewalk serve runs it, on one machine, and what corewalkd has in common with that.
package serving

import (
	"context"
	"io"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

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
	// Attachments is how many bytes of files that come with a dump are kept; 0 for none.
	Attachments int64
	Rate        float64
	Keep        Retention
	Versions    map[string]string // releases by builds
	Notify      Notify
	SignIn      SignIn
	JSONLog     bool
	Verbose     bool
	Version     string
	Log         io.Writer
	Terminal    bool // Log is one
	// Signatures is the version of signatures of groups.
	Signatures string
	// Run is triage.Run for dumps below a directory.
	Run func(ctx context.Context, symbols Symbols, dumps string, src triage.Source, to ledger.Store, sink triage.Sink) error
	// Report writes the report of a dump.
	Report func(ctx context.Context, symbols Symbols, path, format string, w io.Writer) error
	// Ask opens a dump in another process for questions: see package question. Close ends the process, and says why it ended if it did so itself.
	Ask func(ctx context.Context, symbols Symbols, path string) (io.ReadWriteCloser, error)
}

// DefaultAttachments is that of Attachments, unless something else is wanted, in bytes.
const DefaultAttachments = service.DefaultAttachments

// A Retention says which dumps of a project are kept; 0 is all.
type Retention struct {
	Age      time.Duration
	PerGroup int
	Bytes    int64
}

// A Notify says how people are told of what happens to groups.
type Notify struct {
	SMTP, From, Password string // a server of mail; "" for none
	Page                 string // URL, for links
	Private              bool   // webhooks may lead to private networks and this machine
}

// A SignIn says which identity provider lets people in, and whom.
type SignIn struct {
	Issuer, Client, Secret string // "" for none
	Scopes                 []string
	Allow                  []string // rules: PROJECT:SCOPE,SCOPE:CLAIM=VALUE
	Session                time.Duration
}

// A Token is what a token is known by besides its secret.
type Token struct {
	ID, Project, Note string
	Scopes            []string
	Created           time.Time
	Expires           time.Time // of a session; zero for never
}

// An Account is a person who has a password.
type Account struct {
	Name     string
	Projects map[string][]string // scopes
	Password bool                // it has one
	Invited  time.Time           // until when one may be chosen by a link; zero for none
	Seen     time.Time           // the last login
}

// Tokens are those of a crash service, and its accounts.
type Tokens interface {
	// Add makes a token and returns its secret, which is stored nowhere.
	Add(ctx context.Context, project string, scopes []string, note string) (string, error)
	List(ctx context.Context) ([]Token, error)
	Revoke(ctx context.Context, id string) error
	// SetAccount has a person do what scopes say in a project; made says that there was no account of the name. That has the password, or the link for one,
	// on the page at an address, or with "" where the service was when it began.
	SetAccount(ctx context.Context, page, name, project string, scopes []string, password string) (made bool, link string, err error)
	// SetPassword gives an account a password, or, with "", a link with which one is chosen.
	SetPassword(ctx context.Context, page, name, password string) (link string, err error)
	// RemoveAccount removes an account, or takes one project from it.
	RemoveAccount(ctx context.Context, name, project string) error
	Accounts(ctx context.Context) ([]Account, error)
	Close() error
}

// Fleet is a service on many machines, which corewalkd is: one on SQLite and a directory is Embedded, and its tokens are those of OpenTokens.
type Fleet struct {
	// Serve takes dumps for workers, and Work analyses them, until ctx is done.
	Serve, Work func(ctx context.Context, s Server) error
	// Backup copies what a service has into a directory, while it runs, and Restore back where there is nothing; they write how much that was.
	Backup, Restore func(ctx context.Context, s Server, dir string, out io.Writer) error
	// Import takes dumps into a service.
	Import func(ctx context.Context, s Server, i Import, out io.Writer) error
	// Tokens opens those of a service by the connection string of its database.
	Tokens func(ctx context.Context, db string, log io.Writer) (Tokens, error)
}
