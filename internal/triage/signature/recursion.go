package signature

import (
	"cmp"
	"slices"

	"github.com/corewalk/corewalk/report"
)

// maxPeriod is the length, in functions, of the longest recursion whose order is recognised. The functions of
// longer and irregular recursions are listed in alphabetical order.
const maxPeriod = 64

// collapse removes the rounds of recursions from the kept entries. It returns how many functions at the start
// are the cycle of a stack overflow; 0 for other crashes.
func (b *builder) collapse() int {
	if b.sig.Class == report.CrashStackOverflow {
		return b.overflow()
	}
	b.kept = b.erase(b.kept)
	return 0
}

// erase removes loops from a path of calls: going from the outermost frame inward, a function that is called
// again takes the path back to its first call. The result is a path from the start to the crash that enters no
// function twice and does not depend on the depth of the recursion. Each function is represented by its
// innermost frame, which is on the way to the crash.
func (b *builder) erase(kept []entry) []entry {
	at := make(map[string]int, len(kept)) // position in path
	path := make([]entry, 0, len(kept))
	for _, e := range slices.Backward(kept) {
		to, again := at[e.name]
		if again {
			for _, gone := range path[to:] {
				delete(at, gone.name)
				b.decide(gone.frame, Collapsed, "another round of the recursion of "+e.name)
			}
			path = path[:to]
		}
		at[e.name] = len(path)
		path = append(path, e)
	}
	slices.Reverse(path)
	return path
}

// overflow puts the cycle of functions that exhausted the stack first, once, in an order that does not depend
// on which of them came last, and drops everything inside of it: where the stack ran out is chance. It returns
// the length of the cycle; 0 if no function was called again.
func (b *builder) overflow() int {
	lo, hi := longestRepetition(b.kept)
	for _, e := range b.kept[:lo] {
		b.decide(e.frame, Dropped, "called where the stack happened to run out")
	}
	cycle := canonicalCycle(b.kept[lo:hi])
	stands := make(map[int]bool, len(cycle))
	for _, e := range cycle {
		stands[e.frame] = true
	}
	for _, e := range b.kept[lo:hi] {
		if !stands[e.frame] {
			b.decide(e.frame, Collapsed, "another round of the recursion")
		}
	}
	below := b.erase(slices.Clone(b.kept[hi:]))
	b.kept = append(cycle, below...)
	return len(cycle)
}

// longestRepetition returns the longest run [lo, hi) of entries between two entries of the same name;
// overlapping runs are joined.
func longestRepetition(kept []entry) (lo, hi int) {
	last := make(map[string]int, len(kept))
	for i, e := range kept {
		last[e.name] = i
	}
	for i := 0; i < len(kept); {
		j := i
		for end := i; j <= end; j++ {
			end = max(end, last[kept[j].name])
		}
		if j-i > max(1, hi-lo) {
			lo, hi = i, j
		}
		i = j
	}
	return lo, hi
}

// canonicalCycle returns one round of a recursion. For a regular one it is the rotation that comes first in
// alphabetical order; for an irregular one each function once, in alphabetical order.
func canonicalCycle(run []entry) []entry {
	p := period(run)
	if p == 0 {
		seen := make(map[string]bool)
		var set []entry
		for _, e := range run {
			if !seen[e.name] {
				seen[e.name] = true
				set = append(set, e)
			}
		}
		slices.SortFunc(set, byName)
		return set[:min(len(set), maxPeriod)]
	}
	best := 0
	for start := range p {
		for k := range p {
			c := byName(run[(start+k)%p], run[(best+k)%p])
			if c < 0 {
				best = start
			}
			if c != 0 {
				break
			}
		}
	}
	cycle := make([]entry, 0, p)
	for k := range p {
		// A function beside itself was inlined into itself: whether a compiler does that says nothing.
		if e := run[(best+k)%p]; k == 0 || e.name != cycle[len(cycle)-1].name {
			cycle = append(cycle, e)
		}
	}
	return cycle
}

// byName orders functions by what the first level has of their names.
func byName(a, b entry) int { return cmp.Or(cmp.Compare(a.bare, b.bare), cmp.Compare(a.name, b.name)) }

// period returns the length of the shortest round that run repeats at least twice; 0 if there is none up to
// maxPeriod.
func period(run []entry) int {
	same := func(i, j int) bool { return run[i].name == run[j].name }
	for p := 1; p <= maxPeriod && 2*p <= len(run); p++ {
		if report.Repeating(len(run), p, same) == len(run) {
			return p
		}
	}
	return 0
}
