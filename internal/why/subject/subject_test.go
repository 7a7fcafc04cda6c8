package subject

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"testing"

	"github.com/corewalk/corewalk/internal/corebuild"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
	"github.com/corewalk/corewalk/internal/live/livecore"
	"github.com/corewalk/corewalk/livestate"
	"github.com/corewalk/corewalk/unwind/arch"
)

func opened(t *testing.T, data []byte) Subject {
	t.Helper()
	s, err := OpenDumpReader(context.Background(), bytes.NewReader(data), "a dump")
	if s == nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// coreOf is a core whose registers, stack or notes differ by the arguments.
func coreOf(pc uint64, stack byte, note string) []byte {
	b := corebuild.New()
	b.Thread(1, 11, corebuild.AMD64Regs(map[arch.Reg]uint64{arch.RIP: pc, arch.RSP: 0x7000}))
	b.PSInfo(1, "prog", note)
	b.Load(0x7000, 4|2, 0x1000, bytes.Repeat([]byte{stack}, 0x1000))
	return b.Bytes()
}

// minidumpOf is the same as a minidump. comment is of the same length in all.
func minidumpOf(pc uint64, stack byte, comment string) []byte {
	d := dumpbuild.New(false)
	d.System(9, 2, 10, 0, 19045, "")
	d.Threads(false, dumpbuild.Thread{ID: 1, Context: d.Blob(d.AMD64(0x10001f, pc, 0x7000, 0))})
	d.MemoryList(dumpbuild.Memory{Start: 0x7000, Data: bytes.Repeat([]byte{stack}, 0x1000)})
	d.Stream(10, []byte(comment))
	return d.Bytes()
}

func identity(s Subject) string {
	h := sha256.New()
	for b := range Identity(s) {
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// TestIdentity: dumps are told apart by registers, by the stack and by what was recorded
// beside, whatever kind they are of.
func TestIdentity(t *testing.T) {
	for kind, of := range map[string]func(pc uint64, stack byte, record string) []byte{"core": coreOf, "minidump": minidumpOf} {
		first := identity(opened(t, of(0x401000, 1, "here")))
		if again := identity(opened(t, of(0x401000, 1, "here"))); again != first {
			t.Errorf("%s: the same dump has another identity", kind)
		}
		for what, data := range map[string][]byte{"pc": of(0x401001, 1, "here"), "stack": of(0x401000, 2, "here"), "record": of(0x401000, 1, "made")} {
			if identity(opened(t, data)) == first {
				t.Errorf("%s: another %s, the same identity", kind, what)
			}
		}
	}
}

// TestIdentityEndsEarly: who has seen enough may stop at any piece.
func TestIdentityEndsEarly(t *testing.T) {
	s := opened(t, coreOf(0x401000, 1, "here"))
	all := 0
	for range Identity(s) {
		all++
	}
	for stop := range all {
		n := 0
		for range Identity(s) {
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("stopped after %d pieces, not %d", n, stop+1)
		}
	}
}

// TestKinds: each kind answers for itself and says of the others that it is none.
func TestKinds(t *testing.T) {
	samples := maps.Clone(dumpbuild.Samples())
	samples["core"] = coreOf(0x401000, 1, "here")
	for name, data := range samples {
		s := opened(t, data)
		if isCore := name == "core"; (s.Core() != nil) != isCore || (s.Minidump() != nil) == isCore || s.Live() != nil {
			t.Errorf("%s: core %v, minidump %v, live %v", name, s.Core(), s.Minidump(), s.Live())
		}
		if _, err := s.WriteCore(nil, livecore.Options{}); !errors.Is(err, livestate.ErrUnsupported) {
			t.Errorf("%s: WriteCore: %v", name, err)
		}
		m, err := s.Moment(nil)
		if err != nil || m.Pause() != 0 || len(m.Release()) != 0 {
			t.Errorf("%s: moment: %v, pause %v", name, err, m.Pause())
		}
		if d := s.Describe(); d.Size == 0 || d.Truncated || d.Path != "a dump" {
			t.Errorf("%s: %+v", name, d)
		}
		if len(s.Notes()) == 0 {
			t.Errorf("%s: no notes or streams are listed", name)
		}
		if e := s.Exception(); e != nil && Signal(s, s) != nil {
			t.Errorf("%s: both a signal and an exception", name)
		}
	}
}
