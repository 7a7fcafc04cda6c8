package service

import (
	"net/netip"
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
)

// guesses limits how often passwords are tried.
type guesses struct{ limiters }

// allow reports whether a password of a name may be tried from an address.
func (g *guesses) allow(name, from string) bool {
	return g.limiters.allow(name+"\x00"+network(from), rate.Every(guessTime), guessesHere) && g.limiters.allow(name, rate.Every(guessTimeAll), guessesAnywhere)
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
