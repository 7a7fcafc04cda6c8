package analysis

// Values beside one another that are of one kind.

// A run is text that goes on to a word in memory and beyond, or else a series of numbers there: each as much more than the one before.
type run struct {
	from, end uint64
	text      bool
}

// runAround is the run that has a word in memory: that word alone if there is none.
func (c *crash) runAround(at uint64) run {
	w := uint64(c.arch.WordSize)
	none := run{from: at, end: at + w}
	low := at - min(at, maxRun)
	var b []byte
	for b == nil && low <= at {
		if b = c.mem.Bytes(low, int(at+w-low)); b == nil { // the memory begins nearer
			low += (at-low)/2 + 1
		}
	}
	if b == nil {
		return none
	}
	b = append(b, c.mem.Some(at+w, maxRun)...)
	k, end := int(at-low), int(at-low)
	for end < len(b) && printable(b[end]) {
		end++
	}
	if end-k >= minText {
		for k > 0 && printable(b[k-1]) {
			k--
		}
		return run{from: low + uint64(k), end: low + uint64(end), text: true}
	}
	for _, size := range []int{int(w), 4} {
		if first, last, ok := c.series(b, k, size, int(w)); ok {
			return run{from: low + uint64(first), end: low + uint64(last)}
		}
	}
	return none
}

// series is from where to where numbers of some bytes go on in b, each as much more than the one before, to the word at k and beyond.
func (c *crash) series(b []byte, k, size, word int) (from, end int, ok bool) {
	number := func(i int) uint64 {
		if size == 4 {
			return uint64(c.arch.ByteOrder.Uint32(b[i:]))
		}
		return c.arch.Word(b[i:])
	}
	if k < size || k+word > len(b) {
		return 0, 0, false
	}
	cut := ^uint64(0) >> (64 - 8*size)
	first := number(k)
	step := (first - number(k-size)) & cut
	if first == 0 || step == 0 || step > maxStep && -step&cut > maxStep {
		return 0, 0, false
	}
	for end = k + size; end+size <= len(b) && (number(end)-number(end-size))&cut == step; end += size {
	}
	if end < k+word {
		return 0, 0, false // not all of the word
	}
	for from = k; from >= size && number(from-size) != 0 && (number(from)-number(from-size))&cut == step; from -= size {
	}
	return from, end, true
}
