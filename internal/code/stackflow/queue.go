package stackflow

// A queue hands addresses out by rising order, so that code is decoded and run
// through in the order in which it mostly lies: what comes before a place is
// known when that is looked at. It is a binary heap.
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
