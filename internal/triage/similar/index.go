package similar

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Threshold is the score from which two groups are probably of one bug. It was chosen
// with the programs of testdata/src/triage that are there for it.
const Threshold = 0.7

const (
	// maxVariants is how many different stacks of a group are kept to compare with.
	maxVariants = 8
	// maxCandidates is how many groups a stack is aligned with at most: those that
	// share the most weight with it.
	maxCandidates = 96
	// maxPostings bounds how many entries of the index a query reads: frames that
	// half of all groups have lead nowhere.
	maxPostings = 4096
)

// An Index finds groups by the stacks of their dumps. Its methods may be called by
// several goroutines.
type Index struct {
	mu     sync.RWMutex
	ids    map[string]int32
	names  map[string]int32 // of groups
	groups []group
	has    [][]int32 // for each frame, the groups that have it in a variant
	pool   sync.Pool // of *query
}

type group struct {
	name     string
	variants [][]int32
}

// A Match is a group like the stack that was asked for.
type Match struct {
	Group string
	Score float64 // see Score; the group's stacks together
}

// Add adds a stack, innermost frame first, to a group. A stack that the group has
// already changes nothing, nor do those after the first few that differ.
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
		// Groups come in the order of their numbers, nearly always.
		if at, found := slices.BinarySearch(x.has[id], g); !found {
			x.has[id] = slices.Insert(x.has[id], at, g)
		}
	}
}

// Len is the number of groups.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.groups)
}

// A query is the memory that one call of Query needs.
type query struct {
	al     aligner
	shared []float64 // for each group the weight that it shares with the stack; all 0 between queries
	order  []int32   // the groups that share some
}

// Query returns the groups whose stacks score at least Threshold with frames, the
// most alike first.
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

// candidates are the groups that share most weight with a stack, found by its rare
// frames, without those that share too little to reach Threshold.
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
			unread += w // it may be shared with any group
			continue
		}
		for _, g := range x.has[id] {
			if q.shared[g] == 0 {
				q.order = append(q.order, g)
			}
			q.shared[g] += w
		}
	}
	// What shares little of the stack's own weight cannot reach Threshold, unless its
	// own frames weigh much more: such are left to be found the other way round.
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

// against scores a stack with a group: mostly with the most alike of its variants,
// and somewhat with all of them.
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

// groupShare is how much of a group's score is the mean over its variants.
const groupShare = 0.25
