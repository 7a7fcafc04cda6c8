package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
)

// A program is corewalk serve as users start it.
type program struct {
	t          *testing.T
	bin, dir   string
	args       []string
	command    []string // in place of corewalk serve; listens where its arguments say
	env        []string
	cmd        *exec.Cmd
	url, token string
	log        *words
}

// words is what a program said.
type words struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	fixture.Programs(t, dir, nil, "corewalk", "corewalkd")
	return dir
}

var (
	tokenWord   = regexp.MustCompile(`project default, is in (\S+): remove`)
	addressWord = regexp.MustCompile(`msg=listening address=(\S+)`)
)

// begin starts the program and waits until it takes connections.
func (p *program) begin() {
	p.t.Helper()
	p.log = new(words)
	listen := "127.0.0.1:0"
	if p.url != "" {
		listen = strings.TrimPrefix(p.url, "http://")
	}
	args := append([]string{"corewalk", "serve", "--dir", p.dir, "--listen", listen}, p.args...)
	if p.command != nil {
		args = append(slices.Clone(p.command), "--listen", listen)
	}
	p.cmd = exec.Command(filepath.Join(p.bin, args[0]), args[1:]...)
	p.cmd.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+p.bin, "XDG_STATE_HOME="+p.bin), p.env...)
	p.cmd.Stderr = p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	fixture.Bind(p.t, p.cmd.Process.Pid)
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if m := tokenWord.FindStringSubmatch(p.log.String()); m != nil {
			text, err := os.ReadFile(m[1])
			st, serr := os.Stat(m[1])
			if err != nil || serr != nil || st.Mode().Perm() != 0o600 || strings.Contains(p.log.String(), strings.TrimSpace(string(text))) {
				p.t.Fatalf("the first token: %v, %v, %v: %s", st.Mode(), err, serr, p.log)
			}
			p.token = strings.TrimSpace(string(text))
		}
		if m := addressWord.FindStringSubmatch(p.log.String()); m != nil {
			p.url = "http://" + m[1]
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("it does not listen: %s", p.log)
		}
	}
}

// kill kills it and its analysis processes.
func (p *program) kill() {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	p.cmd.Wait()
}

// ask sends a request; status is 0 if there was no answer.
func (p *program) ask(method, path string, body io.Reader, v any) (status int) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+"/api/v1/projects/default/"+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		return 0
	}
	if v != nil && a.StatusCode < 300 {
		if err := json.Unmarshal(b, v); err != nil {
			p.t.Fatalf("%s: %v", path, err)
		}
	}
	return a.StatusCode
}

// settled waits until so many dumps are done.
func (p *program) settled(n int) {
	p.t.Helper()
	var list struct{ Dumps []dump }
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if p.ask("GET", "dumps?limit=1000", nil, &list); len(list.Dumps) == n && !slices.ContainsFunc(list.Dumps, func(d dump) bool { return d.State != "done" }) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%d dumps, want %d: %+v\n%s", len(list.Dumps), n, list, p.log)
		}
	}
}

// grouped returns how many dumps each group has.
func (p *program) grouped(n int) map[string]int {
	p.t.Helper()
	var got map[string]int
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var list struct{ Groups []group }
		p.ask("GET", "groups?limit=1000", nil, &list)
		got = map[string]int{}
		sum := 0
		for _, g := range list.Groups {
			got[g.ID] = g.Count
			sum += g.Count
		}
		if sum == n {
			break
		}
	}
	return got
}

// triaged returns the groups that corewalk triage makes of dumps.
func triaged(t *testing.T, bin string, dir string, args ...string) (groups map[string]int, analysed int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "corewalk"), append([]string{"triage", "--no-db", "--format", "json", "-r", dir}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+bin)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 3 {
		t.Fatal(err)
	}
	groups = map[string]int{}
	for line := range bytes.Lines(out) {
		var d struct {
			Type, Group string
			Count       int
		}
		if json.Unmarshal(line, &d) == nil && d.Type == "group" {
			groups[d.Group] = d.Count
			analysed += d.Count
		}
	}
	return groups, analysed
}

// dumps copies different dumps to a directory, n of them: of fixtures, each with bytes of its own at its end.
func dumps(t *testing.T, n int) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	var kinds [][]byte
	for _, name := range []string{"amd64-vars-c-O0", "amd64-crash-least", "amd64-zlib", "aarch64-threads", "arm-crash-O1", "ppc64-crash-O1", "i386-signal"} {
		b, err := os.ReadFile(fixture.Get(t, name).Core(t))
		if err != nil {
			t.Fatal(err)
		}
		if n > 500 && len(b) > 1<<20 {
			continue // for the disk's sake
		}
		kinds = append(kinds, b)
	}
	for i := range n {
		path := filepath.Join(dir, fmt.Sprintf("core.%05d", i))
		b := append(slices.Clone(kinds[i%len(kinds)]), []byte(fmt.Sprintf("%08d", i))...)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	return dir, files
}

// The service groups dumps as corewalk triage does, whatever way they come, and ends when it is told to.
func TestProgram(t *testing.T) {
	fixture.Long(t)
	bin := build(t)
	dir, files := dumps(t, 21)
	want, analysed := triaged(t, bin, dir)
	p := &program{t: t, bin: bin, dir: t.TempDir()}
	p.begin()
	defer p.kill()
	for i, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if status := p.ask("POST", "dumps?name="+filepath.Base(path)+"&n="+strconv.Itoa(i), bytes.NewReader(b), nil); status != 202 {
			t.Fatalf("%s: %d", path, status)
		}
	}
	p.settled(len(files))
	if got := p.grouped(analysed); !maps.Equal(got, want) {
		t.Errorf("groups %v, triage has %v", got, want)
	}

	// Symbols that are sent are used.
	c := fixture.Get(t, "amd64-vars-c-O0")
	exe, err := os.ReadFile(c.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Dumps []struct{ ID, Name, Build, Program string }
	}
	p.ask("GET", "dumps", nil, &list)
	i := slices.IndexFunc(list.Dumps, func(d struct{ ID, Name, Build, Program string }) bool { return d.Name == "core.00000" })
	d := list.Dumps[i]
	if status := p.ask("PUT", "symbols/buildid/"+d.Build+"/executable", bytes.NewReader(exe), nil); status != 201 {
		t.Fatalf("%+v: %d", d, status)
	}
	var r struct {
		Crash   struct{ Reason string }
		Threads []struct{ Frames []struct{ Function string } }
	}
	if status := p.ask("GET", "dumps/"+d.ID+"/report", nil, &r); status != 200 || r.Crash.Reason != "write of 4 bytes at null" || r.Threads[0].Frames[0].Function != "stop" {
		t.Errorf("%d %+v", status, r)
	}

	second := exec.Command(filepath.Join(bin, "corewalk"), "serve", "--dir", p.dir, "--listen", "127.0.0.1:0")
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another corewalk serve uses") {
		t.Errorf("a second service: %v %s", err, out)
	}
	tokens := exec.Command(filepath.Join(bin, "corewalk"), "serve", "token", "add", "--dir", p.dir, "--project", "other", "--scope", "upload,read", "--note", "a till")
	out, err := tokens.Output()
	if err != nil || !strings.HasPrefix(string(out), "cw_") {
		t.Errorf("%v %s", err, out)
	}
	own := p.token
	p.token = strings.TrimSpace(string(out))
	if status := p.ask("GET", "groups", nil, nil); status != 403 {
		t.Errorf("another project's token: %d", status)
	}
	p.token = own

	p.cmd.Process.Signal(syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.log)
	}
}

// chaosDumps is how many dumps TestChaos has in make test-long; COREWALK_CHAOS is another number.
const chaosDumps = 60

// With the service and its analysis killed again and again, every dump that was acknowledged is in the ledger once.
func TestChaos(t *testing.T) {
	fixture.Long(t)
	n := chaosDumps
	if s := os.Getenv("COREWALK_CHAOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	bin := build(t)
	dir, files := dumps(t, n)
	want, analysed := triaged(t, bin, dir)
	p := &program{t: t, bin: bin, dir: t.TempDir()}
	p.begin()
	ctx, stop := context.WithCancel(t.Context())
	var sent sync.WaitGroup
	work := make(chan string)
	// The clients send until a dump is acknowledged.
	url, token := p.url, p.token
	for range 4 {
		sent.Go(func() {
			for path := range work {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				for ctx.Err() == nil {
					r, _ := http.NewRequestWithContext(ctx, "POST", url+"/api/v1/projects/default/dumps", bytes.NewReader(b))
					r.Header.Set("Authorization", "Bearer "+token)
					if a, err := http.DefaultClient.Do(r); err == nil {
						a.Body.Close()
						if a.StatusCode == 202 {
							break
						}
					}
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, path := range files {
			work <- path
		}
		close(work)
		sent.Wait()
	}()
	kills := 0
	for over := false; !over; {
		select {
		case <-done:
			over = true
		case <-time.After(time.Duration(300+rand.IntN(1200)) * time.Millisecond):
		}
		p.kill()
		p.begin()
		kills++
	}
	for range 3 {
		time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond)
		p.kill()
		p.begin()
		kills++
	}
	defer p.kill()
	stop()
	p.settledAll(n)
	if got := p.grouped(analysed); !maps.Equal(got, want) {
		t.Errorf("groups %v, triage has %v", got, want)
	}
	t.Logf("%d dumps, killed %d times", n, kills)
}

// settledAll is settled for any number of dumps: by the metrics, which count what waits.
func (p *program) settledAll(n int) {
	p.t.Helper()
	var aside struct{ Dumps []dump }
	for end := time.Now().Add(30 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := http.Get(p.url + "/metrics")
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if strings.Contains(string(b), "corewalk_dumps{state=\"waiting\"} 0\n") && strings.Contains(string(b), "corewalk_dumps{state=\"working\"} 0\n") {
			break
		}
		if time.Now().After(end) {
			p.t.Fatalf("never done: %s", b)
		}
	}
	// A dump that three deaths hit by chance is analysed when it is asked for again.
	p.ask("GET", "dumps?state=aside&limit=1000", nil, &aside)
	for _, d := range aside.Dumps {
		p.ask("POST", "dumps/"+d.ID+"/again", nil, nil)
	}
	if len(aside.Dumps) > 0 {
		p.t.Logf("%d dumps were set aside", len(aside.Dumps))
		p.settledAll(n)
	}
}
