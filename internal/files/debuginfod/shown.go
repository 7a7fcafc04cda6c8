package debuginfod

import (
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
)

// pace is the minimum time between Progress calls for one file.
const pace = 100 * time.Millisecond

// shown reports the progress of one file, whichever server sends it. It reports nothing
// before a server is queried.
type shown struct {
	call func(settings.Progress) // may be nil

	mu       sync.Mutex // guards the three below; no other lock is taken inside
	progress settings.Progress
	begun    bool
	told     time.Time
}

func (l *link) newShown(p settings.Progress) *shown { return &shown{call: l.cfg.Progress, progress: p} }

// begin reports that the servers are being queried. only is the server if there is just
// one, otherwise nil.
func (s *shown) begin(only *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return
	}
	s.begun = true
	if only != nil {
		s.progress.Server = only.name
	}
	s.tell()
}

// update reports how much a server has sent; total is negative if unknown.
func (s *shown) update(from *server, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.progress
	p.Done, p.Total = done, max(total, 0)
	if p.Server == from.name && time.Since(s.told) < pace {
		return
	}
	p.Server = from.name
	s.tell()
}

// end reports that the request has ended.
func (s *shown) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.progress.Ended = true
		s.tell()
	}
}

func (s *shown) tell() {
	if s.call != nil {
		s.told = time.Now()
		s.call(s.progress)
	}
}
