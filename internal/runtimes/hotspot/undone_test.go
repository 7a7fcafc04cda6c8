package hotspot_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestUndone: an interpreted frame that was compiled code has 0 and null where the compiler kept nothing. They are not shown as values, as the program
// never had them.
func TestUndone(t *testing.T) {
	fixture.Long(t)
	never := map[string][]string{"bill": {"null"}, "month": {"0"}, "before": {"0"}, "customer": {"null"}, "sum": {"0"}}
	for _, home := range homes(t) {
		dir := javac(t, home, "testdata/Undone.java", "-XDignore.symbol.file", "-nowarn")
		for _, options := range [][]string{nil, {"-XX:-TieredCompilation"}, {"-Xint"}} {
			t.Run(filepath.Base(home)+strings.Join(options, ""), func(t *testing.T) {
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				dies := t.TempDir()
				args := append([]string{"-Xmx64m", "-XX:+CreateCoredumpOnCrash", "-XX:-BackgroundCompilation", "-cp", dir}, options...)
				_ = fixture.Dies(dies, filepath.Join(home, "bin/java"), append(args, "Undone")...).Run()
				target, err := corewalk.Open(ctx, fixture.CoreIn(t, dies))
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
				if err != nil {
					t.Fatal(err)
				}
				said, doubted := 0, 0
				for _, f := range r.Threads[0].Frames {
					if !strings.HasPrefix(f.Function, "Undone.add(") && !strings.HasPrefix(f.Function, "Undone.late(") {
						continue
					}
					for _, v := range slices.Concat(f.Args, f.Locals) {
						switch {
						case v.Status != report.StatusSuccess:
							doubted++
						case slices.Contains(never[v.Name], v.Value):
							t.Errorf("%s: %s = %s, which it never had", f.Function, v.Name, v.Value)
						default:
							said++
						}
					}
				}
				t.Logf("%d values, %d doubted", said, doubted)
				if said+doubted < 5 || slices.Contains(options, "-Xint") && doubted > 0 {
					t.Errorf("%d values, %d doubted", said, doubted)
				}
			})
		}
	}
}
