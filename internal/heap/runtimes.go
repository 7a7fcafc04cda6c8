package heap

import "sync"

// Objects of a runtime lie in a heap of its own, of type H. An OwnHeap finds it when it is first asked for. It is safe for concurrent use.
type OwnHeap[H interface {
	comparable
	Allocator
}] struct {
	// Find returns the heap; H's zero value if there is none. The error says why it cannot be read.
	Find func() (H, error)

	once sync.Once
	heap H
	err  error
}

// Known is the heap that Find found.
func (o *OwnHeap[H]) Known() H {
	o.once.Do(func() { o.heap, o.err = o.Find() })
	return o.heap
}

// Allocator is the same for Owner: nil if there is none.
func (o *OwnHeap[H]) Allocator() Allocator {
	var none H
	if h := o.Known(); h != none {
		return h
	}
	return nil
}

// Unknown is why the heap of a language cannot be read, for Objects; "" if it can be, or if there is none.
func (o *OwnHeap[H]) Unknown(language string) string {
	if o.Known(); o.err != nil {
		return language + "'s: " + o.err.Error()
	}
	return ""
}
