package systemtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestSlim: the report of a slim core is that of the core, to the byte but for its path and its size.
func TestSlim(t *testing.T) {
	ctx := context.Background()
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t))}
			reports := func(path string) []string {
				target, err := corewalk.Open(ctx, path, opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				var out []string
				for _, o := range []corewalk.AnalyzeOptions{
					{},
					{Structured: true, Details: true, Locals: corewalk.LocalsAll},
					{Locals: corewalk.LocalsNone, Memory: true, Disassemble: true, Environment: corewalk.EnvironmentMasked},
				} {
					r, err := target.Analyze(ctx, o)
					if err != nil {
						t.Fatal(err)
					}
					r.Dump.Path, r.Dump.Size = "core", 0
					r.Dump.Time = r.Dump.Time.Truncate(0)
					var b bytes.Buffer
					if err := errors.Join(report.WriteText(&b, r, report.TextOptions{}), report.WriteJSON(&b, r)); err != nil {
						t.Fatal(err)
					}
					out = append(out, b.String())
				}
				return out
			}
			full := c.Core(t)
			target, err := corewalk.Open(ctx, full, append(opts, corewalk.ForSlim())...)
			if err != nil {
				t.Skip(err)
			}
			defer target.Close()
			if target.Core() == nil {
				t.Skip("not an ELF core")
			}
			path := filepath.Join(t.TempDir(), "slim")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w, err := target.WriteSlim(ctx, f, corewalk.SlimOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(full); err == nil {
				os.Chtimes(path, st.ModTime(), st.ModTime())
			}
			t.Logf("%d of %d bytes: %v", w.Size, w.Was, w.Kept)
			want, got := reports(full), reports(path)
			for i := range want {
				if want[i] != got[i] {
					t.Errorf("report %d of the slim core: %s\nof the core: %s", i, got[i], want[i])
					break
				}
			}
		})
	}
}
