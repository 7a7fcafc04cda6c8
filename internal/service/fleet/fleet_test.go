package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/service/fleet"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/work"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
	ledgerDB "github.com/corewalk/corewalk/internal/triage/ledger/postgres"
)

// A world is a database, and workers whose analysis is a function of the test.
type world struct {
	t      testing.TB
	server *servers.Postgres
	pool   *pgxpool.Pool
	store  *fleet.Store
	log    *slog.Logger
	ledger ledger.Store
	// what an analysis does; it may wait for ctx
	analyse func(ctx context.Context, worker, id string) error
	build   func(id string) string // that the analysis finds
}

func TestMain(m *testing.M) {
	fixture.AtOnce(8)
	os.Exit(fixture.Main(m))
}

// newWorld makes a world with a new database.
func newWorld(t testing.TB) *world {
	t.Helper()
	return worldOf(t, servers.NewDatabase(t))
}

func worldOf(t testing.TB, server *servers.Postgres) *world {
	t.Helper()
	w := worldAt(t, server)
	if err := w.store.AddToken(t.Context(), store.Token{ID: "a", Hash: "b", Project: "shop", Scopes: []string{store.ScopeRead}}); err != nil {
		t.Fatal(err)
	}
	return w
}

// worldAt is worldOf a database that may have all already.
func worldAt(t testing.TB, server *servers.Postgres) *world {
	t.Helper()
	w := &world{t: t, server: server, log: slog.New(slog.NewTextHandler(t.Output(), nil)), analyse: func(context.Context, string, string) error { return nil }, build: func(string) string { return "" }}
	w.pool = w.connect(w.server.Connection())
	var err error
	if w.store, err = fleet.Open(t.Context(), w.pool, w.log, 0); err != nil {
		t.Fatal(err)
	}
	w.store.Silent(time.Second)
	w.store.Hurry()
	if _, err := w.pool.Exec(t.Context(), "CREATE SCHEMA IF NOT EXISTS "+fleet.Ledger("shop")); err != nil {
		t.Fatal(err)
	}
	if w.ledger, err = ledgerDB.Use(t.Context(), w.connect(w.server.Schema(fleet.Ledger("shop"))), "v1"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) connect(connection string) *pgxpool.Pool {
	w.t.Helper()
	p, err := fleet.Connect(w.t.Context(), connection, 10)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Close)
	return p
}

// add adds n uploads; each has the hint of its number.
func (w *world) add(n int, hint func(i int) string) (ids []string) {
	w.t.Helper()
	for i := range n {
		u := store.Upload{ID: fmt.Sprintf("%032d", i), Project: "shop", SHA256: fmt.Sprintf("%064d", i), Size: 1, Received: time.Now()}
		if hint != nil {
			u.Annotations = map[string]string{"build": hint(i)}
		}
		if _, err := w.store.AddUpload(w.t.Context(), u); err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, u.ID)
	}
	return ids
}

// nothing has all files.
type nothing struct{ objects.Store }

func (nothing) Local(_ context.Context, key string) (string, func(), error) {
	if strings.HasPrefix(key, "gone") {
		return "", nil, fs.ErrNotExist
	}
	return key, func() {}, nil
}

// worker starts a worker, which stop ends.
func (w *world) worker(name string, limit time.Duration) (stop func()) {
	w.t.Helper()
	f, err := fleet.NewWorker(w.store, fleet.Options{Name: name, Jobs: 20, Limit: limit, Log: w.log})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	k := work.New(work.Config{Name: name, Store: f, Objects: nothing{}, Log: w.log, Idle: 50 * time.Millisecond, Key: func(u *store.Upload) string { return u.ID },
		Ledger: func(context.Context, string) (ledger.Store, error) { return w.ledger, nil }, Enter: f.Enter, Wanted: f.Wanted,
		Run: func(ctx context.Context, _ string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			run, err := to.Begin(ctx, "")
			if err != nil {
				return err
			}
			for id := range src.Dumps(ctx) {
				if !src.(triage.Chooser).Wanted(id, w.build(id)) {
					continue
				}
				if err := w.analyse(ctx, name, id); err != nil {
					return err
				}
				d := ledger.Dump{Path: id, Identity: "sha256:" + id, Signature: "v1:" + id[31:], Group: id[31:], Program: name}
				if err := to.Add(context.WithoutCancel(ctx), run.ID, []ledger.Dump{d}); err != nil {
					return err
				}
				sink.Dump(d, false)
			}
			return nil
		}})
	f.Tell(k.Tell)
	var running sync.WaitGroup
	running.Go(func() {
		if err := f.Run(ctx); err != nil {
			w.t.Log(err)
		}
	})
	running.Go(func() { _ = k.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	w.t.Cleanup(stop)
	return stop
}

// settled waits until all uploads are in a state.
func (w *world) settled(n int, state string) []store.Upload {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		list, err := w.store.Uploads(w.t.Context(), "shop", store.Query{Limit: 10000})
		if err == nil && len(list) == n && !slices.ContainsFunc(list, func(u store.Upload) bool { return u.State != state }) {
			return list
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d uploads, %v: %+v", len(list), err, list)
		}
	}
}

// jobs counts the queue's jobs that are not over.
func (w *world) jobs() (n int) {
	w.t.Helper()
	if err := w.pool.QueryRow(w.t.Context(), "SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'discarded', 'cancelled')").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) counted() int {
	w.t.Helper()
	groups, err := w.ledger.Groups(w.t.Context(), ledger.Query{})
	if err != nil {
		w.t.Fatal(err)
	}
	n := 0
	for _, g := range groups {
		n += g.Count
	}
	return n
}

// Two workers share the dumps; each is in the ledger once, and no job is left.
func TestShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.analyse = func(context.Context, string, string) error { time.Sleep(5 * time.Millisecond); return nil }
	w.worker("one", time.Minute)
	w.worker("two", time.Minute)
	w.add(100, nil)
	by := map[string]int{}
	for _, u := range w.settled(100, store.Done) {
		by[u.Program]++
	}
	if n := w.counted(); n != 100 || by["one"] == 0 || by["two"] == 0 {
		t.Errorf("%d in the ledger, by %v", n, by)
	}
	for end := time.Now().Add(20 * time.Second); w.jobs() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d jobs are left", w.jobs())
		}
	}
	if err := w.store.Again(t.Context(), "shop", fmt.Sprintf("%032d", 3)); err != nil {
		t.Fatal(err)
	}
	w.settled(100, store.Done)
	if n := w.counted(); n != 100 {
		t.Errorf("%d in the ledger when one was analysed again", n)
	}
}

// A transaction that fails leaves nothing of a result: not in the ledger, not in the upload, not in the queue.
func TestTogether(t *testing.T) {
	t.Parallel() // this and other tests only wait
	w := newWorld(t)
	if _, err := w.pool.Exec(t.Context(), `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$ LANGUAGE plpgsql;
		CREATE TRIGGER refuse BEFORE UPDATE ON river_job FOR EACH ROW WHEN (NEW.state = 'completed') EXECUTE FUNCTION refuse()`); err != nil {
		t.Fatal(err)
	}
	tried := make(chan bool, 100)
	var attempts atomic.Int32
	w.analyse = func(ctx context.Context, worker, _ string) error {
		if worker == "one" && attempts.Add(1) > 2 { // this one does nothing any more
			<-ctx.Done()
			return ctx.Err()
		}
		tried <- true
		return nil
	}
	stop := w.worker("one", time.Minute)
	w.add(1, nil)
	<-tried
	<-tried
	if n := w.counted(); n != 0 {
		t.Errorf("%d in the ledger though its job is not done", n)
	}
	if _, err := w.pool.Exec(t.Context(), "DROP TRIGGER refuse ON river_job"); err != nil { // River's own attempts to note the end of jobs would keep stop
		t.Fatal(err)
	}
	stop()
	w.worker("two", time.Minute)
	w.settled(1, store.Done)
	if n := w.counted(); n != 1 {
		t.Errorf("%d in the ledger", n)
	}
}

// What a dead worker had is analysed by others; what three workers died of, each time with nothing else, is set aside. A worker that
// says that it is alive keeps what it has.
func TestPoison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	ids := w.add(2, nil)
	ghost := func(n int) {
		t.Helper()
		for range n {
			if _, err := w.store.DB.Take(ctx, "ghost/shop", "shop"); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := func(id string, alone bool, want string) {
		t.Helper()
		u, err := w.store.Upload(ctx, "shop", id)
		if err != nil || u.State != want || u.Alone != alone {
			t.Errorf("%+v, %v: want %s, alone %v", u, err, want, alone)
		}
	}
	recovered := func(want int) {
		t.Helper()
		before := w.jobs()
		if n, err := w.store.Recover(ctx); err != nil || n != want {
			t.Errorf("%d, %v: want %d", n, err, want)
		}
		if got := w.jobs() - before; got > want {
			t.Errorf("%d more jobs for %d uploads", got, want)
		}
	}
	ghost(2)
	if err := w.store.Beat(ctx, "ghost", time.Minute); err != nil {
		t.Fatal(err)
	}
	recovered(0)
	if err := w.store.Leave(ctx, "ghost"); err != nil {
		t.Fatal(err)
	}
	recovered(2)
	state(ids[0], true, store.Waiting)
	for range store.MaxDeaths - 1 {
		ghost(1)
		recovered(1)
		state(ids[0], true, store.Waiting)
	}
	ghost(1)
	jobs := w.jobs()
	recovered(1)
	state(ids[0], true, store.Aside)
	if w.jobs() != jobs {
		t.Error("a job for what is set aside")
	}
	w.worker("one", time.Minute)
	for end := time.Now().Add(20 * time.Second); w.counted() == 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	state(ids[1], true, store.Done)
	state(ids[0], true, store.Aside)
	if err := w.store.Again(ctx, "shop", ids[0]); err != nil {
		t.Fatal(err)
	}
	w.settled(2, store.Done)
}

// The jobs that a dead worker had with which it had taken nothing are replaced; those of a worker that is alive are not.
func TestReplace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.add(3, nil)
	if _, err := w.pool.Exec(ctx, "UPDATE river_job SET state = 'running', attempted_at = now(), attempted_by = ARRAY['ghost']"); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Beat(ctx, "ghost", time.Minute); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{3, 6, 6} {
		if _, err := w.store.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		if n := w.jobs(); n != want {
			t.Errorf("%d jobs, want %d", n, want)
		}
		if err := w.store.Leave(ctx, "ghost"); err != nil {
			t.Fatal(err)
		}
	}
	w.worker("one", time.Minute)
	w.settled(3, store.Done)
}

// A dump whose analysis does not end is set aside, and the others go on.
func TestLimit(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	w := newWorld(t)
	w.analyse = func(ctx context.Context, _, _ string) error {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		return errors.New("nothing came of it")
	}
	w.worker("one", 500*time.Millisecond)
	w.worker("two", 500*time.Millisecond)
	w.add(1, nil)
	if u := w.settled(1, store.Aside)[0]; !strings.Contains(u.Why, "did not end within") {
		t.Errorf("why: %q", u.Why)
	}
}

// The database is restarted while workers work: nothing is lost, and nothing counted twice.
func TestRestart(t *testing.T) {
	fixture.Long(t)
	t.Parallel()
	w := worldOf(t, servers.StartPostgres(t))
	w.analyse = func(context.Context, string, string) error { time.Sleep(10 * time.Millisecond); return nil }
	w.worker("one", time.Minute)
	w.worker("two", time.Minute)
	w.add(300, nil)
	for range 2 {
		time.Sleep(300 * time.Millisecond)
		w.server.Crash(t)
		time.Sleep(300 * time.Millisecond)
		w.server.Start(t)
	}
	w.settled(300, store.Done)
	if n := w.counted(); n != 300 {
		t.Errorf("%d in the ledger", n)
	}
}

// number is that of an upload.
func number(id string) (n int) {
	fmt.Sscan(strings.TrimLeft(id[:31], "0")+id[31:], &n)
	return n
}

// by counts by which worker each build was analysed.
func by(list []store.Upload, build func(id string) string) map[string]map[string]int {
	out := map[string]map[string]int{}
	for _, u := range list {
		if out[build(u.ID)] == nil {
			out[build(u.ID)] = map[string]int{}
		}
		out[build(u.ID)][u.Program]++
	}
	return out
}

// rows are the uploads that are not done, and the jobs.
func (w *world) rows() string {
	var text string
	err := w.pool.QueryRow(w.t.Context(), `SELECT coalesce((SELECT string_agg(concat_ws(' ', right(id, 3), state, worker, reserved < now(), alone, attempts, why), '; ') FROM service_uploads WHERE state <> 'done'), '')
		|| ' | ' || coalesce((SELECT string_agg(concat_ws(' ', id, state, queue, args, attempted_by[array_length(attempted_by, 1)]), '; ') FROM river_job WHERE state <> 'completed'), '')`).Scan(&text)
	if err != nil {
		return err.Error()
	}
	return text
}

// queued waits until no job is left.
func (w *world) queued() {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); w.jobs() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%d jobs are left", w.jobs())
		}
	}
}

// Senders say nothing of builds: what the analysis finds brings each build to a worker of its own, a dump or two at a time and with many waiting.
// A worker alone does all of them.
func TestAffinity(t *testing.T) {
	w := newWorld(t)
	w.store.Silent(20 * time.Second)
	w.build = func(id string) string { return fmt.Sprint("build", number(id)%2) }
	w.analyse = func(context.Context, string, string) error { time.Sleep(5 * time.Millisecond); return nil }
	w.worker("one", time.Minute)
	two := w.worker("two", time.Minute)
	w.alive(2)
	last := 40
	if !fixture.IsLong(t) {
		last = 10
	}
	for n := 2; n <= last; n += 2 {
		w.add(n, nil)
		w.settled(n, store.Done)
	}
	got := by(w.settled(last, store.Done), w.build)
	if len(got["build0"]) != 1 || len(got["build1"]) != 1 || fmt.Sprint(got["build0"]) == fmt.Sprint(got["build1"]) {
		t.Errorf("one after the other: %v", got)
	}
	w.add(400, nil)
	got = by(w.settled(400, store.Done), w.build)
	for _, build := range []string{"build0", "build1"} {
		if most := max(got[build]["one"], got[build]["two"]); most < 180 {
			t.Errorf("of 200 at most %d by one worker: %v", most, got)
		}
	}
	w.queued()
	two()
	w.add(420, nil)
	w.settled(420, store.Done)
	if n := w.counted(); n != 420 {
		t.Errorf("%d in the ledger", n)
	}
}

// alive waits until so many workers are.
func (w *world) alive(n int) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if list, err := w.store.Alive(w.t.Context(), time.Minute); err == nil && len(list) == n {
			return
		} else if time.Now().After(end) {
			w.t.Fatalf("%v, %v are alive", list, err)
		}
	}
}

// Many dumps of one build are shared by all workers, though one had its files first.
func TestCrowd(t *testing.T) {
	w := newWorld(t)
	w.store.Silent(2 * time.Minute)
	w.build = func(string) string { return "build" }
	w.analyse = func(context.Context, string, string) error { time.Sleep(5 * time.Millisecond); return nil }
	w.worker("one", time.Minute)
	w.worker("two", time.Minute)
	w.alive(2)
	w.add(300, nil)
	if got := by(w.settled(300, store.Done), w.build)["build"]; got["one"] < 60 || got["two"] < 60 {
		t.Errorf("%v", got)
	}
}

// A dump that is left to a worker that does nothing, be it alive or dead, is analysed by another, once.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for _, lives := range []bool{true, false} {
		t.Run(fmt.Sprint("alive ", lives), func(t *testing.T) {
			w := newWorld(t)
			ctx := t.Context()
			if err := w.store.Beat(ctx, "ghost", time.Minute); err != nil {
				t.Fatal(err)
			}
			if _, err := w.pool.Exec(ctx, "INSERT INTO service_builds VALUES ('build', 'ghost')"); err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			asked := map[string]int{}
			w.build = func(id string) string {
				mu.Lock()
				defer mu.Unlock()
				asked[id]++
				return "build"
			}
			w.worker("one", time.Minute)
			ids := w.add(5, nil)
			for end := time.Now().Add(time.Minute); w.counted() < 5; time.Sleep(100 * time.Millisecond) {
				if lives {
					if err := w.store.Beat(ctx, "ghost", time.Minute); err != nil {
						t.Fatal(err)
					}
				}
				if time.Now().After(end) {
					t.Fatalf("%d of 5 are in the ledger", w.counted())
				}
			}
			mu.Lock()
			most := slices.Max(slices.Collect(maps.Values(asked)))
			mu.Unlock()
			if most != 2 {
				t.Errorf("the build of a dump was asked for %d times: want twice, the second time to stay", most)
			}
			for _, u := range w.settled(5, store.Done) {
				if u.Attempts != 1 || u.Program != "one" {
					t.Errorf("%+v", u)
				}
			}
			if err := w.store.Again(ctx, "shop", ids[0]); err != nil {
				t.Fatal(err)
			}
			w.settled(5, store.Done)
			w.queued()
		})
	}
}

// A worker that has the files but no time, though it is alive, does not keep others from what was left to it.
func TestNoTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	busy, free := make(chan struct{}), make(chan struct{})
	begin, end := sync.OnceFunc(func() { close(busy) }), sync.OnceFunc(func() { close(free) })
	defer end()
	w.build = func(string) string { return "build" }
	w.analyse = func(_ context.Context, worker, _ string) error {
		if worker == "two" {
			begin()
			<-free
		}
		return nil
	}
	w.worker("two", time.Minute)
	w.add(1, nil)
	<-busy
	w.worker("one", time.Minute)
	w.alive(2)
	w.add(15, nil)
	for end := time.Now().Add(30 * time.Second); w.counted() < 12; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of 15 are in the ledger; %s", w.counted(), w.rows())
		}
	}
	end()
	w.settled(15, store.Done)
	w.queued()
	list, err := w.store.Uploads(ctx, "shop", store.Query{})
	if err != nil || w.counted() != 15 || len(by(list, w.build)["build"]) != 2 {
		t.Errorf("%d in the ledger, %v, %v", w.counted(), by(list, w.build), err)
	}
}

// What is given to another worker changes together: with the job's row refused, the dump stays.
func TestPassTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	if err := w.store.Beat(ctx, "ghost", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(ctx, `INSERT INTO service_builds VALUES ('build', 'ghost');
		CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$ LANGUAGE plpgsql;
		CREATE TRIGGER refuse BEFORE INSERT ON river_job FOR EACH ROW WHEN (NEW.queue <> 'default') EXECUTE FUNCTION refuse()`); err != nil {
		t.Fatal(err)
	}
	w.build = func(string) string { return "build" }
	w.worker("one", time.Minute)
	w.add(3, nil)
	for _, u := range w.settled(3, store.Done) {
		if u.Attempts != 1 || u.Program != "one" {
			t.Errorf("%+v", u)
		}
	}
	w.queued()
	if n := w.counted(); n != 3 {
		t.Errorf("%d in the ledger", n)
	}
}

// A worker that has worked on many builds forgets those that it had first, and tells the others.
func TestForget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.build = func(id string) string { return fmt.Sprint("build", number(id)) }
	w.worker("one", time.Minute)
	w.add(100, nil)
	w.settled(100, store.Done)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		var n int
		if err := w.pool.QueryRow(t.Context(), "SELECT count(*) FROM service_builds").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n <= 64 && n > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d builds", n)
		}
	}
}

func TestForeign(t *testing.T) {
	for _, connection := range []string{"mysql://x", "postgres://user:secret@host:port/x", "user=a password=secret sslmode=perhaps", "postgres://u:secret@127.0.0.1:1/none?connect_timeout=1"} {
		pool, err := fleet.Connect(t.Context(), connection, 2)
		if err == nil {
			_, err = fleet.Open(t.Context(), pool, slog.New(slog.DiscardHandler), 0)
			pool.Close()
		}
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", connection, err)
		}
	}
}

// Projects with long names have ledgers of their own.
func TestLedger(t *testing.T) {
	long := strings.Repeat("x", 63)
	for _, name := range []string{fleet.Ledger(long + "a"), fleet.Ledger("shop")} {
		if len(name) > 63 {
			t.Errorf("%s has %d bytes", name, len(name))
		}
	}
	if fleet.Ledger(long+"a") == fleet.Ledger(long+"b") {
		t.Error("two projects have one ledger")
	}
}
