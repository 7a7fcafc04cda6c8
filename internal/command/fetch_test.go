package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

const (
	packID = "2f0fc63b3fda74bcc26678fbda2fac99c8aeb218" // of amd64-build-id's program
	libcID = "93ac61ec5a8eb1396f9fbd350e3169a558528a40"
)

// A fileServer serves files by their path below /buildid/, and notes what it was
// asked.
type fileServer struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func serve(t *testing.T, files map[string]string) *fileServer {
	s := &fileServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/buildid/")
		s.mu.Lock()
		s.asked = append(s.asked, name)
		s.mu.Unlock()
		if files[name] == "" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, files[name])
	}))
	t.Cleanup(s.Close)
	return s
}

// packFiles are the program of amd64-build-id and its debug file, as servers have
// them.
func packFiles(t *testing.T) map[string]string {
	c := fixture.Get(t, "amd64-build-id")
	return map[string]string{
		packID + "/executable": c.Binary(t),
		packID + "/debuginfo":  filepath.Join(c.Dir, "debug", ".build-id", packID[:2], packID[2:]+".debug"),
	}
}

// fetchRun runs the command on the core of amd64-build-id, which is alone, its
// program and its debug information being elsewhere.
func fetchRun(t *testing.T, ctx context.Context, args ...string) (status int, out, errs string) {
	t.Helper()
	c := fixture.Get(t, "amd64-build-id")
	var o, e bytes.Buffer
	args = append(args, "--debug-dir", t.TempDir(), "--sysroot", c.Sysroot(t), c.Core(t))
	status = run(args, env{ctx, nil, &o, &e, nil, nil})
	return status, o.String(), e.String()
}

const inlinedLine = "store(t=0x0, c=green) at pack.c:27 [inlined]"

// With a server, a core alone has lines, inlined calls and variables. Servers are
// asked for what the stacks need, and only when they are asked for.
func TestFetch(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	s := serve(t, packFiles(t))
	status, _, errs := fetchRun(t, context.Background(), "info", "--debuginfod="+s.URL)
	if status != exitComplete || len(s.asked) != 0 {
		t.Errorf("info: status %d, %s; queries %q", status, errs, s.asked)
	}
	if _, out, _ := fetchRun(t, context.Background()); strings.Contains(out, "pack.c") || len(s.asked) != 0 {
		t.Errorf("without a server:\n%s", out)
	}
	status, out, errs := fetchRun(t, context.Background(), "--debuginfod="+s.URL)
	if status != exitComplete || errs != "" || !strings.Contains(out, inlinedLine) || !strings.Contains(out, "Modules: 4 of 4 matched") {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	slices.Sort(s.asked)
	if want := []string{packID + "/debuginfo", packID + "/executable", libcID + "/debuginfo"}; !slices.Equal(s.asked, want) {
		t.Errorf("queries\n%q, want\n%q", s.asked, want)
	}
	// The second time everything is in the cache, also that there is no file.
	t.Setenv("DEBUGINFOD_URLS", s.URL)
	for _, args := range [][]string{nil, {"--debuginfod"}, {"--debuginfod=" + s.URL, "--debuginfod"}} {
		if _, again, _ := fetchRun(t, context.Background(), args...); again != out || len(s.asked) != 3 {
			t.Errorf("%q: %d queries\n%s", args, len(s.asked), again)
		}
	}
	if _, out, _ = fetchRun(t, context.Background(), "--debuginfod=none"); strings.Contains(out, "pack.c") {
		t.Errorf("--debuginfod=none:\n%s", out)
	}
}

// A file of another build in the cache, or from a server, is not used.
func TestFetchLies(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DEBUGINFOD_CACHE_PATH", cache)
	t.Setenv("DEBUGINFOD_RETRY_LIMIT", "0")
	other := fixture.Get(t, "amd64-pie").Binary(t)
	s := serve(t, map[string]string{packID + "/executable": other, libcID + "/debuginfo": other})
	status, out, errs := fetchRun(t, context.Background(), "--debuginfod="+s.URL)
	words := strings.Join(strings.Fields(out), " ")
	if status != exitIncomplete || errs != "" || strings.Contains(out, "pack.c") || // callers in pack are guessed
		!strings.Contains(words, "pack: no file found") || !strings.Contains(words, ", want "+packID) ||
		!strings.Contains(words, "cannot fetch debug information") || !strings.Contains(words, ", want "+libcID) {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
	got, _ := filepath.Glob(filepath.Join(cache, "*", "*"))
	for _, path := range got {
		if st, err := os.Stat(path); err != nil || st.Size() != 0 { // empty: there is no such file
			t.Errorf("the cache holds %s", path)
		}
	}
}

// A run that is interrupted while it fetches ends soon, with what it has.
func TestFetchInterrupted(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer s.Close()
	start := time.Now()
	status, out, errs := fetchRun(t, ctx, "--debuginfod="+s.URL)
	if status != exitIncomplete || errs != "" || !strings.Contains(out, "died of SIGSEGV") || time.Since(start) > 20*time.Second {
		t.Errorf("status %d, %s\n%s", status, errs, out)
	}
}

func TestFetchFlags(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	t.Setenv("DEBUGINFOD_RETRY_LIMIT", "0")
	for _, tt := range []struct {
		env, flag, want string
		status          int
	}{
		{"", "--debuginfod", "DEBUGINFOD_URLS names no server", exitUsage},
		{"", "--debuginfod=", "no debuginfod server", exitUsage},
		{"", "--debuginfod=host", "not a valid URL", exitUsage},
		{"http://127.0.0.1:1", "--debuginfod=file://host/x", "not a valid URL", exitUsage},
		{"http://127.0.0.1:1", "--debuginfod=file:///x", "", exitIncomplete},
		{"ima:enforcing http://127.0.0.1:1", "--debuginfod", "signature", exitUsage},
		{"ima:enforcing http://127.0.0.1:1", "--debuginfod=http://127.0.0.1:2", "", exitIncomplete},
		{"ima:enforcing http://127.0.0.1:1", "--debuginfod=none", "", exitIncomplete},
		{"ima:enforcing http://127.0.0.1:1", "", "http://127.0.0.1:1 is not used: ima:enforcing", exitIncomplete},
		{"http://127.0.0.1:2 ima:enforcing http://127.0.0.1:1", "--debuginfod", "http://127.0.0.1:1 is not used: ima:enforcing", exitIncomplete},
		{"ima:permissive http://127.0.0.1:1", "", "signatures of files of http://127.0.0.1:1 are not checked", exitIncomplete},
		{"nonsense", "", "DEBUGINFOD_URLS: ", exitIncomplete},
		{"nonsense", "--debuginfod=none", "", exitIncomplete},
	} {
		t.Setenv("DEBUGINFOD_URLS", tt.env)
		args := []string{"--thread=1"}
		if tt.flag != "" {
			args = append(args, tt.flag)
		}
		var out, errs bytes.Buffer
		args = append(args, fixture.Get(t, "amd64-build-id").Core(t))
		if status := run(args, env{context.Background(), nil, &out, &errs, nil, nil}); tt.status == exitUsage && status != exitUsage {
			t.Errorf("%+v: status %d", tt, status)
		}
		if first, _, _ := strings.Cut(errs.String(), "\n"); tt.want != "" && !strings.Contains(first, tt.want) || tt.want == "" && strings.Contains(errs.String(), "DEBUGINFOD") {
			t.Errorf("%+v: %s", tt, errs.String())
		}
	}
}

func TestFetching(t *testing.T) {
	var b bytes.Buffer
	f := fetching{line: progress{out: &b}}
	one := settings.Progress{Kind: "debuginfo", BuildID: packID, Server: "host:80"}
	two := settings.Progress{Kind: "executable", BuildID: packID, Server: "host:80", Done: 1 << 20}
	var got []string
	report := func(p settings.Progress) {
		f.report(p)
		text := "nothing"
		if f.line.shown {
			text = f.line.line
		}
		got = append(got, text)
	}
	report(one)
	report(two)
	one.Done, one.Total = 500_000, 2_000_000
	report(one)
	one.Ended, two.Ended = true, true
	report(one)
	report(two)
	want := []string{"fetching debuginfo of 2f0fc63b from host:80",
		"fetching executable of 2f0fc63b from host:80: 1.0 MB, and 1 more",
		"[########                        ] fetching debuginfo of 2f0fc63b from host:80: 25% of 2.0 MB, and 1 more",
		"fetching executable of 2f0fc63b from host:80: 1.0 MB", "nothing"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}

// A server that is not there is told of once, not for each file.
func TestFetchUnreachable(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	t.Setenv("DEBUGINFOD_RETRY_LIMIT", "0")
	s := serve(t, nil)
	s.Close()
	for _, url := range []string{s.URL, "file:///nonexistent/tree"} {
		status, out, errs := fetchRun(t, context.Background(), "--debuginfod="+url, "--format=json")
		var r report.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || errs != "" || status != exitIncomplete { // without the program's file, callers are guessed
			t.Fatalf("status %d, %v, %s", status, err, errs)
		}
		n := 0
		for _, w := range r.Warnings {
			if w.Code == "server-unreachable" && strings.Contains(w.Message, url+": ") {
				n++
			} else if w.Code == "module-file" {
				t.Errorf("%+v", w)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d warnings in\n%s", url, n, out)
		}
	}
}

// Without a terminal, progress is told in whole lines when the environment asks.
func TestFetchLog(t *testing.T) {
	t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
	s := serve(t, packFiles(t))
	t.Setenv("DEBUGINFOD_PROGRESS", "1")
	_, _, errs := fetchRun(t, context.Background(), "--debuginfod="+s.URL)
	lines := strings.Split(strings.TrimSpace(errs), "\n")
	slices.Sort(lines)
	size := func(kind string) string {
		st, err := os.Stat(packFiles(t)[packID+"/"+kind])
		if err != nil {
			t.Fatal(err)
		}
		return megabytes(st.Size())
	}
	host := strings.TrimPrefix(s.URL, "http://")
	want := []string{
		"corewalk: could not fetch debuginfo of " + libcID,
		"corewalk: fetched debuginfo of " + packID + " from " + host + ": " + size("debuginfo"),
		"corewalk: fetched executable of " + packID + " from " + host + ": " + size("executable"),
		"corewalk: fetching debuginfo of " + packID,
		"corewalk: fetching debuginfo of " + libcID,
		"corewalk: fetching executable of " + packID,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("%q, want\n%q", lines, want)
	}
}

// The server of elfutils, on the files of a fixture.
func TestRealServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	fixture.Tools(t)
	program, err := exec.LookPath("debuginfod")
	if err != nil {
		t.Skip("debuginfod is not installed (Debian: debuginfod): ", err)
	}
	dir := t.TempDir()
	for name, from := range packFiles(t) {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	url := startServer(t, program, dir)
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	for _, when := range []string{"fetched", "from the cache"} {
		status, out, errs := fetchRun(t, context.Background(), "--debuginfod="+url)
		if status != exitComplete || errs != "" || !strings.Contains(out, inlinedLine) {
			t.Errorf("%s: status %d, %s\n%s", when, status, errs, out)
		}
	}
	// Beside a server that has nothing and one that lies.
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(t.TempDir(), "cache"))
	lies := serve(t, map[string]string{packID + "/debuginfo": fixture.Get(t, "amd64-pie").Binary(t)})
	t.Setenv("DEBUGINFOD_URLS", strings.Join([]string{serve(t, nil).URL, lies.URL, url}, " "))
	if status, out, errs := fetchRun(t, context.Background()); status != exitComplete || errs != "" || !strings.Contains(out, inlinedLine) {
		t.Errorf("of three servers: status %d, %s\n%s", status, errs, out)
	}
}

// startServer starts debuginfod on the files below dir, and waits until it has
// read them.
func startServer(t *testing.T, program, dir string) (url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	var log bytes.Buffer
	cmd := exec.Command(program, "-F", "-v", "-d", ":memory:", "-p", port, "-t", "0", "-g", "0", dir)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	url = "http://127.0.0.1:" + port
	for range 150 {
		resp, err := http.Get(fmt.Sprintf("%s/buildid/%s/debuginfo", url, packID))
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return url
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("debuginfod ended: %v\n%s", err, log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	cmd.Process.Kill()
	err = <-ended
	ended <- err
	t.Fatalf("debuginfod does not have the files after 15 s:\n%s", log.String())
	return ""
}
