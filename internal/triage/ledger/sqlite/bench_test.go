package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// large makes a ledger of 100,000 dumps in 5,000 groups, seen in two runs; the second run had all of them
// again.
func large(b *testing.B) (path string, ids []string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "t.db")
	db, err := Open(b.Context(), path, "v1")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const all, groups, batch = 100_000, 5_000, 256
	at := time.Unix(1_700_000_000, 0)
	report := make([]byte, 4<<10)
	for range 2 {
		run, err := db.Begin(b.Context(), "crashes")
		if err != nil {
			b.Fatal(err)
		}
		var list []ledger.Dump
		for i := range all {
			g := i % groups
			d := ledger.Dump{Path: fmt.Sprintf("/crashes/core.%06d", i), Identity: fmt.Sprintf("sha256:%064d", i), SHA256: fmt.Sprintf("%064d", i), Size: 300_000,
				Time: at.Add(time.Duration(i) * time.Second), SeenAt: at, Program: fmt.Sprintf("program%d", g%20), Build: fmt.Sprintf("%040d", i%200),
				Arch: "x86-64", OS: "linux", Reason: "write of 8 bytes at null+0x8", Kind: "null-write", Where: fmt.Sprintf("function%d file.c:21 < set < main", g),
				Trust: "cfi", Signature: fmt.Sprintf("v1:%016x", g), Strict: fmt.Sprintf("v1:%016x", i), Group: fmt.Sprintf("%012x", g),
				Frames: []string{"(access)", fmt.Sprintf("function%d", g), "set", "update", "third", "second", "first", "main"}}
			if i < groups {
				d.Report = report
			}
			if list = append(list, d); len(list) == batch || i == all-1 {
				if err := db.Add(b.Context(), run.ID, list); err != nil {
					b.Fatal(err)
				}
				list = list[:0]
			}
		}
		if _, err := db.Finish(b.Context(), run.ID); err != nil {
			b.Fatal(err)
		}
	}
	for i := range all {
		ids = append(ids, fmt.Sprintf("sha256:%064d", i))
	}
	return path, ids
}

// BenchmarkLarge measures what the commands do with a large ledger: list, show and diff, and the queries at the
// end of a run. Each includes opening it.
func BenchmarkLarge(b *testing.B) {
	path, ids := large(b)
	do := func(name string, f func(db *DB) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				db, err := Open(b.Context(), path, "v1")
				if err == nil {
					err = f(db)
				}
				if err != nil {
					b.Fatal(err)
				}
				db.Close()
			}
		})
	}
	do("open", func(*DB) error { return nil })
	do("groups", func(db *DB) error { _, err := db.Groups(b.Context(), ledger.Query{}); return err })
	do("groups-10", func(db *DB) error { _, err := db.Groups(b.Context(), ledger.Query{Limit: 10}); return err })
	do("group", func(db *DB) error { _, _, err := db.Group(b.Context(), "0000000003e8", 0); return err })
	do("runs", func(db *DB) error { _, err := db.Runs(b.Context(), 0); return err })
	do("run-groups", func(db *DB) error { _, err := db.RunGroups(b.Context(), 2); return err })
	do("groups-of-run", func(db *DB) error { _, err := db.Groups(b.Context(), ledger.Query{Run: 2}); return err })
	do("run-dumps", func(db *DB) error { _, err := db.RunDumps(b.Context(), 2, false); return err })
	do("run-dumps-failed", func(db *DB) error { _, err := db.RunDumps(b.Context(), 2, true); return err })
	do("known-1000", func(db *DB) error {
		for _, id := range ids[:1000] {
			if _, err := db.Known(b.Context(), id); err != nil {
				return err
			}
		}
		return nil
	})
}
