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
