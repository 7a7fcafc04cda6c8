package image

import "sync"

// maxKept limits how many results an image keeps. Then it forgets them all and starts again, so that strange dumps do
// not keep others from their results for long.
const maxKept = 1 << 12

// A keeper keeps results about a file, by key.
type keeper struct {
	mu      sync.Mutex // guards results; no other lock is taken inside
	results map[any]any
}

// Kept returns what find returns, and keeps it with the file for every process that uses it. The result must depend
// on the key and on the file alone, and is not to be modified. Each user has keys of its own type. While one goroutine
// finds a result, others may, too.
func Kept[V any](im *Image, key any, find func() V) V {
	k := &im.kept
	k.mu.Lock()
	v, ok := k.results[key]
	k.mu.Unlock()
	if ok {
		return v.(V)
	}
	found := find()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.results == nil || len(k.results) >= maxKept {
		k.results = map[any]any{}
	}
	k.results[key] = found
	return found
}
