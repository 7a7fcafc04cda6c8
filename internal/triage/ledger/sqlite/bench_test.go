package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/internal/triage/ledger/ledgertest"
)

// BenchmarkLarge measures what the commands do with a large ledger: list, show and diff, and the queries at the
// end of a run. Each includes opening it.
func BenchmarkLarge(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.db")
	open := func(b *testing.B) ledger.Store {
		d, err := Open(b.Context(), path, "v1")
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	d := open(b)
	ids := ledgertest.Large(b, d, 100_000, 10_000)
	d.Close()
	ledgertest.Bench(b, open, ids)
}
