package service_test

import (
	"context"
	"io/fs"
	"net/http"
	"testing"

	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/objects"
)

// namesAsked are files of which it is noted which were asked for.
type namesAsked struct {
	objects.Store
	keys []string
}

func (a *namesAsked) Local(_ context.Context, key string) (string, func(), error) {
	a.keys = append(a.keys, key)
	return "", nil, fs.ErrNotExist
}

// A name that no project can have becomes no name of a file, and no token is of it.
func TestProjectNamesAreChecked(t *testing.T) {
	t.Parallel()
	var from namesAsked
	at, err := service.LocalSymbols(t.Context(), &from)
	if err != nil {
		t.Fatal(err)
	}
	const file = "/buildid/0123456789/executable"
	for name, ok := range map[string]bool{"shop": true, "..": false, "%2e%2e": false, "a%2f..%2fb": false, "A": false, ".x": false} {
		from.keys = nil
		r, err := http.NewRequest("GET", at("shop"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = ""
		r.URL.Opaque = "//" + r.URL.Host + at("")[len("http://"+r.URL.Host):] + "/" + name + file
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusNotFound || (len(from.keys) > 0) != ok {
			t.Errorf("%s: %s, asked for %q", name, a.Status, from.keys)
		}
	}
	w := start(t, nil)
	for _, name := range []string{"", "..", "a/b", "A"} {
		if text, made, err := service.NewToken(t.Context(), w.db, name, []string{"read"}, ""); err == nil {
			t.Errorf("%q has a token: %s, %+v", name, text[:3], made)
		}
	}
}
