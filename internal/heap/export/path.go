package export

import (
	"strconv"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// Limits of the ways that a page shows.
const (
	maxSteps   = 100_000 // objects that are gone through
	outerSteps = 4       // shown from the root on
	innerSteps = 8       // and before the object
	maxAsked   = 500     // names of pointers, of all ways
	maxSearch  = 1 << 20 // bytes of an object that is searched for a pointer
)

// A step is an object on the way from a root to another.
type step struct {
	node  graph.Node
	field string // by which it points at the next; "" if not known
	left  int    // objects left out before it
}

// A way is how an object is reached.
type way struct {
	root  string
	steps []step // the last one is the object
}

// A guide finds ways.
type guide struct {
	*classes
	asked int
}

// to is the way to an object: from a root, if that is not too far.
func (g *guide) to(n graph.Node) way {
	var inner []graph.Node // the object first
	var outer [outerSteps]graph.Node
	count := 0
	w := way{root: unreached}
	for at := n; ; {
		if len(inner) < innerSteps {
			inner = append(inner, at)
		} else {
			outer[count%outerSteps] = at
		}
		count++
		parent, r, ok := g.h.Graph.Parent(at)
		if !ok {
			break
		}
		if parent == graph.None {
			w.root = g.names[g.ofRoot(r)]
			break
		}
		if count == maxSteps {
			w.root = "more than " + strconv.Itoa(maxSteps) + " objects away from a root"
			break
		}
		at = parent
	}
	for i := range min(count-len(inner), outerSteps) {
		w.steps = append(w.steps, step{node: outer[(count-1-i)%outerSteps]})
	}
	left := count - len(inner) - len(w.steps)
	for i := len(inner) - 1; i >= 0; i-- {
		w.steps = append(w.steps, step{node: inner[i], left: left})
		left = 0
	}
	for i := range w.steps[:len(w.steps)-1] {
		if w.steps[i+1].left == 0 {
			w.steps[i].field = g.field(w.steps[i].node, w.steps[i+1].node)
		}
	}
	return w
}

func (g *guide) field(from, to graph.Node) string {
	if g.h.Field == nil || g.asked >= maxAsked || g.h.Graph.Size(from) > maxSearch {
		return ""
	}
	off, ok := g.h.Graph.Pointer(from, to)
	if !ok {
		return ""
	}
	g.asked++
	return g.h.text(g.h.Field(from, off))
}
