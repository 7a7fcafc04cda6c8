package debuginfod

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/files/reach"
)

func TestRedirectedInward(t *testing.T) {
	queries := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries++
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()
	c := newClient(t, configFor(t, server.URL))
	if _, err := c.Fetch(context.Background(), testID, find.KindDebugInfo); err == nil || !strings.Contains(err.Error(), reach.ErrInward.Error()) || queries != 1 {
		t.Errorf("%v, %d queries", err, queries)
	}
}

// Behind a proxy, which connects by itself, an address that a redirection names is refused by its text.
func TestRedirectRefused(t *testing.T) {
	l := new(link)
	from, err := http.NewRequest(http.MethodGet, "https://debuginfod.example.com/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{"https://169.254.169.254/latest": false, "https://127.0.0.1/x": false, "https://10.0.0.1/x": false, "https://[::ffff:10.0.0.1]/x": false, "https://debuginfod.example.com/y": true, "https://93.184.216.34/x": true} {
		r, err := http.NewRequest(http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.redirect(r, []*http.Request{from}); (err == nil) != want {
			t.Errorf("%s: %v", to, err)
		}
	}
}
