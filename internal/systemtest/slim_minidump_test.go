package systemtest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestSlimMinidumps: the report of a slim minidump is that of the minidump, and the stacks of a redacted one are as before.
func TestSlimMinidumps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, c := range fixture.Minidumps(t) {
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			var opts []corewalk.Option
			for _, dir := range c.Search(t) {
				opts = append(opts, corewalk.WithSearch(dir))
			}
			words := func(target *corewalk.Target) string {
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{Locals: corewalk.LocalsAll, Include: corewalk.Include{Memory: true, Code: true}})
				if err != nil {
					t.Fatal(err)
				}
				r.Dump.Path, r.Dump.Size = "dump", 0
				var b bytes.Buffer
				if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
					t.Fatal(err)
				}
				return strings.ReplaceAll(b.String(), "slim.dmp", "dump")
			}
			for _, redact := range []bool{false, true} {
				full, err := corewalk.Open(ctx, c.Core(t), append(opts, corewalk.ForSlim())...)
				if err != nil {
					t.Fatal(err)
				}
				defer full.Close()
				var b bytes.Buffer
				w, err := full.WriteSlim(ctx, &b, corewalk.SlimOptions{Redact: redact})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d of %d bytes: %v", w.Size, w.Was, w.Kept)
				small, err := corewalk.OpenReader(ctx, &b, "slim.dmp", opts...)
				if err = errors.Join(err); err != nil {
					t.Fatal(err)
				}
				defer small.Close()
				if threads, frames, err := corewalk.SameStacks(full, small); err != nil || threads == 0 || frames == 0 {
					t.Errorf("redacted %t: %d threads, %d frames: %v", redact, threads, frames, err)
				}
				if a, b := words(full), words(small); !redact && a != b {
					t.Errorf("the report of the slim one is\n%s\nbut was\n%s", b, a)
				}
			}
		})
	}
}
