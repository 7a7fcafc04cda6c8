package ruby_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
	"github.com/corewalk/corewalk/internal/runtimes/ruby"
)

// kept are cores of real Rubys.
var kept = replayed.Kept{Find: ruby.Find, Least: 6, Step: 399, Noted: 128, Large: 1 << 15}

func TestRecorded(t *testing.T) { kept.Test(t, record) }
func TestDamaged(t *testing.T)  { kept.Damage(t, fixture.IsLong(t)) }
func FuzzRecorded(f *testing.F) { kept.Fuzz(f) }

func record(t *testing.T) {
	t.Helper()
	for _, p := range interpreters.All(t) {
		core := p.Dump(t, "small.rb", "--disable-gems", "small.rb")
		kept.Record(t, p.Version, core, p.Root)
	}
}
