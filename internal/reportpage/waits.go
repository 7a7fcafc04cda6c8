package reportpage

import (
	"fmt"
	"math"
	"strconv"

	"github.com/corewalk/corewalk/internal/htmlpage"
	"github.com/corewalk/corewalk/report"
)

// Limits of drawings: of more a list says who waits.
const (
	maxRing    = 24 // tasks of a circle that is drawn
	maxWaiters = 16 // of an object
	maxObjects = 20
	maxTitle   = 4 * maxName // of what is cut already
)

// A Drawing is boxes with arrows between them, in pixels, and the same in words. The page of one file draws it, and so does the page of a crash service. What of it is
// text may be shown.
type Drawing struct {
	Title  string   `json:"title"`
	Label  string   `json:"label,omitempty"` // what is drawn; "" if it is too large to be
	Wide   int      `json:"wide,omitempty"`
	High   int      `json:"high,omitempty"`
	Boxes  []Box    `json:"boxes,omitempty"`
	Arrows []Arrow  `json:"arrows,omitempty"`
	Lines  []string `json:"lines,omitempty"`
	More   string   `json:"more,omitempty"` // what is left out
}

// A Box is a thing, a Ring one of a circle.
type Box struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Wide  int     `json:"wide"`
	High  int     `json:"high"`
	Ring  bool    `json:"ring,omitempty"`
	Texts []Label `json:"texts"`
}

// An Arrow is a path as SVG has it.
type Arrow struct {
	Path string `json:"d"`
	Ring bool   `json:"ring,omitempty"`
	Text *Label `json:"text,omitempty"`
}

// A Label is text around a middle.
type Label struct {
	X     float64 `json:"x"`
	Y     float64 `json:"y"`
	Text  string  `json:"text"`
	Small bool    `json:"small,omitempty"`
}

// Waits draws who waits for whom: circles first, then what several tasks wait for.
func Waits(r *report.Report) (list []Drawing) {
	for i := range r.Deadlocks[:min(len(r.Deadlocks), maxObjects)] {
		list = append(list, deadlock(&r.Deadlocks[i]))
	}
	for i := range r.Contended[:min(len(r.Contended), maxObjects)] {
		list = append(list, contended(&r.Contended[i]))
	}
	return list
}

// waits writes the drawings of who waits for whom.
func (p *page) waits() {
	if len(p.r.Deadlocks)+len(p.r.Contended) == 0 || p.full() {
		return
	}
	p.Raw("<h2>Who waits for whom</h2>\n")
	for _, d := range Waits(p.r) {
		p.drawing(&d)
	}
}

func (p *page) drawing(d *Drawing) {
	p.Raw("<h3>")
	p.Text(d.Title, maxTitle)
	p.Raw("</h3>\n")
	if d.Label != "" {
		wide, high := strconv.Itoa(d.Wide), strconv.Itoa(d.High)
		p.Raw(`<figure tabindex="0"><svg role="img" aria-label="`, d.Label, `" width="`, wide, `" height="`, high, `" viewBox="0 0 `, wide, " ", high,
			`"><defs><marker id="cw-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>`)
		for i := range d.Arrows {
			a := &d.Arrows[i]
			p.Raw(`<path class="edge`, ringClass(a.Ring), `" d="`, a.Path, `"/>`)
			if a.Text != nil {
				p.label(a.Text)
			}
		}
		for i := range d.Boxes {
			b := &d.Boxes[i]
			p.Raw(`<rect class="node`, ringClass(b.Ring), `" x="`, px(b.X), `" y="`, px(b.Y), `" width="`, strconv.Itoa(b.Wide), `" height="`, strconv.Itoa(b.High), `" rx="5"/>`)
			for k := range b.Texts {
				p.label(&b.Texts[k])
			}
		}
		p.Raw("</svg></figure>\n")
	}
	if len(d.Lines) > 0 {
		p.Raw("<ul>")
		for _, line := range d.Lines {
			p.El("li", "t", line, maxTitle)
		}
		p.Raw("</ul>")
	}
	if d.More != "" {
		p.Raw(`<p class="dim">`, d.More, "</p>\n")
	}
}

func ringClass(ring bool) string {
	if ring {
		return " ring"
	}
	return ""
}

func (p *page) label(l *Label) {
	class := ""
	if l.Small {
		class = `class="label" `
	}
	p.Raw(`<text `, class, `text-anchor="middle" x="`, px(l.X), `" y="`, px(l.Y), `">`)
	p.Text(l.Text, maxName)
	p.Raw("</text>")
}

// cut makes a text of any origin safe to show, and at most so long, in bytes.
func cut(s string, most int) string { return htmlpage.Fit(s, most, report.Clean) }

func refText(t report.TaskRef) string { return t.Kind + " " + taskID(t.Kind, t.ID) }

// Sizes of drawings, in pixels.
const (
	boxWide, boxHigh = 190, 44
	gap              = 150
)

func deadlock(r *report.Deadlock) Drawing {
	d := Drawing{Title: "Deadlock of " + count(len(r.Tasks), "task")}
	if r.Asleep {
		d.Title = "All asleep of " + count(len(r.Tasks), "task")
	}
	if r.Certainty != "" {
		d.Title += cut(" ["+r.Certainty+"]", maxName)
	}
	if !r.Asleep && len(r.Tasks) <= maxRing {
		d.ring(r)
	}
	for i, t := range r.Tasks[:min(len(r.Tasks), 200)] {
		line := cut(refText(t), maxName)
		if i < len(r.Objects) {
			line += cut(" waits for "+objectText(&r.Objects[i]), maxName)
		}
		if i < len(r.Places) && r.Places[i].Function != "" {
			line += cut(" in "+placeText(&r.Places[i]), maxName)
		}
		d.Lines = append(d.Lines, line)
	}
	if len(r.Behind) > 0 {
		d.More = count(len(r.Behind), "other") + " wait behind it"
	}
	return d
}

func placeText(w *report.WaitPlace) string {
	s := report.BriefFunction(w.Function, 80)
	if w.Source.File != "" {
		s += fmt.Sprintf(" at %s:%d", report.Base(w.Source.File), w.Source.Line)
	}
	return s
}

// ring draws tasks on a circle, each with an arrow to the next.
func (d *Drawing) ring(r *report.Deadlock) {
	n := len(r.Tasks)
	radius := 0.0
	if n > 1 {
		radius = max(float64(gap), float64(boxWide)*float64(n)/math.Pi/1.6)
	}
	d.Wide, d.High, d.Label = int(2*radius)+2*boxWide, int(1.3*radius)+3*boxHigh, "a circle of tasks, each of which waits for the next"
	at := func(i int) (x, y float64) {
		a := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
		if n == 2 {
			a = math.Pi * float64(i)
		}
		return float64(d.Wide)/2 + radius*math.Cos(a), float64(d.High)/2 + 0.65*radius*math.Sin(a)
	}
	for i := range n {
		x1, y1 := at(i)
		x2, y2 := at((i + 1) % n)
		label := ""
		if i < len(r.Objects) {
			label = objectText(&r.Objects[i])
		}
		bend := 0.0
		if n <= 2 {
			bend = 40
		}
		d.edge(x1, y1, x2, y2, bend, label, true)
	}
	for i, t := range r.Tasks {
		x, y := at(i)
		where := ""
		if i < len(r.Places) {
			where = placeText(&r.Places[i])
		}
		d.node(x, y, refText(t), where, true)
	}
}

// contended draws an object, who holds it, and who waits.
func contended(c *report.Contended) Drawing {
	waiters := c.Waiters[:min(len(c.Waiters), maxWaiters)]
	holders := c.Holders[:min(len(c.Holders), maxWaiters)]
	rows := max(len(waiters), len(holders), 1)
	d := Drawing{Title: cut(c.Kind+" "+objectText(&c.Object), maxName) + ": " + count(len(c.Waiters), "waiter"),
		Label: "who waits for an object, and who holds it", Wide: 3*boxWide + 2*gap, High: rows*(boxHigh+12) + 20}
	middleY := float64(d.High) / 2
	y := func(i, of int) float64 { return float64(d.High) * (float64(i) + 0.5) / float64(of) }
	const left, middle, right = boxWide / 2, boxWide/2 + boxWide + gap, boxWide/2 + 2*(boxWide+gap)
	for i := range waiters {
		d.edge(left, y(i, len(waiters)), middle, middleY, 0, "", false)
	}
	for i := range holders {
		d.edge(middle, middleY, right, y(i, len(holders)), 0, "held by", false)
	}
	for i, t := range waiters {
		d.node(left, y(i, len(waiters)), refText(t), "", false)
	}
	d.node(middle, middleY, objectText(&c.Object), c.Object.Type, false)
	for i, h := range holders {
		where := ""
		if h.AcquiredAt != nil {
			where = "taken in " + report.BriefFunction(h.AcquiredAt.Function, 60)
		}
		d.node(right, y(i, len(holders)), h.Kind+" "+taskID(h.Kind, h.ID), where, false)
	}
	if more := len(c.Waiters) - len(waiters); more > 0 {
		d.More = "and " + count(more, "more waiter")
	}
	return d
}

func px(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func (d *Drawing) node(x, y float64, name, where string, ring bool) {
	b := Box{X: x - boxWide/2, Y: y - boxHigh/2, Wide: boxWide, High: boxHigh, Ring: ring}
	up := 4.0
	if where != "" {
		up = -4
	}
	b.Texts = []Label{{X: x, Y: y + up, Text: cut(name, 26)}}
	if where != "" {
		b.Texts = append(b.Texts, Label{X: x, Y: y + 14, Text: cut(where, 30), Small: true})
	}
	d.Boxes = append(d.Boxes, b)
}

// edge draws an arrow from box to box, which ends at the border of the second.
func (d *Drawing) edge(x1, y1, x2, y2, bend float64, label string, ring bool) {
	add := func(x, y float64, path string) {
		a := Arrow{Path: path, Ring: ring}
		if label != "" {
			a.Text = &Label{X: x, Y: y, Text: cut(label, 40), Small: true}
		}
		d.Arrows = append(d.Arrows, a)
	}
	if x1 == x2 && y1 == y2 { // waits for itself
		add(x1, y1-1.55*boxHigh, "M"+px(x1-40)+" "+px(y1-boxHigh/2)+"C"+px(x1-60)+" "+px(y1-2*boxHigh)+" "+px(x1+60)+" "+px(y1-2*boxHigh)+" "+px(x1+40)+" "+px(y1-boxHigh/2))
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
	add(mx, my-3, "M"+px(ax)+" "+px(ay)+"Q"+px(mx)+" "+px(my)+" "+px(bx)+" "+px(by))
}
