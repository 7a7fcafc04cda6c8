package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
)

// beside is what an answer says of what came with a dump.
type beside struct {
	ID          string
	Attached    int64
	Annotations map[string]string
	Attachments []struct {
		ID, Name, Type string
		Size           int64
	}
	Feedback []struct{ Name, Email, Text string }
}

func (b *beside) names() (list []string) {
	for _, a := range b.Attachments {
		list = append(list, fmt.Sprintf("%s %s %d", a.Name, a.Type, a.Size))
	}
	return list
}

// A part is a file of a form, with the type that the client gives it.
type part struct{ field, file, kind, text string }

func formOf(t *testing.T, parts ...part) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="%s"`, p.field)}}
		if p.file != "" {
			h.Set("Content-Disposition", h.Get("Content-Disposition")+fmt.Sprintf(`; filename=%q`, p.file))
			h.Set("Content-Type", p.kind)
		}
		to, err := w.CreatePart(h)
		if err == nil {
			_, err = io.WriteString(to, p.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	return b.String(), w.FormDataContentType()
}

func picturePNG(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// objectsOf are the files of attachments that the service has, and what was left half written.
func (w *world) objectsOf(project string) (list []string) {
	for _, dir := range []string{filepath.Join(w.dir, "projects", project, "attachments"), filepath.Join(w.dir, "tmp")} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list = append(list, filepath.Base(path))
			}
			return nil
		})
	}
	return list
}

// Each client's way to send files beside a dump leads to the same attachments, which are what their bytes are, and go with the dump.
func TestAttachments(t *testing.T) {
	w := start(t, nil)
	shot := picturePNG(t)
	page := "<script>alert(1)</script>"
	dump := "group g1 build b1"
	body, kind := formOf(t, part{"prod", "", "", "Shop"}, part{"log", "../../a.log", "text/html", page}, part{"upload_file_minidump", "x.dmp", "", dump},
		part{"shot", "shot.html", "text/html", shot}, part{"upload_file_minidump_browser", "b.dmp", "", "MDMP\x00\x01"}, part{"empty", "empty", "", ""}, part{"comments", "", "", "It <b>died</b>\nagain"}, part{"email", "", "", "ann@example.com"})
	item := func(name, text string) string {
		return fmt.Sprintf(`{"type":"attachment","filename":%q,"content_type":"text/html","length":%d}`, name, len(text)) + "\n" + text + "\n"
	}
	envelope := "{}\n" + item("a.log", page) + `{"type":"attachment","attachment_type":"event.minidump","length":17}` + "\n" + dump + "\n" + item("shot.html", shot) + item("b.dmp", "MDMP\x00\x01") +
		`{"type":"user_report"}` + "\n" + `{"comments":"It <b>died</b>\nagain","email":"ann@example.com"}` + "\n"
	want := []string{"a.log text/plain; charset=utf-8 25", fmt.Sprint("shot.html image/png ", len(shot)), "b.dmp application/octet-stream 6"}
	for name, c := range map[string][]string{
		"a form": {"/api/a/minidump", body, kind, ""}, "packed": {"/api/a/minidump/", packed(body), kind, "gzip"}, "the interface": {"/api/v1/projects/a/dumps", body, kind, ""}, "an envelope": {"/api/a/envelope/", envelope, "", ""},
	} {
		status, text, _ := w.do(w.token["a upload"], "POST", c[0], strings.NewReader(c[1]), "Content-Type", c[2], "Content-Encoding", c[3])
		if status > 202 {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		var b beside
		if json.Unmarshal([]byte(text), &b) != nil {
			b.ID = text
		}
		path := "/api/v1/projects/a/dumps/" + b.ID
		w.analysed(b.ID)
		w.want(200, &b, "GET", path, "")
		if !slices.Equal(b.names(), want) || b.Attached != int64(31+len(shot)) {
			t.Errorf("%s: %q %d, want %q", name, b.names(), b.Attached, want)
			continue
		}
		if len(b.Feedback) != 1 || b.Feedback[0].Text != "It <b>died</b>\nagain" || b.Feedback[0].Email != "ann@example.com" || b.Annotations["comments"]+b.Annotations["email"] != "" {
			t.Errorf("%s: %+v %v", name, b.Feedback, b.Annotations)
		}
		for i, text := range []string{page, shot, "MDMP\x00\x01"} {
			status, got, h := w.do(w.token["a read"], "GET", path+"/attachments/"+b.Attachments[i].ID, nil)
			if status != 200 || got != text {
				t.Errorf("%s: %d %q", name, status, got)
			}
			if csp := h.Get("Content-Security-Policy"); h.Get("Content-Type") != b.Attachments[i].Type || h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
				!strings.HasPrefix(csp, "sandbox; default-src 'none'") || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s: %v", b.Attachments[i].Name, h)
			}
		}
		w.want(404, nil, "GET", path+"/attachments/"+strings.Repeat("0", 32), "")
		w.want(404, nil, "GET", path+"/attachments/x", "")
		if status, _, _ := w.do(w.token["b all"], "GET", "/api/v1/projects/b/dumps/"+b.ID+"/attachments/"+b.Attachments[0].ID, nil); status != 404 {
			t.Errorf("another project has it: %d", status)
		}
		if n := len(w.objectsOf("a")); n != 3 {
			t.Errorf("%s: %d files", name, n)
		}
		w.want(204, nil, "DELETE", path, "")
		if left := w.objectsOf("a"); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}

// Attachments are bounded: what is too much is not kept, and the dump is.
func TestAttachmentsTooMuch(t *testing.T) {
	var begun atomic.Int64
	w := start(t, func(c *service.Config) { c.Objects = beginning{c.Objects, &begun} }) // 100,000 bytes
	large := strings.Repeat("x", 60_000)
	parts := []part{{"core", "core", "", "group g1 build b1"}, {"a", "a", "", large}, {"b", "b", "", large}, {"c", "c", "", strings.Repeat("c", 40_000)}, {"d", "d", "", "d"}}
	send := func(parts []part) (b beside) {
		t.Helper()
		body, kind := formOf(t, parts...)
		w.want(202, &b, "POST", "/api/v1/projects/a/dumps", body, "Content-Type", kind)
		w.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+b.ID, "")
		return b
	}
	if b := send(parts); !slices.Equal(b.names(), []string{"a text/plain; charset=utf-8 60000", "c text/plain; charset=utf-8 40000"}) {
		t.Errorf("%q", b.names())
	}
	// Sent again, with more: there is no place.
	if b := send(append(parts[:2:2], part{"e", "e", "", "e"})); b.Attached != 100_000 || len(b.Attachments) != 2 {
		t.Errorf("%+v", b)
	}
	begun.Store(0)
	parts = []part{{"core", "core", "", "group g1 build b2"}}
	for i := range 40 {
		parts = append(parts, part{"f", fmt.Sprint("f", i), "", fmt.Sprint(i)})
	}
	if b := send(parts); len(b.Attachments) != 16 || begun.Load() != 17 {
		t.Errorf("%d of %d that were written", len(b.Attachments), begun.Load())
	}
	if list := w.objectsOf("a"); len(list) != 18 {
		t.Errorf("left behind: %v", list)
	}
	if _, text, _ := w.do("", "GET", "/metrics", nil); !strings.Contains(text, "corewalk_attachments_total 19\n") || !strings.Contains(text, "corewalk_attachments_left_out_total 27\n") {
		t.Errorf("%s", text)
	}
	none := start(t, func(c *service.Config) { c.Attachments = 0 })
	body, kind := formOf(t, parts...)
	var b beside
	none.want(202, &b, "POST", "/api/v1/projects/a/dumps", body, "Content-Type", kind)
	if none.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+b.ID, ""); len(b.Attachments)+len(none.objectsOf("a")) != 0 {
		t.Errorf("%+v", b)
	}
}

// An envelope of which nothing is kept says so, and why.
func TestNothingKept(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Attachments = 2 })
	const head = `{"event_id":"9ec79c33ec9942ab8353589fcb2e04dc"}` + "\n"
	file := head + `{"type":"attachment","filename":"a","length":3}` + "\nabc\n"
	send := func(envelope string) string {
		t.Helper()
		return w.want(200, nil, "POST", "/api/a/envelope/", envelope)
	}
	if text := send(file); !strings.Contains(text, "nothing: no dump of this event") {
		t.Error(text)
	}
	send(head + `{"type":"attachment","attachment_type":"event.minidump","length":17}` + "\ngroup g1 build b1\n")
	if text := send(file); !strings.Contains(text, "nothing: there is no place") {
		t.Error(text)
	}
}

// A body for stacks that unpacks to more than a dump and its attachments is not read to its end.
func TestSymbolicateUnpacked(t *testing.T) {
	w := start(t, nil)
	body, kind := formOf(t, part{"upload_file_minidump", "x.dmp", "", "group g1 build b1"}, part{"log", "a.log", "", strings.Repeat("x", 34<<20)})
	status, text, _ := w.do(w.token["a all"], "POST", "/api/v1/projects/a/minidump", strings.NewReader(packed(body)), "Content-Type", kind, "Content-Encoding", "gzip")
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", status, text)
	}
}

// beginning counts files that are begun.
type beginning struct {
	objects.Store
	n *atomic.Int64
}

func (b beginning) New(ctx context.Context) (objects.File, error) {
	b.n.Add(1)
	return b.Store.New(ctx)
}

// removing removes each dump before its attachments are stored.
type removing struct{ store.Store }

func (r removing) Attach(ctx context.Context, project, id string, list []store.Attachment, bytes int64) ([]store.Attachment, error) {
	if _, err := r.Remove(ctx, project, id); err != nil {
		return nil, err
	}
	return r.Store.Attach(ctx, project, id, list, bytes)
}

// A dump that is removed while its attachments are stored leaves none of them.
func TestAttachmentsOfRemoved(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Store = removing{c.Store} })
	body, kind := formOf(t, part{"core", "core", "", "group g1 build b1"}, part{"a", "a", "", "log"}, part{"comments", "", "", "words"})
	w.want(202, nil, "POST", "/api/v1/projects/a/dumps", body, "Content-Type", kind)
	if left := w.objectsOf("a"); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// What a user writes comes after the dump: the event says of which one. What is of no dump is taken, and not kept.
func TestFeedbackLater(t *testing.T) {
	w := start(t, nil)
	const event = "9ec79c33ec9942ab8353589fcb2e04dc"
	send := func(envelope, want string) {
		t.Helper()
		status, text, _ := w.do(w.token["a upload"], "POST", "/api/a/envelope/", strings.NewReader(envelope))
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %s", status, text, want)
		}
	}
	said := `{"event_id":"11111111111111111111111111111111"}` + "\n" + `{"type":"feedback"}` + "\n" + `{"contexts":{"feedback":{"message":"<i>later</i>","associated_event_id":"9EC79C33-EC99-42AB-8353-589FCB2E04DC"}}}` + "\n" +
		`{"type":"attachment","filename":"shot","length":3}` + "\n" + "abc\n"
	send(said, "no dump of this event")
	send("{}\n", "no dump, no feedback")
	send(`{"event_id":"`+event+`"}`+"\n"+`{"type":"session"}`+"\n{}\n", "no dump, no feedback")
	send(`{"event_id":"`+event+`"}`+"\n"+`{"type":"attachment","attachment_type":"event.minidump","length":17}`+"\ngroup g1 build b1\n", "id")
	for range 2 { // it is sent again
		send(said, "attachments: 1, feedback: 1; of the dump ")
	}
	// What is written of another event is not of the dump with which it comes.
	report := func(event, text string) string {
		return `{"type":"user_report"}` + "\n" + fmt.Sprintf(`{"event_id":%q,"comments":%q}`, event, text) + "\n"
	}
	const other = "22222222222222222222222222222222"
	send(`{"event_id":"`+other+`"}`+"\n"+report(event, "first")+`{"type":"attachment","attachment_type":"event.minidump","length":17}`+"\ngroup g1 build b2\n"+report(other, "own"), "id")
	send("{}\n"+report(other, "second")+report(event, "third")+report(strings.Repeat("3", 32), "nobody's"), "attachments: 0, feedback: 2; of the dump ")
	for _, x := range []struct{ event, want string }{{event, "<i>later</i> first third"}, {other, "own second"}} {
		id, err := w.db.OfEvent(t.Context(), "a", x.event)
		if err != nil {
			t.Fatal(err)
		}
		var b beside
		w.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+id, "")
		var texts []string
		for _, f := range b.Feedback {
			texts = append(texts, f.Text)
		}
		if got := strings.Join(texts, " "); got != x.want {
			t.Errorf("event %s: %q, want %q", x.event, got, x.want)
		}
	}
	if status, text, _ := w.do(w.token["b upload"], "POST", "/api/b/envelope/", strings.NewReader(said)); status != 200 || !strings.Contains(text, "no dump of this event") {
		t.Errorf("another project: %d %s", status, text)
	}
	var list struct{ Dumps []beside }
	w.want(200, &list, "GET", "/api/v1/projects/a/dumps", "")
	var b beside
	if w.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+list.Dumps[1].ID, ""); len(list.Dumps) != 2 || len(b.Feedback) != 3 || b.Feedback[0].Text != "<i>later</i>" || len(b.Attachments) != 1 {
		t.Errorf("%+v", b)
	}
	if left := w.objectsOf("b"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Attachments of dumps that are not kept any longer go with them.
func TestAttachmentsNotKept(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Keep.Age = 2 * time.Second })
	body, kind := formOf(t, part{"core", "core", "", "group g1 build b1"}, part{"a", "a", "", "log"})
	w.want(202, nil, "POST", "/api/v1/projects/a/dumps", body, "Content-Type", kind)
	if n := len(w.objectsOf("a")); n != 1 {
		t.Fatalf("%d", n)
	}
	until(t, "attachments stay", func() bool { return len(w.objectsOf("a")) == 0 })
}

// Attachments and feedback are in a backup and come with an import.
func TestAttachmentsMoved(t *testing.T) {
	w := start(t, nil)
	var b, after beside
	body, kind := formOf(t, part{"core", "core", "", "group g1 build b1"}, part{"a", "a", "", "log"}, part{"comments", "", "", "words"})
	w.want(202, &b, "POST", "/api/v1/projects/a/dumps", body, "Content-Type", kind)
	w.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+b.ID, "")
	stray := filepath.Join(w.dir, "projects", "a", "attachments", "00", strings.Repeat("0", 32)+"-"+strings.Repeat("1", 32)) // of no dump
	if err := os.MkdirAll(filepath.Dir(stray), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	to, dir := t.TempDir(), t.TempDir()
	var said bytes.Buffer
	if err := serving.Backup(t.Context(), &serving.Server{Dir: w.dir, Version: "1", Signatures: "v1"}, to, &said); err != nil || !strings.Contains(said.String(), "1 dumps, 2 files") {
		t.Fatal(err, said.String())
	}
	w.stop()
	if err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, io.Discard); err != nil {
		t.Fatal(err)
	}
	back := startIn(t, dir, nil)
	path := "/api/v1/projects/a/dumps/" + b.ID
	if back.want(200, &after, "GET", path, ""); !slices.Equal(after.names(), b.names()) || len(after.Feedback) != 1 || len(b.Attachments) != 1 {
		t.Fatalf("%+v, before %+v", after, b)
	}
	if text := back.want(200, nil, "GET", path+"/attachments/"+b.Attachments[0].ID, ""); text != "log" {
		t.Errorf("%q", text)
	}
	// As Crashpad and Socorro have it.
	from := t.TempDir()
	for name, text := range map[string]string{"completed/11.dmp": "MDMP one", "attachments/11/run.log": "a line", "attachments/11/more/x": "x", "attachments/12/core": "\x7fELF", "pending/13.dmp": "MDMP two",
		"moz/14.dump": "MDMP three", "moz/14.json": `{"Comments":"it died","ProductName":"Fire"}`, "attachments.d/15.dmp": "MDMP four"} {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(from, "attachments", "11", "link")); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	if err := (serving.Import{Project: "a", From: from}).Take(t.Context(), &serving.Server{Dir: dir, Log: io.Discard}, &said); err != nil || !strings.HasPrefix(said.String(), "imported: 4 dumps, 0 were there, 0 ") {
		t.Fatal(err, said.String())
	}
	var list struct{ Dumps []beside }
	back.want(200, &list, "GET", "/api/v1/projects/a/dumps", "")
	files, words := 0, 0
	for _, d := range list.Dumps {
		var x beside
		back.want(200, &x, "GET", "/api/v1/projects/a/dumps/"+d.ID, "")
		if len(x.Attachments) == 1 && x.Attachments[0].Name == "run.log" {
			files++
		}
		if len(x.Feedback) == 1 && x.Feedback[0].Text == "it died" {
			words++
		}
	}
	if files != 1 || words != 1 {
		t.Errorf("%d with files, %d with words: %+v", files, words, list)
	}
}

// What a file is called and said to be makes a browser run nothing.
func TestAttachmentsHostile(t *testing.T) {
	w := start(t, nil)
	svg := `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`
	pages := map[string]string{"x.svg": svg, "x.html": "<!DOCTYPE html><script>1</script>", "x.xml": `<?xml version="1.0"?>` + svg, "x.pdf": "%PDF-1.7\n", "x.swf": "FWS\x09", "x.js": "alert(1)", "x.css": "*{}", "utf16.html": "\xff\xfe<\x00b\x00",
		"a\"; filename=\"b.html": "quoted", "line\r\nX-Evil: 1": "broken", "\xff\u202ebad.html": "turned", strings.Repeat("n", 2000): "long", "..": "up", `C:\temp\x.bat`: "deep", "cut.txt": strings.Repeat("a", 511) + "\u00e9", "bmp": "BM<script>", "ico": "\x00\x00\x01\x00<script>"}
	body := ""
	for name, text := range pages {
		quoted, _ := json.Marshal(name)
		body += fmt.Sprintf(`{"type":"attachment","filename":%s,"content_type":"text/html","length":%d}`, quoted, len(text)) + "\n" + text + "\n"
	}
	seen := 0
	for i, half := range []string{body[:0], body} {
		var d struct{ ID string }
		dump := fmt.Sprint("group g1 build b", i)
		w.want(200, &d, "POST", "/api/a/envelope/", "{}\n"+fmt.Sprintf(`{"type":"attachment","attachment_type":"event.minidump","length":%d}`, len(dump))+"\n"+dump+"\n"+half)
		var b beside
		w.want(200, &b, "GET", "/api/v1/projects/a/dumps/"+d.ID, "")
		for _, a := range b.Attachments {
			seen++
			_, _, h := w.do(w.token["a read"], "GET", "/api/v1/projects/a/dumps/"+d.ID+"/attachments/"+a.ID, nil)
			if kind := h.Get("Content-Type"); kind != "text/plain; charset=utf-8" && kind != "application/octet-stream" || h.Get("X-Evil") != "" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || strings.ContainsAny(h.Get("Content-Disposition"), "/\\\r\n") && !strings.Contains(a.Name, `"`) {
				t.Errorf("%q: %v", a.Name, h)
			}
			if a.Name == "cut.txt" && a.Type != "text/plain; charset=utf-8" || strings.HasPrefix(a.Name, "utf16") && a.Type != "application/octet-stream" || len(a.Name) > 600 {
				t.Errorf("%q is %s", a.Name, a.Type)
			}
		}
	}
	if seen != 16 { // of 17
		t.Errorf("%d were seen", seen)
	}
	r, err := http.NewRequest("GET", w.url+"/api/v1/projects/a/dumps/x/attachments/y", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 401 {
		t.Errorf("%v %v", answer, err)
	}
}
