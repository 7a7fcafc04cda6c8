package similar

import (
	"math"
	"slices"

	"github.com/corewalk/corewalk/internal/lazy"
)

// How the weight of a frame falls from the top of the stack, and how much less a match counts if the two frames
// are at different distances from the top. Chosen with the programs in testdata/src/triage that are set aside
// for tuning; docs/signatures.md has the figures.
const (
	positionDecay = 0.35 // per frame from the top
	offsetDecay   = 0.1  // per frame of difference in distance
	rarityShare   = 0.9  // share of a frame's weight that depends on its rarity
)

// maxFrames is how many frames of a stack are compared, from the top: the weight of deeper ones is almost zero.
const maxFrames = 48

// Score returns how similar two stacks are, from 0 to 1. Frames are function names, innermost first. The score
// is 1 only for equal stacks, and does not depend on the order of the arguments. All frames count as equally
// rare.
func Score(a, b []string) float64 {
	ids := make(map[string]int32)
	number := func(frames []string) []int32 {
		out := make([]int32, 0, maxFrames)
		for _, f := range frames[:min(len(frames), maxFrames)] {
			id, ok := ids[f]
			if !ok {
				id = int32(len(ids))
				ids[f] = id
			}
			out = append(out, id)
		}
		return out
	}
	var al aligner
	one := func(int32) float64 { return 1 }
	x, y := weigh(number(a), one), weigh(number(b), one)
	return al.score(&x, &y)
}

// A stack is a weighted stack, ready to be aligned.
type stack struct {
	frames  []int32
	weights []float64
	total   float64 // sum of the weights
}

// powers are the factors of weights, by distance from 0.
type powers struct{ position, offset [maxFrames]float64 }

var decays = lazy.Value[*powers]{Make: func() *powers {
	d := new(powers)
	for i := range d.position {
		d.position[i] = math.Exp(-positionDecay * float64(i))
		d.offset[i] = math.Exp(-offsetDecay * float64(i))
	}
	return d
}}

// weigh computes the weights of the frames of a stack.
func weigh(frames []int32, rarity func(int32) float64) stack {
	s := stack{frames: frames, weights: make([]float64, len(frames))}
	position := &decays.Get().position
	for i, f := range frames {
		s.weights[i] = position[i] * rarity(f)
		s.total += s.weights[i]
	}
	return s
}

// An aligner aligns stacks, one pair after another. The zero value is ready to use.
type aligner struct {
	row, next [maxFrames + 1]float64
}

// score returns the weight of the matches of the best alignment, relative to the weight of both stacks.
func (al *aligner) score(a, b *stack) float64 {
	if len(a.frames) == 0 || len(b.frames) == 0 {
		return 0
	}
	offset := &decays.Get().offset
	prev, cur := &al.row, &al.next
	clear(prev[:len(b.frames)+1])
	for i, f := range a.frames {
		first := slices.Index(b.frames, f)
		if first < 0 {
			continue // matches nothing: the row would not change
		}
		copy(cur[:first+1], prev[:first+1])
		left := cur[first]
		for j := first; j < len(b.frames); j++ {
			if up := prev[j+1]; up > left {
				left = up
			}
			if b.frames[j] == f {
				if m := prev[j] + (a.weights[i]+b.weights[j])*offset[max(i-j, j-i)]; m > left {
					left = m
				}
			}
			cur[j+1] = left
		}
		prev, cur = cur, prev
	}
	return min(prev[len(b.frames)]/(a.total+b.total), 1)
}
