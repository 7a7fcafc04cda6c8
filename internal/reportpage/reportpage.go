// Package reportpage writes one report as a page of one file: why the process died first, then stacks that open to frames, source, code and variables, who waits for
// whom, memory, registers and modules. It loads nothing, and nothing from the dump can run.
package reportpage

import (
	_ "embed" // the page's style and script
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/htmlpage"
	"github.com/corewalk/corewalk/report"
)

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// Limits of a page, which says how much it leaves out.
const (
	maxBytes     = 24 << 20 // of the page
	maxStacks    = 500      // stacks of threads and of tasks
	maxInner     = 150      // innermost frames of a deeper stack
	maxOuter     = 50       // and outermost
	maxVars      = 100      // arguments and locals of a frame
	maxParts     = 200      // parts of one variable
	maxDepth     = 8        // how deep these nest
	maxIDs       = 60       // threads named of those that share a stack
	maxModules   = 2000
	maxAreas     = 60
	maxName      = 400
	maxValue     = 2000
	maxLine      = 1000
	maxParagraph = 4000
	maxRegisters = 120
	maxWhy       = 200 // lines that say why
	maxSection   = 500 // lines of a section
)

// A Section is text of any origin that a page has below why the process died: what else is known of its dump.
type Section struct{ Title, Text string }

// Policy is the Content Security Policy that pages have. Who serves one sends it along.
func Policy() string { return htmlpage.Policy(pageJS, pageCSS) }

// Write writes the page (HTML Living Standard). Times are in the zone that the report has. The error is w's.
func Write(w io.Writer, r *report.Report, more ...Section) error {
	p := &page{Writer: htmlpage.New(w, report.Clean), r: r}
	why := r.Why()
	p.Head(why[0], pageCSS, pageJS, "cw-stacks")
	p.header(why)
	for _, s := range more {
		p.El("h2", "t", s.Title, maxName)
		p.Raw(`<pre class="text t">`)
		lines := strings.Split(strings.TrimSpace(s.Text), "\n")
		for _, line := range lines[:min(len(lines), maxSection)] {
			p.Text(line, maxLine)
			p.Raw("\n")
		}
		p.Raw("</pre>\n")
		if n := len(lines) - maxSection; n > 0 {
			p.Raw(`<p class="more">`, count(n, "line"), " left out</p>\n")
		}
	}
	p.find()
	p.Raw(`<main id="cw-stacks">`)
	if r.Hang() != nil {
		p.waits()
		p.crashed()
	} else {
		p.crashed()
		p.waits()
	}
	p.others()
	p.tasks()
	p.areas()
	p.modules()
	p.warnings()
	p.Raw("</main>\n<footer>Written by corewalk. This page is a single file and loads nothing.")
	if p.full() {
		p.Raw(" It ends here, at ", strconv.Itoa(maxBytes>>20), " MB: --format json has all.")
	}
	p.Raw("</footer>\n<script>", pageJS, "</script>\n</body></html>\n")
	return p.Flush()
}

// A page is a page that is being written.
type page struct {
	*htmlpage.Writer
	r      *report.Report
	stacks int // how many were written
}

// full reports whether nothing more is written but the end.
func (p *page) full() bool { return p.N > maxBytes }

func (p *page) header(why []string) {
	p.Raw(`<header><h1 class="t">`)
	p.Text(why[0], maxLine)
	p.Raw("</h1>\n")
	if len(why) > 1 {
		p.Raw(`<pre class="why t">`)
		for i, line := range why[1:min(len(why), maxWhy)] {
			if i > 0 {
				p.Raw("\n")
			}
			p.Text(strings.TrimPrefix(strings.TrimRight(line, " "), "  "), maxParagraph) // below the headline all is indented
		}
		p.Raw("</pre>\n")
	}
	d := &p.r.Dump
	p.Raw(`<dl class="meta">`)
	p.meta("dump", d.Path)
	p.meta("of", d.From)
	if d.Command != "" || d.PID != 0 {
		p.meta("process", strings.TrimSpace(fmt.Sprintf("%s %d", d.Command, d.PID)))
	}
	p.meta("system", strings.TrimSpace(d.Arch+" "+d.OS))
	if !d.Time.IsZero() {
		p.meta("time", d.Time.Format(time.RFC3339))
	}
	p.meta("command line", d.CommandLine)
	p.Raw("</dl></header>\n")
}

func (p *page) meta(name, value string) {
	if value == "" {
		return
	}
	p.Raw("<dt>", name, "</dt>")
	p.El("dd", "t", value, maxParagraph)
}

// find is the search, which the script shows.
func (p *page) find() {
	p.Raw(`<form id="cw-find" hidden role="search"><input type="search" id="cw-q" placeholder="find a function, a file, a variable, a value" aria-label="find in frames">`,
		`<button type="button" id="cw-open">open all</button><button type="button" id="cw-close">close all</button>`,
		`<span class="dim" id="cw-said" role="status"></span><span class="dim"><kbd>/</kbd> find <kbd>j</kbd> <kbd>k</kbd> frames <kbd>e</kbd> <kbd>c</kbd> open, close</span></form>`, "\n")
}

// crashed writes the stack of the thread that died, or of the first where none did.
func (p *page) crashed() {
	for i := range p.r.Threads {
		if th := &p.r.Threads[i]; th.Crashed {
			p.Raw("<h2>The thread that crashed</h2>\n")
			p.thread([]*report.Thread{th}, true)
			return
		}
	}
}

// others writes the other threads, those with equal stacks once.
func (p *page) others() {
	index := map[string]int{}
	var groups [][]*report.Thread
	for i := range p.r.Threads {
		th := &p.r.Threads[i]
		if th.Crashed {
			continue
		}
		key := report.StackKey(th)
		at, ok := index[key]
		if !ok || len(th.Frames) == 0 && key == "" {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], th)
	}
	if len(groups) == 0 {
		return
	}
	p.Raw("<h2>", count(len(p.r.Threads)-p.crashedThreads(), "other thread"), ", ", count(len(groups), "stack"), "</h2>\n")
	for i, g := range groups {
		if p.stacks >= maxStacks || p.full() {
			p.Raw(`<p class="more">`, count(len(groups)-i, "stack"), " left out</p>\n")
			return
		}
		p.thread(g, false)
	}
}

func (p *page) crashedThreads() (n int) {
	for i := range p.r.Threads {
		if p.r.Threads[i].Crashed {
			return 1
		}
	}
	return 0
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// thread writes the stack of threads that share it.
func (p *page) thread(list []*report.Thread, open bool) {
	first := list[0]
	p.Raw(`<section class="stack"><h3>`)
	if len(list) == 1 {
		p.Raw("Thread ", strconv.Itoa(first.ID))
		if first.Name != "" {
			p.Raw(" ")
			p.El("span", "t dim", first.Name, maxName)
		}
		if first.State != "" {
			p.Raw(", ")
			p.Text(first.State, maxName)
		}
	} else {
		p.Raw(count(len(list), "thread"), ": ")
		for i, th := range list[:min(len(list), maxIDs)] {
			if i > 0 {
				p.Raw(", ")
			}
			p.Raw(strconv.Itoa(th.ID))
			if th.Name != "" {
				p.Raw(" ")
				p.El("span", "t dim", th.Name, 40)
			}
		}
		if len(list) > maxIDs {
			p.Raw(" and ", strconv.Itoa(len(list)-maxIDs), " more")
		}
	}
	for _, note := range first.Notes {
		p.Raw(", ")
		p.Text(note, maxName)
	}
	p.Raw("</h3>\n")
	if n := p.awaited(first.ID); n != "" && len(list) == 1 {
		p.El("p", "dim t", n, maxParagraph)
	}
	look := -1
	if c := p.r.Crash; c != nil && first.Crashed {
		if look = 0; c.Frame != nil {
			look = *c.Frame
		}
	}
	p.frames(first.Frames, look, open)
	p.end(first.End, first.EndDetail)
	p.registers(first)
	p.Raw("</section>\n")
	p.stacks++
}

// awaited says what a thread waits for.
func (p *page) awaited(id int) string {
	for i := range p.r.Tasks {
		if t := &p.r.Tasks[i]; t.Thread == id && t.Wait != nil {
			return "waits for " + waitText(t.Wait)
		}
	}
	return ""
}

func waitText(w *report.Wait) string {
	s := w.Kind
	if o := w.Object; o != nil {
		s += " " + objectText(o)
	}
	var by []string
	for _, h := range w.Holders[:min(len(w.Holders), 8)] {
		by = append(by, fmt.Sprintf("%s %d", h.Kind, h.ID))
	}
	if len(by) > 0 {
		s += ", held by " + strings.Join(by, ", ")
	}
	if w.Certainty != "" && w.Certainty != report.Certain {
		s += " [" + w.Certainty + "]"
	}
	return s
}

func objectText(o *report.WaitObject) string {
	if o.Name != "" {
		return o.Name
	}
	return strings.TrimSpace(o.Type + " " + o.Address.String())
}

func (p *page) end(end, detail string) {
	if end == "" || end == report.EndBottom {
		return
	}
	if detail == "" {
		detail = end
	}
	p.El("p", "more t", "The stack ends here: "+detail, maxParagraph)
}

// tasks writes tasks that no thread runs, those with equal stacks once.
func (p *page) tasks() {
	index := map[string]int{}
	var groups [][]*report.Task
	all := 0
	for i := range p.r.Tasks {
		t := &p.r.Tasks[i]
		if t.Thread != 0 || t.Kind == "thread" {
			continue
		}
		all++
		key := t.Kind + "\x00" + t.State + "\x00" + t.Status + "\x00" + report.StackKey(&report.Thread{Frames: t.Frames, End: t.End})
		at, ok := index[key]
		if !ok {
			at = len(groups)
			index[key] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], t)
	}
	if all == 0 {
		return
	}
	slices.SortStableFunc(groups, func(a, b []*report.Task) int { return len(b) - len(a) })
	p.Raw("<h2>", count(all, "task"), " that no thread runs, ", count(len(groups), "stack"), "</h2>\n")
	for i, g := range groups {
		if p.stacks >= maxStacks || p.full() {
			p.Raw(`<p class="more">`, count(len(groups)-i, "stack"), " left out</p>\n")
			return
		}
		t := g[0]
		p.Raw(`<section class="stack"><h3>`)
		if len(g) > 1 {
			p.Raw(strconv.Itoa(len(g)), " × ")
		}
		p.Text(t.Kind, maxName)
		for j, same := range g[:min(len(g), 12)] {
			if j > 0 {
				p.Raw(",")
			}
			p.Raw(" ")
			p.Text(taskID(same.Kind, same.ID), maxName)
		}
		if len(g) > 12 {
			p.Raw(" …")
		}
		if t.Name != "" {
			p.Raw(" ")
			p.El("span", "t dim", t.Name, maxName)
		}
		p.Raw(", ")
		if t.Status != "" {
			p.Text(t.Status, maxName)
		} else {
			p.Text(t.State, maxName)
		}
		p.Raw("</h3>\n")
		if t.Wait != nil && len(g) == 1 {
			p.El("p", "dim t", "waits for "+waitText(t.Wait), maxParagraph)
		}
		p.frames(t.Frames, -1, false)
		p.end(t.End, t.EndDetail)
		p.Raw("</section>\n")
		p.stacks++
	}
}

// taskID is the number of a task, or its address.
func taskID(kind string, id int) string {
	if uint64(id) > 1<<32 && kind != "thread" && kind != "goroutine" {
		return report.Addr(id).String()
	}
	return strconv.Itoa(id)
}

func (p *page) registers(th *report.Thread) {
	if len(th.Registers) == 0 {
		return
	}
	p.Raw(`<details class="fold"><summary>Registers</summary><div class="grid">`)
	for _, r := range th.Registers[:min(len(th.Registers), maxRegisters)] {
		p.Raw("<code><b>")
		p.Text(r.Name, 24)
		p.Raw("</b> ", r.Value.String(), "</code>")
	}
	p.Raw("</div></details>\n")
}

// An Area is memory around what matters. What of it is text may be shown.
type Area struct {
	Names   string `json:"names"`
	Address string `json:"address"`
	Place   string `json:"place,omitempty"`
	Rows    []Row  `json:"rows,omitempty"` // none if the dump has none of it
}

// A Row is 16 bytes, the text of which has a point for what is none.
type Row struct {
	Address string `json:"address"`
	Bytes   string `json:"bytes"`
	Text    string `json:"text"`
}

// Memory is what is shown of memory.
func Memory(list []report.MemoryArea) []Area {
	out := make([]Area, min(len(list), maxAreas))
	for i := range out {
		a := &list[i]
		out[i] = Area{cut(strings.Join(a.Names, ", "), maxName), a.Address.String(), cut(strings.TrimSpace(a.Place+" "+a.Mapping), maxParagraph), rowsOf(a)}
	}
	return out
}

func rowsOf(a *report.MemoryArea) (rows []Row) {
	for at := 0; at < len(a.Bytes) && at < 8192; at += 32 {
		line := a.Bytes[at:min(at+32, len(a.Bytes))]
		row := Row{Address: (a.Start + report.Addr(at/2)).String()}
		for i := 0; i+2 <= len(line); i += 2 {
			n, err := strconv.ParseUint(line[i:i+2], 16, 8)
			if err != nil {
				break
			}
			row.Bytes += fmt.Sprintf("%02x ", n)
			if c := byte(n); c < 0x20 || c >= 0x7f {
				row.Text += "."
			} else {
				row.Text += string(rune(c))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// areas writes the memory around what matters.
func (p *page) areas() {
	if len(p.r.Memory) == 0 || p.full() {
		return
	}
	p.Raw("<h2>Memory</h2>\n")
	for _, a := range Memory(p.r.Memory) {
		p.Raw(`<details class="fold"><summary>`)
		p.El("span", "t", a.Names, maxTitle)
		p.Raw(" = <code>", a.Address, "</code> ")
		p.El("span", "dim t", a.Place, 4*maxParagraph)
		p.Raw("</summary>")
		p.hex(a.Rows)
		p.Raw("</details>\n")
	}
}

// hex writes memory, 16 bytes a line.
func (p *page) hex(rows []Row) {
	if len(rows) == 0 {
		p.Raw(`<p class="dim">the dump has none of it</p>`)
		return
	}
	p.Raw(`<pre class="text" tabindex="0">`)
	for _, r := range rows {
		p.Raw("<span>", r.Address, "</span>  ", r.Bytes, " ")
		p.Text(r.Text, 16)
		p.Raw("\n")
	}
	p.Raw("</pre>")
}

func (p *page) modules() {
	if len(p.r.Modules) == 0 || p.full() {
		return
	}
	p.Raw(`<h2>Modules</h2><details class="fold"><summary>`, count(len(p.r.Modules), "module"), `</summary><div class="scroll" tabindex="0"><table class="list"><thead><tr><th>from</th><th>to</th><th>file</th><th>symbols</th><th>path</th><th>build</th></tr></thead><tbody>`)
	for i := range p.r.Modules[:min(len(p.r.Modules), maxModules)] {
		m := &p.r.Modules[i]
		p.Raw("<tr><td><code>", m.Base.String(), "</code></td><td><code>", m.End.String(), "</code></td>")
		class := ""
		if m.Status == report.ModuleMissing || m.Status == report.ModuleMismatched {
			class = "bad"
		}
		p.El("td", class, m.Status, maxName)
		p.El("td", "", m.Symbols, maxName)
		p.El("td", "t", m.Path, maxName)
		p.Raw("<td><code>")
		p.Text(m.BuildID+m.DebugID, 80)
		p.Raw("</code></td></tr>\n")
	}
	p.Raw("</tbody></table></div></details>\n")
	if f := p.r.MissingFile; f != nil {
		p.Raw(`<p><span class="bad">Missing:</span> `)
		p.El("code", "t", f.Path, maxName)
		p.Raw(". ")
		p.Text(f.Advice, maxParagraph)
		p.Raw("</p>\n")
	}
}

func (p *page) warnings() {
	if len(p.r.Warnings) == 0 {
		return
	}
	p.Raw("<h2>What is not known</h2><ul>")
	for i := range p.r.Warnings[:min(len(p.r.Warnings), 100)] {
		w := &p.r.Warnings[i]
		p.Raw(`<li class="t">`)
		p.Text(w.Message, maxParagraph)
		if w.Advice != "" {
			p.Raw(". ")
			p.Text(w.Advice, maxParagraph)
		}
		p.Raw("</li>")
	}
	p.Raw("</ul>\n")
}
