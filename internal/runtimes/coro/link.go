package coro

import "github.com/corewalk/corewalk/unwind"

// link finds who awaits whom: the promise of a coroutine has the handle of the one that goes on when it ends.
func (s *reach) link() {
	for _, c := range s.order {
		low, high := uint64(2*s.word), uint64(3*s.word) // where nothing describes the promise
		if l := c.fn.layout; l != nil && l.promise[1] > l.promise[0] {
			low, high = l.promise[0], min(l.promise[1], maxObject)
		}
		if c.done {
			continue
		}
		for at := (low + s.word - 1) &^ (s.word - 1); at+s.word <= high; at += s.word {
			v, err := s.ReadWord(c.at + at)
			if err != nil {
				break
			}
			if to := s.pointee(v); to != nil && to != c && !to.done {
				c.awaiter = to
				break
			}
		}
		if c.awaiter == nil {
			continue
		}
		c.awaiter.awaited = true
		c.mutual = s.pointsTo(c.awaiter, c)
	}
}

// pointee is the frame that a handle, or a pointer to a promise, refers to.
func (s *reach) pointee(v unwind.Address) *coroutine {
	if c := s.found[v]; c != nil {
		return c
	}
	return s.found[v-2*s.word]
}

// pointsTo reports whether a frame has a handle of another outside its promise.
func (s *reach) pointsTo(from, to *coroutine) bool {
	low, size := uint64(2*s.word), uint64(defaultBytes)
	if l := from.fn.layout; l != nil && l.size != 0 {
		low, size = max(low, l.promise[1]), min(l.size, maxObject)
	}
	for at := (low + s.word - 1) &^ (s.word - 1); at+s.word <= size; at += s.word {
		v, err := s.ReadWord(from.at + at)
		if err != nil {
			return false
		}
		if v == to.at || v == to.at+2*s.word {
			return true
		}
	}
	return false
}
