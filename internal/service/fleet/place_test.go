package fleet_test

import (
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Who analyses a dump: a worker that has its files goes on; one that is alive and has them gets it, once; one that has died has nothing.
func TestPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	ids := w.add(1, nil)
	do := func(query string, args ...any) {
		t.Helper()
		if _, err := w.pool.Exec(ctx, query, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := w.store.Beat(ctx, name, time.Hour); err != nil {
			t.Fatal(err)
		}
		do("INSERT INTO service_builds (build, worker) VALUES ('both', $1)", name)
	}
	do("INSERT INTO service_builds (build, worker) VALUES ('of a', 'a')")
	for _, c := range []struct {
		name, build, prepare, want string
	}{
		{"both have it", "both", "", "b"},
		{"another has it", "of a", "", "a"},
		{"another has it, and has passed it on", "of a", "UPDATE service_uploads SET reserved = now()", "b"},
		{"another had it, and has died", "of a", "UPDATE service_workers SET beat = now() - interval '1 hour' WHERE name = 'a'", "b"},
	} {
		do("UPDATE service_uploads SET state = 'working', worker = 'b/1', reserved = NULL")
		do("DELETE FROM service_builds WHERE build = 'of a' AND worker = 'b'")
		if c.prepare != "" {
			do(c.prepare)
		}
		for range 12 { // of several who have it any may be chosen
			if to, err := w.store.Place(ctx, "b", "shop", ids[0], c.build, time.Minute, 16); err != nil || to != c.want {
				t.Fatalf("%s: %q, %v", c.name, to, err)
			}
		}
	}
}

// An attempt that takes too long counts as a death: the dump is analysed alone from then on, and set aside after so many.
func TestLateIsAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add(1, nil)[0]
	for n := 1; n <= store.MaxDeaths; n++ {
		if _, err := w.store.DB.Take(t.Context(), "a/1", "shop"); err != nil {
			t.Fatal(err)
		}
		u, err := w.store.Late(t.Context(), "shop", id, "too long")
		if want := map[bool]string{false: store.Waiting, true: store.Aside}[n == store.MaxDeaths]; err != nil || !u.Alone || u.State != want || u.Why != "too long" {
			t.Errorf("after %d: %+v, %v", n, u, err)
		}
	}
}
