package systemtest

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

// TestChangedSince changes, in a core, the memory that a bad pointer was read from: that it was read from there is then not
// certain, and what the memory holds is said.
func TestChangedSince(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("what the code does is known of x86-64")
	}
	for _, level := range []string{"-O0", "-O1"} {
		exe := fixture.Compile(t, "gcc", "signals/stale.c", "-g", level)
		core := fixture.Crash(t, nil, exe)
		data, err := os.ReadFile(core)
		if err != nil {
			t.Fatal(err)
		}
		var marked []byte
		for _, v := range []uint64{0x5ca1ab1e0ddba115, 8, 0x0ddba1155ca1ab1e} {
			marked = binary.LittleEndian.AppendUint64(marked, v)
		}
		if bytes.Count(data, marked) != 1 {
			t.Fatalf("%s: the structure is in the core %d times", level, bytes.Count(data, marked))
		}
		for _, now := range []byte{8, 0, 9} {
			copied := bytes.Clone(data)
			copied[bytes.Index(copied, marked)+8] = now
			path := filepath.Join(t.TempDir(), "core")
			if err := os.WriteFile(path, copied, 0o600); err != nil {
				t.Fatal(err)
			}
			c := analyzeCore(t, path, exe).Crash
			if c.Blame == nil || c.Blame.Expression != "p->next->before" || c.Blame.Value != 8 {
				t.Errorf("%s, %d: blame %+v", level, now, c.Blame)
				continue
			}
			var held *report.Addr
			for i := range c.Blame.Steps {
				if m := c.Blame.Steps[i].Memory; m != nil {
					held = m
				}
			}
			said := strings.Contains(c.Causes[0].Text, "but memory has")
			if same := now == 8; same != (c.Blame.Confidence == report.Certain) || same != (held == nil) || same == said || held != nil && *held != report.Addr(now) {
				t.Errorf("%s, memory %d: %s [%s]", level, now, c.Causes[0].Text, c.Causes[0].Confidence)
			}
		}
	}
}
