package systemtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
)

// TestMadeCodeCarried: where the files are missing in which compilers recorded code, slim cores, slim cores of these, and packs of whole cores name that code
// as the core beside them does. A redacted core does, too.
func TestMadeCodeCarried(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	for _, name := range []string{"amd64-jit-map", "amd64-jit-dump", "amd64-jit-unwind"} {
		t.Run(name, func(t *testing.T) {
			c := fixture.Get(t, name)
			opts := []corewalk.Option{corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithExecutable(c.Binary(t))}
			open := func(path string) *corewalk.Target {
				target, err := corewalk.Open(ctx, path, append(opts, corewalk.ForSlim())...)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { target.Close() })
				return target
			}
			text := func(target *corewalk.Target) string {
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsNone, Include: corewalk.Include{Code: true}})
				if err != nil {
					t.Fatal(err)
				}
				var b strings.Builder
				for i := range r.Threads[0].Frames {
					f := &r.Threads[0].Frames[i]
					b.WriteString(f.Function + " " + f.Source.File + " " + string(f.Trust) + "\n")
				}
				for _, w := range r.Warnings {
					b.WriteString(w.Message + "\n")
				}
				return b.String()
			}
			dir := t.TempDir()
			slim := func(target *corewalk.Target, o corewalk.SlimOptions) string {
				var b bytes.Buffer
				w, err := target.WriteSlim(ctx, &b, o)
				if err != nil {
					t.Fatal(err)
				}
				if o.Redact != strings.Contains(w.Stays, "recorded for profilers") {
					t.Errorf("what stays: %q", w.Stays)
				}
				f, err := os.CreateTemp(dir, "slim")
				if err == nil {
					_, err = f.Write(b.Bytes())
					f.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
				return f.Name()
			}
			full := open(c.Core(t))
			want := text(full)
			if !strings.Contains(want, "toy::leaf") {
				t.Fatal(want)
			}
			small := open(slim(full, corewalk.SlimOptions{}))
			for what, target := range map[string]*corewalk.Target{"slim": small, "slim of slim": open(slim(small, corewalk.SlimOptions{}))} {
				if got := text(target); got != want {
					t.Errorf("%s: %s\nthe core: %s", what, got, want)
				}
			}
			if got := text(open(slim(full, corewalk.SlimOptions{Redact: true}))); !strings.HasPrefix(got, want) { // and a warning that it is redacted
				t.Errorf("redacted: %s\nthe core: %s", got, want)
			}
			var pack bytes.Buffer
			packed, err := full.WritePack(&pack, "core", c.Core(t))
			if err != nil {
				t.Fatal(err)
			}
			if last := packed.Files[len(packed.Files)-1]; filepath.Dir(last.Path) != "/tmp" {
				t.Errorf("%+v", packed.Files)
			}
			path := filepath.Join(dir, "pack")
			if err := os.WriteFile(path, pack.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			opts = nil
			if got := text(open(path)); got != want {
				t.Errorf("the pack: %s\nthe core: %s", got, want)
			}
		})
	}
}
