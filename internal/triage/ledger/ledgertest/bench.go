package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// Large adds dumps in groups, which all have a report, in two runs; the second run has all of them again. It returns their identities.
func Large(b *testing.B, d ledger.Store, all, groups int) (ids []string) {
	b.Helper()
	const batch = 256
	at := time.Unix(1_700_000_000, 0)
	report := make([]byte, 4<<10)
	for range 2 {
		run, err := d.Begin(b.Context(), "crashes")
		if err != nil {
			b.Fatal(err)
		}
		var list []ledger.Dump
		for i := range all {
			g := i % groups
			x := ledger.Dump{Path: fmt.Sprintf("/crashes/core.%06d", i), Identity: fmt.Sprintf("sha256:%064d", i), SHA256: fmt.Sprintf("%064d", i), Size: 300_000,
				Time: at.Add(time.Duration(i) * time.Second), SeenAt: at, Program: fmt.Sprintf("program%d", g%20), Build: fmt.Sprintf("%040d", i%200),
				Arch: "x86-64", OS: "linux", Reason: "write of 8 bytes at null+0x8", Kind: "null-write", Where: fmt.Sprintf("function%d file.c:21 < set < main", g),
				Trust: "cfi", Signature: fmt.Sprintf("v1:%016x", g), Strict: fmt.Sprintf("v1:%016x", i), Group: fmt.Sprintf("%012x", g),
				Frames: []string{"(access)", fmt.Sprintf("function%d", g), "set", "update", "third", "second", "first", "main"}}
			if i < groups {
				x.Report = report
			}
			if list = append(list, x); len(list) == batch || i == all-1 {
				if err := d.Add(b.Context(), run.ID, list); err != nil {
					b.Fatal(err)
				}
				list = list[:0]
			}
		}
		if _, err := d.Finish(b.Context(), run.ID); err != nil {
			b.Fatal(err)
		}
	}
	for i := range all {
		ids = append(ids, fmt.Sprintf("sha256:%064d", i))
	}
	return ids
}

// Bench measures the questions that commands and pages ask a large store.
func Bench(b *testing.B, open func(b *testing.B) ledger.Store, ids []string) {
	do := func(name string, f func(d ledger.Store) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d := open(b)
				if err := f(d); err != nil {
					b.Fatal(err)
				}
				d.Close()
			}
		})
	}
	do("open", func(ledger.Store) error { return nil })
	do("groups", func(d ledger.Store) error { _, err := d.Groups(b.Context(), ledger.Query{}); return err })
	do("groups-10", func(d ledger.Store) error { _, err := d.Groups(b.Context(), ledger.Query{Limit: 10}); return err })
	do("group", func(d ledger.Store) error { _, _, err := d.Group(b.Context(), "0000000003e8", 0); return err })
	do("runs", func(d ledger.Store) error { _, err := d.Runs(b.Context(), 0); return err })
	do("run-groups", func(d ledger.Store) error { _, err := d.RunGroups(b.Context(), 2); return err })
	do("groups-of-run", func(d ledger.Store) error { _, err := d.Groups(b.Context(), ledger.Query{Run: 2}); return err })
	do("run-dumps", func(d ledger.Store) error { _, err := d.RunDumps(b.Context(), 2, false); return err })
	do("run-dumps-failed", func(d ledger.Store) error { _, err := d.RunDumps(b.Context(), 2, true); return err })
	do("known-1000", func(d ledger.Store) error {
		for _, id := range ids[:1000] {
			if _, err := d.Known(b.Context(), id); err != nil {
				return err
			}
		}
		return nil
	})
}
