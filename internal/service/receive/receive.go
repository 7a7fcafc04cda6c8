// Package receive reads the bodies in which clients send dumps: the forms of Breakpad and Crashpad, and Sentry's envelopes. A
// dump is passed on as it comes, so that memory does not depend on its size.
//
// Everything in a body may be hostile: numbers and lengths of fields are limited.
package receive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"
)

// Limits of what comes with a dump.
const (
	MaxFields = 256
	MaxField  = 64 << 10 // bytes of a value
	maxAll    = 1 << 20  // bytes of all names and values of a body, each of which is in memory
	maxName   = 256      // bytes of a name
	maxHeader = 64 << 10 // bytes of a line of an envelope
)

// Errors for bodies.
var (
	ErrNoDump   = errors.New("no dump in the request: the form needs a file upload_file_minidump")
	ErrTooMuch  = errors.New("the request has too many fields, or one that is too long")
	errTwoDumps = errors.New("the request has more than one dump")
)

// FormFile is the name of a dump in the forms of Breakpad and Crashpad.
const FormFile = "upload_file_minidump"

// isDump reports whether a part of a form, by its name, is a dump.
func isDump(name string) bool {
	return name == FormFile || name == "upload_file" || name == "dump" || name == "core"
}

// A Body says what came with a dump.
type Body struct {
	Name   string // the file's name, as the client calls it
	Fields map[string]string
	// Dumps is how many there were: 1, or 0 in an envelope.
	Dumps int
	// Event is the identifier of the event that all of this is of, as Sentry's clients send it; "" if none is said.
	Event    string
	Feedback []Feedback
	about    string // the event that feedback is of
	size     int    // of what set was given so far: bytes
}

// Into is where a body is written as it comes.
type Into struct {
	// Dump begins the dump, which the client calls name.
	Dump func(name string) (io.Writer, error)
	// File begins a file that came with the dump. With nil they are passed over.
	File func(name string) (io.Writer, error)
}

func (i *Into) file(name string, from io.Reader) error {
	to := io.Discard
	if i.File != nil {
		var err error
		if to, err = i.File(name); err != nil {
			return err
		}
	}
	return copyAll(to, from)
}

// atOnce is how many bytes of a form are read and written at a time. Package multipart takes 4 kB, and a system call for each is a third of what a dump costs. Not
// more: each of many slow clients has these buffers.
const atOnce = 32 << 10

// copyAll copies a part of a form.
func copyAll(to io.Writer, part io.Reader) error {
	w := bufio.NewWriterSize(to, atOnce)
	if _, err := w.ReadFrom(part); err != nil {
		return err
	}
	return w.Flush()
}

// Plain returns the body of a request without its Content-Encoding, which may be gzip.
func Plain(encoding string, body io.Reader) (io.Reader, error) {
	switch encoding = strings.ToLower(strings.TrimSpace(encoding)); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(body)
	default:
		return nil, fmt.Errorf("Content-Encoding %q: must be gzip", encoding)
	}
}

// Form reads a multipart form (RFC 7578), as Breakpad's and Crashpad's clients send it.
func Form(contentType string, body io.Reader, into Into) (*Body, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "multipart/") || params["boundary"] == "" {
		return nil, fmt.Errorf("Content-Type %.80q: must be multipart/form-data with a boundary", contentType)
	}
	b := &Body{Fields: map[string]string{}}
	form := multipart.NewReader(bufio.NewReaderSize(body, atOnce), params["boundary"])
	for parts := 0; ; parts++ {
		part, err := form.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the form cannot be read: %w", err)
		}
		if parts > 2*MaxFields {
			return nil, ErrTooMuch
		}
		switch name := part.FormName(); {
		case isDump(name):
			if b.Dumps++; b.Dumps > 1 {
				return nil, errTwoDumps
			}
			b.Name = part.FileName()
			w, err := into.Dump(b.Name)
			if err != nil {
				return nil, err
			}
			if err := copyAll(w, part); err != nil {
				return nil, err
			}
		case part.FileName() != "":
			if err := into.file(part.FileName(), part); err != nil {
				return nil, err
			}
		default:
			if err := b.field(name, part); err != nil {
				return nil, err
			}
		}
	}
	if b.Dumps == 0 {
		return nil, ErrNoDump
	}
	if err := b.sentry(); err != nil {
		return nil, err
	}
	b.comments()
	b.size = 0
	return b, nil
}

// sentry makes fields of what Sentry's clients send in a form: an event as JSON in the field sentry, in parts of it, or its fields in brackets.
func (b *Body) sentry() error {
	const field = "sentry"
	text := b.Fields[field]
	delete(b.Fields, field)
	for i := 1; ; i++ { // values of forms were once short
		part, ok := b.Fields[fmt.Sprint(field, "__", i)]
		if !ok {
			break
		}
		delete(b.Fields, fmt.Sprint(field, "__", i))
		text += part
	}
	fields := b.Fields
	b.Fields, b.size = make(map[string]string, len(fields)), 0
	for name, value := range fields {
		inner, ok := strings.CutPrefix(name, field+"[")
		if inner, end := strings.CutSuffix(inner, "]"); ok && end {
			name = strings.Replace(strings.ReplaceAll(inner, "][", "."), "tags.", "tag.", 1)
		}
		if err := b.set(name, value); err != nil {
			return err
		}
	}
	b.event([]byte(text))
	return nil
}

func (b *Body) field(name string, value io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(value, MaxField+1))
	if err != nil {
		return err
	}
	return b.set(name, string(text))
}

func (b *Body) set(name, value string) error {
	if name == "" {
		return nil
	}
	if len(value) > MaxField || len(name) > maxName || len(b.Fields) >= MaxFields {
		return ErrTooMuch
	}
	if b.size += len(name) + len(value); b.size > maxAll {
		return ErrTooMuch
	}
	b.Fields[name] = value
	return nil
}

// An item is the header of an item of an envelope.
type item struct {
	Type           string `json:"type"`
	Length         *int64 `json:"length"`
	AttachmentType string `json:"attachment_type"`
	Filename       string `json:"filename"`
}

// Envelope reads a Sentry envelope: a line of JSON, then items of a line of JSON and a payload. The dump is the attachment that is
// a minidump, if there is one; of an event, its tags and a few other texts become fields.
func Envelope(body io.Reader, into Into) (*Body, error) {
	in := bufio.NewReaderSize(body, maxHeader)
	b := &Body{Fields: map[string]string{}}
	var head struct {
		EventID string `json:"event_id"`
	}
	if err := jsonLine(in, &head); err != nil {
		return nil, fmt.Errorf("the envelope's first line: %w", err)
	}
	if head.EventID != "" {
		b.Event = eventID(head.EventID)
		if err := b.set("event_id", head.EventID); err != nil {
			return nil, err
		}
	}
	for n := 0; ; n++ {
		var it item
		err := jsonLine(in, &it)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("an item of the envelope: %w", err)
		}
		if n > MaxFields {
			return nil, ErrTooMuch
		}
		if err := b.item(in, &it, &into); err != nil {
			return nil, err
		}
	}
	if b.about != "" && (b.Dumps == 0 || b.Event == "") { // a dump is of the envelope's event, whatever else is in there
		b.Event = b.about
	}
	b.about, b.size = "", 0
	return b, nil
}

func (b *Body) item(in *bufio.Reader, it *item, into *Into) error {
	payload := io.Reader(&lineReader{in: in})
	if it.Length != nil {
		if *it.Length < 0 {
			return fmt.Errorf("an item of the envelope has %d bytes", *it.Length)
		}
		payload = &exactly{in, *it.Length}
	}
	switch {
	case it.Type == "attachment" && it.AttachmentType == "event.minidump":
		if b.Dumps++; b.Dumps > 1 {
			return errTwoDumps
		}
		b.Name = it.Filename
		w, err := into.Dump(b.Name)
		if err == nil {
			err = copyAll(w, payload)
		}
		if err != nil {
			return err
		}
	case it.Type == "attachment":
		if err := into.file(it.Filename, payload); err != nil {
			return err
		}
	case it.Type == "event", it.Type == "user_report", it.Type == "feedback":
		text, err := io.ReadAll(io.LimitReader(payload, 4<<20))
		if err != nil {
			return err
		}
		if it.Type == "event" {
			b.event(text)
		} else {
			b.feedback(text)
		}
		fallthrough
	default:
		if _, err := io.Copy(io.Discard, payload); err != nil {
			return err
		}
	}
	if it.Length != nil { // the newline that follows is left out at the end of some
		if c, err := in.ReadByte(); err == nil && c != '\n' {
			return errors.New("an item of the envelope is longer than its length")
		}
	}
	return nil
}

// event keeps what is known of an event.
func (b *Body) event(text []byte) {
	var e struct {
		ID          string          `json:"event_id"`
		Release     string          `json:"release"`
		Environment string          `json:"environment"`
		Platform    string          `json:"platform"`
		Dist        string          `json:"dist"`
		Tags        json.RawMessage `json:"tags"`
		User        struct {
			ID json.RawMessage `json:"id"` // a text or a number
		} `json:"user"`
	}
	if json.Unmarshal(text, &e) != nil {
		return
	}
	if b.Event == "" {
		b.Event = eventID(e.ID)
	}
	user := strings.Trim(string(e.User.ID), `"`)
	if user == "null" {
		user = ""
	}
	for name, value := range map[string]string{"release": e.Release, "environment": e.Environment, "platform": e.Platform, "dist": e.Dist, "user.id": user} {
		if value != "" {
			_ = b.set(name, value) // what is too long is left out
		}
	}
	var tags map[string]string
	if json.Unmarshal(e.Tags, &tags) != nil {
		var pairs [][2]string
		if json.Unmarshal(e.Tags, &pairs) != nil {
			return
		}
		tags = map[string]string{}
		for _, p := range pairs {
			tags[p[0]] = p[1]
		}
	}
	for name, value := range tags {
		_ = b.set("tag."+name, value)
	}
}

// jsonLine reads a line of JSON; io.EOF at the end. Empty lines between items are passed.
func jsonLine(in *bufio.Reader, v any) error {
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("a line of more than %d bytes", maxHeader)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		if jerr := json.Unmarshal(line, v); jerr != nil {
			return fmt.Errorf("not JSON: %.40q", line)
		}
		return nil
	}
}

// exactly reads so many bytes; fewer are an error.
type exactly struct {
	r    io.Reader
	left int64
}

func (e *exactly) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.r.Read(b[:min(int64(len(b)), e.left)])
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	} else if err == io.EOF {
		err = nil
	}
	return n, err
}

// lineReader reads until a newline, which it takes, or the end.
type lineReader struct {
	in   *bufio.Reader
	over bool
}

func (l *lineReader) Read(b []byte) (int, error) {
	if l.over || len(b) == 0 {
		return 0, io.EOF
	}
	if _, err := l.in.Peek(1); err != nil {
		l.over = true
		return 0, io.EOF
	}
	ready, _ := l.in.Peek(min(l.in.Buffered(), len(b)))
	n := len(ready)
	if i := bytes.IndexByte(ready, '\n'); i >= 0 {
		n, l.over = i, true
	}
	copy(b, ready[:n])
	if _, err := l.in.Discard(n); err != nil {
		return n, err
	}
	if l.over {
		if _, err := l.in.Discard(1); err != nil {
			return n, err
		}
	}
	return n, nil
}
