package ruby_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/judged"
)

// TestMemory: of each class there are as many objects as Ruby counts, and what keeps them has its name.
func TestMemory(t *testing.T) {
	for _, p := range interpreters.All(t) {
		t.Run(p.Version, func(t *testing.T) {
			m, log := p.Memory(t, "heap.rb", "--disable-gems")
			objects := judged.Objects(m)
			for line := range strings.Lines(log) {
				name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
				want, err := strconv.Atoi(n)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				// What Ruby counts is of the program; besides, it has some that it does not show, and what it counts with.
				if got := objects[name].Count; got < want || got > want+want/20+400 || name == "Point" && got != want || name == "Pair" && got != want {
					t.Errorf("%d of %s, Ruby counts %d", got, name, want)
				}
			}
			judged.Leads(t, m, map[string]uint64{"$cache": 5000 * 80, "$table": 3000 * 80, "$pairs": 700 * 40, "many of Object#hold": 50 * 40})
		})
	}
}
