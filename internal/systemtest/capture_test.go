package systemtest

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/corestate"
	"github.com/corewalk/corewalk/internal/carry/capture"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// coreMemory is /proc/PID/mem of a process of which there is a core.
type coreMemory struct{ core *corestate.ELFCore }

func (m coreMemory) ReadAt(b []byte, at int64) (int, error) {
	return m.core.DumpMemory().ReadMem(uint64(at), b)
}

// differs are the fixtures of which a capture that searches for memory lacks some that the report shows, and what that is.
var differs = map[string]string{
	"amd64-jit-object":  "the file that the JIT compiler registered is on the heap",
	"i386-crash-again":  "what a global variable holds now is not taken, so that its value in the program's file is no proof",
	"amd64-raised-full": "the exceptions are on the heap, and not taken whole",
	"amd64-jit-placed":  "the file that the JIT compiler registered is on the heap",
}

// TestCapture: what is taken of a process while it is dumped, without the core itself, has the same report.
func TestCapture(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	same, all := 0, 0
	for _, c := range fixture.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			c.ThirdOnly(t)
			text := func(path string) string {
				target, err := corewalk.Open(ctx, path, caseOptions(t, c)...)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				r, err := target.Analyze(ctx, corewalk.AnalyzeOptions{})
				if err != nil {
					t.Fatal(err)
				}
				r.Dump.Path, r.Dump.Size = "core", 0
				var b bytes.Buffer
				if err := report.WriteText(&b, r, report.TextOptions{}); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			path := c.Core(t)
			core, err := corestate.Open(ctx, path)
			if err != nil {
				t.Skip(err)
			}
			defer core.Close()
			if cut, _, _ := core.Truncated(); cut || core.OS() != "Linux" || core.Kind() != corestate.KernelCore {
				t.Skip("not as the kernel writes it")
			}
			taken, err := capture.Take(bytes.NewReader(core.Bytes()), capture.Process{Memory: coreMemory{core}}, capture.Limits{Time: 1 << 40})
			if err != nil {
				t.Fatal(err)
			}
			small := filepath.Join(t.TempDir(), "core")
			f, err := os.Create(small)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w, err := taken.Write(f)
			if err != nil {
				t.Fatal(err)
			}
			if st, err := os.Stat(path); err == nil {
				os.Chtimes(small, st.ModTime(), st.ModTime())
			}
			t.Logf("%d of %d bytes: %v", w.Size, len(core.Bytes()), w.Kept)
			all++
			want, got := text(path), text(small)
			why, known := differs[c.Name]
			switch {
			case want == got:
				same++
				if known {
					t.Errorf("is the same, but not expected to be: %s", why)
				}
			case !known:
				t.Errorf("report of what was taken: %s\nof the core: %s", got, want)
			}
		})
	}
	t.Logf("%d of %d reports are the same", same, all)
}

var _ io.ReaderAt = coreMemory{}
