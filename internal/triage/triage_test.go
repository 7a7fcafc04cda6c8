package triage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/broker"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// TestMain is the analysis process if a test starts this program as one.
func TestMain(m *testing.M) {
	if os.Getenv("TRIAGE_WORKER") == "" {
		fixture.AtOnce(6)
		os.Exit(m.Run())
	}
	configure := func(text json.RawMessage, _ *broker.Client) (WorkerOptions, error) {
		o := WorkerOptions{hook: misbehave, Memory: 256 << 20}
		var s settings
		if err := json.Unmarshal(text, &s); err != nil {
			return o, err
		}
		for _, dir := range s.Search {
			o.Files = append(o.Files, corewalk.WithSearch(dir))
		}
		if s.Sysroot != "" {
			o.Files = append(o.Files, corewalk.WithSysroot(s.Sysroot))
		}
		o.Deadline = s.Deadline
		return o, nil
	}
	if err := Serve(context.Background(), os.Stdin, os.Stdout, configure); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// settings configure the analysis process of a test.
type settings struct {
	Search   []string
	Sysroot  string
	Deadline time.Duration
}

// misbehave does what the name of a dump asks for.
func misbehave(path string) {
	switch base := filepath.Base(path); {
	case strings.HasPrefix(base, "core.dies"):
		panic("died of " + base)
	case strings.HasPrefix(base, "core.hangs"):
		select {}
	case strings.HasPrefix(base, "core.long"):
		time.Sleep(3 * time.Second)
	case strings.HasPrefix(base, "core.slow"):
		time.Sleep(30 * time.Millisecond)
	case strings.HasPrefix(base, "core.eats"):
		var all [][]byte
		for range 128 {
			all = append(all, make([]byte, 8<<20))
			time.Sleep(time.Millisecond)
		}
		fmt.Fprintln(os.Stderr, len(all))
	}
}

// A memStore is a Store that forgets.
type memStore struct {
	ledger.Store
	mu     sync.Mutex
	dumps  []ledger.Dump
	linked map[string][]ledger.Similar
}

func (s *memStore) Begin(context.Context, string) (ledger.Run, error) { return ledger.Run{ID: 1}, nil }
func (s *memStore) Known(_ context.Context, id string) (ledger.Dump, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dumps {
		if d.Identity == id && d.FaultKind == "" {
			return d, nil
		}
	}
	return ledger.Dump{}, ledger.ErrNotFound
}
func (s *memStore) Add(_ context.Context, _ int64, dumps []ledger.Dump) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dumps = append(s.dumps, dumps...)
	return nil
}
func (s *memStore) Finish(context.Context, int64) (ledger.Run, error) {
	return ledger.Run{ID: 1, Analysed: len(s.dumps)}, nil
}
func (s *memStore) RunGroups(ctx context.Context, _ int64) ([]ledger.Group, error) {
	return s.Groups(ctx, ledger.Query{})
}
func (s *memStore) Groups(context.Context, ledger.Query) ([]ledger.Group, error) {
	m := map[string]ledger.Group{}
	for _, d := range s.dumps {
		if d.Group != "" {
			g := m[d.Group]
			g.ID, g.Frames, g.Weak, g.New, g.Count = d.Group, d.Frames, d.Weak, true, g.Count+1
			m[d.Group] = g
		}
	}
	return slices.Collect(maps.Values(m)), nil
}
func (s *memStore) Link(_ context.Context, g string, list []ledger.Similar) error {
	if s.linked == nil {
		s.linked = map[string][]ledger.Similar{}
	}
	s.linked[g] = list
	return nil
}

// A recorder is a Sink that remembers.
type recorder struct {
	dumps    map[string]ledger.Dump // by base name
	known    map[string]bool
	troubles []error
	done     int
}

func (r *recorder) Dump(d ledger.Dump, known bool) {
	if r.dumps == nil {
		r.dumps, r.known = map[string]ledger.Dump{}, map[string]bool{}
	}
	r.dumps[filepath.Base(d.Path)], r.known[filepath.Base(d.Path)] = d, known
}
func (r *recorder) Trouble(err error)            { r.troubles = append(r.troubles, err) }
func (r *recorder) Progress(done, _ int, _ bool) { r.done = done }

// put copies a fixture's core into dir under a name.
func put(t *testing.T, dir, name, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fixtureSettings let the analysis process find the files of the amd64 fixtures.
func fixtureSettings(t *testing.T, names ...string) (s settings) {
	t.Helper()
	for _, n := range names {
		c := fixture.Get(t, n)
		s.Search = append(s.Search, filepath.Dir(c.Binary(t)))
		s.Sysroot = c.Sysroot(t)
	}
	return s
}

// workerEnv makes this program an analysis process.
var workerEnv = []string{"TRIAGE_WORKER=1"}

func run(t *testing.T, ctx context.Context, store ledger.Store, s settings, o Options, paths ...string) *recorder {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command, o.Env, o.Settings = []string{exe}, workerEnv, s
	var r recorder
	if _, err := Run(ctx, o, Files{Paths: paths, Recursive: true}, store, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

var names = []string{"amd64-inline-tail-O2", "amd64-cxx-sort", "amd64-abort"}

// TestRun analyses a directory twice: known dumps are not analysed again.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, n := range names {
		put(t, dir, fmt.Sprintf("core.%d", i), fixture.Get(t, n).Core(t))
	}
	put(t, sub, "core.again", fixture.Get(t, names[0]).Core(t))
	if err := os.WriteFile(filepath.Join(dir, "core.empty"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "core.c"), []byte("int main;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	store := &memStore{}
	settings := fixtureSettings(t, names...)
	r := run(t, t.Context(), store, settings, Options{}, dir, filepath.Join(dir, "core.0"))
	if len(r.dumps) != 5 || r.done != 5 || len(r.troubles) != 0 {
		t.Fatalf("%d dumps, %d done, troubles %v", len(r.dumps), r.done, r.troubles)
	}
	for i := range names {
		d := r.dumps[fmt.Sprintf("core.%d", i)]
		if d.Fault != "" || d.Signature == "" || d.Group == "" || d.Where == "" || d.Trust == "" || d.Build == "" || len(d.SHA256) != 64 {
			t.Errorf("%s: %+v", names[i], d)
		}
		if d.Weak {
			t.Errorf("%s: weak signature, frames %v", names[i], d.Frames)
		}
	}
	if d := r.dumps["core.empty"]; d.FaultKind != ledger.FaultUnreadable || !strings.Contains(d.Fault, "0 bytes") {
		t.Errorf("empty file: %+v", d)
	}
	a, b := r.dumps["core.0"], r.dumps["core.again"]
	if a.Group != b.Group || a.Identity != b.Identity {
		t.Errorf("one content, two groups or identities: %+v, %+v", a, b)
	}
	r = run(t, t.Context(), store, settings, Options{}, dir)
	for i := range names {
		if n := fmt.Sprintf("core.%d", i); !r.known[n] || r.dumps[n].Group == "" {
			t.Errorf("%s was analysed again: %+v", n, r.dumps[n])
		}
	}
}

// TestCulprits has, among others, dumps that kill the analysis process, one that never ends and one that uses
// up all memory.
func TestCulprits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	core := fixture.Get(t, names[0]).Core(t)
	bad := map[string]string{"core.dies-1": ledger.FaultCrashed, "core.dies-2": ledger.FaultCrashed, "core.hangs": ledger.FaultTimeout, "core.eats": ledger.FaultMemory}
	for n := range bad {
		put(t, dir, n, core)
	}
	for i := range 12 {
		put(t, dir, fmt.Sprintf("core.%d", i), core)
	}
	settings := fixtureSettings(t, names[0])
	settings.Deadline = time.Second
	r := run(t, t.Context(), &memStore{}, settings, Options{Deadline: time.Second, Jobs: 4, grace: time.Second / 2}, dir)
	if len(r.dumps) != 16 {
		t.Errorf("%d results, want 16", len(r.dumps))
	}
	for n, d := range r.dumps {
		if d.FaultKind != bad[n] {
			t.Errorf("%s: fault %q (%s), want %q", n, d.FaultKind, d.Fault, bad[n])
		}
	}
	if d := r.dumps["core.dies-1"]; !strings.Contains(d.Fault, "died of core.dies-1") {
		t.Errorf("fault %q does not say what the process died of", d.Fault)
	}
}

// TestInterrupted interrupts a run.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	core := fixture.Get(t, names[0]).Core(t)
	for i := range 50 {
		put(t, dir, fmt.Sprintf("core.slow-%02d", i), core)
	}
	ctx, cancel := context.WithCancel(t.Context())
	store := &memStore{}
	exe, _ := os.Executable()
	sink := &cancelling{cancel: cancel}
	_, err := Run(ctx, Options{Command: []string{exe}, Env: workerEnv, Settings: fixtureSettings(t, names[0]), Jobs: 1}, Files{Paths: []string{dir}}, store, sink)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(store.dumps); n == 0 || n == 50 || sink.told != n {
		t.Errorf("%d dumps kept, %d told of", n, sink.told)
	}
}

// TestInterruptedLong interrupts a run while it analyses a dump that takes longer than an
// interrupt waits: the dump is left for the next run.
func TestInterruptedLong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	core := fixture.Get(t, names[0]).Core(t)
	put(t, dir, "core.0", core)
	put(t, dir, "core.long", core)
	ctx, cancel := context.WithCancel(t.Context())
	store := &memStore{}
	exe, _ := os.Executable()
	sink := &cancelling{cancel: cancel}
	_, err := Run(ctx, Options{Command: []string{exe}, Env: workerEnv, Settings: fixtureSettings(t, names[0]), Jobs: 2}, Files{Paths: []string{dir}}, store, sink)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(store.dumps); n != 1 || sink.told != 1 {
		t.Errorf("%d dumps kept, %d told of: want the one that was done", n, sink.told)
	}
}

// cancelling is a Sink that ends the run with the first dump.
type cancelling struct {
	recorder
	cancel func()
	told   int
}

func (c *cancelling) Dump(ledger.Dump, bool) { c.told++; c.cancel() }

func TestDeadCommand(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "core.1", fixture.Get(t, names[0]).Core(t))
	if _, err := Run(t.Context(), Options{Command: []string{filepath.Join(dir, "none")}}, Files{Paths: []string{dir}}, &memStore{}, &recorder{}); err == nil {
		t.Error("a command that does not exist is no error")
	}
}

// TestStuck: a process that does not read its orders is killed, and does not hang the supervisor.
func TestStuck(t *testing.T) {
	t.Parallel()
	unread, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	killed := false
	o := &orders{newLineWriter(in), in, func() { killed = true }, time.Millisecond}
	for n := 0; !killed; n++ {
		if n > 1<<20 {
			t.Fatal("it was not killed")
		}
		o.write(order{N: n, Path: "core"})
	}
}

// TestServeNonsense sends the analysis process lines that no supervisor sends.
func TestServeNonsense(t *testing.T) {
	none := func(json.RawMessage, *broker.Client) (WorkerOptions, error) { return WorkerOptions{}, nil }
	for in, bad := range map[string]bool{"": false, "{}\n": false, "{}\n" + `{"n":7,"go":true}` + "\n": false, "{}\n" + `{"n":1,"path":"/nowhere"}` + "\n": false,
		"\n": true, "nonsense\n": true, "{}\n\n": true, "{}\nnonsense\n": true} {
		if err := Serve(t.Context(), strings.NewReader(in), io.Discard, none); (err != nil) != bad {
			t.Errorf("%q: error %v, an error is wanted: %v", in, err, bad)
		}
	}
}

// TestOtherFiles: a dump whose stack had no names is analysed again with other files, one that had names is not.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "core.0", fixture.Get(t, names[0]).Core(t))
	var store memStore
	none, all := settings{}, fixtureSettings(t, names[0])
	first := run(t, t.Context(), &store, none, Options{Files: "none"}, dir)
	if d := first.dumps["core.0"]; !d.Weak || d.Files != "none" {
		t.Fatalf("without files: weak %v, of files %q", d.Weak, d.Files)
	}
	if r := run(t, t.Context(), &store, none, Options{Files: "none"}, dir); !r.known["core.0"] {
		t.Error("with the same files it was analysed again")
	}
	second := run(t, t.Context(), &store, all, Options{Files: "all"}, dir)
	if d := second.dumps["core.0"]; second.known["core.0"] || d.Weak || d.Files != "all" {
		t.Errorf("with other files: known %v, weak %v, of files %q", second.known["core.0"], d.Weak, d.Files)
	}
	store.dumps = store.dumps[len(store.dumps)-1:]
	if r := run(t, t.Context(), &store, none, Options{Files: "none"}, dir); !r.known["core.0"] {
		t.Error("a dump with names was analysed again")
	}
}

// TestKilledTwice: a process may be found late again before its end is noticed.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{opts: Options{Command: []string{exe}, Env: workerEnv}}
	p, err := s.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.kill()
	p.kill()
	<-p.gone
	p.kill()
	time.Sleep(50 * time.Millisecond) // a second one that waits would end the test's process
}
