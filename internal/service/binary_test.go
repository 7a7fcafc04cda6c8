package service_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
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
	"github.com/corewalk/corewalk/internal/fixture/browser"
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

var shotDir = flag.String("pictures", "", "put the pictures of docs/service.md into this directory")

// picture takes a picture of the page if pictures are wanted.
func picture(c *browser.Browser, name string, width, height int, scheme string) {
	if *shotDir == "" {
		return
	}
	c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": scheme}}})
	c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800})
	c.Picture(filepath.Join(*shotDir, name))
	c.Do("Emulation.clearDeviceMetricsOverride", nil)
	c.Do("Emulation.setEmulatedMedia", browser.Object{})
}

// pageHashes are the pages, with one group and one dump.
func pageHashes(p *program) []string {
	var list struct{ Dumps []struct{ ID, Group string } }
	p.ask("GET", "dumps", nil, &list)
	out := []string{"#/", "#/builds", "#/dumps", "#/upload", "#/tokens", "#/notify"}
	for _, d := range list.Dumps {
		if d.Group != "" {
			return append(out, "#/g/"+d.Group, "#/d/"+d.ID)
		}
	}
	return out
}

// The page in a browser: log in, groups, a group, a dump whose frames open to variables, upload, states; nothing is asked of elsewhere,
// and no error is said.
func TestPage(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	c := browser.Start(t)
	bin := build(t)
	p := &program{t: t, bin: bin, dir: t.TempDir(), args: []string{"--search", fixture.Get(t, "amd64-vars-c-O0").Dir}}
	p.begin()
	defer p.kill()
	_, files := dumps(t, 7)
	hostile := `<img src=x onerror=alert(1)>`
	for _, path := range files[1:] {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fields := url.Values{"name": {filepath.Base(path)}, "version": {hostile + "1"}, "gpu": {hostile}, "user_id": {hostile}}
		p.ask("POST", "dumps?"+fields.Encode(), bytes.NewReader(b), nil)
	}
	p.settled(6)
	p.ask("POST", "dumps?name="+strings.ReplaceAll(hostile, " ", "+"), strings.NewReader("no dump"), nil)
	p.settled(7)
	c.Open(p.url+"/#"+p.token, nil)
	c.Want(`document.getElementById("link-no") && document.querySelector("main strong").textContent == "default" && !location.hash.includes("cw_")`)
	c.Eval(`document.getElementById("link-no").click()`)
	c.Want(`!!document.getElementById("token") && document.getElementById("nav").hidden`) // nothing was logged in
	c.Eval(fmt.Sprintf(`location.hash = "#cw_0123_%s"`, strings.Repeat("x", 32)))
	c.Want(`!!document.querySelector("main [role=alert]") && !location.hash.includes("cw_")`)
	c.Eval(`location.hash = "#` + p.token + `"`)
	c.Want(`!!document.getElementById("link-yes")`)
	c.Eval(`document.getElementById("link-yes").click()`)
	c.Want(`document.querySelectorAll("table.list tbody tr").length >= 3 && !location.hash.includes("cw_")`)
	c.Want(`document.cookie == "" && [...document.querySelectorAll("input, select, textarea")].every(e => e.labels && e.labels.length || e.getAttribute("aria-label"))`)
	c.Run("upload", func(t *testing.T) {
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		c.Eval(`location.hash = "#/upload"`)
		c.Want(`!!document.getElementById("files")`)
		c.Eval(fmt.Sprintf(`{ const d = new DataTransfer(); d.items.add(new File([Uint8Array.from(atob(%q), x => x.charCodeAt(0))], "core <b>7</b>")); const i = document.getElementById("files"); i.files = d.files; i.dispatchEvent(new Event("change")) }`, base64.StdEncoding.EncodeToString(b)))
		c.Want(`[...document.querySelectorAll("main li a")].some(a => a.textContent == "sent")`)
		p.settled(8)
		c.Eval(`document.querySelector("main li a").click()`)
		c.Want(`document.querySelector("main").textContent.includes("core <b>7</b>")`)
		c.Want(`document.querySelector(".crash") && document.querySelector(".crash").textContent.includes("write of 4 bytes at null")`)
		c.Want(`[...document.querySelectorAll("details.frame .fn")].some(e => e.textContent == "records")`)
		c.Eval(`[...document.querySelectorAll("details.frame")].find(e => e.querySelector(".fn").textContent == "records").open = true`)
		c.Want(`[...document.querySelectorAll("ul.vars code")].some(e => e.textContent.startsWith("p = {x = 3, y = 4}"))`)
		c.Eval(`[...document.querySelectorAll("ul.vars details")].find(e => e.querySelector("code").textContent.startsWith("p = ")).open = true`)
		c.Want(`[...document.querySelectorAll("ul.vars ul.vars code")].some(e => e.textContent == "y = 4")`)
		c.Want(`document.querySelectorAll("details.stack").length == 1 && document.querySelector("details.stack summary").textContent.includes("crashed")`)
		picture(c, "service-dump.png", 1100, 1000, "light")
		c.Eval(`[...document.querySelectorAll("details.frame details")].find(e => e.querySelector("summary").textContent.startsWith("Registers")).open = true`)
		c.Want(`[...document.querySelectorAll("ul.vars code")].some(e => e.textContent.startsWith("rip = 0x"))`)
		if low := c.Eval(browser.LowContrast); low != "" && low != `""` {
			t.Error(low)
		}
		// With keys alone; what was long goes on where it ended.
		c.Eval(`[...document.querySelectorAll("details.frame")].find(e => e.querySelector(".fn").textContent == "arrays").querySelector("summary").focus()`)
		c.Key("Enter")
		c.Want(`[...document.querySelectorAll("ul.vars details code")].some(e => e.textContent.startsWith("same = {0 <repeats 39 times>"))`)
		c.Eval(`[...document.querySelectorAll("ul.vars details")].find(e => e.querySelector("code").textContent.startsWith("plain =")).querySelector("summary").focus()`)
		c.Key("Enter")
		c.Want(`[...document.querySelectorAll("ul.vars ul.vars code")].some(e => e.textContent == "[4] = 5")`)
	})
	c.Run("group", func(t *testing.T) {
		c.Eval(`[...document.querySelectorAll("dd a")].find(a => a.getAttribute("href").startsWith("#/g/")).click()`)
		c.Want(`!!document.querySelector("select[name=state]") && document.querySelector("h2").textContent.includes("write of 4 bytes")`)
		c.Eval(`{ document.querySelector("textarea").value = "seen <i>often</i>"; document.querySelector("textarea").form.requestSubmit() }`)
		c.Want(`!!document.querySelector("blockquote") && document.querySelector("blockquote").textContent.includes("seen <i>often</i>")`)
		c.Eval(`{ document.querySelector("select[name=state]").value = "fixed"; document.querySelector("select[name=state]").form.requestSubmit() }`)
		c.Want(`!!document.querySelector("h2 .badge.fixed")`)
	})
	c.Run("attributes", func(t *testing.T) {
		facet := `[...document.querySelectorAll("button.facet")].find(b => b.textContent == ` + fmt.Sprintf("%q", hostile+"1") + `)`
		c.Eval(`location.hash = "#/"`)
		c.Want(`!!` + facet)
		c.Eval(facet + `.click()`)
		c.Want(`document.querySelector("button.facet[aria-pressed=true]") && document.querySelector("td.n").textContent.includes(" of ")`)
		c.Want(`!document.querySelector("main img")`)
		c.Eval(`document.querySelector("td.what a").click()`)
		c.Want(`[...document.querySelectorAll("td")].some(e => e.textContent == ` + fmt.Sprintf("%q", hostile+"1") + `) && document.querySelector("main").textContent.includes("1 user") && !document.querySelector("main img")`)
		c.Eval(`{ const f = document.querySelector("select[name=state]"); f.value = "fixed"; f.form.querySelector("select[name=in]").value = ` + fmt.Sprintf("%q", "release "+hostile+"1") + `; f.form.requestSubmit() }`)
		c.Want(`document.querySelector("h2 .badge.fixed") && document.querySelector("h2 .badge.fixed").textContent.startsWith("fixed in <img") && !document.querySelector("main img")`)
		c.Eval(`location.hash = "#/builds"`)
		c.Want(`[...document.querySelectorAll("td a")].some(e => e.textContent == ` + fmt.Sprintf("%q", hostile+"1") + `) && !document.querySelector("main img")`)
	})
	c.Run("people", func(t *testing.T) {
		c.Eval(`location.hash = "#/"`)
		c.Want(`document.querySelectorAll("input[name=group]").length >= 3`)
		c.Eval(`{ document.querySelectorAll("input[name=group]")[1].checked = true; const f = document.getElementById("bulk"); f.elements.assignee.value = ` + fmt.Sprintf("%q", hostile) + `; f.requestSubmit() }`)
		c.Want(`[...document.querySelectorAll("td.what span")].some(e => e.textContent.startsWith("<img")) && !document.querySelector("main img")`)
		c.Eval(`{ window.prompt = () => ` + fmt.Sprintf("%q", hostile) + `; location.hash = "#/?state=open" }`)
		c.Want(`[...document.querySelectorAll("button")].some(e => e.textContent == "Save this search")`)
		c.Eval(`[...document.querySelectorAll("button")].find(e => e.textContent == "Save this search").click()`)
		c.Want(`document.querySelector(".saved a") && document.querySelector(".saved a").textContent.startsWith("<img") && !document.querySelector("main img")`)
		c.Eval(`document.querySelector("td.what a").click()`)
		c.Want(`!!document.querySelector("textarea")`)
		c.Eval(`{ document.querySelector("textarea").value = "one <img src=x>\nsee https://x.example/a?b=1 javascript:alert(1)"; document.querySelector("textarea").form.requestSubmit() }`)
		c.Want(`document.querySelector(".note a") && document.querySelectorAll(".note a").length == 1 && document.querySelector(".note a").href == "https://x.example/a?b=1" && getComputedStyle(document.querySelector(".note")).whiteSpace.startsWith("pre") && !document.querySelector("main img")`)
		c.Eval(`{ const f = document.querySelector("input[name=ticket]").form; f.elements.ticket.value = "https://x.example/\"><b>"; f.requestSubmit() }`)
		c.Want(`[...document.querySelectorAll("dd a")].some(a => a.textContent.startsWith("https://x.example/")) && !document.querySelector("dd b")`)
	})
	c.Run("keyboard", func(t *testing.T) {
		c.Eval(`location.hash = "#/"`)
		c.Want(`!!document.getElementById("q")`)
		picture(c, "service-groups.png", 1100, 560, "light")
		c.Eval(`document.activeElement.blur()`)
		c.Key("j")
		c.Key("j")
		c.Want(`document.querySelectorAll("table.list tbody tr")[1].classList.contains("here") && document.activeElement.tagName == "A"`)
		c.Key("/")
		c.Want(`document.activeElement.id == "q"`)
	})
	c.Run("search", func(t *testing.T) {
		c.Eval(`{ const q = document.getElementById("q"); q.value = "no such"; q.form.requestSubmit() }`)
		c.Want(`document.querySelector("h2").textContent.startsWith("0 groups")`)
		c.Eval(`location.hash = "#/dumps"`)
		c.Want(`document.querySelector("main").textContent.includes("<img src=x onerror=alert(1)>") && !document.querySelector("main img")`)
		c.Eval(`location.hash = "#/builds"`)
		c.Want(`document.querySelectorAll("select").length == 2`)
	})
	c.Run("tokens", func(t *testing.T) {
		c.Eval(`location.hash = "#/tokens"`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 1`)
		c.Eval(`{ document.querySelector("input[value=upload]").checked = true; document.querySelector("input[name=note]").value = "a <b>till</b>"; document.querySelector("main form").requestSubmit() }`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 2 && document.getElementById("secret").textContent.startsWith("cw_") && document.querySelector("main").textContent.includes("a <b>till</b>")`)
		c.Eval(`{ window.confirm = () => true; [...document.querySelectorAll("table.list button")].find(b => b.getAttribute("aria-label") == "Revoke a <b>till</b>").click() }`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 1 && !document.getElementById("secret")`)
	})
	c.Run("notifications", func(t *testing.T) {
		c.Eval(`location.hash = "#/notify"`)
		c.Want(`!!document.querySelector("input[name=to]")`)
		c.Eval(`{ const f = document.querySelector("main form"); f.elements.to.value = "https://<b>x<b>.invalid/"; f.requestSubmit() }`)
		c.Want(`document.querySelector("td.what") && document.querySelector("td.what").textContent.startsWith("https://<b>x<b>.invalid/") && !document.querySelector("main td b")`)
		c.Eval(`{ const f = document.querySelector("main form"); f.elements.to.value = "https://chat.invalid/secret-path"; f.elements.quiet.value = "22:00-07:00"; f.requestSubmit() }`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 2 && !!document.getElementById("secret") && !document.querySelector("main").textContent.includes("secret-path")`)
		c.Eval(`{ window.confirm = () => true; [...document.querySelectorAll("table.list button")].find(b => b.getAttribute("aria-label").startsWith("Remove https://<b>")).click() }`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 1 && !document.getElementById("secret")`)
	})
	c.Run("contrast", func(t *testing.T) {
		for _, scheme := range []string{"light", "dark"} {
			c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": scheme}}})
			for _, hash := range pageHashes(p) {
				c.Eval(fmt.Sprintf(`{ document.querySelector("main").replaceChildren(); location.hash = %q }`, hash))
				c.Want(`!!document.querySelector("main h2")`)
				if low := c.Eval(browser.LowContrast); low != "" && low != `""` {
					t.Errorf("%s, %s: %s", hash, scheme, low)
				}
				if nameless := c.Eval(browser.NamelessControls); nameless != "" && nameless != `""` {
					t.Errorf("%s: no name: %s", hash, nameless)
				}
			}
		}
		if low := c.Eval(`document.querySelector("h2").style.color = "#777"; ` + browser.LowContrast); !strings.Contains(low, "h2") {
			t.Errorf("grey on black is not found: %s", low)
		}
	})
	c.Run("narrow and dark", func(t *testing.T) {
		c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true})
		c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": "dark"}}})
		c.Eval(`location.hash = "#/"`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length >= 3 && document.documentElement.scrollWidth <= 360`)
		c.Want(`getComputedStyle(document.body).backgroundColor == "rgb(20, 23, 26)"`)
		picture(c, "service-narrow-dark.png", 390, 640, "dark")
		c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true})
		for _, hash := range pageHashes(p)[1:] {
			c.Eval(fmt.Sprintf(`{ document.querySelector("main").replaceChildren(); location.hash = %q }`, hash))
			c.Want(`!!document.querySelector("main h2")`)
			if strings.HasPrefix(hash, "#/d/") {
				c.Want(`document.querySelectorAll("details.frame").length > 0`)
				c.Eval(`[...document.querySelectorAll("details.frame")].slice(0, 3).forEach(e => e.open = true)`)
				c.Want(`document.querySelectorAll("details.frame[open] ul.vars, details.frame[open] details").length > 0`)
				if *shotDir != "" {
					picture(c, "narrow-dump.png", 360, 1200, "dark")
					c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true})
				}
			}
			if wide := c.Eval(`document.documentElement.scrollWidth`); wide != "360" {
				t.Errorf("%s is %s wide", hash, wide)
			}
		}
	})
	c.Run("log out", func(t *testing.T) {
		c.Eval(`document.getElementById("logout").click()`)
		c.Want(`!!document.getElementById("token")`)
	})
	for _, s := range c.Complaints(p.url) {
		// The browser itself reports the answers to one who has logged out, and to the token that is not known.
		if !strings.Contains(s, "401") && !(strings.Contains(s, "403") && strings.Contains(s, "/api/v1/whoami")) {
			t.Error(s)
		}
	}
}
