package storetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// What is counted of groups is what a count of the dumps says, whatever happens to them: they are analysed again with another result, merged, split, removed,
// and their builds get names.
func testSpans(t *testing.T, db store.Store) {
	ctx := t.Context()
	const n = 40
	r := rand.New(rand.NewPCG(1, 2))
	at := time.Unix(1_700_000_000, 0)
	finish := func(id string) {
		result := store.Result{Group: []string{"", "g1", "g2", "g3"}[r.IntN(4)], Build: []string{"", "b1", "b2"}[r.IntN(3)], Program: "p"}
		if v := r.IntN(4); v < 3 {
			result.Attributes = []store.Attribute{{Name: store.AttrRelease, Value: fmt.Sprint("1.", v)}}
		}
		if err := db.Finish(ctx, "p", id, result); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		id := fmt.Sprintf("d%02d", i)
		if _, err := db.AddUpload(ctx, store.Upload{Project: "p", ID: id, SHA256: id, Received: at.Add(time.Duration(i) * 5 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		finish(id)
	}
	spansAre(t, db, "added")
	for i := range n / 2 {
		finish(fmt.Sprintf("d%02d", r.IntN(n)))
		if i%5 == 0 {
			spansAre(t, db, "analysed again")
		}
	}
	for what, do := range map[string]func() error{ // in any order
		"removed": func() error { _, err := db.Remove(ctx, "p", "d07"); return err },
		"forgotten": func() error {
			_, err := db.Forget(ctx, "p", store.Retention{PerGroup: 8}, 10)
			return err
		},
		"named":         func() error { return db.NameBuild(ctx, "p", "b1", "2.0") },
		"named anew":    func() error { return db.NameBuild(ctx, "p", "b2", "1.1") },
		"merged":        func() error { return db.Merge(ctx, "p", "g1", "g2") },
		"analysed then": func() error { finish("d11"); finish("d12"); finish("d13"); return nil },
		"split":         func() error { _ = db.Split(ctx, "p", "g1"); return nil },
	} {
		if err := do(); err != nil {
			t.Fatal(what, err)
		}
		spansAre(t, db, what)
	}
	for i := range n {
		_, _ = db.Remove(ctx, "p", fmt.Sprintf("d%02d", i)) // some are not there
	}
	spansAre(t, db, "all removed")
}

// spansAre compares what is counted with the dumps.
func spansAre(t *testing.T, db store.Store, when string) {
	t.Helper()
	ctx := t.Context()
	all, err := db.Uploads(ctx, "p", store.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"", "g1", "g2", "g3"} {
		builds, releases, days := map[string]int{}, map[string]int{}, map[time.Time]int{}
		for _, u := range all {
			if group != "" && u.Group != group {
				continue
			}
			if u.Build != "" {
				builds[u.Build]++
			}
			if u.Release != "" {
				releases[u.Release]++
			}
			days[u.Received.UTC().Truncate(24*time.Hour)]++
		}
		list, err := db.Builds(ctx, "p", group)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, b := range list {
			got[b.Build] = b.Count
			for _, u := range all {
				if u.Build == b.Build && (group == "" || u.Group == group) && (u.Received.Before(b.First) || u.Received.After(b.Last)) {
					t.Errorf("%s, group %q: %s is from %s to %s, a dump is of %s", when, group, b.Build, b.First, b.Last, u.Received)
				}
			}
			if b.Program != "p" {
				t.Errorf("%s: program %q", when, b.Program)
			}
		}
		if !reflect.DeepEqual(got, builds) {
			t.Errorf("%s, group %q: builds %v, want %v", when, group, got, builds)
		}
		if group == "" {
			continue
		}
		shared, err := db.Shared(ctx, "p", "build", []string{"b1", "b2"})
		if err != nil || shared[group] == nil && builds["b1"]+builds["b2"] > 0 || shared[group] != nil && (shared[group][0] != builds["b1"] || shared[group][1] != builds["b2"]) {
			t.Errorf("%s, group %q: %v %v, want %v", when, group, shared[group], err, builds)
		}
		of, err := db.Releases(ctx, "p", group)
		if err != nil {
			t.Fatal(err)
		}
		got = map[string]int{}
		for _, x := range of {
			got[x.Release] = x.Count
		}
		if !reflect.DeepEqual(got, releases) {
			t.Errorf("%s, group %q: releases %v, want %v", when, group, got, releases)
		}
		counted := map[time.Time]int{}
		by, err := db.Days(ctx, "p", []string{group}, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range by[group] {
			counted[d.Day] = d.Count
		}
		if !reflect.DeepEqual(counted, days) {
			t.Errorf("%s, group %q: days %v, want %v", when, group, counted, days)
		}
	}
}
