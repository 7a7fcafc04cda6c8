package reach

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
)

func TestDepth(t *testing.T) {
	for text, want := range map[string]Depth{
		"8.8.8.8": Public, "2001:4860::8888": Public, "172.32.0.1": Public,
		"10.0.0.1": Private, "172.16.0.1": Private, "192.168.1.1": Private, "100.100.100.200": Private, "fd00:ec2::254": Private,
		"127.0.0.1": Local, "127.9.9.9": Local, "::1": Local, "0.0.0.0": Local, "::": Local, "::ffff:127.0.0.1": Local,
		"169.254.169.254": never, "fe80::1": never, "::ffff:169.254.169.254": never, "224.0.0.1": never,
		// Gateways lead to addresses of IPv4.
		"64:ff9b::169.254.169.254": never, "64:ff9b::8.8.8.8": Private, "64:ff9b:1::10.0.0.1": Private, "2002:7f00:1::": Local, "2002:a9fe:a9fe::1": never,
		"::127.0.0.1": Local, "2001:0:4136:e378:8000:63bf:5601:5601": never, "2001:0:1::f5ff:fffe": Private, "168.63.129.16": never,
		"::ffff:168.63.129.16": never, "2001:db8::1": Public, "2606:4700::1": Public,
	} {
		if got := depthOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// Redirections lead as deep as the named servers are, and never to this link.
func TestReach(t *testing.T) {
	for _, tt := range []struct {
		most Depth
		host string
		ok   bool
	}{
		{Public, "8.8.8.8", true},
		{Public, "10.0.0.1", false},
		{Public, "localhost", false},
		{Private, "10.0.0.1", true},
		{Private, "::1", false},
		{Local, "127.0.0.1", true},
		{Local, "169.254.169.254", false},
		{never, "169.254.169.254", false},
		{Local, "fe80::1%eth0", false},
		{Public, "files.example", true}, // its address is checked later
	} {
		r := Reach{most: tt.most}
		if err := r.Allows(tt.host); (err == nil) != tt.ok {
			t.Errorf("%s from depth %d: %v", tt.host, tt.most, err)
		}
	}
}

// A name that turns out to be of this machine is refused when its address is known, unless
// the user named it.
func TestReachOfNames(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var r Reach
	dial := r.Dialer(&net.Dialer{})
	if c, err := dial(context.Background(), "tcp", u.Host); !errors.Is(err, ErrInward) {
		t.Errorf("%v, %v", c, err)
	}
	r.Name(u)
	for _, why := range []string{"named", "named before"} {
		c, err := dial(context.Background(), "tcp", u.Host)
		if err != nil {
			t.Fatal(why, err)
		}
		c.Close()
		r.named = nil
	}
}
