package tasks

import (
	"cmp"
	"slices"
)

// A Graph says which task waits for which.
type Graph struct {
	tasks []*Task
	index map[Key]int
	// edges[i] are the tasks that could end the wait of task i. unknown[i] counts the holders
	// that are no task of the process.
	edges   [][]edge
	unknown []int
	stuck   []bool
	halted  bool // no thread goes on
}

type edge struct {
	to        int
	certainty Certainty
}

// NewGraph makes the graph of tasks. It keeps them; of two with the same Key the first counts.
func NewGraph(all []*Task) *Graph {
	g := &Graph{index: make(map[Key]int, len(all)), tasks: make([]*Task, 0, len(all))}
	for _, t := range all {
		if _, twice := g.index[t.Key]; !twice {
			g.index[t.Key] = len(g.tasks)
			g.tasks = append(g.tasks, t)
		}
	}
	g.edges = make([][]edge, len(g.tasks))
	g.unknown = make([]int, len(g.tasks))
	known := map[heldBy]int{} // the first task with the same holders: those of one object have one list
	for i, t := range g.tasks {
		if t.Wait == nil || len(t.Wait.Holders) == 0 {
			continue
		}
		by := heldBy{&t.Wait.Holders[0], len(t.Wait.Holders), t.Wait.Proved}
		if like, ok := known[by]; ok {
			g.edges[i], g.unknown[i] = g.edges[like], g.unknown[like]
			continue
		}
		known[by] = i
		g.edges[i] = make([]edge, 0, len(t.Wait.Holders))
		for _, h := range t.Wait.Holders {
			to, ok := g.index[h.Key]
			if !ok {
				g.unknown[i]++
				continue
			}
			c := h.Certainty
			if !t.Wait.Proved {
				c = Possible
			}
			g.addEdge(i, edge{to, c})
		}
	}
	g.findStuck()
	return g
}

// A heldBy is a list of holders in memory, and whether they are those of a proved wait.
type heldBy struct {
	first  *Holder
	n      int
	proved bool
}

// addEdge keeps one edge for each holder, the surer one.
func (g *Graph) addEdge(from int, e edge) {
	for k, old := range g.edges[from] {
		if old.to == e.to {
			if e.certainty == Certain {
				g.edges[from][k] = e
			}
			return
		}
	}
	g.edges[from] = append(g.edges[from], e)
}

// Task returns the task with this key, or nil.
func (g *Graph) Task(k Key) *Task {
	if i, ok := g.index[k]; ok {
		return g.tasks[i]
	}
	return nil
}

// findStuck marks the tasks that can never go on by themselves: those that wait without a
// time limit for tasks that are all stuck, or, if all holders must act, of which one is. It
// begins with every task that waits, and takes out those that something can wake, until
// nothing changes.
func (g *Graph) findStuck() {
	n := len(g.tasks)
	g.stuck = make([]bool, n)
	left := make([]int, n) // stuck holders of a task
	var freed []int
	for i, t := range g.tasks {
		g.stuck[i] = t.Wait != nil && !t.Wait.Timed && !t.Wait.Open && t.State != StateRunning && t.State != StateRunnable && t.State != StateDead &&
			(t.Wait.Kind == WaitForever || len(g.edges[i]) > 0 && (g.unknown[i] == 0 || t.Wait.All))
		left[i] = len(g.edges[i])
		if !g.stuck[i] {
			freed = append(freed, i)
		}
	}
	waiters := g.waiters()
	for len(freed) > 0 {
		i := freed[len(freed)-1]
		freed = freed[:len(freed)-1]
		for _, w := range waiters[i] {
			left[w]--
			if g.stuck[w] && g.tasks[w].Wait.Kind != WaitForever && (!g.tasks[w].Wait.All || left[w] == 0) {
				g.stuck[w] = false
				freed = append(freed, int(w))
			}
		}
	}
}

// waiters returns the edges of stuck tasks backwards: who waits for a task.
func (g *Graph) waiters() [][]int32 {
	count, all := make([]int32, len(g.tasks)), 0
	for i, edges := range g.edges {
		if g.stuck[i] {
			for _, e := range edges {
				count[e.to]++
			}
			all += len(edges)
		}
	}
	waiters, list := make([][]int32, len(g.tasks)), make([]int32, all)
	for i, n := range count {
		waiters[i], list = list[:0:n], list[n:]
	}
	for i, edges := range g.edges {
		if g.stuck[i] {
			for _, e := range edges {
				waiters[e.to] = append(waiters[e.to], int32(i))
			}
		}
	}
	return waiters
}

// Stuck reports whether the task can never go on, as far as is known: it is part of a
// deadlock, waits for one, or waits for what never happens.
func (g *Graph) Stuck(k Key) bool {
	i, ok := g.index[k]
	return ok && g.stuck[i]
}

// Threads tells the graph which threads the process has, by number: whether one of them goes on. Without that it
// counts as if one did.
func (g *Graph) Threads(ids []uint64) {
	g.halted = len(ids) > 0 && !slices.ContainsFunc(ids, func(id uint64) bool { return !g.Stuck(Key{Kind: KindThread, ID: id}) })
}

// A Deadlock is a set of tasks each of which waits for another of them, directly or not.
type Deadlock struct {
	// Certainty is Certain if every wait and every holder in it is certain, and no thread goes on that could cancel a wait.
	Certainty Certainty
	// Tasks are in the order of waiting: each waits for the next, the last for the first, if
	// the set is one cycle; it begins with the smallest key.
	Tasks []*Task
	// Behind are the tasks outside the cycle that wait for it, nearest first.
	Behind []*Task
}

// Deadlocks returns the deadlocks, certain ones first, then by their smallest key.
func (g *Graph) Deadlocks() []Deadlock {
	var found []Deadlock
	for _, c := range g.components() {
		if len(c) == 1 && !g.waitsFor(c[0], c[0]) {
			continue
		}
		found = append(found, g.deadlock(c))
	}
	slices.SortStableFunc(found, func(a, b Deadlock) int {
		if a.Certainty != b.Certainty {
			return cmp.Compare(a.Certainty, b.Certainty) // "certain" < "possible"
		}
		return compareKeys(a.Tasks[0].Key, b.Tasks[0].Key)
	})
	return found
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

func (g *Graph) waitsFor(i, j int) bool {
	return slices.ContainsFunc(g.edges[i], func(e edge) bool { return e.to == j })
}

// deadlock describes the strongly connected tasks c.
func (g *Graph) deadlock(c []int) Deadlock {
	in := make(map[int]bool, len(c))
	for _, i := range c {
		in[i] = true
	}
	d := Deadlock{Certainty: Certain}
	for _, i := range c {
		if !g.certainWithin(i, in) || g.tasks[i].Wait.Cancellable && !g.halted {
			d.Certainty = Possible
		}
	}
	slices.SortFunc(c, func(a, b int) int { return compareKeys(g.tasks[a].Key, g.tasks[b].Key) })
	for _, i := range g.ordered(c, in) {
		d.Tasks = append(d.Tasks, g.tasks[i])
	}
	d.Behind = g.behind(c, in)
	return d
}

// certainWithin reports whether task i surely never goes on as long as the tasks in the set
// do not: a holder of it is certain and in the set, and either all must act or every holder
// is like that.
func (g *Graph) certainWithin(i int, in map[int]bool) bool {
	some := false
	for _, e := range g.edges[i] {
		sure := e.certainty == Certain && in[e.to]
		if !sure && !g.tasks[i].Wait.All {
			return false
		}
		some = some || sure
	}
	return some
}

// ordered returns the tasks of a component so that each waits for the next where the
// component is one cycle. From a task with several ways it takes the first that is new.
func (g *Graph) ordered(c []int, in map[int]bool) []int {
	seen := make(map[int]bool, len(c))
	order := make([]int, 0, len(c))
	for at := c[0]; !seen[at]; {
		seen[at] = true
		order = append(order, at)
		for _, e := range g.edges[at] {
			if in[e.to] && !seen[e.to] {
				at = e.to
				break
			}
		}
	}
	for _, i := range c {
		if !seen[i] {
			order = append(order, i)
		}
	}
	return order
}

// behind returns the stuck tasks outside the set that wait for it, breadth first; not the threads that run one of them, whose waits are theirs.
func (g *Graph) behind(c []int, in map[int]bool) []*Task {
	waiters := make(map[int][]int)
	for i := range g.tasks {
		if g.stuck[i] && !in[i] {
			for _, e := range g.edges[i] {
				waiters[e.to] = append(waiters[e.to], i)
			}
		}
	}
	var found []*Task
	runs := make(map[uint64]bool) // threads
	for _, i := range c {
		if t := g.tasks[i]; t.Kind != KindThread && t.Thread > 0 {
			runs[uint64(t.Thread)] = true
		}
	}
	seen := make(map[int]bool)
	for queue := slices.Clone(c); len(queue) > 0; queue = queue[1:] {
		for _, w := range waiters[queue[0]] {
			if !seen[w] {
				seen[w] = true
				queue = append(queue, w)
				if t := g.tasks[w]; t.Kind != KindThread || !runs[t.ID] {
					found = append(found, t)
				}
			}
		}
	}
	return found
}

// components returns the strongly connected components of the stuck tasks (Tarjan's
// algorithm, with a stack of its own: chains may be as long as there are tasks).
func (g *Graph) components() [][]int {
	n := len(g.tasks)
	number := make([]int, n) // from 1; 0 for not seen
	low := make([]int, n)
	on := make([]bool, n)
	var stack []int
	var result [][]int
	type visit struct{ at, next int }
	count := 0
	for root := range n {
		if !g.stuck[root] || number[root] != 0 {
			continue
		}
		work := []visit{{at: root}}
		for len(work) > 0 {
			v := &work[len(work)-1]
			i := v.at
			if v.next == 0 && number[i] == 0 {
				count++
				number[i], low[i] = count, count
				stack, on[i] = append(stack, i), true
			}
			if v.next < len(g.edges[i]) {
				to := g.edges[i][v.next].to
				v.next++
				switch {
				case !g.stuck[to]:
				case number[to] == 0:
					work = append(work, visit{at: to})
				case on[to]:
					low[i] = min(low[i], number[to])
				}
				continue
			}
			work = work[:len(work)-1]
			if len(work) > 0 {
				low[work[len(work)-1].at] = min(low[work[len(work)-1].at], low[i])
			}
			if low[i] != number[i] {
				continue
			}
			var c []int
			for {
				j := stack[len(stack)-1]
				stack, on[j] = stack[:len(stack)-1], false
				if c = append(c, j); j == i {
					break
				}
			}
			result = append(result, c)
		}
	}
	return result
}

// A Contended object is one that several tasks wait for.
type Contended struct {
	Object  Object
	Kind    WaitKind
	Waiters []*Task
	Holders []Holder
}

// Contended returns the objects that at least two tasks wait for, the most wanted first.
// Each case of a select counts.
func (g *Graph) Contended() []Contended {
	count := map[uint64]int{} // of waits, at least as many as of tasks
	for _, t := range g.tasks {
		if w := t.Wait; w != nil {
			count[w.Object.Address]++
			for i := range w.Cases {
				count[w.Cases[i].Object.Address]++
			}
		}
	}
	at := map[uint64]int{}
	var found []Contended
	add := func(t *Task, k WaitKind, o Object, h []Holder) {
		n := count[o.Address]
		if o.Address == 0 || n < 2 {
			return
		}
		i, ok := at[o.Address]
		if !ok {
			i, at[o.Address] = len(found), len(found)
			found = append(found, Contended{Object: o, Kind: k, Waiters: make([]*Task, 0, n)})
		}
		c := &found[i]
		if n := len(c.Waiters); n > 0 && c.Waiters[n-1] == t {
			return // two cases of one select
		}
		c.Waiters = append(c.Waiters, t)
		if len(c.Holders) == 0 {
			c.Holders = h
		}
		if c.Object.Name == "" {
			c.Object.Name = o.Name
		}
	}
	for _, t := range g.tasks {
		if w := t.Wait; w != nil {
			add(t, w.Kind, w.Object, w.Holders)
			for _, c := range w.Cases {
				add(t, c.Kind, c.Object, nil)
			}
		}
	}
	found = slices.DeleteFunc(found, func(c Contended) bool { return len(c.Waiters) < 2 })
	slices.SortStableFunc(found, func(a, b Contended) int {
		return cmp.Or(cmp.Compare(len(b.Waiters), len(a.Waiters)), cmp.Compare(a.Object.Address, b.Object.Address))
	})
	return found
}

// LongestChain returns the longest row of tasks each of which waits for the next, by
// certain edges only and without a cycle: the last one does not wait, or it is part of a
// deadlock. It is nil if no chain has at least two tasks.
func (g *Graph) LongestChain() []*Task {
	n := len(g.tasks)
	next := make([]int, n)
	for i := range n {
		next[i] = -1
		for _, e := range g.edges[i] {
			if e.certainty == Certain && e.to != i {
				next[i] = e.to
				break
			}
		}
	}
	length := make([]int, n) // 0 for not yet known, -1 while on the path
	best := -1
	for i := range n {
		var path []int
		at := i
		for at >= 0 && length[at] == 0 {
			length[at] = -1
			path = append(path, at)
			at = next[at]
		}
		below := 0
		if at >= 0 && length[at] > 0 {
			below = length[at]
		}
		for k := len(path) - 1; k >= 0; k-- {
			below++
			length[path[k]] = below
		}
		if best < 0 || length[i] > length[best] {
			best = i
		}
	}
	if best < 0 || length[best] < 2 {
		return nil
	}
	var chain []*Task
	seen := map[int]bool{}
	for at := best; at >= 0 && !seen[at]; at = next[at] {
		seen[at] = true
		chain = append(chain, g.tasks[at])
	}
	return chain
}
