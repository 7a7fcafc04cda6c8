package debuginfod

import (
	"sync"
	"time"
)

// pace is how often Progress is called for one file.
const pace = 100 * time.Millisecond

// shown tells of the progress of one file, whichever server brings it. Nothing is
// told before a server is asked.
type shown struct {
	call func(Progress) // nil for nobody

	mu       sync.Mutex
	progress Progress
	begun    bool
	told     time.Time
}

func (l *link) newShown(p Progress) *shown { return &shown{call: l.cfg.Progress, progress: p} }

// begin tells that the servers are asked now; only is the one when there is but
// one, nil otherwise.
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

// update tells what a server has brought; total is negative when not known.
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

// end tells that no more comes.
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
