package debuginfod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/decompress"
	"github.com/corewalk/corewalk/modules"
)

// A SymbolClient gets PE images, PDBs and Breakpad symbol files from symbol servers over
// HTTP. The URLs of Microsoft's servers have the layout of a symbol store, and Breakpad's
// servers use the same layout. It is a find.SymbolFetcher. It is safe for concurrent use,
// and several processes may share a cache directory. Results, including missing files, are
// remembered as long as it is in use.
//
// Servers are asked one after another, in their order, which should begin with the nearest.
type SymbolClient struct {
	link
	servers []*symbolServer
	asked   answers[string]
}

type symbolServer struct {
	*server
	cache find.SymbolCache
}

// NewSymbols returns a client for the servers of a symbol path. It uses the limits of cfg
// on time, size and connections, and UserAgent and Progress; the zero Config has no time
// limits. It does not contact a server.
//
// Servers must use https unless they are on this machine.
func NewSymbols(servers []find.SymbolServer, cfg settings.Config) (*SymbolClient, error) {
	if len(servers) == 0 {
		return nil, errors.New("no symbol server given")
	}
	if cfg.MaxSize <= 0 || cfg.MaxSize > find.MaxSymbolFile {
		cfg.MaxSize = find.MaxSymbolFile
	}
	c := &SymbolClient{}
	c.symbols = true
	c.init(cfg)
	for _, s := range servers {
		u, err := symbolURL(s.URL)
		if err == nil && s.Cache.Dir == "" {
			s.Cache, err = find.DefaultSymbolCache()
		}
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, &symbolServer{newServer(u), s.Cache})
		c.reach.Name(u)
	}
	return c, nil
}

// symbolURL checks the URL of a server.
func symbolURL(text string) (*url.URL, error) {
	u, err := parseURL(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("symbol server: %w", err)
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, fmt.Errorf("symbol server %s: not a valid URL; use for example https://msdl.microsoft.com/download/symbols", u.Redacted())
	case u.Scheme == "http" && !isLoopback(u):
		return nil, fmt.Errorf("symbol server %s: must use https unless it is on this machine", u.Redacted())
	}
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

// isLoopback reports whether a URL's host is this machine.
func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// FetchSymbols returns the path of the first of the requested files that is available,
// fetching it unless it is in a cache. Goroutines that request the same file share one
// query. If the servers fail, the error is a *find.FetchError.
func (c *SymbolClient) FetchSymbols(ctx context.Context, wanted []modules.StoreKey) (string, error) {
	if len(wanted) == 0 {
		return "", fmt.Errorf("no file requested: %w", fs.ErrNotExist)
	}
	var r strings.Builder
	keys := make([]find.StoreKey, len(wanted))
	for i, k := range wanted {
		fmt.Fprintf(&r, "%s/%s/%s\n", k.Name, k.ID, k.File)
		keys[i] = find.StoreKey{Name: k.Name, ID: k.ID, File: k.File, Kind: find.SymbolKind(k.Kind)}
	}
	return c.asked.get(ctx, r.String(), func() (string, error) { return c.fetch(ctx, keys) })
}

func (c *SymbolClient) fetch(ctx context.Context, wanted []find.StoreKey) (string, error) {
	for _, s := range c.servers {
		for _, k := range wanted {
			if p := s.cache.Lookup(k); p != "" {
				return p, nil
			}
		}
	}
	errs := make([]error, 0, len(c.servers))
	for _, s := range c.servers {
		path, err := c.ask(ctx, s, wanted)
		if err == nil || ctx.Err() != nil {
			return path, err
		}
		errs = append(errs, err)
	}
	return "", c.lost(wanted[0], errs)
}

// ask asks one server for the requested files.
func (c *SymbolClient) ask(ctx context.Context, s *symbolServer, wanted []find.StoreKey) (string, error) {
	var worst error
	for _, k := range wanted {
		if s.cache.Missed(k, s.base.String(), time.Now()) {
			continue
		}
		path, err := c.askFor(ctx, s, k)
		if err == nil || ctx.Err() != nil {
			return path, err
		}
		var f *failure
		if errors.As(err, &f) && f.down {
			return "", err
		}
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			worst = err
		case !errors.Is(err, errForbidden):
			s.cache.Miss(k, s.base.String())
		}
	}
	if worst == nil {
		worst = fs.ErrNotExist
	}
	return "", worst
}

// askFor asks one server for a file, in all forms in which the server may store it.
func (c *SymbolClient) askFor(ctx context.Context, s *symbolServer, k find.StoreKey) (string, error) {
	out, err := s.cache.Create(k)
	if err != nil {
		return "", fmt.Errorf("cannot create a file in the symbol cache: %w", err)
	}
	defer s.cache.Discard(out)
	q := &symbolQuery{SymbolClient: c, server: s, key: k, out: out, shown: c.newShown(settings.Progress{Kind: k.Kind.String(), BuildID: k.ID, Name: k.File})}
	defer q.shown.end()
	q.shown.begin(s.server)
	last := error(fs.ErrNotExist)
	for _, form := range forms(k) {
		path, err := c.retry(ctx, s.server, func() (string, error) { return q.attempt(ctx, form) })
		switch {
		case err == nil:
			q.shown.progress.OK = true
			return path, nil
		case errors.Is(err, errNotKind), errors.Is(err, errForbidden) && last == fs.ErrNotExist:
			last = err
		case !errors.Is(err, fs.ErrNotExist):
			return "", err // the other forms would not do better, or would cost as much
		}
	}
	return "", last
}

// forms returns the paths at which a server may have a file: as it is, compressed, and a
// pointer to it. Of Breakpad symbol files servers have seldom more than the first.
func forms(k find.StoreKey) []string {
	plain := k.Paths()
	if k.Kind == find.KindBreakpad {
		return append(plain, find.Compressed(plain[0]))
	}
	var all []string
	for _, p := range plain {
		all = append(all, p, find.Compressed(p))
	}
	return append(all, path.Join(path.Dir(plain[0]), pointerFile))
}

const (
	pointerFile = "file.ptr"
	maxPointer  = 4096 // bytes
)

// A symbolQuery asks one server for one file.
type symbolQuery struct {
	*SymbolClient
	server *symbolServer
	key    find.StoreKey
	out    *os.File // of the cache
	shown  *shown
}

var (
	errNotKind   = errors.New("the response is not the expected kind of file")
	errForbidden = forbidden{}
)

// forbidden is what a server answers instead of saying that it has no such file.
type forbidden struct{}

func (forbidden) Error() string { return "403 Forbidden: " + fs.ErrNotExist.Error() }
func (forbidden) Unwrap() error { return fs.ErrNotExist }

// attempt requests the file by one of its paths.
func (q *symbolQuery) attempt(ctx context.Context, form string) (string, error) {
	where := below(q.server.base, form)
	if path.Base(form) == pointerFile {
		to, err := q.pointer(ctx, where)
		if err != nil {
			return "", fmt.Errorf("%s: %w", where.Redacted(), err)
		}
		where = to
	}
	got, err := q.download(ctx, where)
	if err != nil {
		return "", fmt.Errorf("%s: %w", where.Redacted(), err)
	}
	return got, nil
}

// below returns the URL of a slash-separated path below another URL.
func below(base *url.URL, names string) *url.URL {
	parts := strings.Split(names, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return base.JoinPath(parts...)
}

// answer requests a URL, with time limits; the caller must call end.
func (q *symbolQuery) answer(ctx context.Context, where *url.URL) (m *meter, watched context.Context, end func(), err error) {
	if err := q.slot(ctx); err != nil {
		return nil, nil, nil, err
	}
	m = &meter{cfg: &q.cfg}
	ctx, stop := m.watch(ctx)
	m.ctx = ctx
	b, err := q.get(ctx, where)
	if err != nil {
		stop()
		q.free()
		return nil, nil, nil, err
	}
	m.body, m.total = b, b.size
	return m, ctx, func() {
		b.Close()
		stop()
		q.free()
	}, nil
}

// pointer requests a file.ptr and returns the URL to which it points. The URL must be on
// the same server; network shares are not URLs.
func (q *symbolQuery) pointer(ctx context.Context, where *url.URL) (*url.URL, error) {
	m, ctx, end, err := q.answer(ctx, where)
	if err != nil {
		return nil, err
	}
	defer end()
	text, err := io.ReadAll(io.LimitReader(m, maxPointer))
	if err != nil {
		return nil, transportFailure(ctx, err, false)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	to := find.PointedPath(first)
	ref, err := url.Parse(to)
	if to == "" || err != nil || strings.ContainsAny(to, "\\<") {
		return nil, fmt.Errorf("file.ptr points to a place that is not a URL: %w", fs.ErrNotExist)
	}
	if ref = where.ResolveReference(ref); ref.Scheme != where.Scheme || ref.Host != where.Host {
		return nil, fmt.Errorf("file.ptr points to another server: %w", fs.ErrNotExist)
	}
	return ref, nil
}

// download fetches a file into the cache.
func (q *symbolQuery) download(ctx context.Context, where *url.URL) (string, error) {
	m, ctx, end, err := q.answer(ctx, where)
	if err != nil {
		return "", err
	}
	defer end()
	if m.total > q.cfg.MaxSize {
		return "", fmt.Errorf("%d bytes: %w", m.total, errSize)
	}
	head := make([]byte, 8)
	n, err := io.ReadFull(m, head)
	if m.err != nil {
		return "", transportFailure(ctx, m.err, false)
	}
	if err != nil || !begins(head[:n], q.key.Kind) {
		return "", fmt.Errorf("%w (%v)", errNotKind, q.key.Kind)
	}
	m.tell = func(done int64) { q.shown.update(q.server.server, done, m.total) }
	if err = restart(q.out, head); err == nil {
		err = save(q.out, m, q.cfg.MaxSize, int64(len(head)))
	}
	switch {
	case m.err != nil: // the error came from reading, not from writing
		return "", transportFailure(ctx, m.err, false)
	case err != nil:
		return "", err
	}
	return q.server.cache.Keep(q.out, q.key, uint64(q.cfg.MaxSize))
}

// begins reports whether a file of a kind, or its compressed form, may begin with head.
func begins(head []byte, kind find.SymbolKind) bool {
	if decompress.IsCabinet(head) {
		return true
	}
	want := map[find.SymbolKind]string{find.KindPDB: "Microsof", find.KindPE: "MZ", find.KindBreakpad: "MODULE "}[kind]
	return bytes.HasPrefix(head, []byte(want))
}

// lost combines the servers' errors, in the order of the servers.
func (c *SymbolClient) lost(k find.StoreKey, errs []error) error {
	absent, failed, down := sorted(errs, func(i int) string { return c.servers[i].name })
	e := &find.FetchError{Failed: len(failed) > 0, Unreachable: down}
	var texts []string
	if len(absent) > 0 && !e.Failed {
		texts = append(texts, "not on "+strings.Join(slices.Compact(absent), ", "))
	}
	e.Text = fmt.Sprintf("%v %s %s: %s", k.Kind, k.File, k.ID, strings.Join(append(append(texts, failed...), down...), "; "))
	return e
}
