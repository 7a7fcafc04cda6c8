package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
)

// A query asks all servers at once for one file. Servers with a promising answer take turns
// in sending the rest, so that a file is not sent several times. The first correct file
// ends the query.
type query struct {
	*Client
	request
	out   *os.File      // in the cache; written by the holder of the turn
	turn  chan struct{} // has capacity 1; full while a server has the turn
	shown *shown
}

// query fetches a file that is not in the cache.
func (c *Client) query(ctx context.Context, r request) (string, error) {
	out, err := c.cache.create(r)
	if err != nil {
		return "", fmt.Errorf("cannot create a file in the debuginfod cache: %w", err)
	}
	defer c.cache.discard(out) // does nothing to a file that has been kept
	q := &query{Client: c, request: r, out: out, turn: make(chan struct{}, 1), shown: c.newShown(settings.Progress{Kind: r.kind, BuildID: r.id})}
	defer q.shown.end()
	path, errs := q.race(ctx)
	switch {
	case path != "":
		q.shown.progress.OK = true
		return path, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", q.lost(errs)
}

// race asks every server and waits for all of them. It returns the path of the file, or
// every server's error.
func (q *query) race(ctx context.Context) (path string, errs []error) {
	type result struct {
		server int
		path   string
		err    error
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results := make(chan result)
	for i, s := range q.servers {
		go func() {
			path, err := q.from(ctx, s)
			results <- result{i, path, err}
		}()
	}
	errs = make([]error, len(q.servers))
	for range q.servers {
		r := <-results
		if errs[r.server] = r.err; r.err == nil {
			path = r.path
			stop()
		}
	}
	return path, errs
}

// sorted divides the servers' errors into the names of the servers that lack the file, the
// messages of those that failed, and the messages of those that could not be reached. name
// returns the name of the server with the i-th error.
func sorted(errs []error, name func(i int) string) (absent, failed, down []string) {
	for i, err := range errs {
		var f *failure
		switch {
		case errors.As(err, &f) && f.down:
			down = append(down, f.Error())
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, name(i))
		default:
			failed = append(failed, err.Error())
		}
	}
	return absent, failed, down
}

// lost combines the servers' errors, in the order of the servers.
func (q *query) lost(errs []error) error {
	absent, failed, down := sorted(errs, func(i int) string { return q.servers[i].name })
	if len(absent) == len(errs) && len(q.cfg.LeftOut) == 0 {
		q.cache.miss(q.request)
	}
	e := &find.FetchError{Failed: len(failed) > 0, Unreachable: down}
	var texts []string
	if len(absent) > 0 && !e.Failed {
		texts = append(texts, "not on "+strings.Join(absent, ", "))
	}
	texts = append(append(append(texts, failed...), down...), q.cfg.LeftOut...)
	e.Text = strings.Join(texts, "; ")
	if !e.Failed {
		e.Text = q.what() + ": " + e.Text
	}
	return e
}

// from fetches the file from one server, with several attempts if necessary.
func (q *query) from(ctx context.Context, s *server) (string, error) {
	return q.retry(ctx, s, func() (string, error) { return q.attempt(ctx, s) })
}

// attempt asks one server once. It keeps the turn if the file is correct.
func (q *query) attempt(ctx context.Context, s *server) (path string, err error) {
	if err := q.slot(ctx); err != nil {
		return "", err
	}
	defer q.free()
	where := q.where(s.base)
	q.begin(s)
	m := &meter{cfg: &q.cfg}
	ctx, stop := m.watch(ctx)
	m.ctx = ctx
	defer stop()
	body, err := q.open(ctx, s, where)
	if err == nil {
		defer body.Close()
		m.body, m.total = body, body.size
		path, err = q.receive(ctx, s, m)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", where.Redacted(), err)
	}
	return path, nil
}

// begin reports that servers are being queried.
func (q *query) begin(s *server) {
	if len(q.servers) > 1 {
		s = nil
	}
	q.shown.begin(s)
}

// receive writes a response into the cache, and checks it before giving it its final name.
func (q *query) receive(ctx context.Context, s *server, m *meter) (path string, err error) {
	head := make([]byte, 4)
	if q.kind == kindSource {
		head = head[:1] // an empty file means none
	}
	if _, err := io.ReadFull(m, head); err != nil || q.kind != kindSource && string(head) != "\x7fELF" {
		switch {
		case m.err != nil:
			return "", transportFailure(ctx, m.err, false)
		case q.kind == kindSource:
			return "", fmt.Errorf("the response is empty: %w", fs.ErrNotExist)
		}
		return "", errNotELF
	}
	m.rest(true)
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		return "", transportFailure(ctx, ctx.Err(), false)
	}
	m.rest(false)
	defer func() {
		if err != nil {
			<-q.turn
		}
	}()
	m.tell = func(done int64) { q.shown.update(s, done, m.total) }
	if err := restart(q.out, head); err != nil {
		return "", err
	}
	err = save(q.out, m, q.limit(), int64(len(head)))
	switch {
	case m.err != nil: // the error came from reading, not from writing
		return "", transportFailure(ctx, m.err, false)
	case err != nil:
		return "", err
	}
	if err := verify(q.out.Name(), q.request); err != nil {
		return "", err
	}
	return q.cache.keep(q.out, q.request)
}

// where returns the URL of the requested file on a server. The parts of a source file's path
// are escaped, so that none of them leads elsewhere.
func (r request) where(base *url.URL) *url.URL {
	parts := []string{"buildid", r.id, r.kind}
	if r.path != "" {
		for part := range strings.SplitSeq(r.path[1:], "/") {
			parts = append(parts, url.PathEscape(part))
		}
	}
	return base.JoinPath(parts...)
}

// limit is the size limit of the requested file in bytes; 0 for none.
func (q *query) limit() int64 {
	if q.kind == kindSource && (q.cfg.MaxSize == 0 || q.cfg.MaxSize > maxSource) {
		return maxSource
	}
	return q.cfg.MaxSize
}

// restart begins the file again with its first bytes; it may contain part of another
// response.
func restart(out *os.File, head []byte) error {
	if err := out.Truncate(0); err != nil {
		return err
	}
	if _, err := out.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := out.Write(head)
	return err
}

// save writes the rest of a file of which n bytes are written already. The file may have at
// most limit bytes; 0 means no limit.
func save(out io.Writer, in io.Reader, limit, n int64) error {
	if limit > 0 {
		in = io.LimitReader(in, max(limit-n, 0)+1)
	}
	got, err := io.Copy(out, in)
	if err == nil && limit > 0 && n+got > limit {
		return errSize
	}
	return err
}
