package render

import (
	"bufio"
	_ "embed" // the page's style and script
	"fmt"
	"html"
	"io"
	"strconv"
	"time"

	"github.com/corewalk/corewalk/internal/htmlpage"
)

// The page is written by hand, not with html/template, which would add a tenth to the size of the program and
// work to each of its starts. In return every text goes through (*page).text or (*page).attr, and everything
// that goes through raw is a constant of this package or consists of digits.

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// Limits of a page. The page says how much it leaves out.
const (
	maxPageRows    = 20000   // groups
	maxPageStacks  = 500     // groups with stack and dumps
	maxPageBytes   = 6 << 20 // of those, in total
	maxGroupDumps  = 50      // dumps listed for a group
	maxPageFailed  = 200     // dumps that could not be analysed
	maxPageNotes   = 100
	maxInnerFrames = 32 // innermost frames shown of a deeper stack
	maxOuterFrames = 8  // and outermost frames
	maxFrameVars   = 64 // arguments and locals shown for a frame
	maxChoices     = 300
)

// Limits on texts, in characters.
const (
	maxPageReason = 240
	maxPageWhere  = 240
	maxPageName   = 240 // functions, types
	maxPagePath   = 240
	maxPageValue  = 400
	maxPageWords  = 600
	maxPageID     = 64
)

// WriteHTML writes one self-contained page (HTML Living Standard). The page loads nothing and shows its main
// content without a script; its own script adds search, filters and sorting. Times are UTC. The error is w's.
func WriteHTML(w io.Writer, s *Summary) error {
	p := &page{w: bufio.NewWriterSize(w, 64<<10), s: s}
	p.index()
	p.head()
	p.overview()
	p.controls()
	p.groups()
	p.failures()
	p.foot()
	return p.w.Flush()
}

// A page is a page that is being written.
type page struct {
	w     *bufio.Writer
	n     int // bytes written
	s     *Summary
	axis  axis
	rows  []pageGroup    // the groups on the page
	at    map[string]int // index in rows, by the group's identifier
	short map[string]string
	full  int // how many of rows have their stack
	// programs, builds and kinds are the choices of the filters.
	programs, builds, kinds choices
}

// raw writes markup.
func (p *page) raw(list ...string) {
	for _, s := range list {
		p.w.WriteString(s) // Flush returns its error
		p.n += len(s)
	}
}

// text writes a text of any origin, shortened to limit characters.
func (p *page) text(s string, limit int) { p.raw(html.EscapeString(fit(s, limit))) }

// attr writes an attribute with a text of any origin.
func (p *page) attr(name, s string, limit int) {
	p.raw(" ", name, `="`)
	p.text(s, limit)
	p.raw(`"`)
}

// el writes an element with a class and a text.
func (p *page) el(tag, class, s string, limit int) {
	p.raw("<", tag, ` class="`, class, `">`)
	p.text(s, limit)
	p.raw("</", tag, ">")
}

// fit is cell for texts that may be huge: it cuts them first.
func fit(s string, limit int) string {
	if most := 4*limit + 4; len(s) > most {
		s = s[:most] // still more than limit characters, so that it ends with an ellipsis
	}
	return cell(s, limit)
}

func (p *page) head() {
	p.raw("<!DOCTYPE html>\n", `<html lang="en"><head><meta charset="utf-8">`,
		`<meta http-equiv="Content-Security-Policy" content="`, htmlpage.Policy(pageJS, pageCSS), `">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">`,
		`<meta name="generator" content="corewalk"><title>`)
	p.text(fmt.Sprintf("Crashes: %s in %s", count(p.dumps(), "dump"), count(len(p.s.Groups), "group")), maxPageWords)
	p.raw("</title>\n<style>", pageCSS, "</style></head>\n<body>\n",
		`<a class="skip" href="#cw-groups">Skip to the groups</a>`, "\n")
}

// dumps returns how many dumps the page is about.
func (p *page) dumps() int {
	n := 0
	for i := range p.s.Groups {
		n += p.s.Groups[i].Count
	}
	return n
}

// overview writes how many dumps there are, and when they came.
func (p *page) overview() {
	p.raw(`<header><div class="title"><h1>Crashes</h1><p>`)
	p.text(p.about(), maxPageWords)
	p.raw(`</p></div><dl class="tiles">`)
	p.tile("", "dumps", p.dumps())
	p.tile("", "groups", len(p.s.Groups))
	if p.s.Run.ID != 0 {
		p.tile("new", "new groups", p.s.New())
		p.tile("", "seen before", p.s.Run.Known)
		p.tile("failed", "unreadable", max(p.s.Run.Failed, len(p.s.Failed)))
	}
	p.raw("</dl></header>\n<main>\n")
	p.timeline()
}

func (p *page) tile(class, name string, n int) {
	if n == 0 {
		class = ""
	}
	p.raw(`<div class="`, class, `"><dt>`, name, `</dt><dd>`, thousands(n), `</dd></div>`)
}

// thousands formats a number with digits in groups of three.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// about says which run the page shows.
func (p *page) about() string {
	r := &p.s.Run
	if r.ID == 0 {
		return "Everything in the ledger. Times are UTC."
	}
	text := fmt.Sprintf("Run %d, %s", r.ID, minute(r.Started))
	if p.s.Elapsed > 0 {
		text += fmt.Sprintf(", %.1f s", p.s.Elapsed.Seconds())
	}
	if !p.s.Since.IsZero() {
		text += "; new means first seen since " + minute(p.s.Since)
	}
	if p.s.Broken {
		text += "; interrupted"
	}
	return text + ". Times are UTC."
}

func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// controls are for the script, which shows them.
func (p *page) controls() {
	p.raw(`<form id="cw-form" role="search" aria-label="Groups" hidden>`,
		`<input id="cw-q" type="search" placeholder="Search reasons, functions, files, programs, builds" aria-label="Search" autocomplete="off" spellcheck="false">`)
	p.choice("cw-kind", "Kind", &p.kinds)
	p.choice("cw-program", "Program", &p.programs)
	p.choice("cw-build", "Build", &p.builds)
	p.raw(`<select id="cw-weak" aria-label="Weak signatures"><option value="">Weak or not</option><option value="0">Not weak</option><option value="1">Weak only</option></select>`,
		`<select id="cw-sort" aria-label="Sort"><option value="count">Most dumps</option><option value="last">Last seen</option><option value="first">First seen, newest</option><option value="oldest">First seen, oldest</option></select>`,
		`<label class="check"><input id="cw-new" type="checkbox"> New only</label><button type="reset">Reset</button></form>`, "\n",
		`<p class="keys" id="cw-keys" hidden><kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open <kbd>Esc</kbd> close</p>`)
}

// choice writes the filter for one property. The script adds the values that the page has.
func (p *page) choice(id, name string, c *choices) {
	p.raw(`<select id="`, id, `" aria-label="`, name, `"><option value="">`, name, `: all</option>`)
	for _, i := range c.frequent() {
		p.raw(`<option value="`, strconv.Itoa(i), `">`)
		p.text(c.names[i], 48)
		p.raw(" (", strconv.Itoa(c.uses[i]), ")</option>")
	}
	p.raw("</select>")
}

// failures lists the dumps without a group, and other problems.
func (p *page) failures() {
	if n := len(p.s.Failed); n > 0 {
		p.raw(`<section class="failed" aria-labelledby="cw-failed"><h2 id="cw-failed">Unreadable</h2><ul>`)
		for i := range p.s.Failed[:min(n, maxPageFailed)] {
			d := &p.s.Failed[i]
			p.raw("<li>")
			p.el("code", "path", d.Path, maxPagePath)
			p.raw(" ")
			p.el("span", "t", d.Fault, maxPageWords)
			p.raw(" ")
			p.el("span", "badge", d.FaultKind, maxPageID)
			p.raw("</li>")
		}
		p.raw("</ul>")
		p.leftOut(n-maxPageFailed, "dump")
		p.raw("</section>\n")
	}
	if n := len(p.s.Notes); n > 0 {
		p.raw(`<section class="failed" aria-labelledby="cw-notes"><h2 id="cw-notes">Skipped</h2><ul>`)
		for _, s := range p.s.Notes[:min(n, maxPageNotes)] {
			p.raw(`<li class="t">`)
			p.text(s, maxPageWords)
			p.raw("</li>")
		}
		p.raw("</ul>")
		p.leftOut(n-maxPageNotes, "place")
		p.raw("</section>\n")
	}
}

// leftOut says how many things are not on the page, if any.
func (p *page) leftOut(n int, what string) {
	if n > 0 {
		p.raw(`<p class="more">`, "and ", count(n, "more "+what), " not on this page</p>")
	}
}

func (p *page) foot() {
	p.raw("</main>\n<footer>Written by corewalk. This page is a single file and loads nothing.</footer>\n")
	p.data()
	p.raw("<script>", pageJS, "</script>\n</body></html>\n")
}
