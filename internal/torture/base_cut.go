package main

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// cuts is at how many lengths a file is cut.
const cuts = 500

// lengths returns where to cut a file: at the boundaries of what is known in it, beside them, and evenly.
func lengths(r *ready, rng *rand.Rand) []int {
	size := len(r.data)
	var at []int
	for _, p := range r.shape.regions {
		at = append(at, p.off, p.off-1, p.off+1, p.off+p.size, p.off+p.size-1)
	}
	fields := slices.Clone(r.shape.fields)
	rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, f := range fields[:min(len(fields), cuts/2)] {
		at = append(at, f.off, f.off+1)
	}
	rng.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	at = at[:min(len(at), cuts/2)]
	for i := range min(size, 64) {
		at = append(at, i)
	}
	for i := 0; len(at) < cuts; i++ {
		at = append(at, int(uint64(size)*uint64(i)/cuts)+rng.IntN(size/cuts+1))
	}
	at = slices.DeleteFunc(at, func(n int) bool { return n < 0 || n >= size })
	slices.SortFunc(at, func(a, b int) int { return cmp.Compare(b, a) })
	return slices.Compact(at)
}
