package fleet

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/fixture/servers"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// What corewalkd imports is in its backup, and in what is restored of it, with files in a directory and in a bucket.
func TestCommands(t *testing.T) {
	t.Run("directory", func(t *testing.T) { commands(t, func(t *testing.T, _ string) string { return t.TempDir() }) })
	t.Run("bucket", func(t *testing.T) {
		s3 := servers.StartS3(t)
		t.Setenv("AWS_ACCESS_KEY_ID", s3.Access)
		t.Setenv("AWS_SECRET_ACCESS_KEY", s3.Secret)
		commands(t, func(_ *testing.T, n string) string {
			return "s3://" + s3.Bucket + "/" + n + "?endpoint=" + url.QueryEscape("http://"+s3.Address)
		})
	})
}

func commands(t *testing.T, place func(t *testing.T, n string) string) {
	d := New()
	var log bytes.Buffer
	first := serving.Server{DB: servers.NewDatabase(t).Connection(), Objects: place(t, "first"), Log: &log, Version: "1", Signatures: "v1"}
	tokens, err := d.Tokens(t.Context(), first.DB, &log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Add(t.Context(), "shop", []string{"read"}, "me"); err != nil {
		t.Fatal(err)
	}
	tokens.Close()
	from, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"one.dmp", "two.dmp"} {
		if err := os.WriteFile(filepath.Join(from, name), []byte("MDMP "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := func(want string, do func(out *bytes.Buffer) error) {
		t.Helper()
		var out bytes.Buffer
		if err := do(&out); err != nil || out.String() != want {
			t.Fatalf("%v %s, want %s%s", err, out.String(), want, log.String())
		}
	}
	take := serving.Import{Project: "shop", From: from}
	said("imported: 2 dumps, 0 were there, 0 could not be taken\n", func(out *bytes.Buffer) error { return d.Import(t.Context(), first, take, out) })
	said("saved: 2 dumps, 2 files, 24 bytes; 2 files were copied\n", func(out *bytes.Buffer) error { return d.Backup(t.Context(), first, to, out) })
	second := first
	second.DB, second.Objects = servers.NewDatabase(t).Connection(), place(t, "second")
	said("restored: 2 dumps, 2 files, 24 bytes\n", func(out *bytes.Buffer) error { return d.Restore(t.Context(), second, to, out) })
	said("imported: 0 dumps, 2 were there, 0 could not be taken\n", func(out *bytes.Buffer) error { return d.Import(t.Context(), second, take, out) })
	if err := d.Restore(t.Context(), second, to, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "restore into an empty one") {
		t.Error(err)
	}
	if tokens, err = d.Tokens(t.Context(), second.DB, &log); err != nil {
		t.Fatal(err)
	}
	defer tokens.Close()
	if list, err := tokens.List(t.Context()); err != nil || len(list) != 1 || list[0].Note != "me" {
		t.Errorf("%+v %v", list, err)
	}
	// A backup of a service on one machine is for the other command, and says so.
	one := t.TempDir()
	if err := os.WriteFile(filepath.Join(one, "backup.json"), []byte(`{"Format":1,"Data":"data-1","Saved":{"Kind":"sqlite"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	third := first
	third.DB, third.Objects = servers.NewDatabase(t).Connection(), place(t, "third")
	if err := d.Restore(t.Context(), third, one, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "corewalk serve restore") {
		t.Error(err)
	}
}
