package full

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/corewalk/corewalk/internal/command/parts"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	serviceDB "github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
)

// Limits of connections.
const (
	headerTime = 20 * time.Second
	idleTime   = 2 * time.Minute
	// drainTime is how long requests that have begun may still take when the service ends.
	drainTime = 30 * time.Second
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
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockDir(c.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	log := logger(&c)
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
	s, err := service.New(service.Config{Store: db, Objects: files, Uploads: filepath.Join(c.Dir, uploadsDir), Name: "embedded", Version: c.Version, Log: log,
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
	return run(ctx, &c, s, l, log)
}

// run serves connections until ctx is done; then requests that have begun are answered, dumps that are being analysed are given
// back, and it ends.
func run(ctx context.Context, c *parts.Server, s *service.Service, l net.Listener, log *slog.Logger) error {
	h := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- s.Run(working) }()
	go func() {
		if c.Cert != "" {
			served <- h.ServeTLS(l, c.Cert, c.Key)
		} else {
			served <- h.Serve(l)
		}
	}()
	log.Info("listening", "address", l.Addr().String(), "tls", c.Cert != "", "directory", c.Dir)
	var err error
	select {
	case <-ctx.Done():
		log.Info("draining")
	case err = <-served:
	case err = <-worked:
		worked <- nil
	}
	s.Drain()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if serr := h.Shutdown(end); err == nil && serr != nil {
		err = fmt.Errorf("requests were cut off: %w", serr)
	}
	stop()
	if werr := <-worked; err == nil {
		err = werr
	}
	log.Info("ended")
	return err
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
