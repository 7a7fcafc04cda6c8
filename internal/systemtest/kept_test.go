package systemtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/files/kept"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestKept: reports are the same to the byte without anything kept on disk, when it is made, and when it is there. The
// binaries' debugging information is compressed, because that is what is kept.
func TestKept(t *testing.T) {
	t.Parallel()
	room := t.TempDir()
	var files []string
	binaries := map[string]string{}
	cases := fixture.Third(t, fixture.Cases(t))
	for _, c := range cases {
		binaries[c.Name] = c.Binary(t)
		head := make([]byte, 4)
		if f, err := os.Open(c.Binary(t)); err == nil {
			f.Read(head)
			f.Close()
		}
		if string(head) != "\x7fELF" {
			continue
		}
		file, packed := fixture.PackDebug(t, c.Binary(t))
		if packed == 0 {
			continue
		}
		binaries[c.Name] = fixture.Keep(t, filepath.Base(c.Binary(t)), file)
		files = append(files, binaries[c.Name])
	}
	fixture.Settle(t, files...)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			run := func(opts ...corewalk.Option) string {
				opts = append(opts, corewalk.WithSysroot(c.Sysroot(t)), corewalk.WithDebugDir(c.Dir), corewalk.WithSearch(c.Dir), corewalk.WithExecutable(binaries[c.Name]))
				target, err := corewalk.Open(context.Background(), c.Core(t), opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{For: report.Whole{Trees: true}, Include: corewalk.Include{Details: true}, Locals: corewalk.LocalsAll})
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if err := report.WriteText(&b, r, report.TextOptions{AllLocals: true}); err != nil {
					t.Fatal(err)
				}
				if err := report.WriteJSON(&b, r); err != nil {
					t.Fatal(err)
				}
				if err := target.CloseAtExit(); err != nil {
					t.Error(err)
				}
				return b.String()
			}
			want := run()
			for _, when := range []string{"made", "there"} {
				if got := run(corewalk.WithKept(room, kept.DefaultLimit)); got != want {
					t.Errorf("what is kept is %s: %s\nwithout it: %s", when, got, want)
				}
			}
		})
	}
	list, err := kept.New(room, 0).List()
	if err != nil || len(list) == 0 {
		t.Errorf("%d entries were made, %v", len(list), err)
	}
}
