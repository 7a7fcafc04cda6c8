package ruby_test

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

// TestMemory: of each class there are as many objects as Ruby counts, and what keeps them has its name.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs Ruby")
	}
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			dir := p.Dir(t, "heap.rb")
			out, _ := p.Command(dir, "--disable-gems", "heap.rb").CombinedOutput() // fails: it dies
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
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
			count := map[string]int{}
			for _, row := range m.Types {
				if row.By == report.TypeByObject {
					count[row.Name] += row.Count
				}
			}
			for line := range strings.Lines(string(log)) {
				name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
				want, err := strconv.Atoi(n)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				// What Ruby counts is of the program; besides, it has some that it does not show, and what it counts with.
				if got := count[name]; got < want || got > want+want/20+400 || name == "Point" && got != want || name == "Pair" && got != want {
					t.Errorf("%d of %s, Ruby counts %d", got, name, want)
				}
			}
			for name, least := range map[string]uint64{"$cache": 5000 * 80, "$table": 3000 * 80, "$pairs": 700 * 40, "many of Object#hold": 50 * 40} {
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
