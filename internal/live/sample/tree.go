package sample

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/corewalk/corewalk/report"
)

// A node is a function called on one path, with the functions that it called.
type node struct {
	name     string
	count    int // stacks that go through it
	self     int // stacks that end in it
	children map[string]*node
}

func (n *node) child(name string) *node {
	c := n.children[name]
	if c == nil {
		c = &node{name: name}
		if n.children == nil {
			n.children = map[string]*node{}
		}
		n.children[name] = c
	}
	return c
}

// sorted returns the children, most frequent first.
func (n *node) sorted() []*node {
	out := make([]*node, 0, len(n.children))
	for _, c := range n.children {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
	})
	return out
}

// names returns a stack's functions, from the thread's first function to the youngest.
func (m *merged) names() []string {
	var out []string
	for _, pl := range slices.Backward(m.places) {
		for _, c := range slices.Backward(pl.Calls) {
			out = append(out, c.Name)
		}
	}
	return out
}

func (p *Profile) tree() *node {
	root := &node{}
	for i := range p.kept {
		m := &p.kept[i]
		n := root
		n.count += m.count
		for _, name := range m.names() {
			n = n.child(name)
			n.count += m.count
		}
		n.self += m.count
	}
	return root
}

// TreeOptions configure WriteTree.
type TreeOptions struct {
	MaxRows int // maximum number of lines; 0 for all
}

// WriteTree writes the stacks as a call tree, starting at the threads' first functions: how many stacks go
// through each function, and how many end there. A function that is the only callee of the line above has the
// same depth; "+" marks each of several callees. The error is w's.
func (p *Profile) WriteTree(w io.Writer, o TreeOptions) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, p.Summary())
	if pauses := p.PauseLine(); pauses != "" {
		fmt.Fprintln(out, pauses)
	}
	root := p.tree()
	t := treeWriter{total: root.count, left: o.MaxRows}
	if t.left == 0 {
		t.left = -1
	}
	t.children(root)
	if root.count > 0 {
		fmt.Fprintln(out)
		if err := report.WriteColumns(out, []string{">stacks", ">%", ">ending", ""}, t.rows); err != nil {
			return err
		}
	}
	if t.hidden > 0 {
		fmt.Fprintf(out, "%d more lines not shown\n", t.hidden)
	}
	return out.Flush()
}

type treeWriter struct {
	rows   [][]string
	total  int
	left   int // lines left; negative for no limit
	hidden int
}

// A line is a node that is still to be written.
type line struct {
	n     *node
	depth int
	first bool // one of several callees of the function above
}

// children writes the tree below n. It keeps its own stack of work, because call stacks may be very deep.
func (t *treeWriter) children(n *node) {
	todo := below(nil, line{n: n, depth: -1})
	for len(todo) > 0 {
		l := todo[len(todo)-1]
		todo = below(todo[:len(todo)-1], l)
		t.write(l)
	}
}

// below appends l's children to the stack todo.
func below(todo []line, l line) []line {
	list := l.n.sorted()
	depth, several := l.depth, len(list) > 1 || l.n.self > 0 && len(list) > 0
	if several || depth < 0 {
		depth++
	}
	for _, c := range slices.Backward(list) {
		todo = append(todo, line{c, depth, several})
	}
	return todo
}

func (t *treeWriter) write(l line) {
	if t.left == 0 {
		t.hidden++
		return
	}
	t.left--
	self, mark := "", "  "
	if l.n.self > 0 {
		self = fmt.Sprint(l.n.self)
	}
	if l.first {
		mark = "+ "
	}
	t.rows = append(t.rows, []string{fmt.Sprint(l.n.count), fmt.Sprintf("%.1f%%", 100*float64(l.n.count)/float64(t.total)), self,
		strings.Repeat("  ", min(l.depth, 60)) + mark + l.n.name})
}

// Summary returns one line that says what was sampled.
func (p *Profile) Summary() string {
	s := fmt.Sprintf("%s in %s, %s", count(p.Samples, "sample"), round(p.Duration), count(p.Stacks, "stack"))
	if p.Missed > 0 {
		s += fmt.Sprintf("; %d samples skipped, because the one before took longer than %v", p.Missed, p.Period)
	}
	if p.Dropped > 0 {
		s += fmt.Sprintf("; %s dropped, because there are too many different stacks", count(p.Dropped, "stack"))
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func round(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

// Pause returns the shortest, the median and the longest time that a sample stopped the process.
func (p *Profile) Pause() (shortest, median, longest time.Duration) {
	if len(p.Pauses) == 0 {
		return 0, 0, 0
	}
	s := slices.Sorted(slices.Values(p.Pauses))
	return s[0], s[len(s)/2], s[len(s)-1]
}

// PauseLine returns a line about the pauses; "" if there were none.
func (p *Profile) PauseLine() string {
	if len(p.Pauses) == 0 {
		return ""
	}
	lo, mid, hi := p.Pause()
	return fmt.Sprintf("each stopped the process for %v (median; shortest %v, longest %v)", round(mid), round(lo), round(hi))
}
