// Package backup copies what a crash service has into a directory while it runs, and back.
//
// The databases are copied first, as they are at one moment; a dump's file is stored before its row, so that each dump of the copy has its file, unless it was
// removed meanwhile. A directory holds one backup: the next one into it copies only files that it lacks, and until it is whole the one before counts. Files are
// called by their SHA-256, so that one that was stored anew does not replace what the backup before has.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/dirlock"
	"github.com/corewalk/corewalk/internal/service/objects"
)

// Databases are those of a service.
type Databases interface {
	// Save writes them below a directory, as they are at one moment.
	Save(ctx context.Context, dir string) (*Saved, error)
	// Empty returns an error if Load would mix something with what is there, or if this program does not know what was saved: nothing is written then.
	Empty(ctx context.Context, s *Saved) error
	// Load makes them of what Save wrote below a directory.
	Load(ctx context.Context, dir string, s *Saved) error
}

// Saved says what Save wrote.
type Saved struct {
	Kind     string         // of the databases: another cannot load them
	Versions map[string]int // of schemas
	Tables   []Table        `json:",omitempty"`
	// Dumps are those of each project, by the bytes of their identifiers.
	Dumps map[string]map[ID]bool `json:"-"`
}

// A Table is one that was copied as rows.
type Table struct {
	Schema, Name string
	Columns      []string
	Rows         int64
}

// A NewerError is of a schema that this program does not know.
type NewerError struct{ Version, Known int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the backup has databases of schema %d, this version knows %d", e.Version, e.Known)
}

// Known returns an error unless a program that knows schemas of the service and of ledgers up to these reads what was saved.
func (s *Saved) Known(service, ledger int) error {
	for name, version := range s.Versions {
		known := ledger
		if name == "" {
			known = service
		}
		if version > known {
			return &NewerError{version, known}
		}
	}
	return nil
}

// An ID is the identifier of a dump.
type ID [16]byte

// idOf reads an identifier.
func idOf(text string) (id ID, ok bool) {
	if len(text) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], []byte(text))
	return id, err == nil
}

// Add enters a dump.
func (s *Saved) Add(project, id string) {
	b, ok := idOf(id)
	if !ok {
		return
	}
	if s.Dumps == nil {
		s.Dumps = map[string]map[ID]bool{}
	}
	if s.Dumps[project] == nil {
		s.Dumps[project] = map[ID]bool{}
	}
	s.Dumps[project][b] = true
}

// format is that of the directory. It becomes another with each field of what backup.json says: a program must not restore, or go on with, a backup of which it
// does not know all.
const format = 1

// The files of a directory: about it, of its files with their SHA-256, and what has the files' contents.
const (
	aboutFile  = "backup.json"
	listFile   = "files.txt"
	objectsDir = "objects"
	dataPrefix = "data-"
)

// An about says what a backup is. It is written last.
type about struct {
	Format  int
	At      time.Time
	Program string
	Data    string // the directory with the databases and the list of files
	Saved   Saved
	Counts
}

// Counts are how much a backup has.
type Counts struct {
	Dumps, Files int
	Bytes        int64
	// Copied is how many files were copied this time, Gone how many dumps have no file.
	Copied, Gone int `json:"-"`
}

// Make makes a backup in a directory, by a program's version.
func Make(ctx context.Context, to, program string, db Databases, files objects.Store) (*Counts, error) {
	there, err := os.ReadDir(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(to, 0o700)
	case err == nil && !begun(there):
		err = fmt.Errorf("%s is neither empty nor a backup: give another directory", to)
	}
	if err != nil {
		return nil, err
	}
	unlock, err := dirlock.Take(to)
	if errors.Is(err, dirlock.ErrTaken) {
		err = fmt.Errorf("another backup is being made in %s: wait until it ends, or give another directory", to)
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	old, err := read(to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	b := &about{Format: format, At: time.Now().UTC(), Program: program}
	data, err := os.MkdirTemp(to, dataPrefix+b.At.Format("20060102T150405Z-"))
	if err != nil {
		return nil, err
	}
	b.Data = filepath.Base(data)
	saved, err := db.Save(ctx, data)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	b.Saved = *saved
	w := &writer{to: to, saved: saved, counts: &b.Counts, before: map[string]entry{}, now: map[string]bool{}}
	if old != nil {
		err = list(filepath.Join(to, old.Data, listFile), func(e entry) error { w.before[e.key] = e; return nil })
	}
	if err == nil {
		err = w.copy(ctx, files, filepath.Join(data, listFile))
	}
	if err == nil {
		err = put(filepath.Join(to, aboutFile), b)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(data))
	}
	return &b.Counts, w.tidy(b.Data)
}

// begun reports whether a directory is empty, or has a backup or what one left that was not finished.
func begun(list []os.DirEntry) bool {
	for _, e := range list {
		switch name := e.Name(); {
		case name == aboutFile:
			return true
		case name != objectsDir && name != aboutFile+".new" && name != dirlock.File && !strings.HasPrefix(name, dataPrefix):
			return false
		}
	}
	return true
}

func read(dir string) (*about, error) {
	text, err := os.ReadFile(filepath.Join(dir, aboutFile))
	if err != nil {
		return nil, err
	}
	var is struct {
		Format  int
		Program string
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return nil, fmt.Errorf("%s: %w", aboutFile, err)
	}
	if is.Format != format {
		return nil, fmt.Errorf("%s: format %d, by corewalk %.40q; this version reads %d", dir, is.Format, is.Program, format)
	}
	var b about
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("%s, by corewalk %.40q: %w", aboutFile, is.Program, err)
	}
	if filepath.Base(b.Data) != b.Data || !strings.HasPrefix(b.Data, dataPrefix) {
		return nil, fmt.Errorf("%s: %q is no directory of a backup", dir, b.Data)
	}
	return &b, nil
}

// put writes a document in place of another, so that there is always one.
func put(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// Restore makes what a backup has of databases and a storage that have nothing yet.
func Restore(ctx context.Context, from string, db Databases, files objects.Store) (*Counts, error) {
	b, err := read(from)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no whole backup: %w", from, err)
	}
	if err == nil {
		err = db.Empty(ctx, &b.Saved)
	}
	if newer := new(NewerError); errors.As(err, &newer) {
		err = fmt.Errorf("%w, by corewalk %.40q: restore it with that version", err, b.Program)
	}
	if err != nil {
		return nil, err
	}
	data := filepath.Join(from, b.Data)
	n := 0
	err = list(filepath.Join(data, listFile), func(e entry) error {
		n++
		return e.restore(ctx, from, files)
	})
	if err == nil && n != b.Files {
		err = fmt.Errorf("the list has %d files, there were %d", n, b.Files)
	}
	if err == nil {
		err = db.Load(ctx, data, &b.Saved)
	}
	return &b.Counts, err
}

// restore copies a file back, if it is still what it was.
func (e *entry) restore(ctx context.Context, from string, files objects.Store) error {
	in, err := os.Open(e.path(from))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := files.New(ctx)
	if err != nil {
		return err
	}
	defer out.Drop()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if sum, size := out.Sum(); sum != e.sum || size != e.size {
		return fmt.Errorf("%s is damaged in the backup: its SHA-256 is %s, it was %s", e.key, sum, e.sum)
	}
	if err := out.Keep(ctx, e.key); err != nil {
		return err
	}
	if dir, ok := files.(*objects.Dir); ok { // in a bucket a file is as old as it is there
		at := time.Unix(0, e.changed)
		return os.Chtimes(dir.Path(e.key), at, at)
	}
	return nil
}

// sumOf copies a file, and returns its digest and size.
func sumOf(out io.Writer, in io.Reader) (string, int64, error) {
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), in)
	return hex.EncodeToString(h.Sum(nil)), n, err
}
