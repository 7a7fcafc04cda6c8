package service_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/service/store"
)

// People say who looks at a group and where it is in a tracker, one by one or for many groups, and save searches.
func TestPeople(t *testing.T) {
	w := start(t, nil)
	p := "/api/v1/projects/a/"
	for i := range 3 {
		w.send(fmt.Sprintf("group g%d build b1", i))
	}
	w.groups("?limit=1", "g2 1 open")
	w.want(204, nil, "PUT", p+"groups/g1/mark", `{"assignee":" ann <b> "}`)
	w.want(204, nil, "PUT", p+"groups/g1/mark", `{"ticket":"https://tracker.example/1"}`)
	for _, body := range []string{`{"assignee":"a\nb"}`, `{"ticket":"javascript:alert(1)"}`, `{"ticket":"x"}`, `{"ticket":"javascript://x/%0aalert(1)"}`, `{"ticket":"https:///x"}`, `{"ticket":"https://x/` + strings.Repeat("x", 2000) + `"}`, `{"assignee":"a\u0085b"}`, `{"other":1}`, `{"assignee":"` + strings.Repeat("x", 101) + `"}`} {
		w.want(400, nil, "PUT", p+"groups/g1/mark", body)
	}
	w.want(404, nil, "PUT", p+"groups/zz/mark", `{"assignee":"ann"}`)
	w.groups("?assignee=ann+%3Cb%3E", "g1 1 open")
	w.want(204, nil, "PUT", p+"groups", `{"groups":["g0","g2"],"state":"fixed","build":"b1","assignee":"bob"}`)
	w.groups("?state=fixed&assignee=bob", "g2 1 fixed", "g0 1 fixed")
	w.want(404, nil, "PUT", p+"groups", `{"groups":["g1","zz"],"state":"ignored"}`) // none is changed
	w.groups("?assignee=ann+%3Cb%3E", "g1 1 open")
	many, _ := json.Marshal(make([]string, 501))
	for _, body := range []string{`{"groups":[],"state":"open"}`, `{"groups":["g1"],"state":"lost"}`, `{"groups":["g1"],"state":"fixed","release":"9"}`, `{"groups":["g1"],"release":"9"}`, `{"groups":` + string(many) + `,"state":"open"}`} {
		w.want(400, nil, "PUT", p+"groups", body)
	}
	var one struct {
		Group struct{ Assignee, Ticket string }
	}
	if w.want(200, &one, "GET", p+"groups/g1", ""); one.Group.Assignee != "ann <b>" || one.Group.Ticket != "https://tracker.example/1" {
		t.Errorf("%+v", one)
	}
	w.want(204, nil, "PUT", p+"settings", `{"tracker":"https://tracker.example/new?title={title}&body={url}"}`)
	w.want(400, nil, "PUT", p+"settings", `{"tracker":"javascript:{title}"}`)
	if text := w.want(200, nil, "GET", p+"settings", ""); !strings.Contains(text, "title={title}") {
		t.Error(text)
	}
	var made struct{ ID string }
	w.want(201, &made, "POST", p+"searches", `{"name":"mine <b>","query":"state=open&has=release%3A1.2"}`)
	for _, body := range []string{`{"name":" ","query":""}`, `{"name":"a\nb","query":""}`, `{"name":"x","query":"%zz"}`, `{"name":"x","query":"` + strings.Repeat("x", 2001) + `"}`} {
		w.want(400, nil, "POST", p+"searches", body)
	}
	if text := w.want(200, nil, "GET", p+"searches", ""); !strings.Contains(text, "has=release%3A1.2") {
		t.Error(text)
	}
	w.want(204, nil, "DELETE", p+"searches/"+made.ID, "")
	for i := range store.MaxSearches {
		if err := w.db.AddSearch(t.Context(), "a", store.Search{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	w.want(400, nil, "POST", p+"searches", `{"name":"one more","query":""}`)
	w.want(404, nil, "DELETE", p+"searches/"+made.ID, "")
}

// Groups that are the same bug become one: in lists, in counts, and for dumps that come later, until they are split.
func TestMerge(t *testing.T) {
	w := start(t, nil)
	p := "/api/v1/projects/a/"
	w.sendWith("group g1 build b1", "version=1.2&user_id=u1")
	w.sendWith("group g2 build b1", "version=1.3&user_id=u2")
	w.sendWith("group g3 build b1", "version=1.3&user_id=u3")
	w.groups("", "g3 1 open", "g2 1 open", "g1 1 open")
	w.want(204, nil, "PUT", p+"groups/g2/merge", `{"into":"g1"}`)
	w.groups("", "g1 2 open", "g3 1 open")
	w.sendWith("group g2 build b1 later", "version=1.3&user_id=u4")
	w.groups("", "g1 3 open", "g3 1 open")
	w.groups("?release=1.3", "g1 3 open", "g3 1 open")
	var one struct {
		Group struct {
			Count, Users int
			Merged       []string
			Into         string
		}
		Dumps    []dump
		Releases []struct{ Release string }
	}
	if w.want(200, &one, "GET", p+"groups/g1", ""); one.Group.Count != 3 || one.Group.Users != 3 || fmt.Sprint(one.Group.Merged) != "[g2]" || len(one.Dumps) != 3 || len(one.Releases) != 2 {
		t.Errorf("%+v", one)
	}
	if w.want(200, &one, "GET", p+"groups/g2", ""); one.Group.Into != "g1" {
		t.Errorf("%+v", one)
	}
	w.want(204, nil, "PUT", p+"groups/g1/state", `{"state":"fixed","release":"1.3"}`)
	w.groups("?state=fixed", "g1 3 fixed")
	w.sendWith("group g2 build b1 once more", "version=1.3")
	w.groups("?state=regressed", "g1 4 regressed")
	for body, status := range map[string]int{`{"into":"g1"}`: 204, `{"into":"g2"}`: 400, `{"into":"zz"}`: 404, `{"into":""}`: 404} {
		w.want(status, nil, "PUT", p+"groups/g2/merge", body)
	}
	w.want(204, nil, "DELETE", p+"groups/g2/merge", "")
	w.want(404, nil, "DELETE", p+"groups/g2/merge", "")
	w.groups("?state=all", "g2 3 open", "g3 1 open", "g1 1 fixed")
}
