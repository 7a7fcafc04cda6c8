package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Bench measures what a service asks a store with 5,000 uploads of 100 groups, and what a new upload costs.
func Bench(b *testing.B, db store.Store) {
	const all, groups = 5000, 100
	ctx, at := b.Context(), time.Unix(1_700_000_000, 0)
	made := func(i int) store.Upload {
		return store.Upload{ID: fmt.Sprintf("%012x", i), Project: "p", SHA256: fmt.Sprintf("%064x", i), Name: fmt.Sprintf("core.%d", i), Size: 300_000,
			Received: at.Add(time.Duration(i) * time.Minute), Annotations: map[string]string{"build": fmt.Sprintf("%040d", i%20), "host": "machine"}}
	}
	n := 0
	one := func() error {
		u := made(n)
		r := store.Result{Group: fmt.Sprintf("%012x", n%groups), Reason: "write of 8 bytes at null+0x8", Program: "program", Build: fmt.Sprintf("%040d", n%20)}
		for k := range 12 { // as many as a dump has that comes with some annotations
			r.Attributes = append(r.Attributes, store.Attribute{Name: fmt.Sprint("name", k), Value: fmt.Sprint(n % (1 + 7*k))})
		}
		n++
		if _, err := db.AddUpload(ctx, u); err != nil {
			return err
		}
		if _, err := db.Take(ctx, "w", ""); err != nil {
			return err
		}
		return db.Finish(ctx, u.Project, u.ID, r)
	}
	for range all {
		if err := one(); err != nil {
			b.Fatal(err)
		}
	}
	var ids, builds []string
	for i := range groups {
		ids, builds = append(ids, fmt.Sprintf("%012x", i)), append(builds, fmt.Sprintf("%040d", i%20))
	}
	do := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	do("upload", func() error { _, err := db.Upload(ctx, "p", "000000000010"); return err })
	do("uploads", func() error { _, err := db.Uploads(ctx, "p", store.Query{}); return err })
	do("uploads-group", func() error { _, err := db.Uploads(ctx, "p", store.Query{Group: ids[7]}); return err })
	do("counts", func() error { _, err := db.Counts(ctx); return err })
	do("days", func() error { _, err := db.Days(ctx, "p", ids, at); return err })
	do("builds", func() error { _, err := db.Builds(ctx, "p", ""); return err })
	do("builds-group", func() error { _, err := db.Builds(ctx, "p", ids[7]); return err })
	do("shared", func() error { _, err := db.Shared(ctx, "p", "build", builds[:20]); return err })
	do("decisions", func() error { _, err := db.Decisions(ctx, "p"); return err })
	do("add-take-finish", one)
}
