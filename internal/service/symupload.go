package service

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
)

// The second version of the protocol of Breakpad's sym_upload: a client asks whether a symbol file is there, gets a URL, puts the file
// there, and says of which module it is.

// pendingUploads are symbol files between being put and being named. They are kept for an hour.
type pendingUploads struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list map[string]*pendingUpload
}

type pendingUpload struct {
	project string
	key     string // of the file, once it was put
	path    string // of a symbol server, that the file's first line says; "" if it is an image or a database of symbols
	until   time.Time
}

// Limits of pending uploads.
const (
	pendingTime = time.Hour
	maxPending  = 10_000
	maxOfOne    = 500 // of one project
)

// incoming is the key of a file that was put and has no name yet. Such files do not outlive the service.
func incoming(key string) string { return "tmp/symbols-" + key }

// expired forgets the uploads whose time is over at some moment, and returns the files that were put for them.
func (p *pendingUploads) expired(now time.Time) (files []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, u := range p.list {
		if now.After(u.until) {
			delete(p.list, key)
			if u.key != "" {
				files = append(files, u.key)
			}
		}
	}
	return files
}

// add returns the key of a new upload; "" if there are too many.
func (p *pendingUploads) add(project string) (key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, own := time.Now(), 0
	for _, u := range p.list {
		if u.project == project {
			own++
		}
	}
	if own >= maxOfOne || len(p.list) >= maxPending {
		return ""
	}
	if p.list == nil {
		p.list = map[string]*pendingUpload{}
	}
	var b [16]byte
	rand.Read(b[:]) // does not fail
	key = hex.EncodeToString(b[:])
	p.list[key] = &pendingUpload{project: project, until: now.Add(pendingTime)}
	return key
}

func (p *pendingUploads) get(key string) (u pendingUpload, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.list[key]; u != nil && time.Now().Before(u.until) {
		return *u, true
	}
	return u, false
}

func (p *pendingUploads) set(key, file, path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.list[key]; u != nil {
		u.key, u.path = file, path
	}
}

func (p *pendingUploads) remove(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, key)
}

// debugKey is the key of the symbol file of a module, by its debug file and identifier.
func debugKey(project, file, id string) (string, error) {
	return symbolKey(project, storePath(file, strings.ReplaceAll(id, "-", "")))
}

// symStatus answers whether a symbol file is there: GET symbols/FILE/ID:checkStatus.
func (s *Service) symStatus(w http.ResponseWriter, r *http.Request, p *request) error {
	id, ok := strings.CutSuffix(r.PathValue("id"), ":checkStatus")
	if !ok {
		return fs.ErrNotExist
	}
	key, err := debugKey(p.project, r.PathValue("file"), id)
	if err != nil {
		return err
	}
	status := "FOUND"
	_, release, err := s.c.Objects.Local(r.Context(), key)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status = "MISSING"
	case err != nil:
		return err
	default:
		release()
	}
	symAnswer(w, map[string]string{"status": status})
	return nil
}

// symAnswer answers as sym_upload expects it: it searches for a name, a colon and a space.
func symAnswer(w http.ResponseWriter, v map[string]string) { answerIndented(w, http.StatusOK, v, " ") }

// dropExpired removes the files of uploads that were never completed.
func (s *Service) dropExpired(ctx context.Context, now time.Time) error {
	var errs []error
	for _, old := range s.pending.expired(now) {
		errs = append(errs, s.c.Objects.Remove(ctx, old))
	}
	return errors.Join(errs...)
}

// symCreate answers where to put a symbol file: POST uploads:create. The client puts it there without its token.
func (s *Service) symCreate(w http.ResponseWriter, r *http.Request, p *request) error {
	if err := s.dropExpired(r.Context(), time.Now()); err != nil {
		return err
	}
	key := s.pending.add(p.project)
	if key == "" {
		return httpError{http.StatusTooManyRequests, "too many uploads that were not completed: try again later"}
	}
	scheme := "http"
	if secure(r) {
		scheme = "https"
	}
	symAnswer(w, map[string]string{"uploadUrl": scheme + "://" + r.Host + "/sym/put/" + key, "uploadKey": key})
	return nil
}

// symPut takes a symbol file at a URL that symCreate gave: the URL is the permission.
func (s *Service) symPut(w http.ResponseWriter, r *http.Request) {
	err := s.symPutFile(w, r)
	if err != nil {
		s.answerError(w, r, err)
	}
}

func (s *Service) symPutFile(w http.ResponseWriter, r *http.Request) error {
	u, ok := s.pending.get(r.PathValue("key"))
	if !ok {
		return fs.ErrNotExist
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload)
	plain, err := s.plain(r, s.c.MaxUpload)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(plain, 4096)
	key, named := incoming(r.PathValue("key")), ""
	if start, _ := in.Peek(4); string(start) == "\x7fELF" || string(start) == "Micr" || strings.HasPrefix(string(start), "MZ") {
		err = s.putImage(r.Context(), key, in)
	} else if named, err = symHead(u.project, in); err == nil {
		_, err = s.keepSymbols(r.Context(), u.project, key, named, copyOf(in))
	}
	if err != nil {
		return err
	}
	s.pending.set(r.PathValue("key"), key, named)
	w.WriteHeader(http.StatusOK)
	return nil
}

// putImage keeps an image, or a database of symbols, of which the client has yet to tell the name.
func (s *Service) putImage(ctx context.Context, key string, in io.Reader) error {
	f, err := s.c.Objects.New(ctx)
	if err != nil {
		return err
	}
	defer f.Drop()
	if err := copyOf(in)(&limited{f, s.c.MaxUpload, s.c.MaxUpload}); err != nil {
		return err
	}
	return f.Keep(ctx, key)
}

// symComplete stores a file that was put, by its module: POST uploads/KEY:complete.
func (s *Service) symComplete(w http.ResponseWriter, r *http.Request, p *request) error {
	upload, ok := strings.CutSuffix(r.PathValue("upload"), ":complete")
	u, known := s.pending.get(upload)
	if !ok || !known || u.project != p.project || u.key == "" {
		return fs.ErrNotExist
	}
	done := false
	defer func() {
		if !done { // the client does not try again: what it put would only lie there
			s.pending.set(upload, "", "")
			if err := s.c.Objects.Remove(context.WithoutCancel(r.Context()), u.key); err != nil {
				s.c.Log.Error("a symbol file that was not completed is not removed", "error", err)
			}
		}
	}()
	var in struct {
		ID struct {
			File string `json:"debug_file"`
			ID   string `json:"debug_id"`
		} `json:"symbol_id"`
		Type string `json:"symbol_upload_type"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxComplete))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(quoted(body), &in); err != nil {
		return wrong("the body is not what is expected: %v", err)
	}
	if breakpad := in.Type == "" || in.Type == "BREAKPAD"; breakpad != (u.path != "") {
		return wrong("symbol_upload_type %.20q: the file is of another type", in.Type)
	} else if !breakpad {
		// It belongs where it says itself; what was put is removed.
		_, err := s.keepSymbols(r.Context(), p.project, "", find.BaseName(in.ID.File), func(out io.Writer) error { return s.copyChunk(r.Context(), out, u.key) })
		if err != nil {
			return err
		}
		s.pending.remove(upload)
		symAnswer(w, map[string]string{"result": "OK"})
		return nil
	}
	key, err := debugKey(p.project, in.ID.File, in.ID.ID)
	if err != nil {
		return err
	}
	if said, err := symbolKey(p.project, u.path); err != nil || said != key {
		return wrong("the file that was put is %.200s, as it says itself", u.path)
	}
	result := "OK"
	if _, release, err := s.c.Objects.Local(r.Context(), key); err == nil {
		release()
		result = "DUPLICATE_DATA"
	}
	if err := s.c.Objects.Rename(r.Context(), u.key, key); err != nil {
		return err
	}
	done = true
	s.pending.remove(upload)
	s.symbolsCame(p.project)
	symAnswer(w, map[string]string{"result": result})
	return nil
}

// maxComplete is the size of what a client says of a file that it put, in bytes.
const maxComplete = 4 << 10

// quoted returns JSON whose names may lack their quotes, as sym_upload writes them, with quotes.
func quoted(text []byte) []byte {
	out := make([]byte, 0, len(text)+16)
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out, i = append(out, text[i:end]...), end
		case c >= 'a' && c <= 'z' || c == '_':
			end := i
			for end < len(text) && (text[end] >= 'a' && text[end] <= 'z' || text[end] == '_') {
				end++
			}
			out, i = append(append(append(out, '"'), text[i:end]...), '"'), end
		default:
			out, i = append(out, c), i+1
		}
	}
	return out
}
