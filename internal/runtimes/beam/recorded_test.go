package beam_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/beam"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
)

// kept are cores of real virtual machines.
var kept = replayed.Kept{Find: beam.Find, Least: 2, Step: 799, Noted: 128, Large: 1 << 15}

func TestRecorded(t *testing.T) { kept.Test(t, record) }
func TestDamaged(t *testing.T)  { kept.Damage(t, fixture.IsLong(t)) }
func FuzzRecorded(f *testing.F) { kept.Fuzz(f) }

func record(t *testing.T) {
	t.Helper()
	for _, p := range interpreters.All(t) {
		dir := prepare(t, p, "small")
		cmd := p.Command(dir, "-noshell", "-noinput", "+S", "1:1", "+SDcpu", "1:1", "+SDio", "1", "-s", "small", "main")
		cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LANG=C.UTF-8", "HOME=/"}
		_ = cmd.Run() // it dies
		kept.Record(t, p.Version, fixture.CoreIn(t, dir), p.Root)
	}
}
