package debuginfod

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// pace is how often Progress is called for one download.
const pace = 100 * time.Millisecond

// A meter reads the body of an answer, counts what comes and tells of it.
type meter struct {
	cfg      *Config
	body     io.Reader
	err      error // of reading, other than io.EOF
	got      atomic.Int64
	progress Progress
	told     time.Time
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.body.Read(p)
	m.got.Add(int64(n))
	if err != nil && err != io.EOF {
		m.err = err
	}
	if time.Since(m.told) >= pace {
		m.tell()
	}
	return n, err
}

func (m *meter) tell() {
	if m.cfg.Progress == nil {
		return
	}
	m.told = time.Now()
	m.progress.Done = m.got.Load()
	m.cfg.Progress(m.progress)
}

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
		m.progress.Ended = true
		m.tell()
	}
}

// demand ends the download when minProgress has not come in one Timeout.
func (m *meter) demand(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(m.cfg.Timeout)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n := m.got.Load()
			if n-last < minProgress {
				cancel(errSlow)
				return
			}
			last = n
		}
	}
}
