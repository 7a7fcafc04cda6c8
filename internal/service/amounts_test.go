package service

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/corewalk/corewalk/internal/service/store"
)

// A body may unpack to what is allowed, and to no more than it explains, whoever reads it.
func TestUnpacked(t *testing.T) {
	packed := func(size int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = io.CopyN(w, zeros{}, int64(size))
		w.Close()
		return b.Bytes()
	}
	s := new(Service)
	for _, c := range []struct {
		size  int
		most  int64
		bombs bool
		large bool
	}{{32 << 20, 1 << 30, false, false}, {freelyUnpacked + 1<<20, 1 << 30, true, false}, {1 << 20, 1<<20 - 1, false, true}, {1 << 20, 1 << 20, false, false}} {
		r := httptest.NewRequest("POST", "/", bytes.NewReader(packed(c.size)))
		r.Header.Set("Content-Encoding", "gzip")
		body, err := s.plain(r, c.most)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, body)
		var large *http.MaxBytesError
		if errors.Is(err, errUnpacks) != c.bombs || errors.As(err, &large) != c.large || err == nil && n != int64(c.size) {
			t.Errorf("%d bytes of at most %d: read %d, %v", c.size, c.most, n, err)
		}
	}
	// What was not packed is not counted against itself.
	r := httptest.NewRequest("POST", "/", io.LimitReader(zeros{}, freelyUnpacked+2<<20))
	body, err := s.plain(r, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// Of the fields of a form so much is kept; those that are too long cost no others, and how many there were is said.
func TestAnnotated(t *testing.T) {
	few := map[string]string{"ver": "1", "prod": "shop"}
	if got := annotated(few); len(got) != 2 || got["ver"] != "1" {
		t.Error(got)
	}
	many := map[string]string{"ver": "1", "long": strings.Repeat("x", maxAnnotated), "other": strings.Repeat("y", maxAnnotated/2)}
	got := annotated(many)
	if len(got) != 3 || got["ver"] != "1" || len(got["other"]) != maxAnnotated/2 || got[leftOut] != "1" {
		t.Errorf("%d fields, %q left out", len(got), got[leftOut])
	}
}

// A list of dumps has so many bytes of annotations.
func TestShort(t *testing.T) {
	list := make([]dumpDoc, 200)
	for i := range list {
		list[i].Annotations = map[string]string{"a": strings.Repeat("x", maxAnnotated)}
	}
	short(list)
	n := 0
	for _, d := range list {
		n += len(d.Annotations["a"])
	}
	if n > maxListed || n < maxListed/2 || list[0].Annotations["a"] == "" || list[199].Annotations[leftOut] != "1" {
		t.Errorf("%d bytes; the last: %v", n, list[199].Annotations)
	}
}

// So many work, so many wait, and the others are told. Who goes makes room.
func TestSlots(t *testing.T) {
	s := newSlots(1, 1)
	done, err := s.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, err := s.take(ctx)
		second <- err
	}()
	for s.waiting.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := s.take(t.Context()); !errors.Is(err, errSlots) {
		t.Errorf("a third: %v", err)
	}
	leave()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	done()
	if done, err = s.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	done()
}

// A body goes on for as long as it comes at the least rate; what trickles ends.
func TestPatientUntil(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		since time.Duration
		n     int64
		want  time.Duration // from now
	}{{0, 0, stallTime}, {slowTime, 0, 0}, {slowTime, 10, 10 * time.Second / leastRate}, {time.Hour, 1 << 30, stallTime}, {time.Hour, 600, slowTime - time.Hour + 600*time.Second/leastRate}} {
		p := patient{begun: now.Add(-c.since), n: c.n}
		if got := p.until(now).Sub(now); got != c.want {
			t.Errorf("after %v and %d bytes: %v, want %v", c.since, c.n, got, c.want)
		}
	}
}

// noTokens is a store without tokens.
type noTokens struct{ store.Store }

func (noTokens) Token(context.Context, string) (t store.Token, err error) {
	return t, store.ErrNotFound
}

// Many wrong tokens are answered late; requests without one are not tried at all.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	a := access{store: noTokens{}, denials: rate.NewLimiter(rate.Every(time.Hour), 2)}
	try := func(text string) time.Duration {
		t.Helper()
		from := time.Now()
		if _, err := a.token(t.Context(), text); !errors.Is(err, errDenied) {
			t.Error(err)
		}
		return time.Since(from)
	}
	if took := try("cw_1_2") + try("cw_1_3") + try("") + try(""); took > denialTime/2 {
		t.Errorf("mistakes took %v", took)
	}
	if took := try("cw_1_4"); took < denialTime {
		t.Errorf("a wrong token after others took %v", took)
	}
	a.denying.Add(denialsAtAll)
	var known httpError
	if _, err := a.token(t.Context(), "cw_1_5"); !errors.As(err, &known) || known.status != http.StatusTooManyRequests {
		t.Errorf("one too many: %v", err)
	}
}

// Each session of a person has a limiter: those that nobody uses are dropped, and a token that has sent too much stays limited.
func TestLimitersBounded(t *testing.T) {
	t.Parallel()
	a := access{rate: 1000, burst: 3}
	busy := store.Token{ID: "busy"}
	a.limiters.list = map[string]*rate.Limiter{"busy": rate.NewLimiter(rate.Every(time.Hour), 1)}
	if !a.allow(&busy) || a.allow(&busy) {
		t.Error("the first is not limited")
	}
	most := 0
	for i := range 50 * limitersKept {
		if !a.allow(&store.Token{ID: fmt.Sprint(i)}) {
			t.Fatal("a new token is limited")
		}
		if i%limitersKept == 0 {
			time.Sleep(5 * time.Millisecond) // all have what they may have
		}
		most = max(most, len(a.limiters.list))
	}
	if most > 8*limitersKept {
		t.Errorf("there are %d limiters", most)
	}
	if a.allow(&busy) {
		t.Error("a token that has sent too much is not limited anymore")
	}
}

// The uploads that one project does not complete leave room for those of others.
func TestPendingOfOne(t *testing.T) {
	var p pendingUploads
	for i := range maxOfOne + 1 {
		if key := p.add("a"); (key == "") != (i == maxOfOne) {
			t.Fatalf("upload %d: %q", i, key)
		}
	}
	if key := p.add("b"); key == "" {
		t.Error("another project has no room")
	}
}

// A cookie is for TLS only where the client speaks TLS, if with a proxy.
func TestSecureCookie(t *testing.T) {
	for proto, want := range map[string]bool{"": false, "http": false, "https": true, "HTTPS": true} {
		r := httptest.NewRequest("POST", "/login", nil)
		r.Header.Set("X-Forwarded-Proto", proto)
		if secure(r) != want {
			t.Errorf("%q: %v", proto, !want)
		}
	}
	if r := httptest.NewRequest("POST", "https://x/login", nil); !secure(r) {
		t.Error("TLS is not secure")
	}
}
