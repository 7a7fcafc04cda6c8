// Package export writes what lies in a heap in formats that other tools open, and as a page.
//
// The objects, who points at whom and what keeps them alive are those of package graph. All names come from a stranger's program: they are cut and
// cleaned before they are written. What a format cannot say, or what would be too much for the tools that read it, is put together, and the file says so.
package export

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/corewalk/corewalk/internal/heap/graph"
)

// A Heap is what is exported. All functions are called by one goroutine.
type Heap struct {
	Graph   *graph.Graph
	Program string                                // name of the program
	Title   string                                // of what it is the heap: "core.4242 of server"
	Time    time.Time                             // when it was dumped; may be zero
	Type    func(k graph.Kind) string             // name of a kind: "Order", "char[]"; "" for objects whose type is not known
	Root    func(r graph.Root) string             // name of a root: "g_cache", "stack of thread 12"; "" if it has none
	Field   func(n graph.Node, off uint64) string // name of the pointer at an offset of an object: "next", "items[3]"; "" if not known. It is asked little.

	Retained []uint64     // by node; nil if it was not computed
	By       []graph.Node // immediate dominators; nil likewise

	// Summary is for the head of the page: rows of text, shown as they are.
	Summary [][2]string

	// Clean makes a text of any origin safe to show on one line, as report.Clean does, which is on a higher floor. Without it only printable ASCII is
	// left as it is.
	Clean func(string) string
}

// Names of what stands in the place of a root.
const (
	unreached   = "(unreached)" // of objects that no root reaches: leaks
	unnamed     = "(unnamed root)"
	otherRoots  = "(other roots)"
	otherOwners = "(other owners)"
)

const (
	maxName      = 240     // bytes of a name
	maxRoots     = 1 << 20 // questions for a root's name
	maxRootNames = 10_000
	perCheck     = 1 << 14 // objects between two looks at the context
)

// text makes a text of any origin safe, and no longer than maxName.
func (h *Heap) text(s string) string {
	s = short(s, 4*maxName) // what is cleaned is bounded
	if h.Clean != nil {
		s = h.Clean(s)
	} else {
		s = strconv.QuoteToASCII(s)
		s = strings.ReplaceAll(s[1:len(s)-1], `\"`, `"`)
	}
	return short(s, maxName)
}

// short cuts what is in the middle of a long text: both ends of types' names tell them apart.
func short(s string, limit int) string {
	const gap = "…"
	if len(s) <= limit {
		return s
	}
	head := (limit - len(gap)) * 2 / 3
	tail := len(s) - (limit - len(gap) - head)
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + gap + s[tail:]
}

func (h *Heap) rootName(r graph.Root) string {
	name := ""
	if h.Root != nil {
		name = h.text(h.Root(r))
	}
	if name == "" {
		return unnamed
	}
	return name
}

// title says what the file is.
func (h *Heap) title() string {
	if t := h.text(h.Title); t != "" {
		return t
	}
	return "heap"
}

// A class is a name that objects have in common: a type's, or a size if the type is not known; or the name of roots.
type class = uint32

// classes numbers them, from 0 on.
type classes struct {
	h       *Heap
	names   []string
	rooted  []bool // whether it is of roots
	typed   []bool // whether it is of a type, not of a size
	numbers map[className]class
	kinds   []class // by kind, plus 1; 0: not asked
	sizes   []class // by what size gives, plus 1
	asked   int     // names of roots
	roots   int     // different ones
}

type className struct {
	name string
	root bool
}

func newClasses(h *Heap) *classes {
	return &classes{h: h, numbers: map[className]class{}, sizes: make([]class, exactSizes+1+65)}
}

func (c *classes) number(name string, root, typed bool) class {
	k := className{name, root}
	i, ok := c.numbers[k]
	if !ok {
		i = class(len(c.names))
		c.numbers[k] = i
		c.names = append(c.names, name)
		c.rooted, c.typed = append(c.rooted, root), append(c.typed, typed)
		if root {
			c.roots++
		}
	}
	return i
}

// of is the class of an object.
func (c *classes) of(n graph.Node) class {
	k := c.h.Graph.Kinds[n]
	for int(k) >= len(c.kinds) {
		c.kinds = append(c.kinds, 0)
	}
	if c.kinds[k] == 0 {
		c.kinds[k] = untyped
		if c.h.Type != nil {
			if name := c.h.text(c.h.Type(k)); name != "" {
				c.kinds[k] = c.number(name, false, true) + 1
			}
		}
	}
	if i := c.kinds[k]; i != untyped {
		return i - 1
	}
	place, name := sizeName(c.h.Graph.Size(n))
	if c.sizes[place] == 0 {
		c.sizes[place] = c.number(name(), false, false) + 1
	}
	return c.sizes[place] - 1
}

const (
	untyped    = ^class(0) // of kinds without a name
	exactSizes = 1024      // bytes up to which objects without a type are told apart by their size
)

// sizeName is the name of objects of a size whose type is not known, and the number of that name.
func sizeName(size uint64) (place int, name func() string) {
	if size <= exactSizes {
		return int(size), func() string { return "untyped, " + strconv.FormatUint(size, 10) + " bytes" }
	}
	power := 0
	for s := size - 1; s > 0; s >>= 1 {
		power++
	}
	return exactSizes + power, func() string {
		const units = "KMGTPE"
		p := power - 1
		return "untyped, more than " + strconv.Itoa(1<<(p%10)) + " " + units[p/10-1:p/10] + "iB"
	}
}

// ofRoot is the class of a root.
func (c *classes) ofRoot(r graph.Root) class {
	name := otherRoots
	if c.asked < maxRoots && c.roots < maxRootNames {
		c.asked++
		name = c.h.rootName(r)
	}
	return c.number(name, true, false)
}

// stopped is the context's error, looked at once in perCheck objects.
func stopped(ctx context.Context, n int) error {
	if n%perCheck == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
