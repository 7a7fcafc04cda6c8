package service

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/report"
)

// Logins by an identity provider; those with a password are in accounts.go. A person gets a session, which is a token of a project that expires; what it may do is said by the rules for the person's
// claims. Tokens that were made here are as they were.

// SigninCallback is the path to which people come back, below the service's address.
const SigninCallback = signinPath

const (
	signinPath   = "/login/oidc/callback"
	signinCookie = "corewalk_login" // has what a browser has to bring back
	signinTime   = 10 * time.Minute
	// People who go to the provider and come back: it is asked for so many at a time, and so many wait.
	signinsAtOnce  = 4
	signinsWaiting = 64
)

// loginWays says how one may log in besides with a token: the page asks before anybody is known.
func (s *Service) loginWays(w http.ResponseWriter, r *http.Request) {
	doc := map[string]any{}
	if s.c.SignIn != nil {
		doc["oidc"] = s.c.SignIn.Host()
	}
	if some, err := s.c.Store.HasAccounts(r.Context()); err != nil {
		s.answerError(w, r, err)
		return
	} else if some {
		doc["password"] = true
	}
	answer(w, http.StatusOK, doc)
}

// beginSignin sends a browser to the provider.
func (s *Service) beginSignin(w http.ResponseWriter, r *http.Request) {
	project := r.URL.Query().Get("project")
	if s.c.SignIn == nil || project != "" && CheckProject(project) != nil {
		s.answerError(w, r, httpError{http.StatusNotFound, "not found"})
		return
	}
	done, err := s.signins.take(r.Context()) // the provider may have to be asked who it is
	if err != nil {
		s.signinFailed(w, r, err)
		return
	}
	defer done()
	to, held, err := s.c.SignIn.Begin(r.Context(), project)
	if err != nil {
		s.signinFailed(w, r, err)
		return
	}
	// The answer comes from another site: a stricter cookie would not be sent with it.
	http.SetCookie(w, &http.Cookie{Name: signinCookie, Value: held, Path: signinPath, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(r), MaxAge: int(signinTime / time.Second)})
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// endSignin makes a session of who comes back.
func (s *Service) endSignin(w http.ResponseWriter, r *http.Request) {
	if s.c.SignIn == nil {
		s.answerError(w, r, httpError{http.StatusNotFound, "not found"})
		return
	}
	held := ""
	if c, err := r.Cookie(signinCookie); err == nil {
		held = c.Value
	}
	http.SetCookie(w, &http.Cookie{Name: signinCookie, Path: signinPath, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure(r), MaxAge: -1}) // once
	done, err := s.signins.take(r.Context())
	if err != nil {
		s.signinFailed(w, r, err)
		return
	}
	defer done()
	who, project, err := s.c.SignIn.End(r.Context(), held, r.URL.Query())
	if err != nil {
		s.signinFailed(w, r, err)
		return
	}
	projects := slices.Sorted(maps.Keys(who.Projects))
	if project == "" {
		project = projects[0]
	}
	text, t := secretToken()
	t.Project, t.Scopes, t.Note, t.Subject, t.Expires = project, who.Projects[project], who.Name, who.Subject, t.Created.Add(s.c.Session)
	t.Also = slices.DeleteFunc(projects, func(p string) bool { return p == project })
	if err := s.c.Store.AddSession(r.Context(), t); err != nil {
		s.answerError(w, r, err)
		return
	}
	s.c.Log.Info("logged in", "who", who.Name, "project", project)
	setCookie(w, r, text, s.c.Session)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// maxWhy is how much the log has of why a login failed, in bytes: the provider may say a lot, and anybody may ask.
const maxWhy = 500

// signinFailed shows the page with one of a few reasons. The log has more.
func (s *Service) signinFailed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil { // the browser has gone
		return
	}
	code := "failed"
	for c, is := range map[string]error{"provider": signin.ErrProvider, "state": signin.ErrState, "refused": signin.ErrRefused, "nobody": signin.ErrNobody, "busy": errSlots} {
		if errors.Is(err, is) {
			code = c
		}
	}
	s.metrics.add("corewalk_denied_total", 1)
	s.c.Log.Warn("a login failed", "error", report.Clean(fmt.Sprintf("%.*s", maxWhy, err.Error())))
	http.Redirect(w, r, "/#/out/"+code, http.StatusSeeOther)
}
