package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
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
				path := filepath.Join(fixture.Root(t), "testdata", "info", name+suffix)
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

// TestInfoOfDamagedMinidumps changes bytes of the samples, and cuts them off: whatever
// comes of it, it is told in valid JSON and clean text.
func TestInfoOfDamagedMinidumps(t *testing.T) {
	t.Parallel()
	opts := []corewalk.Option{corewalk.WithSysroot(t.TempDir()), corewalk.WithDebugDir(t.TempDir())}
	step := 29
	if !fixture.IsLong(t) {
		step *= 5 // bytes of each sort of fields are still among them
	}
	for name, whole := range dumpbuild.Samples() {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(whole); i += step {
				data := bytes.Clone(whole)
				data[i] ^= 0xff
				tell(t, data, opts)
				if i%8 == 0 {
					tell(t, whole[:i], opts)
				}
			}
		})
	}
}

func tell(t *testing.T, data []byte, opts []corewalk.Option) {
	t.Helper()
	target, _ := corewalk.OpenReader(context.Background(), bytes.NewReader(data), "-", opts...)
	if target == nil {
		return
	}
	defer target.Close()
	in := target.InfoWith(corewalk.InfoOptions{Memory: true})
	var text, doc, walk bytes.Buffer
	if err := errors.Join(report.WriteInfoText(&text, in, report.TextOptions{}), report.WriteInfoJSON(&doc, in), report.WriteMissing(&text, in.Modules)); err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(text.Bytes(), "\x1b\x00\r\u202e") || !json.Valid(doc.Bytes()) {
		t.Errorf("%q\n%s", text.Bytes(), doc.Bytes())
	}
	r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{Include: corewalk.Include{Details: true}, MaxFrames: 50})
	if err != nil {
		return // without threads
	}
	if err := report.WriteStackwalk(&walk, r); err != nil || !json.Valid(walk.Bytes()) {
		t.Errorf("%v: %s", err, walk.Bytes())
	}
}
