package perl_test

import (
	"testing"

	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/internal/runtimes/perl"
	"github.com/corewalk/corewalk/internal/runtimes/remote/remotetest/replayed"
)

// kept are cores of real Perls.
var kept = replayed.Kept{Find: perl.Find, Least: 5, Step: 399, Noted: 128, Large: 1 << 15}

func TestRecorded(t *testing.T) { kept.Test(t, record) }
func TestDamaged(t *testing.T)  { kept.Damage(t, fixture.IsLong(t)) }
func FuzzRecorded(f *testing.F) { kept.Fuzz(f) }

func record(t *testing.T) {
	t.Helper()
	for _, p := range interpreters.All(t) {
		args := []string{"small.pl"}
		if p.Version == "5.36t" || p.Version == "5.42t" {
			args = append(args, "thread")
		}
		kept.Record(t, p.Version, p.Dump(t, "small.pl", args...), p.Root)
	}
}
