package debuginfod

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// A meter reads the body of an answer, counts what comes and ends what takes too
// long.
type meter struct {
	cfg     *Config
	ctx     context.Context // reading fails when it is done, of a local file as well
	body    io.Reader
	total   int64 // bytes that the body is said to have; negative when not known
	err     error // of reading, other than io.EOF
	got     atomic.Int64
	resting atomic.Bool
	tell    func(done int64) // nil, or told of what comes
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

// rest says whether nothing is wanted of the server at the moment.
func (m *meter) rest(yes bool) { m.resting.Store(yes) }

// watch returns a context that ends when the download takes too long; its cause
// says why. The caller ends it with stop.
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

// demand ends the download when minProgress has not come in one Timeout.
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
				rested = resting // part of this Timeout did not count
			} else if n-last < minProgress {
				cancel(errSlow)
				return
			}
			last = n
		}
	}
}
