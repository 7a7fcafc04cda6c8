package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/reportpage"
	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/internal/service/store"
)

// A dumpDoc is a dump in answers.
type dumpDoc struct {
	ID          string            `json:"id"`
	SHA256      string            `json:"sha256"`
	Name        string            `json:"name,omitempty"`
	Size        int64             `json:"size"`
	Received    time.Time         `json:"received"`
	Times       int               `json:"times"`
	State       string            `json:"state"`
	Why         string            `json:"why,omitempty"`
	Group       string            `json:"group,omitempty"`
	Fault       string            `json:"fault,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Program     string            `json:"program,omitempty"`
	Build       string            `json:"build,omitempty"`
	Release     string            `json:"release,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Attached    int64             `json:"attached,omitempty"` // bytes of its attachments
}

func docOf(u *store.Upload) dumpDoc {
	return dumpDoc{u.ID, u.SHA256, u.Name, u.Size, u.Received.UTC(), u.Times, u.State, u.Why, u.Group, u.Fault, u.Reason, u.Program, u.Build, u.Release, u.Annotations, u.Attached}
}

// A limited writer fails when more than some bytes are written.
type limited struct {
	w    io.Writer
	left int64
	all  int64
}

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= int64(len(b)); l.left < 0 {
		return 0, &http.MaxBytesError{Limit: l.all}
	}
	n, err := l.w.Write(b)
	if err != nil {
		err = &notKept{err}
	}
	return n, err
}

// A notKept error is one of where a body is kept, not of the body.
type notKept struct{ error }

func (e *notKept) Unwrap() error { return e.error }

// takeDump takes a dump: a form as Breakpad and Crashpad send it, an envelope of Sentry, or the dump itself as the body.
func (s *Service) takeDump(w http.ResponseWriter, r *http.Request, p *request) error {
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload+s.besides())
	plain, err := s.plain(r, s.c.MaxUpload+s.besides())
	if err != nil {
		return err
	}
	in, err := s.take(r.Context())
	if err != nil {
		return err
	}
	defer in.drop()
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	envelope := strings.Contains(r.URL.Path, "/envelope")
	var b *receive.Body
	switch {
	case envelope:
		b, err = receive.Envelope(plain, in.into())
	case strings.HasPrefix(kind, "multipart/"):
		b, err = receive.Form(r.Header.Get("Content-Type"), plain, in.into())
	default:
		b = &receive.Body{Name: r.URL.Query().Get("name"), Fields: annotationsOf(r), Dumps: 1}
		_, err = io.Copy(in.dump, plain)
	}
	if err != nil {
		return bodyError(err)
	}
	if b.Dumps == 0 {
		return s.takeBesides(w, r, p.project, in, b)
	}
	u, err := s.keep(r.Context(), in, p.project, b)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v1/"):
		answer(w, http.StatusAccepted, docOf(&u))
	case envelope:
		answer(w, http.StatusOK, map[string]string{"id": u.ID})
	default:
		plainText(w, u.ID)
	}
	return nil
}

// receiveForm stores the dump of a form.
func (s *Service) receiveForm(r *http.Request, plain io.Reader, project string) (store.Upload, error) {
	in, err := s.take(r.Context())
	if err != nil {
		return store.Upload{}, err
	}
	defer in.drop()
	b, err := receive.Form(r.Header.Get("Content-Type"), plain, in.into())
	if err != nil {
		return store.Upload{}, bodyError(err)
	}
	return s.keep(r.Context(), in, project, b)
}

// maxBesides is how much a request may have besides the dump and its attachments, in bytes.
const maxBesides = 32 << 20

func (s *Service) besides() int64 { return maxBesides + s.c.Attachments }

// maxAnnotations is how many query parameters become annotations.
const maxAnnotations = 64

// annotationsOf returns the query parameters that are no parameters of this service.
func annotationsOf(r *http.Request) map[string]string {
	out := map[string]string{}
	for name, values := range r.URL.Query() {
		switch name {
		case "token", "key", "sentry_key", "name":
			continue
		}
		if len(out) < maxAnnotations && len(name) <= 256 && len(values[0]) <= receive.MaxField {
			out[name] = values[0]
		}
	}
	return out
}

// bodyError is the answer to a body that cannot be read: the client's fault, unless its connection broke or there is no place for the body. A client that
// was told that its request is wrong does not send it again.
func bodyError(err error) error {
	var large *http.MaxBytesError
	var here *notKept
	var known httpError
	var late net.Error
	switch {
	case errors.As(err, &here):
		return here.error
	case errors.As(err, &late) && late.Timeout(): // its own text has addresses of this machine
		return httpError{http.StatusRequestTimeout, "the body comes too slowly"}
	case errors.As(err, &known):
		return known
	case errors.As(err, &large), errors.Is(err, receive.ErrTooMuch), errors.Is(err, context.Canceled), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return httpError{http.StatusBadRequest, err.Error()}
}

// maxNameLength limits the name of a dump, in bytes.
const maxNameLength = 512

// keep stores a dump that was received, with what came with it, and has it analysed.
func (s *Service) keep(ctx context.Context, in *taking, project string, b *receive.Body) (store.Upload, error) {
	return s.keepAt(ctx, in, project, b, time.Now())
}

func (s *Service) keepAt(ctx context.Context, in *taking, project string, b *receive.Body, at time.Time) (store.Upload, error) {
	sum, size := in.file.Sum()
	if size == 0 {
		return store.Upload{}, wrong("the dump is empty")
	}
	u := store.Upload{ID: idOf(sum), Project: project, SHA256: sum, Name: named(b.Name), Size: size, Received: at, Annotations: annotated(b.Fields), Event: b.Event}
	if err := s.identify(ctx, &u); err != nil {
		return u, err
	}
	if err := in.file.Keep(ctx, dumpKey(&u)); err != nil {
		return u, err
	}
	u, err := s.c.Store.AddUpload(ctx, u)
	if err == nil {
		_, err = s.keepBesides(ctx, in, project, u.ID, b, at)
	}
	if err != nil {
		return u, err
	}
	s.metrics.add("corewalk_uploads_total", 1)
	s.metrics.add("corewalk_upload_bytes_total", size)
	s.c.Log.Info("received", "project", project, "dump", u.ID, "bytes", size, "times", u.Times, "attachments", len(in.files))
	s.Tell()
	return u, nil
}

// named is a file's name as it is kept.
func named(name string) string { return strings.ToValidUTF8(name[:min(len(name), maxNameLength)], "?") }

// number returns a query parameter that is a number from 0 to most.
func number(r *http.Request, name string, otherwise, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, wrong("%s=%.20s: must be a number from 0 to %d", name, text, most)
	}
	return n, nil
}

func (s *Service) listDumps(w http.ResponseWriter, r *http.Request, p *request) error {
	limit, err := number(r, "limit", 100, 1000)
	if err != nil {
		return err
	}
	q := store.Query{State: r.URL.Query().Get("state"), Group: r.URL.Query().Get("group"), Limit: limit}
	if q.Has, err = hasOf(r); err != nil {
		return err
	}
	if text := r.URL.Query().Get("before"); text != "" {
		if q.Before, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return wrong("before=%.40s: must be a time such as 2026-11-01T12:00:00Z", text)
		}
	}
	list, err := s.c.Store.Uploads(r.Context(), p.project, q)
	if err != nil {
		return err
	}
	out := make([]dumpDoc, len(list))
	for i := range list {
		out[i] = docOf(&list[i])
	}
	short(out)
	answer(w, http.StatusOK, map[string]any{"dumps": out})
	return nil
}

func (s *Service) oneDump(w http.ResponseWriter, r *http.Request, p *request) error {
	u, err := s.c.Store.Upload(r.Context(), p.project, r.PathValue("id"))
	if err != nil {
		return err
	}
	list, err := s.c.Store.Attributes(r.Context(), p.project, u.ID)
	if err != nil {
		return err
	}
	doc := struct {
		dumpDoc
		Attributes  []attributeDoc  `json:"attributes,omitempty"`
		Attachments []attachmentDoc `json:"attachments,omitempty"`
		Feedback    []feedbackDoc   `json:"feedback,omitempty"`
	}{dumpDoc: docOf(&u), Attributes: attributeDocs(list)}
	if doc.Attachments, doc.Feedback, err = s.besidesOf(r.Context(), &u); err != nil {
		return err
	}
	answer(w, http.StatusOK, doc)
	return nil
}

// local returns a dump, the path of its file, and what releases that.
func (s *Service) local(r *http.Request, p *request) (u store.Upload, path string, release func(), err error) {
	if u, err = s.c.Store.Upload(r.Context(), p.project, r.PathValue("id")); err == nil {
		path, release, err = s.c.Objects.Local(r.Context(), dumpKey(&u))
	}
	return u, path, release, err
}

// dumpReport has a dump analysed in full. That is done in another process, in the sandbox.
func (s *Service) dumpReport(w http.ResponseWriter, r *http.Request, p *request) error {
	format := r.URL.Query().Get("format")
	kind := "text/plain; charset=utf-8"
	switch format {
	case "", "json":
		format, kind = "json", "application/json"
	case "text":
	case "html":
		kind = "text/html; charset=utf-8"
		// The page has its style and script in it. It is shown as if another site had sent it.
		w.Header().Set("Content-Security-Policy", "sandbox allow-scripts; "+reportpage.Policy())
	default:
		return wrong("format=%.20s: must be json, text or html", format)
	}
	_, path, release, err := s.local(r, p)
	if err != nil {
		return err
	}
	defer release()
	done, err := s.analyses.take(r.Context())
	if errors.Is(err, errSlots) {
		w.Header().Set("Retry-After", "5")
		return httpError{http.StatusServiceUnavailable, "too many reports are being made: try again later"}
	}
	if err != nil {
		return err
	}
	defer done()
	out, err := os.CreateTemp(s.c.Uploads, ".report-*")
	if err != nil {
		return err
	}
	defer out.Close()
	defer os.Remove(out.Name())
	if err := s.c.Report(r.Context(), p.project, path, format, &limited{out, maxReport, maxReport}); err != nil {
		return httpError{http.StatusUnprocessableEntity, fmt.Sprint("the dump cannot be analysed: ", err)}
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	_, _ = io.Copy(w, out) // who has gone hears nothing
	return nil
}

// maxReport is the size of a report that is sent, in bytes.
const maxReport = 256 << 20

func (s *Service) dumpFile(w http.ResponseWriter, r *http.Request, p *request) error {
	u, path, release, err := s.local(r, p)
	if err != nil {
		return err
	}
	defer release()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": u.ID + ".dmp"}))
	http.ServeFile(w, r, path)
	return nil
}

func (s *Service) again(w http.ResponseWriter, r *http.Request, p *request) error {
	u, err := s.c.Store.Upload(r.Context(), p.project, r.PathValue("id"))
	if err == nil {
		err = s.c.Store.Again(r.Context(), p.project, u.ID)
	}
	if err != nil {
		return err
	}
	s.sessions.drop(p.project, u.ID) // there may be symbols now
	s.Tell()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) removeDump(w http.ResponseWriter, r *http.Request, p *request) error {
	u, err := s.c.Store.Upload(r.Context(), p.project, r.PathValue("id"))
	if err == nil {
		u.Attachments, err = s.c.Store.Remove(r.Context(), p.project, u.ID)
	}
	if err == nil {
		err = s.removeFiles(r.Context(), &u)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// decode reads a small document of JSON.
func decode(r *http.Request, v any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return wrong("the body is not what is expected: %v", err)
	}
	return nil
}
