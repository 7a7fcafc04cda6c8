package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/internal/service/store"
)

// A taking is a dump that is being received, with the files that come with it. Nothing of these is trusted: what a file is called and said to be is the
// sender's text, what it is served as was found in its bytes.
type taking struct {
	s     *Service
	ctx   context.Context
	file  objects.File // the dump
	dump  io.Writer    // writes to it, no more than may be
	files []*attached
	left  int64 // bytes that files may still have
	lost  int   // files that are not kept
}

// An attached file is one that came with a dump.
type attached struct {
	t    *taking
	file objects.File
	name string
	head []byte // what it begins with
	over bool   // it is too large, and dropped
}

// take begins to receive a dump.
func (s *Service) take(ctx context.Context) (*taking, error) {
	f, err := s.c.Objects.New(ctx)
	if err != nil {
		return nil, err
	}
	return &taking{s: s, ctx: ctx, file: f, dump: &limited{f, s.c.MaxUpload, s.c.MaxUpload}, left: s.c.Attachments}, nil
}

// drop ends what was not kept.
func (t *taking) drop() {
	t.file.Drop()
	for _, a := range t.files {
		a.file.Drop()
	}
}

func (t *taking) into() receive.Into {
	return receive.Into{Dump: func(string) (io.Writer, error) { return t.dump, nil }, File: t.attach}
}

// attach begins a file that came with the dump. What is too much is read, and not kept: the dump is worth more.
func (t *taking) attach(name string) (io.Writer, error) {
	if len(t.files) >= store.MaxAttachments || t.left <= 0 {
		t.lost++
		return io.Discard, nil
	}
	f, err := t.s.c.Objects.New(t.ctx)
	if err != nil {
		return nil, &notKept{err}
	}
	a := &attached{t: t, file: f, name: named(name)}
	t.files = append(t.files, a)
	return a, nil
}

// maxHead is how many bytes of a file say what it is.
const maxHead = 512

// Write implements io.Writer.
func (a *attached) Write(b []byte) (int, error) {
	switch {
	case a.over:
		return len(b), nil
	case int64(len(b)) > a.t.left:
		_, size := a.file.Sum()
		a.over, a.t.left = true, a.t.left+size // there is place for others
		a.t.lost++
		a.file.Drop()
		return len(b), nil
	}
	a.head = append(a.head, b[:min(len(b), maxHead-len(a.head))]...)
	a.t.left -= int64(len(b))
	n, err := a.file.Write(b)
	if err != nil {
		err = &notKept{err}
	}
	return n, err
}

// Media types of attachments. Nothing that a browser would run is among them.
const (
	typeText  = "text/plain; charset=utf-8"
	typeOther = "application/octet-stream"
)

// typeOf says what a file is by what it begins with: a picture of pixels, text, or anything.
func typeOf(head []byte) string {
	switch kind := http.DetectContentType(head); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind
	}
	for i := 1; i < utf8.UTFMax && len(head) == maxHead; i++ { // the last character may be cut
		if last := head[maxHead-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				head = head[:maxHead-i]
			}
			break
		}
	}
	if utf8.Valid(head) && !strings.ContainsFunc(string(head), func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) }) {
		return typeText
	}
	return typeOther
}

// attachmentKey is the key of an attachment's file.
func attachmentKey(project, dump, sum string) string {
	return path.Join("projects", project, "attachments", dump[:2], dump+"-"+sum[:32])
}

// besides are how many files and texts were kept beside dumps.
type besides struct {
	files, said int
	dumps       []string
}

// keepBesides stores what came with a dump that is stored, and feedback about others.
func (s *Service) keepBesides(ctx context.Context, in *taking, project, dump string, b *receive.Body, at time.Time) (kept besides, err error) {
	if dump != "" {
		if kept.files, err = s.keepFiles(ctx, in, project, dump); err != nil {
			return kept, err
		}
		if kept.files > 0 {
			kept.dumps = append(kept.dumps, dump)
		}
	}
	for _, f := range b.Feedback {
		of := dump
		if f.Event != "" && f.Event != b.Event {
			of, err = s.c.Store.OfEvent(ctx, project, f.Event)
		}
		there := false
		if err == nil && of != "" {
			there, err = s.c.Store.AddFeedback(ctx, project, of, store.Feedback{Name: f.Name, Email: f.Email, Text: f.Text, At: at})
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return kept, err
		}
		if err == nil && there {
			kept.said++
			if !slices.Contains(kept.dumps, of) {
				kept.dumps = append(kept.dumps, of)
			}
		}
		err = nil
	}
	return kept, nil
}

// keepFiles stores the files that came with a dump, and returns how many are there now.
func (s *Service) keepFiles(ctx context.Context, in *taking, project, dump string) (int, error) {
	var list, left []store.Attachment
	for _, a := range in.files {
		sum, size := a.file.Sum()
		if a.over || size == 0 {
			continue
		}
		if err := a.file.Keep(ctx, attachmentKey(project, dump, sum)); err != nil {
			return 0, err
		}
		list = append(list, store.Attachment{SHA256: sum, Name: a.name, Type: typeOf(a.head), Size: size})
	}
	if len(list) > 0 {
		var err error
		left, err = s.c.Store.Attach(ctx, project, dump, list, s.c.Attachments)
		if errors.Is(err, store.ErrNotFound) { // it has been removed
			left, err = list, nil
		}
		if err != nil {
			return 0, err
		}
		in.lost += len(left)
		for _, a := range left {
			if err := s.c.Objects.Remove(ctx, attachmentKey(project, dump, a.SHA256)); err != nil {
				return 0, err
			}
		}
	}
	s.metrics.add("corewalk_attachments_total", int64(len(list)-len(left)))
	s.metrics.add("corewalk_attachments_left_out_total", int64(in.lost))
	if in.lost > 0 {
		s.c.Log.Warn("files that came with a dump are too many or too large, and not kept", "project", project, "dump", dump, "files", in.lost)
	}
	return len(list) - len(left), nil
}

// takeBesides stores what comes after a dump: an envelope says of which event it is. One that has nothing to do with a dump is taken, too: clients would send it
// again and again.
func (s *Service) takeBesides(w http.ResponseWriter, r *http.Request, project string, in *taking, b *receive.Body) error {
	dump, err := s.c.Store.OfEvent(r.Context(), project, b.Event)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	kept, err := s.keepBesides(r.Context(), in, project, dump, b, time.Now())
	if err != nil {
		return err
	}
	said := "nothing: there is no place for more of the dump " + dump
	switch {
	case len(kept.dumps) > 0:
		said = fmt.Sprintf("attachments: %d, feedback: %d; of the dump %s", kept.files, kept.said, strings.Join(kept.dumps, ", "))
	case len(in.files)+in.lost+len(b.Feedback) == 0:
		said = "nothing: the envelope has no dump, no feedback and no attachments"
	case dump == "":
		said = "nothing: no dump of this event is here"
	}
	answer(w, http.StatusOK, map[string]string{"id": b.Event, "kept": said})
	return nil
}

// An attachmentDoc and a feedbackDoc are what they are in answers.
type attachmentDoc struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

type feedbackDoc struct {
	Name  string    `json:"name,omitempty"`
	Email string    `json:"email,omitempty"`
	Text  string    `json:"text"`
	At    time.Time `json:"at"`
}

// besidesOf lists what came with a dump.
func (s *Service) besidesOf(ctx context.Context, u *store.Upload) (files []attachmentDoc, said []feedbackDoc, _ error) {
	list, err := s.c.Store.Attachments(ctx, u.Project, u.ID)
	if err != nil {
		return nil, nil, err
	}
	for _, a := range list {
		files = append(files, attachmentDoc{a.SHA256[:32], a.Name, a.Type, a.Size})
	}
	words, err := s.c.Store.Feedback(ctx, u.Project, u.ID)
	for _, f := range words {
		said = append(said, feedbackDoc{f.Name, f.Email, f.Text, f.At.UTC()})
	}
	return files, said, err
}

// attachment sends an attachment. A browser keeps it in a file: it shows none of it as a page, and the page of the service shows pictures and text itself.
func (s *Service) attachment(w http.ResponseWriter, r *http.Request, p *request) error {
	u, err := s.c.Store.Upload(r.Context(), p.project, r.PathValue("id"))
	if err != nil {
		return err
	}
	list, err := s.c.Store.Attachments(r.Context(), p.project, u.ID)
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.SHA256[:32] != r.PathValue("attachment") {
			continue
		}
		file, release, err := s.c.Objects.Local(r.Context(), attachmentKey(p.project, u.ID, a.SHA256))
		if err != nil {
			return err
		}
		defer release()
		h := w.Header()
		h.Set("Content-Type", a.Type)
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(strings.ReplaceAll(a.Name, "\\", "/"))}))
		http.ServeFile(w, r, file)
		return nil
	}
	return store.ErrNotFound
}
