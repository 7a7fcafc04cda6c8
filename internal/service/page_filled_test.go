package service_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/sqlite"
)

// furnish begins a service that has worked for a month: its dumps are of several programs, releases and users, and people have decided about their groups. It
// returns the pages worth looking at.
func furnish(t *testing.T, p *program) (pages []string) {
	t.Helper()
	p.args = nil
	kinds := []string{"amd64-vars-c-O0", "amd64-threads", "amd64-zlib", "amd64-crash-guard", "amd64-crash-poison", "i386-signal", "amd64-crash-misaligned", "amd64-crash-run_out", "amd64-static", "amd64-crash-negative", "arm-crash-O1", "amd64-crash-undefined", "i386-crash-null_call"}
	for _, name := range kinds[:5] {
		p.args = append(p.args, "--search", fixture.Get(t, name).Dir)
	}
	p.begin() // it makes its database
	p.kill()
	db, err := sqlite.Open(t.Context(), filepath.Join(p.dir, "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	releases, gpus := []string{"2.4.0", "2.4.1", "2.4.2", "2.5.0-beta.1", "2.3.9"}, []string{"Intel UHD 620", "AMD RX 580", "NVIDIA GTX 1650"}
	n := 0
	for i, name := range kinds {
		b, err := os.ReadFile(fixture.Get(t, name).Core(t))
		if err != nil {
			t.Fatal(err)
		}
		for k := range max(1, 9-i) {
			n++
			whole := fmt.Appendf(b[:len(b):len(b)], "%08d", n)
			sum := fmt.Sprintf("%x", sha256.Sum256(whole))
			release, channel := releases[(i+k*k)%len(releases)], "release"
			if strings.Contains(release, "beta") {
				channel = "beta"
			}
			at := time.Now().Add(-time.Duration(k*k)*time.Duration(3+5*i%17)*time.Hour - time.Duration(7*n)*time.Minute)
			u := store.Upload{Project: "default", ID: sum[:32], SHA256: sum, Name: fmt.Sprintf("core.%d", 4200+n), Size: int64(len(whole)), Received: at, User: fmt.Sprint("u", n%11), Annotations: map[string]string{"version": release, "channel": channel, "os": "linux", "gpu": gpus[n%len(gpus)]}}
			path := filepath.Join(p.dir, "projects", "default", "dumps", u.ID[:2], u.ID)
			if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
				err = os.WriteFile(path, whole, 0o600)
			}
			if err == nil {
				err = os.Chtimes(path, at, at)
			}
			if err == nil {
				_, err = db.AddUpload(t.Context(), u)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	p.begin()
	p.settled(n)
	p.ask("POST", "dumps?name=notes.txt", strings.NewReader("no dump"), nil)
	p.settled(n + 1)
	return append(decideAll(t, p), "#/dumps", "#/dumps?has=os:plan9", "#/builds", "#/builds?by=release&a=2.4.0&b=2.4.1", "#/upload", "#/people", "#/tokens", "#/notify", "#/account", "#/nowhere", "#/g/000000000000")
}

// decideAll decides about groups.
func decideAll(t *testing.T, p *program) (pages []string) {
	t.Helper()
	var list struct{ Groups []struct{ ID, Reason string } }
	p.ask("GET", "groups", nil, &list)
	if len(list.Groups) < 10 {
		t.Fatalf("%d groups", len(list.Groups))
	}
	do := func(method, path string, body any) {
		t.Helper()
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if status := p.ask(method, path, strings.NewReader(string(b)), nil); status > 299 {
			t.Fatalf("%s %s: %d", method, path, status)
		}
	}
	people := []string{"ann", "ben", ""}
	for i, g := range list.Groups {
		ticket := ""
		if i%3 == 1 {
			ticket = fmt.Sprint("https://tracker.example/", 100+i)
		}
		do("PUT", "groups/"+g.ID+"/mark", map[string]string{"assignee": people[i%3], "ticket": ticket})
	}
	do("PUT", "groups/"+list.Groups[2].ID+"/state", map[string]string{"state": "fixed", "release": "2.4.1"})
	do("PUT", "groups/"+list.Groups[4].ID+"/state", map[string]string{"state": "fixed"})
	do("PUT", "groups/"+list.Groups[7].ID+"/state", map[string]string{"state": "ignored"})
	first := list.Groups[0].ID
	do("POST", "groups/"+first+"/notes", map[string]string{"text": "Seen on all test machines since Tuesday.\nThe plan: https://wiki.example/plan"})
	do("POST", "searches", map[string]string{"name": "Beta, open", "query": "state=open&has=channel%3Abeta"})
	do("POST", "releases", map[string]string{"release": "2.5.0"})
	do("POST", "hooks", map[string]any{"kind": "webhook", "to": "https://hooks.invalid/crashes", "events": []string{"new", "regressed"}, "quiet": "22:00-07:00 Europe/Berlin"})
	do("POST", "accounts", map[string]any{"name": "ann", "scopes": []string{"read", "triage"}})
	do("POST", "accounts", map[string]any{"name": "ben", "scopes": []string{"read", "triage", "admin"}})
	do("POST", "tokens", map[string]any{"scopes": []string{"upload"}, "note": "tills in Hamburg"})
	var one struct{ Dumps []struct{ ID string } }
	p.ask("GET", "groups/"+first, nil, &one)
	sendBeside(t, p, one.Dumps[0].ID)
	hung := hangs(t, p)
	lacking := "" // a dump whose program is not there
	for _, g := range list.Groups {
		var of struct {
			Dumps []struct{ ID, Program string }
		}
		if p.ask("GET", "groups/"+g.ID, nil, &of); len(of.Dumps) > 0 && of.Dumps[0].Program == "signal" {
			lacking = of.Dumps[0].ID
		}
	}
	return []string{"#/", "#/?state=all", "#/?q=nothing+has+this&state=open", "#/?has=channel:beta", "#/g/" + first, "#/g/" + list.Groups[2].ID, "#/d/" + one.Dumps[0].ID, "#/d/" + lacking, "#/symbols", "#/d/" + hung}
}

// hangs sends the dump of a process whose threads wait for each other.
func hangs(t *testing.T, p *program) (id string) {
	t.Helper()
	b, err := os.ReadFile(fixture.Crash(t, nil, fixture.Compile(t, "gcc", "tasks/deadlock.c", "-g", "-O1", "-pthread"), "pi", "3"))
	if err != nil {
		t.Fatal(err)
	}
	var sent struct{ ID string }
	if status := p.ask("POST", "dumps?name=core.hangs", bytes.NewReader(b), &sent); status > 299 {
		t.Fatalf("%d", status)
	}
	for range 300 {
		var one struct{ State string }
		if p.ask("GET", "dumps/"+sent.ID, nil, &one); one.State == store.Done {
			return sent.ID
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the dump is not analysed")
	return ""
}

// axe returns the source of axe-core, or skips the test.
func axe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fromNPM(t, "axe-core@4.10.3"), "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// violations says what axe-core finds on the page as it is.
func violations(c *browser.Browser, source string) string {
	c.Eval(`if (!window.axe) { ` + source + ` }; window.found = null; axe.run(document, { resultTypes: ["violations"] }).then(r => { window.found = r.violations.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + n.failureSummary.slice(0, 200)).join("; ")).join("\n") }, e => { window.found = String(e) }); 0`)
	c.Want(`window.found !== null`)
	return strings.Trim(c.Eval(`window.found`), `"`)
}

// open opens a page of the service and waits for all of it.
func open(c *browser.Browser, hash string) {
	c.Eval(fmt.Sprintf(`{ document.querySelector("main").replaceChildren(); if (location.hash == %[1]q) window.dispatchEvent(new Event("hashchange")); else location.hash = %[1]q }`, hash))
	c.Want(`!!document.querySelector("main h2")`)
	switch {
	case strings.HasPrefix(hash, "#/d/"):
		c.Want(`!document.querySelector("details.memory") || (document.querySelector("details.memory").open = true) && !!document.querySelector("pre.bytes")`)
		c.Want(`!!document.querySelector(".crash") && !!document.querySelector("details.stack .frame") && !!document.querySelector("table.list")`)
	case strings.HasPrefix(hash, "#/?q"), strings.HasSuffix(hash, "plan9"):
		c.Want(`[...document.querySelectorAll(".empty button")].some(e => e.textContent.startsWith("Drop "))`)
	}
}

// enter logs in.
func enter(c *browser.Browser, p *program) {
	c.Open(p.url+"/#"+p.token, nil)
	c.Want(`!!document.getElementById("link-yes")`)
	c.Eval(`document.getElementById("link-yes").click()`)
	c.Want(`!document.getElementById("nav").hidden && !!document.querySelector("main h2")`)
}

// A service with much in it, and one with nothing: axe-core finds nothing on any page, wide or narrow, light or dark; nothing is wider than the screen; and
// text is only text wherever it is from.
func TestPageFilled(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	bin := build(t)
	p := &program{t: t, bin: bin, dir: t.TempDir()}
	pages := furnish(t, p)
	defer p.kill()
	empty := &program{t: t, bin: bin, dir: t.TempDir()}
	empty.begin()
	defer empty.kill()
	t.Run("pictures", func(t *testing.T) {
		c := browser.Start(t)
		enter(c, p)
		for _, x := range []struct {
			hash, name    string
			width, height int
			scheme        string
		}{{"#/", "service-groups.png", 1280, 800, "light"}, {pages[4], "service-group.png", 1280, 1000, "light"}, {pages[6], "service-dump.png", 1280, 1000, "light"}, {"#/people", "service-people.png", 1280, 760, "light"}, {"#/", "service-narrow-dark.png", 400, 860, "dark"}} {
			seen(c, x.width, x.height, x.scheme)
			open(c, x.hash)
			if strings.HasPrefix(x.hash, "#/d/") {
				c.Want(`[...document.querySelectorAll("details.frame .fn")].some(e => e.textContent == "records")`)
				c.Eval(`[...document.querySelectorAll("details.frame")].find(e => e.querySelector(".fn").textContent == "records").open = true`)
				c.Want(`[...document.querySelectorAll("ul.vars code")].some(e => e.textContent.startsWith("p = {x = 3, y = 4}"))`)
			}
			picture(c, x.name, x.width, x.height, x.scheme)
		}
	})
	t.Run("waits", func(t *testing.T) { drawnWaits(t, p, pages[9]) })
	t.Run("modules", func(t *testing.T) { modulesCome(t, p, strings.TrimPrefix(pages[7], "#/d/")) })
	t.Run("hostile", func(t *testing.T) { hostileAnswers(t, p, pages) })
	t.Run("axe", func(t *testing.T) {
		source := axe(t)
		for _, width := range []int{1280, 400} {
			t.Run(fmt.Sprint(width), func(t *testing.T) { audit(t, p, pages, width, source) })
		}
		t.Run("empty", func(t *testing.T) {
			for _, width := range []int{1280, 400} {
				audit(t, empty, []string{"#/", "#/dumps", "#/builds", "#/upload", "#/people", "#/tokens", "#/notify"}, width, source)
			}
		})
	})
}

// drawnWaits looks at the circle of threads, which is that of the page of one file.
func drawnWaits(t *testing.T, p *program, hash string) {
	c := browser.Start(t)
	enter(c, p)
	open(c, hash)
	c.Want(`document.querySelectorAll(".waits svg").length >= 1 && document.querySelectorAll(".waits .node.ring").length == 3 && document.querySelectorAll(".waits .edge.ring").length == 3 && document.querySelector(".waits li").textContent.includes(" waits for ")`)
	c.Want(`[...document.querySelectorAll(".waits .edge")].every(e => document.querySelector(e.getAttribute("marker-end").slice(4, -1))) && document.querySelector(".waits svg").getBoundingClientRect().width > 200`)
	here := strings.Trim(c.Eval(`[...document.querySelectorAll(".waits .edge, .waits .node")].map(e => e.getAttribute("d") || e.getAttribute("x") + " " + e.getAttribute("y")).join()`), `"`)
	c.Eval(fmt.Sprintf(`fetch("/api/v1/projects/default/dumps/%s/report?format=html").then(r => r.text()).then(text => { window.whole = [...new DOMParser().parseFromString(text, "text/html").querySelectorAll("svg .edge, svg .node")].map(e => e.getAttribute("d") || Number(e.getAttribute("x")) + " " + Number(e.getAttribute("y"))).join() }); 0`, strings.TrimPrefix(hash, "#/d/")))
	c.Want(`!!window.whole`)
	if whole := strings.Trim(c.Eval(`window.whole`), `"`); rounded(whole) != rounded(here) || here == "" {
		t.Errorf("%s\nis %s in one file", here, whole)
	}
}

// rounded is a list of numbers without what is behind their points.
func rounded(text string) string { return regexp.MustCompile(`\.\d+`).ReplaceAllString(text, "") }

// audit looks at pages with axe-core, and at what is shown over them.
func audit(t *testing.T, p *program, pages []string, width int, source string) {
	c := browser.Start(t)
	c.Open(p.url, nil)
	c.Want(`!!document.getElementById("token")`)
	if v := violations(c, source); v != "" {
		t.Errorf("log in: %s", v)
	}
	enter(c, p)
	for _, scheme := range []string{"light", "dark"} {
		seen(c, width, 900, scheme)
		for _, hash := range pages {
			open(c, hash)
			c.Eval(`for (const d of document.querySelectorAll("main details:not(.stack, .frame)")) d.open = true`)
			if v := violations(c, source); v != "" {
				t.Errorf("%s, %s: %s", hash, scheme, v)
			}
			if wide, _ := strconv.Atoi(c.Eval(`document.documentElement.scrollWidth`)); wide > width {
				t.Errorf("%s is %d wide", hash, wide)
			}
		}
		askedAndChosen(t, c, p, source, scheme)
		open(c, "#/tokens")
		c.Eval(`document.querySelector("main form").requestSubmit()`) // a token that may nothing
		c.Want(`!!document.querySelector(".trouble")`)
		c.Eval(`document.querySelector("table.list button").click()`)
		c.Want(`!!document.querySelector("dialog[open]")`)
		if v := violations(c, source); v != "" {
			t.Errorf("a dialog, %s: %s", scheme, v)
		}
		c.Eval(`document.querySelector("dialog button.plain").click()`)
		c.Want(`!document.querySelector("dialog")`)
		c.Eval(`document.querySelector(".trouble button").click()`)
	}
	// axe-core finds what is wrong.
	c.Eval(`document.querySelector("main").append(document.createElement("input"))`)
	if found := violations(c, source); !strings.Contains(found, "label") {
		t.Errorf("a field without a name is not found: %s", found)
	}
}

// askedAndChosen looks at what is asked of a person, and at the page of a link with which a password is chosen.
func askedAndChosen(t *testing.T, c *browser.Browser, p *program, source, scheme string) {
	var made struct{ Link string }
	name := "eve-" + strings.ToLower(rand.Text()[:8])
	if status := p.ask("POST", "accounts", strings.NewReader(`{"name":"`+name+`","scopes":["read"]}`), &made); status != 201 {
		t.Fatalf("%d", status)
	}
	open(c, "#/people")
	c.Eval(`[...document.querySelectorAll("table.list button")].find(b => b.textContent == "Change").click()`)
	c.Want(`!!document.querySelector("dialog[open] input[type=checkbox]")`)
	if v := violations(c, source); v != "" {
		t.Errorf("what a person may, %s: %s", scheme, v)
	}
	c.Eval(`document.querySelector("dialog button.plain").click()`)
	c.Want(`!document.querySelector("dialog")`)
	c.Eval(fmt.Sprintf(`location.hash = %q`, strings.TrimPrefix(made.Link, "/")))
	c.Want(`!!document.getElementById("choose") && location.hash == "#/"`)
	if v := violations(c, source); v != "" {
		t.Errorf("a link, %s: %s", scheme, v)
	}
	c.Eval(`document.querySelector("#choose button.plain").click()`)
	c.Want(`!document.getElementById("choose")`)
	p.ask("DELETE", "accounts/"+name, nil, nil)
}

// modulesCome sends what a dump's program lacks to where the page says, and has the page say that it is there.
func modulesCome(t *testing.T, p *program, id string) {
	c := browser.Start(t)
	enter(c, p)
	open(c, "#/d/"+id)
	var list struct{ Modules []question.Module }
	p.ask("GET", "dumps/"+id+"/modules", nil, &list)
	if len(list.Modules) == 0 || len(list.Modules[0].Wanted) != 2 {
		t.Fatalf("%+v", list)
	}
	path := list.Modules[0].Wanted[0]
	c.Eval(`document.querySelector("details.notes:has(.command)").open = true`)
	c.Want(`document.querySelector("table.list .badge.regressed").textContent == "file missing" && [...document.querySelectorAll(".command code")].some(e => e.textContent.includes("-T FILE " + location.origin + "/api/v1/projects/default/symbols/` + path + `"))`)
	b, err := os.ReadFile(fixture.Get(t, "i386-signal").Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if status := p.ask("PUT", "symbols/"+path, bytes.NewReader(b), nil); status != 201 {
		t.Fatalf("%s: %d", path, status)
	}
	// The page of all files that are missing says that it is here, and has its dumps analysed again.
	open(c, "#/symbols")
	rows := func(caption string) string {
		return `[...document.querySelectorAll("main table")].filter(e => e.caption.textContent == "` + caption + `").flatMap(e => [...e.tBodies[0].rows]).filter(e => e.textContent.includes("buildid/` + strings.Split(path, "/")[1][:12] + `"))`
	}
	row, sent := rows("Files that are missing"), rows("Files that were sent")
	c.Want(sent + `.length == 1 && ` + sent + `[0].textContent.endsWith("0")`)
	c.Want(row + `.length == 1 && ` + row + `[0].querySelector(".badge").textContent == "here" && ` + row + `[0].querySelector("a").hash.startsWith("#/dumps?has=lacks") && Number(` + row + `[0].cells[2].textContent) > 1`)
	c.Eval(row + `[0].querySelector("button").click()`)
	c.Want(`document.getElementById("said").textContent.includes("are analysed again")`)
	for range 100 {
		if c.Eval(row+`.length`) == "0" {
			break
		}
		time.Sleep(100 * time.Millisecond)
		open(c, "#/")
		open(c, "#/symbols")
	}
	c.Want(row + `.length == 0`)
	c.Want(sent + `[0].querySelector("a").hash.startsWith("#/dumps?has=uses")`)
	open(c, "#/d/"+id)
	c.Want(`[...document.querySelectorAll("table.list .badge")].some(e => e.textContent == "program") && document.querySelectorAll("table.list .badge.regressed").length == 0`)
}

// hostileAnswers has each text of each answer be HTML: none of it becomes an element.
func hostileAnswers(t *testing.T, p *program, pages []string) {
	c := browser.Start(t)
	enter(c, p)
	c.Eval(`{
		const plain = new Set(["id", "group", "project", "scopes", "state", "at", "created", "received", "first", "last", "first_seen", "last_seen", "failed", "into", "merged", "wanted", "d"]); // d is where lines are drawn
		const named = new Set(["kinds", "programs", "assignees", "annotations"]); // by texts
		const bad = (s) => "<img src=x onerror=alert(1)><b>" + s;
		const mean = (v, k) => typeof v == "string" ? (plain.has(k) || v == "" ? v : bad(v)) : Array.isArray(v) ? v.map((x) => mean(x, k)) :
			v && typeof v == "object" ? Object.fromEntries(Object.entries(v).map(([name, x]) => [named.has(k) ? bad(name) : name, mean(x, name)])) : v;
		const ask = window.fetch;
		window.fetch = async (...args) => {
			const r = await ask(...args);
			if (!(r.headers.get("Content-Type") || "").startsWith("application/json") || String(args[0]).includes("whoami")) return r;
			return new Response(JSON.stringify(mean(await r.json(), "")), { status: r.status, headers: { "Content-Type": "application/json" } });
		};
	}`)
	for _, hash := range pages {
		open(c, hash)
		c.Eval(`for (const d of document.querySelectorAll("main details")) d.open = true`)
		if hash != "#/upload" && hash != "#/nowhere" && hash != "#/account" {
			c.Want(`document.querySelector("main").textContent.includes("<img src=x")`)
		}
		if n := c.Eval(`document.querySelectorAll("main img, main b img, main [onerror]").length`); n != "0" {
			t.Errorf("%s has %s elements of an answer", hash, n)
		}
	}
	for _, s := range c.Complaints(p.url) {
		if !strings.Contains(s, "404") && !strings.Contains(s, "401") {
			t.Error(s)
		}
	}
}
