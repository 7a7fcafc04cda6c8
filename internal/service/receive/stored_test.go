package receive

import (
	"strings"
	"testing"
	"time"
)

// FuzzStored: files that other services left are not trusted.
func FuzzStored(f *testing.F) {
	for _, s := range []string{`{"event_id":"1","tags":{"a":"b"},"timestamp":1}`, `{"a":[1],"b":true,"c":1e400,"received":1e300}`, `[]`, `{"timestamp":"2026-01-02T03:04:05.6"}`, `{"":"x","timestamp":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b, at := Stored(text)
		fields := b.Fields
		if len(fields) > MaxFields || at.Year() < 0 || at.Year() > 9999 {
			t.Errorf("%d fields, %s", len(fields), at)
		}
		for name, v := range fields {
			if name == "" || len(v) > MaxField {
				t.Errorf("%q: %d bytes", name, len(v))
			}
		}
	})
}

func TestStored(t *testing.T) {
	for text, want := range map[string]string{
		`{"timestamp":"2026-01-02T03:04:05.5"}`: "2026-01-02T03:04:05.5Z", `{"submitted_timestamp":"2026-01-02 03:04:05.5+00:00"}`: "2026-01-02T03:04:05.5Z",
		`{"received":1767323045}`: "2026-01-02T03:04:05Z", `{"received":-1}`: "0001-01-01T00:00:00Z", `{"received":{}}`: "0001-01-01T00:00:00Z", `x`: "0001-01-01T00:00:00Z",
	} {
		if _, at := Stored([]byte(text)); at.UTC().Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %s, want %s", text, at.UTC(), want)
		}
	}
	if b, _ := Stored([]byte(`{"long":"` + strings.Repeat("x", MaxField+1) + `","a":false,"Comments":" it <b>died</b>","Email":"a@b"}`)); len(b.Fields) != 1 || b.Fields["a"] != "false" || len(b.Feedback) != 1 || b.Feedback[0] != (Feedback{Email: "a@b", Text: "it <b>died</b>"}) {
		t.Errorf("%+v", b)
	}
}
