package receive

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A body is read alike however it arrives, and what is cut is an error.
func TestEnvelopeInPieces(t *testing.T) {
	whole := `{"event_id":"9ec7"}` + "\n\n" + `{"type":"event","length":15}` + "\n" + `{"release":"1"}` + "\n" +
		`{"type":"attachment","attachment_type":"other"}` + "\n" + "a line\n" +
		`{"type":"attachment","length":8,"attachment_type":"event.minidump","filename":"x"}` + "\nMDMP\n\n\x00\xff\n"
	for _, n := range []int{1, 2, 7, 1 << 16} {
		var got bytes.Buffer
		b, err := Envelope(&slow{strings.NewReader(whole), n}, Into{Dump: func(string) (io.Writer, error) { return &got, nil }})
		if err != nil || got.String() != "MDMP\n\n\x00\xff" || b.Name != "x" || b.Fields["release"] != "1" || b.Fields["event_id"] != "9ec7" {
			t.Errorf("%d bytes at a time: %q %+v %v", n, got.String(), b, err)
		}
	}
	for n := range len(whole) - 2 {
		if b, err := Envelope(strings.NewReader(whole[:n]), Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }}); err == nil && b.Dumps > 0 {
			t.Errorf("cut after %d bytes: %+v", n, b)
		}
	}
}

// A form is read and written in pieces that are worth a system call each.
func TestFormAtOnce(t *testing.T) {
	const size = 1 << 20
	form := "--b\r\nContent-Disposition: form-data; name=\"dump\"; filename=\"x\"\r\n\r\n" + strings.Repeat("d", size) +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"log\"; filename=\"y\"\r\n\r\n" + strings.Repeat("l", size) + "\r\n--b--\r\n"
	in := &calls{r: strings.NewReader(form)}
	dump, file := &calls{}, &calls{}
	_, err := Form("multipart/form-data; boundary=b", in, Into{Dump: func(string) (io.Writer, error) { return dump, nil }, File: func(string) (io.Writer, error) { return file, nil }})
	if err != nil || dump.bytes != size || file.bytes != size {
		t.Fatalf("%d and %d bytes, %v", dump.bytes, file.bytes, err)
	}
	if in.n > 80 || dump.n > 40 || file.n > 40 {
		t.Errorf("%d reads, %d and %d writes", in.n, dump.n, file.n)
	}
}

// calls counts calls and bytes.
type calls struct {
	r        io.Reader
	n, bytes int
}

func (c *calls) Read(b []byte) (int, error) {
	c.n++
	return c.r.Read(b)
}

func (c *calls) Write(b []byte) (int, error) {
	c.n++
	c.bytes += len(b)
	return len(b), nil
}

type slow struct {
	r io.Reader
	n int
}

func (s *slow) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), s.n)]) }

// Fields are limited in number and size, in forms and in envelopes.
func TestLimits(t *testing.T) {
	discard := Into{Dump: func(string) (io.Writer, error) { return io.Discard, nil }}
	part := func(name, value string) string {
		return fmt.Sprintf("--b\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", name, value)
	}
	dump := "--b\r\nContent-Disposition: form-data; name=\"upload_file_minidump\"; filename=\"x\"\r\n\r\nMDMP\r\n"
	many := ""
	for i := range MaxFields + 1 {
		many += part(fmt.Sprint("f", i), "1")
	}
	for name, c := range map[string]struct {
		form string
		ok   bool
	}{
		"one":           {part("f", "1") + dump, true},
		"a large field": {part("f", strings.Repeat("x", MaxField)) + dump, true},
		"too large":     {part("f", strings.Repeat("x", MaxField+1)) + dump, false},
		"a long name":   {part(strings.Repeat("n", 300), "1") + dump, false},
		"too many":      {many + dump, false},
		"two dumps":     {dump + dump, false},
		"no dump":       {part("f", "1"), false},
	} {
		if _, err := Form("multipart/form-data; boundary=b", strings.NewReader(c.form+"--b--\r\n"), discard); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	tags := `{"type":"event"}` + "\n{\"tags\":{"
	for i := range 2 * MaxFields {
		tags += fmt.Sprintf(`"t%d":"1",`, i)
	}
	tags += `"x":"1"}}` + "\n"
	b, err := Envelope(strings.NewReader("{}\n"+tags+`{"type":"attachment","attachment_type":"event.minidump"}`+"\nMDMP"), discard)
	if err != nil || len(b.Fields) > MaxFields {
		t.Errorf("%v, %d fields", err, len(b.Fields))
	}
	if _, err := Envelope(strings.NewReader(strings.Repeat("x", maxHeader+1)), discard); err == nil {
		t.Error("a line without an end is taken")
	}
}

func FuzzForm(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"upload_file_minidump\"; filename=\"x\"\r\n\r\nMDMP\r\n--b--\r\n"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		var got bytes.Buffer
		to := func(string) (io.Writer, error) { return &got, nil }
		b, err := Form(kind, bytes.NewReader(body), Into{Dump: to, File: to})
		check(t, b, err, got.Len(), len(body))
	})
}

func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{}` + "\n" + `{"type":"attachment","length":4,"attachment_type":"event.minidump"}` + "\nMDMP\n"))
	f.Add([]byte(`{"event_id":"9EC79C33-EC99-42AB-8353-589FCB2E04DC"}` + "\n" + `{"type":"feedback"}` + "\n" + `{"contexts":{"feedback":{"message":"m","associated_event_id":"1"}}}` + "\n" + `{"type":"attachment","filename":"a"}` + "\nx\n"))
	f.Add([]byte(`{}` + "\n" + `{"type":"event"}` + "\n" + `{"tags":[["a","b"]]}` + "\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var got bytes.Buffer
		to := func(string) (io.Writer, error) { return &got, nil }
		b, err := Envelope(bytes.NewReader(body), Into{Dump: to, File: to})
		check(t, b, err, got.Len(), len(body))
	})
}

func check(t *testing.T, b *Body, err error, got, size int) {
	if got > size {
		t.Errorf("%d bytes of a body of %d", got, size)
	}
	if err == nil && (b.Dumps > 1 || len(b.Fields) > MaxFields || len(b.Feedback) > MaxFeedback) {
		t.Errorf("%+v", b)
	}
}
