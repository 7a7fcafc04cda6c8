package ledgertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

func testLedger(t *testing.T, p Place) {
	d := open(t, p, "v1")
	ctx := t.Context()
	run := Fill(t, d)
	if run.Analysed != 6 || run.Failed != 1 || run.Known != 0 || run.Groups != 3 || run.New != 3 || run.Ended.IsZero() || run.Args != "-r /dumps" {
		t.Errorf("run %+v", run)
	}
	list, err := d.Groups(ctx, ledger.Query{Reports: true})
	if err != nil || IDs(list) != "g0*3 g1*2 g2*1" {
		t.Fatalf("groups %s, error %v", IDs(list), err)
	}
	g := list[0]
	if g.Builds != 2 || !g.FirstSeen.Equal(Day) || !g.LastSeen.Equal(Day.Add(2*time.Hour)) || g.FirstBuild != "b1" || g.Representative != "/dumps/core.0" ||
		!slices.Equal(g.Frames, []string{"visit0", "serve", "main"}) || !slices.Equal(g.Programs, []string{"server"}) || string(g.Report) != `{"schema":"corewalk/1"}` || g.New {
		t.Errorf("group %+v", g)
	}
	known, err := d.Known(ctx, "sha256:0003")
	if want := Made(3, 1, "b2"); err != nil || known.Path != want.Path || !known.Time.Equal(want.Time) || known.Group != "g1" || known.Files != want.Files || !slices.Equal(known.Frames, want.Frames) {
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

// testSecondRun: some dumps are seen again, one of them under another name.
func testSecondRun(t *testing.T, p Place) {
	d := open(t, p, "v1")
	ctx := t.Context()
	first := Fill(t, d)
	run, _ := d.Begin(ctx, "")
	again := Made(0, 0, "b1")
	again.Path = "/elsewhere/core.0"
	fixed := Made(50, 2, "b3")
	if err := d.Add(ctx, run.ID, []ledger.Dump{again, Made(3, 1, "b2"), Made(40, 7, "b3"), fixed, fixed}); err != nil {
		t.Fatal(err)
	}
	run, err := d.Finish(ctx, run.ID)
	if err != nil || run.Known != 2 || run.Analysed != 2 || run.New != 1 || run.Groups != 4 {
		t.Errorf("run %+v, error %v", run, err)
	}
	list, _ := d.Groups(ctx, ledger.Query{})
	if got := IDs(list); got != "g0*3 g2*2 g1*2 g7*1" {
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
		t.Errorf("groups of the run %s, new %q, error %v", IDs(mine), fresh, err)
	}
	for q, want := range map[ledger.Query]string{
		{SinceRun: first.ID}:             "g7*1",
		{Since: Day.Add(30 * time.Hour)}: "g7*1",
		{Build: "b3"}:                    "g2*2 g7*1",
		{Build: "b_"}:                    "",
		{Text: "visit1"}:                 "g1*2",
		{Text: "100%"}:                   "",
		{Program: "other"}:               "",
		{Kind: "null-read", Limit: 1}:    "g0*3",
	} {
		if list, err := d.Groups(ctx, q); err != nil || IDs(list) != want {
			t.Errorf("%+v: %s, error %v, want %s", q, IDs(list), err, want)
		}
	}
	runs, err := d.Runs(ctx, 0)
	if err != nil || len(runs) != 2 || runs[0].ID != run.ID {
		t.Errorf("runs %+v, error %v", runs, err)
	}
}

func testGroup(t *testing.T, p Place) {
	d := open(t, p, "v1")
	Fill(t, d)
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

// testOldSignature: results of an older signature version are discarded.
func testOldSignature(t *testing.T, p Place) {
	Fill(t, open(t, p, "v1"))
	d := open(t, p, "v2")
	if _, err := d.Known(t.Context(), "sha256:0001"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// testWriters writes from several stores at once dumps of the same groups, in different orders.
func testWriters(t *testing.T, p Place) {
	var wg sync.WaitGroup
	for w := range 4 {
		d := open(t, p, "v1")
		wg.Go(func() {
			run, err := d.Begin(context.Background(), "")
			for i := 0; i < 20 && err == nil; i++ {
				list := []ledger.Dump{Made(w*100+i, 0, "b"), Made(w*100+50+i, 1, "b"), Made(1000+i, 2, "b"), Made(1020-i, 3, "b")}
				if w%2 > 0 {
					slices.Reverse(list)
				}
				err = d.Add(context.Background(), run.ID, list)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := open(t, p, "v1").Groups(t.Context(), ledger.Query{}); err != nil || !strings.HasPrefix(IDs(list), "g1*80 g0*80 ") {
		t.Errorf("groups %s, error %v", IDs(list), err)
	}
}

// testRunQueries queries one run of a ledger that has more: its groups with all their dumps, and its failures.
func testRunQueries(t *testing.T, p Place) {
	d := open(t, p, "v1")
	failed := Made(9, 2, "b")
	failed.Fault, failed.FaultKind = "it hangs", ledger.FaultTimeout // it already had a group
	for _, list := range [][]ledger.Dump{{Made(1, 1, "a"), Made(2, 2, "a"), Made(3, 2, "a")}, {Made(4, 2, "b"), failed}} {
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

// testNames: names of files have any bytes but zero, and are long; texts of dumps may have anything.
func testNames(t *testing.T, p Place) {
	d := open(t, p, "v1")
	run, err := d.Begin(t.Context(), "\xff\xfe")
	if err != nil {
		t.Fatal(err)
	}
	odd, long, text := Made(1, 1, "b"), Made(2, 1, "b"), Made(3, 2, "b")
	odd.Path, odd.Identity = "/dumps/\xff\x80 core", ""
	long.Path, long.Identity = "/"+strings.Repeat("0123456789abcdef", 256), ""
	text.Program, text.Reason, text.Frames = "a\x00b", "100%_ \\ '; DROP TABLE runs --", []string{"f\x00g", "x\xffy"}
	if err := d.Add(t.Context(), run.ID, []ledger.Dump{odd, long, text}); err != nil {
		t.Fatal(err)
	}
	dumps, err := d.RunDumps(t.Context(), run.ID, false)
	if err != nil || len(dumps) != 3 || dumps[0].Path != long.Path || dumps[1].Path != odd.Path && dumps[2].Path != odd.Path {
		t.Errorf("%+v, %v", dumps, err)
	}
	for _, q := range []string{"100%_", "\\ '", "%_ \\"} {
		if list, err := d.Groups(t.Context(), ledger.Query{Text: q}); err != nil || IDs(list) != "g2*1" {
			t.Errorf("%q: %s, %v", q, IDs(list), err)
		}
	}
	if runs, err := d.Runs(t.Context(), 1); err != nil || len(runs) != 1 || runs[0].Args != "\xff\xfe" {
		t.Errorf("%+v, %v", runs, err)
	}
}

// testAllOrNone: a transaction that is given up leaves nothing.
func testAllOrNone(t *testing.T, p Place) {
	d := open(t, p, "v1")
	run, err := d.Begin(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Add(done, run.ID, []ledger.Dump{Made(1, 1, "b")}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := d.Known(t.Context(), Made(1, 1, "b").Identity); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a dump of a transaction that was given up: %v", err)
	}
}
