// Package fleet has many machines share the work of a crash service: what it knows is in a PostgreSQL database, and its jobs are in a queue
// of River's in the same database.
//
// A job says that a dump of a project waits, not which: a worker chooses when it has room, the one whose build it has the files of, as far as
// that is known, else the oldest. When the analysis process has read which build a dump is of, and another worker has the files of that build, the
// dump is given to that worker, once: its job goes to a queue that only that worker takes from, and for some time nobody else takes it. That the upload is being worked on is in its row. What comes of it goes to the project's ledger, to the row and to the
// job in one transaction, so that a dump is counted once, whoever dies when. River does not know that a worker has died before a job's
// time is over: workers say every few seconds that they are alive, and the others take back what a silent one has.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/postgres"
)

// A waits job says that a dump of a project waits.
type waits struct {
	Project string `json:"project"`
	// Build is that of the dump if the job is for one worker, who has the files of the build: see Worker.Wanted.
	Build string `json:"build,omitempty"`
}

// Kind implements river.JobArgs.
func (waits) Kind() string { return "corewalk_dump" }

// silence is how long a worker says nothing until it counts as dead.
const silence = 20 * time.Second

// poll is how often a worker asks for jobs of which no notification has told it, and retry how long a job waits whose end could not be noted.
const (
	poll  = time.Second
	retry = 5 * time.Second
)

// A Store is the store.Store of a service on many machines. Whatever has an upload wait inserts its job.
type Store struct {
	*postgres.DB
	pool   *pgxpool.Pool
	insert *river.Client[pgx.Tx]
	log    *slog.Logger

	silent, poll, retry time.Duration
}

var _ store.Store = (*Store)(nil)

// Connect returns connections to the database that a connection string names, at most n, which is 3 or more.
func Connect(ctx context.Context, connection string, n int32) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(connection)
	if err != nil {
		return nil, errors.New("the database's connection string is not one of PostgreSQL: postgres://USER@HOST/DATABASE") // the cause may have the password
	}
	config.MaxConns = max(n, 3)
	config.MaxConnIdleTime = time.Minute
	return pgxpool.NewWithConfig(ctx, config)
}

// Open returns the store in a database, and makes the tables that it lacks: its own and River's. It waits so long for a database that does
// not answer: it may be starting.
func Open(ctx context.Context, pool *pgxpool.Pool, to *slog.Logger, wait time.Duration) (*Store, error) {
	for end := time.Now().Add(wait); ; {
		err := pool.Ping(ctx)
		if err == nil || !passing(err) || time.Now().After(end) {
			break
		}
		to.Warn("the database does not answer yet", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
	db, err := postgres.Use(ctx, pool)
	if err != nil {
		return nil, err
	}
	quiet := slog.New(louder{to.Handler()})
	if err := migrate(ctx, pool, quiet); err != nil {
		return nil, fmt.Errorf("the queue's tables: %w", err)
	}
	s := &Store{DB: db, pool: pool, log: quiet, silent: silence, poll: poll, retry: retry}
	s.insert, err = river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet})
	return s, err
}

// louder leaves out what River tells of its ordinary work.
type louder struct{ slog.Handler }

func (h louder) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

func (h louder) WithAttrs(a []slog.Attr) slog.Handler { return louder{h.Handler.WithAttrs(a)} }

func (h louder) WithGroup(name string) slog.Handler { return louder{h.Handler.WithGroup(name)} }

// migrating is the key of the lock that one process at a time has while it makes River's tables.
const migrating = 0x636f726577616c6d

func migrate(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) error {
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: log})
	if err != nil {
		return err
	}
	c, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrating)); err != nil {
		return err
	}
	defer c.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrating))
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// again does something in a transaction; a moment later again if the database was restarted meanwhile, or if it took another's side in a
// conflict, until ctx is done.
func (s *Store) again(ctx context.Context, do func(tx pgx.Tx) error) (err error) {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if err = pgx.BeginFunc(ctx, s.pool, do); err == nil || !passing(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// passing reports whether what failed may work in a moment.
func passing(err error) bool {
	var known *pgconn.PgError
	if errors.As(err, &known) {
		// Serialisation failures and deadlocks; connection exceptions; the server is being stopped or started.
		return strings.HasPrefix(known.Code, "40") || strings.HasPrefix(known.Code, "08") || strings.HasPrefix(known.Code, "57P") || known.Code == "53300"
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) {
		return true
	}
	for _, e := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// enqueue inserts the job of an upload that waits, to be worked on from a time on.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, project string, from time.Time) error {
	_, err := s.insert.InsertTx(ctx, tx, waits{Project: project}, &river.InsertOpts{ScheduledAt: from})
	return err
}

// queueOf is the queue from which one worker takes jobs besides those for all.
func queueOf(worker string) string {
	sum := sha256.Sum256([]byte(worker))
	return "worker-" + hex.EncodeToString(sum[:12])
}

// reserve is how long others leave a dump to those who have the files of its build.
func (s *Store) reserve() time.Duration { return s.silent / 2 }

// AddUpload implements store.Store.
func (s *Store) AddUpload(ctx context.Context, u store.Upload) (out store.Upload, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if out, err = s.DB.In(tx).AddUpload(ctx, u); err != nil || out.Times > 1 {
			return err
		}
		return s.enqueue(ctx, tx, u.Project, time.Time{})
	})
	return out, err
}

// Again implements store.Store.
func (s *Store) Again(ctx context.Context, project, id string) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.DB.In(tx).Again(ctx, project, id); err != nil {
			return err
		}
		return s.enqueue(ctx, tx, project, time.Time{})
	})
}

// Take implements store.Store: only a Worker takes uploads.
func (s *Store) Take(context.Context, string, string) (store.Upload, error) {
	return store.Upload{}, store.ErrNone
}

// Recover implements store.Store, whoever is named: those are alive that say so.
func (s *Store) Recover(ctx context.Context, _ ...string) (n int, err error) {
	err = s.again(ctx, func(tx pgx.Tx) error {
		db := s.DB.In(tx)
		names, err := db.Alive(ctx, s.silent)
		if err != nil {
			return err
		}
		alive := map[string]bool{}
		for _, name := range names {
			alive[name] = true
		}
		back, err := db.RecoverAll(ctx, func(worker string) bool {
			name, _, _ := strings.Cut(worker, "/")
			return alive[name]
		})
		n = len(back)
		for i := range back {
			if err == nil && back[i].State == store.Waiting {
				err = s.enqueue(ctx, tx, back[i].Project, time.Time{})
			}
		}
		if err != nil {
			return err
		}
		return s.replace(ctx, tx, names)
	})
	return n, err
}

// replace inserts the jobs that are missing: a worker that died had jobs with which it had taken nothing yet. River counts them as running
// until their time is over.
func (s *Store) replace(ctx context.Context, tx pgx.Tx, alive []string) error {
	var first bool
	if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(replacing)).Scan(&first); err != nil || !first {
		return err // another does it
	}
	// Jobs that were for workers that have died, or that do not come to them, are for all.
	queues := []string{river.QueueDefault}
	for _, name := range alive {
		queues = append(queues, queueOf(name))
	}
	if _, err := tx.Exec(ctx, `UPDATE river_job SET queue = $2 WHERE kind = $1 AND state IN ('available', 'scheduled', 'retryable', 'pending')
		AND queue <> $2 AND (NOT queue = ANY($3) OR scheduled_at < now() - make_interval(secs => $4))`, waits{}.Kind(), river.QueueDefault, queues, s.reserve().Seconds()); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT project, count(*) - (SELECT count(*) FROM river_job WHERE kind = $1 AND args->>'project' = project
			AND (state IN ('available', 'scheduled', 'retryable', 'pending') OR state = 'running' AND attempted_by[array_length(attempted_by, 1)] = ANY($2)))
		FROM service_uploads WHERE state = 'waiting' GROUP BY project`, waits{}.Kind(), alive)
	if err != nil {
		return err
	}
	missing := map[string]int{}
	var project string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&project, &n}, func() error { missing[project] = n; return nil }); err != nil {
		return err
	}
	for project, n := range missing {
		for range n {
			if err := s.enqueue(ctx, tx, project, time.Time{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// replacing is the key of the lock that one process at a time has while it inserts jobs that are missing.
const replacing = 0x636f726577616c6e

// Schema makes a schema if it is not there.
func (s *Store) Schema(ctx context.Context, quoted string) error {
	return s.again(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrating)); err != nil { // two would fail, IF NOT EXISTS or not
			return err
		}
		_, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+quoted)
		return err
	})
}

// Ledger is the name of the schema in which the ledger of a project is. PostgreSQL cuts off what is longer than 63 bytes.
func Ledger(project string) string {
	name := "ledger_" + project
	if len(name) <= 48 {
		return name
	}
	sum := sha256.Sum256([]byte(project))
	return name[:40] + "_" + hex.EncodeToString(sum[:8])
}
