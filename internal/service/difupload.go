package service

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/report"
)

// The way of `sentry-cli debug-files upload`: a client cuts files into chunks, asks which of them are not here, sends these, and asks for the files to
// be put together. A chunk and a file are known by their SHA-1 digest, which clients choose as they are told; what counts is what the file says of itself.

// Limits of chunks, that clients are told.
const (
	chunkSize        = 8 << 20 // bytes
	chunksOfRequest  = 64
	chunkRequestSize = 32 << 20 // bytes
	maxChunks        = 10_000   // of a project, between being sent and being put together
	chunkTime        = time.Hour
	maxAssemble      = 4 << 20 // bytes of a request
	maxAssembled     = 256     // files of a request
)

// chunksDir has the chunks of a project that belong to no file yet. They do not outlive the service.
func chunksDir(project string) string { return "tmp/chunks/" + project }

// difKey has the path of a symbol file that was put together, by its digest: it need not be sent again.
func difKey(project, sum string) string { return path.Join("projects", project, "difs", sum) }

// isDigest reports whether a text is a SHA-1 digest as clients write it.
func isDigest(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }

// chunkWays answers how chunks are sent: GET chunk-upload/.
func (s *Service) chunkWays(w http.ResponseWriter, r *http.Request, p *request) error {
	scheme := "http"
	if secure(r) {
		scheme = "https"
	}
	answer(w, http.StatusOK, map[string]any{"url": scheme + "://" + r.Host + r.URL.EscapedPath(), "chunkSize": chunkSize, "chunksPerRequest": chunksOfRequest, "maxFileSize": s.c.MaxUpload,
		"maxRequestSize": chunkRequestSize, "concurrency": 2, "hashAlgorithm": "sha1", "compression": []string{"gzip"}, "accept": []string{"debug_files", "pdbs"}})
	return nil
}

// takeChunks keeps chunks: POST chunk-upload/, a form with a part "file" or "file_gzip" for each.
func (s *Service) takeChunks(w http.ResponseWriter, r *http.Request, p *request) error {
	n, size, err := s.dropChunks(r.Context(), p.project, time.Now())
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, chunkRequestSize+maxComplete)
	form, err := r.MultipartReader()
	if err != nil {
		return bodyError(err)
	}
	for of := 0; ; of++ {
		part, err := form.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return bodyError(err)
		}
		if of == chunksOfRequest {
			return wrong("more than %d chunks in a request", chunksOfRequest)
		}
		if n++; n > maxChunks || size > 2*s.c.MaxUpload {
			return httpError{http.StatusTooManyRequests, "too many chunks that belong to no file yet: try again later"}
		}
		took, err := s.takeChunk(r.Context(), p.project, part)
		if err != nil {
			return err
		}
		size += took
	}
	answer(w, http.StatusOK, map[string]any{})
	return nil
}

// takeChunk keeps a chunk, if it is the one that it is called, and returns its size.
func (s *Service) takeChunk(ctx context.Context, project string, part *multipart.Part) (int64, error) {
	sum := part.FileName()
	if !isDigest(sum) {
		return 0, wrong("chunk %.60q: its name must be its SHA-1 digest in hexadecimal", sum)
	}
	encoding := ""
	switch part.FormName() {
	case "file":
	case "file_gzip":
		encoding = "gzip"
	default:
		return 0, wrong("part %.40q: must be file or file_gzip", part.FormName())
	}
	in, err := receive.Plain(encoding, part)
	if err != nil {
		return 0, wrong("chunk %s: %v", sum, err)
	}
	f, err := s.c.Objects.New(ctx)
	if err != nil {
		return 0, err
	}
	defer f.Drop()
	h := sha1.New()
	size, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(in, chunkSize+1))
	switch {
	case err != nil:
		return 0, bodyError(err)
	case size > chunkSize:
		return 0, httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("chunk %s: more than %d bytes", sum, chunkSize)}
	case hex.EncodeToString(h.Sum(nil)) != sum:
		return 0, wrong("chunk %s has another digest", sum)
	}
	return size, f.Keep(ctx, chunksDir(project)+"/"+sum)
}

// dropChunks removes the chunks of a project that nobody put together in time, and returns how many others there are, and their bytes.
func (s *Service) dropChunks(ctx context.Context, project string, now time.Time) (n int, size int64, _ error) {
	var old []string
	for o, err := range s.c.Objects.List(ctx, chunksDir(project)) {
		if err != nil {
			return 0, 0, err
		}
		if now.Sub(o.Changed) > chunkTime {
			old = append(old, o.Key)
			continue
		}
		n, size = n+1, size+o.Size
	}
	for _, key := range old {
		if err := s.c.Objects.Remove(ctx, key); err != nil {
			return 0, 0, err
		}
	}
	return n, size, nil
}

// A difRequest is a file that a client wants to be here.
type difRequest struct {
	Name    string   `json:"name"`
	DebugID string   `json:"debug_id"`
	Chunks  []string `json:"chunks"`
}

// A difAnswer says what became of it.
type difAnswer struct {
	State   string   `json:"state"` // "ok", "not_found", "error"
	Missing []string `json:"missingChunks"`
	Detail  string   `json:"detail,omitempty"`
	File    *difFile `json:"dif,omitempty"`
}

type difFile struct {
	DebugID string            `json:"debugId,omitempty"`
	Name    string            `json:"objectName"`
	CPU     string            `json:"cpuName"`
	Sum     string            `json:"sha1"`
	Headers map[string]string `json:"headers"`
	Data    struct{}          `json:"data"`
}

// assemble puts files together whose chunks are all here, and says of others which are not: POST files/difs/assemble/.
func (s *Service) assemble(w http.ResponseWriter, r *http.Request, p *request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAssemble))
	if err != nil {
		return bodyError(err)
	}
	var files map[string]difRequest
	if err := json.Unmarshal(body, &files); err != nil {
		return wrong("the body is not what is expected: %v", err)
	}
	if len(files) > maxAssembled {
		return wrong("%d files: at most %d in a request", len(files), maxAssembled)
	}
	have := map[string]int64{}
	for o, err := range s.c.Objects.List(r.Context(), chunksDir(p.project)) {
		if err != nil {
			return err
		}
		have[path.Base(o.Key)] = o.Size
	}
	left := 2 * s.c.MaxUpload // bytes of chunks that this request may have read: as many as there may be
	out := make(map[string]difAnswer, len(files))
	for sum, f := range files {
		if !isDigest(sum) {
			return wrong("%.60q is no SHA-1 digest in hexadecimal", sum)
		}
		a, err := s.assembleFile(r.Context(), p.project, sum, f, have, &left)
		if err != nil {
			return err
		}
		out[sum] = a
	}
	answer(w, http.StatusOK, out)
	return nil
}

// assembleFile puts a file together, of the chunks that the project has. Errors are the service's own; what is wrong with the file is in the answer.
func (s *Service) assembleFile(ctx context.Context, project, sum string, in difRequest, have map[string]int64, left *int64) (difAnswer, error) {
	ok := difAnswer{State: "ok", Missing: []string{}, File: &difFile{DebugID: in.DebugID, Name: in.Name, Sum: sum, Headers: map[string]string{}}}
	if here, err := s.assembled(ctx, project, sum); here || err != nil {
		return ok, err
	}
	if len(in.Chunks) == 0 || len(in.Chunks) > maxChunks {
		return difAnswer{State: "error", Missing: []string{}, Detail: fmt.Sprintf("%d chunks: a file has 1 to %d", len(in.Chunks), maxChunks)}, nil
	}
	missing, size := []string{}, int64(0)
	for _, c := range in.Chunks {
		if !isDigest(c) {
			return difAnswer{State: "error", Missing: missing, Detail: "a chunk is named by its SHA-1 digest in hexadecimal"}, nil
		}
		n, ok := have[c]
		if !ok {
			missing = append(missing, c)
		}
		size += n
	}
	if len(missing) > 0 {
		return difAnswer{State: "not_found", Missing: missing}, nil
	}
	err := s.keepChunks(ctx, project, sum, in, size, left)
	for _, c := range in.Chunks {
		delete(have, c)
	}
	var known httpError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return difAnswer{State: "error", Missing: missing, Detail: fmt.Sprintf("more than %d bytes", large.Limit)}, nil
	case errors.As(err, &known) && known.status < 500:
		return difAnswer{State: "error", Missing: missing, Detail: known.text}, nil
	}
	return ok, err
}

// assembled reports whether a file with a digest was put together before and is still here.
func (s *Service) assembled(ctx context.Context, project, sum string) (bool, error) {
	at, release, err := s.c.Objects.Local(ctx, difKey(project, sum))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer release()
	text, err := os.ReadFile(at)
	if err != nil {
		return false, err
	}
	key, err := symbolKey(project, string(text))
	if err != nil {
		return false, nil // of another version
	}
	return s.stored(ctx, key)
}

// keepChunks stores the file of size bytes that chunks make, where it belongs by what it says of itself, and removes them. left is what the request
// may still have read.
func (s *Service) keepChunks(ctx context.Context, project, sum string, in difRequest, size int64, left *int64) error {
	defer func() {
		for _, c := range in.Chunks {
			if err := s.c.Objects.Remove(context.WithoutCancel(ctx), chunksDir(project)+"/"+c); err != nil {
				s.c.Log.Error("a chunk of a symbol file is not removed", "error", err)
			}
		}
	}()
	// A chunk may be named as often as a file has it, without being sent again.
	if size > *left {
		return wrong("the files of the request have more than %d bytes together", 2*s.c.MaxUpload)
	}
	*left -= min(size, s.c.MaxUpload)
	named, err := s.keepSymbols(ctx, project, "", find.BaseName(in.Name), func(out io.Writer) error {
		h := sha1.New()
		for _, c := range in.Chunks {
			if err := s.copyChunk(ctx, io.MultiWriter(out, h), chunksDir(project)+"/"+c); err != nil {
				return err
			}
		}
		if hex.EncodeToString(h.Sum(nil)) != sum {
			return wrong("the chunks make a file with another digest")
		}
		return nil
	})
	if err != nil {
		return err
	}
	mark, err := s.c.Objects.New(ctx)
	if err != nil {
		return err
	}
	defer mark.Drop()
	if _, err := io.WriteString(mark, named); err != nil {
		return err
	}
	return mark.Keep(ctx, difKey(project, sum))
}

func (s *Service) copyChunk(ctx context.Context, w io.Writer, key string) error {
	at, release, err := s.c.Objects.Local(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	in, err := os.Open(at)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}

// difPath returns the path of a file below a project's symbols. name is what the client calls it.
func difPath(f objects.File, name string) (string, error) {
	in, err := os.Open(f.Path())
	if err != nil {
		return "", err
	}
	defer in.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", bodyError(err)
	}
	if strings.HasPrefix(string(head[:n]), "MODULE ") {
		return symPath(head[:n])
	}
	at, err := find.StorePath(f.Path(), name)
	if err != nil {
		return "", wrong("%.200s: %v", report.Clean(name), err)
	}
	return at, nil
}
