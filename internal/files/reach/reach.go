// Package reach keeps clients from being led to addresses that are nearer to this machine than those that they were told of.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
)

// A Depth says how near to this machine an address is. A server must not make corewalk ask
// addresses that are nearer than the servers that the user named: it could use corewalk to
// reach services that trust every program of this machine or network.
type Depth int

const (
	Public  Depth = iota
	Private       // in a private network
	Local         // on this machine
	never         // of this link only: where clouds tell machines their secrets
)

// isShared reports whether an address is in 100.64.0.0/10, where providers have addresses of their own (RFC 6598).
func isShared(ip netip.Addr) bool {
	if !ip.Is4() {
		return false
	}
	b := ip.As4()
	return b[0] == 100 && b[1]&0xc0 == 64
}

// The prefixes of IPv6 addresses that contain one of IPv4, which a gateway may lead to, and where in them that is: the two of NAT64 (RFC 6052,
// RFC 8215), 6to4 (RFC 3056), addresses that were once compatible with IPv4 (RFC 4291), and Teredo (RFC 4380), which has its client's inverted.
var within = []struct {
	prefix   netip.Prefix
	at       int
	inverted bool
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12, false},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12, false},
	{netip.MustParsePrefix("2002::/16"), 2, false},
	{netip.MustParsePrefix("::/96"), 12, false},
	{netip.MustParsePrefix("2001::/32"), 12, true},
}

// contained returns the address of IPv4 that one of IPv6 leads to, if it does.
func contained(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() || ip.IsLoopback() || ip.IsUnspecified() {
		return ip, false
	}
	b := ip.As16()
	for _, w := range within {
		if !w.prefix.Contains(ip) {
			continue
		}
		var v4 [4]byte
		copy(v4[:], b[w.at:])
		if w.inverted {
			for i := range v4 {
				v4[i] ^= 0xff
			}
		}
		return netip.AddrFrom4(v4), true
	}
	return ip, false
}

// azureHost is where Azure's machines ask for their secrets. It is the same in all of its networks, and not of the link.
var azureHost = netip.MustParseAddr("168.63.129.16")

func depthOf(ip netip.Addr) Depth {
	ip = ip.Unmap().WithZone("")
	if v4, ok := contained(ip); ok {
		return max(Private, depthOf(v4)) // who goes through a gateway is in its network
	}
	switch {
	case ip == azureHost:
		return never
	case ip.IsLinkLocalUnicast(), ip.IsMulticast():
		return never
	case ip.IsLoopback(), ip.IsUnspecified():
		return Local
	case ip.IsPrivate(), isShared(ip):
		return Private
	}
	return Public
}

// ErrInward is the error for an address that is nearer than allowed.
var ErrInward = errors.New("leads into a local network: refused")

// A Reach is how deep a client's connections may lead: as deep as the servers and proxies
// that the user named are. Its zero value allows public addresses.
type Reach struct {
	mu    sync.Mutex      // guards the two below; no other lock is taken inside
	named map[string]bool // host:port
	most  Depth           // of the named servers, as far as there were connections
}

// To returns a Reach of which no server is named, for addresses up to a depth.
func To(most Depth) *Reach { return &Reach{most: most} }

// Name adds an address that the user named.
func (r *Reach) Name(u *url.URL) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil {
		r.named = map[string]bool{}
	}
	r.named[net.JoinHostPort(strings.ToLower(u.Hostname()), port)] = true
}

// Proxy is http.ProxyFromEnvironment.
func (r *Reach) Proxy(req *http.Request) (*url.URL, error) {
	u, err := http.ProxyFromEnvironment(req)
	if u != nil {
		r.Name(u)
	}
	return u, err
}

// Dialer returns a function that connects to addresses that the user named, and to no
// others that are deeper. It looks at the address and not at the name, which may have any.
func (r *Reach) Dialer(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		r.mu.Lock()
		named := r.named[strings.ToLower(addr)]
		r.mu.Unlock()
		one := *d
		one.Control = func(_, to string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(to)
			if err != nil {
				return err
			}
			if !named {
				return r.check(ap.Addr())
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.most = max(r.most, depthOf(ap.Addr()))
			return nil
		}
		return one.DialContext(ctx, network, addr)
	}
}

// check returns an error for an address that redirections must not lead to.
func (r *Reach) check(ip netip.Addr) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := depthOf(ip); d > min(r.most, Local) {
		return fmt.Errorf("%w: %s", ErrInward, ip)
	}
	return nil
}

// Allows is check for a host that is written as an address. A proxy would connect to it.
func (r *Reach) Allows(host string) error {
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return r.check(ip.WithZone(""))
}
