package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/service/store/tables"
	"github.com/corewalk/corewalk/internal/triage"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// sendWith sends a dump with fields, as query parameters.
func (w *world) sendWith(text, query string) dump {
	w.t.Helper()
	var d dump
	w.want(202, &d, "POST", "/api/v1/projects/a/dumps?"+query, text)
	return w.analysed(d.ID)
}

// Releases are an order: what was fixed in one regresses with it and with later ones, by their numbers.
func TestReleases(t *testing.T) {
	w := start(t, nil)
	p := "/api/v1/projects/a/"
	w.sendWith("group g1 build b1 1", "version=1.2")
	w.sendWith("group g1 build b2 2", "version=1.9")
	w.sendWith("group g2 build b2 3", "version=1.9")
	for _, body := range []string{`{"state":"fixed","release":"1.10"}`, `{"state":"fixed","release":"1.9 "}`, `{"state":"fixed","release":"1.9","build":"b2"}`, `{"state":"fixed","build":"1.9"}`} {
		w.want(400, nil, "PUT", p+"groups/g1/state", body)
	}
	w.want(204, nil, "POST", p+"releases", `{"release":"1.10"}`) // it is to come
	for _, body := range []string{`{"release":""}`, `{"release":"a\nb"}`, `{"release":"` + strings.Repeat("x", 201) + `"}`} {
		w.want(400, nil, "POST", p+"releases", body)
	}
	w.want(204, nil, "PUT", p+"groups/g1/state", `{"state":"fixed","release":"1.10"}`)
	w.groups("", "g1 2 fixed", "g2 1 open")
	w.sendWith("group g1 build b2 4", "version=1.9") // an older one
	w.groups("", "g1 3 fixed", "g2 1 open")
	w.sendWith("group g1 build b3 5", "version=1.10")
	w.groups("", "g1 4 regressed", "g2 1 open")
	w.want(204, nil, "PUT", p+"groups/g2/state", `{"state":"fixed","release":"1.9"}`)
	w.groups("?state=fixed", "g2 1 fixed")
	w.sendWith("group g2 build b4 6", "version=2.0")
	w.groups("?state=regressed", "g1 4 regressed", "g2 2 regressed")

	for _, build := range []string{strings.Repeat("b", 257), "%ff"} {
		w.want(400, nil, "PUT", p+"builds/"+build, `{"release":"1.0"}`)
	}
	err := w.db.(*tables.DB).Together(t.Context(), func(db store.Store) (err error) {
		for i := range 10_000 {
			err = errors.Join(err, db.Announce(t.Context(), "b", fmt.Sprint("9.", i)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := w.do(w.token["b all"], "POST", "/api/v1/projects/b/releases", strings.NewReader(`{"release":"10"}`)); status != 400 {
		t.Errorf("one more release: %d %s", status, text)
	}
	var list struct {
		Releases []struct {
			Release string
			Count   int
			Trend   []int
		}
	}
	w.want(200, &list, "GET", p+"releases", "")
	if got := fmt.Sprint(list.Releases); got != "[{2.0 1 []} {1.10 1 []} {1.9 3 []} {1.2 1 []}]" {
		t.Error(got)
	}
	w.want(200, &list, "GET", p+"groups/g1", "")
	if r := list.Releases; len(r) != 3 || r[0].Release != "1.10" || r[1].Count != 2 || len(r[1].Trend) != 30 || r[1].Trend[29] != 2 {
		t.Errorf("%+v", r)
	}
	w.sendWith("group g1 build b1 7", "version=0.9")
	var rows struct {
		Groups []struct {
			ID       string
			Releases []string
			Known    int `json:"release_count"`
		}
	}
	w.want(200, &rows, "GET", p+"groups", "")
	if got := fmt.Sprint(rows.Groups); got != "[{g1 [1.10 1.9 1.2] 4} {g2 [2.0 1.9] 2}]" {
		t.Error(got)
	}
	var both struct {
		Groups []struct {
			ID   string
			A, B int
		}
	}
	w.want(200, &both, "GET", p+"compare?by=release&a=1.2&b=1.9", "")
	if got := fmt.Sprint(both.Groups); got != "[{g2 0 1} {g1 1 2}]" {
		t.Error(got)
	}
	w.groups("?release=1.9", "g1 5 regressed", "g2 2 regressed")
	w.groups("?release=1.2", "g1 5 regressed")
}

// Where not all dumps with several attributes are looked at, the answer says so.
func TestNotAllMatching(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Matching = 3 })
	for i := range 3 {
		w.sendWith(fmt.Sprint("group g1 build b1 ", i), "x=1&y=1")
	}
	for i, want := range []string{"[{g1 3}] 0", "[{g1 2} {g2 1}] 3"} {
		var list struct {
			Groups []struct {
				ID       string
				Matching int
			}
			LookedAt int `json:"looked_at"`
		}
		w.want(200, &list, "GET", "/api/v1/projects/a/groups?has=x:1&has=y:1", "")
		if got := fmt.Sprint(list.Groups, list.LookedAt); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if i == 0 {
			w.sendWith("group g2 build b1", "x=1&y=1")
			w.groups("?has=x:1", "g1 3 open", "g2 1 open")
		}
	}
}

// Builds have names: by the interface, and by the command line.
func TestNamesOfBuilds(t *testing.T) {
	w := start(t, func(c *service.Config) { c.Versions = map[string]string{"b2": "2.0"} })
	p := "/api/v1/projects/a/"
	w.send("group g1 build b1")
	w.send("group g1 build b2")
	w.want(204, nil, "PUT", p+"builds/b1", `{"release":"1.0"}`)
	w.want(400, nil, "PUT", p+"builds/b1", `{"release":""}`)
	w.groups("?release=1.0", "g1 2 open")
	w.groups("?release=2.0", "g1 2 open")
	var list struct {
		Builds []struct{ Build, Release string }
	}
	w.want(200, &list, "GET", p+"builds", "")
	if got := fmt.Sprint(list.Builds); got != "[{b2 2.0} {b1 1.0}]" {
		t.Error(got)
	}
}

// What comes with a dump is searched, counted and compared, whatever client sent it; who a user is is not kept.
func TestAttributes(t *testing.T) {
	w := start(t, nil)
	key := "?token=" + w.token["a upload"]
	p := "/api/v1/projects/a/"
	post := func(fields map[string]string, text string) dump {
		t.Helper()
		body, kind := form(t, fields, map[string]string{"upload_file_minidump": text})
		status, id, _ := w.do("", "POST", "/api/a/minidump"+key, strings.NewReader(body), "Content-Type", kind)
		if status != 200 {
			t.Fatal(status, id)
		}
		return w.analysed(id)
	}
	const who = "jane.doe-4711"
	for i, fields := range []map[string]string{
		{"prod": "Shop", "ver": "1.3", "guid": "{0B-" + who + "}", "gpu": "<b>x</b>"},
		{"sentry": `{"release":"1.3","environment":"beta","tags":{"gpu":"<b>x</b>"},"user":{"id":"` + who + `"}}`},
		{"sentry[release]": "1.3", "sentry[tags][gpu]": "<b>x</b>", "sentry[user][id]": strings.ToUpper(who)},
		{"sentry__1": `{"release":"1.3","tags":[["gpu","<b>x</b>"]],"us`, "sentry__2": `er":{"id":7}}`},
	} {
		d := post(fields, fmt.Sprint("group g1 build b1 ", i))
		if strings.Contains(strings.ToLower(fmt.Sprint(d.Annotations)), who) {
			t.Errorf("the user is kept: %v", d.Annotations)
		}
		var one struct {
			Release    string
			Attributes []struct{ Name, Value string }
		}
		w.want(200, &one, "GET", p+"dumps/"+d.ID, "")
		if one.Release != "1.3" || !strings.Contains(fmt.Sprint(one.Attributes), "{gpu <b>x</b>}") {
			t.Errorf("%d: %+v", i, one)
		}
	}
	for i := range 12 {
		post(map[string]string{"version": "1.2", "gpu": "y"}, fmt.Sprint("group g2 build b1 ", i))
	}
	// The same user is another in another project.
	var d dump
	status, text, _ := w.do(w.token["b all"], "POST", "/api/v1/projects/b/dumps?user_id="+who, strings.NewReader("group g1 build b1"))
	if err := json.Unmarshal([]byte(text), &d); status != 202 || err != nil {
		t.Fatal(status, text)
	}
	there, err := w.db.Upload(t.Context(), "b", d.ID)
	here, err2 := w.db.Uploads(t.Context(), "a", store.Query{Group: "g1"})
	if err := errors.Join(err, err2); err != nil || len(there.User) != 32 || slices.ContainsFunc(here, func(u store.Upload) bool { return u.User == there.User }) {
		t.Errorf("%q, %+v, %v", there.User, here, err)
	}
	w.send("group g3 build b1 told JANE.DOE-4711") // the program told Crashpad
	w.groups("?has=gpu:%3Cb%3Ex%3C/b%3E&has=channel:beta", "g1 4 open")
	w.groups("?has=gpu:y&release=1.3")
	w.want(400, nil, "GET", p+"groups?has=gpu", "")
	w.want(400, nil, "GET", p+"groups?"+strings.Repeat("&has=a:b", 9), "")
	var list struct{ Dumps []dump }
	if w.want(200, &list, "GET", p+"dumps?has=gpu:y&limit=5", ""); len(list.Dumps) != 5 {
		t.Errorf("%d dumps", len(list.Dumps))
	}
	var one struct {
		Group        struct{ Users, Machines int }
		Correlations []struct {
			Name, Value string
			Count       int
			Strength    float64
		}
	}
	w.want(200, &one, "GET", p+"groups/g1", "")
	if one.Group.Users != 2 || one.Group.Machines != 1 {
		t.Errorf("%+v", one.Group)
	}
	told := one
	if w.want(200, &told, "GET", p+"groups/g3", ""); told.Group.Users != 1 {
		t.Errorf("%+v", told.Group)
	}
	if got := fmt.Sprint(one.Correlations); got != "[{gpu <b>x</b> 4 1} {release 1.3 4 1}]" {
		t.Error(got)
	}
	var all struct {
		Attributes []struct {
			Name   string
			Values []struct {
				Value string
				Count int
			}
		}
	}
	w.want(200, &all, "GET", p+"attributes", "")
	if got := fmt.Sprint(all.Attributes); got != "[{channel [{beta 1}]} {gpu [{y 12} {<b>x</b> 4}]} {host [{till 3 1}]} {product [{Shop 1}]} {release [{1.2 12} {1.3 4}]}]" {
		t.Error(got)
	}
	time.Sleep(50 * time.Millisecond)
	w.want(200, &all, "GET", p+"groups", "")
	if len(all.Attributes) != 5 {
		t.Errorf("%+v", all)
	}
	w.stop()
	for _, name := range []string{"service.db", "service.db-wal"} {
		if b, _ := os.ReadFile(filepath.Join(w.dir, name)); strings.Contains(strings.ToLower(string(b)), who) {
			t.Errorf("the user is in %s", name)
		}
	}
	if strings.Contains(strings.ToLower(w.log.String()), who) {
		t.Error("the user is in the log")
	}
}

// The files that a project lacks are listed by how many frames needed them; what a dump says of them is a path and no more, as it becomes a part of a command.
func TestLacking(t *testing.T) {
	w := start(t, nil)
	const p, one, two, three = "/api/v1/projects/a/", "libpay.so.1 a.sym/AB/a.sym", "libtax.so b.sym/AB/b.sym", "app c.sym/AB/c.sym"
	for i, lacks := range []string{two, one, one, three, three, "x$(reboot) buildid/00112233/executable", "odd $(reboot)", "odd ../../x/AB/y", "odd a;b/AB/c", "odd %2e%2e/AB/c", "odd a%2Fb/AB/c", "nothing"} {
		w.send(fmt.Sprintf("group g1 build b%d lacks %s", i, lacks))
	}
	type doc struct {
		Module, Path, Value string
		Frames, Dumps       int
		Here                bool
	}
	want := []doc{{"libtax.so", "b.sym/AB/b.sym", two, 7, 1, false}, {"libpay.so.1", "a.sym/AB/a.sym", one, 2, 2, false}, // what does not say how many frames needs one
		{"x$(reboot)", "buildid/00112233/executable", "x$(reboot) buildid/00112233/executable", 1, 1, false}, {"app", "c.sym/AB/c.sym", three, 0, 2, false}}
	var list struct {
		Lacking []doc
		Known   int
	}
	if w.want(200, &list, "GET", p+"symbols", ""); !slices.Equal(list.Lacking, want) || list.Known != 10 {
		t.Errorf("%+v", list)
	}
	if status, text, _ := w.do(w.token["a all"], "PUT", p+"symbols/a.sym/AB/a.sym", strings.NewReader("MODULE Linux x86_64 AB a\nPUBLIC 10 0 f\n")); status/100 != 2 {
		t.Fatalf("%d %s", status, text)
	}
	want[1].Here = true
	if w.want(200, &list, "GET", p+"symbols", ""); !slices.Equal(list.Lacking, want) {
		t.Errorf("%+v", list)
	}
	var dumps struct{ Dumps []dump }
	if w.want(200, &dumps, "GET", p+"dumps?"+url.Values{"has": {"lacks:" + one}}.Encode(), ""); len(dumps.Dumps) != 2 {
		t.Errorf("%+v", dumps)
	}
	if _, text, _ := w.do(w.token["b all"], "GET", "/api/v1/projects/b/symbols", nil); strings.TrimSpace(text) != `{"known":0,"lacking":[]}` {
		t.Errorf("another project: %s", text)
	}
}

// Symbols are listed with how many dumps were analysed with them; of another project nothing is told.
func TestStoredSymbols(t *testing.T) {
	w := start(t, nil)
	const p = "/api/v1/projects/a/"
	for _, name := range []string{"pay", "tax", "old", "older"} {
		if status, text, _ := w.do(w.token["a all"], "PUT", p+"symbols/"+name+"/AB/"+name+".sym", strings.NewReader("MODULE Linux x86_64 AB "+name+"\nPUBLIC 10 0 f\n")); status/100 != 2 {
			t.Fatalf("%d %s", status, text)
		}
	}
	now := time.Now()
	for i, name := range []string{"older", "old"} {
		at := now.Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(w.dir, "projects/a/symbols", name, "AB", name+".sym"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for i, uses := range []string{"tax tax/AB/tax.sym", "libpay.so pay/AB/pay.sym", "libpay.so pay/AB/pay.sym", "pay pay/AB/pay.sym", "gone gone/AB/gone.sym"} {
		w.send(fmt.Sprintf("group g1 build b%d uses %s", i, uses))
	}
	var list struct {
		Stored []struct {
			Path, Module, Value string
			Size                int64
			Changed             time.Time
			Dumps               int
		}
		Files, Unused int
		Bytes         int64
		More, Counted bool
	}
	told := func(query string) (s string) {
		list.Stored = nil
		w.want(200, &list, "GET", p+"symbols/stored"+query, "")
		for _, d := range list.Stored {
			s += fmt.Sprintf("%s %d %s; ", d.Path, d.Dumps, d.Module)
			if d.Size < 40 || d.Changed.IsZero() {
				t.Errorf("%+v", d)
			}
		}
		return s + fmt.Sprint(list.Files, list.Unused, list.Bytes, list.More, list.Counted)
	}
	if got, want := told(""), "pay/AB/pay.sym 3 libpay.so; tax/AB/tax.sym 1 tax; older/AB/older.sym 0 ; old/AB/old.sym 0 ; 4 2 166 false true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := told("?unused"), "older/AB/older.sym 0 ; old/AB/old.sym 0 ; 4 2 166 false true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var dumps struct{ Dumps []dump }
	if w.want(200, &dumps, "GET", p+"dumps?"+url.Values{"has": {"uses:libpay.so pay/AB/pay.sym"}}.Encode(), ""); len(dumps.Dumps) != 2 {
		t.Errorf("%+v", dumps)
	}
	if _, text, _ := w.do(w.token["b all"], "GET", "/api/v1/projects/b/symbols/stored", nil); !strings.Contains(text, `"files":0`) || strings.Contains(text, "pay") {
		t.Errorf("another project: %s", text)
	}
	if status, text, _ := w.do(w.token["a upload"], "GET", p+"symbols/stored", nil); status != 403 {
		t.Errorf("a token that may only send: %d %s", status, text)
	}
}

// Processes that analyse the dumps of a project remember which files there were not. Those of dumps that come after symbols are others, whichever way these came;
// the symbols of another project change nothing.
func TestSymbolsRenew(t *testing.T) {
	var runs atomic.Int32
	w := start(t, func(c *service.Config) {
		c.Idle = time.Hour
		c.Run = func(ctx context.Context, project string, src triage.Source, to ledger.Store, sink triage.Sink) error {
			if project == "a" {
				runs.Add(1)
			}
			return textual(ctx, project, src, to, sink)
		}
	})
	const sym = "MODULE Linux x86_64 AB a\nPUBLIC 10 0 f\n"
	n := 0
	analysed := func(what string, want int32) {
		t.Helper()
		n++
		w.send(fmt.Sprintf("group g1 build b1 number %d", n))
		if got := runs.Load(); got != want {
			t.Errorf("%s: analysed by processes number %d, want %d", what, got, want)
		}
	}
	analysed("the first", 1)
	analysed("the next", 1)
	if status, text, _ := w.do(w.token["a all"], "PUT", "/api/v1/projects/a/symbols/a/AB/a.sym", strings.NewReader(sym)); status != 201 {
		t.Fatal(status, text)
	}
	analysed("after symbols", 2)
	analysed("the next", 2)
	body, kind := form(t, nil, map[string]string{"symbol_file": sym})
	if status, text, _ := w.do(w.token["a all"], "POST", "/api/v1/projects/a/sym_upload", strings.NewReader(body), "Content-Type", kind); status != 200 {
		t.Fatal(status, text)
	}
	analysed("after sym_upload", 3)
	if status, text, _ := w.do(w.token["b all"], "PUT", "/api/v1/projects/b/symbols/a/AB/a.sym", strings.NewReader(sym)); status != 201 {
		t.Fatal(status, text)
	}
	analysed("after those of another project", 3)
}
