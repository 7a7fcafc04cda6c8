package service

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// Wrong passwords and links are answered late, as wrong tokens are, and not at all once too many wait; mistakes of another kind are not.
func TestDeniedLate(t *testing.T) {
	s := &Service{c: Config{Log: slog.New(slog.DiscardHandler)}, access: access{denials: rate.NewLimiter(rate.Every(time.Hour), 0)}}
	s.access.denying.Add(denialsAtAll)
	for want, errs := range map[int][]error{http.StatusTooManyRequests: {errPassword, errInvitation, errTooOften}, http.StatusBadRequest: {wrong("x")}, http.StatusConflict: {errChanged}} {
		for _, err := range errs {
			w := httptest.NewRecorder()
			s.deniedLate(w, httptest.NewRequest(http.MethodPost, "/", nil), err)
			if w.Code != want || (w.Header().Get("Retry-After") == "10") != (err == errTooOften) {
				t.Errorf("%v: %d %v", err, w.Code, w.Header())
			}
		}
	}
}

// Names and addresses are counted apart and together, and what is not asked for is forgotten.
func TestGuessLimits(t *testing.T) {
	var g guesses
	count := func(name string, from func(int) string, n int) (ok int) {
		for i := range n {
			if g.allow(name, from(i)) {
				ok++
			}
		}
		return ok
	}
	at := func(text string) func(int) string { return func(int) string { return text } }
	for _, x := range []struct {
		what, name string
		from       func(int) string
		want       int
	}{
		{"one address", "a", at("192.0.2.1:1"), guessesHere}, {"another", "a", at("192.0.2.2:1"), guessesHere}, {"its ports", "a", func(i int) string { return fmt.Sprintf("192.0.2.2:%d", i+2) }, 0},
		{"another name", "b", at("192.0.2.1:1"), guessesHere}, {"one network", "c", func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i+1) }, guessesHere}, {"the same in another way", "c", at("[2001:db8::ffff%eth0]:1"), 0},
		{"IPv4 in IPv6", "b", at("[::ffff:192.0.2.1]:7"), 0}, {"many addresses", "d", func(i int) string { return fmt.Sprintf("10.0.%d.1:1", i) }, guessesAnywhere}, {"no address", "e", at("@"), guessesHere},
	} {
		if got := count(x.name, x.from, 100); got < x.want || got > x.want+1 {
			t.Errorf("%s: %d, want %d", x.what, got, x.want)
		}
	}
	g = guesses{}
	for i := range 10 * limitersKept {
		g.allow(fmt.Sprint(i), "192.0.2.1:1")
		if i%100 == 0 {
			for _, l := range g.list { // time passes
				l.SetBurst(0)
			}
		}
	}
	if n := len(g.list); n > 2*limitersKept+2 {
		t.Errorf("%d limiters are kept", n)
	}
}
