package debuginfod

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A failure is an error of a query, with what it means for further ones.
type failure struct {
	err   error
	again bool          // the same query may succeed later
	after time.Duration // not before this time has gone by
	down  bool          // other queries would fail too
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Reasons for which a server's answer is refused.
var (
	errSlow      = errors.New("the server is too slow (DEBUGINFOD_TIMEOUT)")
	errMaxTime   = errors.New("the file takes longer than DEBUGINFOD_MAXTIME allows")
	errSize      = errors.New("the file is larger than DEBUGINFOD_MAXSIZE allows")
	errRedirects = errors.New("too many redirections")
	errDowngrade = errors.New("redirection that is not followed")
	errNotELF    = errors.New("the answer is no ELF file")
)

const (
	maxRedirects = 5
	// minProgress is what a server must bring in each Timeout, in bytes.
	minProgress = 100 << 10
	// maxConnect bounds the time for one connection.
	maxConnect = 30 * time.Second
)

// client makes the HTTP client when it is first needed.
func (c *Client) client() *http.Client {
	c.httpOnce.Do(func() {
		connect := maxConnect
		if c.cfg.Timeout > 0 {
			connect = min(connect, c.cfg.Timeout)
		}
		http1 := new(http.Protocols)
		http1.SetHTTP1(true)
		c.http = &http.Client{
			CheckRedirect: c.redirect,
			Transport: &http.Transport{
				Proxy:                  http.ProxyFromEnvironment,
				DialContext:            (&net.Dialer{Timeout: connect}).DialContext,
				TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    connect,
				IdleConnTimeout:        time.Minute,
				MaxIdleConnsPerHost:    8,
				MaxResponseHeaderBytes: 64 << 10,
				Protocols:              http1,
			},
		}
	})
	return c.http
}

// redirect allows a few redirections, but none to a protocol that protects less.
// What the headers file says is for the servers that were named, not for others
// that these lead to.
func (c *Client) redirect(to *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errRedirects
	}
	if from := via[len(via)-1].URL.Scheme; to.URL.Scheme != "https" && to.URL.Scheme != from {
		return fmt.Errorf("%w: from %s to %s", errDowngrade, from, to.URL.Scheme)
	}
	if to.URL.Host != via[0].URL.Host {
		for name := range c.cfg.Headers {
			to.Header.Del(name)
		}
		to.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	return nil
}

// A body is a file on its way, and its size; negative when not known.
type body struct {
	io.ReadCloser
	size int64
}

// open asks a server for the file at where.
func (q *query) open(ctx context.Context, s *server, where *url.URL) (body, error) {
	var b body
	var err error
	if where.Scheme == "file" {
		b, err = openTree(s.base.Path, where.Path)
	} else {
		b, err = q.get(ctx, where)
	}
	if err == nil && q.cfg.MaxSize > 0 && b.size > q.cfg.MaxSize {
		b.Close()
		return body{}, fmt.Errorf("%d bytes: %w", b.size, errSize)
	}
	return b, err
}

// get asks over HTTP.
func (q *query) get(ctx context.Context, where *url.URL) (body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where.String(), nil)
	if err != nil {
		return body{}, err
	}
	q.cfg.setHeaders(req)
	resp, err := q.client().Do(req)
	if err != nil {
		return body{}, transportFailure(ctx, err, true)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return body{}, statusFailure(resp)
	}
	size := resp.ContentLength
	if n, err := strconv.ParseInt(resp.Header.Get("X-Debuginfod-Size"), 10, 64); err == nil && size < 0 {
		size = n
	}
	return body{resp.Body, size}, nil
}

// transportFailure tells errors apart that come of the connection. silent says that
// nothing was answered at all.
func transportFailure(ctx context.Context, err error, silent bool) error {
	var plain *url.Error
	if errors.As(err, &plain) {
		err = plain.Err // the URL is named by the caller
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		return &failure{err: errSlow, down: true}
	case cause != nil:
		return cause
	case errors.Is(err, errRedirects), errors.Is(err, errDowngrade):
		return err
	}
	var cert *tls.CertificateVerificationError
	return &failure{err: err, again: !errors.As(err, &cert), down: silent}
}

// statusFailure tells errors apart that a server answers.
func statusFailure(resp *http.Response) error {
	err := errors.New(resp.Status)
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case http.StatusNotAcceptable: // what servers answer to X-DEBUGINFOD-MAXSIZE
		return errSize
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		after := time.Duration(min(max(seconds, 0), 3600)) * time.Second
		return &failure{err: err, again: true, after: after, down: true}
	case http.StatusInternalServerError:
		return &failure{err: err, again: true}
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return &failure{err: err, down: true}
	}
	return err
}
