package full

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"github.com/corewalk/corewalk/internal/command/parts"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	serviceDB "github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
)

// The files of a service below its directory. Objects have names of their own.
const (
	databaseFile = "service.db"
	uploadsDir   = "uploads"
	ledgerFile   = "ledger.db"
)

func projectDir(dir, project string) string { return filepath.Join(dir, "projects", project) }

// serve runs a crash service on SQLite and a directory until ctx is done.
func serve(ctx context.Context, c parts.Server) error {
	db, err := serviceDB.Open(ctx, filepath.Join(c.Dir, databaseFile))
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := objects.OpenDir(c.Dir)
	if err != nil {
		return err
	}
	symbols := func(project string) string {
		dir := filepath.Join(projectDir(c.Dir, project), "symbols")
		_ = os.MkdirAll(dir, 0o700) // what needs it reports the error
		return dir
	}
	s, err := service.New(service.Config{Store: db, Objects: files, Uploads: filepath.Join(c.Dir, uploadsDir), Name: "embedded", Version: c.Version, Log: logger(&c),
		MaxUpload: c.MaxUpload, Rate: c.Rate, Keep: c.Keep,
		Ledger: func(ctx context.Context, project string) (ledger.Store, error) {
			l, err := sqlite.Open(ctx, filepath.Join(projectDir(c.Dir, project), ledgerFile), c.Signatures)
			if err != nil {
				return nil, err
			}
			return l, nil
		},
		Run: func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			return c.Run(ctx, symbols(project), filepath.Join(projectDir(c.Dir, project), "dumps"), src, to, sink)
		},
		Report: func(ctx context.Context, project, path, format string, w io.Writer) error {
			return c.Report(ctx, symbols(project), path, format, w)
		}})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	if err := firstToken(ctx, &c, db, l.Addr()); err != nil {
		l.Close()
		return err
	}
	return s.Serve(ctx, l, c.Cert, c.Key)
}

func logger(c *parts.Server) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		o.Level = slog.LevelDebug
	}
	if c.JSONLog {
		return slog.New(slog.NewJSONHandler(c.Log, o))
	}
	return slog.New(slog.NewTextHandler(c.Log, o))
}

// firstToken makes a token for everything if there is none at all, and says it, once.
func firstToken(ctx context.Context, c *parts.Server, db store.Store, at net.Addr) error {
	tokens, err := db.Tokens(ctx)
	if err != nil || len(tokens) > 0 {
		return err
	}
	text, _, err := service.NewToken(ctx, db, "default", service.Scopes(), "first")
	if err != nil {
		return err
	}
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
	}
	_, err = fmt.Fprintf(c.Log, "corewalk: the first token, for everything in the project default, is not shown again: %s\ncorewalk: the page is %s://%s/#%[1]s\n", text, scheme, at)
	return err
}

// tokens are those of the service in a directory.
type tokens struct{ db *serviceDB.DB }

func openTokens(ctx context.Context, dir string) (parts.Tokens, error) {
	db, err := serviceDB.Open(ctx, filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	return tokens{db}, nil
}

func (t tokens) Add(ctx context.Context, project string, scopes []string, note string) (string, error) {
	text, _, err := service.NewToken(ctx, t.db, project, scopes, note)
	return text, err
}

func (t tokens) List(ctx context.Context) (out []parts.Token, err error) {
	list, err := t.db.Tokens(ctx)
	for _, x := range list {
		out = append(out, parts.Token{ID: x.ID, Project: x.Project, Note: x.Note, Scopes: x.Scopes, Created: x.Created})
	}
	return out, err
}

func (t tokens) Revoke(ctx context.Context, id string) error {
	err := t.db.RemoveToken(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no token %.40q: corewalk serve token list lists them", id)
	}
	return err
}

func (t tokens) Close() error { return t.db.Close() }
