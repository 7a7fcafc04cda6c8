package php_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/php"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
)

// kept are cores of real PHPs.
var kept = replayed.Kept{Find: php.Find, Least: 3, Step: 199, Large: 1 << 17}

func TestRecorded(t *testing.T) { kept.Test(t, record) }
func TestDamaged(t *testing.T)  { kept.Damage(t, fixture.IsLong(t)) }
func FuzzRecorded(f *testing.F) { kept.Fuzz(f) }

func record(t *testing.T) {
	t.Helper()
	for _, p := range interpreters.All(t) {
		core := p.Dump(t, "small.php", "-n", "small.php")
		kept.Record(t, p.Version, core, p.Root)
	}
}
