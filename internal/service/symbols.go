package service

import (
	"bufio"
	"bytes"
	"cmp"
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
	if _, err := symbolKey(p.project, r.PathValue("path")); err != nil { // before the file is read
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, s.c.MaxUpload)
	plain, err := s.plain(r, s.c.MaxUpload)
	if err != nil {
		return err
	}
	if _, err := s.keepSymbols(r.Context(), p.project, "", r.PathValue("path"), copyOf(plain)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusCreated)
	return nil
}

// keepSymbols stores a symbol file that write writes, if it is the one that named says: a path that symbolKey takes, or else the name that the client has for it,
// and the file says where it belongs. It stores it under the key as, if that is not empty, for whom has yet to name it; else as the project's. It returns its path.
func (s *Service) keepSymbols(ctx context.Context, project, as, named string, write func(io.Writer) error) (string, error) {
	f, err := s.c.Objects.New(ctx)
	if err != nil {
		return "", err
	}
	defer f.Drop()
	if err := write(&limited{f, s.c.MaxUpload, s.c.MaxUpload}); err != nil {
		return "", err
	}
	if !strings.Contains(named, "/") {
		if named, err = difPath(f, named); err != nil {
			return "", err
		}
	}
	key, err := symbolKey(project, named)
	if err != nil {
		return "", err
	}
	if err := s.verifySymbols(ctx, f, named); err != nil {
		return "", err
	}
	if err := f.Keep(ctx, cmp.Or(as, key)); err != nil {
		return "", err
	}
	if as == "" {
		s.symbolsCame(project)
	}
	return named, nil
}

// copyOf writes what a client sends.
func copyOf(in io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.Copy(w, in); err != nil {
			return bodyError(err)
		}
		return nil
	}
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
	Path   string `json:"path"`   // below the project's symbols
	Value  string `json:"value"`  // of the attribute
	Frames int    `json:"frames"` // that needed it, of the stacks of those that died
	Dumps  int    `json:"dumps"`
	Here   bool   `json:"here,omitempty"` // it was sent meanwhile: the dumps can be analysed again
}

// maxLacking is how many files are listed that are lacking.
const maxLacking = 100

// lacking lists the files that the project lacks, those that most frames needed first. What an attribute says becomes a part of a command: it is a path that
// symbolKey takes, of characters that are the same in URLs and shells.
func (s *Service) lacking(w http.ResponseWriter, r *http.Request, p *request) error {
	lacks, known, err := s.c.Store.Lacking(r.Context(), p.project, maxLacking)
	if err != nil {
		return err
	}
	list := []lackingDoc{}
	for _, l := range lacks {
		i := strings.LastIndexByte(l.Value, ' ')
		d := lackingDoc{Module: l.Value[:max(i, 0)], Path: l.Value[i+1:], Value: l.Value, Frames: l.Frames, Dumps: l.Dumps}
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
	named, err := symHead(p.project, in)
	if err != nil {
		return err
	}
	if _, err := s.keepSymbols(r.Context(), p.project, "", named, copyOf(in)); err != nil {
		return err
	}
	plainText(w, "stored")
	return nil
}

// symHead returns the path of a Breakpad symbol file that is about to be read: what is none is not read.
func symHead(project string, in *bufio.Reader) (named string, _ error) {
	head, err := in.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", bodyError(err)
	}
	if named, err = symPath(head); err == nil {
		_, err = symbolKey(project, named)
	}
	return named, err
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
