package v8_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestNodeIsGone: of a Node whose file was removed there are the same objects as before, and the calls of JavaScript.
func TestNodeIsGone(t *testing.T) {
	for _, node := range nodes(t) {
		t.Run(version(t, node), func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "node")
			b, err := os.ReadFile(node)
			if err == nil {
				err = os.WriteFile(program, b, 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "gone.js"), []byte(`class Leak { constructor(x) { this.x = [x]; } }
global.kept = []; for (let i = 0; i < 3000; i++) global.kept.push(new Leak(i));
function inner(a) { process.abort(); }
function outer(b) { const held = new Leak(7); return inner(held) + 1; }
outer(5);`), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			fixture.Dies(dir, program, "gone.js").Run()
			core := fixture.CoreIn(t, dir)
			types := func() (rows []string) {
				target, err := corewalk.Open(t.Context(), core)
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
				for _, row := range m.Types {
					if row.By == report.TypeByObject {
						rows = append(rows, fmt.Sprintf("%s %d %d", row.Name, row.Count, row.Bytes))
					}
				}
				slices.Sort(rows)
				return rows
			}
			want := types()
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			if got := types(); len(want) < 10 || !slices.Equal(got, want) {
				t.Errorf("%q, and with the file %q", got, want)
			}
			target, err := corewalk.Open(t.Context(), core)
			if err != nil {
				t.Fatal(err)
			}
			defer target.Close()
			r, err := target.Analyze(t.Context(), corewalk.AnalyzeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, f := range r.Threads[0].Frames {
				if f.Language != "" && len(calls) < 2 {
					calls = append(calls, fmt.Sprintf("%s:%d", f.Function, f.Source.Line))
				}
			}
			if !slices.Equal(calls, []string{"inner:3", "outer:4"}) {
				t.Errorf("%q", calls)
			}
		})
	}
}
