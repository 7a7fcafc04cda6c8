package serving

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/signin"
)

// Check reports what is wrong with how people log in to a service whose page is at a URL.
func (s *SignIn) Check(page string) error {
	_, err := s.provider(page)
	return err
}

// provider is the one that is configured, nil if none is.
func (s *SignIn) provider(page string) (*signin.Provider, error) {
	if s.Issuer == "" {
		if s.Client != "" || len(s.Allow) > 0 || len(s.Scopes) > 0 {
			return nil, errors.New("--oidc-client, --oidc-scope and --oidc-allow need --oidc-issuer")
		}
		return nil, nil
	}
	switch {
	case page == "":
		return nil, errors.New("--oidc-issuer needs --public-url: people come back to it")
	case s.Client == "" || s.Secret == "":
		return nil, errors.New("--oidc-issuer needs --oidc-client, and the client's secret in OIDC_CLIENT_SECRET or in --oidc-secret-file")
	case len(s.Allow) == 0:
		return nil, errors.New("--oidc-issuer needs --oidc-allow, which says who may log in")
	case s.Session <= 0:
		return nil, errors.New("--oidc-session is positive")
	}
	c := signin.Config{Issuer: s.Issuer, ID: s.Client, Secret: s.Secret, Callback: strings.TrimSuffix(page, "/") + service.SigninCallback, Scopes: s.Scopes}
	for _, text := range s.Allow {
		r, err := signin.ParseRule(text)
		if err == nil {
			err = service.CheckProject(r.Project)
		}
		for _, scope := range r.Scopes {
			if err == nil && !slices.Contains(service.Scopes(), scope) {
				err = fmt.Errorf("scope %q: must be one of %s", scope, strings.Join(service.Scopes(), ", "))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("--oidc-allow: %w", err)
		}
		c.Rules = append(c.Rules, r)
	}
	p, err := signin.New(c)
	if err != nil {
		err = fmt.Errorf("--oidc-issuer: %w", err)
	}
	return p, err
}
