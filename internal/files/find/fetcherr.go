package find

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// A FetchError explains why a Fetcher has no file. errors.Is(err, fs.ErrNotExist) holds for
// it unless something failed for this file alone.
type FetchError struct {
	Text   string // message for users
	Failed bool   // a server failed to answer for this file
	// Unreachable lists the servers that could not be reached, each with the reason. It is
	// the same for every file, so callers need not repeat it for each one.
	Unreachable []string
}

// Error implements error.
func (e *FetchError) Error() string { return e.Text }

// Is makes the error match fs.ErrNotExist.
func (e *FetchError) Is(target error) bool { return target == fs.ErrNotExist && !e.Failed }

// notes is a set of messages collected by several goroutines.
type notes struct {
	mu   sync.Mutex // guards seen; no other lock is taken inside
	seen map[string]bool
}

func (n *notes) add(texts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	for _, t := range texts {
		n.seen[t] = true
	}
}

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.seen))
}
