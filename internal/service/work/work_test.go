package work

import (
	"testing"
	"time"
)

// Processes that analyse dumps end once files came for their project, and after some time: another process may have stored some.
func TestOld(t *testing.T) {
	w := New(Config{Age: time.Hour})
	began := func(project string, age time.Duration) *run {
		return &run{w: w, project: project, began: time.Now().Add(-age), renewals: w.renewals(project)}
	}
	a, b, late := began("a", 0), began("b", 0), began("b", 2*time.Hour)
	if a.old() || b.old() || !late.old() {
		t.Errorf("%v %v %v", a.old(), b.old(), late.old())
	}
	w.Renew("a")
	if !a.old() || b.old() || began("a", 0).old() {
		t.Errorf("after files of a: %v %v %v", a.old(), b.old(), began("a", 0).old())
	}
	if age := New(Config{}).c.Age; age != 5*time.Minute {
		t.Errorf("by default they live for %v", age)
	}
}
