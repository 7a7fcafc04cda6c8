package notify

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
)

// What a dump says makes no link, no mention and no code in a chat, in no part of the message.
func TestChatText(t *testing.T) {
	const hostile = "<!channel> <https://x.example|y> @here `z` a&lt;b"
	m := Message{Event: "new", Project: "p", Group: hostile, Reason: hostile, Where: hostile, Program: hostile, FixedIn: hostile, URL: "https://crashes.example/#/"}
	text := strings.TrimSuffix(chatText(m), m.URL)
	const safe = "&lt;!channel&gt; &lt;https://x.example|y&gt; @\u200bhere 'z' a&amp;lt;b"
	if n := strings.Count(text, safe); n != 5 || strings.ContainsAny(text, "<>`") || strings.Contains(text, "@h") {
		t.Errorf("%d times: %q", n, text)
	}
	if s := title(Message{Event: "summary", Project: "p", LeftOut: 7}); !strings.Contains(s, " p ") || !strings.Contains(s, " 7 ") {
		t.Error(s)
	}
}

// Of an answer its status is looked at, and little else is read.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"taken":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, ""},
		"refused":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "the answer is 404"},
		"led away": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "the answer is 304"},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for b := make([]byte, 1<<12); r.Context().Err() == nil; {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}, ""},
		"much in front": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<18)) }, "header"},
		"never": {func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
			<-r.Context().Done()
		}, "deadline"},
	} {
		s := httptest.NewServer(c.answer)
		sender := New(reach.Local, nil)
		sender.Timeout = 5 * time.Second
		if name == "never" {
			sender.Timeout = 20 * time.Millisecond
		}
		began := time.Now()
		err := sender.Send(t.Context(), Target{Kind: Webhook, To: s.URL}, Message{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || time.Since(began) > 4*time.Second {
			t.Errorf("%s: %v after %v, want %q", name, err, time.Since(began), c.want)
		}
		s.CloseClientConnections()
		s.Close()
	}
	if err := New(reach.Local, nil).Send(t.Context(), Target{Kind: Mail, To: "me@example.org"}, Message{}); err == nil {
		t.Error("mail is sent without a server")
	}
}

// The signature is of the time and of the body, so that a message cannot be sent again later.
func TestSign(t *testing.T) {
	a := Sign("key", "1700000000", []byte("body"))
	for _, other := range []string{Sign("key", "1700000001", []byte("body")), Sign("other", "1700000000", []byte("body")), Sign("key", "1700000000", []byte("bodies"))} {
		if a == other {
			t.Error("the same signature")
		}
	}
}

// What is no server of mail is none.
func TestParseMail(t *testing.T) {
	for _, c := range [][2]string{{"https://h", "a@b"}, {"smtp://", "a@b"}, {"smtp://:25", "a@b"}, {"h:25", "a@b"}, {"smtp://h", "A <a@b>"}, {"smtp://h", "a@b\r\nX: y"}} {
		if m, err := ParseMail(c[0], c[1], ""); err == nil {
			t.Errorf("%q: %+v", c, m)
		}
	}
	for text, want := range map[string]string{"smtp://me@h": "h:25", "smtps://h": "h:465", "smtp://h:2525": "h:2525"} {
		if m, err := ParseMail(text, "a@b", ""); err != nil || m.Address != want || m.TLS != strings.HasPrefix(text, "smtps") {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	if b := (&MailServer{From: "a@b"}).compose("c@d", Message{Event: "new", Reason: strings.Repeat("x", 5000)}, time.Now()); strings.Contains(strings.SplitN(string(b), "\r\n\r\n", 2)[0], strings.Repeat("x", 201)) {
		t.Error("a subject of 5,000 letters")
	}
}
