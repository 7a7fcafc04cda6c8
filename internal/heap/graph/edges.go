package graph

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/files/mmapfile"
)

// edges are nodes in pieces, none of which is copied when there are more.
type edges struct {
	pieces [][]Node
	n      int
}

const (
	pieceBits = 18
	pieceMask = 1<<pieceBits - 1
	maxEdges  = 1<<31 - 1
)

// add adds nodes at the end.
func (e *edges) add(list []Node) {
	for len(list) > 0 {
		if e.n>>pieceBits == len(e.pieces) {
			e.pieces = append(e.pieces, make([]Node, 1<<pieceBits))
		}
		k := copy(e.pieces[e.n>>pieceBits][e.n&pieceMask:], list)
		e.n += k
		list = list[k:]
	}
}

func (e *edges) at(i uint32) Node { return e.pieces[i>>pieceBits][i&pieceMask] }

const (
	perShare   = 1 << 12 // objects whose edges are read by one
	perCount   = 1 << 12 // edges that are counted together
	perFull    = 1 << 16 // edges of a share in one piece
	maxReaders = 16
)

// A share are the edges of some objects, one after the other.
type share struct {
	from, to Node
	full     [][]Node // pieces of those of large objects, which are before out
	out      []Node
	err      error
	done     chan struct{}
}

// Edges reads who points at whom and keeps it, if that fits.
func (g *Graph) Edges(ctx context.Context) error {
	left := min((g.limit-g.bytes()-4*g.nodes)/4, maxEdges)
	if left < g.nodes/4 { // most objects are pointed at
		return ErrLarge
	}
	readers := min(runtime.GOMAXPROCS(0), maxReaders, g.nodes/perShare+1)
	if g.told != nil { // who tells may do so for one only
		readers = 1
	}
	ctx, cancel := context.WithCancelCause(ctx)
	at := make([]uint32, g.nodes+1) // how many each object has, in the place behind its own
	shares := make(chan *share, readers)
	order := make(chan *share, 2*readers) // as many are read ahead, so that they take little memory
	used := make(chan []Node, 4*readers)  // room of shares that were taken
	var total atomic.Int64
	for range readers {
		go func() {
			w := reader{pairs: pairs{g: g}, window: window{mem: g.mem}, total: &total, most: int64(left)}
			for s := range shares {
				if fault := mmapfile.Guard(func() { s.err = w.read(ctx, s, at) }); fault != nil {
					s.err = fault
				}
				close(s.done)
			}
		}()
	}
	go func() {
		defer close(order)
		defer close(shares)
		for n := 0; n < g.nodes && ctx.Err() == nil; n += perShare {
			s := &share{from: Node(n), to: Node(min(n+perShare, g.nodes)), done: make(chan struct{})}
			select {
			case s.out = <-used:
			default:
			}
			order <- s
			shares <- s
		}
	}()
	var out edges
	var err error
	for s := range order { // to its end: nobody is at work when Edges returns
		<-s.done
		if err == nil {
			if err = s.err; err != nil {
				cancel(err)
				continue
			}
			for i, list := range s.full {
				out.add(list)
				s.full[i] = nil
			}
			out.add(s.out)
			select {
			case used <- s.out[:0]:
			default:
			}
		}
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	cancel(nil)
	if err != nil {
		return err
	}
	for n := range g.nodes {
		at[n+1] += at[n]
	}
	g.outAt, g.out = at, out
	return nil
}

// A reader reads edges. It is used by one goroutine.
type reader struct {
	pairs
	window window
	total  *atomic.Int64 // edges that all readers have
	most   int64
}

// read reads the edges of a share, and counts those of each of its objects.
func (w *reader) read(ctx context.Context, s *share, counts []uint32) (err error) {
	from, last := None, None // the edge before
	counted := 0
	few := func() bool {
		n := len(s.out) - counted
		counted = len(s.out)
		if len(s.out) >= perFull {
			s.full = append(s.full, s.out)
			s.out, counted = make([]Node, 0, perFull+perCount), 0
		}
		return w.total.Add(int64(n)) <= w.most
	}
	w.do = func(n, to Node) bool {
		if n != from {
			from, last = n, None
		}
		if to != n && to != last {
			s.out = append(s.out, to)
			counts[n+1]++
		}
		last = to
		return len(s.out)-counted < perCount || few()
	}
	on := true
	w.g.each(&w.window, s.from, s.to, windowSize, func(n Node, start uint64, b []byte) bool {
		if n%(1<<10) == 0 && ctx.Err() != nil {
			err = context.Cause(ctx)
			return false
		}
		on = w.whole(n, start, b)
		return on
	})
	if err == nil && !(on && w.flush() && few()) {
		err = ErrLarge
	}
	return err
}
