package asan_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
)

func BenchmarkWalk(b *testing.B) {
	p := heaptest.Recorded(b, "asan").Cut().Process()
	for b.Loop() {
		h := asan.Find(p, asan.Options{Blocks: 1 << 13})
		n := 0
		h.Blocks(func(b heap.Block) bool {
			h.History(b)
			n++
			return n < 256
		})
		h.Damages()
	}
}
