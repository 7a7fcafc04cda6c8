// Package signin lets people in: those whom an identity provider knows, by OpenID Connect, with the authorization code flow, PKCE, state and nonce; which projects
// they have, and what they may do there, is said by rules about their claims. And those who have a password.
package signin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Errors that those of End wrap, and Begin's is ErrProvider.
var (
	ErrProvider = errors.New("the identity provider does not answer as it should")
	ErrState    = errors.New("the login took too long, or began in another browser")
	ErrRefused  = errors.New("the identity provider refused the login")
	ErrNobody   = errors.New("no rule lets this person into a project")
)

// Config says which provider knows people, and whom to let in. All of it is required but Scopes and Client.
type Config struct {
	Issuer   string // its URL
	ID       string // of this service, as the provider calls its client
	Secret   string
	Callback string   // the URL of this service to which people come back
	Scopes   []string // besides openid, profile and email
	Rules    []Rule
	Client   *http.Client // nil for one that waits ten seconds
}

// A Provider is safe for concurrent use.
type Provider struct {
	c Config

	mu    sync.Mutex     // held while the provider is asked who it is, and guards known; no other lock is taken inside
	known *oidc.Provider // nil until it has answered
}

// A Person is somebody whom the provider knows.
type Person struct {
	Subject  string              // by which the same person is known again
	Name     string              // to be shown; of what the provider says at most maxName bytes
	Projects map[string][]string // scopes by projects
}

// Limits of what a provider may send.
const (
	answerTime = 10 * time.Second
	maxAnswer  = 1 << 20 // bytes
	maxName    = 200     // bytes
)

// New checks what can be checked without asking the provider.
func New(c Config) (*Provider, error) {
	issuer, err := url.Parse(c.Issuer)
	if err != nil || issuer.Scheme != "https" && !(issuer.Scheme == "http" && loopback(issuer.Hostname())) || issuer.Host == "" {
		return nil, fmt.Errorf("the issuer %.80q: must be https://HOST", c.Issuer)
	}
	switch {
	case c.ID == "" || c.Secret == "":
		return nil, errors.New("the identity provider needs the client's identifier and its secret")
	case c.Callback == "":
		return nil, errors.New("the identity provider needs the service's own address")
	case len(c.Rules) == 0:
		return nil, errors.New("nobody may log in: no rule says who")
	}
	client := http.Client{Timeout: answerTime}
	if c.Client != nil {
		client = *c.Client
	}
	client.Transport = short{client.Transport}
	c.Client = &client
	return &Provider{c: c}, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Host is the provider's, to be shown.
func (p *Provider) Host() string {
	u, err := url.Parse(p.c.Issuer)
	if err != nil {
		return ""
	}
	return u.Host
}

// short cuts answers that are too long.
type short struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s short) RoundTrip(r *http.Request) (*http.Response, error) {
	next := s.RoundTripper
	if next == nil {
		next = http.DefaultTransport
	}
	a, err := next.RoundTrip(r)
	if err == nil {
		a.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(a.Body, maxAnswer), a.Body}
	}
	return a, err
}

// discover asks the provider who it is, unless it has answered before.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		known, err := oidc.NewProvider(oidc.ClientContext(ctx, p.c.Client), p.c.Issuer)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrProvider, err)
		}
		p.known = known
	}
	return p.known, &oauth2.Config{ClientID: p.c.ID, ClientSecret: p.c.Secret, RedirectURL: p.c.Callback, Endpoint: p.known.Endpoint(),
		Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, p.c.Scopes...)}, nil
}

// A flow is a login that has begun. The browser has it until it comes back; nobody else does.
type flow struct{ state, nonce, verifier, project string }

func (f flow) String() string {
	return strings.Join([]string{f.state, f.nonce, f.verifier, f.project}, ".")
}

func flowOf(text string) (f flow, ok bool) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 4 || len(text) > 512 || slices.Contains(parts[:3], "") {
		return f, false
	}
	return flow{parts[0], parts[1], parts[2], parts[3]}, true
}

// Begin returns where a browser goes to log in, and what it has to bring to End. project is the one that is wanted, or "".
func (p *Provider) Begin(ctx context.Context, project string) (to, held string, err error) {
	_, c, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	f := flow{rand.Text(), rand.Text(), oauth2.GenerateVerifier(), project}
	return c.AuthCodeURL(f.state, oidc.Nonce(f.nonce), oauth2.S256ChallengeOption(f.verifier)), f.String(), nil
}

// End returns who came back with a query, and the project that was wanted.
func (p *Provider) End(ctx context.Context, held string, query url.Values) (who Person, project string, err error) {
	f, ok := flowOf(held)
	if !ok || subtle.ConstantTimeCompare([]byte(f.state), []byte(query.Get("state"))) != 1 {
		return who, "", ErrState
	}
	if iss := query.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207: another provider sent the browser
		return who, "", fmt.Errorf("%w: the answer is of another issuer, %.80q", ErrRefused, iss)
	}
	if code := query.Get("error"); code != "" {
		return who, "", fmt.Errorf("%w: %.80q %.200q", ErrRefused, code, query.Get("error_description"))
	}
	claims, err := p.claims(ctx, &f, query.Get("code"))
	if err != nil {
		return who, "", err
	}
	subject := sha256.Sum256([]byte(p.c.Issuer + "\n" + claims["sub"].(string))) // claims has checked it
	who = Person{Subject: hex.EncodeToString(subject[:16]), Projects: map[string][]string{}}
	who.Name = nameOf(claims, who.Subject)
	for _, r := range p.c.Rules {
		if r.takes(claims) {
			who.Projects[r.Project] = append(who.Projects[r.Project], r.Scopes...)
		}
	}
	for project, scopes := range who.Projects {
		slices.Sort(scopes)
		who.Projects[project] = slices.Compact(scopes)
	}
	if len(who.Projects) == 0 || f.project != "" && who.Projects[f.project] == nil {
		return who, f.project, fmt.Errorf("%w: %q", ErrNobody, who.Name)
	}
	return who, f.project, nil
}

// claims are those of the person of a code: of the identity token, which is verified, and of what the provider says of the user.
func (p *Provider) claims(ctx context.Context, f *flow, code string) (map[string]any, error) {
	known, c, err := p.discover(ctx)
	if err != nil {
		return nil, err
	}
	if code == "" {
		return nil, fmt.Errorf("%w: no code", ErrRefused)
	}
	ctx = oidc.ClientContext(ctx, p.c.Client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(f.verifier))
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) {
		return nil, fmt.Errorf("%w: %.80q %.200q", ErrRefused, refused.ErrorCode, refused.ErrorDescription) // without the body
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProvider, err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := known.Verifier(&oidc.Config{ClientID: p.c.ID}).Verify(ctx, raw)
	if err == nil && subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(f.nonce)) != 1 {
		err = errors.New("the nonce is another one")
	}
	if err == nil && id.AccessTokenHash != "" {
		err = id.VerifyAccessToken(token.AccessToken)
	}
	claims := map[string]any{}
	if err == nil {
		err = id.Claims(&claims)
	}
	if err == nil && id.Subject == "" {
		err = errors.New("nobody is said to have logged in")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: its token: %w", ErrProvider, err)
	}
	claims["sub"] = id.Subject
	if known.UserInfoEndpoint() == "" {
		return claims, nil
	}
	// Many providers say there who it is, and only the subject in the token.
	info, err := known.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err == nil && info.Subject != id.Subject {
		err = errors.New("it is about another person")
	}
	more := map[string]any{}
	if err == nil {
		err = info.Claims(&more)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: what it says of the user: %w", ErrProvider, err)
	}
	// What is signed counts. An address and whether it was verified are said together: one of them says nothing of the other's.
	if claims["email"] != nil {
		delete(more, "email_verified")
	} else {
		delete(claims, "email_verified")
	}
	maps.Copy(more, claims)
	return more, nil
}

// nameOf is how a person is called who has a subject here: by the address, if it was verified. Other names are what somebody wrote who may write another's: they
// are marked, and have the beginning of the subject, which nobody else has. The provider's own subject is nobody's choice. What could be an account's name here
// is marked as well.
func nameOf(claims map[string]any, subject string) string {
	name := nameFrom(claims, subject)
	if CheckName(name) == nil {
		name += unverified + subject[:8] + ")"
	}
	return name
}

func nameFrom(claims map[string]any, subject string) string {
	if name := shown(email(claims)); name != "" {
		return name
	}
	for _, claim := range []string{"preferred_username", "name"} {
		if name, _ := claims[claim].(string); shown(name) != "" {
			return shown(name) + unverified + subject[:8] + ")"
		}
	}
	name, _ := claims["sub"].(string)
	return shown(name)
}

// unverified is between a name that was not verified and the beginning of the subject.
const unverified = " (unverified, "

// shown is the part of a name that may be shown.
func shown(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// email is a person's address, if the provider has verified it.
func email(claims map[string]any) string {
	address, _ := claims["email"].(string)
	if verified := claims["email_verified"]; verified == true || verified == "true" { // some say it as a text
		return address
	}
	return ""
}
