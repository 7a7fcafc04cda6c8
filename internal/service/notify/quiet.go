package notify

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Quiet hours are times of a day in which nothing is sent: "22:00-07:00", "22:00-07:00 Europe/Berlin".
type Quiet struct {
	from, to time.Duration
	where    *time.Location
}

var errQuiet = errors.New("quiet hours: must be such as 22:00-07:00, or 22:00-07:00 Europe/Berlin")

// ParseQuiet reads quiet hours; "" are none.
func ParseQuiet(text string) (*Quiet, error) {
	if text == "" {
		return nil, nil
	}
	times, zone, _ := strings.Cut(text, " ")
	from, to, ok := strings.Cut(times, "-")
	if !ok || len(text) > 80 {
		return nil, errQuiet
	}
	q := &Quiet{where: time.UTC}
	for _, x := range []struct {
		text string
		to   *time.Duration
	}{{from, &q.from}, {to, &q.to}} {
		t, err := time.Parse("15:04", x.text)
		if err != nil {
			return nil, errQuiet
		}
		*x.to = time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	if q.from == q.to {
		return nil, errQuiet
	}
	if zone != "" {
		var err error
		if q.where, err = time.LoadLocation(zone); err != nil {
			return nil, fmt.Errorf("%w: the zone %.40q is not known", errQuiet, zone)
		}
	}
	return q, nil
}

// Until returns when the quiet hours in which a moment is end; false if it is in none.
func (q *Quiet) Until(now time.Time) (time.Time, bool) {
	if q == nil {
		return now, false
	}
	now = now.In(q.where)
	clock := time.Duration(now.Hour())*time.Hour + time.Duration(now.Minute())*time.Minute
	at := func(day int) time.Time { // by the clock of that day, which may not have 24 hours
		return time.Date(now.Year(), now.Month(), now.Day()+day, int(q.to.Hours()), int(q.to.Minutes())%60, 0, 0, q.where)
	}
	switch {
	case q.from < q.to && clock >= q.from && clock < q.to, q.from > q.to && clock < q.to:
		return at(0), true
	case q.from > q.to && clock >= q.from:
		return at(1), true
	}
	return now, false
}
