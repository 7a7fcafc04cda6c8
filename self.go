package corewalk

import (
	"context"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/livestate"
)

// Self makes a Target of this program: its one thread is the calling goroutine, whose
// youngest frame is that of the function which called Self. The goroutine's registers
// and stack are copied at once, so what is walked later is where it was then; C's
// frames, where C called Go, are there until that call returns. Other memory is read
// when it is wanted.
//
//go:noinline
func Self(ctx context.Context, opts ...Option) (*Target, error) {
	p, err := livestate.Self(1)
	if err != nil {
		return nil, err
	}
	cfg := newConfig(opts)
	return open(ctx, subject.OfSelf(p), "this program", cfg)
}
