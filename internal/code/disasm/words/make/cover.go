package main

import (
	"cmp"
	"log"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/corewalk/corewalk/internal/code/disasm/words"
)

// tries is how many instructions with random operands a line is compared with, besides those with remarkable ones.
const tries = 12

// pc is where these instructions are.
const pc = 0x7f0012345678

// lines returns the lines of one format. The bits in selectors, a few, decide between names and operands; candidates
// returns the texts that a line may have for what x/arch writes about an instruction, the best first. write is
// x/arch; it says false where x/arch panics.
func (f *format) lines(selectors []int, candidates func(text string) []string, write func(code uint64) (string, bool)) []line {
	r := rand.New(rand.NewPCG(1, f.value))
	fixed := f.mask | f.zero
	place := spread(selectors, 1<<len(selectors)-1)
	texts := make([][]string, 1<<len(selectors)) // that fit, of each value of the selectors; nil if any does
	votes := map[string]int{}
	for v := range texts {
		at := spread(selectors, v)
		if (f.value^at)&f.mask&place != 0 {
			continue // another instruction
		}
		var fit []string
		for n := range tries + 2*len(f.fields) {
			code := r.Uint64()
			if n >= tries { // an operand with no bit set, or all
				for _, bit := range f.fields[(n-tries)/2].places() {
					code = code&^(1<<bit) | uint64(n&1)<<bit
				}
			}
			code = f.value | code&^fixed&^place | at
			want, ok := write(code)
			if !ok {
				continue
			}
			if fit == nil {
				fit = candidates(want)
			}
			fit = slices.DeleteFunc(slices.Clone(fit), func(text string) bool { return words.Expand(text, code, pc) != want })
			if len(fit) == 0 {
				log.Fatalf("%s: no line gives %q for %016x", f.name, want, code)
			}
		}
		texts[v] = fit
		for _, text := range fit {
			votes[text]++
		}
	}
	if len(votes) == 0 {
		return nil
	}
	// Of the texts that fit a value, the one that fits most values; that of most values needs no selectors.
	class := make([]string, len(texts))
	usual := ""
	for v, fit := range texts {
		for _, text := range fit {
			if class[v] == "" || votes[text] > votes[class[v]] {
				class[v] = text
			}
			if votes[text] > votes[usual] || votes[text] == votes[usual] && text < usual {
				usual = text
			}
		}
	}
	for v, fit := range texts {
		if slices.Contains(fit, usual) {
			class[v] = usual
		}
	}
	c := covering{class: class, usual: usual, n: len(selectors), memo: map[[2]int]*cubes{}}
	var list []line
	for _, cube := range c.cover(0, 0).all(nil) {
		list = append(list, line{fixed | spread(selectors, cube.mask), f.value | spread(selectors, cube.value), cube.text})
	}
	slices.SortFunc(list, func(a, b line) int {
		return cmp.Or(bits.OnesCount64(b.mask)-bits.OnesCount64(a.mask), cmp.Compare(a.value, b.value))
	})
	return append(list, line{fixed, f.value, usual})
}

// spread puts a number's bits where the selectors are.
func spread(selectors []int, v int) (at uint64) {
	for i, bit := range selectors {
		at |= uint64(v>>i&1) << bit
	}
	return at
}

// A covering divides the values of selectors into cubes: of each, some bits count.
type covering struct {
	class []string // of each value; empty if any text does
	usual string
	n     int
	memo  map[[2]int]*cubes
}

type cube struct {
	mask, value int
	text        string
}

// cubes are the cubes of a part of the values: one, or those of its halves.
type cubes struct {
	size int
	one  *cube
	half [2]*cubes
}

func (c *cubes) all(list []cube) []cube {
	if c.one != nil {
		return append(list, *c.one)
	}
	for _, h := range c.half {
		if h != nil {
			list = h.all(list)
		}
	}
	return list
}

// cover returns the fewest cubes, by halving, of the values that agree with value under mask. Values of the usual text
// need none.
func (c *covering) cover(mask, value int) *cubes {
	key := [2]int{mask, value}
	if known := c.memo[key]; known != nil {
		return known
	}
	best := &cubes{size: 1 << 30}
	if text, same := c.same(mask, value); same {
		best = &cubes{}
		if text != "" && text != c.usual {
			best = &cubes{size: 1, one: &cube{mask, value, text}}
		}
	} else {
		for bit := range c.n {
			if mask>>bit&1 != 0 {
				continue
			}
			low, high := c.cover(mask|1<<bit, value), c.cover(mask|1<<bit, value|1<<bit)
			if size := low.size + high.size; size < best.size {
				best = &cubes{size: size, half: [2]*cubes{low, high}}
			}
		}
	}
	c.memo[key] = best
	return best
}

// same reports whether all values have one text.
func (c *covering) same(mask, value int) (text string, same bool) {
	free := (1<<c.n - 1) &^ mask
	for sub := free; ; sub = (sub - 1) & free {
		switch t := c.class[value|sub]; {
		case t == "" || t == text:
		case text == "":
			text = t
		default:
			return "", false
		}
		if sub == 0 {
			return text, true
		}
	}
}
