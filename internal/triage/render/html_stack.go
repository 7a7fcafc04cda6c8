package render

import (
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/report"
)

func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// stack writes the representative's stack, innermost first.
func (p *page) stack(g *pageGroup) {
	frames := g.frames()
	if len(frames) == 0 {
		if len(g.Frames) > 0 {
			p.functions(g.Frames)
		}
		return
	}
	look := g.look(frames)
	p.raw(`<ol class="stack">`)
	for i := range frames {
		if left := len(frames) - maxInnerFrames - maxOuterFrames; left > 0 && i >= maxInnerFrames && i < maxInnerFrames+left {
			if i == maxInnerFrames {
				// A shortened report has the frame numbers of the whole stack.
				all := max(len(frames), frames[len(frames)-1].Index+1)
				p.raw(`<li class="gap">`, count(all-maxInnerFrames-maxOuterFrames, "frame"), " left out</li>")
			}
			continue
		}
		p.frame(&frames[i], i == look)
	}
	p.raw("</ol>")
	th := &g.report.Threads[0]
	if th.End != "" && th.End != report.EndBottom {
		p.raw(`<p class="more">The stack ends here: `)
		p.el("span", "t", firstOf(th.EndDetail, th.End), maxPageWords)
		p.raw("</p>")
	}
	p.registers(th)
}

// functions is shown instead of a stack that was not kept.
func (p *page) functions(names []string) {
	p.raw(`<ol class="stack">`)
	for i, name := range names[:min(len(names), maxInnerFrames)] {
		p.raw(`<li><div class="f"><span class="no">`, strconv.Itoa(i), `</span> `)
		p.el("code", "fn", name, maxPageName)
		p.raw("</div></li>")
	}
	p.raw("</ol>")
}

// look returns the frame to look at first: the one that the report names, else the innermost with a source
// line.
func (g *pageGroup) look(frames []report.Frame) int {
	if c := g.report.Crash; c != nil && c.Frame != nil {
		return *c.Frame
	}
	for i := range frames {
		if frames[i].Source.Line > 0 {
			return i
		}
	}
	return -1
}

// frame writes one frame; its variables are folded.
func (p *page) frame(f *report.Frame, look bool) {
	p.raw("<li")
	if f.Inlined || f.Tail {
		p.raw(` class="virtual"`)
	}
	p.raw(">")
	vars := len(f.Args) + len(f.Locals)
	switch {
	case f.Signal != "":
		p.raw(`<div class="f"><span class="no">`, strconv.Itoa(f.Index), `</span> <span class="signal">`)
		name := f.Signal
		if name == report.UnknownSignal {
			name = "a signal"
		}
		p.text(name, maxPageID)
		p.raw(" delivered here")
		if f.SignalConfidence != "" {
			p.text(" ["+f.SignalConfidence+"]", maxPageID)
		}
		p.raw("</span></div>")
	case vars == 0:
		p.raw(`<div class="f">`)
		p.call(f)
		p.raw("</div>")
	default:
		p.raw("<details")
		if look {
			p.raw(" open")
		}
		p.raw(`><summary class="f">`)
		p.call(f)
		p.raw(`</summary><div class="scroll"><table class="vars"><tbody>`)
		p.vars("argument", f.Args)
		p.vars("local", f.Locals)
		p.raw("</tbody></table></div></details>")
	}
	p.raw("</li>")
}

// call writes the line of a frame.
func (p *page) call(f *report.Frame) {
	p.raw(`<span class="no">`, strconv.Itoa(f.Index), "</span> ")
	if f.Function != "" {
		p.raw(`<code class="fn"`)
		short := report.BriefFunction(f.Function, maxFunction)
		if short != f.Function {
			p.attr("title", f.Function, maxPageValue)
		}
		p.raw(">")
		p.text(short, maxPageName)
		p.raw("</code>")
		p.arguments(f.Args)
	} else {
		p.el("code", "pc", f.PC.String(), maxPageID)
	}
	if f.Source.File != "" {
		where := report.Base(f.Source.File)
		if f.Source.Line > 0 {
			where += ":" + strconv.Itoa(f.Source.Line)
		}
		p.raw(` <code class="src"`)
		p.attr("title", f.Source.File, maxPagePath)
		p.raw(">")
		p.text(where, maxPageName)
		p.raw("</code>")
	}
	if f.Module != "" {
		where := report.Base(f.Module)
		if f.Source.File == "" {
			where += "+" + f.Offset.String()
		}
		p.raw(` <span class="mod"`)
		p.attr("title", f.Module, maxPagePath)
		p.raw(">")
		p.text(where, maxPageID)
		p.raw("</span>")
	}
	for _, m := range frameMarks(f) {
		p.raw(` <span class="mark" title="`, m.why, `">`, m.name, "</span>")
	}
}

// Limits on names and arguments in a frame's line, in characters; the folded part has all arguments.
const (
	maxFunction  = 90
	maxArgument  = 24
	maxArguments = 80
)

// arguments returns the arguments of a call, shortened to fit a line.
func (p *page) arguments(args []report.Variable) {
	if args == nil {
		return
	}
	var b strings.Builder
	for i := range args {
		if b.Len() > maxArguments {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		value := "…"
		if known(&args[i]) {
			value = fit(args[i].Value, maxArgument)
		}
		b.WriteString(fit(args[i].Name, maxArgument) + "=" + value)
	}
	p.el("code", "args", "("+b.String()+")", 2*maxPageName)
}

func known(v *report.Variable) bool {
	return v.Status == report.StatusSuccess || v.Status == "" && v.Reason == ""
}

func (p *page) vars(what string, list []report.Variable) {
	for i := range list[:min(len(list), maxFrameVars)] {
		v := &list[i]
		p.raw("<tr><th scope=\"row\"")
		if what == "argument" {
			p.raw(` class="arg"`)
		}
		p.raw(">")
		p.text(v.Name, maxPageName)
		p.raw("</th><td>")
		if known(v) {
			p.el("code", "t", v.Value, maxPageValue)
		} else {
			p.el("i", "t", firstOf(v.Reason, v.Status), maxPageValue)
		}
		if v.Entry != "" {
			p.raw(` <span class="dim">at the call </span>`)
			p.el("code", "t", v.Entry, maxPageValue)
		}
		p.raw("</td>")
		p.el("td", "type t", v.Type, maxPageName)
		p.raw("</tr>")
	}
	if n := len(list) - maxFrameVars; n > 0 {
		p.raw(`<tr><td colspan="3" class="more">`, count(n, "more "+what), "</td></tr>")
	}
}

// registers writes the thread's registers when it died.
func (p *page) registers(th *report.Thread) {
	if len(th.Registers) == 0 {
		return
	}
	p.raw(`<details class="regs"><summary>Registers</summary><div class="grid">`)
	for _, r := range th.Registers[:min(len(th.Registers), 80)] {
		p.raw("<code><b>")
		p.text(r.Name, 16)
		p.raw("</b> ", r.Value.String(), "</code>")
	}
	p.raw("</div></details>")
}

// A mark is a word for what is special about a frame, and its explanation. Both are constants.
type mark struct{ name, why string }

// trustMarks are the ways to find a frame that are less certain than unwind tables, in the words of the text
// report.
var trustMarks = [...]struct {
	trust string
	mark
}{
	{report.TrustFramePointer, mark{"fp", "found by frame pointer"}},
	{report.TrustAnalysis, mark{"analysis", "found by following the function's machine code"}},
	{report.TrustWildPC, mark{"wild-pc", "found after a call through a wild pointer"}},
	{report.TrustInstrumentation, mark{"instrumentation", "found through instrumented code"}},
	{report.TrustUser, mark{"user", "found by the program that uses corewalk"}},
	{report.TrustScan, mark{"scan?", "a return address found by scanning the stack: may be wrong"}},
}

func frameMarks(f *report.Frame) []mark {
	var list []mark
	if f.Inlined {
		list = append(list, mark{"inlined", "inlined into the frame below"})
	}
	if f.Tail {
		list = append(list, mark{"tail", "made a tail call: it has no frame of its own"})
	}
	if f.Merged != nil && f.Merged.Decided() == nil {
		list = append(list, mark{"merged call", "the compiler made one call of several: others of this function or of those inlined into it are possible"})
	}
	for _, t := range trustMarks {
		if t.trust == f.Trust && !f.Inlined && !f.Tail {
			list = append(list, t.mark)
		}
	}
	if f.Mismatched {
		list = append(list, mark{"mismatched file", "the file is from a different build than the process used"})
	}
	return list
}
