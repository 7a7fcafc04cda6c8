package stackflow

// A queue returns addresses in ascending order, so that code is decoded and executed in the
// order in which it usually lies: what precedes a place is then known when the place is
// reached. It is a binary heap.
type queue []uint64

func (q *queue) push(addr uint64) {
	h := append(*q, addr)
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[up] <= h[i] {
			break
		}
		h[up], h[i] = h[i], h[up]
		i = up
	}
	*q = h
}

func (q *queue) pop() uint64 {
	h := *q
	least := h[0]
	n := len(h) - 1
	h[0] = h[n]
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && h[down+1] < h[down] {
			down++
		}
		if h[i] <= h[down] {
			break
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
	*q = h
	return least
}
