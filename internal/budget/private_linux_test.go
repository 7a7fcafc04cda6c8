package budget

import (
	"context"
	"testing"
	"time"
)

// What the program has touched counts, and memory over the limit is seen.
func TestPrivate(t *testing.T) {
	before, ok := private()
	if !ok {
		t.Fatal("this process's memory is not known")
	}
	const more = 96 << 20
	b := make([]byte, more)
	for i := 0; i < len(b); i += 512 {
		b[i] = 1
	}
	after, _ := private()
	if after < before+more/2 || after > before+2*more {
		t.Errorf("%d bytes before, %d after %d more were written", before, after, more)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	over := false
	WatchMemory(ctx, more, func() { over = true })
	if !over {
		t.Errorf("%d bytes are not seen to be more than %d", after, more)
	}
	if b[512] != 1 {
		t.Error("the memory is gone")
	}
}

// Below the limit, nothing is said.
func TestWatchBelow(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 4*watchEvery)
	defer cancel()
	WatchMemory(ctx, 1<<40, func() { t.Error("this process is said to have more than 1 TiB") })
}
