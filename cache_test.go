package corewalk_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// analyzed is the text of a fixture's report.
func analyzed(t testing.TB, core string, opts ...corewalk.Option) string {
	t.Helper()
	target, err := corewalk.Open(context.Background(), core, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := target.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, f := range r.Threads[0].Frames {
		text += f.Function + " " + f.Source.File + "\n"
	}
	return text
}

// TestCache analyses dumps with shared files, one after the other and several at a
// time, with budgets that keep all files and none.
func TestCache(t *testing.T) {
	names := []string{"amd64-inline-tail-O2", "amd64-cxx-sort", "amd64-inline-tail-O2"}
	for _, budget := range []int64{0, 1} {
		var want []string
		first := fixture.Get(t, names[0])
		cache := corewalk.NewCache(context.Background(), budget, corewalk.WithSysroot(first.Sysroot(t)))
		for _, n := range names {
			c := fixture.Get(t, n)
			want = append(want, analyzed(t, c.Core(t), corewalk.WithExecutable(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t))))
		}
		var wg sync.WaitGroup
		for round := range 4 {
			for i, n := range names {
				c := fixture.Get(t, n)
				core, exe := c.Core(t), c.Binary(t)
				check := func() {
					if got := analyzed(t, core, corewalk.WithExecutable(exe), corewalk.WithCache(cache)); got != want[i] {
						t.Errorf("budget %d: %s with a shared cache:\n%s\nwant\n%s", budget, n, got, want[i])
					}
				}
				if round == 0 {
					check()
					continue
				}
				wg.Go(check)
			}
		}
		wg.Wait()
		if err := cache.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCacheRefusesDirectories(t *testing.T) {
	c := fixture.Get(t, "amd64-inline-tail-O2")
	cache := corewalk.NewCache(context.Background(), 0)
	defer cache.Close()
	target, err := corewalk.Open(context.Background(), c.Core(t), corewalk.WithCache(cache), corewalk.WithSearch(t.TempDir()))
	if !errors.Is(err, unwind.ErrBadParam) || target != nil {
		t.Errorf("error %v", err)
	}
}
