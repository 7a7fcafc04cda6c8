package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/receive"
	"github.com/corewalk/corewalk/internal/service/store"
)

// Imported says how many dumps an import found.
type Imported struct{ New, Known, Failed int }

// Import takes the dumps below a directory that another crash service has left, or anybody, into a project: files that begin as minidumps, cores and compressed
// files do, and envelopes of Sentry's. What lies beside a dump as Socorro and Sentry have it becomes its annotations, and says when it was received; attachments
// are those of envelopes, and those that lie beside a dump as Crashpad has them. Symbolic links are not followed. c needs Store, Objects and Log alone; failed is told of files that could not be taken.
func Import(ctx context.Context, c Config, project, dir string, failed func(path string, err error)) (n Imported, err error) {
	if err := CheckProject(project); err != nil {
		return n, err
	}
	if c.MaxUpload <= 0 {
		c.MaxUpload = defaultMaxUpload
	}
	c.Attachments = cmp.Or(c.Attachments, DefaultAttachments)
	s := &Service{c: c}
	projects, err := c.Store.Projects(ctx)
	if err == nil && !slices.Contains(projects, project) {
		err = fmt.Errorf("there is no project %q: it begins with its first token, which serve token add makes", project)
	}
	if err != nil {
		return n, err
	}
	if st, err := os.Stat(dir); err != nil {
		return n, err
	} else if !st.IsDir() {
		return n, fmt.Errorf("%s is not a directory: give the one that has the dumps", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return n, err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && d.IsDir() && isAttachments(root, name) {
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		known, err := s.importOne(ctx, root, project, name)
		switch {
		case errors.Is(err, errNoDump):
		case err != nil && (ctx.Err() != nil || errors.As(err, new(*notTaken))):
			return err
		case err != nil:
			n.Failed++
			failed(filepath.Join(dir, name), err)
		case known:
			n.Known++
		default:
			n.New++
		}
		return nil
	})
	return n, err
}

var errNoDump = errors.New("not a dump")

// A notTaken error is the store's: the next dump would not be taken either.
type notTaken struct{ error }

func (e *notTaken) Unwrap() error { return e.error }

// dumpMagic is what dumps and compressed files begin with: minidumps, ELF, gzip, zstd, xz, zip.
var dumpMagic = [...]string{"MDMP", "\x7fELF", "\x1f\x8b", "\x28\xb5\x2f\xfd", "\xfd7zXZ", "PK\x03\x04"}

func begins(head []byte) bool {
	for _, m := range dumpMagic {
		if bytes.HasPrefix(head, []byte(m)) {
			return true
		}
	}
	return false
}

func (s *Service) importOne(ctx context.Context, root *os.Root, project, name string) (known bool, err error) {
	in, err := root.Open(name)
	if err != nil {
		return false, err
	}
	defer in.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(in, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	envelope := strings.HasSuffix(name, ".envelope")
	if !envelope && !begins(head[:n]) {
		return false, errNoDump
	}
	body := io.MultiReader(bytes.NewReader(head[:n]), in)
	to, err := s.take(ctx)
	if err != nil {
		return false, &notTaken{err}
	}
	defer to.drop()
	var b *receive.Body
	var at time.Time
	if envelope {
		b, err = receive.Envelope(body, to.into())
	} else if _, err = io.Copy(to.dump, body); err == nil {
		b, at = beside(root, name)
		b.Name, b.Dumps = path.Base(name), 1
		err = to.beside(root, name)
	}
	if err != nil {
		return false, err
	}
	if b.Dumps == 0 {
		return false, errors.New("no dump in the envelope: it needs an attachment of type event.minidump")
	}
	sum, _ := to.file.Sum()
	if _, err := s.c.Store.Upload(ctx, project, idOf(sum)); err == nil {
		return true, nil
	} else if !errors.Is(err, store.ErrNotFound) {
		return false, &notTaken{err}
	}
	if at.IsZero() || at.After(time.Now()) {
		at = time.Now()
	}
	if _, err = s.keepAt(ctx, to, project, b, at); err != nil && !errors.As(err, new(httpError)) {
		err = &notTaken{err}
	}
	return false, err
}

// maxBeside is how large a file beside a dump may be, in bytes.
const maxBeside = 8 << 20

// beside reads what lies beside a dump: Socorro has ID.json and ID.dump in one directory, or raw_crash/DATE/ID and dump/ID; Sentry's tools write event.json.
func beside(root *os.Root, name string) (*receive.Body, time.Time) {
	dir, base := path.Split(name)
	id, _, _ := strings.Cut(base, ".")
	places := []string{path.Join(dir, id+".json"), path.Join(dir, base+".json"), path.Join(dir, "event.json")}
	if up := path.Dir(path.Clean(dir)); dir != "" {
		places = append(places, path.Join(up, "raw_crash", id), path.Join(up, "raw_crash", id+".json"))
		if date := dateOf(id); date != "" {
			places = append(places, path.Join(up, "raw_crash", date, id), path.Join(up, "raw_crash", date, id+".json"))
		}
	}
	for _, place := range places {
		if st, err := root.Lstat(place); err != nil || !st.Mode().IsRegular() || st.Size() > maxBeside {
			continue
		}
		text, err := root.ReadFile(place)
		if err != nil {
			continue
		}
		if b, at := receive.Stored(text); len(b.Fields)+len(b.Feedback) > 0 {
			return b, at
		}
	}
	return new(receive.Body), time.Time{}
}

// attachmentsDir has the attachments of a dump of Crashpad's: attachments/ID/NAME beside pending/ID.dmp and completed/ID.dmp.
const attachmentsDir = "attachments"

// beside takes the attachments that lie beside a dump as Crashpad has them.
func (t *taking) beside(root *os.Root, name string) error {
	id, ok := strings.CutSuffix(path.Base(name), ".dmp")
	dir := path.Join(path.Dir(path.Dir(name)), attachmentsDir, id)
	if st, err := root.Lstat(dir); !ok || err != nil || !st.IsDir() {
		return nil
	}
	list, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.Type().IsRegular() {
			continue
		}
		in, err := root.Open(path.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		to, err := t.attach(e.Name())
		if err == nil {
			_, err = io.Copy(to, in)
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// isAttachments reports whether a directory has attachments and no dumps.
func isAttachments(root *os.Root, name string) bool {
	if path.Base(name) != attachmentsDir {
		return false
	}
	for _, dumps := range []string{"completed", "pending"} {
		if st, err := root.Lstat(path.Join(path.Dir(name), dumps)); err == nil && st.IsDir() {
			return true
		}
	}
	return false
}

// dateOf is the day in an identifier of Socorro's, which ends with YYMMDD.
func dateOf(id string) string {
	if len(id) != 36 {
		return ""
	}
	day, err := time.Parse("060102", id[30:])
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%04d%02d%02d", day.Year(), day.Month(), day.Day())
}
