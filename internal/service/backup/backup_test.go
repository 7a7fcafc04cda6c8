package backup

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/dirlock"
	"github.com/corewalk/corewalk/internal/fixture/servers"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/objects/s3"
)

// texts are databases that are one text.
type texts struct {
	text  string
	dumps []string // project and identifier
	err   error
}

func (d *texts) Save(_ context.Context, dir string) (*Saved, error) {
	s := &Saved{Kind: "texts", Versions: map[string]int{"": 1}}
	for _, x := range d.dumps {
		project, id, _ := strings.Cut(x, " ")
		s.Add(project, id)
	}
	return s, errors.Join(d.err, os.WriteFile(filepath.Join(dir, "text"), []byte(d.text), 0o600))
}

func (d *texts) Empty(_ context.Context, s *Saved) error {
	if s.Kind != "texts" || d.text != "" {
		return errors.New("not empty")
	}
	return s.Known(1, 2)
}

func (d *texts) Load(_ context.Context, dir string, _ *Saved) error {
	text, err := os.ReadFile(filepath.Join(dir, "text"))
	d.text = string(text)
	return err
}

const (
	one = "00000000000000000000000000000001"
	two = "00000000000000000000000000000002"
)

func keep(t *testing.T, d *objects.Dir, key, text string) {
	t.Helper()
	f, err := d.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write([]byte(text)); err == nil {
		err = f.Keep(t.Context(), key)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, d objects.Store) string {
	t.Helper()
	var list []string
	for o, err := range d.List(t.Context(), "projects") {
		if err != nil {
			t.Fatal(err)
		}
		path, release, err := d.Local(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(path)
		release()
		list = append(list, strings.TrimPrefix(o.Key, "projects/")+"="+string(text))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func open(t *testing.T) *objects.Dir {
	t.Helper()
	d, err := objects.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stored is where a backup has a file with a text.
func stored(to, text string) string {
	e := entry{sum: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	return e.path(to)
}

// ending is a storage that fails after its last file.
type ending struct{ objects.Store }

var errEnds = errors.New("the storage does not answer")

func (s *ending) List(ctx context.Context, prefix string) iter.Seq2[objects.Listed, error] {
	return func(yield func(objects.Listed, error) bool) {
		for o, err := range s.Store.List(ctx, prefix) {
			if !yield(o, err) {
				return
			}
		}
		yield(objects.Listed{}, errEnds)
	}
}

// A backup has what the databases know of, the next one copies what is new and forgets what is gone, and a service is made of it.
func TestBackup(t *testing.T) {
	files, to := open(t), filepath.Join(t.TempDir(), "backup")
	keep(t, files, "projects/p/dumps/00/"+one, "first")
	keep(t, files, "projects/p/dumps/00/"+two, "nobody's yet")
	keep(t, files, "projects/p/symbols/a/ID/a.sym", "symbols")
	keep(t, files, "projects/p/ledger.db", "a database that is being written")
	keep(t, files, "incoming/x", "on its way")
	db := &texts{text: "before", dumps: []string{"p " + one, "p 0000000000000000000000000000ffff"}}
	made := func(want Counts) {
		t.Helper()
		n, err := Make(t.Context(), to, "1", db, files)
		if err != nil || *n != want {
			t.Fatalf("%+v, %v, want %+v", n, err, want)
		}
	}
	made(Counts{Dumps: 2, Files: 2, Bytes: 12, Copied: 2, Gone: 1})
	restored := func(want, text string) {
		t.Helper()
		back, other := open(t), &texts{}
		if _, err := Restore(t.Context(), to, other, back); err != nil || other.text != text {
			t.Fatalf("%q %v", other.text, err)
		}
		if got := keys(t, back); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	restored("p/dumps/00/"+one+"=first p/symbols/a/ID/a.sym=symbols", "before")

	// The next one.
	db.text, db.dumps = "after", []string{"p " + two}
	if err := files.Remove(t.Context(), "projects/p/dumps/00/"+one); err != nil {
		t.Fatal(err)
	}
	made(Counts{Dumps: 1, Files: 2, Bytes: 19, Copied: 1})
	restored("p/dumps/00/"+two+"=nobody's yet p/symbols/a/ID/a.sym=symbols", "after")
	if left, _ := filepath.Glob(filepath.Join(to, dataPrefix+"*")); len(left) != 1 {
		t.Errorf("%v", left)
	}
	if _, err := os.Stat(stored(to, "first")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dump that was removed: %v", err)
	}
	// A file that was stored anew, of the same size.
	keep(t, files, "projects/p/symbols/a/ID/a.sym", "SYMBOLS")
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(files.Path("projects/p/symbols/a/ID/a.sym"), later, later); err != nil {
		t.Fatal(err)
	}
	made(Counts{Dumps: 1, Files: 2, Bytes: 19, Copied: 1})
	restored("p/dumps/00/"+two+"=nobody's yet p/symbols/a/ID/a.sym=SYMBOLS", "after")

	// One whose size alone differs, and one that is gone from the backup.
	same, err := os.Stat(files.Path("projects/p/symbols/a/ID/a.sym"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"longer", "SYMBOLS"} {
		keep(t, files, "projects/p/symbols/a/ID/a.sym", text)
		if err := os.Chtimes(files.Path("projects/p/symbols/a/ID/a.sym"), same.ModTime(), same.ModTime()); err != nil {
			t.Fatal(err)
		}
		made(Counts{Dumps: 1, Files: 2, Bytes: int64(12 + len(text)), Copied: 1})
	}
	if err := os.Truncate(stored(to, "SYMBOLS"), 3); err != nil {
		t.Fatal(err)
	}
	made(Counts{Dumps: 1, Files: 2, Bytes: 19, Copied: 1})
	restored("p/dumps/00/"+two+"=nobody's yet p/symbols/a/ID/a.sym=SYMBOLS", "after")

	// One that ends early leaves the one before, although a file was stored anew and copied.
	keep(t, files, "projects/p/symbols/a/ID/a.sym", "newest")
	if _, err := Make(t.Context(), to, "1", db, &ending{files}); !errors.Is(err, errEnds) {
		t.Error(err)
	}
	if _, err := os.Stat(stored(to, "newest")); err != nil {
		t.Errorf("it ended before it copied something: %v", err)
	}
	restored("p/dumps/00/"+two+"=nobody's yet p/symbols/a/ID/a.sym=SYMBOLS", "after")
	db.text, db.err = "broken", errors.New("the database does not answer")
	if _, err := Make(t.Context(), to, "1", db, files); !errors.Is(err, db.err) {
		t.Error(err)
	}
	restored("p/dumps/00/"+two+"=nobody's yet p/symbols/a/ID/a.sym=SYMBOLS", "after")
	if left, _ := filepath.Glob(filepath.Join(to, dataPrefix+"*")); len(left) != 1 {
		t.Errorf("%v", left)
	}

	// Nothing is mixed with what is there, and nothing damaged is restored.
	if _, err := Restore(t.Context(), to, db, open(t)); err == nil || err.Error() != "not empty" {
		t.Error(err)
	}
	if err := os.WriteFile(stored(to, "nobody's yet"), []byte("nobody's YET"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := &texts{}
	if _, err := Restore(t.Context(), to, other, open(t)); err == nil || !strings.Contains(err.Error(), "damaged") || other.text != "" {
		t.Error(err)
	}
}

// losing is a storage of which files are removed after they were listed.
type losing struct{ objects.Store }

func (s *losing) Local(context.Context, string) (string, func(), error) {
	return "", nil, fmt.Errorf("local: %w", fs.ErrNotExist)
}

// What is no dump or symbol is left out, and so is what is removed meanwhile.
func TestLeftOut(t *testing.T) {
	files, to := open(t), t.TempDir()
	long := strings.Repeat(one, 2)
	for _, name := range []string{"dumps/00/" + long, "dumps/00/x", "dumps/00/" + one[:30] + "zz", "dumps/00/" + one, "symbols/a/two\nlines/a.sym", "ledger.db"} {
		path := files.Path("projects/p/" + name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("x"), 0o600)); err != nil {
			t.Skip(err) // a name that there cannot be here
		}
	}
	db := &texts{dumps: []string{"p " + one, "p " + long, "p " + one[:30] + "zz", "p x", "p " + strings.Repeat("0", 32)}}
	if n, err := Make(t.Context(), to, "1", db, files); err != nil || *n != (Counts{Dumps: 2, Files: 1, Bytes: 1, Copied: 1, Gone: 1}) {
		t.Errorf("%+v %v", n, err)
	}
	if _, err := Restore(t.Context(), to, &texts{}, open(t)); err != nil {
		t.Error(err)
	}
	if n, err := Make(t.Context(), t.TempDir(), "1", db, &losing{files}); err != nil || *n != (Counts{Dumps: 2, Gone: 2}) {
		t.Errorf("%+v %v", n, err)
	}
}

// Files in a bucket are copied and restored, to another place in it.
func TestBackupOfBucket(t *testing.T) {
	server := servers.StartS3(t)
	bucket := func(prefix string) objects.Store {
		t.Helper()
		s, err := s3.Open(t.Context(), s3.Options{Endpoint: server.Address, Bucket: server.Bucket, Access: server.Access, Secret: server.Secret, Prefix: prefix, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	from, other, to := bucket("one"), bucket("two"), t.TempDir()
	for key, text := range map[string]string{"projects/p/dumps/00/" + one: "first", "projects/p/symbols/a/ID/a.sym": "symbols"} {
		f, err := from.New(t.Context())
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		if err == nil {
			err = f.Keep(t.Context(), key)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	db := &texts{text: "rows", dumps: []string{"p " + one}}
	for _, want := range []Counts{{Dumps: 1, Files: 2, Bytes: 12, Copied: 2}, {Dumps: 1, Files: 2, Bytes: 12}} { // the second time nothing is new
		if n, err := Make(t.Context(), to, "1", db, from); err != nil || *n != want {
			t.Fatalf("%+v %v, want %+v", n, err, want)
		}
	}
	if _, err := Restore(t.Context(), to, &texts{}, other); err != nil {
		t.Fatal(err)
	}
	if got, want := keys(t, other), keys(t, from); got != want || !strings.Contains(got, "=first") {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestRefused(t *testing.T) {
	files, to := open(t), t.TempDir()
	if _, err := Restore(t.Context(), to, &texts{}, files); err == nil || !strings.Contains(err.Error(), "no whole backup") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(to, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Make(t.Context(), to, "1", &texts{}, files); err == nil || !strings.Contains(err.Error(), "neither empty nor a backup") {
		t.Error(err)
	}
	// Two backups in one directory would remove each other's files.
	to = t.TempDir()
	giveBack, err := dirlock.Take(to)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dirlock.Take(to); err != nil { // else there are no locks here
		if _, err := Make(t.Context(), to, "1", &texts{}, files); err == nil || !strings.Contains(err.Error(), "another backup is being made") {
			t.Error(err)
		}
	}
	giveBack()
	if _, err := Make(t.Context(), to, "1", &texts{}, files); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{`{"Format":2,"Data":"data-1","Program":"9.1"}`: "format 2, by corewalk \"9.1\"", `{"Format":1,"Program":"9.1","Data":"data-1","Saved":{"Kind":"texts","Keys":1}}`: "by corewalk \"9.1\": json: unknown field",
		`{"Format":1,"Program":"9.1","Data":"data-1","Saved":{"Kind":"texts","Versions":{"":2}}}`: "schema 2, this version knows 1, by corewalk \"9.1\"", `{"Format":1,"Data":"data-1","Saved":{"Kind":"texts","Versions":{"":1,"p":3}}}`: "schema 3, this version knows 2",
		`{"Format":1,"Data":"../x"}`: "no directory", `{"Format":1,"Data":"data-/../.."}`: "no directory", `{"Format":1,"Data":".."}`: "no directory", `{"Format":1,"Data":"objects"}`: "no directory", "x": "invalid"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, aboutFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), dir, &texts{}, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A list that names a file elsewhere, or was cut off.
	for _, lines := range []string{strings.Repeat("0", 64) + " 1 1 ../../x\n", strings.Repeat("0", 64) + " x 1 projects/p/symbols/a\n", strings.Repeat("0", 64) + " 1 x projects/p/symbols/a\n",
		"00 1 1 projects/p/symbols/a\n", strings.Repeat("../", 21) + "x 1 1 projects/p/symbols/a\n", strings.Repeat("0", 64) + " 1 1\n", ""} {
		dir := t.TempDir()
		err := errors.Join(os.WriteFile(filepath.Join(dir, aboutFile), []byte(`{"Format":1,"Data":"data-1","Files":1,"Saved":{"Kind":"texts"}}`), 0o600), os.Mkdir(filepath.Join(dir, "data-1"), 0o700),
			os.WriteFile(filepath.Join(dir, "data-1", listFile), []byte(lines), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), dir, &texts{}, files); err == nil || !strings.Contains(err.Error(), "list") {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

// A program must not restore a backup of which it does not know all: what backup.json says has another format with each field.
func TestFormat(t *testing.T) {
	text, err := json.Marshal(about{Saved: Saved{Tables: []Table{{}}}})
	const want = `{"Format":0,"At":"0001-01-01T00:00:00Z","Program":"","Data":"","Saved":{"Kind":"","Versions":null,"Tables":[{"Schema":"","Name":"","Columns":null,"Rows":0}]},"Dumps":0,"Files":0,"Bytes":0}`
	if err != nil || string(text) != want || format != 1 {
		t.Errorf("format %d is %s: this test has the fields of format 1; raise format, read the old one too, and change the test", format, text)
	}
}
