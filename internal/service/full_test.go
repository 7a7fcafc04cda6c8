package service_test

import (
	"bytes"
	"context"
	"errors"
	"mime/multipart"
	"strings"
	"syscall"
	"testing"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
)

// A sick store fails when a file is written.
type sick struct {
	objects.Store
	err error
}

type sickFile struct {
	objects.File
	err error
}

func (s *sick) New(ctx context.Context) (objects.File, error) {
	f, err := s.Store.New(ctx)
	return sickFile{f, s.err}, err
}

func (f sickFile) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.File.Write(b)
}

// A full disk, or a storage that does not answer, is not the client's fault: it sends again. Nothing of the service's paths is told.
func TestNoRoom(t *testing.T) {
	s := new(sick)
	w := start(t, func(c *service.Config) {
		s.Store = c.Objects
		c.Objects = s
	})
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	part, err := m.CreateFormFile("upload_file_minidump", "m")
	if err == nil {
		_, err = part.Write([]byte("group g build b"))
	}
	if err = errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	var symbols bytes.Buffer
	sm := multipart.NewWriter(&symbols)
	if part, err = sm.CreateFormFile("symbol_file", "a.sym"); err == nil {
		_, err = part.Write([]byte("MODULE Linux x86_64 ABCD a\nPUBLIC 10 0 f\n"))
	}
	if err = errors.Join(err, sm.Close()); err != nil {
		t.Fatal(err)
	}
	envelope := "{}\n{\"type\":\"attachment\",\"attachment_type\":\"event.minidump\",\"length\":15}\ngroup g build b\n"
	const api = "/api/v1/projects/a"
	for _, c := range []struct {
		err    error
		status int
	}{{&errorAt{"/secret/place", syscall.ENOSPC}, 507}, {&errorAt{"/secret/place", syscall.EDQUOT}, 507}, {&errorAt{"/secret/place", errors.New("refused")}, 500}, {nil, 0}} {
		s.err = c.err
		for _, q := range [][]string{
			{"POST", api + "/dumps", "group g build b", ""}, {"POST", "/api/a/minidump", form.String(), m.FormDataContentType()}, {"POST", "/api/a/envelope/", envelope, ""},
			{"PUT", api + "/symbols/a/AB/a.sym", "MODULE Linux x86_64 AB a\nPUBLIC 10 0 f\n", ""}, {"POST", api + "/sym_upload", symbols.String(), sm.FormDataContentType()},
		} {
			status, text, _ := w.do(w.token["a all"], q[0], q[1], strings.NewReader(q[2]), "Content-Type", q[3])
			if c.err == nil && status/100 != 2 || c.err != nil && status != c.status || strings.Contains(text, "secret") {
				t.Errorf("%v: %s %s: %d %s, want %d", c.err, q[0], q[1], status, text, c.status)
			}
		}
		status, text, h := w.do(w.token["a all"], "POST", api+"/uploads/", nil, "Tus-Resumable", "1.0.0", "Upload-Length", "15")
		if status == 201 {
			status, text, _ = w.do(w.token["a all"], "PATCH", strings.TrimPrefix(h.Get("Location"), w.url), strings.NewReader("group g build b"), "Tus-Resumable", "1.0.0", "Upload-Offset", "0", "Content-Type", "application/offset+octet-stream")
		}
		if c.err == nil && status != 204 || c.err != nil && status != c.status || strings.Contains(text, "secret") {
			t.Errorf("%v: in parts: %d %s, want %d", c.err, status, text, c.status)
		}
	}
	if _, text, _ := w.do("", "GET", "/metrics", nil); !strings.Contains(text, "\ncorewalk_disk_full_total 1") { // 10, and two from the uploads in parts
		t.Errorf("the full disk is not counted:\n%s", text)
	}
}

type errorAt struct {
	place string
	err   error
}

func (e *errorAt) Error() string { return e.place + ": " + e.err.Error() }
func (e *errorAt) Unwrap() error { return e.err }
