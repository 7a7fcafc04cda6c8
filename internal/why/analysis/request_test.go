package analysis

import (
	"testing"

	"github.com/corewalk/corewalk/tasks"
)

// TestRequestNote: the note of a request has no secrets.
func TestRequestNote(t *testing.T) {
	for _, c := range []struct {
		q    tasks.Request
		want string
	}{
		{tasks.Request{Method: "GET", URI: "/a.php"}, "serves GET /a.php"},
		{tasks.Request{Method: "POST", URI: "/pay?card=4&token=abc123&x", Script: "/srv/pay.php"}, "serves POST /pay?card=4&token=***&x by /srv/pay.php"},
		{tasks.Request{Method: "GET", URI: "/?password=a=b"}, "serves GET /?password=***"},
		{tasks.Request{Method: "GET", URI: "/?"}, "serves GET /?"},
	} {
		if got := requestNote(c.q); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
