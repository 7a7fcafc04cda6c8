package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"net/url"
	"strings"
	"time"
)

// A MailServer is the server of SMTP that the operator of the service named.
type MailServer struct {
	Address        string // host and port
	From           string
	User, Password string
	TLS            bool // from the beginning; else when the server offers it
}

// ParseMail reads smtp://USER@HOST:PORT or smtps://USER@HOST:PORT.
func ParseMail(text, from, password string) (*MailServer, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" {
		return nil, errors.New("must be smtp://USER@HOST:PORT, or smtps://")
	}
	a, err := mail.ParseAddress(from)
	if err != nil || a.Address != from {
		return nil, fmt.Errorf("%.80q is no address from which mail is sent", from)
	}
	m := &MailServer{From: from, TLS: u.Scheme == "smtps", User: u.User.Username(), Password: password}
	port := u.Port()
	if port == "" {
		port = map[bool]string{false: "25", true: "465"}[m.TLS]
	}
	m.Address = net.JoinHostPort(u.Hostname(), port)
	return m, nil
}

// send sends a message as a mail. A password is sent over TLS only, or on this machine.
func (m *MailServer) send(ctx context.Context, to string, msg Message) error {
	host, _, err := net.SplitHostPort(m.Address)
	if err != nil {
		return err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end)
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if m.TLS {
		c = tls.Client(c, config)
	}
	s, err := smtp.NewClient(c, host)
	if err != nil {
		return err
	}
	defer s.Close()
	if ok, _ := s.Extension("STARTTLS"); ok && !m.TLS {
		if err := s.StartTLS(config); err != nil {
			return err
		}
	}
	if m.User != "" {
		if err := s.Auth(smtp.PlainAuth("", m.User, m.Password, host)); err != nil {
			return err
		}
	}
	if err := errors.Join(s.Mail(m.From), s.Rcpt(to)); err != nil {
		return err
	}
	w, err := s.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.compose(to, msg, time.Now())); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	_ = s.Quit() // the server has it
	return nil
}

// compose writes a mail. Texts of strangers are in the subject, encoded, and in the body alone.
func (m *MailServer) compose(to string, msg Message, at time.Time) []byte {
	var b bytes.Buffer
	_, domain, _ := strings.Cut(m.From, "@")
	const maxSubject = 200
	subject := []rune(title(msg))
	for _, h := range [][2]string{{"From", m.From}, {"To", to}, {"Subject", mime.QEncoding.Encode("utf-8", string(subject[:min(len(subject), maxSubject)]))}, {"Date", at.Format(time.RFC1123Z)},
		{"Message-ID", fmt.Sprintf("<%s@%s>", msg.ID, domain)}, {"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"}} {
		fmt.Fprintf(&b, "%s: %s\r\n", h[0], h[1])
	}
	b.WriteString("\r\n")
	q := quotedprintable.NewWriter(&b)
	lines := append([]string{title(msg), ""}, details(msg)...)
	if msg.URL != "" {
		lines = append(lines, "", msg.URL)
	}
	fmt.Fprint(q, strings.Join(lines, "\r\n"), "\r\n")
	q.Close()
	return b.Bytes()
}
