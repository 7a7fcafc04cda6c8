package service_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture/browser"
)

// hostileText is what would be an element, if it were HTML.
const hostileText = `<img src=x onerror=alert(1)>`

// sendBeside sends a dump that is there again, with files and words.
func sendBeside(t *testing.T, p *program, id string) {
	t.Helper()
	get := func(r *http.Request, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+p.token)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		if err != nil || a.StatusCode > 202 {
			t.Fatalf("%d %s %v", a.StatusCode, b, err)
		}
		return b
	}
	api := p.url + "/api/v1/projects/default/dumps"
	dump := get(http.NewRequestWithContext(t.Context(), "GET", api+"/"+id+"/file", nil))
	body, kind := formOf(t, part{"core", "core", "", string(dump)}, part{"shot", hostileText + ".png", "text/html", picturePNG(t)}, part{"log", hostileText + ".log", "text/html", "<script>alert(1)</script>\n" + strings.Repeat("line\n", 30_000)},
		part{"page", "page.html", "text/html", "<b>x</b>\x00"}, part{"comments", "", "", hostileText + "\njavascript:alert(1) https://evil.example/"}, part{"email", "", "", "<b>ann</b>@example.com"})
	r, err := http.NewRequestWithContext(t.Context(), "POST", api, bytes.NewReader([]byte(body)))
	if err == nil {
		r.Header.Set("Content-Type", kind)
	}
	get(r, err)
}

// showsBeside looks at the page of a dump with files and words: pictures are pictures, and all else is text.
func showsBeside(c *browser.Browser, id string) {
	c.Eval(`{ document.querySelector("main").replaceChildren(); location.hash = "#/"; location.hash = "#/d/` + id + `" }`)
	c.Want(`document.querySelectorAll("ul.attachments > li").length == 3 && document.querySelector("ul.attachments").textContent.includes("<img src=x onerror=alert(1)>.png")`)
	c.Want(`document.querySelector("blockquote .note").textContent == "<img src=x onerror=alert(1)>\njavascript:alert(1) https://evil.example/" && document.querySelector("blockquote").textContent.includes("<b>ann</b>@example.com") && !document.querySelector("blockquote a, blockquote b, main img")`)
	c.Eval(`for (const d of document.querySelectorAll("ul.attachments details")) d.open = true`)
	c.Want(`!!document.querySelector("img.shot") && document.querySelector("img.shot").naturalWidth == 3 && document.querySelectorAll("main img").length == 1`)
	c.Want(`!!document.querySelector("pre.log") && document.querySelector("pre.log").textContent.startsWith("<script>alert(1)</script>\nline\n") && document.querySelector("pre.log").textContent.length == 100000 && !document.querySelector("main script")`)
	c.Want(`document.querySelectorAll("ul.attachments a[download]").length == 3 && !document.querySelector("ul.attachments b")`)
}
