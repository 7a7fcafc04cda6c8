package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/files/reach"
	"github.com/corewalk/corewalk/internal/service"
	"github.com/corewalk/corewalk/internal/service/fleet"
	"github.com/corewalk/corewalk/internal/service/notify"
	"github.com/corewalk/corewalk/internal/service/objects"
	"github.com/corewalk/corewalk/internal/service/store"
	"github.com/corewalk/corewalk/internal/triage/ledger"
)

// A server is one of several services on one database and one directory.
type server struct {
	t    testing.TB
	url  string
	db   *fleet.Store
	stop func()
}

// serves starts a service of a world.
func (w *world) serves(dir string, change func(*service.Config)) *server {
	w.t.Helper()
	db, err := fleet.Open(w.t.Context(), w.connect(w.server.Connection()), w.log, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	files, err := objects.OpenShared(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	c := service.Config{Store: db, Objects: files, Uploads: w.t.TempDir(), Log: w.log, Fresh: 20 * time.Millisecond, Detect: 30 * time.Millisecond, NoticeWait: 50 * time.Millisecond,
		Notify: notify.New(reach.Local, nil), Hourly: 10_000, Ledger: func(context.Context, string) (ledger.Store, error) { return borrowed{w.ledger}, nil }}
	if change != nil {
		change(&c)
	}
	s, err := service.New(c)
	if err != nil {
		w.t.Fatal(err)
	}
	front := httptest.NewServer(s)
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		front.Close()
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return &server{w.t, front.URL, db, stop}
}

// borrowed is the ledger of the test, which a service must not close.
type borrowed struct{ ledger.Store }

func (borrowed) Close() error { return nil }

// do sends a request, whose answer must be 2xx, and returns that.
func (s *server) do(token, method, path, body string) string {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode/100 != 2 {
		s.t.Errorf("%s %s: %d %s %v", method, path, a.StatusCode, text, err)
	}
	return string(text)
}

// told counts messages by event and group; the first of each fails.
type told struct {
	*httptest.Server
	mu   sync.Mutex // guards the two below
	seen map[string]int
	took map[string]int
}

func listen(t *testing.T) *told {
	n := &told{seen: map[string]int{}, took: map[string]int{}}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		key := m.Event + " " + m.Group
		if n.seen[m.ID]++; n.seen[m.ID] == 1 {
			w.WriteHeader(503) // any of the services sends it again
			return
		}
		n.took[key]++
	}))
	t.Cleanup(n.Close)
	return n
}

// count says how many messages of an event were taken, of how many groups.
func (n *told) count(event string) (messages, groups int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, times := range n.took {
		if strings.HasPrefix(key, event+" ") {
			messages, groups = messages+times, groups+1
		}
	}
	return messages, groups
}

func (n *told) wait(t *testing.T, event string, groups int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, have := n.count(event); have >= groups {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", event, n.took)
		}
	}
}

// Two services on one database: what both are sent at once is there once, people are told once, whichever sends it, what is decided with the one the other knows,
// and when one ends the other goes on.
func TestTwoServices(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	both := [2]*server{w.serves(dir, nil), w.serves(dir, nil)}
	w.worker("one", time.Minute)
	w.worker("two", time.Minute)
	token, _, err := service.NewToken(t.Context(), w.store, "shop", service.Scopes(), "all")
	if err != nil {
		t.Fatal(err)
	}
	hook := listen(t)
	const api = "/api/v1/projects/shop"
	both[0].do(token, "POST", api+"/hooks", fmt.Sprintf(`{"kind":"webhook","to":%q,"events":["new","regressed"]}`, hook.URL))
	const n, clients = 160, 4
	var sending sync.WaitGroup
	for c := range clients {
		sending.Go(func() {
			for i := c; i < n; i += clients {
				path, body := api+"/dumps?build=b1", fmt.Sprint("dump ", i)
				if i%4 == 0 { // the same to both at the same moment
					var two sync.WaitGroup
					for _, s := range both {
						two.Go(func() { s.do(token, "POST", path, body) })
					}
					two.Wait()
				} else {
					both[i%2].do(token, "POST", path, body)
				}
			}
		})
	}
	sending.Wait()
	groups := map[string]int{}
	times := 0
	for _, u := range w.settled(n, store.Done) {
		groups[u.Group]++
		times += u.Times
	}
	if times != n+n/4 || w.counted() != n {
		t.Errorf("sent %d times, counted %d", times, w.counted())
	}
	hook.wait(t, "new", len(groups))

	// Both forget at the same time: each dump is forgotten by one.
	var forgetting sync.WaitGroup
	var mu sync.Mutex
	gone := map[string]int{}
	for _, s := range both {
		forgetting.Go(func() {
			for {
				list, err := s.db.Forget(t.Context(), "shop", store.Retention{PerGroup: 3}, 10)
				if err != nil {
					t.Error(err)
				}
				if err != nil || len(list) == 0 {
					return
				}
				mu.Lock()
				for _, u := range list {
					gone[u.ID]++
				}
				mu.Unlock()
			}
		})
	}
	forgetting.Wait()
	want := 0
	for _, c := range groups {
		want += max(c-3, 0)
	}
	for id, times := range gone {
		if times != 1 {
			t.Errorf("%s is forgotten %d times", id, times)
		}
	}
	if len(gone) != want {
		t.Errorf("%d are forgotten, want %d", len(gone), want)
	}

	// What one decides, the other knows at once; the first ends, and the other tells of what is back.
	var some string
	for g := range groups {
		some = g
	}
	both[0].do(token, "POST", api+"/releases", `{"release":"1.4"}`)
	both[0].do(token, "PUT", api+"/groups/"+some+"/state", `{"state":"fixed","release":"1.4"}`)
	if text := both[1].do(token, "GET", api+"/groups/"+some, ""); !strings.Contains(text, `"state":"fixed"`) {
		t.Errorf("%.300s", text)
	}
	both[0].stop()
	for i := n; ; i++ {
		if i > n+400 {
			t.Fatal("no dump of the group came")
		}
		var u struct{ ID string }
		if err := json.Unmarshal([]byte(both[1].do(token, "POST", api+"/dumps?release=1.5", fmt.Sprint("dump ", i))), &u); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(u.ID, some) {
			break
		}
	}
	hook.wait(t, "regressed", 1)
	time.Sleep(500 * time.Millisecond) // what would be told twice comes now
	for _, event := range []string{"new", "regressed"} {
		if messages, groups := hook.count(event); messages != groups {
			t.Errorf("%s: %d messages of %d groups: %v", event, messages, groups, hook.took)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "tmp", "*", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A message that a service took and died with is sent by another when its lease is over, and by nobody before.
func TestNoticeLease(t *testing.T) {
	w := newWorld(t)
	one, two := w.serves(t.TempDir(), func(c *service.Config) { c.Detect = time.Hour }), w.serves(t.TempDir(), func(c *service.Config) { c.Detect = time.Hour })
	one.stop()
	two.stop()
	at := time.Now()
	h := store.Hook{ID: "h", Project: "shop", Kind: "webhook", To: "http://127.0.0.1:1", Events: []string{store.EventNew}}
	if err := w.store.AddHook(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := w.store.Notify(t.Context(), "shop", fmt.Sprint("g", i), store.EventNew, at, at); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	taken := map[string]int{}
	take := func(now time.Time) {
		var all sync.WaitGroup
		for _, s := range []*server{one, two, one, two} {
			all.Go(func() {
				for {
					n, err := s.db.TakeNotice(t.Context(), now, now.Add(time.Minute))
					if err != nil {
						return
					}
					mu.Lock()
					taken[n.ID]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	later := at.Add(time.Second)
	take(later)
	take(later.Add(30 * time.Second)) // nobody else has them meanwhile
	for id, times := range taken {
		if times != 1 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
	if len(taken) != 20 {
		t.Errorf("%d notices", len(taken))
	}
	take(later.Add(2 * time.Minute)) // those who took them have died
	for id, times := range taken {
		if times != 2 {
			t.Errorf("%s was taken %d times", id, times)
		}
	}
}
