package render

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/htmlpage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// pageSummary is summary with dumps on three days.
func pageSummary() *Summary {
	s := summary()
	s.Groups[1].FirstSeen = day0.AddDate(0, 0, 1)
	s.Groups[1].LastSeen = day0.AddDate(0, 0, 1)
	for i, d := range []int{0, 0, 18, 18, 18, 18, 18} {
		build := "aa01"
		if d > 0 {
			build = "bb02"
		}
		s.Dumps = append(s.Dumps, ledger.Dump{Path: "/crashes/core." + string(rune('1'+i)), Build: build, Group: s.Groups[0].ID, Time: day0.AddDate(0, 0, d)})
	}
	s.Dumps = append(s.Dumps, ledger.Dump{Path: "/crashes/core.2", Build: "cc03", Group: s.Groups[1].ID, Time: day0.AddDate(0, 0, 1)},
		ledger.Dump{Path: "/crashes/core.old", Group: s.Groups[1].ID, Time: time.Unix(0, 0)}, s.Failed[0])
	return s
}

func render(t *testing.T, s *Summary) string {
	t.Helper()
	defer func(now func() time.Time) { pageNow = now }(pageNow)
	pageNow = func() time.Time { return day0.AddDate(0, 1, 0) }
	var b bytes.Buffer
	if err := WriteHTML(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// without removes the style, the script and their digests, which have their own tests.
func without(page string) string {
	page = strings.Replace(page, pageCSS, "STYLE", 1)
	page = strings.Replace(page, pageJS, "SCRIPT", 1)
	return regexp.MustCompile(`'sha256-[^']*'`).ReplaceAllString(page, "'DIGEST'")
}

func TestHTML(t *testing.T) { golden(t, "summary.html", []byte(without(render(t, pageSummary())))) }

// TestHTMLOfLedger has neither a run nor dumps.
func TestHTMLOfLedger(t *testing.T) {
	page := render(t, &Summary{Groups: summary().Groups})
	if strings.Contains(page, `class="timeline"`) || !strings.Contains(page, "Everything in the ledger") {
		t.Errorf("%.2000s", without(page))
	}
	if page = render(t, &Summary{}); !strings.Contains(page, "No groups.") {
		t.Error("an empty page does not say that it is empty")
	}
}

// balanced checks that every element is closed in the right place.
func balanced(t *testing.T, page string) {
	t.Helper()
	tag := regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)(?:[^<>"]|"[^"]*")*>`)
	var open []string
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		name := m[2]
		switch {
		case name == "meta" || name == "input" || strings.HasSuffix(m[0], "/>"):
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %v", open)
	}
	if rest := tag.ReplaceAllString(strings.TrimPrefix(page, "<!DOCTYPE html>"), ""); strings.ContainsAny(rest, "<>") {
		i := strings.IndexAny(rest, "<>")
		t.Errorf("not escaped: %q", rest[max(i-40, 0):min(i+40, len(rest))])
	}
}

func TestHTMLHostile(t *testing.T) {
	page := render(t, hostileSummary(1))
	balanced(t, without(page))
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	for _, r := range page {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			t.Fatalf("the page has the character %U", r)
		}
	}
	if most := 2 << 20; len(page) > most {
		t.Errorf("%d bytes: texts are not bounded", len(page))
	}
	balanced(t, without(render(t, pageSummary())))
}

// FuzzHTML searches for a name that breaks out of its place in the page.
func FuzzHTML(f *testing.F) {
	for _, h := range hostile {
		f.Add(h[:min(len(h), 48)])
	}
	f.Fuzz(func(t *testing.T, h string) {
		if len(h) > 64 {
			return // lengths have their own tests, and pages take time
		}
		s := &Summary{Run: ledger.Run{ID: 1, Started: day0}, Notes: []string{h}}
		addHostile(s, h, 0)
		addHostile(s, h, 1)
		page := render(t, s)
		balanced(t, without(page))
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("%d scripts", n)
		}
	})
}

// TestHTMLPolicy: only the page's own style and script are allowed, and their text does not end their elements.
func TestHTMLPolicy(t *testing.T) {
	page := render(t, pageSummary())
	for _, want := range []string{"default-src 'none'", "script-src " + htmlpage.Digest(pageJS), "style-src " + htmlpage.Digest(pageCSS), "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(page, want) {
			t.Errorf("the policy has no %s", want)
		}
	}
	if strings.Contains(page, "unsafe") || strings.Contains(pageJS, "</") || strings.Contains(pageCSS, "</") || strings.Contains(pageJS, "innerHTML") {
		t.Error("something unsafe is in the page")
	}
	if m := regexp.MustCompile(`(?:src|href|action)="[^#][^"]*"|url\(|@import|https?:`).FindString(page); m != "" {
		t.Errorf("the page asks for %s", m)
	}
}

// deepReport is manyFrames with n more frames.
func deepReport(n int) []byte {
	return bytes.Replace(manyFrames, []byte(`"frames":[`), append([]byte(`"frames":[`), bytes.Repeat([]byte(`{"index":1,"function":"again","trust":"cfi"},`), n)...), 1)
}

func TestHTMLBounds(t *testing.T) {
	s := manySummary(maxPageRows+5, 2*maxPageRows)
	page := render(t, s)
	stacks := strings.Count(page, `<ol class="stack">`)
	if stacks == 0 || stacks > maxPageStacks {
		t.Errorf("%d stacks", stacks)
	}
	if most := maxPageBytes + maxPageRows*600; len(page) > most {
		t.Errorf("%d bytes for %d groups, %d are enough", len(page), len(s.Groups), most)
	}
	if !strings.Contains(page, "the last 5 groups are not on it") {
		t.Error("the page does not say what it leaves out")
	}
	// One group with many dumps, frames and variables.
	s = manySummary(1, 5000)
	s.Groups[0].Report = deepReport(9000)
	page = render(t, s)
	if !strings.Contains(page, "8984 frames left out") || !strings.Contains(page, "and 4951 more dumps not on this page") || len(page) > 200<<10 {
		t.Errorf("%d bytes: %.200s", len(page), page[strings.Index(page, "<ol"):])
	}
}

func TestAxis(t *testing.T) {
	at := func(hours ...int) (list []ledger.Dump) {
		for _, h := range hours {
			list = append(list, ledger.Dump{Time: day0.Add(time.Duration(h) * time.Hour)})
		}
		return list
	}
	now := day0.AddDate(9, 0, 0)
	for _, x := range []struct {
		dumps []ledger.Dump
		n     int
		unit  string
		first string
	}{
		{nil, 0, "", ""},
		{at(0), 24, "hour", "2026-11-01 09:00"},
		{at(0, 71), 72, "hour", "2026-11-02 08:00"},
		{at(0, 72), 14, "day", "2026-10-23"},
		{at(0, 24*100), 101, "day", "2026-11-02"},
		{at(0, 24*300), 43, "week", "2026-11-02"}, // a Monday
		{at(0, 24*3000), 108, "4 weeks", ""},
	} {
		a := newAxis(x.dumps, now)
		if a.n != x.n || a.unit != x.unit {
			t.Errorf("%d dumps: %d steps of a %s, not %d of a %s", len(x.dumps), a.n, a.unit, x.n, x.unit)
		}
		if x.first != "" && a.label(0) != x.first {
			t.Errorf("begins %s, not %s", a.label(0), x.first)
		}
		for _, d := range x.dumps {
			if b := a.bucket(d.Time); b < 0 || b >= a.n {
				t.Errorf("%v is in no step", d.Time)
			}
		}
	}
	a := newAxis([]ledger.Dump{{}, {Time: time.Unix(0, 0)}, {Time: now.AddDate(90, 0, 0)}, {Time: day0}}, now)
	if a.unusable != 3 || a.n != 24 {
		t.Errorf("%+v", a)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestHTMLWriteError(t *testing.T) {
	if err := WriteHTML(brokenWriter{}, pageSummary()); err == nil {
		t.Error("nobody says that the disk is full")
	}
}

func BenchmarkHTML(b *testing.B) {
	s := manySummary(10000, 100000)
	for b.Loop() {
		if err := WriteHTML(&bytes.Buffer{}, s); err != nil {
			b.Fatal(err)
		}
	}
}
