package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/internal/service/objects"
)

// An entry is a line of the list of files.
type entry struct {
	sum           string // its SHA-256, in hexadecimal
	size, changed int64  // bytes; nanoseconds since 1970
	key           string
}

// path is where the file is in a backup.
func (e *entry) path(backup string) string {
	return filepath.Join(backup, objectsDir, e.sum[:2], e.sum)
}

func list(name string, each func(entry) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		parts := strings.SplitN(lines.Text(), " ", 4)
		if len(parts) < 4 {
			parts = make([]string, 4)
		}
		e := entry{sum: parts[0], key: parts[3]}
		var errs [2]error
		e.size, errs[0] = strconv.ParseInt(parts[1], 10, 64)
		e.changed, errs[1] = strconv.ParseInt(parts[2], 10, 64)
		digest, err := hex.DecodeString(e.sum)
		if errors.Join(err, errs[0], errs[1]) != nil || len(digest) != sha256.Size || objects.CheckKey(e.key) != nil {
			return fmt.Errorf("%s: no line of a list of files: %q", name, lines.Text())
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return lines.Err()
}

// A writer copies files into a backup.
type writer struct {
	to     string
	saved  *Saved
	counts *Counts
	before map[string]entry // of the backup that was there, by keys
	now    map[string]bool  // by digests
}

// wanted reports whether a file belongs to the backup: a database lies among the files of a service on one machine, and a dump that came after the
// databases were copied is nobody's, and so are its attachments.
func (w *writer) wanted(key string) (dump, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) < 4 || strings.ContainsAny(key, "\n\r") {
		return false, false
	}
	name := path.Base(key)
	switch parts[2] {
	case "dumps":
		dump = true
	case "attachments": // DUMP-DIGEST
		name, _, _ = strings.Cut(name, "-")
	default:
		return false, true
	}
	id, ok := idOf(name)
	return dump, ok && w.saved.Dumps[parts[1]][id]
}

// copy copies the files that are not there yet, and writes the list.
func (w *writer) copy(ctx context.Context, files objects.Store, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	dumps := 0
	for o, err := range files.List(ctx, "projects") {
		if err != nil {
			return errors.Join(err, f.Close())
		}
		dump, ok := w.wanted(o.Key)
		if !ok {
			continue
		}
		e, err := w.one(ctx, files, o)
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			continue
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
		if dump {
			dumps++
		}
		w.now[e.sum] = true
		w.counts.Files++
		w.counts.Bytes += e.size
		fmt.Fprintf(out, "%s %d %d %s\n", e.sum, e.size, e.changed, e.key)
	}
	for _, p := range w.saved.Dumps {
		w.counts.Dumps += len(p)
	}
	w.counts.Gone = w.counts.Dumps - dumps
	return errors.Join(out.Flush(), f.Sync(), f.Close())
}

// one copies a file unless the backup has it: a file that is stored anew is of another time.
func (w *writer) one(ctx context.Context, files objects.Store, o objects.Listed) (entry, error) {
	if e, ok := w.before[o.Key]; ok && e.size == o.Size && e.changed == o.Changed.UnixNano() {
		if st, err := os.Lstat(e.path(w.to)); err == nil && st.Size() == e.size {
			return e, nil
		}
	}
	from, release, err := files.Local(ctx, o.Key)
	if err != nil {
		return entry{}, err
	}
	defer release()
	in, err := os.Open(from)
	if err != nil {
		return entry{}, err
	}
	defer in.Close()
	all := filepath.Join(w.to, objectsDir)
	if err := os.MkdirAll(all, 0o700); err != nil {
		return entry{}, err
	}
	out, err := os.CreateTemp(all, ".new-*")
	if err != nil {
		return entry{}, err
	}
	defer os.Remove(out.Name())
	e := entry{key: o.Key, changed: o.Changed.UnixNano()}
	e.sum, e.size, err = sumOf(out, in)
	dest := e.path(w.to)
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.MkdirAll(filepath.Dir(dest), 0o700)
	}
	if err == nil {
		err = os.Rename(out.Name(), dest)
	}
	w.counts.Copied++
	return e, err
}

// tidy removes what an older backup had.
func (w *writer) tidy(data string) error {
	all := filepath.Join(w.to, objectsDir)
	err := filepath.WalkDir(all, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || w.now[d.Name()] {
			return err
		}
		return os.Remove(p)
	})
	if errors.Is(err, fs.ErrNotExist) { // there are no files
		err = nil
	}
	entries, rerr := os.ReadDir(w.to)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), dataPrefix) && e.Name() != data {
			rerr = errors.Join(rerr, os.RemoveAll(filepath.Join(w.to, e.Name())))
		}
	}
	return errors.Join(err, rerr)
}
