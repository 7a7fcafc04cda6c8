package dwarf

import "sync"

// A locCache remembers what long location lists have at an address: threads with the same stack ask for the same. Only what was read to a found entry, or to
// the list's end, is remembered.
type locCache struct {
	mu   sync.Mutex // guards list; no other lock is taken inside
	list map[locQuestion]locAnswer
}

// A locQuestion is a list, by the attribute that refers to it, and an address.
type locQuestion struct {
	list, pc uint64
	form     Form
}

type locAnswer struct {
	expr  []byte
	found bool
}

const (
	// rememberedList is how many entries have to be read for an answer that is remembered.
	rememberedList = 16
	// maxRemembered is how many answers of a unit are.
	maxRemembered = 4096
)

func (c *locCache) get(q locQuestion) (a locAnswer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok = c.list[q]
	return a, ok
}

func (c *locCache) put(q locQuestion, a locAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.list == nil {
		c.list = map[locQuestion]locAnswer{}
	}
	if len(c.list) < maxRemembered {
		c.list[q] = a
	}
}
