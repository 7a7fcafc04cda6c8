package render

import (
	"strconv"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// groups writes the groups: the most important ones in full, so that they can be read without a script; the
// script adds rows for the others.
func (p *page) groups() {
	p.raw(`<section aria-labelledby="cw-groups"><h2 id="cw-groups" tabindex="-1">Groups <span id="cw-shown" role="status"></span></h2>`)
	if len(p.s.Groups) == 0 {
		p.raw(`<p class="more">No groups.</p></section>`, "\n")
		return
	}
	p.raw(`<div class="cols" aria-hidden="true"><span>#</span><span>dumps</span><span>when</span><span>why and where</span><span>first, last</span><span>builds</span><span>group</span></div>`)
	p.raw(`<div id="cw-list">`, "\n")
	start := p.n
	for i := range p.rows[:min(len(p.rows), maxPageStacks)] {
		if p.n-start > maxPageBytes {
			break
		}
		p.full = i + 1
		p.group(i)
	}
	p.raw("</div>")
	p.remainder()
	p.raw(`<template id="cw-row"><details class="g">`)
	p.summary(&pageGroup{Group: &ledger.Group{}}, 0)
	p.raw(`<div class="body"><p class="more">This page does not include this group's stack: <code></code> shows it.</p></div></details></template></section>`, "\n")
}

// remainder says which groups are shown in part, and which not at all.
func (p *page) remainder() {
	all := len(p.s.Groups)
	if n := len(p.rows) - p.full; n > 0 {
		p.raw(`<noscript><p class="more">`, "and ", count(n, "more group"), ": enable JavaScript to see them</p></noscript>")
	}
	if n := all - p.full; n > 0 {
		p.raw(`<p class="more">This page includes the stacks and dumps of the first `, strconv.Itoa(p.full), " groups")
		if all > len(p.rows) {
			p.raw("; the last ", strconv.Itoa(all-len(p.rows)), " groups are not on it")
		}
		p.raw(`. <code>corewalk triage list</code> lists all of them.</p>`)
	}
}

// group writes one group.
func (p *page) group(i int) {
	g := &p.rows[i]
	if r, err := report.ParseJSON(g.Report); err == nil {
		g.report = r
	}
	p.raw(`<details class="g" id="`, g.anchor, `">`)
	p.summary(g, i+1)
	p.raw(`<div class="body">`)
	p.facts(g)
	p.crash(g)
	p.stack(g)
	p.groupDumps(g)
	p.raw("</div></details>\n")
}

// summary writes the line of a group. The script fills in an empty one by the classes of its parts.
func (p *page) summary(g *pageGroup, rank int) {
	p.raw(`<summary><span class="rank">`)
	if rank > 0 {
		p.raw(strconv.Itoa(rank))
	}
	p.raw(`</span><span class="n" title="dumps">`, thousands(g.Count), `</span>`)
	p.raw(`<svg class="spark" viewBox="0 0 `, strconv.Itoa(max(p.axis.n, 1)), ` 20" preserveAspectRatio="none" aria-hidden="true"><path d="`, p.axis.spark(g.steps), `"/></svg>`)
	p.raw(`<span class="what"><span class="why">`)
	if g.New || rank == 0 {
		p.raw(`<b class="badge new">new</b> `)
	}
	p.el("span", "reason t", g.Reason, maxPageReason)
	if g.Weak || rank == 0 {
		p.raw(` <span class="badge weak" title="too few function names: the signature is valid for one build only">weak</span>`)
	}
	p.raw("</span>")
	p.el("code", "where t", g.Where, maxPageWhere)
	p.raw(`</span><span class="when"><span class="first">`, date(g.FirstSeen), `</span> <span class="last">`, date(g.LastSeen), "</span></span>")
	p.raw(`<span class="builds" title="builds">`, strconv.Itoa(g.Builds), "</span>")
	p.el("code", "id", p.short[g.ID], maxPageID)
	p.raw("</summary>")
}

// facts writes what is known of the group besides its stack.
func (p *page) facts(g *pageGroup) {
	p.raw(`<dl class="facts">`)
	if g.total > 0 {
		p.fact("Dumps", thousands(g.Count)+" in this run, "+thousands(g.total)+" in the ledger")
	}
	when := minute(g.LastSeen)
	if first := minute(g.FirstSeen); first != when {
		when = first + " to " + when
	}
	p.fact("Seen", when)
	if len(g.Programs) > 0 {
		p.raw("<div><dt>Program</dt><dd>")
		for i, name := range g.Programs[:min(len(g.Programs), 8)] {
			if i > 0 {
				p.raw(", ")
			}
			p.el("code", "t", name, maxPageID)
		}
		if n := len(g.Programs) - 8; n > 0 {
			p.raw(" and ", strconv.Itoa(n), " more")
		}
		p.raw("</dd></div>")
	}
	if g.FirstBuild != "" {
		p.raw("<div><dt>", count(g.Builds, "build"), "</dt><dd>oldest ")
		p.el("code", "t", g.FirstBuild, maxPageID)
		p.raw("</dd></div>")
	}
	p.raw("<div><dt>Kind</dt><dd>")
	p.text(orUnknown(g.Kind), maxPageID)
	p.raw("</dd></div><div><dt>Signature</dt><dd>")
	p.el("code", "t", g.Signature, maxPageID)
	p.raw("</dd></div></dl>")
	p.similar(g)
}

func (p *page) fact(name, value string) {
	p.raw("<div><dt>", name, "</dt><dd>")
	p.text(value, maxPageWords)
	p.raw("</dd></div>")
}

func orUnknown(kind string) string {
	if kind == "" {
		return "unknown"
	}
	return kind
}

// similar links to the groups that are probably the same bug.
func (p *page) similar(g *pageGroup) {
	if len(g.Similar) == 0 {
		return
	}
	p.raw(`<p class="similar">Probably the same as `)
	for i, x := range g.Similar[:min(len(g.Similar), 10)] {
		if i > 0 {
			p.raw(", ")
		}
		if n, ok := p.at[x.Group]; ok {
			p.raw(`<a href="#`, p.rows[n].anchor, `">`)
			p.el("code", "t", p.short[x.Group], maxPageID)
			p.raw(" ")
			p.el("span", "t", p.rows[n].Where, 80)
			p.raw("</a>")
		} else {
			p.el("code", "t", x.Group, maxPageID)
		}
		p.raw(" (", strconv.Itoa(int(100*x.Score+.5)), "\u202f% similar)")
	}
	p.raw("</p>")
}

// crash writes how the representative died: the instruction, the values it used, and the causes.
func (p *page) crash(g *pageGroup) {
	if g.report == nil || g.report.Crash == nil {
		return
	}
	c := g.report.Crash
	p.raw(`<div class="crash"><p>`)
	p.el("b", "t", join(firstOf(c.Signal, c.Exception), c.Code), maxPageID)
	p.raw(" ")
	p.el("span", "t", c.Reason, maxPageWords)
	p.raw("</p>")
	if c.Message != "" {
		p.raw("<p>")
		p.el("q", "t", c.Message, maxPageWords)
		p.raw("</p>")
	}
	if in := c.Instruction; in != nil && in.Text != "" {
		p.raw(`<p class="insn">`)
		p.el("code", "t", in.Text, maxPageName)
		for _, r := range in.Registers[:min(len(in.Registers), 8)] {
			p.raw(" ")
			p.el("code", "reg", r.Name+" = "+r.Value.String(), maxPageID)
		}
		p.raw(" ")
		p.el("span", "t dim", in.Note, maxPageWords)
		p.raw("</p>")
	}
	for _, cause := range c.Causes[:min(len(c.Causes), 4)] {
		p.raw(`<p class="cause">Cause: `)
		p.el("span", "t", cause.Text, maxPageWords)
		p.raw(" ")
		p.el("span", "badge", cause.Confidence, maxPageID)
		p.raw("</p>")
	}
	p.raw("</div>")
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// groupDumps lists the newest dumps.
func (p *page) groupDumps(g *pageGroup) {
	p.raw(`<p class="rep">Stack of `)
	p.el("code", "path", g.Representative, maxPagePath)
	p.raw("; <code>corewalk triage show ")
	p.text(p.short[g.ID], maxPageID)
	p.raw("</code></p>")
	if len(g.dumps) == 0 {
		return
	}
	p.raw(`<details class="dumps"><summary>`, count(max(g.Count, len(g.dumps)), "dump"), `</summary><table><thead><tr><th scope="col">dump</th><th scope="col">time</th><th scope="col">build</th></tr></thead><tbody>`)
	shown := g.dumps[:min(len(g.dumps), maxGroupDumps)]
	for _, d := range shown {
		p.raw("<tr><td>")
		p.el("code", "path", d.Path, maxPagePath)
		p.raw("</td><td>", minute(d.Time), "</td><td>")
		p.el("code", "t", d.Build, maxPageID)
		p.raw("</td></tr>")
	}
	p.raw("</tbody></table>")
	p.leftOut(max(g.Count, len(g.dumps))-len(shown), "dump")
	p.raw("</details>")
}
