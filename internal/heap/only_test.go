package heap_test

import (
	"os"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/heap"
	"github.com/corewalk/corewalk/internal/heap/asan"
	"github.com/corewalk/corewalk/internal/heap/glibc"
	"github.com/corewalk/corewalk/internal/heap/heaptest"
	"github.com/corewalk/corewalk/internal/heap/jemalloc"
	"github.com/corewalk/corewalk/internal/heap/mallocng"
	"github.com/corewalk/corewalk/internal/heap/mimalloc"
	"github.com/corewalk/corewalk/internal/heap/tcmalloc"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// In a process with one allocator only that is found.
func TestOnly(t *testing.T) {
	finders := map[string]func(heap.Process) bool{
		"glibc":    func(p heap.Process) bool { return glibc.Find(p, glibc.Options{}) != nil },
		"mallocng": func(p heap.Process) bool { return mallocng.Find(p, mallocng.Options{}) != nil },
		"jemalloc": func(p heap.Process) bool { return jemalloc.Find(p, jemalloc.Options{}) != nil },
		"tcmalloc": func(p heap.Process) bool { return tcmalloc.Find(p, tcmalloc.Options{}) != nil },
		"mimalloc": func(p heap.Process) bool { return mimalloc.Find(p, mimalloc.Options{}) != nil },
		"asan":     func(p heap.Process) bool { return asan.Find(p, asan.Options{}) != nil },
	}
	for _, c := range []struct{ name, compiler, library, debian string }{
		{"glibc", "gcc", "", ""},
		{"mallocng", "musl-gcc", "", ""},
		{"jemalloc", "gcc", "libjemalloc.so.2", "libjemalloc2"},
		{"tcmalloc", "gcc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
		{"mimalloc", "gcc", "libmimalloc.so.2.0", "libmimalloc2.0"},
		{"asan", "gcc", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := heaptest.Program{Compiler: c.compiler, Threads: 3, Rounds: 5000}
			if c.name == "asan" {
				program.Flags, program.Env = []string{"-fsanitize=address"}, []string{"ASAN_OPTIONS=disable_coredump=0"}
			}
			if c.library != "" {
				program.Env = heaptest.Preload(t, c.library, c.debian)
			}
			p, _ := heaptest.Crash(t, program)
			for name, found := range finders {
				if got := found(p); got != (name == c.name) {
					t.Errorf("%s is found: %v", name, got)
				}
			}
		})
	}
}
