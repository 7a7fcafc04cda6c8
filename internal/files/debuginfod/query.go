package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
)

// A query asks all servers at a time for one file. The servers whose answer
// begins well take turns in sending the rest, so that a file which several have
// is not sent several times over. The first that turns out right ends the query.
type query struct {
	*Client
	request
	out   *os.File      // of the cache, written by whoever has the turn
	turn  chan struct{} // of capacity 1: full while somebody has it
	shown *shown
}

// query fetches a file that is not in the cache.
func (c *Client) query(ctx context.Context, r request) (string, error) {
	out, err := c.cache.create(r)
	if err != nil {
		return "", fmt.Errorf("no place for a file from a debuginfod server: %w", err)
	}
	defer c.cache.discard(out) // nothing is left of it when it has been kept
	q := &query{Client: c, request: r, out: out, turn: make(chan struct{}, 1), shown: c.newShown(Progress{Kind: r.kind, BuildID: r.id})}
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

// race asks every server, and returns the path of the file or every server's
// error. All have ended then.
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

// sorted tells the servers that do not have a file, in whose order the errors are, from
// those that failed and those that could not be asked, with what these say.
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

// lost puts the servers' errors together, in the order of the servers.
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
		e.Text = fmt.Sprintf("%s of build-id %s: %s", q.kind, q.id, e.Text)
	}
	return e
}

// from fetches the file from one server, in several attempts if need be.
func (q *query) from(ctx context.Context, s *server) (string, error) {
	return q.retry(ctx, s, func() (string, error) { return q.attempt(ctx, s) })
}

// attempt asks one server once. It keeps the turn when the file is right.
func (q *query) attempt(ctx context.Context, s *server) (path string, err error) {
	if err := q.slot(ctx); err != nil {
		return "", err
	}
	defer q.free()
	where := s.base.JoinPath("buildid", q.id, q.kind)
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

// begin tells that servers are asked.
func (q *query) begin(s *server) {
	if len(q.servers) > 1 {
		s = nil
	}
	q.shown.begin(s)
}

// receive reads an answer into the cache, and checks it there before it gets its
// name.
func (q *query) receive(ctx context.Context, s *server, m *meter) (path string, err error) {
	var magic [4]byte
	if _, err := io.ReadFull(m, magic[:]); err != nil || string(magic[:]) != "\x7fELF" {
		if m.err != nil {
			return "", transportFailure(ctx, m.err, false)
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
	if err := restart(q.out, magic[:]); err != nil {
		return "", err
	}
	err = save(q.out, m, q.cfg.MaxSize, int64(len(magic)))
	switch {
	case m.err != nil: // reading failed, not writing
		return "", transportFailure(ctx, m.err, false)
	case err != nil:
		return "", err
	}
	if err := verify(q.out.Name(), q.request); err != nil {
		return "", err
	}
	return q.cache.keep(q.out, q.request)
}

// restart begins a file anew with its first bytes: those of another answer may be
// in it.
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

// save writes what comes of a file of which n bytes are written, and which may
// have limit bytes; 0 for any number.
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
