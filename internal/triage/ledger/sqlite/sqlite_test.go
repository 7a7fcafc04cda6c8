package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

// TestMain adds dumps until it is killed, if TestKilled started this program.
func TestMain(m *testing.M) {
	path := os.Getenv("LEDGER_WRITER")
	if path == "" {
		os.Exit(m.Run())
	}
	ctx := context.Background()
	d, err := Open(ctx, path, "v1")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	run, err := d.Begin(ctx, "killed")
	for i := 0; err == nil; i++ {
		if err = d.Add(ctx, run.ID, []ledger.Dump{ledgertest.Made(i, i%3, "b1")}); err == nil {
			fmt.Println(i) // reported as done
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func open(t *testing.T, path string) ledger.Store {
	t.Helper()
	d, err := Open(t.Context(), path, "v1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// TestKilled kills a process that adds dumps: everything that it reported as added is there.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LEDGER_WRITER="+path)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	buf := make([]byte, 64)
	for strings.Count(text.String(), "\n") < 40 {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("the writer ended: %v", err)
		}
		text.Write(buf[:n])
	}
	cmd.Process.Kill()
	cmd.Wait()
	lines := strings.Fields(text.String()[:strings.LastIndexByte(text.String(), '\n')])
	last, _ := strconv.Atoi(lines[len(lines)-1])
	d := open(t, path)
	for i := range last + 1 {
		if _, err := d.Known(t.Context(), fmt.Sprintf("sha256:%04d", i)); err != nil {
			t.Fatalf("dump %d of %d told of: %v", i, last, err)
		}
	}
	if runs, err := d.Runs(t.Context(), 1); err != nil || len(runs) != 1 || !runs[0].Ended.IsZero() {
		t.Errorf("runs %+v, error %v", runs, err)
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is no database, and never was one"), 0o644); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	open(t, newer)
	db, err := sql.Open("sqlite", newer)
	if err == nil {
		_, err = db.Exec("PRAGMA user_version = 99")
		db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.db")
	d, err := Open(t.Context(), cut, "v1")
	if err != nil {
		t.Fatal(err)
	}
	ledgertest.Fill(t, d)
	if err := errors.Join(d.Close(), os.Truncate(cut, 20_000)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{text: "not a database", newer: "newer version", dir: "unable to open", cut: "malformed (11): move it away", os.DevNull: "not a regular file"} {
		d, err := Open(t.Context(), path, "v1")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
		if d != nil {
			d.Close()
		}
	}
}

// BenchmarkAdd adds dumps as triage does, 256 at a time.
func BenchmarkAdd(b *testing.B) {
	d, err := Open(b.Context(), filepath.Join(b.TempDir(), "l.db"), "v1")
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	run, _ := d.Begin(b.Context(), "")
	n := 0
	for b.Loop() {
		list := make([]ledger.Dump, 256)
		for i := range list {
			n++
			list[i] = ledgertest.Made(n, n%50, "b")
		}
		if err := d.Add(b.Context(), run.ID, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "us/dump")
}

// A file is a ledgertest.Place.
type file string

func (f file) Open(ctx context.Context, version string) (ledger.Store, error) {
	return Open(ctx, string(f), version)
}

func TestStore(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Place { return file(filepath.Join(t.TempDir(), "state", "a b%#?.db")) })
}

// A ledger in memory is forgotten at the end.
func TestMemory(t *testing.T) {
	d := open(t, "")
	ledgertest.Fill(t, d)
	if list, err := d.Groups(t.Context(), ledger.Query{}); err != nil || ledgertest.IDs(list) != "g0*3 g1*2 g2*1" {
		t.Errorf("groups %s, error %v", ledgertest.IDs(list), err)
	}
	if list, err := open(t, "").Groups(t.Context(), ledger.Query{}); err != nil || len(list) != 0 {
		t.Errorf("another: %s, error %v", ledgertest.IDs(list), err)
	}
}
