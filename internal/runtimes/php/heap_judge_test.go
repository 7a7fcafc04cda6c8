package php_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
)

// TestMemory: as much is in use as PHP counts, of each class there are as many objects as the program made, and what keeps them has its name.
func TestMemory(t *testing.T) {
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			m, log := p.Memory(t, "heap.php", "-n")
			counted, err := strconv.ParseUint(strings.TrimSpace(log), 10, 64)
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
			objects := judged.Objects(m)
			for name, want := range map[string][2]int{"Point": {5000, 5000}, "Pair": {700, 700}, "DateTime": {50, 50}, "ArrayObject": {1, 1}, "array": {3005, 3100}, "string": {11500, 11800}} {
				if n := objects[name].Count; n < want[0] || n > want[1] {
					t.Errorf("%d of %s, want %d to %d", n, name, want[0], want[1])
				}
			}
			judged.Leads(t, m, map[string]uint64{"$cache": 5000 * 96, "$table": 3000 * 56, "$pairs": 700 * 80, "$large": 5 << 20, "$many of hold()": 50 * 64})
		})
	}
}
