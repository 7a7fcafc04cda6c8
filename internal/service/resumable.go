package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"
	"github.com/tus/tusd/v2/pkg/memorylocker"
	"golang.org/x/exp/slog"

	"github.com/corewalk/corewalk/internal/service/receive"
)

// resumable takes dumps in parts, by the tus protocol 1.0.0: a client whose connection broke goes on where it was.
type resumable struct {
	s  *Service
	mu sync.Mutex                          // held while a project's directory is made, and guards of; no other lock is taken inside
	of map[string]*handler.UnroutedHandler // by project
}

func (s *Service) resumable() error {
	s.tus = &resumable{s: s, of: map[string]*handler.UnroutedHandler{}}
	return os.MkdirAll(s.c.Uploads, 0o700)
}

// handler returns what takes the uploads of a project.
func (u *resumable) handler(project string) (*handler.UnroutedHandler, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if h := u.of[project]; h != nil {
		return h, nil
	}
	dir := filepath.Join(u.s.c.Uploads, project)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	memorylocker.New().UseIn(composer)
	h, err := handler.NewUnroutedHandler(handler.Config{
		StoreComposer: composer, MaxSize: u.s.c.MaxUpload, BasePath: "/api/v1/projects/" + project + "/uploads/",
		DisableDownload: true, DisableConcatenation: true, Cors: &handler.CorsConfig{Disable: true},
		Logger:                    slog.New(slog.NewTextHandler(io.Discard, nil)),
		PreFinishResponseCallback: func(e handler.HookEvent) (handler.HTTPResponse, error) { return u.finish(project, dir, e) },
	})
	if err != nil {
		return nil, err
	}
	u.of[project] = h
	return h, nil
}

// finish stores a dump that is whole.
func (u *resumable) finish(project, dir string, e handler.HookEvent) (handler.HTTPResponse, error) {
	var answer handler.HTTPResponse
	path := filepath.Join(dir, filepath.Base(e.Upload.ID))
	in, err := os.Open(path)
	if err != nil {
		return answer, err
	}
	defer in.Close()
	to, err := u.s.take(e.Context)
	if err != nil {
		return answer, err
	}
	defer to.drop()
	if _, err := io.Copy(to.file, in); err != nil {
		return answer, err
	}
	fields := map[string]string{}
	for name, value := range e.Upload.MetaData {
		if name != "filename" && len(fields) < maxAnnotations {
			fields[name] = value
		}
	}
	kept, err := u.s.keep(e.Context, to, project, &receive.Body{Name: e.Upload.MetaData["filename"], Fields: fields})
	var known httpError
	if errors.As(err, &known) { // the client's: it will not get better
		return answer, errors.Join(handler.NewError("ERR_DUMP", known.text, known.status), os.Remove(path), os.Remove(path+".info"))
	}
	if err != nil {
		u.s.c.Log.Error("a dump cannot be stored", "project", project, "error", err)
		return answer, err
	}
	err = errors.Join(os.Remove(path), os.Remove(path+".info"))
	if err != nil {
		u.s.c.Log.Warn("an upload is not removed", "path", path, "error", err)
	}
	answer.Header = handler.HTTPHeader{"X-Corewalk-Dump": kept.ID}
	return answer, nil
}

// resume answers the requests of the protocol.
func (s *Service) resume(w http.ResponseWriter, r *http.Request, p *request) error {
	id := r.PathValue("id")
	if strings.Trim(id, "0123456789abcdef") != "" || len(id) > 64 { // it becomes the name of a file
		return fs.ErrNotExist
	}
	h, err := s.tus.handler(p.project)
	if err != nil {
		return err
	}
	if r.Method == http.MethodPost {
		open, err := os.ReadDir(filepath.Join(s.c.Uploads, p.project))
		if err != nil {
			return err
		}
		if len(open) >= 2*maxOfOne { // each has a description beside it
			return httpError{http.StatusTooManyRequests, "too many uploads that were not completed: try again later"}
		}
	}
	do := map[string]http.HandlerFunc{http.MethodPost: h.PostFile, http.MethodHead: h.HeadFile, http.MethodPatch: h.PatchFile, http.MethodDelete: h.DelFile}[r.Method]
	if do == nil && r.Method != http.MethodOptions {
		return httpError{http.StatusMethodNotAllowed, "POST, HEAD, PATCH, DELETE or OPTIONS"}
	}
	own := r.Clone(r.Context())
	own.URL.Path = "/" + id
	failed := &failures{ResponseWriter: w}
	h.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do != nil {
			do(w, r)
		}
	})).ServeHTTP(failed, own)
	return failed.err()
}

// failures keeps to itself what the protocol's library says of errors that the client has no part in: it has names of files.
type failures struct {
	http.ResponseWriter
	status int // 500 or more, or 0
	said   strings.Builder
}

func (f *failures) WriteHeader(status int) {
	if status >= http.StatusInternalServerError {
		f.status = status
		return
	}
	f.ResponseWriter.WriteHeader(status)
}

func (f *failures) Write(b []byte) (int, error) {
	if f.status != 0 {
		f.said.Write(b[:min(len(b), max(0, 4096-f.said.Len()))])
		return len(b), nil
	}
	return f.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (f *failures) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f *failures) err() error {
	if f.status == 0 {
		return nil
	}
	f.Header().Del("Content-Length")
	for _, full := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if strings.Contains(f.said.String(), full.Error()) {
			return fmt.Errorf("%s: %w", f.said.String(), full)
		}
	}
	return errors.New(f.said.String())
}

// unfinished is how long an upload in parts may lie unfinished.
const unfinished = 24 * time.Hour

// tidyUploads removes uploads that nobody has gone on with.
func (s *Service) tidyUploads(ctx context.Context) {
	tick := time.NewTicker(pendingTime / 4)
	defer tick.Stop()
	for {
		if err := errors.Join(removeOld(s.c.Uploads, time.Now().Add(-unfinished)), s.dropExpired(ctx, time.Now())); err != nil {
			s.c.Log.Error("unfinished uploads are not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// removeOld removes the files below a directory that were last changed before a time. The description of an upload is as old as its
// beginning: it goes with its content.
func removeOld(dir string, before time.Time) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := os.Stat(strings.TrimSuffix(path, ".info"))
		if errors.Is(err, fs.ErrNotExist) {
			st, err = os.Stat(path)
		}
		if err == nil && st.ModTime().Before(before) {
			err = os.Remove(path)
		}
		if errors.Is(err, fs.ErrNotExist) { // it has just been finished
			return nil
		}
		return err
	})
}
