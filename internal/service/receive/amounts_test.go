package receive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestAmounts: however many parts and items a body has, and whatever lengths they say, no more is read of it than the limits.
func TestAmounts(t *testing.T) {
	form := func(n int, part string) string {
		return strings.Repeat("--x\r\nContent-Disposition: form-data; "+part+"\r\n\r\nv\r\n", n) + "--x--\r\n"
	}
	item := func(n int, head string) string { return "{}\n" + strings.Repeat(head+"\nv\n", n) }
	minidump := `{"type":"attachment","attachment_type":"event.minidump","length":1}`
	for name, c := range map[string]struct {
		form, body string
		want       error // nil for any
		fine       bool
	}{
		"parts":                       {"x", form(2*MaxFields+2, `name=""`), ErrTooMuch, false},
		"as many parts as may be":     {"x", form(2*MaxFields, `name=""`), ErrNoDump, false},
		"fields":                      {"x", form(MaxFields+1, `name="a"`), ErrNoDump, false}, // of one name
		"long fields":                 {"x", strings.ReplaceAll(form(maxAll/MaxField+1, `name="a"`), "\nv\r", "\n"+strings.Repeat("v", MaxField)+"\r"), ErrTooMuch, false},
		"two dumps":                   {"x", form(2, `name="upload_file_minidump"; filename="a"`), errTwoDumps, false},
		"items":                       {"", item(MaxFields+2, `{"type":"other","length":1}`), ErrTooMuch, false},
		"as many items as may be":     {"", item(MaxFields, `{"type":"other","length":1}`), nil, true},
		"a length below zero":         {"", item(1, `{"type":"other","length":-1}`), nil, false},
		"a length of 2^63":            {"", item(1, `{"type":"attachment","length":9223372036854775807}`), nil, false},
		"a length that is too short":  {"", "{}\n" + `{"type":"other","length":1}` + "\nvalue\n", nil, false},
		"two dumps of an envelope":    {"", item(2, minidump), errTwoDumps, false},
		"a first line without an end": {"", strings.Repeat(" ", 2*maxHeader), nil, false},
		"a long head of an item":      {"", "{}\n" + `{"type":"` + strings.Repeat("a", 2*maxHeader) + `"}` + "\nv\n", nil, false},
		"deep JSON":                   {"", strings.Repeat(`{"a":`, maxHeader/6) + "\n", nil, false},
		"empty lines only":            {"", "{}\n" + strings.Repeat("\n", 1<<20), nil, true},
	} {
		var dump bytes.Buffer
		files := 0
		into := Into{Dump: func(string) (io.Writer, error) { return &dump, nil }, File: func(string) (io.Writer, error) { files++; return io.Discard, nil }}
		var err error
		if c.form != "" {
			_, err = Form("multipart/form-data; boundary="+c.form, strings.NewReader(c.body), into)
		} else {
			_, err = Envelope(strings.NewReader(c.body), into)
		}
		if c.fine != (err == nil) || c.want != nil && !errors.Is(err, c.want) || dump.Len() > 1 || files > 1 {
			t.Errorf("%s: %v, want %v; %d bytes of dumps, %d files", name, err, c.want, dump.Len(), files)
		}
	}
	for _, kind := range []string{"multipart/form-data", "text/plain; boundary=x", "multipart/form-data; boundary=", ";", "multipart/form-data; boundary=\x00"} {
		if b, err := Form(kind, strings.NewReader(form(1, `name="a"`)), Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }}); err == nil {
			t.Errorf("%q: %s", kind, fmt.Sprint(b))
		}
	}
}
