package command

// growStack makes the goroutine's stack as large as reports need it, all at once and while there is little on it to
// copy. It would grow from 8 KB, and each time the runtime copies every frame. A collection shrinks it again.
//
//go:noinline
func growStack(use bool) (last byte) {
	if use { // never: what is not used is not cleared, and needs no memory
		var frame [48 << 10]byte
		for i := range frame {
			frame[i] = last
			last += frame[i/2] + 1
		}
	}
	return last
}
