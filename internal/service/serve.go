package service

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of connections.
const (
	headerTime = 20 * time.Second
	idleTime   = 2 * time.Minute
	// stallTime is how long a client may send nothing of a body, and take nothing of an answer.
	stallTime = time.Minute
	// drainTime is how long requests that have begun may still take when the service ends.
	drainTime = 30 * time.Second
)

// Serve serves connections until ctx is done, with TLS if cert and key are files. Then requests that have begun are answered, dumps
// that are being analysed are given back, and it ends.
func (s *Service) Serve(ctx context.Context, l net.Listener, cert, key string) error {
	l = atMost(cmp.Or(s.c.Connections, connections()), l)
	h := &http.Server{Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.c.Log.Handler(), slog.LevelDebug)}
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	worked, served := make(chan error, 1), make(chan error, 1)
	go func() { worked <- s.Run(working) }()
	go func() {
		if cert != "" {
			served <- h.ServeTLS(l, cert, key)
		} else {
			served <- h.Serve(l)
		}
	}()
	s.c.Log.Info("listening", "address", l.Addr().String(), "tls", cert != "")
	var err error
	select {
	case <-ctx.Done():
		s.c.Log.Info("draining")
	case err = <-served:
	case err = <-worked:
		worked <- nil
	}
	s.Drain()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if serr := h.Shutdown(end); err == nil && serr != nil {
		err = fmt.Errorf("requests were cut off: %w", serr)
	}
	stop()
	if werr := <-worked; err == nil {
		err = werr
	}
	s.c.Log.Info("ended")
	return err
}

// A patient body waits for each part of it, but not for ever. A whole body may take as long as it goes on, at leastRate.
type patient struct {
	io.ReadCloser
	c     *http.ResponseController
	begun time.Time
	n     int64
	ended bool // all of it has come
}

// leastRate is how many bytes of a body must come each second, after slowTime. A byte now and then would keep a connection for ever.
const (
	leastRate = 1 << 10
	slowTime  = 2 * stallTime
)

// until is when the next part must have come.
func (p *patient) until(now time.Time) time.Time {
	stalls, slow := now.Add(stallTime), p.begun.Add(slowTime+time.Duration(p.n)*time.Second/leastRate)
	if slow.Before(stalls) {
		return slow
	}
	return stalls
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.c.SetReadDeadline(p.until(time.Now())) // a test's recorder has none
	n, err := p.ReadCloser.Read(b)
	p.n += int64(n)
	if err == io.EOF { // the connection stays as it is while the answer is made
		p.ended = true
		_ = p.c.SetReadDeadline(time.Time{})
	}
	return n, err
}

// restTime is how long the rest of a body that nobody wants may take. The server reads it before it answers: clients that send all before they read would
// not see the answer.
const restTime = 3 * time.Second

// rest limits the time of the rest. Without it a byte now and then keeps a connection for ever, also that of somebody without a token.
func (p *patient) rest() {
	if !p.ended {
		_ = p.c.SetReadDeadline(time.Now().Add(restTime))
	}
}
