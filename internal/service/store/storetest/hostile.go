package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

// hostileTexts are what a stranger, or somebody with a token, may write where a short text is asked for. They differ also as whole says.
var hostileTexts = []string{"a\x00b", "\x00", "b\xff\xfec", "d\xed\xa0\x80", `\ud800`, `{"a":"\u0000"}`, "\u202ex\u2066\u0007\x1b[2J", "''; DROP TABLE \"@uploads\" -- $1 ?", "\U0010ffff", "%_\\", strings.Repeat("\u202e", 66),
	strings.Repeat("[", 190), strings.Repeat("\x00", 190) + "e", "null", "'{NULL,\"x\"}'", "\\x00", "E'\\''", "\r\n"}

// testHostileEverywhere: texts of any bytes in each field that has not been looked at elsewhere come back as they were, are found, and are nobody else's.
func testHostileEverywhere(t *testing.T, db store.Store) {
	ctx := t.Context()
	fail := func(text, what string, got any, err error) {
		t.Helper()
		t.Errorf("%.40q: %s: %.120q, %v", text, what, fmt.Sprint(got), err)
	}
	deep := strings.Repeat(`{"a":[`, 150_000)
	for i, text := range hostileTexts {
		id, group := fmt.Sprint("h", i), fmt.Sprint("g", i)
		name := text[:min(len(text), store.MaxAttrName)]
		attrs := []store.Attribute{{Name: name, Value: text}, {Name: store.AttrRelease, Value: text}, {Name: "n" + id, Value: text}}
		u := store.Upload{ID: id, Project: "p", Name: text, Received: time.Now().Add(time.Duration(i) * time.Second), Annotations: map[string]string{text: deep}, User: text, Machine: text, Event: strings.Repeat(fmt.Sprintf("%02x", i), 16)}
		if _, err := db.AddUpload(ctx, u); err != nil {
			fail(text, "upload", nil, err)
			continue
		}
		if err := db.Finish(ctx, "p", id, store.Result{Group: group, Build: text, Program: text, Attributes: attrs, User: text, Machine: text}); err != nil {
			fail(text, "finish", nil, err)
			continue
		}
		got, err := db.Attributes(ctx, "p", id)
		if err != nil || len(got) != len(attrs) {
			fail(text, "attributes", got, err)
		}
		for _, a := range got {
			if whole(a.Value) != whole(text) {
				fail(text, "value", a.Value, nil)
			}
		}
		if counts, _, err := db.Having(ctx, "p", []store.Attribute{{Name: "n" + id, Value: got[0].Value}}, 1000); err != nil || counts[group] != 1 || len(counts) != 1 {
			fail(text, "found by its value", counts, err)
		}
		if list, err := db.Uploads(ctx, "p", store.Query{Has: []store.Attribute{{Name: "n" + id, Value: got[0].Value}}}); err != nil || len(list) != 1 || list[0].ID != id || len(list[0].Annotations) != 1 {
			fail(text, "list", len(list), err)
		}
		if shares, err := db.Shares(ctx, "p", group, 100); err != nil || shares.Here != 1 {
			fail(text, "shares", shares, err)
		}
		if of, err := db.ReleasesOf(ctx, "p", []string{group}); err != nil || len(of[group]) != 1 || whole(of[group][0]) != whole(text) {
			fail(text, "release", of, err)
		}
		files := []store.Attachment{{SHA256: strings.Repeat("0", 64), Name: text, Type: "text/plain", Size: 1}}
		left, err := db.Attach(ctx, "p", id, files, 1<<20)
		if err != nil || len(left) != 0 {
			fail(text, "attach", left, err)
		}
		if list, err := db.Attachments(ctx, "p", id); err != nil || len(list) != 1 || whole(list[0].Name) != whole(text) {
			fail(text, "attachment", list, err)
		}
		if kept, err := db.AddFeedback(ctx, "p", id, store.Feedback{Name: text, Email: text, Text: text, At: time.Now()}); err != nil || !kept {
			fail(text, "add feedback", kept, err)
		}
		if list, err := db.Feedback(ctx, "p", id); err != nil || len(list) != 1 || whole(list[0].Text) != whole(text) || whole(list[0].Name) != whole(text) || whole(list[0].Email) != whole(text) {
			fail(text, "feedback", list, err)
		}
		if err := db.MarkGroup(ctx, "p", group, store.Mark{Assignee: text, Ticket: text}); err != nil {
			fail(text, "mark", nil, err)
		}
		if marks, err := db.Marks(ctx, "p"); err != nil || whole(marks[group].Ticket) != whole(text) || whole(marks[group].Assignee) != whole(text) {
			fail(text, "marks", marks[group], err)
		}
		if err := db.SetSetting(ctx, "p", "s"+id, text); err != nil {
			fail(text, "set", nil, err)
		}
		if s, err := db.Setting(ctx, "p", "s"+id); err != nil || whole(s) != whole(text) {
			fail(text, "setting", s, err)
		}
		if err := db.AddSearch(ctx, "p", store.Search{ID: id, Name: text, Query: text, By: text}); err != nil {
			fail(text, "search", nil, err)
		}
		if err := db.NameBuild(ctx, "p", text, "of "+text); err != nil {
			fail(text, "name of a build", nil, err)
		}
		if err := db.Announce(ctx, "p", "announced "+text); err != nil {
			fail(text, "announce", nil, err)
		}
		if err := db.AddHook(ctx, store.Hook{ID: id, Project: "p", Kind: "webhook", To: text, Secret: text, By: text, Quiet: text, Events: []string{store.EventNew}, Created: time.Now()}); err != nil {
			fail(text, "hook", nil, err)
		}
		if err := db.HookResult(ctx, id, text, time.Now(), 1); err != nil {
			fail(text, "failure of a hook", nil, err)
		}
		if other, err := db.Upload(ctx, text, id); err == nil {
			fail(text, "a project of that name", other, nil)
		}
	}
	n := len(hostileTexts)
	if list, err := db.Searches(ctx, "p"); err != nil || len(list) != n {
		t.Errorf("%d searches, %v", len(list), err)
	}
	hooks, err := db.Hooks(ctx, "p")
	if err != nil || len(hooks) != n {
		t.Errorf("%d hooks, %v", len(hooks), err)
	}
	for _, h := range hooks {
		var i int
		if _, err := fmt.Sscanf(h.ID, "h%d", &i); err != nil || whole(h.To) != whole(hostileTexts[i]) || whole(h.Failure) != whole(hostileTexts[i]) {
			t.Errorf("hook %+v: %v", h, err)
		}
	}
	if facets, err := db.Facets(ctx, "p", 1000); err != nil || len(facets) < n {
		t.Errorf("%d facets, %v", len(facets), err)
	}
	if list, err := db.Uploads(ctx, "p", store.Query{Limit: 1000}); err != nil || len(list) != n {
		t.Errorf("%d uploads, %v", len(list), err)
	}
}
