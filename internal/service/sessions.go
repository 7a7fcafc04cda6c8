package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/corewalk/corewalk/internal/service/question"
	"github.com/corewalk/corewalk/report"
)

// A Conversation is with a process that has a dump open: lines of JSON of package question. Close ends the process; the error says why, if it
// ended by itself.
type Conversation interface {
	io.ReadWriter
	Close() error
}

// Limits of open dumps.
const (
	maxOpen = 4
	// openIdle is how long a dump stays open that nobody asks about.
	openIdle = 2 * time.Minute
	// maxAnswer is the size of an answer, in bytes.
	maxAnswer = 16 << 20
	// answerGrace is how much longer than an answer may take the service waits for it: the process itself ends what takes too long.
	answerGrace = 5 * time.Second
)

// sessions are dumps that are open, so that questions about them are answered at once. Each is open in a process of its own, in the sandbox. What
// is asked says where it is in the dump: it does not matter whether the dump was closed meanwhile.
type sessions struct {
	begin func(ctx context.Context, project, path string) (Conversation, error)
	idle  time.Duration
	limit time.Duration // for one answer, at which the process is ended

	mu    sync.Mutex           // guards the two below; no other lock is taken inside
	open  map[string]*openDump // by project and identifier
	ended bool
	all   sync.WaitGroup
}

// An openDump is used by one question at a time.
type openDump struct {
	turn  chan struct{} // has an element while nobody asks
	users int           // who ask, or wait for their turn; this, used and gone are guarded by sessions.mu
	used  time.Time
	gone  bool         // it is not among those that are open: the last user closes it
	close func() error // of the process

	to      Conversation
	answers *bufio.Reader
}

var errBusy = httpError{http.StatusServiceUnavailable, "too many dumps are being looked at: try again in a moment"}

// ask asks about a dump; at opens its file.
func (s *sessions) ask(ctx context.Context, project, id string, q question.Question, at func() (path string, release func(), err error)) (a question.Answer, err error) {
	key := project + "/" + id
	d, err := s.use(key)
	if err != nil {
		return a, err
	}
	select {
	case <-d.turn:
	case <-ctx.Done():
		s.done(d)
		return a, ctx.Err()
	}
	type result struct {
		a   question.Answer
		err error
	}
	got := make(chan result, 1)
	s.all.Go(func() { // it goes on when the client has gone: the next question needs an answer that has been read
		defer s.done(d)
		defer func() { d.turn <- struct{}{} }()
		a, err := d.exchange(context.WithoutCancel(ctx), s, project, q, at)
		if err != nil {
			s.forget(key, d)
		}
		got <- result{a, err}
	})
	select {
	case r := <-got:
		return r.a, r.err
	case <-ctx.Done():
		return a, ctx.Err()
	}
}

// use returns an open dump, or room for one that is to be opened. That which nobody has asked about for longest makes room.
func (s *sessions) use(key string) (*openDump, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, httpError{http.StatusServiceUnavailable, "the service ends"}
	}
	d := s.open[key]
	if d == nil {
		if len(s.open) >= maxOpen {
			oldest := ""
			for k, x := range s.open {
				if x.users == 0 && (oldest == "" || x.used.Before(s.open[oldest].used)) {
					oldest = k
				}
			}
			if oldest == "" {
				return nil, errBusy
			}
			s.end(oldest)
		}
		if s.open == nil {
			s.open = map[string]*openDump{}
		}
		d = &openDump{turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		s.open[key] = d
	}
	d.users++
	return d, nil
}

func (s *sessions) done(d *openDump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.users--
	d.used = time.Now()
	switch {
	case d.users > 0:
	case d.gone:
		s.stop(d)
	default:
		time.AfterFunc(s.idle+time.Millisecond, s.tidy)
	}
}

// tidy closes dumps that nobody has asked about for some time.
func (s *sessions) tidy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, d := range s.open {
		if d.users == 0 && time.Since(d.used) >= s.idle {
			s.end(key)
		}
	}
}

// end closes a dump, once those who ask have their answers. mu is locked.
func (s *sessions) end(key string) {
	d := s.open[key]
	delete(s.open, key)
	d.gone = true
	if d.users == 0 {
		s.stop(d)
	}
}

// stop ends the process of a dump that nobody uses.
func (s *sessions) stop(d *openDump) { s.all.Go(func() { _ = d.stop() }) }

// forget closes a dump whose process does not answer.
func (s *sessions) forget(key string, d *openDump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[key] == d {
		s.end(key)
	}
}

// drop closes a dump that is removed, or may be read in another way from now on.
func (s *sessions) drop(project, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := project + "/" + id; s.open[key] != nil {
		s.end(key)
	}
}

// shut closes all dumps.
func (s *sessions) shut() {
	s.mu.Lock()
	s.ended = true
	for key := range s.open {
		s.end(key)
	}
	s.mu.Unlock()
	s.all.Wait()
}

// count is how many dumps are open.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// stop ends the process. The caller has the turn, or nobody uses the dump.
func (d *openDump) stop() error {
	if d.close == nil {
		return nil
	}
	defer func() { d.close = nil }()
	return d.close()
}

// exchange asks and reads the answer. The dump is opened if it is not. With an error it is closed.
func (d *openDump) exchange(ctx context.Context, s *sessions, project string, q question.Question, at func() (string, func(), error)) (a question.Answer, err error) {
	if d.close == nil {
		path, release, err := at()
		if err != nil {
			return a, err
		}
		c, err := s.begin(ctx, project, path)
		if err != nil {
			release()
			return a, err
		}
		d.to, d.answers = c, bufio.NewReader(c)
		d.close = func() error {
			defer release()
			return c.Close()
		}
	}
	b, err := report.JSON(q, "")
	if err != nil {
		return a, err
	}
	late := make(chan struct{})
	timer := time.AfterFunc(s.limit, func() {
		defer close(late)
		_ = d.to.Close()
	})
	_, err = d.to.Write(append(b, '\n'))
	var line []byte
	if err == nil {
		line, err = readAnswer(d.answers)
	}
	if !timer.Stop() {
		<-late
		_ = d.stop()
		return a, httpError{http.StatusUnprocessableEntity, fmt.Sprintf("there was no answer within %s", s.limit)}
	}
	wrong := err == nil && json.Unmarshal(line, &a) != nil || errors.Is(err, errLong)
	if err == nil && !wrong {
		return a, nil
	}
	why := d.stop()
	if wrong || why == nil {
		why = errors.New("the process that has it open does not answer as it should")
	}
	first, _, _ := strings.Cut(why.Error(), "\n")
	return question.Answer{}, httpError{http.StatusUnprocessableEntity, "the dump cannot be looked at: " + first}
}

var errLong = errors.New("an answer of more than 16 MiB")

// readAnswer reads a line.
func readAnswer(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxAnswer {
			return nil, errLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

// inDump answers a question about a dump.
func (s *Service) inDump(what string) action {
	return func(w http.ResponseWriter, r *http.Request, p *request) error {
		q, err := questionOf(r, what)
		if err != nil {
			return err
		}
		u, err := s.c.Store.Upload(r.Context(), p.project, r.PathValue("id"))
		if err != nil {
			return err
		}
		a, err := s.sessions.ask(r.Context(), p.project, u.ID, q, func() (string, func(), error) {
			return s.c.Objects.Local(context.WithoutCancel(r.Context()), dumpKey(&u))
		})
		if err != nil {
			return err
		}
		if a.Error != "" {
			return httpError{http.StatusUnprocessableEntity, report.Clean(a.Error)}
		}
		answer(w, http.StatusOK, a)
		return nil
	}
}

// questionOf reads a question from a request.
func questionOf(r *http.Request, what string) (q question.Question, err error) {
	q.Ask = what
	if q.First, err = number(r, "first", 0, 1<<30); err != nil {
		return q, err
	}
	if q.Count, err = number(r, "count", 100, question.MaxCount); err != nil {
		return q, err
	}
	for name, to := range map[string]*int{"stack": &q.Stack, "frame": &q.Frame} {
		if text := r.PathValue(name); text != "" {
			if *to, err = place(text); err != nil {
				return q, wrong("%s %.20q: must be a number from 0 on", name, text)
			}
		}
	}
	if text := r.URL.Query().Get("path"); text != "" {
		for part := range strings.SplitSeq(text, ".") {
			n, err := place(part)
			if err != nil || len(q.Path) == question.MaxPath {
				return q, wrong("path=%.40q: must be at most %d numbers with dots between, such as 0.2.17", text, question.MaxPath)
			}
			q.Path = append(q.Path, n)
		}
	}
	return q, nil
}

func place(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 30)
	return int(n), err
}
