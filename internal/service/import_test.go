package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
)

// Dumps that other services stored are taken while the service runs, with what lies beside them; nothing else is, and nothing twice.
func TestImport(t *testing.T) {
	w := start(t, nil)
	from := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const id = "0bba929f-8721-460c-8e70-a43c90260102"
	put("v1/dump/"+id, "MDMP socorro")
	put("v1/raw_crash/20260102/"+id, `{"ProductName":"Fire","Version":"1.5","uptime":7,"submitted_timestamp":"2026-01-02T03:04:05.678901+00:00","metadata":{"x":1}}`)
	put("v1/dump_names/"+id, `["upload_file_minidump"]`)
	put("name/22/ad/22adfb61-f75b-11dc-b6be-001321b0783d.dump", "MDMP older")
	put("name/22/ad/22adfb61-f75b-11dc-b6be-001321b0783d.json", `{"ProductName":"Bird"}`)
	put("sentry/7f/minidump.dmp", "MDMP sentry")
	put("sentry/7f/event.json", `{"event_id":"7f","release":"shop@2.1","timestamp":1767400000.5,"tags":[["gpu","x1"]],"user":{"id":"u7"}}`)
	put("sentry/one.envelope", "{}\n{\"type\":\"attachment\",\"attachment_type\":\"event.minidump\",\"length\":13}\nMDMP envelope\n")
	put("sentry/two.envelope", "{}\n{\"type\":\"event\"}\n{\"event_id\":\"1\"}\n")
	put("alone.dmp", "MDMP alone")
	put("future.dmp", "MDMP future")
	put("future.json", `{"a":"b","submitted_timestamp":"2199-01-01T00:00:00Z"}`)
	put("notes.txt", "MDM")
	put("empty", "")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("MDMP secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(from, "link.dmp")); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(outside, filepath.Join(from, "alone.json")); err != nil {
		t.Fatal(err)
	}
	take := func(want string) {
		t.Helper()
		var out, log bytes.Buffer
		err := serving.Import{Project: "a", From: from}.Take(t.Context(), &serving.Server{Dir: w.dir, Log: &log}, &out)
		if err != nil || out.String() != want || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "two.envelope") {
			t.Errorf("%v %s %s", err, out.String(), log.String())
		}
	}
	take("imported: 6 dumps, 0 were there, 1 could not be taken\n")
	take("imported: 0 dumps, 6 were there, 1 could not be taken\n")
	var list struct {
		Dumps []struct {
			ID, Name, Received string
			Times              int
			Annotations        map[string]string
		}
	}
	w.want(200, &list, "GET", "/api/v1/projects/a/dumps", "")
	got := map[string]string{}
	for _, d := range list.Dumps {
		text := w.want(200, nil, "GET", "/api/v1/projects/a/dumps/"+d.ID+"/file", "")
		got[text] = fmt.Sprint(d.Name, " ", d.Times, " ", d.Annotations, " ", d.Received[:4])
	}
	for text, want := range map[string]string{
		"MDMP socorro": id + " 1 map[ProductName:Fire Version:1.5 submitted_timestamp:2026-01-02T03:04:05.678901+00:00 uptime:7] 2026",
		"MDMP older":   "22adfb61-f75b-11dc-b6be-001321b0783d.dump 1 map[ProductName:Bird] ",
		"MDMP sentry":  "minidump.dmp 1 map[release:shop@2.1 tag.gpu:x1] 2026",
		"MDMP alone":   "alone.dmp 1 map[] ", "MDMP future": "future.dmp 1 map[a:b submitted_timestamp:2199-01-01T00:00:00Z] ",
		"MDMP envelope": " 1 map[",
	} {
		if !strings.Contains(got[text], want) || strings.HasSuffix(got[text], " 2199") {
			t.Errorf("%s: %q, want %q", text, got[text], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%v", got)
	}
}

// What is no directory with dumps is said, and a project that nobody can read takes none.
func TestImportOfNothing(t *testing.T) {
	w := start(t, nil)
	dir := t.TempDir()
	dumps, letters := filepath.Join(dir, "dumps"), filepath.Join(dir, "letters")
	for path, text := range map[string]string{filepath.Join(dumps, "one.dmp"): "MDMP one", filepath.Join(letters, "a.txt"): "letter"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ project, from, want string }{
		{"a", filepath.Join(dumps, "one.dmp"), "is not a directory: give the one that has the dumps"},
		{"a", filepath.Join(dir, "none"), "no such file"},
		{"a", letters, "has no dumps: nothing was imported"},
		{"typo", dumps, "there is no project \"typo\""},
		{"A B", dumps, "a name has"},
	} {
		var out, log bytes.Buffer
		err := serving.Import{Project: c.project, From: c.from}.Take(t.Context(), &serving.Server{Dir: w.dir, Log: &log}, &out)
		if err == nil || !strings.Contains(err.Error(), c.want) || out.Len() != 0 {
			t.Errorf("%+v: %v %s", c, err, out.String())
		}
	}
	// What the service would not take as an upload.
	var out, log bytes.Buffer
	err := serving.Import{Project: "a", From: dumps}.Take(t.Context(), &serving.Server{Dir: w.dir, Log: &log, MaxUpload: 7}, &out)
	if err == nil || out.String() != "imported: 0 dumps, 0 were there, 1 could not be taken\n" || !strings.Contains(log.String(), "one.dmp: ") {
		t.Errorf("%v %s %s", err, out.String(), log.String())
	}
}

// failing is a store that has no place.
type failing struct{ store.Store }

var errFails = errors.New("no place")

func (failing) Upload(context.Context, string, string) (store.Upload, error) {
	return store.Upload{}, errFails
}

// An import ends when nothing more can be stored, and goes on after what is no dump.
func TestImportEnds(t *testing.T) {
	w := start(t, nil)
	from := t.TempDir()
	empty := "{}\n{\"type\":\"attachment\",\"attachment_type\":\"event.minidump\",\"length\":0}\n\n"
	for name, text := range map[string]string{"a.envelope": empty, "b.dmp": "MDMP b", "c.dmp": "MDMP c"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := objects.OpenShared(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var failed []string
	tell := func(path string, err error) { failed = append(failed, filepath.Base(path)+": "+err.Error()) }
	log := slog.New(slog.DiscardHandler)
	if n, err := service.Import(t.Context(), service.Config{Store: failing{w.db}, Objects: files, Log: log}, "a", from, tell); !errors.Is(err, errFails) || n != (service.Imported{}) {
		t.Errorf("%+v %v %v", n, err, failed)
	}
	failed = nil
	n, err := service.Import(t.Context(), service.Config{Store: w.db, Objects: files, Log: log}, "a", from, tell)
	if err != nil || n != (service.Imported{New: 2, Failed: 1}) || len(failed) != 1 || failed[0] != "a.envelope: the dump is empty" {
		t.Errorf("%+v %v %v", n, err, failed)
	}
}

// What lies beside a dump is read only if it is a file, and not a large one.
func TestImportBeside(t *testing.T) {
	w := start(t, nil)
	from := t.TempDir()
	const beside = `{"secret":"s"}`
	for name, text := range map[string]string{"one.dmp": "MDMP one", "two.dmp": "MDMP two", "two.json": beside + strings.Repeat(" ", 8<<20), "three.dmp": "MDMP three", "three.json": beside, "other": beside} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("other", filepath.Join(from, "one.json")); err != nil {
		t.Skip(err)
	}
	var out, log bytes.Buffer
	if err := (serving.Import{Project: "a", From: from}).Take(t.Context(), &serving.Server{Dir: w.dir, Log: &log}, &out); err != nil {
		t.Fatal(err, log.String())
	}
	var list struct {
		Dumps []struct {
			Name        string
			Annotations map[string]string
		}
	}
	w.want(200, &list, "GET", "/api/v1/projects/a/dumps", "")
	for _, d := range list.Dumps {
		if (d.Annotations["secret"] != "") != (d.Name == "three.dmp") {
			t.Errorf("%+v", d)
		}
	}
	if len(list.Dumps) != 3 {
		t.Errorf("%+v", list.Dumps)
	}
}
