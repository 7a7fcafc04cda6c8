package service

import (
	"time"

	"github.com/corewalk/corewalk/internal/service/signin"
	"github.com/corewalk/corewalk/internal/service/store"
)

// Idle sets how long a dump stays open that nobody asks about.
func (s *Service) Idle(d time.Duration) { s.sessions.idle = d }

// OpenDumps is how many dumps are open.
func (s *Service) OpenDumps() int { return s.sessions.count() }

// MaxOpen is how many dumps are open at most.
const MaxOpen = maxOpen

// Patience sets how long an answer may take.
func (s *Service) Patience(d time.Duration) { s.sessions.limit = d }

// SetSignIn lets people in whom a provider knows.
func (s *Service) SetSignIn(p *signin.Provider, session time.Duration) {
	s.c.SignIn, s.c.Session = p, session
}

// Forgive forgets which passwords were tried.
func (s *Service) Forgive() {
	s.guesses.mu.Lock()
	defer s.guesses.mu.Unlock()
	clear(s.guesses.list)
}

// SecretToken makes a token that is not stored.
func SecretToken() (string, store.Token) { return secretToken() }
