// Package notify tells people and programs of what happened to a group of crashes: by a webhook, in the form that chats take, and by mail.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
	"github.com/corewalk/corewalk/report"
)

// The kinds of receivers.
const (
	Webhook = "webhook" // JSON
	Chat    = "chat"    // JSON with a text, as Slack, Mattermost and others take it
	Mail    = "mail"
)

// A Message says what happened. Its texts are a stranger's.
type Message struct {
	ID      string    `json:"id"`    // the same each time that it is sent
	Event   string    `json:"event"` // new, regressed, spiking, summary or test
	Project string    `json:"project"`
	Group   string    `json:"group,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Where   string    `json:"where,omitempty"`
	Program string    `json:"program,omitempty"`
	Count   int       `json:"count,omitempty"`    // dumps of the group
	FixedIn string    `json:"fixed_in,omitempty"` // the release or build in which it was said to be fixed
	LeftOut int       `json:"left_out,omitempty"` // messages that were held back, of a summary
	URL     string    `json:"url,omitempty"`
	At      time.Time `json:"at"`
}

// A Target is who is told.
type Target struct {
	Kind, To string // a URL, or an address of mail
	Secret   string // the key of signatures
}

// A Sender sends messages.
type Sender struct {
	// Deep is how near to this machine the addresses of webhooks may be: those who name them are not those who run the service.
	Deep    reach.Depth
	Mail    *MailServer // nil if there is none
	Timeout time.Duration
	client  *http.Client
}

// New returns a sender.
func New(deep reach.Depth, mail *MailServer) *Sender {
	const timeout = 15 * time.Second
	return &Sender{Deep: deep, Mail: mail, Timeout: timeout, client: &http.Client{
		Timeout: timeout,
		// A redirection would be one more way to somewhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: reach.To(deep).Dialer(&net.Dialer{Timeout: 5 * time.Second}), TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: timeout,
			MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true},
	}}
}

// maxTarget is the length of a target, in bytes.
const maxTarget = 2000

// Check returns an error for a target that nothing can be sent to.
func (s *Sender) Check(kind, to string) error {
	if len(to) > maxTarget {
		return fmt.Errorf("where to: longer than %d bytes", maxTarget)
	}
	switch kind {
	case Webhook, Chat:
		u, err := url.Parse(to)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return errors.New("where to: must be https://HOST/PATH")
		}
		if err := reach.To(s.Deep).Allows(u.Hostname()); err != nil { // of names, it is known when they are looked up
			return fmt.Errorf("where to: %w", err)
		}
	case Mail:
		if s.Mail == nil {
			return errors.New("the service has no server for mail: see --smtp")
		}
		a, err := mail.ParseAddress(to)
		if err != nil || a.Address != to {
			return errors.New("where to: must be an address of mail, such as me@example.org")
		}
	default:
		return fmt.Errorf("kind %.20q: must be webhook, chat or mail", kind)
	}
	return nil
}

// Hint is what is shown of a target: the address of a chat's webhook is a secret.
func Hint(kind, to string) string {
	u, err := url.Parse(to)
	if kind == Mail || err != nil {
		return to
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// Send sends a message, once.
func (s *Sender) Send(ctx context.Context, t Target, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	switch t.Kind {
	case Webhook:
		return s.post(ctx, t, m, m)
	case Chat:
		return s.post(ctx, t, m, map[string]string{"text": chatText(m)})
	case Mail:
		if s.Mail == nil {
			return errors.New("the service has no server for mail")
		}
		return s.Mail.send(ctx, t.To, m)
	}
	return fmt.Errorf("kind %q is not known", t.Kind)
}

// Sign is the signature of a body that is sent at a time, in seconds: HMAC-SHA256 of both.
func Sign(secret string, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func (s *Sender) post(ctx context.Context, t Target, m Message, v any) error {
	body, err := report.JSON(v, "")
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.To, bytes.NewReader(body))
	if err != nil {
		return errors.New("the URL cannot be used")
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	for name, value := range map[string]string{"Content-Type": "application/json", "User-Agent": "corewalk", "X-Corewalk-Event": m.Event, "X-Corewalk-Delivery": m.ID,
		"X-Corewalk-Timestamp": at, "X-Corewalk-Signature": Sign(t.Secret, at, body)} {
		r.Header.Set(name, value)
	}
	answer, err := s.client.Do(r)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // its text has the URL, which may be a secret
			err = at.Err
		}
		return err
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, 4<<10)
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %d", answer.StatusCode)
	}
	return nil
}

// title says in a line what happened.
func title(m Message) string {
	if m.Event == "summary" {
		return fmt.Sprintf("In %s more happened than is told in an hour: %d messages were left out", m.Project, m.LeftOut)
	}
	what := map[string]string{"new": "New", "regressed": "Again", "spiking": "Many more", "test": "A test"}[m.Event]
	if m.Event == "test" {
		return fmt.Sprintf("%s of notifications of the project %s", what, m.Project)
	}
	return report.Clean(fmt.Sprintf("%s in %s: %s", what, m.Project, m.Reason))
}

// details are lines that follow.
func details(m Message) (lines []string) {
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+report.Clean(value))
		}
	}
	add("Where", m.Where)
	add("Program", m.Program)
	if m.Count > 0 {
		add("Dumps", strconv.Itoa(m.Count))
	}
	add("Was fixed in", m.FixedIn)
	add("Group", m.Group)
	return lines
}

// chatText is the message as a text in which chats see no links and no mentions of their own.
func chatText(m Message) string {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b", "`", "'")
	text := escape.Replace(title(m))
	for _, line := range details(m) {
		text += "\n" + escape.Replace(line)
	}
	if m.URL != "" {
		text += "\n" + m.URL
	}
	return text
}
