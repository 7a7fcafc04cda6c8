package ghc_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/unwind"
)

// Where the programs of the fixtures have what.
const afterCharge, stopCode = 0x408fb0, 0x485d50

// walked is the stack of a core in which words that lead to code are changed.
func walked(t *testing.T, change map[uint64]uint64) *unwind.Stack {
	t.Helper()
	c := fixture.Get(t, "amd64-haskell-safe")
	data, err := os.ReadFile(c.Core(t))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range change {
		a, b := binary.LittleEndian.AppendUint64(nil, from), binary.LittleEndian.AppendUint64(nil, to)
		if !bytes.Contains(data, a) {
			t.Fatalf("%#x is not in the core", from)
		}
		data = bytes.ReplaceAll(data, a, b)
	}
	path := filepath.Join(t.TempDir(), "core")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := corewalk.Open(t.Context(), path, corewalk.WithExecutable(c.Binary(t)), corewalk.WithSysroot(c.Sysroot(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	m, err := target.Moment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m.Stacks[0]
}

// TestGaps: a stack that is damaged, or not known, has no end there.
func TestGaps(t *testing.T) {
	if s := walked(t, nil); s.End != unwind.EndBottom || len(s.Frames) < 15 {
		t.Fatalf("%d frames, %v, %v", len(s.Frames), s.End, s.Err)
	}
	for name, change := range map[string]map[uint64]uint64{
		"no code":                {afterCharge: 0x4141414141},
		"code without a table":   {afterCharge: afterCharge + 3},
		"stop is another number": {stopCode: afterCharge + 1},
	} {
		s := walked(t, change)
		if s.End != unwind.EndError || s.Err == nil || !strings.Contains(s.Err.Error(), "GHC") {
			t.Errorf("%s: %d frames, %v, %v", name, len(s.Frames), s.End, s.Err)
		}
	}
}
