// Package ledgertest has the tests that every ledger.Store passes.
package ledgertest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A Place is where a store keeps what it has.
type Place interface {
	// Open opens the store for signatures of a version. Several may be open.
	Open(ctx context.Context, version string) (ledger.Store, error)
}

// Day is the time of dump number 0 of Made.
var Day = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// Made returns dump number i, with a group and a build.
func Made(i, group int, build string) ledger.Dump {
	return ledger.Dump{
		Path: fmt.Sprintf("/dumps/core.%d", i), Identity: fmt.Sprintf("sha256:%04d", i), SHA256: fmt.Sprintf("%04d", i), Size: 4096,
		Time: Day.Add(time.Duration(i) * time.Hour), SeenAt: Day.AddDate(0, 0, 9),
		Program: "server", Build: build, Arch: "x86-64", OS: "linux", Reason: "read of 4 bytes at null", Kind: "null-read",
		Where: "visit queue.c:15 < serve", Trust: "cfi", Signature: fmt.Sprintf("v1:%d", group), Strict: "v1:x", Files: "search /b",
		Frames: []string{fmt.Sprintf("visit%d", group), "serve", "main"}, Group: fmt.Sprintf("g%d", group),
	}
}

func open(t testing.TB, p Place, version string) ledger.Store {
	t.Helper()
	d, err := p.Open(t.Context(), version)
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

// Fill adds a run with six dumps of three groups, and one that failed.
func Fill(t testing.TB, d ledger.Store) ledger.Run {
	t.Helper()
	ctx := t.Context()
	run, err := d.Begin(ctx, "-r /dumps")
	if err != nil {
		t.Fatal(err)
	}
	var list []ledger.Dump
	for i, g := range []int{0, 0, 0, 1, 1, 2} {
		x := Made(i, g, []string{"b1", "b2"}[i%2])
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

// IDs lists groups with their counts.
func IDs(list []ledger.Group) string {
	var out []string
	for _, g := range list {
		out = append(out, fmt.Sprintf("%s*%d", g.ID, g.Count))
	}
	return strings.Join(out, " ")
}

// Run runs all tests, each with a new Place.
func Run(t *testing.T, at func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Place)
	}{
		{"Ledger", testLedger}, {"SecondRun", testSecondRun}, {"Group", testGroup}, {"OldSignature", testOldSignature},
		{"Writers", testWriters}, {"RunQueries", testRunQueries}, {"Names", testNames}, {"AllOrNone", testAllOrNone},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, at(t)) })
	}
}
