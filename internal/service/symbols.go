package service

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/internal/service/store"
)

// symbolsDir is where a project's symbols are, below the store.
func symbolsDir(project string) string { return path.Join("projects", project, "symbols") }

// symbolKey returns the key of a symbol file: by its path in a debuginfod server (buildid/ID/debuginfo or executable), or in a
// symbol server (NAME/ID/FILE). The first kind is stored as debuggers look for files below a debug directory.
func symbolKey(project, p string) (string, error) {
	parts := strings.Split(p, "/")
	if len(parts) != 3 {
		return "", wrong("%.100q: must be buildid/ID/debuginfo, buildid/ID/executable or NAME/ID/FILE", p)
	}
	if parts[0] == "buildid" {
		id := strings.ToLower(parts[1])
		if len(id) < 4 || len(id) > 128 || len(id)%2 != 0 || strings.Trim(id, "0123456789abcdef") != "" {
			return "", wrong("build-id %.140q: must be bytes in hex", parts[1])
		}
		key := path.Join(symbolsDir(project), ".build-id", id[:2], id[2:])
		switch parts[2] {
		case "debuginfo":
			return key + ".debug", nil
		case "executable":
			return key, nil
		}
		return "", wrong("%.40q: must be debuginfo or executable", parts[2])
	}
	for _, s := range parts {
		if s == "" || s[0] == '.' || len(s) > 200 || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || strings.ContainsRune(`\:*?"<>|`, c) }) {
			return "", wrong("%.100q is no path of a symbol file", p)
		}
	}
	if strings.Trim(parts[1], "0123456789abcdefABCDEF") != "" {
		return "", wrong("identifier %.100q: must be hexadecimal", parts[1])
	}
	return path.Join(symbolsDir(project), parts[0], strings.ToUpper(parts[1]), parts[2]), nil
}

func (s *Service) putSymbols(w http.ResponseWriter, r *http.Request, p *request) error {
	key, err := symbolKey(p.project, r.PathValue("path"))
	if err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload)
	plain, err := s.plain(r, s.c.MaxUpload)
	if err != nil {
		return err
	}
	f, err := s.c.Objects.New(r.Context())
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err := io.Copy(&limited{f, s.c.MaxUpload, s.c.MaxUpload}, plain); err != nil {
		return bodyError(err)
	}
	if err := s.verifySymbols(r.Context(), f, r.PathValue("path")); err != nil {
		return err
	}
	if err := f.Keep(r.Context(), key); err != nil {
		return err
	}
	s.symbolsCame(p.project)
	w.WriteHeader(http.StatusCreated)
	return nil
}

// symbolsCame has dumps that are analysed from now on use symbols that were stored.
func (s *Service) symbolsCame(project string) {
	s.metrics.add("corewalk_symbols_total", 1)
	if s.worker != nil {
		s.worker.Renew(project)
	}
}

// verifySymbols returns an error unless a file is the one that its path names: it says itself of which build it is, so that no token
// replaces symbols of other builds by mistake, and nothing else is kept as symbols. p is a path that symbolKey took.
func (s *Service) verifySymbols(ctx context.Context, f objects.File, p string) error {
	if _, size := f.Sum(); size == 0 {
		return wrong("the file is empty")
	}
	parts := strings.Split(p, "/")
	var err error
	if parts[0] == "buildid" {
		err = find.VerifyELF(f.Path(), parts[2], strings.ToLower(parts[1]))
	} else {
		var inner objects.File
		err = find.VerifyStored(f.Path(), parts[1], func(write func(io.Writer) error) (string, error) {
			var err error
			if inner, err = s.c.Objects.New(ctx); err != nil {
				return "", err
			}
			return inner.Path(), write(&limited{inner, s.c.MaxUpload, s.c.MaxUpload})
		})
		if inner != nil {
			inner.Drop()
		}
	}
	if err == nil {
		return nil
	}
	var large *http.MaxBytesError
	var here *notKept
	if errors.As(err, &here) || errors.As(err, &large) {
		return bodyError(err)
	}
	return wrong("this is not the file of %.200s: %v", p, err)
}

// A lackingDoc is a file that dumps of a project need and that was not found when they were analysed.
type lackingDoc struct {
	Module string `json:"module"`
	Path   string `json:"path"`  // below the project's symbols
	Value  string `json:"value"` // of the attribute
	Dumps  int    `json:"dumps"`
	Here   bool   `json:"here,omitempty"` // it was sent meanwhile: the dumps can be analysed again
}

// maxLacking is how many files are listed that are lacking.
const maxLacking = 100

// lacking lists the files that the project lacks, those that most dumps need first. What an attribute says becomes a part of a command: it is a path that
// symbolKey takes, of characters that are the same in URLs and shells.
func (s *Service) lacking(w http.ResponseWriter, r *http.Request, p *request) error {
	facets, err := s.c.Store.Facets(r.Context(), p.project, maxLacking)
	if err != nil {
		return err
	}
	list, known := []lackingDoc{}, 0
	for _, f := range facets {
		if f.Name != store.AttrLacks {
			continue
		}
		known = f.Known
		for _, v := range f.Values {
			i := strings.LastIndexByte(v.Value, ' ')
			d := lackingDoc{Module: v.Value[:max(i, 0)], Path: v.Value[i+1:], Value: v.Value, Dumps: v.Count}
			plain, err := url.PathUnescape(d.Path)
			if err != nil || strings.Trim(d.Path, pathCharacters) != "" {
				continue
			}
			key, err := symbolKey(p.project, plain)
			if err != nil {
				continue
			}
			if d.Here, err = s.stored(r.Context(), key); err != nil {
				return err
			}
			list = append(list, d)
		}
	}
	answer(w, http.StatusOK, map[string]any{"lacking": list, "known": known})
	return nil
}

// pathCharacters are those of a path of symbols that a shell leaves as they are.
const pathCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+~@%/"

// stored reports whether there is a file. It is not read: it may be far away.
func (s *Service) stored(ctx context.Context, key string) (bool, error) {
	for o, err := range s.c.Objects.List(ctx, path.Dir(key)) {
		if err != nil || o.Key == key {
			return err == nil, err
		}
	}
	return false, nil
}

// getSymbols serves symbols to debuggers and to corewalk.
func (s *Service) getSymbols(w http.ResponseWriter, r *http.Request, p *request) error {
	key, err := symbolKey(p.project, r.PathValue("path"))
	if err != nil {
		return fs.ErrNotExist // clients also ask for paths that are not served: sources, sections, compressed files
	}
	serveSymbols(w, r, s.c.Objects, key, func(e error) { err = e })
	return err
}

// A sized writer adds the size in the header in which debuginfod's clients look for it.
type sized struct{ http.ResponseWriter }

func (w *sized) WriteHeader(status int) {
	if n := w.Header().Get("Content-Length"); n != "" && status == http.StatusOK {
		w.Header().Set("X-DEBUGINFOD-SIZE", n)
	}
	w.ResponseWriter.WriteHeader(status)
}

// symUpload takes a Breakpad symbol file in a form, as Breakpad's sym_upload sends it. The file's first line says which module it
// is of.
func (s *Service) symUpload(w http.ResponseWriter, r *http.Request, p *request) error {
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload+maxBesides)
	plain, err := s.plain(r, s.c.MaxUpload+maxBesides)
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(plain)
	form, err := r.MultipartReader()
	if err != nil {
		return bodyError(err)
	}
	for parts := 0; parts < receive.MaxFields; parts++ {
		part, err := form.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return bodyError(err)
		}
		if part.FormName() == "symbol_file" {
			return s.keepSym(w, r, p, part)
		}
		if _, err := io.Copy(io.Discard, io.LimitReader(part, receive.MaxField)); err != nil {
			return bodyError(err)
		}
	}
	return wrong("the form needs a file symbol_file")
}

func (s *Service) keepSym(w http.ResponseWriter, r *http.Request, p *request, part *multipart.Part) error {
	in := bufio.NewReaderSize(part, 4096)
	head, err := in.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return bodyError(err)
	}
	named, err := symPath(head)
	if err != nil {
		return err
	}
	key, err := symbolKey(p.project, named)
	if err != nil {
		return err
	}
	f, err := s.c.Objects.New(r.Context())
	if err != nil {
		return err
	}
	defer f.Drop()
	if _, err := io.Copy(&limited{f, s.c.MaxUpload, s.c.MaxUpload}, in); err != nil {
		return bodyError(err)
	}
	if err := s.verifySymbols(r.Context(), f, named); err != nil {
		return err
	}
	if err := f.Keep(r.Context(), key); err != nil {
		return err
	}
	s.symbolsCame(p.project)
	plainText(w, "stored")
	return nil
}

// symPath returns the path at which symbol servers have a Breakpad symbol file, by its MODULE line: "MODULE Linux x86_64 IDENTIFIER name".
func symPath(head []byte) (string, error) {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	fields := strings.SplitN(strings.TrimRight(string(line), "\r"), " ", 5)
	if len(fields) != 5 || fields[0] != "MODULE" {
		return "", wrong("not a Breakpad symbol file: it does not begin with a MODULE line")
	}
	return storePath(fields[4], fields[3]), nil
}

// storePath is the path at which symbol servers have the Breakpad symbol file of a module.
func storePath(name, id string) string {
	return name + "/" + id + "/" + strings.TrimSuffix(name, ".pdb") + ".sym"
}
