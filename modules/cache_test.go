package modules_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/modules"
	"github.com/corewalk/corewalk/unwind"
)

// one asks a new set of a cache for a file.
func one(t *testing.T, cache *modules.Cache, path string) (*modules.Set, *modules.Image) {
	t.Helper()
	set, err := modules.New(context.Background(), regions{}, modules.WithCache(cache))
	if err != nil {
		t.Fatal(err)
	}
	im := set.Image(&libstate.Library{Path: path, BuildID: idA})
	if im == nil || !isMapped(t, path) {
		t.Fatal("the file is not open")
	}
	return set, im
}

func closes(t *testing.T, c interface{ Close() error }) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// Sets share the files of a cache; they stay open between sets, and until both the cache
// and the last set are closed.
func TestCacheKeepsFiles(t *testing.T) {
	path := put(t, elfWith(idA, code), t.TempDir(), "libx.so")
	cache := modules.NewCache(context.Background(), 0)
	first, im := one(t, cache, path)
	second, again := one(t, cache, path)
	if im != again {
		t.Error("a file is opened twice")
	}
	closes(t, first)
	closes(t, second)
	if !isMapped(t, path) {
		t.Error("closed with the sets")
	}
	third, again := one(t, cache, path)
	if im != again {
		t.Error("not kept between sets")
	}
	fourth, _ := one(t, cache, path)
	closes(t, cache)
	closes(t, cache)
	closes(t, third)
	if !isMapped(t, path) {
		t.Error("closed while a set has it")
	}
	closes(t, fourth)
	if isMapped(t, path) {
		t.Error("open after the last set")
	}
	// A cache can be used again.
	fifth, _ := one(t, cache, path)
	closes(t, fifth)
	closes(t, cache)
	if isMapped(t, path) {
		t.Error("open after the cache, which no set uses")
	}
	closes(t, modules.NewCache(context.Background(), 0))
}

// A cache that exceeds its budget starts anew with the next set; the old files stay with
// the sets that have them.
func TestCacheBudget(t *testing.T) {
	path := put(t, elfWith(idA, code), t.TempDir(), "libx.so")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for budget, keeps := range map[int64]bool{0: true, 1: false, st.Size() - 1: false, st.Size(): true, st.Size() + 1: true} {
		cache := modules.NewCache(context.Background(), budget)
		first, im := one(t, cache, path)
		second, again := one(t, cache, path)
		if (im == again) != keeps {
			t.Errorf("budget %d: kept %v", budget, im == again)
		}
		closes(t, second)
		if got := first.Image(&libstate.Library{Path: path, BuildID: idA}); got != im || got.BuildID() == nil {
			t.Error("a set lost its file")
		}
		closes(t, cache)
		if !isMapped(t, path) {
			t.Errorf("budget %d: the first set's file is closed", budget)
		}
		closes(t, first)
		if isMapped(t, path) {
			t.Errorf("budget %d: a file stays open", budget)
		}
	}
}

// An old generation that no set uses is closed when the next begins.
func TestCacheRetiresUnused(t *testing.T) {
	dir := t.TempDir()
	path, next := put(t, elfWith(idA, code), dir, "libx.so"), put(t, elfWith(idA, code), dir, "liby.so")
	cache := modules.NewCache(context.Background(), 1)
	set, _ := one(t, cache, path)
	closes(t, set)
	set, _ = one(t, cache, next)
	if isMapped(t, path) {
		t.Error("the old file is open")
	}
	closes(t, set)
	closes(t, cache)
}

// What says where files are belongs to the cache; what says so about one dump does not.
func TestCacheOptions(t *testing.T) {
	dir := t.TempDir()
	path := put(t, elfWith(idA, code), dir, "libx.so")
	var asked []modules.StoreKey
	var kinds []string
	cache := modules.NewCache(context.Background(), 0, someOption)
	defer cache.Close()
	for name, c := range map[string]struct {
		opt modules.Option
		ok  bool
	}{
		"sysroot":         {modules.WithSysroot(dir), false},
		"process root":    {modules.WithProcessRoot(dir), false},
		"debug directory": {modules.WithDebugDir(dir), false},
		"search":          {modules.WithSearch(dir), false},
		"symbol path":     {modules.WithSymbolPath(dir), false},
		"fetcher":         {modules.WithFetcher(server{asked: &kinds}), false},
		"symbol fetcher":  {modules.WithSymbolFetcher(store{asked: &asked}), false},
		"held files":      {modules.WithHeldFiles(func(string, bool) []string { return nil }), false},
		"executable":      {modules.WithExecutable(path), true},
		"beside":          {modules.WithBeside(dir), true},
		"force":           {modules.WithForceMismatched(), true},
	} {
		set, err := modules.New(context.Background(), regions{}, modules.WithCache(cache), c.opt)
		if c.ok != (err == nil) || !c.ok && !errors.Is(err, unwind.ErrBadParam) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		lib := &libstate.Library{Path: "/none/libx.so", BuildID: idA}
		if r := set.Resolve(lib); (r.Path == path) != (name != "force") {
			t.Errorf("%s: %+v", name, r)
		}
		closes(t, set)
	}
}
