package modules

import (
	"context"
	"testing"
)

// TestUnkeptIsBounded: a list has each section once, as far as any says, and ends at a limit; so does what is kept of
// one that another process made.
func TestUnkeptIsBounded(t *testing.T) {
	var list []Unkept
	for i := range 3 * maxUnkept {
		list = AddUnkept(list, Unkept{"/usr/lib/x", i, 5}, Unkept{"/usr/lib/x", 0, uint64(i)})
	}
	if len(list) != maxUnkept || list[0].End != 3*maxUnkept-1 {
		t.Errorf("%d, the first as far as %d", len(list), list[0].End)
	}
	c := NewCache(context.Background(), 0)
	defer c.Close()
	if err := c.KeepAlso(make([]Unkept, 1<<20)); err != nil || len(c.Unkept()) != 0 {
		t.Errorf("%v: %v", c.Unkept(), err)
	}
}
