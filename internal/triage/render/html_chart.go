package render

import (
	"fmt"
	"strconv"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// An axis divides the time range of dumps into equal steps; the zero axis has none.
type axis struct {
	start, step int64 // seconds since 1970, seconds
	n           int   // steps
	unit        string
	unusable    int // dumps whose time is not plausible
}

// Limits of an axis, in steps.
const (
	maxHours  = 72
	minHours  = 24
	maxSteps  = 120
	minSteps  = 14
	hour      = 3600
	day24     = 24 * hour
	week      = 7 * day24
	monday    = -3 * day24 // start of a week, in seconds since 1970
	sparkHigh = 20         // height of a group's chart, in its own units
)

// usable reports whether a dump can have that time: some writers have no clock, and headers may contain
// anything.
func usable(t, now time.Time) bool {
	return t.Year() >= 1990 && t.Before(now.Add(24*time.Hour))
}

// newAxis chooses steps that fit the dumps: hours for a few days, else days, else weeks.
func newAxis(dumps []ledger.Dump, now time.Time) axis {
	var a axis
	var first, last int64
	for i := range dumps {
		if dumps[i].FaultKind != "" {
			continue // it has no group, and its time is the file's
		}
		if !usable(dumps[i].Time, now) {
			a.unusable++
			continue
		}
		t := dumps[i].Time.Unix()
		if last == 0 {
			first, last = t, t
		}
		first, last = min(first, t), max(last, t)
	}
	if last == 0 {
		return a
	}
	least := minSteps
	switch span := last - first; {
	case span < maxHours*hour:
		a.step, a.unit, least = hour, "hour", minHours
	case span < (maxSteps-1)*day24:
		a.step, a.unit = day24, "day"
	default:
		weeks := span/(week*(maxSteps-1)) + 1
		a.step, a.unit = weeks*week, "week"
		if weeks > 1 {
			a.unit = fmt.Sprintf("%d weeks", weeks)
		}
	}
	a.start = a.floor(first)
	a.n = int((a.floor(last)-a.start)/a.step) + 1
	if a.n < least { // show the quiet time before a few bars
		a.start -= int64(least-a.n) * a.step
		a.n = least
	}
	return a
}

// floor returns the start of the step that contains t.
func (a *axis) floor(t int64) int64 {
	origin := int64(0)
	if a.step >= week {
		origin = monday
	}
	return t - (t-origin)%a.step
}

// bucket returns the step of a time, -1 if it is outside.
func (a *axis) bucket(t time.Time) int {
	if a.n == 0 {
		return -1
	}
	s := t.Unix() - a.start
	if s < 0 || s >= int64(a.n)*a.step {
		return -1
	}
	return int(s / a.step)
}

// label names a step.
func (a *axis) label(i int) string {
	t := time.Unix(a.start+int64(i)*a.step, 0).UTC()
	if a.step < day24 {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format(time.DateOnly)
}

// timeline draws the number of dumps over time.
func (p *page) timeline() {
	a := &p.axis
	if a.n == 0 {
		return
	}
	counts := make([]int, a.n)
	for i := range p.rows {
		for b, n := range p.rows[i].steps {
			counts[b] += n
		}
	}
	most, when := 1, 0
	for i, n := range counts {
		if n > most {
			most, when = n, i
		}
	}
	p.raw(`<section class="timeline" aria-labelledby="cw-when"><h2 id="cw-when">Dumps per `, a.unit, `</h2><figure><svg viewBox="0 0 `,
		strconv.Itoa(a.n), ` 100" preserveAspectRatio="none" role="img" aria-label="`, "From ", a.label(0), " to ", a.label(a.n-1), ", at most ",
		strconv.Itoa(most), " at ", a.label(when), `">`)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		high := max(2, 100*n/most)
		p.raw(`<rect x="`, strconv.Itoa(i), `.08" y="`, strconv.Itoa(100-high), `" width=".84" height="`, strconv.Itoa(high), `"><title>`,
			a.label(i), ": ", count(n, "dump"), "</title></rect>")
	}
	p.raw(`</svg><figcaption><span>`, a.label(0), `</span><span>at most `, thousands(most), `</span><span>`, a.label(a.n-1), "</span></figcaption></figure>")
	if a.unusable > 0 {
		p.raw(`<p class="more">`, count(a.unusable, "dump"), " without a plausible time</p>")
	}
	p.raw("</section>\n")
}

// spark returns the path of a group's own chart: a stroke for each step that has dumps.
func (a *axis) spark(counts map[int]int) string {
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	var b []byte
	for i := 0; i < a.n && most > 0; i++ {
		if n := counts[i]; n > 0 {
			b = append(b, 'M')
			b = strconv.AppendInt(b, int64(i), 10)
			b = append(b, ".5 "...)
			b = strconv.AppendInt(b, sparkHigh, 10)
			b = append(b, 'V')
			b = strconv.AppendInt(b, int64(min(sparkHigh-2, sparkHigh-sparkHigh*n/most)), 10)
		}
	}
	return string(b)
}
