package coro

import (
	"context"
	"testing"
)

// TestPointsTo: a frame awaits another if a variable of it has the other's handle, or a pointer to its promise. What its promise has is who
// awaits it, and what lies behind its end is not its own.
func TestPointsTo(t *testing.T) {
	const other = heapAt + 0xa0
	described := &layout{size: 0x60, promise: [2]uint64{0x10, 0x30}}
	for _, c := range []struct {
		name   string
		layout *layout
		at     uint64 // where in the frame
		value  uint64
		want   bool
	}{
		{"a variable", described, 0x30, other, true},
		{"a variable, the promise", described, 0x38, other + 0x10, true},
		{"the last variable", described, 0x58, other, true},
		{"the promise", described, 0x28, other, false},
		{"before the promise", described, 8, other, false},
		{"behind the end", described, 0x60, other, false},
		{"inside of the other", described, 0x30, other + 8, false},
		{"nothing describes it", nil, 0x10, other, true},
		{"nothing describes it: the functions", nil, 8, other, false},
		{"nothing describes it: the last word", nil, defaultBytes - 8, other, true},
		{"nothing describes it: too far", nil, defaultBytes, other, false},
		{"of an unknown size", &layout{promise: [2]uint64{0x10, 0x30}}, defaultBytes - 8, other, true},
	} {
		r, p := fake(nil)
		from := &coroutine{at: heapAt + 0x10, fn: &function{layout: c.layout}}
		for at := uint64(0); at < 0x200; at += 8 {
			p.mem[from.at+at] = 0
		}
		p.mem[from.at+c.at] = c.value
		if got := r.newReach(context.Background()).pointsTo(from, &coroutine{at: other}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	r, p := fake(nil)
	from := &coroutine{at: heapAt + 0x10, fn: &function{layout: described}}
	delete(p.mem, from.at+0x30)
	p.mem[from.at+0x38] = other
	if r.newReach(context.Background()).pointsTo(from, &coroutine{at: other}) {
		t.Error("found behind memory that is not there")
	}
}
