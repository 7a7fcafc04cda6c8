package debuginfod

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
)

func TestDepth(t *testing.T) {
	for text, want := range map[string]depth{
		"8.8.8.8": deepPublic, "2001:4860::8888": deepPublic, "172.32.0.1": deepPublic,
		"10.0.0.1": deepPrivate, "172.16.0.1": deepPrivate, "192.168.1.1": deepPrivate, "100.100.100.200": deepPrivate, "fd00:ec2::254": deepPrivate,
		"127.0.0.1": deepLocal, "127.9.9.9": deepLocal, "::1": deepLocal, "0.0.0.0": deepLocal, "::": deepLocal, "::ffff:127.0.0.1": deepLocal,
		"169.254.169.254": deepNever, "fe80::1": deepNever, "::ffff:169.254.169.254": deepNever, "224.0.0.1": deepNever,
		// Gateways lead to addresses of IPv4.
		"64:ff9b::169.254.169.254": deepNever, "64:ff9b::8.8.8.8": deepPrivate, "64:ff9b:1::10.0.0.1": deepPrivate, "2002:7f00:1::": deepLocal, "2002:a9fe:a9fe::1": deepNever,
		"::127.0.0.1": deepLocal, "2001:0:4136:e378:8000:63bf:5601:5601": deepNever, "2001:0:1::f5ff:fffe": deepPrivate, "168.63.129.16": deepNever,
		"::ffff:168.63.129.16": deepNever, "2001:db8::1": deepPublic, "2606:4700::1": deepPublic,
	} {
		if got := depthOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// Redirections lead as deep as the named servers are, and never to this link.
func TestReach(t *testing.T) {
	for _, tt := range []struct {
		most depth
		host string
		ok   bool
	}{
		{deepPublic, "8.8.8.8", true},
		{deepPublic, "10.0.0.1", false},
		{deepPublic, "localhost", false},
		{deepPrivate, "10.0.0.1", true},
		{deepPrivate, "::1", false},
		{deepLocal, "127.0.0.1", true},
		{deepLocal, "169.254.169.254", false},
		{deepNever, "169.254.169.254", false},
		{deepLocal, "fe80::1%eth0", false},
		{deepPublic, "files.example", true}, // its address is checked later
	} {
		r := reach{most: tt.most}
		if err := r.allows(tt.host); (err == nil) != tt.ok {
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
	var r reach
	dial := r.dialer(&net.Dialer{})
	if c, err := dial(context.Background(), "tcp", u.Host); !errors.Is(err, errInward) {
		t.Errorf("%v, %v", c, err)
	}
	r.name(u)
	for _, why := range []string{"named", "named before"} {
		c, err := dial(context.Background(), "tcp", u.Host)
		if err != nil {
			t.Fatal(why, err)
		}
		c.Close()
		r.named = nil
	}
}

func TestRedirectedInward(t *testing.T) {
	queries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries++
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()
	c := newClient(t, configFor(t, server.URL))
	if _, err := c.Fetch(context.Background(), testID, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), errInward.Error()) || queries != 1 {
		t.Errorf("%v, %d queries", err, queries)
	}
}
