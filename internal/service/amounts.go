package service

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/corewalk/corewalk/internal/service/receive"
)

// What one token may cost: a token for uploads is in every program of a product, so that anybody has it.

// plain returns the body of a request without its encoding. It may unpack to most bytes, and to so many times what was sent.
func (s *Service) plain(r *http.Request, most int64) (io.Reader, error) {
	sent := &counting{Reader: r.Body}
	body, err := receive.Plain(r.Header.Get("Content-Encoding"), sent)
	if err != nil {
		return nil, bodyError(err)
	}
	return &unpacked{Reader: body, sent: sent, most: most}, nil
}

type counting struct {
	io.Reader
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// An unpacked body ends with an error when there is more of it than its size explains. Parts that nobody keeps count, too.
type unpacked struct {
	io.Reader
	sent       *counting
	most, read int64
}

// What any body may unpack to, and how many times what was sent if it is more. Cores are nearly all zeros, some of them.
const (
	freelyUnpacked = 64 << 20
	mostUnpacked   = 200
)

var errUnpacks = httpError{http.StatusRequestEntityTooLarge, "the body unpacks to more than 200 times what was sent"}

func (u *unpacked) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	switch u.read += int64(n); {
	case u.read > u.most:
		return 0, &http.MaxBytesError{Limit: u.most}
	case u.read > freelyUnpacked && u.read/mostUnpacked > u.sent.n:
		return 0, errUnpacks
	}
	return n, err
}

// maxAnnotated is how much of the fields of a form is kept with a dump, in bytes of names and values.
const maxAnnotated = 64 << 10

// leftOut is the name of a field that says how many others were not kept.
const leftOut = "corewalk_left_out"

// annotated returns the fields that are kept: the short ones first, so that one long one costs no other.
func annotated(fields map[string]string) map[string]string {
	size := func(name string) int { return len(name) + len(fields[name]) }
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		if size(a) != size(b) {
			return size(a) - size(b)
		}
		return len(a) - len(b)
	})
	left := maxAnnotated
	for i, name := range names {
		if left -= size(name); left < 0 {
			out := map[string]string{leftOut: strconv.Itoa(len(names) - i)}
			for _, kept := range names[:i] {
				out[kept] = fields[kept]
			}
			return out
		}
	}
	return fields
}

// maxListed is about how many bytes of annotations a list of dumps has. Those of the dumps that follow are asked for one by one.
const maxListed = 4 << 20

// short leaves out the annotations of a list of dumps from where there are too many, and says so of each.
func short(list []dumpDoc) {
	left := maxListed
	for i := range list {
		d := &list[i]
		for name, value := range d.Annotations {
			left -= len(name) + len(value)
		}
		if left < 0 && len(d.Annotations) > 0 {
			d.Annotations = map[string]string{leftOut: strconv.Itoa(len(d.Annotations))}
		}
	}
}

// Slots limit what is done at a time, and who waits.
type slots struct {
	free    chan struct{} // has room for those that work
	waiting atomic.Int64
	most    int64 // of those that wait
}

func newSlots(at, waiting int) *slots {
	return &slots{free: make(chan struct{}, at), most: int64(waiting)}
}

// errSlots: too many wait already.
var errSlots = errors.New("too many are waiting")

// take waits until something may be done. done is to be called after it.
func (s *slots) take(ctx context.Context) (done func(), err error) {
	done = func() { <-s.free }
	select {
	case s.free <- struct{}{}:
		return done, nil
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > s.most {
		return nil, errSlots
	}
	select {
	case s.free <- struct{}{}:
		return done, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Reports that are made at a time, and requests that wait for one.
const (
	reportsAtOnce  = 2
	reportsWaiting = 16
)

// A denial of a wrong token takes as long as this, once there are more of them than a mistake explains.
const (
	denialTime   = time.Second
	denialsFree  = 200 // and so many more each second
	denialsAtAll = 256
)
