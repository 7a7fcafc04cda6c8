package export

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // the page's style and script
	"html"
	"io"
	"slices"
	"strconv"

	"github.com/corewalk/corewalk/internal/heap/graph"
	"github.com/corewalk/corewalk/internal/htmlpage"
)

// The page is written by hand, as that of triage is: every text goes through (*page).text, and everything that goes through raw is a constant of
// this package, or consists of digits.

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// Limits of a page, which says how much it leaves out.
const (
	maxPageTypes   = 1000
	maxPageObjects = 200
	maxPageTiles   = 3000
	maxPageRows    = 100 // of the summary
	maxPageEntries = 50_000
)

// WriteHTML writes one self-contained page (HTML Living Standard): a map of what keeps what alive, the types, and the objects that keep the most
// alive with the way to each from a root. It loads nothing. Without a script it has the tables.
func WriteHTML(ctx context.Context, w io.Writer, h *Heap) error {
	o, err := owners(ctx, h, maxPageEntries, false, nil)
	if err != nil {
		return err
	}
	p := &page{w: bufio.NewWriterSize(w, 64<<10), h: h, o: o}
	if p.types, err = o.types(ctx); err != nil {
		return err
	}
	if p.objects, err = o.heaviest(ctx, maxPageObjects); err != nil {
		return err
	}
	p.head()
	p.summary()
	p.raw("<main>\n")
	p.controls()
	p.typeTable()
	p.objectTable()
	p.raw("</main>\n<footer>Written by corewalk. This page is a single file and loads nothing.</footer>\n")
	p.data()
	p.raw("<script>", pageJS, "</script>\n</body></html>\n")
	return p.w.Flush()
}

// A page is a page that is being written.
type page struct {
	w       *bufio.Writer
	h       *Heap
	o       *ownership
	types   []typeRow
	objects []graph.Node
}

// raw writes markup.
func (p *page) raw(list ...string) {
	for _, s := range list {
		p.w.WriteString(s) // Flush returns its error
	}
}

// text writes a text of any origin. Names of classes are cleaned already, which does not change them again.
func (p *page) text(s string) { p.raw(html.EscapeString(s)) }

// number writes one with its digits in groups of three.
func (p *page) number(n uint64) { p.raw(thousands(n)) }

func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func (p *page) head() {
	name := p.h.text(p.h.Program)
	if name == "" {
		name = "a program"
	}
	p.raw("<!DOCTYPE html>\n", `<html lang="en"><head><meta charset="utf-8">`,
		`<meta http-equiv="Content-Security-Policy" content="`, htmlpage.Policy(pageJS, pageCSS), `">`,
		`<meta name="viewport" content="width=device-width, initial-scale=1">`,
		`<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">`,
		`<meta name="generator" content="corewalk"><title>Heap of `)
	p.text(name)
	p.raw("</title>\n<style>", pageCSS, "</style></head>\n<body>\n", `<a class="skip" href="#cw-types">Skip to the types</a>`,
		"\n", `<header><div class="title"><h1>Heap of <span class="t">`)
	p.text(name)
	p.raw(`</span></h1><p class="t">`)
	p.text(p.h.title())
	if !p.h.Time.IsZero() {
		p.text(", " + p.h.Time.UTC().Format("2006-01-02 15:04:05") + " UTC")
	}
	p.raw(`</p></div><dl class="tiles">`)
	total := p.o.entries[0].total
	p.tile("", "bytes", total, true)
	p.tile("", "objects", uint64(p.h.Graph.Len()), false)
	p.tile("", "types", uint64(len(p.types)), false)
	if c, ok := p.o.numbers[className{unreached, true}]; ok {
		if i, ok := p.o.index[uint64(c)]; ok {
			p.tile("leaked", "that no root reaches", p.o.entries[i].total, true)
		}
	}
	p.raw("</dl></header>\n")
}

func (p *page) tile(class, name string, n uint64, bytes bool) {
	p.raw(`<div class="`, class, `"><dt>`, name, `</dt><dd`)
	p.value(n, bytes)
	p.raw(`</dd></div>`)
}

// value ends the start of an element that has a number. Of bytes the script shows fewer digits.
func (p *page) value(n uint64, bytes bool) {
	if bytes {
		p.raw(` data-b="`, strconv.FormatUint(n, 10), `"`)
	}
	p.raw(">")
	p.number(n)
}

func (p *page) summary() {
	if len(p.h.Summary) == 0 {
		return
	}
	p.raw(`<dl class="facts">`)
	for _, row := range p.h.Summary[:min(len(p.h.Summary), maxPageRows)] {
		p.raw(`<div><dt class="t">`)
		p.text(p.h.text(row[0]))
		p.raw(`</dt><dd class="t">`)
		p.text(p.h.text(row[1]))
		p.raw(`</dd></div>`)
	}
	p.raw("</dl>\n")
}

// controls are for the script, which shows them.
func (p *page) controls() {
	p.raw(`<form id="cw-form" role="search" aria-label="Types and objects" hidden>`,
		`<input id="cw-q" type="search" placeholder="Search types and owners" aria-label="Search" autocomplete="off" spellcheck="false">`,
		`<select id="cw-by" aria-label="Map"><option value="owner">Map: by owner</option><option value="type">Map: by type</option></select></form>`, "\n",
		`<section id="cw-map" aria-labelledby="cw-maph" hidden><p class="keys"><kbd>/</kbd> search <kbd>m</kbd> map, arrows move <kbd>Enter</kbd> in <kbd>Esc</kbd> out</p><h2 id="cw-maph">Map</h2>`,
		`<nav id="cw-crumbs" aria-label="Where in the map"></nav><div id="cw-tiles" role="group" aria-label="Map of the heap"></div><p id="cw-info" class="t" aria-live="polite"></p></section>`, "\n")
}

// columns writes the head of a table: names, and whether they are of numbers.
func (p *page) columns(names ...string) {
	p.raw(`<thead><tr>`)
	for i, n := range names {
		class := ""
		if n == "Objects" || n == "Bytes" || n == "Keeps alive" {
			class = ` class="num"`
		}
		p.raw(`<th scope="col"`, class, ` data-c="`, strconv.Itoa(i), `">`, n, `</th>`)
	}
	p.raw("</tr></thead>\n<tbody>\n")
}

// cell writes a number of a table.
func (p *page) cell(n uint64, bytes bool) {
	p.raw(`<td class="num" data-v="`, strconv.FormatUint(n, 10), `"`)
	p.value(n, bytes)
	p.raw(`</td>`)
}

func (p *page) typeTable() {
	known := p.o.dominated()
	p.raw(`<section aria-labelledby="cw-types"><h2 id="cw-types" tabindex="-1">Types <span class="shown"></span></h2><div class="scroll"><table id="cw-typelist">`)
	if known {
		p.columns("Type", "Objects", "Bytes", "Keeps alive")
	} else {
		p.columns("Type", "Objects", "Bytes")
	}
	var rest typeRow
	for i, r := range p.types {
		if i >= maxPageTypes {
			rest.count += r.count
			rest.bytes += r.bytes
			continue
		}
		p.raw(`<tr><th scope="row" class="t fn">`)
		p.text(p.o.names[r.class])
		p.raw(`</th>`)
		p.cell(r.count, false)
		p.cell(r.bytes, true)
		if known {
			p.cell(r.retained, true)
		}
		p.raw("</tr>\n")
	}
	p.raw("</tbody></table></div>")
	if n := len(p.types) - maxPageTypes; n > 0 {
		p.raw(`<p class="more" id="cw-resttypes" data-b="`, strconv.FormatUint(rest.bytes, 10), `">and `)
		p.number(uint64(n))
		p.raw(" more types with ")
		p.number(rest.count)
		p.raw(" objects of ")
		p.number(rest.bytes)
		p.raw(" bytes not on this page</p>")
	}
	p.raw("</section>\n")
}

func (p *page) objectTable() {
	if len(p.objects) == 0 {
		return
	}
	known := p.o.dominated()
	title := "Largest objects"
	if known {
		title = "Objects that keep the most alive"
	}
	p.raw(`<section aria-labelledby="cw-objects"><h2 id="cw-objects">`, title, ` <span class="shown"></span></h2><div class="scroll"><table id="cw-objectlist">`)
	if known {
		p.columns("Type, and the way from a root", "Address", "Bytes", "Keeps alive")
	} else {
		p.columns("Type, and the way from a root", "Address", "Bytes")
	}
	g := guide{classes: p.o.classes}
	for _, n := range p.objects {
		w := g.to(n)
		p.raw(`<tr><td><details><summary><span class="t fn">`)
		p.text(p.o.names[p.o.of(n)])
		p.raw(`</span> <span class="t dim">`)
		p.text(w.root)
		p.raw(`</span></summary>`)
		p.way(&w)
		p.raw(`</details></td><td class="addr" data-v="`, strconv.Itoa(int(n)), `"><code>`, hex(p.h.Graph.Start(n)), `</code></td>`)
		p.cell(p.h.Graph.Size(n), true)
		if known {
			p.cell(p.h.Retained[n], true)
		}
		p.raw("</tr>\n")
	}
	p.raw("</tbody></table></div></section>\n")
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func (p *page) way(w *way) {
	p.raw(`<ol class="way"><li class="t">`)
	p.text(w.root)
	p.raw(`</li>`)
	for _, s := range w.steps {
		if s.left > 0 {
			p.raw(`<li class="dim">`)
			p.number(uint64(s.left))
			p.raw(` more objects</li>`)
		}
		p.raw(`<li><span class="t fn">`)
		p.text(p.o.names[p.o.of(s.node)])
		p.raw(`</span>`)
		if s.field != "" {
			p.raw(` <span class="t src">`)
			p.text("." + s.field)
			p.raw(`</span>`)
		}
		p.raw(` <code class="dim">`, hex(p.h.Graph.Start(s.node)), `</code></li>`)
	}
	p.raw(`</ol>`)
}

// data writes the map for the script: of each entry the one that it is below, its name, and its figures. Entries are there after that.
func (p *page) data() {
	shown := make([]uint32, 0, len(p.o.entries))
	for i := range p.o.entries {
		shown = append(shown, uint32(i))
	}
	slices.SortFunc(shown[1:], func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.o.entries[b].total, p.o.entries[a].total), cmp.Compare(a, b)) // what is above is before
	})
	shown = shown[:min(len(shown), maxPageTiles)]
	place := make(map[uint32]int, len(shown))
	names := map[class]int{}
	var list []class
	p.raw(`<script type="application/json" id="cw-data">{"tree":[`)
	var b []byte
	for i, e := range shown {
		place[e] = i
		entry := &p.o.entries[e]
		at, ok := names[entry.class]
		switch {
		case i == 0:
			at = -1
		case !ok:
			at = len(list)
			names[entry.class] = at
			list = append(list, entry.class)
		}
		if b = b[:0]; i > 0 {
			b = append(b, ",\n"...)
		}
		b = append(b, '[')
		for k, v := range []int64{int64(place[entry.parent]), int64(at), int64(entry.count), int64(entry.bytes), int64(entry.total)} {
			if k > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, v, 10)
		}
		p.w.Write(append(b, ']'))
	}
	p.raw("],\n\"names\":[")
	for i, c := range list {
		if b = b[:0]; i > 0 {
			b = append(b, ",\n"...)
		}
		p.w.Write(appendString(b, p.o.names[c]))
	}
	p.raw("],\n\"roots\":[")
	for i, c := range list {
		if i > 0 {
			p.raw(",")
		}
		if p.o.rooted[c] {
			p.raw("1")
		} else {
			p.raw("0")
		}
	}
	p.raw("]}</script>\n")
}
