package find

import (
	"io/fs"
	"maps"
	"slices"
	"sync"
)

// A FetchError says in full why a Fetcher has no file. It is fs.ErrNotExist, too,
// unless something failed for this file alone.
type FetchError struct {
	Text   string // for people
	Failed bool   // more is wrong than that the file is not there
	// Unreachable are the servers that could not be asked, each with the reason:
	// the same for every file, so that it need not be told of each.
	Unreachable []string
}

// Error implements error.
func (e *FetchError) Error() string { return e.Text }

// Is tells errors.Is that there is no file.
func (e *FetchError) Is(target error) bool { return target == fs.ErrNotExist && !e.Failed }

// notes are different texts, of several goroutines.
type notes struct {
	mu   sync.Mutex
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
