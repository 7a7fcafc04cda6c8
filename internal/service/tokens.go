package service

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/service/store"
)

type tokenDoc struct {
	ID      string    `json:"id"`
	Scopes  []string  `json:"scopes"`
	Note    string    `json:"note,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when a session ends.
	Expires *time.Time `json:"expires,omitempty"`
	// Token is the secret; it is in the answer to its making only.
	Token string `json:"token,omitempty"`
}

func (s *Service) listTokens(w http.ResponseWriter, r *http.Request, p *request) error {
	all, err := s.c.Store.Tokens(r.Context())
	if err != nil {
		return err
	}
	list := []tokenDoc{}
	for _, t := range all {
		if t.Project == p.project {
			doc := tokenDoc{ID: t.ID, Scopes: t.Scopes, Note: t.Note, Created: t.Created.UTC()}
			if end := t.Expires.UTC(); !t.Expires.IsZero() {
				if end.Before(time.Now()) {
					continue
				}
				doc.Expires = &end
			}
			list = append(list, doc)
		}
	}
	answer(w, http.StatusOK, map[string]any{"tokens": list})
	return nil
}

func (s *Service) makeToken(w http.ResponseWriter, r *http.Request, p *request) error {
	var in struct {
		Scopes []string
		Note   string
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if len(in.Note) > 256 {
		return wrong("note: more than 256 bytes")
	}
	text, t, err := NewToken(r.Context(), s.c.Store, p.project, in.Scopes, in.Note)
	if err != nil {
		return wrong("%v", err)
	}
	answer(w, http.StatusCreated, tokenDoc{ID: t.ID, Scopes: t.Scopes, Note: t.Note, Created: t.Created.UTC(), Token: text})
	return nil
}

func (s *Service) revokeToken(w http.ResponseWriter, r *http.Request, p *request) error {
	t, err := s.c.Store.Token(r.Context(), r.PathValue("id"))
	if err == nil && t.Project != p.project {
		err = store.ErrNotFound
	}
	if err == nil {
		err = s.c.Store.RemoveToken(r.Context(), t.ID)
	}
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// whoami says what the token of a request may do.
func (s *Service) whoami(w http.ResponseWriter, r *http.Request) {
	text, query, _ := presented(r)
	t, err := s.access.token(r.Context(), text)
	if query {
		err = errDenied
	}
	if err != nil {
		s.answerError(w, r, err)
		return
	}
	doc := map[string]any{"project": t.Project, "scopes": t.Scopes, "note": t.Note, "version": s.c.Version}
	if t.Subject != "" {
		doc["also"] = t.Also
	}
	if name := store.AccountOf(&t); name != "" {
		doc["account"] = name
	}
	answer(w, http.StatusOK, doc)
}

// login keeps a token in a cookie that no script can read.
func (s *Service) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4096)
	text := r.PostFormValue("token")
	t, err := s.access.token(r.Context(), text)
	if err != nil || !sameOrigin(r) {
		s.answerError(w, r, errDenied)
		return
	}
	setCookie(w, r, text, tokenCookie)
	answer(w, http.StatusOK, map[string]any{"project": t.Project, "scopes": t.Scopes})
}

func (s *Service) logout(w http.ResponseWriter, r *http.Request) {
	if !sameOrigin(r) {
		s.answerError(w, r, errDenied)
		return
	}
	// A session ends here for everybody who has it; a token is its holder's.
	if text, _, cookie := presented(r); cookie {
		if t, err := s.access.find(r.Context(), text); err == nil && t.Subject != "" {
			if err := s.c.Store.RemoveToken(r.Context(), t.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
				s.answerError(w, r, err)
				return
			}
		}
	}
	setCookie(w, r, "", -time.Second)
	w.WriteHeader(http.StatusNoContent)
}

// tokenCookie is how long a browser keeps a token.
const tokenCookie = 30 * 24 * time.Hour

// setCookie has the browser keep a token, or with a negative time forget it.
func setCookie(w http.ResponseWriter, r *http.Request, text string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: text, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: secure(r), MaxAge: int(life / time.Second)})
}

// secure reports whether a client speaks TLS, with this program or with a proxy before it. Who says so falsely only keeps its cookie to itself.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
