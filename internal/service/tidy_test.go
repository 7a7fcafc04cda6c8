package service

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Unfinished uploads are removed with their descriptions; those that somebody still sends stay, however old their beginning is.
func TestRemoveOld(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	if err := os.Mkdir(filepath.Join(dir, "p"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]time.Duration{"old": 3, "old.info": 4, "going": 0, "going.info": 4, "alone.info": 4} {
		path := filepath.Join(dir, "p", name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if err := removeOld(dir, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // what is left of "old" goes once its content is gone
		if err := removeOld(dir, now.Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, "p", "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if !slices.Equal(left, []string{"going", "going.info"}) {
		t.Errorf("left: %v", left)
	}
}

// Files that were put and never named are removed.
func TestPendingExpires(t *testing.T) {
	var p pendingUploads
	key := p.add("p")
	p.set(key, incoming(key), "")
	if expired := p.expired(time.Now()); len(expired) != 0 {
		t.Errorf("%v", expired)
	}
	p.list[key].until = time.Now().Add(-time.Second)
	if _, ok := p.get(key); ok {
		t.Error("it is still there")
	}
	if expired := p.expired(time.Now()); !slices.Equal(expired, []string{incoming(key)}) {
		t.Errorf("%v", expired)
	}
}
