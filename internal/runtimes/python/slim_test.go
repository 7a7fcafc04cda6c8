package python_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestSlimWithoutFile: a slim core has what is needed of the interpreter's file.
func TestSlimWithoutFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs CPythons of this machine")
	}
	for version, python := range sampled(t) {
		for _, redact := range []bool{false, true} {
			name := version
			if redact {
				name += "/redacted"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				core := smallDump(t, python)
				target, err := corewalk.Open(t.Context(), core, corewalk.ForSlim())
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				var b bytes.Buffer
				w, err := target.WriteSlim(t.Context(), &b, corewalk.SlimOptions{Redact: redact})
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d bytes: %+v", w.Size, w.Kept)
				with, dirs := pythonFrames(t, b.Bytes(), true)
				moved := b.Bytes()
				for _, dir := range dirs { // no such directories are on this machine
					moved = bytes.ReplaceAll(moved, []byte(dir+"/"), []byte("/"+strings.Repeat("x", len(dir)-1)+"/"))
				}
				without, _ := pythonFrames(t, moved, false)
				if !redact && len(with) < 5 || !slices.Equal(with, without) {
					t.Errorf("with the interpreter's file %q, without %q", with, without)
				}
			})
		}
	}
}

// pythonFrames are the calls of Python in all threads of a dump, and the directories of Python's modules, of which there are files or not.
func pythonFrames(t *testing.T, dump []byte, files bool) (list, dirs []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slim")
	if err := os.WriteFile(path, dump, 0o644); err != nil {
		t.Fatal(err)
	}
	for i, th := range analyze(t, path, corewalk.AnalyzeOptions{}).Threads {
		for _, f := range th.Frames {
			if f.Language == "python" {
				list = append(list, fmt.Sprint(i, f.Function, filepath.Base(f.Source.File), f.Source.Line))
			}
		}
	}
	for _, m := range analyze(t, path, corewalk.AnalyzeOptions{}).Modules {
		if !strings.Contains(m.Path, "python") {
			continue
		}
		dirs = append(dirs, filepath.Dir(m.Path))
		if has := m.Status == report.ModuleMatched; has != files {
			t.Errorf("%s: %s", m.Path, m.Status)
		}
	}
	return list, dirs
}
