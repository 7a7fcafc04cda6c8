package corewalk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/minidump/dumpbuild"
	"github.com/corewalk/corewalk/report"
)

// TestInfoOfMinidumps compares what is told of minidumps of the three systems with what
// was read and approved: as text and JSON, and the text of all lists.
func TestInfoOfMinidumps(t *testing.T) {
	for name, data := range dumpbuild.Samples() {
		t.Run(name, func(t *testing.T) {
			target := openBytes(t, name, data)
			in, all := target.Info(), target.InfoWith(corewalk.InfoOptions{Memory: true})
			in.Dump.Path, all.Dump.Path = name, name
			for suffix, write := range map[string]func(*bytes.Buffer) error{
				".txt":         func(b *bytes.Buffer) error { return report.WriteInfoText(b, in, report.TextOptions{}) },
				".json":        func(b *bytes.Buffer) error { return report.WriteInfoJSON(b, in) },
				".all.txt":     func(b *bytes.Buffer) error { return report.WriteInfoText(b, all, report.TextOptions{}) },
				".missing.txt": func(b *bytes.Buffer) error { return report.WriteMissing(b, in.Modules) },
				".stackwalk.json": func(b *bytes.Buffer) error {
					b.Write(stackwalkOf(t, target))
					return nil
				},
			} {
				var out bytes.Buffer
				if err := write(&out); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", "info", name+suffix)
				if *update {
					if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), out.String()); diff != "" {
					t.Errorf("%s differs (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}
