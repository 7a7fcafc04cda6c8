package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
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
		if err = d.Add(ctx, run.ID, []ledger.Dump{made(i, i%3, "b1")}); err == nil {
			fmt.Println(i) // reported as done
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var day = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// made returns dump number i, with a group and a build.
func made(i, group int, build string) ledger.Dump {
	return ledger.Dump{
		Path: fmt.Sprintf("/dumps/core.%d", i), Identity: fmt.Sprintf("sha256:%04d", i), SHA256: fmt.Sprintf("%04d", i), Size: 4096,
		Time: day.Add(time.Duration(i) * time.Hour), SeenAt: day.AddDate(0, 0, 9),
		Program: "server", Build: build, Arch: "x86-64", OS: "linux", Reason: "read of 4 bytes at null", Kind: "null-read",
		Where: "visit queue.c:15 < serve", Trust: "cfi", Signature: fmt.Sprintf("v1:%d", group), Strict: "v1:x",
		Frames: []string{fmt.Sprintf("visit%d", group), "serve", "main"}, Group: fmt.Sprintf("g%d", group),
	}
}

func open(t *testing.T, path string) *DB {
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

// filled adds a run with six dumps of three groups, and one that failed.
func filled(t *testing.T, d *DB) ledger.Run {
	t.Helper()
	ctx := t.Context()
	run, err := d.Begin(ctx, "-r /dumps")
	if err != nil {
		t.Fatal(err)
	}
	var list []ledger.Dump
	for i, g := range []int{0, 0, 0, 1, 1, 2} {
		x := made(i, g, []string{"b1", "b2"}[i%2])
		if i == 0 {
			x.Report = []byte(`{"schema":"corewalk/1"}`)
		}
		list = append(list, x)
	}
	list = append(list, ledger.Dump{Path: "/dumps/core.bad", Fault: "is empty (0 bytes)", FaultKind: ledger.FaultUnreadable})
	if err := d.Add(ctx, run.ID, list); err != nil {
		t.Fatal(err)
	}
	run, err = d.Finish(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func ids(list []ledger.Group) string {
	var out []string
	for _, g := range list {
		out = append(out, fmt.Sprintf("%s*%d", g.ID, g.Count))
	}
	return strings.Join(out, " ")
}

func TestLedger(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "state", "a b%#?.db")} {
		d := open(t, path)
		ctx := t.Context()
		run := filled(t, d)
		if run.Analysed != 6 || run.Failed != 1 || run.Known != 0 || run.Groups != 3 || run.New != 3 || run.Ended.IsZero() || run.Args != "-r /dumps" {
			t.Errorf("run %+v", run)
		}
		list, err := d.Groups(ctx, ledger.Query{Reports: true})
		if err != nil || ids(list) != "g0*3 g1*2 g2*1" {
			t.Fatalf("groups %s, error %v", ids(list), err)
		}
		g := list[0]
		if g.Builds != 2 || !g.FirstSeen.Equal(day) || !g.LastSeen.Equal(day.Add(2*time.Hour)) || g.FirstBuild != "b1" || g.Representative != "/dumps/core.0" ||
			!slices.Equal(g.Frames, []string{"visit0", "serve", "main"}) || !slices.Equal(g.Programs, []string{"server"}) || string(g.Report) != `{"schema":"corewalk/1"}` || g.New {
			t.Errorf("group %+v", g)
		}
		known, err := d.Known(ctx, "sha256:0003")
		if want := made(3, 1, "b2"); err != nil || known.Path != want.Path || !known.Time.Equal(want.Time) || known.Group != "g1" || !slices.Equal(known.Frames, want.Frames) {
			t.Errorf("known %+v, error %v", known, err)
		}
		for _, id := range []string{"sha256:9", "", "path:/dumps/core.bad"} {
			if _, err := d.Known(ctx, id); !errors.Is(err, ledger.ErrNotFound) {
				t.Errorf("known %q: error %v", id, err)
			}
		}
		dumps, err := d.RunDumps(ctx, run.ID, false)
		if err != nil || len(dumps) != 7 || dumps[6].Fault == "" || dumps[6].Identity != "" {
			t.Errorf("%d dumps, error %v", len(dumps), err)
		}
	}
}

// TestSecondRun: some dumps are seen again, one of them under another name.
func TestSecondRun(t *testing.T) {
	d := open(t, "")
	ctx := t.Context()
	first := filled(t, d)
	run, _ := d.Begin(ctx, "")
	again := made(0, 0, "b1")
	again.Path = "/elsewhere/core.0"
	fixed := made(50, 2, "b3")
	if err := d.Add(ctx, run.ID, []ledger.Dump{again, made(3, 1, "b2"), made(40, 7, "b3"), fixed, fixed}); err != nil {
		t.Fatal(err)
	}
	run, err := d.Finish(ctx, run.ID)
	if err != nil || run.Known != 2 || run.Analysed != 2 || run.New != 1 || run.Groups != 4 {
		t.Errorf("run %+v, error %v", run, err)
	}
	list, _ := d.Groups(ctx, ledger.Query{})
	if got := ids(list); got != "g0*3 g2*2 g1*2 g7*1" {
		t.Errorf("groups %s", got)
	}
	mine, err := d.RunGroups(ctx, run.ID)
	fresh := ""
	for _, g := range mine {
		if g.New {
			fresh += g.ID
		}
	}
	if err != nil || len(mine) != 4 || fresh != "g7" {
		t.Errorf("groups of the run %s, new %q, error %v", ids(mine), fresh, err)
	}
	for q, want := range map[ledger.Query]string{
		{SinceRun: first.ID}:             "g7*1",
		{Since: day.Add(30 * time.Hour)}: "g7*1",
		{Build: "b3"}:                    "g2*2 g7*1",
		{Build: "b_"}:                    "",
		{Text: "visit1"}:                 "g1*2",
		{Text: "100%"}:                   "",
		{Program: "other"}:               "",
		{Kind: "null-read", Limit: 1}:    "g0*3",
	} {
		if list, err := d.Groups(ctx, q); err != nil || ids(list) != want {
			t.Errorf("%+v: %s, error %v, want %s", q, ids(list), err, want)
		}
	}
	runs, err := d.Runs(ctx, 0)
	if err != nil || len(runs) != 2 || runs[0].ID != run.ID {
		t.Errorf("runs %+v, error %v", runs, err)
	}
}

func TestGroup(t *testing.T) {
	d := open(t, "")
	filled(t, d)
	ctx := t.Context()
	if err := d.Link(ctx, "g1", []ledger.Similar{{Group: "g0", Score: 0.8}, {Group: "g2", Score: 0.9}}); err != nil {
		t.Fatal(err)
	}
	if err := d.Link(ctx, "g1", []ledger.Similar{{Group: "g0", Score: 0.75}}); err != nil {
		t.Fatal(err)
	}
	g, dumps, err := d.Group(ctx, "g1", 1)
	if err != nil || g.Count != 2 || len(dumps) != 1 || dumps[0].Path != "/dumps/core.4" || !slices.Equal(g.Similar, []ledger.Similar{{Group: "g0", Score: 0.75}}) {
		t.Errorf("group %+v, dumps %v, error %v", g, dumps, err)
	}
	if g, _, _ := d.Group(ctx, "g0", 0); !slices.Equal(g.Similar, []ledger.Similar{{Group: "g1", Score: 0.75}}) {
		t.Errorf("the link back: %+v", g.Similar)
	}
	if _, _, err := d.Group(ctx, "g", 0); err == nil || errors.Is(err, ledger.ErrNotFound) || !strings.Contains(err.Error(), "ambiguous") {
		t.Errorf("ambiguous: %v", err)
	}
	for _, id := range []string{"x", "%", ""} {
		if _, _, err := d.Group(ctx, id, 0); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestOldSignature: results of an older signature version are discarded.
func TestOldSignature(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	filled(t, open(t, path))
	d, err := Open(t.Context(), path, "v2")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Known(t.Context(), "sha256:0001"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("error %v", err)
	}
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

// TestTwoWriters opens two ledgers on one file.
func TestTwoWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	var wg sync.WaitGroup
	for w := range 2 {
		d := open(t, path)
		wg.Go(func() {
			run, err := d.Begin(context.Background(), "")
			for i := 0; i < 20 && err == nil; i++ {
				err = d.Add(context.Background(), run.ID, []ledger.Dump{made(w*100+i, w, "b")})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := open(t, path).Groups(t.Context(), ledger.Query{}); err != nil || ids(list) != "g1*20 g0*20" {
		t.Errorf("groups %s, error %v", ids(list), err)
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
	filled(t, d)
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
			list[i] = made(n, n%50, "b")
		}
		if err := d.Add(b.Context(), run.ID, list); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "us/dump")
}

// TestRunQueries queries one run of a ledger that has more: its groups with all their dumps, and its failures.
func TestRunQueries(t *testing.T) {
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "l.db"), "v1")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	failed := made(9, 2, "b")
	failed.Fault, failed.FaultKind = "it hangs", ledger.FaultTimeout // it already had a group
	for _, list := range [][]ledger.Dump{{made(1, 1, "a"), made(2, 2, "a"), made(3, 2, "a")}, {made(4, 2, "b"), failed}} {
		run, err := d.Begin(t.Context(), "")
		if err == nil {
			err = d.Add(t.Context(), run.ID, list)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	groups, err := d.Groups(t.Context(), ledger.Query{Run: 2})
	if err != nil || len(groups) != 1 || groups[0].Count != 3 || groups[0].Builds != 2 {
		t.Errorf("groups of a run: %+v, %v", groups, err)
	}
	if groups, err = d.RunGroups(t.Context(), 2); err != nil || len(groups) != 1 || groups[0].Count != 1 {
		t.Errorf("with the counts of the run: %+v, %v", groups, err)
	}
	for want, only := range map[int]bool{2: false, 1: true} {
		if dumps, err := d.RunDumps(t.Context(), 2, only); err != nil || len(dumps) != want {
			t.Errorf("failed only %v: %d dumps, %v, want %d", only, len(dumps), err, want)
		}
	}
	if dumps, err := d.RunDumps(t.Context(), 1, true); err != nil || len(dumps) != 0 {
		t.Errorf("failures of another run: %+v, %v", dumps, err)
	}
}
