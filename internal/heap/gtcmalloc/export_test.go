package gtcmalloc

// Chosen are how many blocks are sampled, and how many of them guarded.
func (h *Heap) Chosen() (sampled, guarded int) {
	for i := range h.all() {
		s := &h.spans[i]
		if s.sample != 0 {
			sampled++
		}
		if _, _, ok := h.guarded(s); ok {
			guarded++
		}
	}
	return sampled, guarded
}
