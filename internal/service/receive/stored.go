package receive

import (
	"encoding/json"
	"strconv"
	"time"
)

// Stored reads what another crash service stored beside a dump: the annotations of a crash as Socorro has them, or an event of Sentry's. at is when it was
// received, zero if that is not said. What is too long or no text is left out.
func Stored(text []byte) (b *Body, at time.Time) {
	b = &Body{Fields: map[string]string{}}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return b, at
	}
	for _, name := range []string{"submitted_timestamp", "received", "timestamp"} {
		if v, ok := all[name]; ok && at.IsZero() {
			at = moment(v)
		}
	}
	if _, ok := all["event_id"]; ok {
		b.event(text)
		return b, at
	}
	for name, raw := range all {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			continue
		}
		switch v := v.(type) {
		case string:
			_ = b.set(name, v)
		case bool:
			_ = b.set(name, strconv.FormatBool(v))
		case float64:
			_ = b.set(name, string(raw))
		}
	}
	b.comments()
	return b, at
}

// moment reads a time: a text, or seconds since 1970.
func moment(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999-07:00"} {
			if at, err := time.Parse(layout, text); err == nil {
				return at
			}
		}
		return time.Time{}
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) == nil && seconds > 0 && seconds < 1e10 {
		return time.UnixMilli(int64(seconds * 1e3))
	}
	return time.Time{}
}
