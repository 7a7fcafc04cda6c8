package similar

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Threshold is the score from which two groups are probably the same bug. It was chosen with the programs in
// testdata/src/triage that are set aside for tuning.
const Threshold = 0.7

// MinFrames is how many frames a stack needs to be compared: what happened, and two functions. Main alone, or a
// callback alone, is what most bugs of a program have in common.
const MinFrames = 3

const (
	// maxVariants is how many different stacks of a group are kept for comparison.
	maxVariants = 8
	// maxCandidates is how many groups a stack is aligned with at most: those that share the most weight with
	// it.
	maxCandidates = 96
	// maxPostings is how many entries of the index a query reads: a frame that half of all groups have is no
	// help.
	maxPostings = 4096
)

// An Index finds groups by the stacks of their dumps. It is safe for concurrent use.
type Index struct {
	mu     sync.RWMutex
	ids    map[string]int32
	names  map[string]int32 // number of a group by its name
	groups []group
	has    [][]int32 // for each frame, the groups with a variant that has it
	pool   sync.Pool // of *query
}

type group struct {
	name     string
	variants [][]int32
}

// A Match is a group that is similar to the stack of a Query.
type Match struct {
	Group string
	Score float64 // see Score; all stacks of the group considered
}

// Add adds a stack, innermost frame first, to a group. A stack that the group already has is ignored, and so
// are further stacks once the group has maxVariants of them.
func (x *Index) Add(name string, frames []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ids == nil {
		x.ids, x.names = make(map[string]int32), make(map[string]int32)
	}
	g, ok := x.names[name]
	if !ok {
		g = int32(len(x.groups))
		x.names[name] = g
		x.groups = append(x.groups, group{name: name})
	}
	if len(x.groups[g].variants) == maxVariants {
		return
	}
	v := make([]int32, 0, min(len(frames), maxFrames))
	for _, f := range frames[:min(len(frames), maxFrames)] {
		id, ok := x.ids[f]
		if !ok {
			id = int32(len(x.has))
			x.ids[f] = id
			x.has = append(x.has, nil)
		}
		v = append(v, id)
	}
	for _, old := range x.groups[g].variants {
		if slices.Equal(old, v) {
			return
		}
	}
	x.groups[g].variants = append(x.groups[g].variants, v)
	for _, id := range v {
		// Groups are almost always added in the order of their numbers.
		if at, found := slices.BinarySearch(x.has[id], g); !found {
			x.has[id] = slices.Insert(x.has[id], at, g)
		}
	}
}

// Len returns the number of groups.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.groups)
}

// A query is the memory that one call of Query needs.
type query struct {
	al     aligner
	shared []float64 // for each group the weight that it shares with the stack; all 0 between queries
	order  []int32   // the groups with shared weight
}

// Query returns the groups whose stacks score at least Threshold with frames, most similar first.
func (x *Index) Query(frames []string) []Match {
	x.mu.RLock()
	defer x.mu.RUnlock()
	q, _ := x.pool.Get().(*query)
	if q == nil {
		q = new(query)
	}
	defer x.pool.Put(q)
	ids := make([]int32, 0, min(len(frames), maxFrames))
	for i, f := range frames[:min(len(frames), maxFrames)] {
		id, ok := x.ids[f]
		if !ok {
			id = -1 - int32(i) // no group has it
		}
		ids = append(ids, id)
	}
	asked := weigh(ids, x.rarity)
	var out []Match
	for _, g := range x.candidates(q, &asked) {
		if s := x.against(q, &asked, &x.groups[g]); s >= Threshold {
			out = append(out, Match{x.groups[g].name, s})
		}
	}
	slices.SortFunc(out, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// rarity is between 1-rarityShare, for a frame that every group has, and 1.
func (x *Index) rarity(id int32) float64 {
	if id < 0 || len(x.groups) < 2 {
		return 1
	}
	n := float64(len(x.groups))
	idf := math.Log((n+1)/float64(len(x.has[id])+1)) / math.Log(n+1)
	return 1 - rarityShare + rarityShare*max(idf, 0)
}

// candidates returns the groups that share the most weight with a stack, found by its rare frames, without
// those that share too little to reach Threshold.
func (x *Index) candidates(q *query, asked *stack) []int32 {
	byRarity := make([]int, 0, len(asked.frames))
	for i, id := range asked.frames {
		if id >= 0 && slices.Index(asked.frames, id) == i {
			byRarity = append(byRarity, i)
		}
	}
	slices.SortFunc(byRarity, func(a, b int) int {
		return cmp.Or(cmp.Compare(len(x.has[asked.frames[a]]), len(x.has[asked.frames[b]])), cmp.Compare(a, b))
	})
	if len(q.shared) < len(x.groups) {
		q.shared = make([]float64, len(x.groups)+len(x.groups)/4)
	}
	q.order = q.order[:0]
	read, unread := 0, 0.0
	for _, i := range byRarity {
		id := asked.frames[i]
		w := 0.0
		for j, other := range asked.frames {
			if other == id {
				w += asked.weights[j]
			}
		}
		if read += len(x.has[id]); read > maxPostings {
			unread += w // any group may share it
			continue
		}
		for _, g := range x.has[id] {
			if q.shared[g] == 0 {
				q.order = append(q.order, g)
			}
			q.shared[g] += w
		}
	}
	// A group that shares little of the stack's weight cannot reach Threshold, unless its own frames weigh much
	// more; those groups are found when they are themselves queried.
	least := (2*Threshold-1)*asked.total*(1-rarityShare) - unread
	q.order = slices.DeleteFunc(q.order, func(g int32) bool {
		if q.shared[g] >= least {
			return false
		}
		q.shared[g] = 0
		return true
	})
	slices.SortFunc(q.order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(q.shared[b], q.shared[a]), cmp.Compare(a, b))
	})
	for _, g := range q.order {
		q.shared[g] = 0
	}
	return q.order[:min(len(q.order), maxCandidates)]
}

// against scores a stack with a group: mostly by the most similar of its variants, and partly by all of them.
func (x *Index) against(q *query, asked *stack, g *group) float64 {
	best, sum := 0.0, 0.0
	for _, v := range g.variants {
		other := weigh(v, x.rarity)
		s := q.al.score(asked, &other)
		best = max(best, s)
		sum += s
	}
	return best*(1-groupShare) + sum/float64(len(g.variants))*groupShare
}

// groupShare is the share of the mean over all variants in a group's score.
const groupShare = 0.25
