package systemtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestPack: the report of a pack, with nothing but the pack, is that of the core with its files.
func TestPack(t *testing.T) {
	ctx := context.Background()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for i, c := range fixture.Cases(t) {
		if i%10 != 0 && !fixture.IsLong() {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			text := func(target *corewalk.Target) string {
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll})
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			full, err := corewalk.Open(ctx, c.Core(t), corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(c.Binary(t)), corewalk.ForSlim())
			if err != nil {
				t.Fatal(err)
			}
			defer full.Close()
			want := text(full)
			var slim, pack bytes.Buffer
			if _, err := full.WriteSlim(ctx, &slim, corewalk.SlimOptions{}); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			core := filepath.Join(dir, "slim")
			if err := os.WriteFile(core, slim.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			files, executable := full.Files()
			if _, err := corewalk.WritePack(&pack, c.Core(t), core, executable, files); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "pack")
			if err := os.WriteFile(path, pack.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(c.Core(t))
			if err != nil {
				t.Fatal(err)
			}
			os.Chtimes(path, st.ModTime(), st.ModTime())
			// Nothing of this machine is looked at.
			small, err := corewalk.Open(ctx, path, corewalk.WithDebugDir(dir))
			if err != nil {
				t.Fatal(err)
			}
			defer small.Close()
			if got := text(small); got != want {
				t.Errorf("the report of the pack: %s\nof the core: %s", got, want)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(tmp, "corewalk-pack-*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
