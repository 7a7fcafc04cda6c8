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
