package notify

import (
	"testing"
	"time"
)

// Quiet hours end at their time of the day, by the clock of their zone.
func TestQuiet(t *testing.T) {
	for _, c := range []struct{ hours, now, end string }{
		{"22:00-07:00", "2026-03-01T23:00:00Z", "2026-03-02T07:00:00Z"}, {"22:00-07:00", "2026-03-01T06:59:59Z", "2026-03-01T07:00:00Z"},
		{"22:00-07:00", "2026-03-01T07:00:00Z", ""}, {"22:00-07:00", "2026-03-01T21:59:59Z", ""}, {"22:00-07:00", "2026-03-01T22:00:00Z", "2026-03-02T07:00:00Z"},
		{"12:00-13:30", "2026-03-01T12:00:00Z", "2026-03-01T13:30:00Z"}, {"12:00-13:30", "2026-03-01T13:30:00Z", ""},
		{"22:00-07:00 Europe/Berlin", "2026-07-01T20:30:00Z", "2026-07-02T05:00:00Z"}, {"22:00-07:00 Europe/Berlin", "2026-07-01T05:30:00Z", ""},
		{"22:00-07:00 Europe/Berlin", "2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"}, // the night in which the clock goes forward
		{"", "2026-03-01T23:00:00Z", ""},
	} {
		q, err := ParseQuiet(c.hours)
		if err != nil {
			t.Fatal(c.hours, err)
		}
		now, _ := time.Parse(time.RFC3339, c.now)
		end, is := q.Until(now)
		if is != (c.end != "") || is && end.UTC().Format(time.RFC3339) != c.end {
			t.Errorf("%s at %s: %v %v, want %s", c.hours, c.now, end.UTC(), is, c.end)
		}
	}
	for _, text := range []string{"x", "22:00", "22:00-", "25:00-07:00", "22:00-22:00", "22:00-07:00 Nowhere/Else", "22:00-07:00 ../../etc/passwd"} {
		if _, err := ParseQuiet(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
