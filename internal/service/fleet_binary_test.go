package service_test

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/hex"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/servers"
)

// A fleet is a crash service on many machines, started as docs/fleet/compose.yaml says.
type fleet struct {
	t        *testing.T
	bin      string
	db       *servers.Postgres
	storage  servers.S3
	front    string // the address of the storage: that of a proxy that fails one request in twenty
	failed   *atomic.Int64
	commands map[string][]string
	serve    *program
	workers  []*program
}

func newFleet(t *testing.T, bin string) *fleet {
	t.Helper()
	f := &fleet{t: t, bin: bin, db: servers.StartPostgres(t), storage: servers.StartS3(t), failed: new(atomic.Int64), commands: map[string][]string{}}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: f.storage.Address})
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	var requests atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%20 == 0 {
			f.failed.Add(1)
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	f.front = front.URL
	text, err := os.ReadFile(filepath.Join(fixture.Root(t), "docs/fleet/compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Services map[string]struct{ Command []string }
	}
	if err := yaml.Unmarshal(text, &compose); err != nil {
		t.Fatal(err)
	}
	for name, s := range compose.Services {
		f.commands[name] = s.Command
	}
	f.serve = f.program("serve")
	f.serve.begin()
	return f
}

// program is one of the services, with the addresses of the test in place of those of the compose file.
func (f *fleet) program(service string) *program {
	f.t.Helper()
	dir := f.t.TempDir()
	args := slices.Clone(f.commands[service])
	if len(args) < 8 || args[0] != "corewalkd" || args[1] != service {
		f.t.Fatalf("compose.yaml: %s is %q", service, args)
	}
	for i, a := range args {
		switch a {
		case "postgres://corewalk@db/corewalk":
			args[i] = f.db.Connection()
		case "s3://dumps?endpoint=http://storage:9000":
			args[i] = "s3://" + f.storage.Bucket + "?endpoint=" + url.QueryEscape(f.front)
		case "/var/lib/corewalk":
			args[i] = dir
		case "json":
			args[i] = "text"
		case ":8780", ":8781":
			args[i] = "127.0.0.1:0"
		}
	}
	return &program{t: f.t, bin: f.bin, dir: dir, command: args, env: []string{"AWS_ACCESS_KEY_ID=" + f.storage.Access, "AWS_SECRET_ACCESS_KEY=" + f.storage.Secret}}
}

// scale starts workers until there are n.
func (f *fleet) scale(n int) {
	f.t.Helper()
	for len(f.workers) < n {
		w := f.program("worker")
		w.begin()
		f.workers = append(f.workers, w)
	}
}

func (f *fleet) end() {
	for _, p := range append(slices.Clone(f.workers), f.serve) {
		p.kill()
	}
}

// send sends files until each is acknowledged, several at a time.
func send(ctx context.Context, p *program, files []string) {
	work := make(chan string)
	var sent sync.WaitGroup
	url, token := p.url, p.token
	for range 4 {
		sent.Go(func() {
			for path := range work {
				b, err := os.ReadFile(path)
				if err != nil {
					p.t.Error(err)
				}
				for ctx.Err() == nil {
					r, _ := http.NewRequestWithContext(ctx, "POST", url+"/api/v1/projects/default/dumps?name="+filepath.Base(path), bytes.NewReader(b))
					r.Header.Set("Authorization", "Bearer "+token)
					if a, err := http.DefaultClient.Do(r); err == nil {
						_, _ = io.Copy(io.Discard, a.Body)
						a.Body.Close()
						if a.StatusCode == http.StatusAccepted {
							break
						}
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	for _, path := range files {
		work <- path
	}
	close(work)
	sent.Wait()
}

// waiting asks a program how many dumps are in a state; -1 if it does not answer.
func (p *program) counted(state string) int {
	a, err := http.Get(p.url + "/metrics")
	if err != nil {
		return -1
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return -1
	}
	m := regexp.MustCompile(`(?m)^corewalk_dumps\{state="` + state + `"\} (-?\d+)$`).FindSubmatch(b)
	if m == nil {
		return -1
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}

// idle waits until nothing waits and nothing is being analysed.
func (f *fleet) idle(limit time.Duration) {
	f.t.Helper()
	for end := time.Now().Add(limit); f.serve.counted("waiting") != 0 || f.serve.counted("working") != 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%d wait, %d are being worked on\n%s", f.serve.counted("waiting"), f.serve.counted("working"), f.workers[0].log)
		}
	}
}

// The fleet groups dumps as corewalk triage does, with the symbols that it was sent, and its programs end when they are told to.
func TestFleet(t *testing.T) {
	fixture.Long(t)
	bin := build(t)
	dir, files := dumps(t, 21)
	want, analysed := triaged(t, bin, dir)
	f := newFleet(t, bin)
	defer f.end()
	send(t.Context(), f.serve, files)
	if n := f.serve.counted("waiting"); n != len(files) {
		t.Errorf("%d wait though no worker is there, want %d", n, len(files))
	}
	f.scale(2)
	f.serve.settled(len(files))
	if got := f.serve.grouped(analysed); !maps.Equal(got, want) {
		t.Errorf("groups %v, triage has %v", got, want)
	}

	// Symbols that are sent are used, by workers and for reports.
	c := fixture.Get(t, "amd64-vars-c-O0")
	exe, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	type one struct{ ID, Name, Build, Program, Group string }
	var list struct{ Dumps []one }
	f.serve.ask("GET", "dumps", nil, &list)
	d := list.Dumps[slices.IndexFunc(list.Dumps, func(d one) bool { return d.Name == "core.00000" })]
	if status := f.serve.ask("PUT", "symbols/buildid/"+d.Build+"/executable", bytes.NewReader(exe), nil); status != 201 {
		t.Fatalf("%+v: %d", d, status)
	}
	var r struct {
		Crash   struct{ Reason string }
		Threads []struct{ Frames []struct{ Function string } }
	}
	if status := f.serve.ask("GET", "dumps/"+d.ID+"/report", nil, &r); status != 200 || r.Crash.Reason != "write of 4 bytes at null" || r.Threads[0].Frames[0].Function != "stop" {
		t.Errorf("%d %+v", status, r)
	}

	tokens := exec.CommandContext(t.Context(), filepath.Join(bin, "corewalkd"), "serve", "token", "add", "--db", f.db.Connection(), "--project", "other", "--scope", "upload,read")
	out, err := tokens.Output()
	if err != nil || !strings.HasPrefix(string(out), "cw_") {
		t.Errorf("%v %s", err, out)
	}
	own := f.serve.token
	f.serve.token = strings.TrimSpace(string(out))
	if status := f.serve.ask("GET", "groups", nil, nil); status != 403 {
		t.Errorf("another project's token: %d", status)
	}
	f.serve.token = own
	for _, path := range []string{"/api/v1/projects/default/groups", "/", "/api/v1/whoami"} {
		if a, err := http.Get(f.workers[0].url + path); err != nil || a.StatusCode != http.StatusNotFound {
			t.Errorf("a worker answers %s: %v, %v", path, a, err)
		}
	}
	for _, p := range append(slices.Clone(f.workers), f.serve) {
		p.cmd.Process.Signal(syscall.SIGTERM)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, p.log)
		}
	}
}

// Senders say nothing of builds. Two workers, each with files of its own, end up with a build each, and fetch the symbols of that build alone. When one is
// killed, the other does it all.
func TestFleetAffinity(t *testing.T) {
	fixture.Long(t)
	bin := build(t)
	f := newFleet(t, bin)
	defer f.end()
	var kinds [][]byte
	var ids []string
	for _, name := range []string{"amd64-vars-c-O0", "amd64-cxx-sort"} {
		c := fixture.Get(t, name)
		core, err := os.ReadFile(c.Core(t))
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.ReadFile(c.Binary(t))
		if err != nil {
			t.Fatal(err)
		}
		file, err := elf.NewFile(bytes.NewReader(exe))
		if err != nil {
			t.Fatal(err)
		}
		note, err := file.Section(".note.gnu.build-id").Data()
		if err != nil {
			t.Fatal(err)
		}
		id := hex.EncodeToString(note[16:])
		if status := f.serve.ask("PUT", "symbols/buildid/"+id+"/executable", bytes.NewReader(exe), nil); status != 201 {
			t.Fatal(status)
		}
		kinds, ids = append(kinds, core), append(ids, id)
	}
	f.scale(2)
	sent := 0
	more := func(n int) {
		dir := t.TempDir()
		var files []string
		for range n {
			path := filepath.Join(dir, strconv.Itoa(sent))
			if err := os.WriteFile(path, append(slices.Clone(kinds[sent%2]), strconv.Itoa(sent)...), 0o600); err != nil {
				t.Fatal(err)
			}
			sent++
			files = append(files, path)
		}
		send(t.Context(), f.serve, files)
		f.serve.settled(sent)
	}
	for range 5 {
		more(2)
	}
	more(60)
	// analysed counts the dumps of each build in a worker's log.
	type one struct{ ID, Build, Group string }
	var list struct{ Dumps []one }
	f.serve.ask("GET", "dumps?limit=1000", nil, &list)
	var mostly []string
	for i, w := range f.workers {
		count := map[string]int{}
		for _, d := range list.Dumps {
			if d.Group == "" {
				t.Fatalf("%+v", d)
			}
			if strings.Contains(w.log.String(), "msg=analysed project=default dump="+d.ID) {
				count[d.Build]++
			}
		}
		var fetched []string
		for _, id := range ids {
			if found, _ := filepath.Glob(filepath.Join(w.dir, "fetched", "default", "debuginfod", id, "*")); len(found) > 0 {
				fetched = append(fetched, id)
			}
		}
		most := ids[0]
		if count[ids[1]] > count[most] {
			most = ids[1]
		}
		mostly = append(mostly, most)
		t.Logf("worker %d: %v, symbols of %v", i, count, fetched)
		if count[most] < 30 || !slices.Equal(fetched, []string{most}) {
			t.Errorf("worker %d: %v, symbols of %v", i, count, fetched)
		}
	}
	if mostly[0] == mostly[1] {
		t.Errorf("both have build %s", mostly[0])
	}
	f.workers[0].kill()
	more(20)
	got := f.serve.grouped(sent)
	sum := 0
	for _, n := range got {
		sum += n
	}
	if len(got) != 2 || sum != sent {
		t.Errorf("%v: want %d dumps in 2 groups", got, sent)
	}
	// What workers fetched is known as what was sent.
	var stored struct {
		Stored []struct {
			Path  string
			Dumps int
		}
	}
	f.serve.ask("GET", "symbols/stored", nil, &stored)
	for _, x := range stored.Stored {
		if x.Dumps != sent/2 {
			t.Errorf("%s was used for %d dumps, want %d", x.Path, x.Dumps, sent/2)
		}
	}
	if len(stored.Stored) != 2 {
		t.Errorf("%+v", stored)
	}
}

// fleetDumps is how many dumps TestFleetChaos has in make test-services; COREWALK_CHAOS is another number.
const fleetDumps = 300

// With workers and the server killed every second, the database restarted twice and the storage failing one request in twenty, every dump
// that was acknowledged is in the ledger once.
func TestFleetChaos(t *testing.T) {
	fixture.Long(t)
	n := fleetDumps
	if s := os.Getenv("COREWALK_CHAOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	bin := build(t)
	dir, files := dumps(t, n)
	want, analysed := triaged(t, bin, dir)
	f := newFleet(t, bin)
	defer f.end()
	f.scale(4)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() { defer close(done); send(ctx, f.serve, files) }()
	random := rand.New(rand.NewPCG(1, 2))
	kills, restarts := 0, 0
	for busy := true; busy; kills++ {
		time.Sleep(time.Second)
		p := append(slices.Clone(f.workers), f.serve)[random.IntN(5)]
		p.kill()
		p.begin()
		if restarts < 2 && kills%4 == 2 {
			f.db.Crash(t)
			time.Sleep(300 * time.Millisecond)
			f.db.Start(t)
			restarts++
		}
		select {
		case <-done:
			// When all are there, as many again are killed as until then, and at most some.
			busy = kills < 8 || f.serve.counted("waiting") > n/4
		default:
		}
	}
	f.idle(10 * time.Minute)
	for n := f.serve.counted("aside"); n > 0; n = f.serve.counted("aside") { // those of which three workers died by chance
		t.Logf("%d were set aside", n)
		var list struct{ Dumps []dump }
		f.serve.ask("GET", "dumps?state=aside&limit=1000", nil, &list)
		for _, d := range list.Dumps {
			f.serve.ask("POST", "dumps/"+d.ID+"/again", nil, nil)
		}
		f.idle(10 * time.Minute)
	}
	t.Logf("%d dumps, %d kills, %d restarts of the database, %d requests that failed", n, kills, restarts, f.failed.Load())
	if got := f.serve.grouped(analysed); !maps.Equal(got, want) {
		t.Errorf("groups %v, triage has %v", got, want)
	}
	if restarts < 2 || f.failed.Load() == 0 {
		t.Error("nothing went wrong")
	}
}

// TestFleetThroughput prints how many dumps a second one, two and four workers analyse: for docs/fleet.md.
func TestFleetThroughput(t *testing.T) {
	if os.Getenv("COREWALK_THROUGHPUT") == "" {
		t.Skip("a measurement: COREWALK_THROUGHPUT=1")
	}
	bin := build(t)
	n, _ := strconv.Atoi(os.Getenv("COREWALK_THROUGHPUT"))
	for _, workers := range []int{1, 2, 4} {
		_, files := dumps(t, n)
		f := newFleet(t, bin)
		send(t.Context(), f.serve, files)
		begun := time.Now()
		f.scale(workers)
		f.idle(10 * time.Minute)
		took := time.Since(begun)
		var user time.Duration
		for _, w := range f.workers {
			w.cmd.Process.Signal(syscall.SIGTERM)
			w.cmd.Wait()
			user += w.cmd.ProcessState.UserTime() + w.cmd.ProcessState.SystemTime()
		}
		t.Logf("%d workers: %d dumps in %.1f s: %.0f a second; processor time %.1f s", workers, n, took.Seconds(), float64(n)/took.Seconds(), user.Seconds())
		f.end()
	}
}
