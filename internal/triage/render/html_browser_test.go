package render

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// put writes a page to a file and returns its URL.
func put(t *testing.T, s *Summary) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteHTML(f, s); err != nil {
		t.Fatal(err)
	}
	st, _ := f.Stat()
	t.Logf("%d groups, %d dumps: %d bytes", len(s.Groups), len(s.Dumps), st.Size())
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// quiet checks that the browser reported nothing: no error, no violation of the policy, no request.
func quiet(t *testing.T, c *browser.Browser) {
	t.Helper()
	for _, s := range c.Complaints() {
		t.Error(s)
	}
}

const visible = `[...document.querySelectorAll("#cw-list > .g")].map(g => g.id).join()`

// TestPageInBrowser uses a page like a person.
func TestPageInBrowser(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	c := browser.Start(t)
	url := put(t, pageSummary())
	c.Open(url, nil)
	all := "b41e7f000001,b41e7faa0002,77c0de000003"
	c.Want(visible + ` == "` + all + `"`)
	c.Want(`!document.getElementById("cw-form").hidden && document.getElementById("cw-shown").textContent == "3"`)
	c.Want(`document.querySelectorAll(".timeline rect").length == 3`)
	c.Want(`[...document.querySelectorAll(".spark path")].filter(p => p.getAttribute("d")).length == 2`)

	c.Run("search", func(t *testing.T) {
		for _, s := range []struct{ words, want string }{
			{"null READ", "b41e7f000001"}, // reason and kind
			{"queue.c", "b41e7f000001"},   // a file
			{"drop", "b41e7faa0002"},      // a function
			{"serve main", "b41e7f000001"},
			{"bb02", "b41e7f000001"}, // a build
			{"b41e7faa", "b41e7faa0002"},
			{"no such thing", ""},
			{"", all},
		} {
			c.Eval(fmt.Sprintf(`{ let q = document.getElementById("cw-q"); q.value = %q; q.dispatchEvent(new Event("input", {bubbles: true})) }`, s.words))
			c.Want(visible + ` == "` + s.want + `"`)
		}
	})
	c.Run("filters", func(t *testing.T) {
		set := func(name, value string) {
			c.Eval(fmt.Sprintf(`{ let e = document.getElementById("cw-%s"); if (e.type == "checkbox") e.checked = %q != ""; else e.value = [...e.options].find(o => o.text.startsWith(%q) || o.value == %q).value; e.dispatchEvent(new Event("change", {bubbles: true})) }`, name, value, value, value))
		}
		for _, s := range []struct{ name, value, none, want string }{
			{"new", "on", "", "b41e7faa0002"},
			{"kind", "abort", "", "b41e7faa0002"},
			{"program", "queue", "", "b41e7f000001"},
			{"build", "bb02", "", "b41e7f000001"},
			{"weak", "1", "", "77c0de000003"},
			{"weak", "0", "", "b41e7f000001,b41e7faa0002"},
			{"sort", "last", "count", "b41e7f000001,b41e7faa0002,77c0de000003"},
			{"sort", "oldest", "count", "b41e7f000001,b41e7faa0002,77c0de000003"},
			{"sort", "first", "count", "b41e7faa0002,b41e7f000001,77c0de000003"},
		} {
			set(s.name, s.value)
			c.Want(visible + ` == "` + s.want + `"`)
			set(s.name, s.none)
			c.Want(visible + ` == "` + all + `"`)
		}
		set("new", "on")
		c.Want(`document.getElementById("cw-shown").textContent == "1 of 3"`)
		c.Eval(`document.querySelector("button[type=reset]").click()`)
		c.Want(visible + ` == "` + all + `"`)
	})
	c.Run("keyboard", func(t *testing.T) {
		c.Eval(`document.activeElement.blur()`)
		c.Key("j")
		c.Want(`document.activeElement.parentElement.id == "b41e7f000001"`)
		c.Key("j")
		c.Key("j")
		c.Key("j") // there is none after the last
		c.Want(`document.activeElement.parentElement.id == "77c0de000003"`)
		c.Key("k")
		c.Want(`document.activeElement.parentElement.id == "b41e7faa0002"`)
		c.Key("Enter")
		c.Want(`document.getElementById("b41e7faa0002").open && location.hash == "#b41e7faa0002"`)
		c.Key("Escape")
		c.Want(`!document.getElementById("b41e7faa0002").open`)
		c.Key("/")
		c.Want(`document.activeElement.id == "cw-q"`)
		c.Key("j")
		c.Want(`document.activeElement.value == "j"`)
		c.Key("Escape")
		c.Want(`document.activeElement.value == "" && ` + visible + ` == "` + all + `"`)
	})
	c.Run("stack", func(t *testing.T) {
		c.Eval(`document.querySelector("#b41e7f000001 > summary").click()`)
		c.Want(`document.querySelectorAll("#b41e7f000001 .stack > li").length == 2`)
		c.Want(`document.querySelector("#b41e7f000001 .stack .fn").textContent == "visit"`)
		c.Want(`document.querySelector("#b41e7f000001 .stack details").open`)
		c.Want(`document.querySelector("#b41e7f000001 .vars th").textContent == "p"`)
		c.Want(`document.querySelector("#b41e7f000001 .similar a").hash == "#b41e7faa0002"`)
		c.Eval(`document.querySelector("#b41e7f000001 .similar a").click()`)
		c.Want(`document.getElementById("b41e7faa0002").open`)
	})
	quiet(t, c)

	c.Run("deep link", func(t *testing.T) {
		c.Open(url+"#77c0de", nil) // the start of an identifier is enough
		c.Want(`document.getElementById("77c0de000003").open`)
		quiet(t, c)
	})
	c.Run("dark", func(t *testing.T) {
		bg := `getComputedStyle(document.body).backgroundColor`
		light := c.Eval(bg)
		c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": "dark"}}})
		if dark := c.Eval(bg); light != `"rgb(255, 255, 255)"` || dark == light {
			t.Errorf("background %s when light, %s when dark", light, dark)
		}
	})
	c.Run("narrow", func(t *testing.T) {
		c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": true})
		c.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`)
		c.Want(`document.documentElement.scrollWidth <= 390`)
	})
	c.Run("print", func(t *testing.T) {
		c.Do("Emulation.setEmulatedMedia", browser.Object{"media": "print"})
		c.Want(`getComputedStyle(document.getElementById("cw-form")).display == "none"`)
		c.Do("Page.printToPDF", browser.Object{})
		c.Do("Emulation.setEmulatedMedia", browser.Object{"media": ""})
	})
	c.Run("no script", func(t *testing.T) {
		c.Open(url, func() { c.Do("Emulation.setScriptExecutionDisabled", browser.Object{"value": true}) })
		c.Want(`document.getElementById("cw-form").hidden && document.querySelectorAll("#cw-list > .g").length == 3`)
		c.Want(`document.querySelector("#b41e7f000001 .stack .fn").textContent == "visit"`)
		quiet(t, c)
	})
}

// hostile are names that a dump may have.
var hostile = []string{
	`</script><script>window.pwned=1;alert(1)</script>`, `<!--<script>`, `"><img src=x onerror="window.pwned=1">`, `'><svg/onload=window.pwned=1>`,
	"</style><style>body{display:none}", "</template></details></main><h1>owned</h1>", "\u2028window.pwned=1\u2029", "a\u202egnp.exe\u202c", "x\u2066y\u2069\u200f",
	"\x00\x1b[31mred\x07\xff\xfe", "javascript:window.pwned=1", "{{.}}${1}`", "]]>&lt;b&gt;&#60;i&#62;", strings.Repeat("A", 3<<20), strings.Repeat("\U0001F600", 9000),
}

// hostileSummary puts such names everywhere that a dump controls, each a number of times.
func hostileSummary(times int) *Summary {
	s := &Summary{Run: ledger.Run{ID: 1, Started: day0}, Notes: hostile}
	for i := range times * len(hostile) {
		addHostile(s, hostile[i%len(hostile)], i)
	}
	return s
}

// addHostile adds a group, a dump and a failed dump that have the name h everywhere.
func addHostile(s *Summary, h string, i int) {
	q, _ := json.Marshal(h[:min(len(h), 30000)])
	rep := fmt.Sprintf(`{"schema":"corewalk/1","crash":{"signal":%[1]s,"code":%[1]s,"reason":%[1]s,"message":%[1]s,"instruction":{"address":"0x1","text":%[1]s,"note":%[1]s,"registers":{%[1]s:"0x1"}},"causes":[{"text":%[1]s,"confidence":%[1]s}]},
"threads":[{"id":7,"crashed":true,"end":%[1]s,"end_detail":%[1]s,"registers":{%[1]s:"0x0"},"frames":[{"index":0,"pc":"0x401000","function":%[1]s,"module":%[1]s,"trust":"context","source":{"file":%[1]s,"line":15},
"args":[{"name":%[1]s,"type":%[1]s,"value":%[1]s,"entry":%[1]s}],"locals":[{"name":%[1]s,"reason":%[1]s,"status":%[1]s}]},{"index":1,"signal":%[1]s,"trust":"scan"},{"index":2,"module":%[1]s}]}]}`, q)
	id := fmt.Sprintf("%012x", i)
	if i%2 == 1 {
		id = fmt.Sprint(h, i)
	}
	s.Groups = append(s.Groups, ledger.Group{ID: id, Signature: h, Kind: h, Reason: h, Where: h, Frames: []string{h}, Count: 2, Builds: 1, Programs: []string{h}, FirstBuild: h,
		FirstSeen: day0, LastSeen: day0, Representative: h, Report: []byte(rep), Similar: []ledger.Similar{{Group: h, Score: .9}, {Group: id, Score: .8}}, New: true, Weak: true})
	s.Dumps = append(s.Dumps, ledger.Dump{Path: h, Build: h, Program: h, Group: id, Time: day0})
	s.Failed = append(s.Failed, ledger.Dump{Path: h, Fault: h, FaultKind: h})
}

// TestHostilePageInBrowser has groups written by Go and groups for which the script makes rows.
func TestHostilePageInBrowser(t *testing.T) {
	fixture.Long(t) // TestHTMLHostile reads the page's text at every change
	fixture.Tools(t)
	c := browser.Start(t)
	s := hostileSummary(maxPageStacks/len(hostile) + 2)
	c.Open(put(t, s), nil)
	last := anchor(s.Groups[len(s.Groups)-1].ID, len(s.Groups)-1)
	c.Eval(`location.hash = "` + last + `"`)
	c.Want(fmt.Sprintf(`document.querySelectorAll("#cw-list > .g").length == %d`, len(s.Groups)))
	c.Eval(`document.querySelectorAll("details").forEach(d => d.open = true)`)
	c.Want(fmt.Sprintf(`document.querySelectorAll(".stack").length == %d`, maxPageStacks))
	c.Want(`window.pwned === undefined && document.scripts.length == 2 && document.styleSheets.length == 1`)
	c.Want(`document.querySelectorAll("img, iframe, object, embed, base, link, [onload], [onerror], [style]").length == 0 && document.querySelectorAll("h1").length == 1`)
	c.Want(`!/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/.test(document.documentElement.textContent)`)
	c.Want(`document.documentElement.scrollWidth <= innerWidth`)
	c.Want(`[...document.querySelectorAll("a")].every(a => a.getAttribute("href").startsWith("#"))`)
	c.Eval(`{ let q = document.getElementById("cw-q"); q.value = "<img src=x onerror"; q.dispatchEvent(new Event("input", {bubbles: true})) }`)
	c.Want(fmt.Sprintf(`document.querySelectorAll("#cw-list > .g").length == %d && window.pwned === undefined`, len(s.Groups)/len(hostile)))
	quiet(t, c)
}

// manySummary returns a very large batch.
func manySummary(groups, dumps int) *Summary {
	s := &Summary{Run: ledger.Run{ID: 1, Started: day0}}
	for i := range groups {
		id := fmt.Sprintf("%012x", i*7919)
		s.Groups = append(s.Groups, ledger.Group{ID: id, Signature: "v1:" + id, Kind: "null-read", Reason: fmt.Sprintf("read of 4 bytes at null+%#x", i), Where: fmt.Sprintf("function_%d file.c:%d < caller < main", i, i),
			Frames: []string{fmt.Sprintf("function_%d", i), "caller", "main"}, Count: dumps/groups + 1, Builds: 3, Programs: []string{fmt.Sprintf("program%d", i%50)}, FirstBuild: fmt.Sprintf("%040x", i%400),
			FirstSeen: day0, LastSeen: day0.AddDate(0, 0, 20), Representative: "/crashes/core.1", Report: manyFrames})
	}
	for i := range dumps {
		s.Dumps = append(s.Dumps, ledger.Dump{Path: fmt.Sprintf("/crashes/host-%d/core.%d", i%97, i), Build: fmt.Sprintf("%040x", i%400), Group: s.Groups[i*i%groups].ID, Time: day0.Add(time.Duration(i) * time.Minute / 4)})
	}
	return s
}

// manyFrames is a typical report: 24 frames with variables.
var manyFrames = func() []byte {
	var frames []string
	for i := range 24 {
		frames = append(frames, fmt.Sprintf(`{"index":%d,"pc":"0x401000","function":"namespace::Class::function_%d","module":"/usr/lib/libprogram.so.1","trust":"cfi","source":{"file":"/src/program/file_%d.c","line":%d},"args":[{"name":"self","type":"struct thing *","value":"0x7ffd0d2e8278"},{"name":"n","type":"int","value":"42"}],"locals":[{"name":"i","type":"int","value":"7"}]}`, i, i, i, i))
	}
	return []byte(`{"schema":"corewalk/1","threads":[{"id":7,"crashed":true,"end":"bottom","frames":[` + strings.Join(frames, ",") + `]}]}`)
}()

func TestManyGroupsInBrowser(t *testing.T) {
	fixture.Long(t)
	fixture.Tools(t)
	c := browser.Start(t)
	s := manySummary(10000, 100000)
	c.Open(put(t, s), nil)
	c.Want(`document.getElementById("cw-shown").textContent == "10000"`)
	c.Want(`document.querySelectorAll("#cw-list > .g").length < 500`)
	t.Logf("loaded in %s ms, of these the script to its end %s ms", c.Eval(`Math.round(performance.timing.loadEventEnd - performance.timing.navigationStart)`),
		c.Eval(`Math.round(performance.timing.domContentLoadedEventEnd - performance.timing.domLoading)`))
	last := s.Groups[len(s.Groups)-1].ID
	c.Eval(`location.hash = "` + last + `"`) // the script adds rows up to it
	c.Want(`document.getElementById("` + last + `").open && document.querySelectorAll("#cw-list > .g").length == 10000`)
	c.Want(`document.querySelector("[id='` + last + `'] .body code").textContent.startsWith("corewalk triage show ")`)
	c.Eval(`{ let q = document.getElementById("cw-q"); q.value = "function_9999"; q.dispatchEvent(new Event("input", {bubbles: true})) }`)
	c.Want(visible + ` == "` + last + `"`)
	quiet(t, c)
}

var (
	shotPage = flag.String("page", "", "take pictures of this page")
	shotDir  = flag.String("pictures", "", "and put them into this directory")
	shotOpen = flag.String("open", "main", "with a group open that has this text")
)

// TestPictures makes the pictures of docs/triage.md; make triage-page calls it.
func TestPictures(t *testing.T) {
	if *shotPage == "" || *shotDir == "" {
		t.Skip("no page was given")
	}
	fixture.Tools(t)
	c := browser.Start(t)
	for _, x := range []struct {
		name          string
		width, height int
		scheme        string
		open          bool
	}{{"triage-list.png", 1200, 720, "light", false}, {"triage-group.png", 1200, 760, "dark", true}, {"triage-narrow.png", 390, 640, "light", true}, {"triage-narrow-dark.png", 390, 640, "dark", false}} {
		c.Open("file://"+*shotPage, func() {
			c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": x.scheme}}})
			c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": x.width, "height": x.height, "deviceScaleFactor": 1, "mobile": x.width < 800})
		})
		c.Want(`!document.getElementById("cw-form").hidden`)
		if x.open {
			c.Eval(fmt.Sprintf(`location.hash = [...document.querySelectorAll("#cw-list > .g")].find(g => g.textContent.includes(%q)).id`, *shotOpen))
			c.Want(`document.querySelector(".g[open]") != null`)
		}
		c.Picture(filepath.Join(*shotDir, x.name))
		quiet(t, c)
	}
}
