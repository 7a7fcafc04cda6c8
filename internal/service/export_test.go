package service

import "time"

// Idle sets how long a dump stays open that nobody asks about.
func (s *Service) Idle(d time.Duration) { s.sessions.idle = d }

// OpenDumps is how many dumps are open.
func (s *Service) OpenDumps() int { return s.sessions.count() }

// MaxOpen is how many dumps are open at most.
const MaxOpen = maxOpen

// Patience sets how long an answer may take.
func (s *Service) Patience(d time.Duration) { s.sessions.limit = d }
