package service

import (
	"maps"
	"sync"

	"golang.org/x/time/rate"
)

// limiters limit how often each of many may do something: tokens, or who tries passwords.
type limiters struct {
	mu    sync.Mutex // guards the two below; no other lock is taken inside
	list  map[string]*rate.Limiter
	sweep int // how many there may be until those that nobody needs are dropped
}

// limitersKept is how many are kept in any case.
const limitersKept = 1024

// allow reports whether what has the key may do it now: so often, and so much at once.
func (l *limiters) allow(key string, often rate.Limit, most int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.list[key]
	if one == nil {
		if l.list == nil {
			l.list = map[string]*rate.Limiter{}
		}
		if len(l.list) >= max(l.sweep, limitersKept) {
			// One that has all it may have is as a new one.
			maps.DeleteFunc(l.list, func(_ string, x *rate.Limiter) bool { return x.Tokens() >= float64(x.Burst()) })
			l.sweep = 2 * len(l.list)
		}
		one = rate.NewLimiter(often, most)
		l.list[key] = one
	}
	return one.Allow()
}
