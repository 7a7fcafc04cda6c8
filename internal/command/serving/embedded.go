package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/notify"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	serviceDB "github.com/corewalk/corewalk/internal/service/store/sqlite"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/sqlite"
	"github.com/corewalk/corewalk/report"
)

// The files of a service below its directory. Objects have names of their own.
const (
	databaseFile = "service.db"
	uploadsDir   = "uploads"
	ledgerFile   = "ledger.db"
)

// Exists reports whether a directory has a service.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, databaseFile))
	return err == nil
}

func projectDir(dir, project string) string { return filepath.Join(dir, "projects", project) }

// Embedded runs a crash service on SQLite and a directory until ctx is done.
func Embedded(ctx context.Context, c Server) error {
	db, err := serviceDB.Open(ctx, filepath.Join(c.Dir, databaseFile))
	if err != nil {
		return err
	}
	defer db.Close()
	files, err := objects.OpenDir(c.Dir)
	if err != nil {
		return err
	}
	own := Config(&c, db, files)
	symbols := func(project string) Symbols {
		dir := filepath.Join(projectDir(c.Dir, project), "symbols")
		_ = os.MkdirAll(dir, 0o700) // what needs it reports the error
		return Symbols{Dir: dir}
	}
	own.Name = "embedded"
	own.Ledger = func(ctx context.Context, project string) (ledger.Store, error) {
		l, err := sqlite.Open(ctx, filepath.Join(projectDir(c.Dir, project), ledgerFile), c.Signatures)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	own.Run = func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
		return c.Run(ctx, symbols(project), filepath.Join(projectDir(c.Dir, project), "dumps"), src, to, sink)
	}
	own.Report = func(ctx context.Context, project, path, format string, w io.Writer) error {
		return c.Report(ctx, symbols(project), path, format, w)
	}
	own.Ask = func(ctx context.Context, project, path string) (service.Conversation, error) {
		return c.Ask(ctx, symbols(project), path)
	}
	return Serve(ctx, &c, own, true)
}

// Check reports what is wrong with how people are told.
func (n *Notify) Check() error {
	_, err := n.sender()
	return err
}

func (n *Notify) sender() (*notify.Sender, error) {
	deep := reach.Public
	if n.Private {
		deep = reach.Local
	}
	if n.SMTP == "" {
		return notify.New(deep, nil), nil
	}
	server, err := notify.ParseMail(n.SMTP, n.From, n.Password)
	if err != nil {
		return nil, fmt.Errorf("--smtp: %w", err)
	}
	return notify.New(deep, server), nil
}

// Config is what the configuration of a service has of the command's flags.
func Config(c *Server, db store.Store, files objects.Store) service.Config {
	sender, _ := c.Notify.sender() // it was checked
	provider, _ := c.SignIn.provider(c.Notify.Page)
	return service.Config{SignIn: provider, Session: c.SignIn.Session, Notify: sender, PublicURL: c.Notify.Page, Store: db, Objects: files, Uploads: filepath.Join(c.Dir, uploadsDir), Version: c.Version, Log: Logger(c), MaxUpload: c.MaxUpload, Attachments: c.Attachments, Rate: c.Rate, Keep: service.Retention(c.Keep), Versions: c.Versions, AnswerTimeout: c.Deadline}
}

// Serve serves a service until ctx is done; with token it makes the first token if there is none. made are told of it.
func Serve(ctx context.Context, c *Server, own service.Config, token bool, made ...func(*service.Service)) error {
	s, err := service.New(own)
	if err != nil {
		return err
	}
	for _, f := range made {
		f(s)
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return err
	}
	if err := own.Store.SetSetting(ctx, "", settingPage, cmp.Or(c.Notify.Page, pageAt(c, l.Addr()))); err != nil {
		l.Close()
		return err
	}
	if token {
		if err := firstToken(ctx, c, own.Store, l.Addr()); err != nil {
			l.Close()
			return err
		}
	}
	return s.Serve(ctx, l, c.Cert, c.Key)
}

// Logger is the log of a service.
func Logger(c *Server) *slog.Logger {
	o := &slog.HandlerOptions{Level: slog.LevelInfo}
	if c.Verbose {
		o.Level = slog.LevelDebug
	}
	if c.JSONLog {
		return slog.New(slog.NewJSONHandler(shown{c.Log}, o))
	}
	return slog.New(slog.NewTextHandler(c.Log, o))
}

// shown escapes what JSON leaves as it is, in whole records.
type shown struct{ io.Writer }

func (s shown) Write(record []byte) (int, error) {
	if _, err := s.Writer.Write(report.EscapeJSON(record)); err != nil {
		return 0, err
	}
	return len(record), nil
}

// firstToken makes a token for everything if there is none at all, and says it, once: on a terminal, or else in a file.
func firstToken(ctx context.Context, c *Server, db store.Store, at net.Addr) error {
	tokens, err := db.Tokens(ctx)
	if err != nil || len(tokens) > 0 {
		return err
	}
	text, _, err := service.NewToken(ctx, db, "default", service.Scopes(), "first")
	if err != nil {
		return err
	}
	if c.Terminal {
		_, err = fmt.Fprintf(c.Log, "corewalk: the first token, for everything in the project default, is not shown again: %s\ncorewalk: the page is %s/#%[1]s\n", text, pageAt(c, at))
		return err
	}
	// What is no terminal is a log, which others read, too, and which is kept.
	file := filepath.Join(c.Dir, firstTokenFile)
	if err := errors.Join(os.MkdirAll(c.Dir, 0o700), writeSecret(file, text)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Log, "corewalk: the first token, for everything in the project default, is in %s: remove it when you have it\ncorewalk: the page is %s/\n", file, pageAt(c, at))
	return err
}

// settingPage is where the page was when the service began, for links that a command makes. It is no project's.
const settingPage = "page"

// pageAt is the page's address, as far as the service knows it.
func pageAt(c *Server, at net.Addr) string {
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
	}
	return scheme + "://" + at.String()
}

// firstTokenFile is where the first token is, in the directory of a service that no terminal shows it.
const firstTokenFile = "first-token"

// writeSecret writes a file that only this user reads.
func writeSecret(path, text string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, text)
	return errors.Join(err, f.Close())
}

// A tokenStore has the tokens of a service.
type tokenStore struct {
	db  store.Store
	end func()
}

// TokensOf are the tokens in a store; end is called after it is closed.
func TokensOf(db store.Store, end func()) Tokens { return tokenStore{db, end} }

// OpenTokens opens the tokens of a service in a directory.
func OpenTokens(ctx context.Context, dir string) (Tokens, error) {
	db, err := serviceDB.Open(ctx, filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	return TokensOf(db, func() {}), nil
}

func (t tokenStore) Add(ctx context.Context, project string, scopes []string, note string) (string, error) {
	text, _, err := service.NewToken(ctx, t.db, project, scopes, note)
	return text, err
}

func (t tokenStore) List(ctx context.Context) (out []Token, err error) {
	list, err := t.db.Tokens(ctx)
	for _, x := range list {
		out = append(out, Token{ID: x.ID, Project: x.Project, Note: x.Note, Scopes: x.Scopes, Created: x.Created, Expires: x.Expires})
	}
	return out, err
}

func (t tokenStore) Revoke(ctx context.Context, id string) error {
	err := t.db.RemoveToken(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no token %.40q: corewalk serve token list lists them", id)
	}
	return err
}

// noAccount names a way on for an account that is not there.
func noAccount(name string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no account %.60q there: corewalk serve account list lists them", name)
	}
	return err
}

// link is an invitation's, on the page at an address, or where it was when the service began.
func (t tokenStore) link(ctx context.Context, page, name, secret string) (string, error) {
	if secret == "" {
		return "", nil
	}
	if page == "" {
		at, err := t.db.Setting(ctx, "", settingPage)
		if err != nil {
			return "", err
		}
		page = cmp.Or(at, "http://127.0.0.1:8780")
	}
	return strings.TrimSuffix(page, "/") + service.InvitationLink(name, secret), nil
}

func (t tokenStore) SetAccount(ctx context.Context, page, name, project string, scopes []string, password string) (made bool, link string, err error) {
	made, secret, err := service.SetMember(ctx, t.db, name, project, scopes, password)
	if err == nil {
		link, err = t.link(ctx, page, name, secret)
	}
	return made, link, err
}

func (t tokenStore) SetPassword(ctx context.Context, page, name, password string) (string, error) {
	secret, err := service.SetPassword(ctx, t.db, name, password)
	if err != nil {
		return "", noAccount(name, err)
	}
	return t.link(ctx, page, name, secret)
}

func (t tokenStore) RemoveAccount(ctx context.Context, name, project string) error {
	return noAccount(name, service.RemoveMember(ctx, t.db, name, project))
}

func (t tokenStore) Accounts(ctx context.Context) (out []Account, err error) {
	list, err := t.db.Accounts(ctx, "")
	for i := range list {
		a := &list[i]
		x := Account{Name: a.Name, Projects: a.Projects, Password: a.Password != "", Seen: a.Seen}
		if a.Invitation != "" && time.Now().Before(a.InvitedUntil) {
			x.Invited = a.InvitedUntil
		}
		out = append(out, x)
	}
	return out, err
}

func (t tokenStore) Close() error {
	defer t.end()
	return t.db.Close()
}
