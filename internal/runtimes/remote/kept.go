// Package remote has what the runtimes share that describe themselves in the memory of their process.
package remote

import "sync"

// A Kept is a map that several goroutines use, and that never grows beyond a number of entries.
type Kept[V any] struct {
	mu sync.Mutex
	m  map[uint64]V
}

// maxKept bounds what is kept of each kind of object.
const maxKept = 1 << 16

// Get returns the value of a key, and computes it if it is not kept.
func (k *Kept[V]) Get(at uint64, compute func() V) V {
	k.mu.Lock()
	v, ok := k.m[at]
	k.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m == nil || len(k.m) >= maxKept {
		k.m = map[uint64]V{}
	}
	k.m[at] = v
	return v
}
