package lazy

import (
	"sync"
	"testing"
)

// A value is made at the first Get, once, however many goroutines want it.
func TestGet(t *testing.T) {
	made := 0
	v := Value[map[string]int]{Make: func() map[string]int { made++; return map[string]int{"a": 1} }}
	if made != 0 {
		t.Error("made before it is needed")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v.Get()["a"] != 1 {
				t.Error("another value")
			}
		})
	}
	wg.Wait()
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}
