package service

import (
	"maps"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Attempts to log in with a password: of one name from one address, and of one name from anywhere, so many at once, then one after each time. Who has a session, or
// an invitation, is not kept out by those of others.
const (
	guessesHere     = 10
	guessTime       = 10 * time.Second
	guessesAnywhere = 50
	guessTimeAll    = 5 * time.Second
	// guessesKept is how many limiters are kept in any case. More are added as fast as passwords are hashed, and go when nobody needs them.
	guessesKept = 1024
)

// guesses limits how often passwords are tried. What is not asked for for some minutes is forgotten.
type guesses struct {
	mu    sync.Mutex // guards the two below; no other lock is taken inside
	list  map[string]*rate.Limiter
	sweep int // how many there may be until those that nobody needs are dropped
}

// allow reports whether a password of a name may be tried from an address.
func (g *guesses) allow(name, from string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limiter(name+"\x00"+network(from), guessTime, guessesHere).Allow() && g.limiter(name, guessTimeAll, guessesAnywhere).Allow()
}

// limiter returns that of a key. mu is locked.
func (g *guesses) limiter(key string, each time.Duration, most int) *rate.Limiter {
	if l := g.list[key]; l != nil {
		return l
	}
	if g.list == nil {
		g.list = map[string]*rate.Limiter{}
	}
	if len(g.list) >= max(g.sweep, guessesKept) {
		maps.DeleteFunc(g.list, func(_ string, l *rate.Limiter) bool { return l.Tokens() >= float64(l.Burst()) })
		g.sweep = 2 * len(g.list)
	}
	l := rate.NewLimiter(rate.Every(each), most)
	g.list[key] = l
	return l
}

// network is the part of a client's address that is not its own choice: of IPv6 the first half.
func network(from string) string {
	at, err := netip.ParseAddrPort(from)
	if err != nil {
		return ""
	}
	a := at.Addr().Unmap().WithZone("")
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
