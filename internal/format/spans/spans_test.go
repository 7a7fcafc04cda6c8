package spans

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every address belongs to the first range that contains it, whatever the ranges are.
func TestFirstRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		base := []uint64{0, 1000, math.MaxUint64 - 99}[round%3]
		list := make([]Piece, rng.IntN(12))
		for i := range list {
			first := uint64(rng.IntN(90))
			list[i] = Piece{base + first, base + min(99, first+uint64(rng.IntN(40))), rng.IntN(8)}
			if round%5 == 0 {
				list[i].First, list[i].Last = base+uint64(8*i), base+uint64(8*i+rng.IntN(8))
			}
		}
		in := func(i int) (uint64, uint64, bool) { return list[i].First, list[i].Last, list[i].Index != 0 }
		table := New(len(list), in)
		if len(table) > 2*len(list) {
			t.Fatalf("%d pieces of %d ranges", len(table), len(list))
		}
		for a := base; ; a++ {
			want, found := 0, false
			for i := range list {
				if first, last, ok := in(i); ok && first <= a && a <= last {
					want, found = i, true
					break
				}
			}
			if got, ok := table.Find(a); got != want || ok != found {
				t.Fatalf("%+v: %#x is in %d, %v; want %d, %v", list, a, got, ok, want, found)
			}
			if a == base+99 {
				break
			}
		}
	}
}

// Making a Table of ranges that all overlap, and finding an address in it, takes few steps.
func TestSteps(t *testing.T) {
	const n = 50_000
	asked := 0
	at := func(i int) (uint64, uint64, bool) {
		asked++
		return uint64(n - i), uint64(4*n - i), true
	}
	table := New(n, at)
	if asked != n || len(table) > 2*n {
		t.Errorf("%d ranges were looked at, and are %d pieces", asked, len(table))
	}
	for a := uint64(1); a < 4*n; a += 97 {
		if _, ok := table.Find(a); !ok {
			t.Fatalf("%#x is in no range", a)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	table := New(100_000, func(i int) (uint64, uint64, bool) { return uint64(i) << 12, uint64(i)<<12 | 0x7ff, true })
	for b.Loop() {
		table.Find(0x12345123)
	}
}
