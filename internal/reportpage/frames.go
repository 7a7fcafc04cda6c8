package reportpage

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// frames writes a stack, innermost first. The frame to look at is marked, and open with those before it if open is set.
func (p *page) frames(list []report.Frame, look int, open bool) {
	if len(list) == 0 {
		p.Raw(`<p class="dim">no frames</p>`)
		return
	}
	p.Raw("<ol>")
	for i := range list {
		f := &list[i]
		if left := len(list) - maxInner - maxOuter; left > 0 && i >= maxInner && i < maxInner+left {
			if i == maxInner {
				p.Raw(`<li class="more f">`, count(left, "frame"), " left out</li>\n")
			}
			continue
		}
		if f.Folded {
			continue
		}
		if p.full() {
			break
		}
		p.frame(f, f.Index == look, open)
	}
	p.Raw("</ol>\n")
}

func (p *page) frame(f *report.Frame, look, open bool) {
	p.Raw("<li data-f")
	class := ""
	if look {
		class = "look"
	}
	if f.Inlined || f.Tail {
		class += " virtual"
	}
	if class != "" {
		p.Raw(` class="`, strings.TrimSpace(class), `"`)
	}
	p.Raw(">")
	inside := len(f.Args)+len(f.Locals) > 0 || f.Listing != nil && len(f.Listing.Lines) > 0 || len(f.Code) > 0
	if !inside {
		p.Raw(`<div class="f" tabindex="0">`)
		p.call(f)
		p.Raw("</div></li>\n")
		return
	}
	p.Raw("<details")
	if look && open {
		p.Raw(" open")
	}
	p.Raw(`><summary class="f">`)
	p.call(f)
	p.Raw(`</summary><div class="in">`)
	p.listing(f)
	p.variables(f)
	p.code(f)
	p.Raw("</div></details></li>\n")
}

// call is the line of a frame.
func (p *page) call(f *report.Frame) {
	p.Raw(`<span class="no">#`, strconv.Itoa(f.Index), "</span> ")
	switch {
	case f.Signal != "":
		p.Raw("<b>signal ")
		p.Text(f.Signal, maxName)
		p.Raw(" delivered here</b>")
		if f.SignalConfidence != "" {
			p.Text(" ["+f.SignalConfidence+"]", maxName)
		}
		return
	case f.Function != "":
		short := report.BriefFunction(f.Function, 120)
		p.Raw(`<code class="fn"`)
		if short != f.Function {
			p.Attr("title", f.Function, maxValue)
		}
		p.Raw(">")
		p.Text(short, maxName)
		p.Raw("</code>")
	default:
		p.Raw("<code>", f.PC.String(), "</code>")
	}
	if f.Source.File != "" {
		p.Raw(` <code class="src"`)
		p.Attr("title", f.Source.File, maxName)
		p.Raw(">")
		p.Text(report.Base(f.Source.File), maxName)
		if f.Source.Line > 0 {
			p.Raw(":", strconv.Itoa(f.Source.Line))
		}
		p.Raw("</code>")
	}
	if f.Module != "" {
		p.Raw(` <span class="mod"`)
		p.Attr("title", f.Module, maxName)
		p.Raw(">")
		p.Text(report.Base(f.Module), maxName)
		if f.Source.File == "" {
			p.Raw("+", f.Offset.String())
		}
		p.Raw("</span>")
	}
	mark := func(is bool, name string) {
		if is {
			p.Raw(` <span class="mark">`, name, "</span>")
		}
	}
	mark(f.Inlined, "inlined")
	mark(f.Tail, "tail call")
	mark(f.Trust == report.TrustScan, "found by scanning: may be wrong")
	mark(f.Doubtful && f.Trust != report.TrustScan, "doubtful")
	mark(f.Mismatched, "file of another build")
}

func (p *page) listing(f *report.Frame) {
	l := f.Listing
	if l == nil || len(l.Lines) == 0 {
		return
	}
	p.Raw(`<pre class="text" tabindex="0">`)
	for i, line := range l.Lines {
		here := l.First+i == f.Source.Line
		if here {
			p.Raw("<b>")
		}
		p.Raw("<span>", fmt.Sprintf("%*d", len(strconv.Itoa(l.First+len(l.Lines)-1)), l.First+i), "</span>  ")
		p.Text(strings.ReplaceAll(line, "\t", "    "), maxLine)
		if here {
			p.Raw("</b>")
		} else {
			p.Raw("\n")
		}
	}
	p.Raw("</pre>")
	if l.Newer {
		p.Raw(`<p class="dim">The file is newer than the program: its lines may differ.</p>`)
	}
}

func (p *page) code(f *report.Frame) {
	if len(f.Code) == 0 {
		return
	}
	p.Raw(`<details class="fold"><summary class="dim">Code</summary><pre class="text" tabindex="0">`)
	for i := range f.Code {
		c := &f.Code[i]
		if c.Here {
			p.Raw("<b>")
		}
		p.Raw("<span>", c.Address.String(), "</span>  ")
		if c.Text != "" {
			p.Text(c.Text, maxName)
		} else {
			p.Text("(not decoded: "+c.Bytes+")", maxName)
		}
		if c.Here {
			p.Raw("</b>")
		} else {
			p.Raw("\n")
		}
	}
	p.Raw("</pre></details>")
}

func (p *page) variables(f *report.Frame) {
	if len(f.Args)+len(f.Locals) == 0 {
		return
	}
	p.Raw(`<table class="vars"><tbody>`)
	n := 0
	for _, of := range []struct {
		class string
		list  []report.Variable
	}{{"arg", f.Args}, {"", f.Locals}} {
		for i := range of.list {
			if n++; n <= maxVars && !p.full() {
				p.variable(&of.list[i], of.class)
			}
		}
	}
	if n > maxVars {
		p.Raw(`<tr><td colspan="3" class="more">`, count(n-maxVars, "variable"), " left out</td></tr>")
	}
	p.Raw("</tbody></table>")
}

func (p *page) variable(v *report.Variable, class string) {
	p.Raw(`<tr><th scope="row"`)
	if class != "" {
		p.Raw(` class="`, class, `" title="argument"`)
	}
	p.Raw(">")
	p.Text(v.Name, maxName)
	p.Raw("</th><td>")
	switch known := v.Status == report.StatusSuccess || v.Status == "" && v.Reason == ""; {
	case !known:
		reason := v.Reason
		if reason == "" {
			reason = v.Status
		}
		p.El("i", "dim t", reason, maxValue)
	case v.Data != nil && len(v.Data.Children) > 0:
		left := maxParts
		p.Raw(`<details class="fold"><summary>`)
		p.El("code", "t", v.Value, 160)
		p.Raw("</summary>")
		p.tree(v.Data, 0, &left)
		p.Raw("</details>")
	default:
		p.El("code", "t", v.Value, maxValue)
	}
	if v.Doubtful {
		p.Raw(` <span class="mark">doubtful</span>`)
	}
	if v.Entry != "" {
		p.Raw(` <span class="dim">at the call </span>`)
		p.El("code", "t", v.Entry, maxValue)
	}
	p.Raw("</td>")
	p.El("td", "type t", v.Type, maxName)
	p.Raw("</tr>\n")
}

// tree writes the parts of a value.
func (p *page) tree(d *report.Data, depth int, left *int) {
	p.Raw(`<ul class="tree">`)
	for i := range d.Children {
		if *left--; *left < 0 || depth >= maxDepth || p.full() {
			p.Raw(`<li class="more">…</li>`)
			break
		}
		c := &d.Children[i]
		p.Raw("<li>")
		switch {
		case c.Key != nil:
			p.Raw("<code>[")
			p.Text(c.Key.Text, maxName)
			p.Raw("]</code> = ")
		case c.Name != "":
			p.El("code", "t", c.Name, maxName)
			p.Raw(" = ")
		default:
			p.Raw(`<span class="dim">[`, strconv.Itoa(i), "]</span> ")
		}
		if c.Data.Error != "" {
			p.El("i", "t", c.Data.Error, maxName)
		} else if c.Data.Text != "" {
			p.El("code", "t", c.Data.Text, maxValue)
		}
		if c.Repeat > 1 {
			p.Raw(` <span class="dim">`, strconv.Itoa(c.Repeat), " times</span>")
		}
		if len(c.Data.Children) > 0 {
			p.tree(&c.Data, depth+1, left)
		}
		p.Raw("</li>")
	}
	if d.Truncated {
		p.Raw(`<li class="more">…</li>`)
	}
	p.Raw("</ul>")
}
