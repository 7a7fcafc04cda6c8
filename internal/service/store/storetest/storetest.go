// Package storetest has the tests that every store.Store passes.
package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Run runs the tests. open opens an empty store, and closes it when the test ends.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(*testing.T, store.Store){
		"recover": testRecover, "projects": testProjects, "projects apart": func(t *testing.T, db store.Store) { testApart(t, db, open(t)) }, "whole": testWhole, "tokens": testTokens, "groups": testGroups, "at once": testAtOnce, "hostile": testHostile, "hostile read": testHostileRead, "hostile everywhere": testHostileEverywhere,
		"counts": testCounts, "lacking": testLacking, "counts at once": testCountsAtOnce, "build names": testBuildNames, "many values": testManyValues, "hooks": testHooks, "merge": testMerge, "marks": testMarks, "retention": testRetention, "attachments": testAttachments, "sessions": testSessions, "accounts": testAccounts, "people": testPeople, "spans": testSpans, "several at once": testSeveral,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func add(t *testing.T, db store.Store, project, id string) store.Upload {
	t.Helper()
	u, err := db.AddUpload(t.Context(), store.Upload{Project: project, ID: id, SHA256: id + id, Received: time.Now(), Annotations: map[string]string{"a": "b"}})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func state(t *testing.T, db store.Store, project, id string) string {
	t.Helper()
	u, err := db.Upload(t.Context(), project, id)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(u.State, " ", u.Alone)
}

// Of several dumps that a dead worker had none is blamed: each is analysed alone. One that was alone is blamed, and set aside the
// third time.
func testRecover(t *testing.T, db store.Store) {
	ctx := t.Context()
	for i := range 3 {
		add(t, db, "p", fmt.Sprint("id", i))
	}
	for range store.MaxDeaths + 1 {
		for {
			if _, err := db.Take(ctx, "w", ""); errors.Is(err, store.ErrNone) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if n, err := db.Recover(ctx, "w"); err != nil || n != 0 {
			t.Fatalf("of a worker that is alive: %d %v", n, err)
		}
		if n, err := db.Recover(ctx, "other"); err != nil || n != 3 {
			t.Fatal(n, err)
		}
		if got := state(t, db, "p", "id1"); got != "waiting true" {
			t.Errorf("%s", got)
		}
	}
	for n := 1; n <= store.MaxDeaths; n++ {
		u, err := db.Take(ctx, "w", "p")
		if err != nil || u.ID != "id0" || !u.Alone {
			t.Fatal(u, err)
		}
		if _, err := db.Recover(ctx); err != nil {
			t.Fatal(err)
		}
		want := "waiting true"
		if n == store.MaxDeaths {
			want = "aside true"
		}
		if got := state(t, db, "p", "id0"); got != want {
			t.Errorf("after %d deaths: %s", n, got)
		}
	}
	if err := db.Again(ctx, "p", "id0"); err != nil || state(t, db, "p", "id0") != "waiting true" {
		t.Error(err)
	}
}

// What belongs to one project is not seen in another.
func testProjects(t *testing.T, db store.Store) {
	ctx := t.Context()
	add(t, db, "p", "abc1")
	add(t, db, "q", "abc1")
	add(t, db, "q", "abd2")
	if u := add(t, db, "q", "abd2"); u.Times != 2 {
		t.Errorf("%+v", u)
	}
	if _, err := db.Take(ctx, "w", "none"); !errors.Is(err, store.ErrNone) {
		t.Error(err)
	}
	if u, err := db.Take(ctx, "w", "q"); err != nil || u.Project != "q" {
		t.Error(u, err)
	}
	if err := db.Finish(ctx, "q", "abc1", store.Result{Group: "g", Build: "b"}); err != nil {
		t.Error(err)
	}
	if got := state(t, db, "p", "abc1"); got != "waiting false" {
		t.Error(got)
	}
	if err := db.Finish(ctx, "p", "abd2", store.Result{}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	for id, ok := range map[string]bool{"abc": true, "ab": false, "": false, "abc1x": false, "b": false} {
		if _, err := db.Upload(ctx, "q", id); (err == nil) != ok || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if list, err := db.Uploads(ctx, "p", store.Query{Group: "g"}); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
	if b, err := db.Builds(ctx, "p", ""); err != nil || len(b) != 0 {
		t.Error(b, err)
	}
	if b, err := db.Builds(ctx, "q", "g"); err != nil || len(b) != 1 || b[0].Count != 1 {
		t.Error(b, err)
	}
	if _, err := db.Remove(ctx, "p", "abd2"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if list, err := db.Forget(ctx, "q", store.Retention{After: time.Now().Add(time.Hour)}, 10); err != nil || len(list) != 2 {
		t.Error(list, err)
	}
	if c, err := db.Counts(ctx); err != nil || c[store.Waiting] != 1 || len(c) != 3 {
		t.Error(c, err)
	}
}

// All that is known of an upload comes back as it was.
func testWhole(t *testing.T, db store.Store) {
	ctx := t.Context()
	want := store.Upload{ID: "ab", Project: "p", SHA256: "abab", Name: "core.7", Size: 1 << 40, Received: time.Unix(1_700_000_000, 123_456_000), Times: 1, Annotations: map[string]string{"a": "b", "": "c"}, State: store.Waiting}
	got, err := db.AddUpload(ctx, want)
	if err != nil || !got.Received.Equal(want.Received) {
		t.Fatal(got, err)
	}
	got.Received = want.Received
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := db.Take(ctx, "w", ""); err != nil {
		t.Fatal(err)
	}
	if err := db.GiveBack(ctx, "p", "ab", "later"); err != nil {
		t.Fatal(err)
	}
	if err := db.GiveBack(ctx, "p", "ab", "later"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("given back twice: %v", err)
	}
	if _, err := db.Take(ctx, "w", "p"); err != nil {
		t.Fatal(err)
	}
	if err := db.Again(ctx, "p", "ab"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("again while it is worked on: %v", err)
	}
	if err := db.Finish(ctx, "p", "ab", store.Result{Group: "g", Fault: "f", Reason: "r", Program: "q", Build: "b"}); err != nil {
		t.Fatal(err)
	}
	got, err = db.Upload(ctx, "p", "a")
	want.State, want.Attempts, want.Group, want.Fault, want.Reason, want.Program, want.Build = store.Done, 2, "g", "f", "r", "q", "b"
	got.Received = want.Received
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v, %v", got, want, err)
	}
}

func testTokens(t *testing.T, db store.Store) {
	ctx := t.Context()
	for i, project := range []string{"b", "a", "b"} {
		tok := store.Token{ID: fmt.Sprint("t", i), Hash: "h", Project: project, Scopes: []string{"read", "upload"}, Note: "n", Created: time.Unix(int64(1000+i), 0)}
		if err := db.AddToken(ctx, tok); err != nil {
			t.Fatal(err)
		}
		if got, err := db.Token(ctx, tok.ID); err != nil || !reflect.DeepEqual(got, tok) {
			t.Errorf("%+v, want %+v, %v", got, tok, err)
		}
	}
	if got, err := db.Projects(ctx); err != nil || fmt.Sprint(got) != "[a b]" {
		t.Error(got, err)
	}
	if err := errors.Join(db.RemoveToken(ctx, "t1")); err != nil {
		t.Error(err)
	}
	if err := db.RemoveToken(ctx, "t1"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := db.Token(ctx, "t1"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if got, err := db.Tokens(ctx); err != nil || len(got) != 2 || got[0].ID != "t0" {
		t.Error(got, err)
	}
}

// Numbers by day and build, decisions and notes.
func testGroups(t *testing.T, db store.Store) {
	ctx := t.Context()
	at := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC)
	for i := range 12 {
		u := store.Upload{ID: fmt.Sprintf("%02d", i), Project: "p", Received: at.Add(time.Duration(i) * time.Hour)}
		if _, err := db.AddUpload(ctx, u); err != nil {
			t.Fatal(err)
		}
		if err := db.Finish(ctx, "p", u.ID, store.Result{Group: fmt.Sprint("g", i%2), Build: fmt.Sprint("b", i/6), Program: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	days, err := db.Days(ctx, "p", []string{"g0", "g1", "g2"}, at.Truncate(24*time.Hour))
	if got := fmt.Sprint(days); err != nil || got != "map[g0:[{2026-03-01 00:00:00 +0000 UTC 1} {2026-03-02 00:00:00 +0000 UTC 5}] g1:[{2026-03-02 00:00:00 +0000 UTC 6}]]" {
		t.Error(got, err)
	}
	builds, err := db.Builds(ctx, "p", "g0")
	if err != nil || len(builds) != 2 || builds[0].Build != "b1" || builds[0].Count != 3 || !builds[0].First.Equal(at.Add(6*time.Hour)) || !builds[0].Last.Equal(at.Add(10*time.Hour)) || builds[0].Program != "x" {
		t.Error(builds, err)
	}
	if all, err := db.Builds(ctx, "p", ""); err != nil || len(all) != 2 || all[0].Count != 6 {
		t.Error(all, err)
	}
	shared, err := db.Shared(ctx, "p", "build", []string{"b1", "b0"})
	if got := fmt.Sprint(shared); err != nil || got != "map[g0:[3 3] g1:[3 3]]" {
		t.Error(got, err)
	}
	if list, err := db.Uploads(ctx, "p", store.Query{Group: "g1", Before: at.Add(5 * time.Hour), Limit: 1}); err != nil || len(list) != 1 || list[0].ID != "03" {
		t.Error(list, err)
	}
	for _, state := range []string{store.Fixed, store.Ignored} {
		if err := db.Decide(ctx, "p", "g0", store.Decision{State: state, Build: "b0", At: at, By: "me"}); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := db.Decisions(ctx, "p"); err != nil || len(c) != 1 || c["g0"].State != store.Ignored || !c["g0"].At.Equal(at) || c["g0"].By != "me" {
		t.Error(c, err)
	}
	if c, err := db.Decisions(ctx, "q"); err != nil || len(c) != 0 {
		t.Error(c, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := db.AddNote(ctx, "p", "g0", store.Note{Text: text, At: at, By: "me"}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.Notes(ctx, "p", "g0"); err != nil || len(n) != 2 || n[0].Text != "one" || !n[1].At.Equal(at) {
		t.Error(n, err)
	}
}

// Each upload is taken by one worker only.
func testAtOnce(t *testing.T, db store.Store) {
	const n = 60
	for i := range n {
		add(t, db, "p", fmt.Sprintf("%03d", i))
	}
	var mu sync.Mutex
	taken := map[string]int{}
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for {
				u, err := db.Take(t.Context(), fmt.Sprint("w", w), "")
				if errors.Is(err, store.ErrNone) {
					return
				}
				if err == nil {
					err = db.Finish(t.Context(), u.Project, u.ID, store.Result{})
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				taken[u.ID]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for id, times := range taken {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	if c, err := db.Counts(t.Context()); err != nil || c[store.Waiting]+c[store.Working]+c[store.Aside] != 0 || len(taken) != n {
		t.Error(c, len(taken), err)
	}
}

// Texts from strangers may have any bytes.
func testHostile(t *testing.T, db store.Store) {
	ctx := t.Context()
	for i, text := range []string{"a\x00b", "a\xffb", "'; DROP TABLE uploads; --", "\u202e", string(make([]byte, 100_000))} {
		id := fmt.Sprint("h", i)
		_, err := db.AddUpload(ctx, store.Upload{ID: id, Project: "p", Name: text, Annotations: map[string]string{text: text}, Received: time.Now()})
		if err == nil {
			err = db.Finish(ctx, "p", id, store.Result{Group: "g", Fault: text, Reason: text, Program: text, Build: "b" + id})
		}
		if err == nil {
			err = db.AddNote(ctx, "p", "g", store.Note{Text: text, By: text})
		}
		if err == nil {
			err = db.Decide(ctx, "p", fmt.Sprint("g", i), store.Decision{State: store.Fixed, Build: text[:min(len(text), 100)], By: text})
		}
		if err != nil {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if list, err := db.Uploads(ctx, "p", store.Query{}); err != nil || len(list) != 5 {
		t.Error(len(list), err)
	}
	if _, err := db.Upload(ctx, "p\x00", "h\x00"); err == nil {
		t.Error("found")
	}
}

// What a database cannot keep is replaced, and nothing else: the texts of strangers come back as they were, from each field.
func testHostileRead(t *testing.T, db store.Store) {
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(1, 2)) // what cannot be compressed
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'a' + byte(rng.IntN(26))
	}
	for i, text := range []string{"a\x00b", "\x00", "a\xff\xfeb", "\xed\xa0\x80", `\ud800`, `{"a":"\u0000"}`, "\u202e\u2066\u0007\x1b[2J", "''; \"@uploads\" $1 ?", "\ufffd", "\U0010ffff", string(long)} {
		id, build := fmt.Sprint("r", i), text[:min(len(text), 128)] // longer ones no linker writes, and no database could index
		fail := func(what string, got any, err error) {
			t.Errorf("%.20q: %s: %.80q, %v", text, what, fmt.Sprint(got), err)
		}
		same := func(what, got string) {
			if whole(got) != whole(text) {
				fail(what, got, nil)
			}
		}
		if _, err := db.AddUpload(ctx, store.Upload{ID: id, Project: "p", Name: text, Annotations: map[string]string{"k": text, text: "v"}, Received: time.Now()}); err != nil {
			fail("upload", nil, err)
			continue
		}
		if err := db.Finish(ctx, "p", id, store.Result{Group: id, Fault: text, Reason: text, Program: text, Build: build}); err != nil {
			fail("finish", nil, err)
			continue
		}
		u, err := db.Upload(ctx, "p", id)
		if err != nil || len(u.Annotations) != 2 {
			fail("annotations", len(u.Annotations), err)
		}
		for k, v := range u.Annotations {
			if k == "k" {
				same("annotation", v)
			} else {
				same("name of an annotation", k)
			}
		}
		for what, got := range map[string]string{"name": u.Name, "fault": u.Fault, "reason": u.Reason, "program": u.Program} {
			same(what, got)
		}
		if whole(u.Build) != whole(build) {
			fail("build", u.Build, nil)
		}
		builds, err := db.Builds(ctx, "p", id)
		if err != nil || len(builds) != 1 || whole(builds[0].Build) != whole(build) || builds[0].Count != 1 {
			fail("builds", len(builds), err)
		}
		// A list of builds that are no text need not be found.
		if shared, err := db.Shared(ctx, "p", "build", []string{build}); err != nil || len(shared[id]) != 1 && utf8.ValidString(build) {
			fail("shared", len(shared), err)
		}
		err = errors.Join(db.AddNote(ctx, "p", id, store.Note{Text: text, By: text}), db.Decide(ctx, "p", id, store.Decision{State: store.Fixed, Build: text, By: text}),
			db.AddToken(ctx, store.Token{ID: id, Hash: "h", Project: "p", Scopes: []string{"read"}, Note: text}))
		if err != nil {
			fail("note, decision, token", nil, err)
		}
		notes, err := db.Notes(ctx, "p", id)
		if err != nil || len(notes) != 1 {
			fail("notes", len(notes), err)
			continue
		}
		same("note", notes[0].Text)
		same("author", notes[0].By)
		decisions, err := db.Decisions(ctx, "p")
		if d := decisions[id]; err != nil || whole(d.Build) != whole(text) || whole(d.By) != whole(text) {
			fail("decision", d.Build, err)
		}
		if tok, err := db.Token(ctx, id); err != nil || whole(tok.Note) != whole(text) {
			fail("token", tok.Note, err)
		}
	}
}

// whole is a text as any database may keep it: what is no text, and zero bytes, are replaced, a run of them by one or by several.
func whole(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
	for strings.Contains(s, "\ufffd\ufffd") {
		s = strings.ReplaceAll(s, "\ufffd\ufffd", "\ufffd")
	}
	return s
}
