package service_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/store"
)

// meanwhile is a store in which something happens just before an account is read, or changed.
type meanwhile struct {
	store.Store
	read, change func()
	many         int // accounts that each project has
}

func once(what *func()) {
	if do := *what; do != nil {
		*what = nil
		do()
	}
}

func (m *meanwhile) Account(ctx context.Context, name string) (store.Account, error) {
	once(&m.read)
	return m.Store.Account(ctx, name)
}

func (m *meanwhile) ChangeAccount(ctx context.Context, name, keep string, change func(*store.Account) error) error {
	once(&m.change)
	return m.Store.ChangeAccount(ctx, name, keep, change)
}

func (m *meanwhile) Accounts(ctx context.Context, project string) ([]store.Account, error) {
	if m.many > 0 {
		return make([]store.Account, m.many), nil
	}
	return m.Store.Accounts(ctx, project)
}

// What changes while a request is answered counts: a session that has ended begins no other, and a password that was replaced replaces none.
func TestAccountRaces(t *testing.T) {
	t.Parallel()
	var m meanwhile
	w := start(t, func(c *service.Config) { m.Store, c.Store = c.Store, &m })
	w.member("ann", secretOf, map[string][]string{"a": {"read"}, "b": {"read"}})
	login := func() string {
		t.Helper()
		status, text, cookie := w.post("/login/password", "", "name", "ann", "password", secretOf)
		if status != http.StatusOK {
			t.Fatal(status, text)
		}
		return cookie
	}
	ann := login()
	m.read = func() { w.post("/logout", ann) }
	if status, text, set := w.post("/login/project", ann, "project", "b"); status != http.StatusConflict || set != "" {
		t.Errorf("another project after the session: %d %s %q", status, text, set)
	}
	// As long as the session that it replaces, no longer.
	ann = login()
	if err := w.db.EnterAccount(t.Context(), ptr(w.db.Account(t.Context(), "ann")), short(&ann), ""); err != nil {
		t.Fatal(err)
	}
	_, _, ann = w.post("/login/project", ann, "project", "b")
	if list, err := w.db.Tokens(t.Context()); err != nil || w.who(ann) != "ann b[read][a]" || time.Until(list[len(list)-1].Expires) > time.Minute {
		t.Errorf("%s, %v, %+v", w.who(ann), err, list[len(list)-1])
	}
	m.change = func() {
		if _, err := service.SetPassword(t.Context(), w.db, "ann", "the password of meanwhile"); err != nil {
			t.Error(err)
		}
	}
	ann = login()
	if status, text, _ := w.post("/account/password", ann, "old", secretOf, "new", "another password"); status != http.StatusConflict || !strings.Contains(text, "try again") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, _ := w.post("/login/password", "", "name", "ann", "password", "the password of meanwhile"); status != http.StatusOK {
		t.Errorf("the password that came first: %d", status)
	}
	m.many = store.MaxAccounts
	if text := w.want(400, nil, "POST", "/api/v1/projects/a/accounts", `{"name":"ben","scopes":["read"]}`); !strings.Contains(text, "1000") {
		t.Error(text)
	}
}

func ptr(a store.Account, _ error) *store.Account { return &a }

// short is a session of ann's that lasts half a minute; cookie becomes its.
func short(cookie *string) store.Token {
	text, t := service.SecretToken()
	*cookie = "corewalk_token=" + text
	t.Project, t.Scopes, t.Note, t.Subject, t.Expires = "a", []string{"read"}, "ann", store.SubjectOf("ann"), time.Now().Add(30*time.Second)
	return t
}

// What no form, link and session is for.
func TestAccountsRefused(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.member("ann", secretOf, map[string][]string{"a": {"read"}})
	for _, scopes := range []string{`[]`, `["root"]`} {
		w.want(400, nil, "PUT", "/api/v1/projects/a/accounts/ann", `{"scopes":`+scopes+`}`)
	}
	_, _, ann := w.post("/login/password", "", "name", "ann", "password", secretOf)
	if status, text, _ := w.post("/login/project?token="+strings.TrimPrefix(ann, "corewalk_token="), "", "project", "a"); status != 403 {
		t.Errorf("a session in the URL: %d %s", status, text)
	}
	if status, text, _ := w.post("/login/password", "", "name", "ann", "password", secretOf, "more", strings.Repeat("x", 4096)); status != 400 {
		t.Errorf("a large form: %d %s", status, text)
	}
	// A link from before the password was changed.
	var made struct{ Link string }
	w.want(201, &made, "POST", "/api/v1/projects/a/accounts/ann/invitation", "")
	if status, text, _ := w.post("/account/password", ann, "old", secretOf, "new", "another password"); status != 204 {
		t.Fatal(status, text)
	}
	if status, text, _ := w.post("/login/invitation", "", "name", "ann", "secret", strings.TrimPrefix(made.Link, "/#/in/ann/"), "password", secretOf); status != 403 {
		t.Errorf("%d %s", status, text)
	}
	// What is no name counts as one name.
	held := 0
	for i := range 14 {
		if status, _, _ := w.post("/login/password", "", "name", fmt.Sprint("No name ", i), "password", "wrong password"); status == 429 {
			held++
		}
	}
	if held < 3 {
		t.Errorf("%d of 14 were held up", held)
	}
}
