package php_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestMemory: as much is in use as PHP counts, of each class there are as many objects as the program made, and what keeps them has its name.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs PHP")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			dir := p.Dir(t, "heap.php")
			out, _ := p.Command(dir, "-n", "heap.php").CombinedOutput() // fails: it dies
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			counted, err := strconv.ParseUint(strings.TrimSpace(string(log)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			target, err := corewalk.Open(t.Context(), fixture.CoreIn(t, dir), corewalk.WithSysroot(p.Root))
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			facts, err := target.Facts(corewalk.FactsOptions{Unlimited: true})
			if err != nil {
				t.Fatal(err)
			}
			defer facts.Close()
			m, err := facts.Memory(t.Context(), corewalk.MemoryOptions{})
			if err != nil {
				t.Fatal(err)
			}
			used := uint64(0)
			for _, a := range m.Allocators {
				if a.Name == "PHP's memory of requests" {
					used = a.Used.Bytes
					if a.Damages != nil || a.Free.Count < 500 {
						t.Errorf("%+v", a)
					}
				}
			}
			// After it wrote down how much there was, the program called a function.
			if used < counted || used > counted+counted/100 {
				t.Errorf("%d bytes are in use, PHP counts %d", used, counted)
			}
			count := map[string]int{}
			for _, row := range m.Types {
				if row.By == report.TypeByObject {
					count[row.Name] += row.Count
				}
			}
			for name, want := range map[string][2]int{"Point": {5000, 5000}, "Pair": {700, 700}, "DateTime": {50, 50}, "ArrayObject": {1, 1}, "array": {3005, 3100}, "string": {11500, 11800}} {
				if n := count[name]; n < want[0] || n > want[1] {
					t.Errorf("%d of %s, want %d to %d", n, name, want[0], want[1])
				}
			}
			for name, least := range map[string]uint64{"$cache": 5000 * 96, "$table": 3000 * 56, "$pairs": 700 * 80, "$large": 5 << 20, "$many of hold()": 50 * 64} {
				found := uint64(0)
				for _, r := range m.Roots {
					if r.Name == name {
						found = r.Bytes
					}
				}
				if found < least {
					t.Errorf("%s leads to %d bytes, want %d: %+v", name, found, least, m.Roots[:min(len(m.Roots), 12)])
				}
			}
		})
	}
}
