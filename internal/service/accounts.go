package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/internal/service/store"
)

// Accounts are people who have a password here. What they get is a session, as those of an identity provider do.

// InvitationTime is how long a link may be used with which a person chooses a password.
const InvitationTime = 3 * 24 * time.Hour

// Passwords that are hashed at a time, each with its memory, and requests that wait for it.
const (
	hashesAtOnce  = 2
	hashesWaiting = 32
)

var (
	errPassword   = httpError{http.StatusForbidden, "The name or the password is wrong."}
	errInvitation = httpError{http.StatusForbidden, "This link is of no use any more: it was used, or is too old. Ask for another one."}
	errTooOften   = httpError{http.StatusTooManyRequests, "There were too many attempts: wait a little."}
	errHashing    = httpError{http.StatusServiceUnavailable, "Too many people log in at this moment: try again."}
	errChanged    = httpError{http.StatusConflict, "The account was changed meanwhile: try again."}
	errTakenName  = httpError{http.StatusConflict, "the name is taken: who runs the service adds an account of another project with corewalk serve account add"}
	errShared     = httpError{http.StatusConflict, "the account is not of this project alone: who runs the service sets its password with corewalk serve account passwd"}
)

// Invite has an account invited, and returns the secret of the invitation.
func Invite(a *store.Account) string {
	var b [24]byte
	rand.Read(b[:]) // does not fail
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	a.Invitation, a.InvitedUntil = hashed(secret), time.Now().Add(InvitationTime)
	return secret
}

// InvitationLink is the page, below the service's address, on which an invited person chooses a password. What follows # is sent to no server.
func InvitationLink(name, secret string) string { return "/#/in/" + name + "/" + secret }

// invited returns an error unless a secret invites to an account.
func invited(a *store.Account, secret string) error {
	if !time.Now().Before(a.InvitedUntil) || subtle.ConstantTimeCompare([]byte(a.Invitation), []byte(hashed(secret))) != 1 {
		return errInvitation
	}
	return nil
}

// form reads a small form that the service's own page sends.
func (s *Service) form(w http.ResponseWriter, r *http.Request) bool {
	if !sameOrigin(r) {
		s.answerError(w, r, errDenied)
		return false
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	if err := r.ParseForm(); err != nil {
		s.answerError(w, r, wrong("the form cannot be read"))
		return false
	}
	return true
}

// proven returns the account of a name if the password is its own. Each name is answered after the same work, whether it is there or not.
func (s *Service) proven(r *http.Request, name, password string) (a store.Account, err error) {
	done, err := s.hashes.take(r.Context())
	if errors.Is(err, errSlots) {
		err = errHashing
	}
	if err != nil {
		return a, err
	}
	defer done()
	if signin.CheckName(name) != nil {
		name = ""
	}
	if !s.guesses.allow(name, r.RemoteAddr) {
		return a, errTooOften
	}
	a, err = s.c.Store.Account(r.Context(), name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return a, err
	}
	if !signin.SamePassword(a.Password, password) {
		s.metrics.add("corewalk_denied_total", 1)
		s.c.Log.Warn("a login failed", "error", "a wrong name or password", "account", a.Name, "from", r.RemoteAddr) // not what was typed as a name, which may be a password
		return store.Account{}, errPassword
	}
	return a, nil
}

// hash is signin.HashPassword of a password that an account may have.
func (s *Service) hash(ctx context.Context, name, password string) (string, error) {
	if err := signin.CheckPassword(name, password); err != nil {
		return "", wrong("%v", err)
	}
	done, err := s.hashes.take(ctx)
	if errors.Is(err, errSlots) {
		err = errHashing
	}
	if err != nil {
		return "", err
	}
	defer done()
	return signin.HashPassword(password), nil
}

// enter makes a session of an account, in one of its projects or, with "", in the first. It replaces another session, unless "".
func (s *Service) enter(w http.ResponseWriter, r *http.Request, a *store.Account, project string, until time.Time, replaces string) error {
	projects := slices.Sorted(maps.Keys(a.Projects))
	if project == "" && len(projects) > 0 {
		project = projects[0]
	}
	if a.Projects[project] == nil {
		return errDenied
	}
	text, t := secretToken()
	t.Project, t.Scopes, t.Note, t.Subject, t.Expires = project, a.Projects[project], a.Name, store.SubjectOf(a.Name), until
	t.Also = slices.DeleteFunc(projects, func(p string) bool { return p == project })
	err := s.c.Store.EnterAccount(r.Context(), a, t, replaces)
	if errors.Is(err, store.ErrNotFound) {
		err = errChanged
	}
	if err != nil {
		return err
	}
	s.c.Log.Info("logged in", "who", a.Name, "project", project)
	setCookie(w, r, text, time.Until(until))
	answer(w, http.StatusOK, map[string]any{"project": project, "scopes": t.Scopes})
	return nil
}

// deniedLate answers who may not log in: many wrong attempts are answered late.
func (s *Service) deniedLate(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errPassword) || errors.Is(err, errInvitation) {
		if late := s.access.late(r.Context()); late != nil {
			err = late
		}
	}
	if errors.Is(err, errTooOften) {
		w.Header().Set("Retry-After", fmt.Sprint(int(guessTime/time.Second)))
	}
	s.answerError(w, r, err)
}

// passwordLogin lets in who knows the password of an account.
func (s *Service) passwordLogin(w http.ResponseWriter, r *http.Request) {
	if !s.form(w, r) {
		return
	}
	a, err := s.proven(r, r.PostFormValue("name"), r.PostFormValue("password"))
	if err == nil {
		err = s.enter(w, r, &a, "", time.Now().Add(s.c.Session), "")
	}
	if err != nil {
		s.deniedLate(w, r, err)
	}
}

// acceptInvitation has who has the secret of an invitation choose a password, once. Without a password it says whose the invitation is.
func (s *Service) acceptInvitation(w http.ResponseWriter, r *http.Request) {
	if !s.form(w, r) {
		return
	}
	name, secret, password := r.PostFormValue("name"), r.PostFormValue("secret"), r.PostFormValue("password")
	a, err := s.c.Store.Account(r.Context(), name)
	if errors.Is(err, store.ErrNotFound) {
		err = errInvitation
	}
	if err == nil {
		err = invited(&a, secret)
	}
	if err == nil && password == "" {
		answer(w, http.StatusOK, map[string]any{"name": a.Name, "until": a.InvitedUntil.UTC()})
		return
	}
	var hash string
	if err == nil {
		hash, err = s.hash(r.Context(), a.Name, password)
	}
	if err == nil {
		err = s.c.Store.ChangeAccount(r.Context(), a.Name, "", func(a *store.Account) error {
			err := invited(a, secret)
			a.Password, a.Invitation, a.InvitedUntil = hash, "", time.Time{}
			return err
		})
	}
	if err == nil {
		a, err = s.c.Store.Account(r.Context(), a.Name)
	}
	if err == nil {
		err = s.enter(w, r, &a, "", time.Now().Add(s.c.Session), "")
	}
	if err != nil {
		s.deniedLate(w, r, err)
	}
}

// ownAccount returns the session and the account of a request.
func (s *Service) ownAccount(r *http.Request) (t store.Token, name string, err error) {
	text, query, _ := presented(r)
	if query {
		return t, "", errDenied
	}
	if t, err = s.access.token(r.Context(), text); err != nil {
		return t, "", err
	}
	if name = store.AccountOf(&t); name == "" {
		return t, "", errDenied
	}
	return t, name, nil
}

// changeProject has the session of an account be one of another project of it. It lasts as long as it would have.
func (s *Service) changeProject(w http.ResponseWriter, r *http.Request) {
	if !s.form(w, r) {
		return
	}
	t, name, err := s.ownAccount(r)
	var a store.Account
	if err == nil {
		a, err = s.c.Store.Account(r.Context(), name)
	}
	if err == nil {
		err = s.enter(w, r, &a, r.PostFormValue("project"), t.Expires, t.ID)
	}
	if err != nil {
		s.answerError(w, r, err)
	}
}

// changePassword changes the password of who is logged in, and ends all other sessions of that account.
func (s *Service) changePassword(w http.ResponseWriter, r *http.Request) {
	if !s.form(w, r) {
		return
	}
	t, name, err := s.ownAccount(r)
	var a store.Account
	if err == nil {
		a, err = s.proven(r, name, r.PostFormValue("old"))
	}
	var hash string
	if err == nil {
		hash, err = s.hash(r.Context(), name, r.PostFormValue("new"))
	}
	if err == nil {
		err = s.c.Store.ChangeAccount(r.Context(), name, t.ID, func(now *store.Account) error {
			if now.Stamp != a.Stamp {
				return errChanged
			}
			now.Password, now.Invitation, now.InvitedUntil = hash, "", time.Time{}
			return nil
		})
	}
	if err != nil {
		s.deniedLate(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

type accountDoc struct {
	Name    string    `json:"name"`
	Scopes  []string  `json:"scopes"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitempty"`
	// Seen is the last login.
	Seen *time.Time `json:"seen,omitempty"`
	// Password says that there is one, Invited until when one may be chosen by the link.
	Password bool       `json:"password"`
	Invited  *time.Time `json:"invited,omitempty"`
	// Link is in the answer to its making only.
	Link string `json:"link,omitempty"`
}

// accountOf is what a project may know of an account: nothing of its other projects.
func accountOf(a *store.Account, project string) accountDoc {
	doc := accountDoc{Name: a.Name, Scopes: a.Projects[project], Created: a.Created.UTC(), By: a.By, Password: a.Password != ""}
	if at := a.Seen.UTC(); !a.Seen.IsZero() {
		doc.Seen = &at
	}
	if at := a.InvitedUntil.UTC(); a.Invitation != "" && time.Now().Before(at) {
		doc.Invited = &at
	}
	return doc
}

func (s *Service) listAccounts(w http.ResponseWriter, r *http.Request, p *request) error {
	all, err := s.c.Store.Accounts(r.Context(), p.project)
	list := []accountDoc{}
	for i := range all {
		list = append(list, accountOf(&all[i], p.project))
	}
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"accounts": list})
	}
	return err
}

// listPeople lists the names of those who may look at a group.
func (s *Service) listPeople(w http.ResponseWriter, r *http.Request, p *request) error {
	accounts, err := s.c.Store.Accounts(r.Context(), p.project)
	if err != nil {
		return err
	}
	known, err := s.c.Store.People(r.Context(), p.project)
	list := []string{}
	for i := range accounts {
		list = append(list, accounts[i].Name)
	}
	if err == nil {
		answer(w, http.StatusOK, map[string]any{"people": append(list, known...)})
	}
	return err
}

// makeAccount makes an account, whose person chooses the password.
func (s *Service) makeAccount(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct {
		Name   string
		Scopes []string
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := signin.CheckName(in.Name); err != nil {
		return wrong("%v", err)
	}
	if err := checkScopes(in.Scopes); err != nil {
		return err
	}
	all, err := s.c.Store.Accounts(r.Context(), p.project)
	if err == nil && len(all) >= store.MaxAccounts {
		err = wrong("there are %d already", len(all))
	}
	if err != nil {
		return err
	}
	a := store.Account{Name: in.Name, Projects: map[string][]string{p.project: in.Scopes}, Created: time.Now(), By: writer(&p.token)}
	secret := Invite(&a)
	err = s.c.Store.AddAccount(r.Context(), a)
	if errors.Is(err, store.ErrTaken) {
		return errTakenName
	}
	if err != nil {
		return err
	}
	s.c.Log.Info("an account was made", "who", a.Name, "project", p.project, "by", a.By)
	doc := accountOf(&a, p.project)
	doc.Link = s.link(a.Name, secret)
	answer(w, http.StatusCreated, doc)
	return nil
}

// link is an invitation's, with the page's address if that is known.
func (s *Service) link(name, secret string) string {
	return strings.TrimSuffix(s.c.PublicURL, "/") + InvitationLink(name, secret)
}

// changeMember changes an account of the project.
func (s *Service) changeMember(r *http.Request, p *request, change func(*store.Account) error) error {
	name := r.PathValue("name")
	err := s.c.Store.ChangeAccount(r.Context(), name, "", func(a *store.Account) error {
		if a.Projects[p.project] == nil {
			return store.ErrNotFound
		}
		return change(a)
	})
	if err == nil {
		s.c.Log.Info("an account was changed", "who", name, "project", p.project, "by", writer(&p.token))
	}
	return err
}

// setAccount says what an account may do in the project.
func (s *Service) setAccount(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct{ Scopes []string }
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := checkScopes(in.Scopes); err != nil {
		return err
	}
	err := s.changeMember(r, p, func(a *store.Account) error { a.Projects[p.project] = in.Scopes; return nil })
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// inviteAgain makes a link with which a person chooses another password. Who administers one project gets into no other so.
func (s *Service) inviteAgain(w http.ResponseWriter, r *http.Request, p *request) error {
	var doc accountDoc
	err := s.changeMember(r, p, func(a *store.Account) error {
		if len(a.Projects) != 1 {
			return errShared
		}
		secret := Invite(a)
		doc = accountOf(a, p.project)
		doc.Link = s.link(a.Name, secret)
		return nil
	})
	if err == nil {
		answer(w, http.StatusCreated, doc)
	}
	return err
}

// removeAccount takes the project from an account; without projects it is none.
func (s *Service) removeAccount(w http.ResponseWriter, r *http.Request, p *request) error {
	err := s.changeMember(r, p, func(a *store.Account) error { delete(a.Projects, p.project); return nil })
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// SetMember has an account of a name do what scopes say in a project; made says that it was not there before. The person of a new one has a password, or, with
// "", chooses one with the secret. An account that gets a project more has no invitation any more: who administers the other one may have it.
func SetMember(ctx context.Context, db store.Store, name, project string, scopes []string, password string) (made bool, secret string, err error) {
	if err := cmp.Or(signin.CheckName(name), CheckProject(project), checkScopes(scopes)); err != nil {
		return false, "", err
	}
	err = db.ChangeAccount(ctx, name, "", func(a *store.Account) error {
		if a.Projects[project] == nil {
			a.Invitation, a.InvitedUntil = "", time.Time{}
		}
		a.Projects[project] = scopes
		return nil
	})
	if !errors.Is(err, store.ErrNotFound) {
		return false, "", err
	}
	a := store.Account{Name: name, Projects: map[string][]string{project: scopes}, Created: time.Now()}
	if password == "" {
		secret = Invite(&a)
	} else {
		if err := signin.CheckPassword(name, password); err != nil {
			return false, "", err
		}
		a.Password = signin.HashPassword(password)
	}
	return true, secret, db.AddAccount(ctx, a)
}

// SetPassword gives an account a password, or, with "", an invitation with a secret.
func SetPassword(ctx context.Context, db store.Store, name, password string) (secret string, err error) {
	hash := ""
	if password != "" {
		if err := signin.CheckPassword(name, password); err != nil {
			return "", err
		}
		hash = signin.HashPassword(password)
	}
	err = db.ChangeAccount(ctx, name, "", func(a *store.Account) error {
		if hash == "" {
			secret = Invite(a)
			return nil
		}
		a.Password, a.Invitation, a.InvitedUntil = hash, "", time.Time{}
		return nil
	})
	return secret, err
}

// RemoveMember takes a project from an account, or with "" all.
func RemoveMember(ctx context.Context, db store.Store, name, project string) error {
	return db.ChangeAccount(ctx, name, "", func(a *store.Account) error {
		if project == "" {
			clear(a.Projects)
			return nil
		}
		if a.Projects[project] == nil {
			return fmt.Errorf("account %q in project %q: %w", name, project, store.ErrNotFound)
		}
		delete(a.Projects, project)
		return nil
	})
}
