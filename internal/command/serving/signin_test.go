package serving

import (
	"strings"
	"testing"
	"time"
)

// Rules are of projects and scopes that there can be, and a service with a provider has all that it needs.
func TestSignInCheck(t *testing.T) {
	whole := func() SignIn {
		return SignIn{Issuer: "https://id.invalid", Client: "c", Secret: "s", Allow: []string{"shop:read:email=@example.com"}, Session: time.Hour}
	}
	for _, c := range []struct {
		page   string
		change func(*SignIn)
		says   string // "" for nothing
	}{
		{"https://page", func(*SignIn) {}, ""},
		{"", func(s *SignIn) { *s = SignIn{} }, ""},
		{"https://page", func(s *SignIn) { s.Allow = append(s.Allow, "../x:read:email=@example.com") }, "project"},
		{"https://page", func(s *SignIn) { s.Allow = append(s.Allow, "A:read:email=@example.com") }, "project"},
		{"https://page", func(s *SignIn) { s.Allow = append(s.Allow, "shop:root:email=@example.com") }, "scope"},
		{"https://page", func(s *SignIn) { s.Allow = append(s.Allow, "shop") }, "--oidc-allow"},
		{"https://page", func(s *SignIn) { s.Allow = nil }, "--oidc-allow"},
		{"https://page", func(s *SignIn) { s.Client = "" }, "--oidc-client"},
		{"https://page", func(s *SignIn) { s.Secret = "" }, "--oidc-client"},
		{"https://page", func(s *SignIn) { s.Session = 0 }, "--oidc-session"},
		{"https://page", func(s *SignIn) { s.Issuer = "" }, "--oidc-issuer"},
		{"", func(*SignIn) {}, "--public-url"},
	} {
		s := whole()
		c.change(&s)
		if err := s.Check(c.page); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v, want %q", s, err, c.says)
		}
	}
}
