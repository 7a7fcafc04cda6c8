// Package fleet puts a crash service on many machines together: PostgreSQL, a queue in it, and S3-compatible storage.
package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/service"
	queue "github.com/corewalk/corewalk/internal/service/fleet"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/objects/s3"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	ledgerDB "github.com/corewalk/corewalk/internal/triage/ledger/postgres"
)

// New returns what corewalkd does.
func New() *serving.Fleet {
	return &serving.Fleet{Serve: serve, Work: work, Tokens: tokens, Backup: save, Restore: restore, Import: take}
}

func tokens(ctx context.Context, db string, log io.Writer) (serving.Tokens, error) {
	pool, err := queue.Connect(ctx, db, 3)
	if err != nil {
		return nil, err
	}
	s, err := queue.Open(ctx, pool, serving.Logger(&serving.Server{Log: log}), 0)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return serving.TokensOf(s, pool.Close), nil
}

// Limits of a process. Its connections to the database are those for all projects, of which River has some, and for the ledger of each project that is
// in use. They are closed when they have been idle for a minute.
const (
	patience          = 30 * time.Second // with a database that does not answer at the start
	connections       = 12
	ledgerConnections = 2
	ahead             = 8 // files of dumps that are fetched at a time
)

// A common is what serve and work have in common.
type common struct {
	pool    *pgxpool.Pool
	store   *queue.Store
	objects objects.Store
	dumps   func(project string) string // the directory below which dumps are that are analysed
	symbols func(project string) serving.Symbols
}

func open(ctx context.Context, c *serving.Server) (*common, error) {
	pool, err := queue.Connect(ctx, c.DB, connections)
	if err != nil {
		return nil, err
	}
	s, err := queue.Open(ctx, pool, serving.Logger(c), patience)
	if err == nil {
		o := &common{pool: pool, store: s}
		if err = o.openObjects(ctx, c); err == nil {
			return o, nil
		}
	}
	pool.Close()
	return nil, err
}

// openObjects opens where dumps and symbols are. Those in a bucket are copied to the directory of this process while they are used.
func (o *common) openObjects(ctx context.Context, c *serving.Server) error {
	if !strings.HasPrefix(c.Objects, "s3:") {
		dir, err := objects.OpenShared(c.Objects)
		if err != nil {
			return err
		}
		o.objects = dir
		o.dumps = func(project string) string { return dir.Path("projects/" + project + "/dumps") }
		o.symbols = func(project string) serving.Symbols {
			path := dir.Path("projects/" + project + "/symbols")
			_ = os.MkdirAll(path, 0o700) // what needs it reports the error
			return serving.Symbols{Dir: path}
		}
		return nil
	}
	options, err := bucket(c.Objects)
	if err != nil {
		return err
	}
	options.Dir = filepath.Join(c.Dir, "objects")
	if o.objects, err = s3.Open(ctx, options); err != nil {
		return err
	}
	o.dumps = func(string) string { return options.Dir }
	at, err := service.LocalSymbols(ctx, o.objects)
	o.symbols = func(project string) serving.Symbols {
		return serving.Symbols{URL: at(project), Cache: filepath.Join(c.Dir, "fetched", project)}
	}
	return err
}

// bucket reads s3://BUCKET/PREFIX?endpoint=URL&region=REGION. The key and its secret are in the environment.
func bucket(text string) (o s3.Options, err error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return o, fmt.Errorf("--objects %.200q: must be a directory, or s3://BUCKET/PREFIX?endpoint=URL", text)
	}
	q := u.Query()
	at, err := url.Parse(cmp.Or(q.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com"))
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return o, fmt.Errorf("--objects %.200q: the endpoint must be http://HOST:PORT or https://HOST:PORT", text)
	}
	o = s3.Options{Endpoint: at.Host, Secure: at.Scheme == "https", Region: cmp.Or(q.Get("region"), os.Getenv("AWS_REGION")), Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"),
		Access: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	if o.Access == "" || o.Secret == "" {
		return o, errors.New("the key of the object storage is missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	return o, nil
}

// ledgerOf opens the ledger of a project, in a schema of its own.
func (o *common) ledgerOf(ctx context.Context, c *serving.Server, project string) (ledger.Store, error) {
	schema := pgx.Identifier{queue.Ledger(project)}.Sanitize()
	if err := o.store.Schema(ctx, schema); err != nil {
		return nil, err
	}
	config := o.pool.Config()
	config.MaxConns, config.MinConns = ledgerConnections, 0
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	l, err := ledgerDB.Use(ctx, pool, c.Signatures)
	if err != nil {
		pool.Close()
		return nil, err
	}
	return closing{l, pool}, nil
}

// A closing ledger has connections of its own.
type closing struct {
	ledger.Store
	pool *pgxpool.Pool
}

func (c closing) Close() error {
	defer c.pool.Close()
	return c.Store.Close()
}

// serve takes dumps for workers until ctx is done.
func serve(ctx context.Context, c serving.Server) error {
	o, err := open(ctx, &c)
	if err != nil {
		return err
	}
	defer o.pool.Close()
	return serving.Serve(ctx, &c, o.config(&c, o.store), true)
}

func (o *common) config(c *serving.Server, db store.Store) service.Config {
	own := serving.Config(c, db, o.objects)
	own.Ledger = func(ctx context.Context, project string) (ledger.Store, error) { return o.ledgerOf(ctx, c, project) }
	own.Report = func(ctx context.Context, project, path, format string, w io.Writer) error {
		return c.Report(ctx, o.symbols(project), path, format, w)
	}
	own.Ask = func(ctx context.Context, project, path string) (service.Conversation, error) {
		return c.Ask(ctx, o.symbols(project), path)
	}
	return own
}

// work analyses dumps until ctx is done.
func work(ctx context.Context, c serving.Server) error {
	o, err := open(ctx, &c)
	if err != nil {
		return err
	}
	defer o.pool.Close()
	host, _ := os.Hostname()
	jobs := cmp.Or(c.Jobs, 2*runtime.GOMAXPROCS(0))
	name := fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(host, "/", "_"), os.Getpid(), rand.Text()[:6])
	w, err := queue.NewWorker(o.store, queue.Options{Name: name, Jobs: 4*jobs + 96, Limit: 3*c.Deadline + time.Minute, Log: serving.Logger(&c)})
	if err != nil {
		return err
	}
	own := o.config(&c, w)
	own.Ahead = ahead
	own.Name, own.Closed, own.Keep, own.Enter, own.Wanted = name, true, service.Retention{}, w.Enter, w.Wanted
	own.Run = func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
		return c.Run(ctx, o.symbols(project), o.dumps(project), src, to, sink)
	}
	// The queue ends after the analysis, which gives back what it has.
	queued, end := context.WithCancel(context.WithoutCancel(ctx))
	answering, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		defer stop()
		ended <- w.Run(queued)
	}()
	err = serving.Serve(answering, &c, own, false, func(s *service.Service) { w.Tell(s.Tell) })
	end()
	return errors.Join(err, <-ended)
}
