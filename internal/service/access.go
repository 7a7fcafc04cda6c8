package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/corewalk/corewalk/internal/service/store"
)

// Scopes are all scopes of tokens.
func Scopes() []string {
	return []string{store.ScopeUpload, store.ScopeSymbols, store.ScopeFetch, store.ScopeRead, store.ScopeTriage, store.ScopeAdmin}
}

// checkScopes returns an error for what no token and no account may do.
func checkScopes(scopes []string) error {
	if len(scopes) == 0 || len(scopes) > len(Scopes()) {
		return wrong("scopes: one or more of %s", strings.Join(Scopes(), ", "))
	}
	for _, sc := range scopes {
		if !slices.Contains(Scopes(), sc) {
			return wrong("scope %.40q: must be one of %s", sc, strings.Join(Scopes(), ", "))
		}
	}
	return nil
}

// tokenPrefix makes tokens recognisable to people, and to programs that search for secrets.
const tokenPrefix = "cw_"

// NewToken makes a token, and returns its secret text, which is stored nowhere.
func NewToken(ctx context.Context, s store.Store, project string, scopes []string, note string) (text string, t store.Token, err error) {
	if err := cmp.Or(CheckProject(project), checkScopes(scopes)); err != nil {
		return "", t, err
	}
	text, t = secretToken()
	t.Project, t.Scopes, t.Note = project, scopes, note
	return text, t, s.AddToken(ctx, t)
}

// secretToken returns the text of a new token, and what is stored of it.
func secretToken() (text string, t store.Token) {
	var b [24 + 6]byte
	rand.Read(b[:]) // does not fail
	secret := base64.RawURLEncoding.EncodeToString(b[:24])
	t = store.Token{ID: hex.EncodeToString(b[24:]), Hash: hashed(secret), Created: time.Now()}
	return tokenPrefix + t.ID + "_" + secret, t
}

// hashed is what is stored of a secret. It has 192 random bits, so that a slow hash would add nothing.
func hashed(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// CheckProject returns an error for a name that no project can have.
func CheckProject(name string) error {
	ok := name != "" && len(name) <= 64 && name[0] != '-' && name[0] != '.'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("project %q: a name has at most 64 of a to z, 0 to 9, '-', '_' and '.', and does not begin with '-' or '.'", name)
	}
	return nil
}

// cookieName is the cookie of the page, in which the token is.
const cookieName = "corewalk_token"

// presented returns the token of a request: in a header, in the cookie, or in one of the query parameters that clients of uploads and
// symbols have for it; query says that it was there.
func presented(r *http.Request) (text string, query, cookie bool) {
	if h, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(h), false, false
	}
	if _, password, ok := r.BasicAuth(); ok {
		return password, false, false
	}
	if h := r.Header.Get("X-Sentry-Auth"); h != "" {
		for field := range strings.SplitSeq(strings.TrimPrefix(h, "Sentry "), ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(field), "sentry_key="); ok {
				return key, false, false
			}
		}
	}
	if p := r.PathValue("token"); p != "" {
		return p, true, false
	}
	for _, name := range []string{"token", "sentry_key", "key"} {
		if q := r.URL.Query().Get(name); q != "" {
			return q, true, false
		}
	}
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value, false, true
	}
	return "", false, false
}

// inURL are the scopes that a token in a URL may be used for: URLs end up in logs and histories.
func inURL(scope string) bool {
	return scope == store.ScopeUpload || scope == store.ScopeSymbols || scope == store.ScopeFetch
}

// An access limits how often each token is used, and remembers tokens for a moment.
type access struct {
	store store.Store
	rate  rate.Limit // of a token's requests that send something, each second
	burst int

	denials *rate.Limiter // wrong tokens that are answered at once
	denying atomic.Int64  // those that wait

	limiters limiters // by the ID: each session of a person is a token of its own
}

// errDenied says nothing about why, so that nothing can be learnt about other projects.
var errDenied = errors.New("no access: a token of this project is needed")

// A denial says what a request needs, which is known of any: nothing of its token and of projects. It is errDenied.
type denial struct {
	scope string
	inURL bool // the token is in the URL, where it does not count for the scope
}

func (d denial) Error() string {
	text := fmt.Sprintf("no access: a token of this project with the scope %s is needed", d.scope)
	if d.inURL {
		text += ", in the header Authorization: one in the URL is for upload, symbols and fetch"
	}
	return text
}

func (denial) Is(target error) bool { return target == errDenied }

// check returns the token of a request if it may do what scope says in a project.
func (a *access) check(r *http.Request, project, scope string) (t store.Token, err error) {
	text, query, cookie := presented(r)
	if query && !inURL(scope) {
		return t, denial{scope, true}
	}
	if cookie && r.Method != http.MethodGet && r.Method != http.MethodHead && !sameOrigin(r) {
		return t, errDenied
	}
	t, err = a.token(r.Context(), text)
	if err == nil && (t.Project != project || !slices.Contains(t.Scopes, scope)) {
		err = errDenied
	}
	if errors.Is(err, errDenied) {
		return store.Token{}, denial{scope, false}
	}
	return t, err
}

// token returns the token that a text is. Many wrong ones are answered late.
func (a *access) token(ctx context.Context, text string) (t store.Token, err error) {
	t, err = a.find(ctx, text)
	if errors.Is(err, errDenied) && text != "" {
		err = cmp.Or(a.late(ctx), err)
	}
	return t, err
}

// late waits before a denial is answered if there were many. The error says that there are too many.
func (a *access) late(ctx context.Context) error {
	if a.denials.Allow() {
		return nil
	}
	defer a.denying.Add(-1)
	if a.denying.Add(1) > denialsAtAll {
		return httpError{http.StatusTooManyRequests, "too many wrong tokens: try again later"}
	}
	late := time.NewTimer(denialTime)
	defer late.Stop()
	select {
	case <-ctx.Done():
	case <-late.C:
	}
	return nil
}

// writer is what is shown of who decides and writes: a person's name, or what a token was called, which its maker may have called as a person.
func writer(t *store.Token) string {
	if t.Subject != "" || t.Note == "" {
		return t.Note
	}
	return t.Note + " (token)"
}

func (a *access) find(ctx context.Context, text string) (t store.Token, err error) {
	id, secret, ok := strings.Cut(strings.TrimPrefix(text, tokenPrefix), "_")
	if !ok || !strings.HasPrefix(text, tokenPrefix) {
		return t, errDenied
	}
	t, err = a.store.Token(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hashed(secret))) != 1 {
		return store.Token{}, errDenied
	}
	if err == nil && !t.Expires.IsZero() && !time.Now().Before(t.Expires) {
		return store.Token{}, errDenied
	}
	return t, err
}

// sameOrigin reports whether a request that changes something comes from the service's own page.
func sameOrigin(r *http.Request) bool {
	return new(http.CrossOriginProtection).Check(r) == nil && r.Header.Get("X-Requested-With") == "corewalk"
}

// allow reports whether a token may send something now.
func (a *access) allow(t *store.Token) bool {
	return a.rate <= 0 || a.limiters.allow(t.ID, a.rate, max(a.burst, 1))
}
