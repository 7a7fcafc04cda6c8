package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/elffile/elftest"
)

// servers returns a configuration with one server per handler.
func servers(t *testing.T, handlers ...http.HandlerFunc) settings.Config {
	cfg := configFor(t, "")
	cfg.URLs, cfg.Retries = nil, 0
	for _, h := range handlers {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		cfg.URLs = append(cfg.URLs, s.URL)
	}
	return cfg
}

// reached waits until a channel is closed, and fails the test if that does not happen.
func reached(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Errorf("waited in vain for %s", what)
	}
}

func good(w http.ResponseWriter, r *http.Request) { w.Write(elftest.WithID(3, testID, 0)) }

func refuse(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }
}

// All servers are asked at once; the first correct answer cancels the others.
func TestFirstGoodWins(t *testing.T) {
	var all sync.WaitGroup // every server has been asked
	all.Add(5)
	slowEnded := make(chan struct{})
	asked := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			all.Done()
			all.Wait()
			h(w, r)
		}
	}
	cfg := servers(t,
		asked(func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done(); close(slowEnded) }),
		asked(func(w http.ResponseWriter, r *http.Request) { w.Write(elftest.WithID(3, []byte{9, 9}, 0)) }),
		asked(http.NotFound),
		asked(refuse(500)),
		asked(good),
	)
	c := newClient(t, cfg)
	path, err := c.Fetch(context.Background(), testID, find.KindDebugInfo)
	if err != nil || verify(path, request{id: "deadbeef01020304", kind: find.KindDebugInfo}) != nil {
		t.Errorf("%q, %v", path, err)
	}
	reached(t, "the end of the slow server's query", slowEnded)
	if c.servers[0].down.Load() != nil {
		t.Error("a server that was not waited for is taken for down")
	}
	if got := cached(t, cfg.CacheDir); len(got) != 1 {
		t.Errorf("the cache holds %q", got)
	}
}

// If the answer that began first turns out to be wrong, another server's answer that has
// begun is used.
func TestTurns(t *testing.T) {
	data := elftest.WithID(3, testID, 8<<20) // more than connections hold by themselves
	for name, end := range map[string]func(http.ResponseWriter){
		"another build": func(http.ResponseWriter) {},
		"cut short":     func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			told, begun := make(chan struct{}), make(chan struct{})
			var once sync.Once
			cfg := servers(t,
				func(w http.ResponseWriter, r *http.Request) {
					w.Write(elftest.WithID(3, []byte{9, 9}, 64<<10))
					w.(http.Flusher).Flush()
					reached(t, "the other server's answer", begun)
					end(w)
				},
				func(w http.ResponseWriter, r *http.Request) {
					reached(t, "bytes of the first server", told)
					w.Write(data[:4])
					w.(http.Flusher).Flush()
					close(begun)
					w.Write(data[4:])
				})
			first := strings.TrimPrefix(cfg.URLs[0], "http://")
			var mu sync.Mutex
			var last settings.Progress
			cfg.Progress = func(p settings.Progress) {
				if p.Server == first {
					once.Do(func() { close(told) })
				}
				mu.Lock()
				defer mu.Unlock()
				last = p
			}
			path, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo)
			if err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(path); err != nil || st.Size() != int64(len(data)) {
				t.Errorf("%v, %v", st, err)
			}
			if want := strings.TrimPrefix(cfg.URLs[1], "http://"); last.Server != want || !last.Ended || !last.OK || last.Done != int64(len(data)) {
				t.Errorf("%+v, want it from %s", last, want)
			}
		})
	}
}

// If no server has the file, the error lists what each one said, in the order of the
// servers. The result is cached if all said so.
func TestLost(t *testing.T) {
	const id = "debuginfo of build-id deadbeef01020304: "
	for _, tt := range []struct {
		name    string
		servers []http.HandlerFunc
		leftOut string
		want    string // with A, B ... for the servers
		absent  bool
		down    int
		miss    bool
	}{
		{name: "not there", servers: []http.HandlerFunc{http.NotFound, http.NotFound}, want: id + "not on A, B", absent: true, miss: true},
		{name: "one is not asked", servers: []http.HandlerFunc{http.NotFound}, leftOut: "X is not asked", want: id + "not on A; X is not asked", absent: true},
		{name: "one is down", servers: []http.HandlerFunc{refuse(503), http.NotFound}, want: id + "not on B; http://A: 503 Service Unavailable", absent: true, down: 1},
		{name: "all are down", servers: []http.HandlerFunc{refuse(503), refuse(401)}, want: id + "http://A: 503 Service Unavailable; http://B: 401 Unauthorized", absent: true, down: 2},
		{name: "one fails", servers: []http.HandlerFunc{http.NotFound, refuse(418)}, want: "http://B/buildid/deadbeef01020304/debuginfo: 418 I'm a teapot"},
		{name: "one fails, one is down", servers: []http.HandlerFunc{refuse(418), refuse(503)},
			want: "http://A/buildid/deadbeef01020304/debuginfo: 418 I'm a teapot; http://B: 503 Service Unavailable", down: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := servers(t, tt.servers...)
			if tt.leftOut != "" {
				cfg.LeftOut = []string{tt.leftOut}
			}
			c := newClient(t, cfg)
			for range 2 { // a server that is down is the same for the next file
				_, err := c.Fetch(context.Background(), testID, find.KindDebugInfo)
				want := tt.want
				for i, u := range cfg.URLs {
					letter := string(rune('A' + i))
					want = strings.NewReplacer("http://"+letter, u, "on "+letter, "on "+u[7:], ", "+letter, ", "+u[7:]).Replace(want)
				}
				var fe *find.FetchError
				if err == nil || err.Error() != want || errors.Is(err, fs.ErrNotExist) != tt.absent || !errors.As(err, &fe) || len(fe.Unreachable) != tt.down {
					t.Errorf("%v, want\n%s", err, want)
				}
				if got := cached(t, cfg.CacheDir); (len(got) == 1) != tt.miss {
					t.Errorf("the cache holds %q", got)
				}
				c.asked.mu.Lock()
				clear(c.asked.asked)
				c.asked.mu.Unlock()
				if tt.miss || !tt.absent {
					break
				}
			}
		})
	}
}

// No more queries run at once than allowed.
func TestConnections(t *testing.T) {
	const most, files = 3, 20
	var mu sync.Mutex
	inside, highest := 0, 0
	full := make(chan struct{})
	handler := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		inside++
		if highest = max(highest, inside); inside == most {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		reached(t, "so many queries at a time", full)
		mu.Lock()
		inside--
		mu.Unlock()
		http.NotFound(w, r)
	}
	cfg := servers(t, handler, handler)
	cfg.Connections = most
	c := newClient(t, cfg)
	var wg sync.WaitGroup
	for i := range files {
		wg.Go(func() {
			if _, err := c.Fetch(context.Background(), []byte{1, 2, byte(i)}, find.KindDebugInfo); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if highest != most {
		t.Errorf("%d queries at a time, want %d", highest, most)
	}
}

// If one caller gives up waiting, others still get the file, including those that waited
// for the same query.
func TestGivenUp(t *testing.T) {
	var queries atomic.Int32
	ctx, cancel := context.WithCancel(context.Background())
	cfg := servers(t, func(w http.ResponseWriter, r *http.Request) {
		if queries.Add(1) == 1 {
			cancel()
			<-r.Context().Done()
			return
		}
		good(w, r)
	})
	c := newClient(t, cfg)
	if _, err := c.Fetch(ctx, testID, find.KindDebugInfo); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := c.Fetch(context.Background(), testID, find.KindDebugInfo); err != nil || queries.Load() != 2 {
		t.Errorf("%v after %d queries", err, queries.Load())
	}
	// One caller waits for a query of another that gives up.
	c = newClient(t, cfg)
	r := request{id: "01020304", kind: find.KindDebugInfo}
	a, _ := c.asked.answer(r)
	got := make(chan error)
	go func() {
		_, err := c.Fetch(context.Background(), []byte{1, 2, 3, 4}, find.KindDebugInfo)
		got <- err
	}()
	c.asked.settle(ctx, r, a, func() (string, error) { return c.fetch(ctx, r) })
	if err := <-got; err == nil || !strings.Contains(err.Error(), "want 01020304") || queries.Load() != 3 {
		t.Errorf("%v after %d queries", err, queries.Load())
	}
	// And one caller gives up waiting.
	c = newClient(t, cfg)
	c.asked.answer(r)
	if _, err := c.Fetch(ctx, []byte{1, 2, 3, 4}, find.KindDebugInfo); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Progress is reported once for a file requested from several servers.
func TestProgressOfSeveral(t *testing.T) {
	cfg := servers(t, http.NotFound, good, http.NotFound)
	var told []string
	cfg.Progress = func(p settings.Progress) { told = append(told, fmt.Sprint(p.Server, " ", p.Ended, " ", p.OK)) }
	if _, err := newClient(t, cfg).Fetch(context.Background(), testID, find.KindDebugInfo); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(cfg.URLs[1], "http://")
	if n := len(told); n < 3 || told[0] != " false false" || told[1] != host+" false false" || told[n-1] != host+" true true" {
		t.Errorf("%q", told)
	}
}
