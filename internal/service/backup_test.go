package service_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/command/serving"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
)

// everything is what the service answers about a project.
func (w *world) everything() string {
	w.t.Helper()
	const api = "/api/v1/projects/a"
	var out strings.Builder
	var groups struct{ Groups []struct{ ID string } }
	out.WriteString(w.want(200, &groups, "GET", api+"/groups?state=all", ""))
	for _, g := range groups.Groups {
		out.WriteString(w.want(200, nil, "GET", api+"/groups/"+g.ID, ""))
	}
	for _, path := range []string{"/dumps?limit=500", "/builds", "/releases", "/attributes", "/symbols", "/symbols/stored", "/searches", "/settings", "/hooks", "/accounts", "/people"} {
		out.WriteString(w.want(200, nil, "GET", api+path, ""))
	}
	return out.String()
}

// change sends a request that changes something.
func (w *world) change(method, path, body string) {
	w.t.Helper()
	if status, text, _ := w.do(w.token["a all"], method, path, strings.NewReader(body)); status/100 != 2 {
		w.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// A service that is made of a backup answers as the one of which it was made did: its groups, decisions, notes, tokens and files are there.
func TestRestored(t *testing.T) {
	const api = "/api/v1/projects/a"
	w := start(t, nil)
	var first dump
	for i := range 12 {
		d := w.send(fmt.Sprintf("group g%d build b%d told user%d", i%3, i%2, i))
		if i == 0 {
			first = d
		}
	}
	w.send("not a dump")
	w.change("PUT", api+"/groups/g0/state", `{"state":"fixed","build":"b0"}`)
	w.change("PUT", api+"/groups/g1/mark", `{"assignee":"Ada","ticket":"https://tracker.example/7"}`)
	w.change("POST", api+"/groups/g1/notes", `{"text":"seen\nbefore"}`)
	w.change("PUT", api+"/groups/g2/merge", `{"into":"g1"}`)
	w.change("POST", api+"/searches", `{"name":"mine","query":"state=open"}`)
	w.change("PUT", api+"/builds/b1", `{"release":"1.2.3"}`)
	if status, text, _ := w.do(w.token["a all"], "PUT", api+"/symbols/a/AB/a.sym", strings.NewReader("MODULE Linux x86_64 AB a\nPUBLIC 10 0 f\n")); status/100 != 2 {
		t.Fatalf("%d %s", status, text)
	}
	// A file that came in parts need not be sent again afterwards.
	parts := []byte("MODULE Linux x86_64 AB b\nPUBLIC 10 0 f\n")
	body, kind := chunks(t, true, nil, parts)
	if status, text, _ := w.do(w.token["a symbols"], "POST", chunkUpload, strings.NewReader(body), "Content-Type", kind); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	if a := w.assembled(w.token["a symbols"], parts, "b", parts); a.State != "ok" {
		t.Fatalf("%+v", a)
	}
	w.member("ann", secretOf, map[string][]string{"a": {"read"}, "b": {"read"}})
	_, _, session := w.post("/login/password", "", "name", "ann", "password", secretOf)
	before := w.everything()
	to, dir := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "new")
	var said bytes.Buffer
	if err := serving.Backup(t.Context(), &serving.Server{Dir: w.dir, Version: "1", Signatures: "v1"}, to, &said); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(said.String(), "saved: 13 dumps, 16 files, ") {
		t.Error(said.String())
	}
	w.stop()
	if err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, &said); err != nil {
		t.Fatal(err)
	}
	err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, &said)
	if err == nil || !strings.Contains(err.Error(), "has a service: restore into another directory") {
		t.Error(err)
	}
	back := startIn(t, dir, nil)
	tokens := back.token
	back.token = w.token // those that were made before
	if after := back.everything(); after != before {
		t.Errorf("before %s\nafter %s", before, after)
	}
	status, _, again := back.post("/login/password", "", "name", "ann", "password", secretOf)
	if status != 200 || back.who(again) != "ann a[read][b]" || back.who(session) != "ann a[read][b]" {
		t.Errorf("%d, %s, the session before %s", status, back.who(again), back.who(session))
	}
	if text := back.want(200, nil, "GET", api+"/dumps/"+first.ID+"/file", ""); text != "group g0 build b0 told user0" {
		t.Errorf("the dump is %q", text)
	}
	if text := back.want(200, nil, "GET", api+"/symbols/a/AB/a.sym", ""); !strings.HasPrefix(text, "MODULE ") {
		t.Errorf("the symbols are %q", text)
	}
	if a := back.assembled(w.token["a symbols"], parts, "b", parts); a.State != "ok" {
		t.Errorf("a file that came in parts: %+v", a)
	}
	// It goes on: the user is known as the same, and a new note comes after those that are there.
	back.token = tokens
	back.send("group g0 build b2 told user0")
	back.change("POST", api+"/groups/g1/notes", `{"text":"and now"}`)
	text := back.want(200, nil, "GET", api+"/groups/g0", "")
	if !strings.Contains(text, `"users":4`) {
		t.Errorf("users are counted anew: %s", text)
	}
}

// A backup of a newer version's databases is refused before anything is written, those of a ledger too.
func TestRestoredNewer(t *testing.T) {
	w := start(t, nil)
	w.send("group g1 build b1")
	to := filepath.Join(t.TempDir(), "backup")
	if err := serving.Backup(t.Context(), &serving.Server{Dir: w.dir, Version: "7.8", Signatures: "v1"}, to, io.Discard); err != nil {
		t.Fatal(err)
	}
	about := filepath.Join(to, "backup.json")
	text, err := os.ReadFile(about)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a"} {
		newer := regexp.MustCompile(`"`+name+`": \d+`).ReplaceAll(text, []byte(`"`+name+`": 99`))
		if bytes.Equal(newer, text) {
			t.Fatalf("%s", text)
		}
		if err := os.WriteFile(about, newer, 0o600); err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "new")
		if err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, io.Discard); err == nil || !strings.Contains(err.Error(), `schema 99, this version knows `) || !strings.Contains(err.Error(), `by corewalk "7.8"`) {
			t.Errorf("%q: %v", name, err)
		}
		for _, path := range []string{"projects", "service.db"} {
			if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
				t.Errorf("%q: %s is there", name, path)
			}
		}
	}
}

// A backup is not kept where the service would take it for its own, or it the service's files.
func TestBackupApart(t *testing.T) {
	w := start(t, nil)
	w.send("group g1 build b1")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Skip(err)
	}
	server := &serving.Server{Dir: w.dir, Version: "1", Signatures: "v1"}
	for _, to := range []string{w.dir, filepath.Join(w.dir, "projects", "backup"), filepath.Join(link, "a", "b"), filepath.Dir(w.dir)} {
		if err := serving.Backup(t.Context(), server, to, io.Discard); err == nil || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("%s: %v", to, err)
		}
	}
	to := filepath.Join(t.TempDir(), "backup")
	if err := serving.Backup(t.Context(), server, to, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{to, filepath.Join(to, "objects", "x")} {
		if err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, io.Discard); err == nil || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A backup that is made while dumps arrive has each of its dumps once, with its file and its group.
func TestBackupWhileRunning(t *testing.T) {
	w := start(t, nil)
	var sent atomic.Int64
	var clients sync.WaitGroup
	over := make(chan struct{})
	for c := range 3 {
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				status, text, _ := w.do(w.token["a all"], "POST", "/api/v1/projects/a/dumps", strings.NewReader(fmt.Sprintf("group g%d build b%d number %d %d", i%7, i%2, c, i)))
				if status != 202 {
					t.Errorf("%d %s", status, text)
					return
				}
				sent.Add(1)
			}
		})
	}
	to := filepath.Join(t.TempDir(), "backup")
	var dirs []string
	for i := range 3 {
		for sent.Load() < int64(20*(i+1)) {
		}
		least := sent.Load()
		var said bytes.Buffer
		if err := serving.Backup(t.Context(), &serving.Server{Dir: w.dir, Version: "1", Signatures: "v1"}, to, &said); err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`^saved: (\d+) dumps, (\d+) files`).FindStringSubmatch(said.String())
		if m == nil || m[1] != m[2] || strings.Contains(said.String(), "have no file") {
			t.Fatalf("%q", said.String())
		}
		var n int64
		fmt.Sscan(m[1], &n)
		if n < least {
			t.Errorf("%d dumps, and %d were acknowledged before", n, least)
		}
		dir := filepath.Join(t.TempDir(), "new")
		if err := serving.Restore(t.Context(), &serving.Server{Dir: dir, Signatures: "v1"}, to, &said); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, fmt.Sprintf("%d %s", n, dir))
	}
	close(over)
	clients.Wait()
	w.stop()
	for _, d := range dirs {
		var n int
		var dir string
		fmt.Sscan(d, &n, &dir)
		back := startIn(t, dir, nil)
		var list struct{ Dumps []dump }
		for {
			back.want(200, &list, "GET", "/api/v1/projects/a/dumps?limit=500", "")
			done := 0
			for _, x := range list.Dumps {
				if x.State == store.Done {
					done++
				}
			}
			if done == len(list.Dumps) {
				break
			}
		}
		counts := map[string]int{}
		for _, x := range list.Dumps {
			counts[x.Group]++
		}
		var groups struct {
			Groups []struct {
				ID    string
				Count int
			}
		}
		text := back.want(200, &groups, "GET", "/api/v1/projects/a/groups?state=all", "")
		sum := 0
		for _, g := range groups.Groups {
			sum += g.Count
			if len(list.Dumps) < 500 && counts[g.ID] != g.Count {
				t.Errorf("group %s has %d dumps, and the list has %d", g.ID, g.Count, counts[g.ID])
			}
		}
		if sum != n || len(list.Dumps) != min(n, 500) {
			t.Errorf("%d dumps in groups, %d in the list, %d were saved: %s", sum, len(list.Dumps), n, text)
		}
		back.stop()
		if b, err := os.ReadFile(filepath.Join(to, "backup.json")); err != nil || !json.Valid(b) {
			t.Error(err)
		}
	}
}

// Of a group the newest dumps are kept, and their files; groups remember how many there were.
func TestKeepPerGroup(t *testing.T) {
	w := start(t, nil)
	var list []dump
	for i := range 5 {
		list = append(list, w.send(fmt.Sprintf("group g1 build b1 number %d", i)))
	}
	other := w.send("group g2 build b1")
	w.stop()
	w = startIn(t, w.dir, func(c *service.Config) { c.Keep.PerGroup = 2 })
	there := func(d dump) bool {
		status, _, _ := w.do(w.token["a all"], "GET", "/api/v1/projects/a/dumps/"+d.ID, nil)
		_, err := os.Stat(filepath.Join(w.dir, "projects", "a", "dumps", d.ID[:2], d.ID))
		if (status == 200) != (err == nil) {
			return true // one of both is gone already
		}
		return status == 200
	}
	for end := time.Now().Add(20 * time.Second); there(list[0]) || there(list[1]) || there(list[2]); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("they are not removed")
		}
	}
	if !there(list[3]) || !there(list[4]) || !there(other) {
		t.Error("too many are removed")
	}
	w.groups("", "g1 5 open", "g2 1 open")
	if _, text, _ := w.do("", "GET", "/metrics", nil); !strings.Contains(text, "\ncorewalk_forgotten_total 3\n") {
		t.Error(text)
	}
}
