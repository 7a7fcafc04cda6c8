package heap_test

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/gtcmalloc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
	"github.com/corewalk/corewalk/internal/heap/mallocng"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
	"github.com/corewalk/corewalk/internal/heap/oldmalloc"
	"github.com/corewalk/corewalk/internal/heap/scudo"
	"github.com/corewalk/corewalk/internal/heap/tcmalloc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// In a process with one allocator only that is found.
func TestOnly(t *testing.T) {
	finders := map[string]func(heap.Process) bool{
		"glibc":     func(p heap.Process) bool { return glibc.Find(p, glibc.Options{}) != nil },
		"mallocng":  func(p heap.Process) bool { return mallocng.Find(p, mallocng.Options{}) != nil },
		"oldmalloc": func(p heap.Process) bool { return oldmalloc.Find(p, oldmalloc.Options{}) != nil },
		"jemalloc":  func(p heap.Process) bool { return jemalloc.Find(p, jemalloc.Options{}) != nil },
		"tcmalloc":  func(p heap.Process) bool { return tcmalloc.Find(p, tcmalloc.Options{}) != nil },
		"gtcmalloc": func(p heap.Process) bool { h, _ := gtcmalloc.Find(p, gtcmalloc.Options{}); return h != nil },
		"mimalloc":  func(p heap.Process) bool { return mimalloc.Find(p, mimalloc.Options{}) != nil },
		"scudo":     func(p heap.Process) bool { return scudo.Find(p, scudo.Options{}) != nil },
		"asan":      func(p heap.Process) bool { return asan.Find(p, asan.Options{}) != nil },
	}
	for name := range finders {
		t.Run(name, func(t *testing.T) {
			for _, recording := range recordings(name) {
				p := heaptest.Recorded(t, recording).Process()
				for other, found := range finders {
					if got := found(p); got != (other == name) {
						t.Errorf("%s: %s is found: %v", recording, other, got)
					}
				}
			}
		})
	}
}

// recordings are those of an allocator.
func recordings(name string) []string {
	if name == "asan" || name == "scudo" || name == "oldmalloc" {
		return []string{name, name + "32"}
	}
	if name == "gtcmalloc" {
		return []string{name, name + "21", name + "22"}
	}
	if name == "mimalloc" {
		return []string{name, name + "21", name + "24", name + "30", name + "34", name + "36"}
	}
	return []string{name}
}
