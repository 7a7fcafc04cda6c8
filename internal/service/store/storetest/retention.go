package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Dumps are kept by age, by how many a group has, and by their bytes; what is being worked on and other projects stay, and the counts are of what is left.
func testRetention(t *testing.T, db store.Store) {
	at := time.Unix(1_700_000_000, 0)
	put := func(project, id, group string, size int64, hour int) {
		t.Helper()
		if _, err := db.AddUpload(t.Context(), store.Upload{ID: id, Project: project, Size: size, Received: at.Add(time.Duration(hour) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if group != "" {
			if err := db.Finish(t.Context(), project, id, store.Result{Group: group, Build: "b"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range 6 {
		put("p", fmt.Sprint("a", i), "large", 10, 10+i)
	}
	put("p", "b0", "small", 1000, 1)
	put("p", "b1", "small", 10, 20)
	put("p", "w0", "", 10, 30) // it waits
	put("q", "a0", "large", 5000, 0)
	forget := func(keep store.Retention, n int, want string) {
		t.Helper()
		list, err := db.Forget(t.Context(), "p", keep, n)
		var got []string
		for _, u := range list {
			got = append(got, u.ID)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want || err != nil {
			t.Errorf("%+v: %v %v, want %s", keep, got, err, want)
		}
	}
	for i := range 3 { // these could not be read, and are of no group
		put("r", fmt.Sprint("f", i), "", 10, i)
		if err := db.Finish(t.Context(), "r", fmt.Sprint("f", i), store.Result{Fault: "x", Reason: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := db.Forget(t.Context(), "r", store.Retention{PerGroup: 1}, 10); err != nil || len(list) != 0 {
		t.Errorf("of no group: %+v %v", list, err)
	}
	// What waits to be analysed again is not counted and not removed.
	for i := range 3 {
		put("s", fmt.Sprint("c", i), "again", 10, i)
	}
	if err := db.Again(t.Context(), "s", "c0"); err != nil {
		t.Fatal(err)
	}
	if list, err := db.Forget(t.Context(), "s", store.Retention{PerGroup: 2}, 10); err != nil || len(list) != 0 {
		t.Errorf("one waits: %+v %v", list, err)
	}
	if list, err := db.Forget(t.Context(), "s", store.Retention{PerGroup: 1}, 10); err != nil || len(list) != 1 || list[0].ID != "c1" {
		t.Errorf("one waits: %+v %v", list, err)
	}
	if _, err := db.Remove(t.Context(), "s", "c0"); err != nil { // else it would be taken below
		t.Fatal(err)
	}
	forget(store.Retention{}, 10, "")
	forget(store.Retention{PerGroup: 6, Bytes: 1080}, 10, "")
	forget(store.Retention{PerGroup: 4}, 1, "a0")
	forget(store.Retention{PerGroup: 4}, 10, "a1")
	forget(store.Retention{Bytes: 100}, 10, "b0")               // the oldest, and then 60 bytes are left
	forget(store.Retention{Bytes: 59}, 10, "a2")                // 50 are left
	forget(store.Retention{Bytes: 20, PerGroup: 1}, 2, "a3 a4") // one rule is enough, and no more than 2
	if counts, _, err := db.Having(t.Context(), "p", []store.Attribute{{Name: "build", Value: "b"}}, 100); err != nil || counts["large"] > 1 {
		t.Errorf("%v %v", counts, err)
	}
	taken, err := db.Take(t.Context(), "worker", "p")
	if err == nil && taken.ID == "w0" {
		forget(store.Retention{After: at.Add(100 * time.Hour), Bytes: 1}, 10, "a5 b1")
		if _, err := db.Upload(t.Context(), "p", "w0"); err != nil {
			t.Error(err)
		}
	}
	if _, err := db.Upload(t.Context(), "q", "a0"); err != nil {
		t.Error(err)
	}
}
