package service_test

import (
	"bytes"
	"encoding/base64"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/browser"
)

var shotDir = flag.String("pictures", "", "put the pictures of docs/service.md into this directory")

// picture takes a picture of the page if pictures are wanted.
func picture(c *browser.Browser, name string, width, height int, scheme string) {
	if *shotDir == "" {
		return
	}
	seen(c, width, height, scheme)
	c.Picture(filepath.Join(*shotDir, name))
}

// seen is how the page is looked at.
func seen(c *browser.Browser, width, height int, scheme string) {
	c.Do("Emulation.setEmulatedMedia", browser.Object{"features": []browser.Object{{"name": "prefers-color-scheme", "value": scheme}}})
	c.Do("Emulation.setDeviceMetricsOverride", browser.Object{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 800})
}

// pageHashes are the pages, with one group and one dump.
func pageHashes(p *program) []string {
	var list struct{ Dumps []struct{ ID, Group string } }
	p.ask("GET", "dumps", nil, &list)
	out := []string{"#/", "#/builds", "#/dumps", "#/upload", "#/people", "#/tokens", "#/notify"}
	for _, d := range list.Dumps {
		if d.Group != "" {
			return append(out, "#/g/"+d.Group, "#/d/"+d.ID)
		}
	}
	return out
}

// answer answers the dialog that is open, with a text if it asks for one.
func answer(c *browser.Browser, text string) {
	c.Want(`!!document.querySelector("dialog[open]")`)
	c.Eval(fmt.Sprintf(`{ const f = document.querySelector("dialog form"); if (f.elements.text) f.elements.text.value = %q; f.requestSubmit() }`, text))
	c.Want(`!document.querySelector("dialog")`)
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
		c.Want(`document.querySelector("h2").textContent.startsWith("write of 4 bytes at null") && document.querySelector(".crash") && document.querySelector(".crash").textContent.includes("p = 0x0")`)
		c.Want(`[...document.querySelectorAll("details.frame .fn")].some(e => e.textContent == "records")`)
		c.Eval(`[...document.querySelectorAll("details.frame")].find(e => e.querySelector(".fn").textContent == "records").open = true`)
		c.Want(`[...document.querySelectorAll("ul.vars code")].some(e => e.textContent.startsWith("p = {x = 3, y = 4}"))`)
		c.Eval(`[...document.querySelectorAll("ul.vars details")].find(e => e.querySelector("code").textContent.startsWith("p = ")).open = true`)
		c.Want(`[...document.querySelectorAll("ul.vars ul.vars code")].some(e => e.textContent == "y = 4")`)
		c.Want(`document.querySelectorAll("details.stack").length == 1 && document.querySelector("details.stack summary").textContent.includes("crashed")`)
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
	c.Run("beside", func(t *testing.T) {
		var list struct{ Dumps []struct{ ID, Name string } }
		p.ask("GET", "dumps", nil, &list)
		id := list.Dumps[0].ID
		sendBeside(t, p, id)
		showsBeside(c, id)
	})
	c.Run("group", func(t *testing.T) {
		c.Want(`!!document.querySelector("dd a[href^='#/g/']")`)
		c.Eval(`[...document.querySelectorAll("dd a")].find(a => a.getAttribute("href").startsWith("#/g/")).click()`)
		c.Want(`!!document.querySelector("select[name=state]") && document.querySelector("h2").textContent.includes("write of 4 bytes")`)
		c.Eval(`{ document.querySelector("textarea").value = "seen <i>often</i>"; document.querySelector("textarea").form.requestSubmit() }`)
		c.Want(`!!document.querySelector("blockquote") && document.querySelector("blockquote").textContent.includes("seen <i>often</i>")`)
		c.Want(`document.querySelector(".trend text").textContent == "dumps a day" && document.querySelectorAll(".trend .part").length == 1 && document.querySelector(".trend .legend li").textContent.length > 2 && [...document.querySelectorAll(".trend text")].some(e => e.textContent == "today")`)
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
		c.Want(`[...document.querySelectorAll("td .who")].some(e => e.textContent.startsWith("<img")) && !document.querySelector("main img")`)
		c.Eval(`location.hash = "#/?state=open"`)
		c.Want(`[...document.querySelectorAll("button")].some(e => e.textContent == "Save this search")`)
		c.Eval(`[...document.querySelectorAll("button")].find(e => e.textContent == "Save this search").click()`)
		answer(c, hostile)
		c.Want(`document.querySelector(".saved a") && document.querySelector(".saved a").textContent.startsWith("<img") && !document.querySelector("main img")`)
		c.Eval(`document.querySelector("td.what a").click()`)
		c.Want(`!!document.querySelector("textarea")`)
		c.Eval(`{ document.querySelector("textarea").value = "one <img src=x>\nsee https://x.example/a?b=1 javascript:alert(1)"; document.querySelector("textarea").form.requestSubmit() }`)
		c.Want(`document.querySelector(".note a") && document.querySelectorAll(".note a").length == 1 && document.querySelector(".note a").href == "https://x.example/a?b=1" && getComputedStyle(document.querySelector(".note")).whiteSpace.startsWith("pre") && !document.querySelector("main img")`)
		c.Eval(`{ const f = document.querySelector("input[name=ticket]").form; f.elements.ticket.value = "https://x.example/\"><b>"; f.requestSubmit() }`)
		c.Want(`[...document.querySelectorAll("dd a")].some(a => a.textContent.startsWith("https://x.example/")) && !document.querySelector("dd b")`)
	})
	c.Run("times", func(t *testing.T) {
		c.Eval(`location.hash = "#/dumps"`)
		c.Want(`document.querySelectorAll("td time").length >= 7`)
		c.Want(`[...document.querySelectorAll("td time")].every(e => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/.test(e.title) && e.title.slice(0, 10) == e.dateTime.slice(0, 10) && /^(just now|\d+ minutes? ago)$/.test(e.firstChild.textContent) && e.lastChild.textContent == " (" + e.title + ")")`)
		c.Eval(`import("./words.js").then((w) => { const now = Date.parse("2026-03-01T12:00:00Z"); window.said = [0, -5, 59, 60, 3599, 7200, 86400, 6 * 86400, 7 * 86400, 40 * 86400, 800 * 86400].map((n) => w.ago(new Date(now - 1000 * n).toISOString(), now)).join("; ") }); 0`)
		c.Want(`window.said == "just now; just now; just now; 1 minute ago; 59 minutes ago; 2 hours ago; 1 day ago; 6 days ago; 1 week ago; 1 month ago; 2 years ago"`)
	})
	c.Run("keyboard", func(t *testing.T) {
		c.Eval(`location.hash = "#/"`)
		c.Want(`!!document.getElementById("q")`)
		c.Eval(`document.activeElement.blur()`)
		c.Key("j")
		c.Key("j")
		c.Want(`document.querySelectorAll("table.list tbody tr")[1].classList.contains("here") && document.activeElement.tagName == "A"`)
		c.Key("x")
		c.Want(`document.querySelectorAll("input[name=group]:checked").length == 1 && !document.getElementById("bulk").hidden && document.querySelector("#bulk .count").textContent == "1 group chosen"`)
		c.Key("Enter")
		c.Want(`location.hash.startsWith("#/g/") && !!document.querySelector("blockquote, textarea")`)
		c.Eval(`document.activeElement.blur()`)
		c.Key("u")
		c.Want(`location.hash == "#/" && !!document.getElementById("q")`)
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
		c.Eval(`[...document.querySelectorAll("table.list button")].find(b => b.getAttribute("aria-label") == "Revoke a <b>till</b>").click()`)
		c.Want(`document.querySelector("dialog[open] p").textContent.includes("a <b>till</b>") && !document.querySelector("dialog b")`)
		answer(c, "")
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 1 && !document.getElementById("secret")`)
	})
	c.Run("notifications", func(t *testing.T) {
		c.Eval(`location.hash = "#/notify"`)
		c.Want(`!!document.querySelector("input[name=to]")`)
		c.Eval(`{ const f = document.querySelector("main form"); f.elements.to.value = "https://<b>x<b>.invalid/"; f.requestSubmit() }`)
		c.Want(`document.querySelector("td.what") && document.querySelector("td.what").textContent.startsWith("https://<b>x<b>.invalid/") && !document.querySelector("main td b")`)
		c.Eval(`{ const f = document.querySelector("main form"); f.elements.to.value = "https://chat.invalid/secret-path"; f.elements.quiet.value = "22:00-07:00"; f.requestSubmit() }`)
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 2 && !!document.getElementById("secret") && !document.querySelector("main").textContent.includes("secret-path")`)
		c.Eval(`[...document.querySelectorAll("table.list button")].find(b => b.getAttribute("aria-label").startsWith("Remove https://<b>")).click()`)
		answer(c, "")
		c.Want(`document.querySelectorAll("table.list tbody tr").length == 1 && !document.getElementById("secret")`)
	})
	c.Run("told", func(t *testing.T) {
		// What was done is said for some seconds; what failed until it is closed.
		c.Eval(`{ window.refused = 0; const ask = window.fetch; window.fetch = async (...args) => { const r = await ask(...args); if (r.status == 400) setTimeout(() => { window.refused++ }, 50); return r } }`)
		c.Eval(`{ const f = document.querySelectorAll("main form")[1]; f.elements.tracker.value = "https://x.example/?{title}"; f.dataset.old = "yes"; f.requestSubmit() }`)
		c.Want(`document.getElementById("said").textContent == "The tracker is kept." && !document.querySelector("[data-old]") && document.querySelectorAll("main form").length > 1`) // the page was shown anew
		c.Eval(`{ const f = document.querySelectorAll("main form")[1]; f.elements.tracker.value = "javascript:<b>x"; f.requestSubmit() }`)
		c.Want(`document.querySelectorAll(".trouble").length == 1 && !document.querySelector(".trouble b") && document.getElementById("said").textContent == ""`)
		c.Want(`window.refused == 1`)
		c.Eval(`document.querySelectorAll("main form")[1].requestSubmit()`)
		c.Want(`window.refused == 2`) // what is said then hides what was done
		c.Eval(`{ const f = document.querySelectorAll("main form")[1]; f.elements.tracker.value = ""; f.requestSubmit() }`)
		c.Want(`document.getElementById("said").textContent == "The tracker is kept."`)
		c.Want(`document.getElementById("said").textContent == ""`)
		c.Want(`document.querySelectorAll(".trouble").length == 1`) // the same is not said again
		c.Eval(`document.querySelector(".trouble button").click()`)
		c.Want(`!document.querySelector(".trouble")`)
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
		// Each value of a card says what it is.
		c.Want(`[...document.querySelectorAll("table.list tbody tr:first-child td")].filter(e => getComputedStyle(e).display != "none" && !e.matches(".pick, .what")).every(e => getComputedStyle(e, "::before").content == JSON.stringify(e.dataset.label))`)
		c.Want(`!!document.querySelector("td[data-label=program]") && document.querySelector("td[data-label=program]").textContent != "" && !!document.querySelector("td[data-label='last seen'] time")`)
		for _, hash := range pageHashes(p)[1:] {
			c.Eval(fmt.Sprintf(`{ document.querySelector("main").replaceChildren(); location.hash = %q }`, hash))
			c.Want(`!!document.querySelector("main h2")`)
			if strings.HasPrefix(hash, "#/d/") {
				c.Want(`document.querySelectorAll("details.frame").length > 0`)
				c.Eval(`[...document.querySelectorAll("details.frame")].slice(0, 3).forEach(e => e.open = true)`)
				c.Want(`document.querySelectorAll("details.frame[open] ul.vars, details.frame[open] details").length > 0`)
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
		// The browser itself reports the answers to one who has logged out, to the token that is not known, and to a tracker that is none.
		if !strings.Contains(s, "401") && !(strings.Contains(s, "403") && strings.Contains(s, "/api/v1/whoami")) && !(strings.Contains(s, "400") && strings.Contains(s, "/settings")) {
			t.Error(s)
		}
	}
}
