package reportpage

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/stranger"
	"github.com/corewalk/corewalk/report"
)

func write(t testing.TB, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// analyzed is the report of a fixture, with all that a page shows.
func analyzed(t testing.TB, name string) *report.Report {
	t.Helper()
	c := fixture.Get(t, name)
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t)),
		corewalk.WithSourceMap("/src", filepath.Join(fixture.Root(t), "testdata", "src")))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, For: report.ForJSON{}, Include: corewalk.Include{Source: 3, Code: true, Memory: true}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ring is a report of n threads in a circle, of which one waits for itself if n is 1, and of many that wait for an object.
func ring(n int) *report.Report {
	r := &report.Report{Dump: report.Dump{Command: "ring", Path: "core", Arch: "x86-64", OS: "linux"}}
	d := report.Deadlock{Certainty: report.Certain}
	for i := range n {
		next := (i + 1) % n
		r.Threads = append(r.Threads, report.Thread{ID: i + 1, Frames: []report.Frame{{Function: fmt.Sprintf("wait%d", i), Trust: report.TrustContext}}})
		o := report.WaitObject{Address: report.Addr(4096 + i), Name: fmt.Sprintf("lock%d", i)}
		r.Tasks = append(r.Tasks, report.Task{Kind: "thread", ID: i + 1, Thread: i + 1, State: "waiting",
			Wait: &report.Wait{Kind: "lock", Object: &o, Certainty: report.Certain, Holders: []report.Holder{{Kind: "thread", ID: next + 1, Certainty: report.Certain}}}})
		d.Tasks = append(d.Tasks, report.TaskRef{Kind: "thread", ID: i + 1})
		d.Objects = append(d.Objects, o)
		d.Places = append(d.Places, report.WaitPlace{Function: "both", Source: report.Source{File: "/src/dl.c", Line: 5}})
	}
	r.Deadlocks = []report.Deadlock{d}
	c := report.Contended{Kind: "lock", Object: report.WaitObject{Address: 1, Name: "busy", Type: "pthread_mutex_t"}, Holders: []report.Holder{{Kind: "thread", ID: 1, Certainty: report.Certain}}}
	for i := range 40 {
		c.Waiters = append(c.Waiters, report.TaskRef{Kind: "thread", ID: 100 + i})
	}
	r.Contended = []report.Contended{c}
	return r
}

// The cause is first, then the stack with the frame to look at open, its source, variables and code.
func TestWrite(t *testing.T) {
	out := write(t, analyzed(t, "amd64-vars-c-O0"))
	last := -1
	for _, want := range []string{"<h1 class=\"t\">vars[7837] died of SIGSEGV: write of 4 bytes at null</h1>", `<pre class="why t">stop at vars.c:66, thread 7837 (1 of 1)`, `cause: *p where p = 0x0`,
		"<h2>The thread that crashed</h2>", `<li data-f class="look"><details open><summary class="f"><span class="no">#0</span> <code class="fn">stop</code> <code class="src" title="/src/vars.c">vars.c:66</code>`,
		"<b><span>66</span>  ", `<th scope="row" class="arg" title="argument">why</th><td><code class="t">0x562e0c1e501e &#34;alpha&#34;</code></td>`, `<summary class="dim">Code</summary>`,
		`<code class="fn">arrays</code>`, `<code class="fn">main</code>`, "<summary>Registers</summary>", "<h2>Memory</h2>", "<h2>Modules</h2>"} {
		at := strings.Index(out, want)
		if at < 0 {
			t.Errorf("%s is missing", want)
		} else if at < last {
			t.Errorf("%s comes too early", want)
		}
		last = max(at, last)
	}
	if n := strings.Count(out, "<section"); n != 1 || strings.Count(out, "</section>") != n {
		t.Errorf("%d sections", n)
	}
}

// Waits are drawn: a circle of red arrows, each with its lock, and who waits for what. Of a hang they come first. Large ones are only told.
func TestWaits(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, maxRing: maxRing, maxRing + 1: 0} {
		out := write(t, ring(n))
		if got := strings.Count(out, `<path class="edge ring"`); got != want {
			t.Errorf("%d tasks: %d arrows of a circle, want %d", n, got, want)
		}
		if got := strings.Count(out, `<path class="edge"`); got != maxWaiters+1 {
			t.Errorf("%d tasks: %d arrows to and from an object", n, got)
		}
		if !strings.Contains(out, ">and 24 more waiters<") || !strings.Contains(out, "thread 1 waits for lock0 in both at dl.c:5") {
			t.Errorf("%d tasks: what is not drawn is not told", n)
		}
		if waits, stacks := strings.Index(out, "Who waits for whom"), strings.Index(out, "<section"); waits > stacks && stacks >= 0 && ring(n).Hang() != nil {
			t.Errorf("%d tasks: stacks come before the deadlock", n)
		}
		if strings.Contains(out, "NaN") || strings.Contains(out, "Inf") {
			t.Errorf("%d tasks: a drawing has no place", n)
		}
	}
}

// Nothing that comes from a dump is markup or changes what is around it.
func TestStrangers(t *testing.T) {
	var r report.Report
	stranger.Fill(&r)
	if err := stranger.HTML(write(t, &r)); err != nil {
		t.Error(err)
	}
}

// TestSections: what else is known of a dump comes after why the process died, and is text.
func TestSections(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, ring(2), Section{Title: "<b>", Text: "3 dumps\n<script>"}); err != nil {
		t.Fatal(err)
	}
	if out := b.String(); !strings.Contains(out, "</header>\n<h2 class=\"t\">&lt;b&gt;</h2><pre class=\"text t\">3 dumps\n&lt;script&gt;\n</pre>") {
		t.Errorf("%.4000s", out[strings.Index(out, "<header>"):])
	}
	var long bytes.Buffer
	if err := Write(&long, ring(2), Section{"many", strings.Repeat("a line\n", maxSection+30)}); err != nil || strings.Count(long.String(), "a line") != maxSection || !strings.Contains(long.String(), "30 lines left out") {
		t.Errorf("%d lines, %v", strings.Count(long.String(), "a line"), err)
	}
	if !strings.Contains(html.UnescapeString(b.String()), Policy()) {
		t.Error("the page has another policy than those who serve it say")
	}
}

// However much a report has, the page is bounded, whole, and says that it ends.
func TestBounded(t *testing.T) {
	long := strings.Repeat("v", 10_000)
	many := make([]report.Variable, 500)
	for i := range many {
		many[i] = report.Variable{Name: long, Type: long, Value: long, Status: report.StatusSuccess}
	}
	frames := make([]report.Frame, 1000)
	for i := range frames {
		frames[i] = report.Frame{Index: i, Function: long, Args: many, Trust: report.TrustCFI}
	}
	r := &report.Report{Dump: report.Dump{CommandLine: strings.Repeat("c", 1<<22)}}
	for i := range 20 {
		r.Threads = append(r.Threads, report.Thread{ID: i, Frames: frames[i:]})
	}
	out := write(t, r)
	if len(out) > maxBytes+maxBytes/8 || !strings.HasSuffix(out, "</body></html>\n") || !strings.Contains(out, "It ends here, at 24 MB") {
		t.Errorf("%d bytes", len(out))
	}
	var deep report.Data
	at := &deep
	for range 100_000 {
		at.Children = []report.Child{{Name: "n", Data: report.Data{Text: "t"}}, {Name: "m", Data: report.Data{Text: "t"}}}
		at = &at.Children[1].Data
	}
	out = write(t, &report.Report{Threads: []report.Thread{{Frames: []report.Frame{{Args: []report.Variable{{Name: "x", Status: report.StatusSuccess, Data: &deep}}}}}}})
	if n := strings.Count(out, "<li>"); n > maxParts {
		t.Errorf("%d parts of a variable", n)
	}
	if n := strings.Count(out, `<ul class="tree">`); n > maxDepth+1 {
		t.Errorf("parts nest %d deep", n)
	}
}

// A person opens, finds and prints, with the keyboard too, on a narrow screen and in the dark; nothing is asked of elsewhere.
func TestPageInBrowser(t *testing.T) {
	fixture.Tools(t)
	c := browser.Start(t)
	dir := t.TempDir()
	put := func(name string, r *report.Report) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(write(t, r)), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file://" + path
	}
	page := write(t, analyzed(t, "amd64-vars-c-O0"))
	c.Open(put("crash.html", analyzed(t, "amd64-vars-c-O0")), nil)
	c.Want(`!document.getElementById("cw-find").hidden && document.querySelectorAll("li[data-f] > details[open]").length == 1`)
	find := func(words string) {
		t.Helper()
		want := 0
		for _, f := range strings.Split(page, "<li data-f")[1:] {
			if strings.Contains(f, words) {
				want++
			}
		}
		c.Eval(fmt.Sprintf(`{ let q = document.getElementById("cw-q"); q.value = %q; q.dispatchEvent(new Event("input", {bubbles: true})) }`, words))
		c.Want(fmt.Sprintf(`[...document.querySelectorAll("li[data-f]")].filter(f => f.getClientRects().length).length == %d`, want))
	}
	find("zeros") // a variable
	find("no such thing")
	find("")
	c.Eval(`document.getElementById("cw-open").click()`)
	c.Want(`document.querySelectorAll("li[data-f] > details:not([open])").length == 0`)
	c.Key("c")
	c.Want(`document.querySelectorAll("li[data-f] > details[open]").length == 0`)
	c.Key("/")
	c.Want(`document.activeElement.id == "cw-q"`)
	c.Key("Escape")
	c.Key("j")
	c.Want(`document.activeElement.closest("li[data-f]") == document.querySelector("li[data-f]")`)
	for _, scheme := range []string{"light", "dark"} {
		c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": scheme}}})
		for name, r := range map[string]*report.Report{"crash.html": analyzed(t, "amd64-vars-c-O0"), "ring.html": ring(5)} {
			c.Open(put(name, r), nil)
			c.Want(`!document.getElementById("cw-find").hidden`)
			c.Eval(`document.getElementById("cw-open").click()`)
			if low := c.Eval(browser.LowContrast); low != "" && low != `""` {
				t.Errorf("%s, %s: %s", name, scheme, low)
			}
			if nameless := c.Eval(browser.NamelessControls); nameless != "" && nameless != `""` {
				t.Errorf("%s: no name: %s", name, nameless)
			}
			c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 360, "height": 700, "deviceScaleFactor": 1, "mobile": true})
			c.Want(`document.documentElement.scrollWidth <= 360`)
			c.Eval(`document.querySelectorAll("details").forEach(d => { d.open = true })`)
			if scrolls := c.Eval(browser.Unreachable); scrolls != "" && scrolls != `""` {
				t.Errorf("%s: without the keyboard: %s", name, scrolls)
			}
			c.Do("Emulation.clearDeviceMetricsOverride", browser.Object{})
		}
	}
	var r report.Report
	stranger.Fill(&r)
	c.Open(put("stranger.html", &r), nil)
	c.Want(`document.querySelectorAll("img, iframe, object, a:not(.skip)").length == 0`)
	for _, s := range c.Complaints() {
		t.Error(s)
	}
}
