package coro

import (
	"slices"

	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
)

// freed finds out which frames are in memory that is in use. Frames in the part of a stack that is in use are. Those of
// the C library's main heap are if the heap's list of chunks, which begins at the heap's mapping, has one that begins
// there and is not free. Those whose chunk is free are dropped; of others it is not known. A chunk that glibc frees
// into a cache of a thread counts as in use, but then its first words, the frame's two functions, are overwritten.
func (s *reach) freed() {
	heaps := map[unwind.Address][]*coroutine{}
	gone := map[*coroutine]bool{}
	for _, c := range s.order {
		c.certainty = tasks.Possible
		if slices.ContainsFunc(s.stacks, func(r span) bool { return c.at >= r.at && c.at < r.end }) {
			c.certainty = tasks.Certain
		} else if m, ok := s.mapping(c.at); ok {
			heaps[m.Start] = append(heaps[m.Start], c)
		}
	}
	for start, list := range heaps {
		slices.SortFunc(list, func(a, b *coroutine) int { return int(int64(a.at - b.at)) })
		s.walkHeap(start, list, gone)
	}
	s.order = slices.DeleteFunc(s.order, func(c *coroutine) bool { return gone[c] })
	for _, c := range s.order {
		if gone[c.awaiter] {
			c.awaiter = nil
		}
	}
}

// maxChunks limits the chunks of a heap that are counted.
const maxChunks = 1 << 18

// prevInUse says in a chunk's size that the chunk before it is in use; the next two bits are flags, too.
const prevInUse = 1

// walkHeap goes through the chunks of a heap that begins at start, with the frames in it in order.
func (s *reach) walkHeap(start unwind.Address, list []*coroutine, gone map[*coroutine]bool) {
	m, ok := s.mapping(start)
	if !ok {
		return
	}
	header := s.word // the size is the second word of a chunk
	at := start
	for range maxChunks {
		if len(list) == 0 || s.p.Spend(1) != nil {
			return
		}
		size, err := s.ReadWord(at + header)
		if err != nil || at == start && size&7 != prevInUse {
			return
		}
		size &^= 7
		if size < 4*s.word || size%(2*s.word) != 0 || at+size < at || at+size > m.End {
			return
		}
		next := at + size
		for len(list) > 0 && list[0].at < next {
			c := list[0]
			list = list[1:]
			after, err := s.ReadWord(next + header)
			switch {
			case next == m.End || err == nil && after&prevInUse == 0:
				gone[c] = true // the last chunk is what has never been given out, or was given back
			case err == nil && c.at == at+2*s.word:
				c.certainty = tasks.Certain
			}
		}
		at = next
	}
}
