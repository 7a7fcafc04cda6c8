package signature

import (
	"fmt"
	"sync"
	"testing"

	"github.com/corewalk/corewalk/report"
)

// TestCache: signatures with a warm cache equal those without a cache.
func TestCache(t *testing.T) {
	var c Cache
	r := abortReport()
	want := Of(r)
	for range 3 {
		if got := c.Of(r); got.Hash != want.Hash || got.Strict != want.Strict || got.String() != want.String() {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if n := len(r.Threads[0].Frames); len(c.known) != n {
			t.Fatalf("%d functions are remembered, of %d", len(c.known), n)
		}
	}
	r.Threads[0].Frames[3].Mismatched = true
	if got, want := c.Of(r), Of(r); got.Hash != want.Hash || got.Hash == c.Of(abortReport()).Hash {
		t.Errorf("with a file of another build %s, want %s", got.String(), want.String())
	}
	var work sync.WaitGroup
	for i := range 4 {
		work.Go(func() {
			for range 50 {
				r := abortReport()
				r.Threads[0].Frames[4].Symbol = string(rune('a' + i)) // new to the cache
				if got := c.Of(r); got.Hash != want.Hash {
					t.Errorf("%s, want %s", got.String(), want.String())
				}
			}
		})
	}
	work.Wait()
}

// TestCacheBound: a full cache forgets, and goes on.
func TestCacheBound(t *testing.T) {
	var c Cache
	for i := range maxKnown {
		c.learn(&report.Frame{Function: fmt.Sprint("f", i)})
	}
	if len(c.known) != maxKnown {
		t.Errorf("%d functions are remembered, want %d", len(c.known), maxKnown)
	}
	if m := c.learn(&report.Frame{Function: "g"}); m.name != "g" || len(c.known) != 1 {
		t.Errorf("after that %d functions, and %q", len(c.known), m.name)
	}
}

// TestCacheKeys: what the meaning of a frame depends on, even at one address: inlined functions have that of
// their caller.
func TestCacheKeys(t *testing.T) {
	frames := []report.Frame{
		{Function: "f", Module: "/lib/liba-1.so", Source: report.Source{File: "/src/a.c"}},
		{Function: "g", Module: "/lib/liba-1.so", Source: report.Source{File: "/src/a.c"}},
		{Function: "g", Module: "/lib/libb.so.2", Source: report.Source{File: "/src/a.c"}},
		{Function: "g", Module: "/lib/libb.so.2", Source: report.Source{File: "/src/b.c"}},
		{Function: "g", Module: "/lib/libb.so.2", Source: report.Source{File: "/src/b.c"}, Mismatched: true},
		{Function: "core::ops::f", Module: "/bin/app", Symbol: "_RNvx"},
		{Function: "core::ops::f", Module: "/bin/app", Symbol: "core::ops::f"},
		{Function: "core::ops::f", Module: "/bin/app", Symbol: "core::ops::f"}, // a recursion
	}
	want := []string{"f liba.so a.c", "g liba.so a.c", "g libb.so a.c", "g libb.so b.c", " libb.so b.c",
		"core::ops::f app . drop", "core::ops::f app .", "core::ops::f app ."}
	var c Cache
	for range 2 {
		for i, m := range c.meanings(frames) {
			got := m.name + " " + m.module + " " + m.file
			if m.rule != nil {
				got += " drop"
			}
			if got != want[i] {
				t.Errorf("frame %d: %q, want %q", i, got, want[i])
			}
		}
	}
}
