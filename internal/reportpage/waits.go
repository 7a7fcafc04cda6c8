package reportpage

import (
	"fmt"
	"math"
	"strconv"

	"github.com/corewalk/corewalk/report"
)

// Limits of drawings: of more a list says who waits.
const (
	maxRing    = 24 // tasks of a circle that is drawn
	maxWaiters = 16 // of an object
	maxObjects = 20
)

// waits draws who waits for whom: circles first, then what several tasks wait for.
func (p *page) waits() {
	if len(p.r.Deadlocks)+len(p.r.Contended) == 0 || p.full() {
		return
	}
	p.Raw("<h2>Who waits for whom</h2>\n")
	for i := range p.r.Deadlocks[:min(len(p.r.Deadlocks), maxObjects)] {
		p.deadlock(&p.r.Deadlocks[i])
	}
	for i := range p.r.Contended[:min(len(p.r.Contended), maxObjects)] {
		p.contended(&p.r.Contended[i])
	}
}

func refText(t report.TaskRef) string { return t.Kind + " " + taskID(t.Kind, t.ID) }

// Sizes of drawings, in pixels.
const (
	boxWide, boxHigh = 190, 44
	gap              = 150
)

func (p *page) deadlock(d *report.Deadlock) {
	what := "Deadlock"
	if d.Asleep {
		what = "All asleep"
	}
	p.Raw("<h3>", what, " of ", count(len(d.Tasks), "task"))
	if d.Certainty != "" {
		p.Text(" ["+d.Certainty+"]", maxName)
	}
	p.Raw("</h3>\n")
	if n := len(d.Tasks); !d.Asleep && n <= maxRing {
		p.ring(d)
	}
	p.Raw("<ul>")
	for i, t := range d.Tasks[:min(len(d.Tasks), 200)] {
		p.Raw(`<li class="t">`)
		p.Text(refText(t), maxName)
		if i < len(d.Objects) {
			p.Text(" waits for "+objectText(&d.Objects[i]), maxName)
		}
		if i < len(d.Places) && d.Places[i].Function != "" {
			p.Text(" in "+placeText(&d.Places[i]), maxName)
		}
		p.Raw("</li>")
	}
	p.Raw("</ul>")
	if len(d.Behind) > 0 {
		p.Raw(`<p class="dim">`, count(len(d.Behind), "other"), " wait behind it</p>")
	}
}

func placeText(w *report.WaitPlace) string {
	s := report.BriefFunction(w.Function, 80)
	if w.Source.File != "" {
		s += fmt.Sprintf(" at %s:%d", report.Base(w.Source.File), w.Source.Line)
	}
	return s
}

// ring draws tasks on a circle, each with an arrow to the next.
func (p *page) ring(d *report.Deadlock) {
	n := len(d.Tasks)
	radius := 0.0
	if n > 1 {
		radius = max(float64(gap), float64(boxWide)*float64(n)/math.Pi/1.6)
	}
	wide, high := int(2*radius)+2*boxWide, int(1.3*radius)+3*boxHigh
	at := func(i int) (x, y float64) {
		a := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
		if n == 2 {
			a = math.Pi * float64(i)
		}
		return float64(wide)/2 + radius*math.Cos(a), float64(high)/2 + 0.65*radius*math.Sin(a)
	}
	p.open(wide, high, "a circle of tasks, each of which waits for the next")
	for i := range n {
		x1, y1 := at(i)
		x2, y2 := at((i + 1) % n)
		label := ""
		if i < len(d.Objects) {
			label = objectText(&d.Objects[i])
		}
		bend := 0.0
		if n <= 2 {
			bend = 40
		}
		p.edge(x1, y1, x2, y2, bend, label, true)
	}
	for i, t := range d.Tasks {
		x, y := at(i)
		where := ""
		if i < len(d.Places) {
			where = placeText(&d.Places[i])
		}
		p.node(x, y, refText(t), where, true)
	}
	p.Raw("</svg></figure>\n")
}

// contended draws an object, who holds it, and who waits.
func (p *page) contended(c *report.Contended) {
	p.Raw("<h3>")
	p.Text(c.Kind+" "+objectText(&c.Object), maxName)
	p.Raw(": ", count(len(c.Waiters), "waiter"), "</h3>\n")
	waiters := c.Waiters[:min(len(c.Waiters), maxWaiters)]
	holders := c.Holders[:min(len(c.Holders), maxWaiters)]
	rows := max(len(waiters), len(holders), 1)
	high := rows*(boxHigh+12) + 20
	p.open(3*boxWide+2*gap, high, "who waits for an object, and who holds it")
	y := func(i, of int) float64 { return float64(high) * (float64(i) + 0.5) / float64(of) }
	const left, middle, right = boxWide / 2, boxWide/2 + boxWide + gap, boxWide/2 + 2*(boxWide+gap)
	for i := range waiters {
		p.edge(left, y(i, len(waiters)), middle, float64(high)/2, 0, "", false)
	}
	for i := range holders {
		p.edge(middle, float64(high)/2, right, y(i, len(holders)), 0, "held by", false)
	}
	for i, t := range waiters {
		p.node(left, y(i, len(waiters)), refText(t), "", false)
	}
	p.node(middle, float64(high)/2, objectText(&c.Object), c.Object.Type, false)
	for i, h := range holders {
		where := ""
		if h.AcquiredAt != nil {
			where = "taken in " + report.BriefFunction(h.AcquiredAt.Function, 60)
		}
		p.node(right, y(i, len(holders)), h.Kind+" "+taskID(h.Kind, h.ID), where, false)
	}
	p.Raw("</svg></figure>\n")
	if more := len(c.Waiters) - len(waiters); more > 0 {
		p.Raw(`<p class="dim">and `, count(more, "more waiter"), "</p>\n")
	}
}

func (p *page) open(wide, high int, what string) {
	p.Raw(`<figure tabindex="0"><svg role="img" aria-label="`, what, `" width="`, strconv.Itoa(wide), `" height="`, strconv.Itoa(high), `" viewBox="0 0 `, strconv.Itoa(wide), " ", strconv.Itoa(high),
		`"><defs><marker id="cw-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>`)
}

func px(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func (p *page) node(x, y float64, name, where string, ring bool) {
	class := "node"
	if ring {
		class = "node ring"
	}
	p.Raw(`<rect class="`, class, `" x="`, px(x-boxWide/2), `" y="`, px(y-boxHigh/2), `" width="`, strconv.Itoa(boxWide), `" height="`, strconv.Itoa(boxHigh), `" rx="5"/>`)
	up := 4.0
	if where != "" {
		up = -4
	}
	p.Raw(`<text text-anchor="middle" x="`, px(x), `" y="`, px(y+up), `">`)
	p.Text(name, 26)
	p.Raw("</text>")
	if where != "" {
		p.Raw(`<text class="label" text-anchor="middle" x="`, px(x), `" y="`, px(y+14), `">`)
		p.Text(where, 30)
		p.Raw("</text>")
	}
}

// edge draws an arrow from box to box, which ends at the border of the second.
func (p *page) edge(x1, y1, x2, y2, bend float64, label string, ring bool) {
	class := "edge"
	if ring {
		class = "edge ring"
	}
	if x1 == x2 && y1 == y2 { // waits for itself
		p.Raw(`<path class="`, class, `" d="M`, px(x1-40), " ", px(y1-boxHigh/2), "C", px(x1-60), " ", px(y1-2*boxHigh), " ", px(x1+60), " ", px(y1-2*boxHigh), " ", px(x1+40), " ", px(y1-boxHigh/2), `"/>`)
		p.label(x1, y1-1.55*boxHigh, label)
		return
	}
	dx, dy := x2-x1, y2-y1
	t := 1.0 // how far to the border
	if dx != 0 {
		t = min(t, boxWide/2/math.Abs(dx))
	}
	if dy != 0 {
		t = min(t, max(boxHigh/2/math.Abs(dy), 0))
	}
	if dx != 0 && dy != 0 {
		t = min(boxWide/2/math.Abs(dx), boxHigh/2/math.Abs(dy), 1)
	}
	ax, ay, bx, by := x1+dx*t, y1+dy*t, x2-dx*t, y2-dy*t
	length := math.Hypot(dx, dy)
	mx, my := (ax+bx)/2-dy/length*bend, (ay+by)/2+dx/length*bend
	p.Raw(`<path class="`, class, `" d="M`, px(ax), " ", px(ay), "Q", px(mx), " ", px(my), " ", px(bx), " ", px(by), `"/>`)
	p.label(mx, my-3, label)
}

func (p *page) label(x, y float64, text string) {
	if text == "" {
		return
	}
	p.Raw(`<text class="label" text-anchor="middle" x="`, px(x), `" y="`, px(y), `">`)
	p.Text(text, 40)
	p.Raw("</text>")
}
