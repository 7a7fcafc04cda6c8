package debuginfod

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
)

// A meter reads the body of a response, counts its bytes and cancels a download that takes
// too long.
type meter struct {
	cfg     *settings.Config
	ctx     context.Context // reading fails once it is done, also from a local file
	body    io.Reader
	total   int64 // announced size of the body; negative if unknown
	err     error // read error other than io.EOF
	got     atomic.Int64
	resting atomic.Bool
	tell    func(done int64) // if not nil, called with the number of bytes read
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := 0, m.ctx.Err()
	if err == nil {
		n, err = m.body.Read(p)
	}
	got := m.got.Add(int64(n))
	if err != nil && err != io.EOF {
		m.err = err
	}
	if m.tell != nil {
		m.tell(got)
	}
	return n, err
}

// rest says whether the download is paused, so that the server is not expected to send.
func (m *meter) rest(yes bool) { m.resting.Store(yes) }

// watch returns a context that is cancelled when the download takes too long; its cause says
// why. The caller must call stop.
func (m *meter) watch(ctx context.Context) (watched context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	release := context.CancelFunc(func() {})
	if m.cfg.MaxTime > 0 {
		ctx, release = context.WithTimeoutCause(ctx, m.cfg.MaxTime, errMaxTime)
	}
	if m.cfg.Timeout > 0 {
		go m.demand(ctx, cancel)
	}
	return ctx, func() {
		release()
		cancel(nil)
	}
}

// demand cancels the download if less than minProgress arrives during a Timeout.
func (m *meter) demand(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(m.cfg.Timeout)
	defer tick.Stop()
	for last, rested := int64(0), false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n := m.got.Load()
			if resting := m.resting.Load(); resting || rested {
				rested = resting // paused during part of this Timeout
			} else if n-last < minProgress {
				cancel(errSlow)
				return
			}
			last = n
		}
	}
}
