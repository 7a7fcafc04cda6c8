package judged

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// Memory runs a program, which writes what it counts into the file "log" and dies, and returns what fills its memory, and the log.
func (p *Interpreter) Memory(t *testing.T, program string, args ...string) (m *corewalk.Memory, log string) {
	t.Helper()
	dir := p.Dir(t, program)
	out, _ := p.Command(dir, append(args, program)...).CombinedOutput() // fails: it dies
	b, err := os.ReadFile(filepath.Join(dir, "log"))
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
	if m, err = facts.Memory(t.Context(), corewalk.MemoryOptions{}); err != nil {
		t.Fatal(err)
	}
	return m, string(b)
}

// Objects are the types of which the language's own objects are, with all that are of one name.
func Objects(m *corewalk.Memory) map[string]report.MemoryType {
	out := map[string]report.MemoryType{}
	for _, row := range m.Types {
		if row.By == report.TypeByObject {
			row.Count += out[row.Name].Count
			row.Bytes += out[row.Name].Bytes
			out[row.Name] = row
		}
	}
	return out
}

// Leads checks that variables lead to as many bytes at least.
func Leads(t *testing.T, m *corewalk.Memory, least map[string]uint64) {
	t.Helper()
	found := map[string]uint64{}
	for _, r := range m.Roots {
		found[r.Name] += r.Bytes
	}
	for name, want := range least {
		if found[name] < want {
			t.Errorf("%s leads to %d bytes, want %d: %+v", name, found[name], want, m.Roots[:min(len(m.Roots), 12)])
		}
	}
}
