package debuginfod

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
)

// A failure is the error of a query and what it means for later queries.
type failure struct {
	err   error
	again bool          // the same query may succeed later
	after time.Duration // how long to wait before that
	down  bool          // other queries would fail, too
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Reasons to reject a server's response.
var (
	errSlow      = errors.New("the server is too slow (DEBUGINFOD_TIMEOUT)")
	errMaxTime   = errors.New("the file takes longer than DEBUGINFOD_MAXTIME allows")
	errSize      = errors.New("the file is larger than DEBUGINFOD_MAXSIZE allows")
	errRedirects = errors.New("too many redirections")
	errDowngrade = errors.New("insecure redirection refused")
	errNotELF    = errors.New("the response is not an ELF file")
	errSource    = errors.New("the source file is larger than 16 MB")
)

const (
	maxRedirects = 5
	// minProgress is the number of bytes that a server must send during each Timeout.
	minProgress = 100 << 10
	// maxConnect is the maximum time to set up a connection.
	maxConnect = 30 * time.Second
)

// A body is a file being received, and its size; negative if unknown.
type body struct {
	io.ReadCloser
	size int64
}

// open requests the file at where.
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

// transportFailure classifies errors of the connection. silent says that there was no
// response at all.
func transportFailure(ctx context.Context, err error, silent bool) error {
	var plain *url.Error
	if errors.As(err, &plain) {
		err = plain.Err // the caller names the URL
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		return &failure{err: errSlow, down: true}
	case cause != nil:
		return cause
	case errors.Is(err, errRedirects), errors.Is(err, errDowngrade), errors.Is(err, reach.ErrInward):
		return err
	}
	var cert *tls.CertificateVerificationError
	return &failure{err: err, again: !errors.As(err, &cert), down: silent}
}

// statusFailure classifies HTTP status codes.
func statusFailure(resp *http.Response) error {
	err := errors.New(resp.Status)
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	case http.StatusNotAcceptable: // the response to X-DEBUGINFOD-MAXSIZE
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
