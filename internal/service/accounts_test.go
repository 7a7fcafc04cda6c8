package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/fixture/browser"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
)

// post sends a form as the page does, with a cookie if there is one; it returns the status, the text and the cookie that was set.
func (w *world) post(path, cookie string, fields ...string) (status int, text, set string) {
	w.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	status, text, h := w.do("", "POST", path, strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded", "X-Requested-With", "corewalk", "Sec-Fetch-Site", "same-origin", "Cookie", cookie)
	set, _, _ = strings.Cut(h.Get("Set-Cookie"), ";")
	return status, text, set
}

// who is what a cookie is of.
func (w *world) who(cookie string) string {
	w.t.Helper()
	var doc struct {
		Project, Account string
		Scopes, Also     []string
	}
	_, text, _ := w.do("", "GET", "/api/v1/whoami", nil, "Cookie", cookie)
	_ = json.Unmarshal([]byte(text), &doc)
	return fmt.Sprintf("%s %s%v%v", doc.Account, doc.Project, doc.Scopes, doc.Also)
}

// member has an account with a password.
func (w *world) member(name, password string, projects map[string][]string) {
	w.t.Helper()
	for project, scopes := range projects {
		if _, _, err := service.SetMember(w.t.Context(), w.db, name, project, scopes, password); err != nil {
			w.t.Fatal(err)
		}
	}
}

const secretOf = "correct horse battery"

// People with accounts log in, are called by their names, see their projects and nothing else, and go from one to the other.
func TestAccounts(t *testing.T) {
	w := start(t, nil)
	d := w.send("group g1 build b1")
	if _, text, _ := w.do("", "GET", "/login/ways", nil); text != "{}\n" {
		t.Error(text)
	}
	w.member("ann", secretOf, map[string][]string{"a": {"read", "triage"}})
	w.member("bea", secretOf, map[string][]string{"a": {"read", "admin"}, "b": {"read"}})
	if _, text, _ := w.do("", "GET", "/login/ways", nil); text != `{"password":true}`+"\n" {
		t.Error(text)
	}
	for _, wrong := range [][2]string{{"ann", "correct horse batterx"}, {"ann", ""}, {"nobody", secretOf}, {"", ""}, {"ann\x00", secretOf}, {"ANN", secretOf}, {"' OR 1=1 --", secretOf}, {"ann", strings.Repeat("x", 3000)}} {
		status, text, cookie := w.post("/login/password", "", "name", wrong[0], "password", wrong[1])
		if status != 403 || cookie != "" || !strings.Contains(text, "The name or the password is wrong.") {
			t.Errorf("%.40q: %d %s %s", wrong, status, text, cookie)
		}
	}
	status, _, ann := w.post("/login/password", "", "name", "ann", "password", secretOf)
	if got := w.who(ann); status != 200 || got != "ann a[read triage][]" {
		t.Fatalf("%d %s", status, got)
	}
	_, _, bea := w.post("/login/password", "", "name", "bea", "password", secretOf)
	if got := w.who(bea); got != "bea a[read admin][b]" {
		t.Error(got)
	}
	get := func(cookie, path string) int {
		status, _, _ := w.do("", "GET", path, nil, "Cookie", cookie)
		return status
	}
	// Each sees her own projects only, and what she may there.
	for _, x := range []struct {
		cookie, path string
		status       int
	}{{ann, "/api/v1/projects/a/groups", 200}, {ann, "/api/v1/projects/b/groups", 403}, {ann, "/api/v1/projects/a/tokens", 403}, {ann, "/api/v1/projects/a/accounts", 403}, {ann, "/api/v1/projects/b/accounts", 403}, {ann, "/api/v1/projects/a/people", 200},
		{bea, "/api/v1/projects/a/accounts", 200}, {bea, "/api/v1/projects/b/accounts", 403}, {bea, "/api/v1/projects/b/groups", 403}, {bea, "/api/v1/projects/a/people", 403}} {
		if got := get(x.cookie, x.path); got != x.status {
			t.Errorf("%s: %d, want %d", x.path, got, x.status)
		}
	}
	// What she decides and writes has her name; what a token does says that it is one.
	note := func(cookie, token, text string) {
		t.Helper()
		if status, _, _ := w.do(token, "POST", "/api/v1/projects/a/groups/"+d.Group+"/notes", strings.NewReader(`{"text":"`+text+`"}`), "Cookie", cookie, "X-Requested-With", "corewalk"); status != 204 {
			t.Errorf("%d", status)
		}
	}
	var made struct{ Token string }
	w.want(201, &made, "POST", "/api/v1/projects/a/tokens", `{"scopes":["triage"],"note":"ann"}`)
	note(ann, "", "mine")
	note("", made.Token, "not hers")
	if text := w.want(200, nil, "GET", "/api/v1/projects/a/groups/"+d.Group, ""); !strings.Contains(text, `"by":"ann"`) || !strings.Contains(text, `"by":"ann (token)"`) {
		t.Error(text)
	}
	// Another project, in which she may other things.
	status, text, inB := w.post("/login/project", bea, "project", "b")
	if got := w.who(inB); status != 200 || got != "bea b[read][a]" || w.who(bea) != " [][]" {
		t.Errorf("%d %s %s; before: %s", status, text, got, w.who(bea))
	}
	for _, project := range []string{"c", "../a", "<b>", "\x00"} {
		if status, _, set := w.post("/login/project", inB, "project", project); status != 403 || set != "" {
			t.Errorf("%q: %d", project, status)
		}
	}
	// Only sessions of accounts do so, and not those of other sites.
	for _, path := range []string{"/login/project", "/account/password"} {
		if status, _, _ := w.post(path, "corewalk_token="+w.token["a all"], "project", "a"); status != 403 {
			t.Errorf("%s with a token: %d", path, status)
		}
		if status, _, _ := w.post(path, "", "project", "a"); status != 401 {
			t.Errorf("%s without: %d", path, status)
		}
	}
	for _, path := range []string{"/login/project", "/account/password", "/login/password", "/login/invitation"} {
		for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"X-Requested-With", "corewalk", "Sec-Fetch-Site", "cross-site"}, {"X-Requested-With", "corewalk", "Origin", "https://elsewhere.example"}} {
			form := url.Values{"name": {"ann"}, "password": {secretOf}, "project": {"a"}, "old": {secretOf}, "new": {"another password"}, "secret": {"x"}}
			status, _, h := w.do("", "POST", path, strings.NewReader(form.Encode()), append(headers, "Content-Type", "application/x-www-form-urlencoded", "Cookie", inB)...)
			if status != 403 && status != 401 || h.Get("Set-Cookie") != "" {
				t.Errorf("%s from another site, %v: %d", path, headers, status)
			}
		}
	}
	if w.who(inB) != "bea b[read][a]" {
		t.Error("another site changed something")
	}
	// Nothing is taken from the URL.
	if status, _, _ := w.do("", "POST", "/login/password?name=ann&password="+url.QueryEscape(secretOf), nil, "X-Requested-With", "corewalk"); status != 403 {
		t.Errorf("a password in the URL: %d", status)
	}
	// Her session is listed, and ended, as any; logging out ends it, too.
	list := w.want(200, nil, "GET", "/api/v1/projects/a/tokens", "")
	if !strings.Contains(list, `"note":"ann"`) || !strings.Contains(list, `"expires":"`) {
		t.Error(list)
	}
	id := strings.Split(strings.TrimPrefix(ann, "corewalk_token="), "_")[1]
	w.want(204, nil, "DELETE", "/api/v1/projects/a/tokens/"+id, "")
	if w.who(ann) != " [][]" {
		t.Error("an ended session goes on")
	}
	if status, _, _ := w.post("/logout", inB); status != 204 || w.who(inB) != " [][]" {
		t.Errorf("%d, %s after the logout", status, w.who(inB))
	}
	if log := w.log.String(); strings.Contains(log, "horse") || strings.Contains(log, "cw_") || strings.Contains(log, "OR 1=1") {
		t.Error("a secret is in the log")
	}
}

// Somebody changes the own password: other sessions end, the own one goes on. A removed account's end at once, and one whose scopes change.
func TestAccountEnds(t *testing.T) {
	w := start(t, nil)
	w.member("ann", secretOf, map[string][]string{"a": {"read"}, "b": {"read"}})
	login := func(password string) (string, int) {
		status, _, cookie := w.post("/login/password", "", "name", "ann", "password", password)
		return cookie, status
	}
	one, _ := login(secretOf)
	two, _ := login(secretOf)
	for _, x := range []struct {
		old, new, want string
		status         int
	}{{"wrong " + secretOf, "another password", "wrong", 403}, {secretOf, "short", "at least 10", 400}, {secretOf, "ann-is-me!", "own name", 400}, {secretOf, strings.Repeat("x", 257), "at most 256", 400}} {
		if status, text, _ := w.post("/account/password", one, "old", x.old, "new", x.new); status != x.status || !strings.Contains(text, x.want) {
			t.Errorf("%+v: %d %s", x, status, text)
		}
	}
	if w.who(two) != "ann a[read][b]" {
		t.Error("nothing was changed, and a session has ended")
	}
	if status, text, _ := w.post("/account/password", one, "old", secretOf, "new", "another password"); status != 204 {
		t.Fatal(status, text)
	}
	if w.who(one) != "ann a[read][b]" || w.who(two) != " [][]" {
		t.Errorf("%s, %s", w.who(one), w.who(two))
	}
	if _, status := login(secretOf); status != 403 {
		t.Errorf("the old password: %d", status)
	}
	// Who administers b takes it away: she is out, and back in a.
	if status, _, _ := w.do(w.token["b all"], "DELETE", "/api/v1/projects/b/accounts/ann", nil); status != 204 {
		t.Fatal(status)
	}
	if w.who(one) != " [][]" {
		t.Error("a session of other rights goes on")
	}
	one, _ = login("another password")
	w.want(204, nil, "PUT", "/api/v1/projects/a/accounts/ann", `{"scopes":["read","triage"]}`)
	if w.who(one) != " [][]" {
		t.Error("a session of other scopes goes on")
	}
	one, _ = login("another password")
	if w.who(one) != "ann a[read triage][]" {
		t.Error(w.who(one))
	}
	w.want(204, nil, "DELETE", "/api/v1/projects/a/accounts/ann", "")
	if status, _, _ := w.do("", "GET", "/api/v1/projects/a/groups", nil, "Cookie", one); status != 403 {
		t.Errorf("a removed account: %d", status)
	}
	w.service.Forgive()
	if _, status := login("another password"); status != 403 {
		t.Errorf("a removed account logs in: %d", status)
	}
}

// Who administers a project makes accounts of it, and links with which people choose a password: once, and not for ever. Accounts of other projects are out of reach.
func TestInvitations(t *testing.T) {
	w := start(t, nil)
	p := "/api/v1/projects/a/accounts"
	for body, status := range map[string]int{`{"name":"Ann","scopes":["read"]}`: 400, `{"name":"ann@example.com","scopes":["read"]}`: 400, `{"name":"ann (unverified, 1f3a9c02)","scopes":["read"]}`: 400, `{"name":"аnn","scopes":["read"]}`: 400, `{"name":"<b>","scopes":["read"]}`: 400,
		`{"name":"","scopes":["read"]}`: 400, `{"name":"1ann","scopes":["read"]}`: 400, `{"name":"` + strings.Repeat("a", 41) + `","scopes":["read"]}`: 400, `{"name":"ann","scopes":[]}`: 400, `{"name":"ann","scopes":["root"]}`: 400, `{"name":"ann","scopes":["read"],"projects":{"b":["read"]}}`: 400} {
		w.want(status, nil, "POST", p, body)
	}
	var made struct{ Name, Link, Invited string }
	w.want(201, &made, "POST", p, `{"name":"ann","scopes":["read","triage"]}`)
	path, ok := strings.CutPrefix(made.Link, "/#/in/ann/")
	if !ok || len(path) != 32 || made.Invited == "" {
		t.Fatalf("%+v", made)
	}
	if list := w.want(200, nil, "GET", p, ""); strings.Contains(list, path) || !strings.Contains(list, `"password":false`) || !strings.Contains(list, `"invited":"`) || !strings.Contains(list, `"by":"`) {
		t.Error(list)
	}
	w.want(409, nil, "POST", p, `{"name":"ann","scopes":["read"]}`)
	// Without a password nobody logs in.
	if status, _, _ := w.post("/login/password", "", "name", "ann", "password", ""); status != 403 {
		t.Errorf("%d", status)
	}
	accept := func(name, secret, password string) (int, string, string) {
		return w.post("/login/invitation", "", "name", name, "secret", secret, "password", password)
	}
	for _, x := range [][2]string{{"ann", "x" + path}, {"ann", ""}, {"ben", path}, {"", ""}} {
		if status, text, cookie := accept(x[0], x[1], secretOf); status != 403 || cookie != "" || !strings.Contains(text, "of no use") {
			t.Errorf("%q: %d %s", x, status, text)
		}
	}
	if status, text, cookie := accept("ann", path, ""); status != 200 || cookie != "" || !strings.Contains(text, `"name":"ann"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text, _ := accept("ann", path, "short"); status != 400 {
		t.Errorf("%d %s", status, text)
	}
	// Of many who use it at a time one gets in.
	var all sync.WaitGroup
	var mu sync.Mutex
	in := []string{}
	for i := range 8 {
		all.Go(func() {
			status, text, cookie := accept("ann", path, fmt.Sprint(secretOf, i))
			mu.Lock()
			defer mu.Unlock()
			if status == 200 {
				in = append(in, cookie)
			} else if status != 403 && status != 409 {
				t.Errorf("%d %s", status, text)
			}
		})
	}
	all.Wait()
	if len(in) != 1 || w.who(in[0]) != "ann a[read triage][]" {
		t.Fatalf("%d got in", len(in))
	}
	// A new link leaves the password and the session until another password is chosen.
	w.want(201, &made, "POST", p+"/ann/invitation", "")
	if w.who(in[0]) != "ann a[read triage][]" {
		t.Error("a link ends a session")
	}
	status, _, cookie := accept("ann", strings.TrimPrefix(made.Link, "/#/in/ann/"), secretOf)
	if status != 200 || w.who(in[0]) != " [][]" || w.who(cookie) != "ann a[read triage][]" {
		t.Errorf("%d, before %s, now %s", status, w.who(in[0]), w.who(cookie))
	}
	// Too late.
	w.want(201, &made, "POST", p+"/ann/invitation", "")
	if err := w.db.ChangeAccount(t.Context(), "ann", "", func(a *store.Account) error {
		if left := time.Until(a.InvitedUntil); left < service.InvitationTime-time.Minute || left > service.InvitationTime {
			t.Errorf("%s", left)
		}
		a.InvitedUntil = time.Now().Add(-time.Second)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := accept("ann", strings.TrimPrefix(made.Link, "/#/in/ann/"), secretOf); status != 403 {
		t.Errorf("an old link: %d", status)
	}
	// An account of b is not seen in a, and its name is taken; one of both is in neither's hand alone.
	w.member("bea", secretOf, map[string][]string{"b": {"fetch"}})
	if list := w.want(200, nil, "GET", p, ""); strings.Contains(list, "bea") {
		t.Error(list)
	}
	w.want(409, nil, "POST", p, `{"name":"bea","scopes":["admin"]}`)
	w.want(404, nil, "PUT", p+"/bea", `{"scopes":["read"]}`)
	w.want(404, nil, "DELETE", p+"/bea", "")
	w.want(404, nil, "POST", p+"/bea/invitation", "")
	w.member("bea", secretOf, map[string][]string{"a": {"read"}})
	if text := w.want(409, nil, "POST", p+"/bea/invitation", ""); !strings.Contains(text, "corewalk serve account passwd") {
		t.Error(text)
	}
	if list := w.want(200, nil, "GET", p, ""); strings.Contains(list, `"b"`) || !strings.Contains(list, `"name":"bea","scopes":["read"]`) || strings.Contains(list, "fetch") {
		t.Error(list)
	}
	// Who runs the service gives an account another project: a link of the first project's is of no use any more.
	w.want(201, &made, "POST", p+"/ann/invitation", "")
	w.member("ann", secretOf, map[string][]string{"b": {"read"}})
	if status, _, _ := accept("ann", strings.TrimPrefix(made.Link, "/#/in/ann/"), secretOf); status != 403 {
		t.Errorf("a link from before: %d", status)
	}
	if err := service.RemoveMember(t.Context(), w.db, "bea", "c"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	// People to choose from.
	if err := w.db.AddSession(t.Context(), store.Token{ID: "o", Project: "a", Note: "dora@example.com", Subject: "0123", Created: time.Now(), Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if text := w.want(200, nil, "GET", "/api/v1/projects/a/people", ""); text != `{"people":["ann","bea","dora@example.com"]}`+"\n" {
		t.Error(text)
	}
	if log := w.log.String(); strings.Contains(log, "horse") || strings.Contains(log, path) {
		t.Error("a secret is in the log")
	}
}

// Who tries many passwords is held up, from one address first; another name is not, and many at a time do not take all memory.
func TestGuesses(t *testing.T) {
	w := start(t, nil)
	w.member("ann", secretOf, map[string][]string{"a": {"read"}})
	for _, name := range []string{"ann", "nobody"} { // one that is there is not told from one that is not
		denied, held := 0, 0
		for range 14 {
			status, text, _ := w.post("/login/password", "", "name", name, "password", "wrong password")
			switch status {
			case 403:
				denied++
			case 429:
				held++
			default:
				t.Errorf("%d %s", status, text)
			}
		}
		if denied < 10 || denied > 11 || held == 0 {
			t.Errorf("%s: %d denied, %d held up", name, denied, held)
		}
	}
	if status, text, _ := w.post("/login/password", "", "name", "ann", "password", secretOf); status != 429 || !strings.Contains(text, "too many attempts") {
		t.Errorf("%d %s", status, text)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	got := map[int]int{}
	for i := range 120 {
		all.Go(func() {
			status, _, _ := w.post("/login/password", "", "name", fmt.Sprint("n", i), "password", "wrong password")
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	all.Wait()
	if got[403]+got[503] != 120 || got[403] < 34 {
		t.Errorf("%v", got)
	}
	w.member("ben", secretOf, map[string][]string{"a": {"read"}})
	if status, _, _ := w.post("/login/password", "", "name", "ben", "password", secretOf); status != http.StatusOK {
		t.Errorf("another name: %d", status)
	}
}

// On the page: who administers adds a person, whose link leads to a password; the person logs in, is offered for groups, and changes the password.
func TestAccountsPage(t *testing.T) {
	c := browser.Start(t)
	w := start(t, nil)
	d := w.send("group g1 build b1")
	w.member("bea", secretOf, map[string][]string{"b": {"read"}})
	c.Open(w.url+"/#"+w.token["a all"], nil)
	c.Want(`!!document.getElementById("link-yes")`)
	c.Eval(`document.getElementById("link-yes").click()`)
	c.Want(`!document.getElementById("nav").hidden && document.getElementById("self").hidden`)
	c.Eval(`location.hash = "#/people"`)
	c.Want(`document.querySelector("main .title") && document.querySelector("main .title").textContent == "Nobody has an account here."`)
	c.Eval(`{ const f = document.querySelector("main form"); f.elements.name.value = "<img src=x onerror=alert(1)>"; f.requestSubmit() }`)
	c.Want(`document.querySelector(".trouble") && document.querySelector(".trouble").textContent.includes("<img src=x") && !document.querySelector(".trouble img")`)
	c.Eval(`{ document.querySelector(".trouble button").click(); const f = document.querySelector("main form"); f.elements.name.value = "bea"; f.requestSubmit() }`)
	c.Want(`document.querySelector(".trouble") && document.querySelector(".trouble").textContent.includes("the name is taken")`)
	c.Eval(`{ const f = document.querySelector("main form"); f.elements.name.value = "ann"; f.requestSubmit() }`)
	c.Want(`document.getElementById("secret") && document.getElementById("secret").textContent.startsWith(location.origin + "/#/in/ann/") && document.querySelectorAll("table.list tbody tr").length == 1 && document.querySelector("table.list").textContent.includes("read, triage")`)
	link := strings.Trim(c.Eval(`document.getElementById("secret").textContent`), `"`)
	c.Eval(`document.getElementById("logout").click()`)
	c.Want(`!!document.getElementById("person") && !!document.getElementById("token")`)
	for _, look := range []string{browser.LowContrast, browser.NamelessControls} {
		if found := c.Eval(look); found != "" && found != `""` {
			t.Error(found)
		}
	}
	c.Eval(fmt.Sprintf(`location.hash = %q`, strings.SplitN(link, "/", 4)[3]))
	c.Want(`!!document.getElementById("choose") && location.hash == "#/" && document.querySelector("h2").textContent == "Welcome, ann"`)
	c.Eval(`{ const f = document.getElementById("choose"); f.elements.new.value = "correct horse battery"; f.elements.again.value = "correct horse batterx"; f.requestSubmit() }`)
	c.Want(`document.querySelector("#choose [role=alert]").textContent == "These are two different passwords."`)
	c.Eval(`{ const f = document.getElementById("choose"); f.elements.again.value = "correct horse battery"; f.requestSubmit() }`)
	c.Want(`document.getElementById("self").textContent == "ann" && !document.getElementById("nav").hidden && [...document.querySelectorAll("nav .admin")].every(e => e.hidden) && document.cookie == ""`)
	// She is offered, and anybody else may be written. The list of groups has a field of the same name.
	c.Eval(`location.hash = "#/g/` + d.Group + `"`)
	c.Want(`document.querySelector("form.stacked input[name=assignee]") && [...document.getElementById(document.querySelector("form.stacked input[name=assignee]").getAttribute("list")).options].map(o => o.value).join() == "ann"`)
	c.Eval(`{ const f = document.querySelector("form.stacked input[name=assignee]").form; f.elements.assignee.value = "ann"; f.requestSubmit() }`)
	c.Want(`document.querySelector(".meta") && document.querySelector(".meta").textContent.includes("looked at by ann")`)
	c.Eval(`{ document.querySelector("textarea").value = "I look at it"; document.querySelector("textarea").form.requestSubmit() }`)
	c.Want(`document.querySelector("blockquote .dim") && document.querySelector("blockquote .dim").textContent.endsWith(" by ann")`)
	c.Eval(`{ const f = document.querySelector("form.stacked input[name=assignee]").form; f.elements.assignee.value = "the team <b>"; f.requestSubmit() }`)
	c.Want(`document.querySelector(".meta") && document.querySelector(".meta").textContent.includes("looked at by the team <b>") && !document.querySelector(".meta b b")`)
	// The password.
	c.Eval(`document.getElementById("self").click()`)
	c.Want(`document.querySelector("h2").textContent == "ann" && document.querySelector("nav a[aria-current]").id == "self"`)
	change := func(old, next string) {
		c.Eval(fmt.Sprintf(`{ const f = document.querySelector("main form"); f.elements.old.value = %q; f.elements.new.value = f.elements.again.value = %q; f.requestSubmit() }`, old, next))
	}
	c.Eval(`for (const b of document.querySelectorAll(".trouble button")) b.click()`)
	change("not this one", "another password")
	c.Want(`document.querySelector(".trouble") && document.querySelector(".trouble").textContent.includes("The name or the password is wrong.")`)
	change(secretOf, "another password")
	c.Want(`document.getElementById("said").textContent.startsWith("The password is another one.")`)
	c.Eval(`document.getElementById("logout").click()`)
	c.Want(`!!document.getElementById("person")`)
	enter := func(password string) {
		c.Eval(fmt.Sprintf(`{ const f = document.getElementById("person"); f.elements.name.value = "ann"; f.elements.password.value = %q; f.requestSubmit() }`, password))
	}
	enter(secretOf)
	c.Want(`document.querySelector("main [role=alert]") && document.querySelector("main [role=alert]").textContent == "The name or the password is wrong." && document.querySelector("#person [name=name]").value == "ann" && document.querySelector("#person [name=password]").value == ""`)
	w.member("ann", "", map[string][]string{"b": {"read"}})
	enter("another password")
	c.Want(`document.getElementById("project").textContent == "a" && document.querySelector("#others button") && document.querySelector("#others button").textContent == "b"`)
	c.Eval(`document.querySelector("#others button").click()`)
	c.Want(`document.getElementById("project").textContent == "b" && document.querySelector("#others button") && document.querySelector("#others button").textContent == "a"`)
	c.Eval(fmt.Sprintf(`location.hash = %q`, strings.SplitN(link, "/", 4)[3])) // it was used
	c.Want(`document.querySelector("main [role=alert]") && document.querySelector("main [role=alert]").textContent.startsWith("This link is of no use any more")`)
	if log := w.log.String(); strings.Contains(log, "horse") || strings.Contains(log, "another password") {
		t.Error("a password is in the log")
	}
	for _, s := range c.Complaints(w.url) {
		if !strings.Contains(s, "400") && !strings.Contains(s, "401") && !strings.Contains(s, "403") && !strings.Contains(s, "409") {
			t.Error(s)
		}
	}
}
