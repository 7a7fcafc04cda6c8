package corewalk

import (
	"context"

	"github.com/corewalk/corewalk/internal/why/subject"
	"github.com/corewalk/corewalk/livestate"
)

// Self makes a Target of the calling program. It has one thread, the calling goroutine,
// and its youngest frame is that of the function that called Self. Self copies the
// goroutine's registers and stack, so that a later walk shows them as they were. If C
// called Go, C's frames can be walked until that call returns. Other memory is read when
// it is needed. When ctx is done, no more files are fetched.
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
