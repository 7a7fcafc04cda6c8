package debuginfod

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/reach"
)

// A link is a client's connection to its servers.
type link struct {
	cfg   settings.Config
	slots chan struct{} // one for each connection that may be open

	// symbols says that the servers are symbol servers: only https is allowed, except on
	// this machine, and debuginfod's headers are not sent.
	symbols bool

	httpOnce sync.Once
	http     *http.Client
	reach    reach.Reach
}

func (l *link) init(cfg settings.Config) {
	if cfg.UserAgent == "" {
		cfg.UserAgent = "corewalk"
	}
	if cfg.Connections <= 0 {
		cfg.Connections = defaultConnections
	}
	l.cfg, l.slots = cfg, make(chan struct{}, cfg.Connections)
}

// slot waits for one of the connections; free returns it.
func (l *link) slot(ctx context.Context) error {
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) free() { <-l.slots }

// A server is queried until it fails in a way that would make other queries fail, too.
type server struct {
	base *url.URL
	name string                  // for messages
	down atomic.Pointer[failure] // why it is no longer queried; nil while it is
}

func newServer(base *url.URL) *server {
	s := &server{base: base, name: base.Host}
	if base.Scheme == "file" {
		s.name = base.String()
	}
	return s
}

// client returns the HTTP client, which is created on first use.
func (l *link) client() *http.Client {
	l.httpOnce.Do(func() {
		connect := maxConnect
		if l.cfg.Timeout > 0 {
			connect = min(connect, l.cfg.Timeout)
		}
		http1 := new(http.Protocols)
		http1.SetHTTP1(true)
		l.http = &http.Client{
			CheckRedirect: l.redirect,
			Transport: &http.Transport{
				Proxy:                  l.reach.Proxy,
				DialContext:            l.reach.Dialer(&net.Dialer{Timeout: connect}),
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    connect,
				IdleConnTimeout:        time.Minute,
				MaxIdleConnsPerHost:    8,
				MaxResponseHeaderBytes: 64 << 10,
				Protocols:              http1,
			},
		}
	})
	return l.http
}

// redirect allows a few redirections, but none to a less secure protocol, nor into a network
// nearer to this machine. The user's
// headers are only for the configured servers, not for servers that these redirect to.
func (l *link) redirect(to *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	if from := via[len(via)-1].URL.Scheme; to.URL.Scheme != "https" && (to.URL.Scheme != from || l.symbols && !isLoopback(to.URL)) {
		return fmt.Errorf("%w: from %s to %s", errDowngrade, from, to.URL.Scheme)
	}
	if to.URL.Host != via[0].URL.Host {
		if err := l.reach.Allows(to.URL.Hostname()); err != nil {
			return err
		}
		for _, h := range l.cfg.Headers {
			to.Header.Del(h.Name)
		}
		to.Header.Set("User-Agent", l.cfg.UserAgent)
	}
	return nil
}

// get sends an HTTP request.
func (l *link) get(ctx context.Context, where *url.URL) (body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return body{}, err
	}
	if l.symbols {
		req.Header.Set("User-Agent", l.cfg.UserAgent)
	} else {
		setHeaders(req, &l.cfg)
	}
	resp, err := l.client().Do(req)
	if err != nil {
		return body{}, transportFailure(ctx, err, true)
	}
	if resp.StatusCode != http.StatusOK {
		io.CopyN(io.Discard, resp.Body, maxErrorPage) // so that the connection can be reused
		resp.Body.Close()
		if l.symbols && resp.StatusCode == http.StatusForbidden {
			return body{}, errForbidden // some servers in front of cloud storage answer so for missing files
		}
		return body{}, statusFailure(resp)
	}
	size := resp.ContentLength
	if n, err := strconv.ParseInt(resp.Header.Get("X-Debuginfod-Size"), 10, 64); err == nil && size < 0 {
		size = n
	}
	return body{resp.Body, size}, nil
}

// maxErrorPage limits how much of an error response is read, in bytes.
const maxErrorPage = 4 << 10

// pause is the time before a query is repeated the first time; it doubles with each
// repetition. longestPause limits the time that a server may demand with Retry-After.
const (
	pause        = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// retry tries to get a file from one server, several times if necessary.
func (l *link) retry(ctx context.Context, s *server, attempt func() (string, error)) (string, error) {
	for n := 0; ; n++ {
		if f := s.down.Load(); f != nil {
			return "", f
		}
		path, err := attempt()
		if err == nil || ctx.Err() != nil {
			return path, err
		}
		var f *failure
		if !errors.As(err, &f) {
			return "", err
		}
		if !f.again || n >= l.cfg.Retries || f.after > longestPause {
			if f.down {
				// Report the first reason for all files.
				s.down.CompareAndSwap(nil, &failure{err: fmt.Errorf("%s: %w", s.base.Redacted(), f.err), down: true})
				return "", s.down.Load()
			}
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(max(f.after, pause<<n)):
		}
	}
}
